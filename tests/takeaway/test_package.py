"""The package as others get it: installed from the wheel, quick to import, typed, documented by examples that run."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import ajuste
import bootstrap

PUBLIC = ("ajuste", "ajuste.tool_files", "ajuste.yaml_text", "ajuste.launch", "ajuste.doors")


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory) -> Path:
    """Return the wheel that is published, built now."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=root,
        env={**os.environ, "PYTHONPATH": "", "AJUSTE_AS_OF": "2026-11-30"},
        check=True,
        capture_output=True,
    )
    (made,) = folder.glob("ajuste-*-py3-none-any.whl")
    return made


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """Return the folder of the programs of a clean environment that holds the wheel and what it needs."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    uv = bootstrap.find_uv()
    subprocess.run([uv, "venv", "--quiet", "--no-project", "--python", sys.executable, home], check=True)
    python = home / bootstrap.BIN / "python"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, wheel], check=True)
    return home / bootstrap.BIN


def test_the_wheel_brings_its_catalog_with_a_date(wheel: Path):
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        catalog = json.loads(opened.read("ajuste/_data/catalog.json"))
    assert catalog["as_of"] == "2026-11-30"
    assert len(catalog["models"]) > 100
    assert {"ajuste/py.typed", "ajuste/_packed.py", "ajuste/_data/es.json", "ajuste/_data/smoke.py"} <= names
    assert not [name for name in names if name.startswith(("pipeline", "tests"))]


@pytest.mark.slow
def test_three_commands_of_the_readme_work_offline_at_once(installed: Path, root: Path, tmp_path: Path):
    readme = (root / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (ajuste .*)$", readme, re.MULTILINE)
    assert len(commands) >= 3
    (tmp_path / "train.yaml").write_text(
        "base_model: Qwen/Qwen3-8B\nadapter: lora\nsequence_len: 4096\nmicro_batch_size: 1\n"
    )
    # Nothing of the machine's: no Python path, no home, a proxy that is not there instead of a network.
    away = {
        "PATH": f"{installed}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "LANG": "en_US.UTF-8",
    }
    started = time.perf_counter()
    for command in commands[:3]:
        done = subprocess.run(
            ["sh", "-c", command.split("#")[0]], cwd=tmp_path, env=away, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 3, 4), f"{command}\n{done.stderr}"
        assert done.stdout.strip(), command
    assert time.perf_counter() - started < 10


@pytest.mark.timed
def test_importing_costs_little(installed: Path):
    """30 ms of processor for the installed package. On a busy machine everything is slower: there, five times what
    Python's own json and typing cost at the same moment."""
    python = installed / "python"

    def least(modules: str) -> float:
        code = f"import time; t = time.process_time(); import {modules}; print(time.process_time() - t)"
        run = [python, "-c", code]
        return min(float(subprocess.run(run, env={}, capture_output=True, check=True).stdout) for _ in range(9))

    least("ajuste")  # once, so that its bytecode lies there
    ours, yardstick = least("ajuste"), least("json, typing")
    assert ours <= max(0.030, 5 * yardstick), f"{ours * 1000:.0f} ms, json and typing {yardstick * 1000:.0f} ms"


def test_the_browser_path_stays_lean():
    """Neither the command line nor the tools' tables are imported for an answer."""
    code = (
        "import sys, ajuste; ajuste.estimate_json('{}', '{}'); "
        "print([name for name in sys.modules if name.startswith('ajuste.')], 'argparse' in sys.modules)"
    )
    path = str(Path(ajuste.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    for name in ("cli", "tool_", "launch", "train_files", "smoke_file", "torchtune", "yaml_text"):
        assert f"'ajuste.{name}" not in done.stdout
    assert done.stdout.rstrip().endswith("False")


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_in_the_documentation_run(name: str, catalog_text: str):
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"text": catalog_text}, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_examples_are_there():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in PUBLIC]
    examples = [example for module in modules for test in finder.find(module) for example in test.examples]
    assert len(examples) >= 10


@pytest.mark.parametrize("name", ajuste.__all__)
def test_what_is_public_is_documented(name: str):
    assert (getattr(ajuste, name).__doc__ or "").strip()
