"""What is installed is locked, for every platform, and the locks name no place."""

import json
import re
from pathlib import Path

import pytest

import bootstrap

HERE = Path(__file__).resolve().parents[2]
LOCKS = sorted([*HERE.glob("*.in"), *HERE.glob("tests/*/*.in")])


def named(text: str) -> list[str]:
    """List the packages of a .in file."""
    return re.findall(r"^([a-z][a-z0-9-]*)", text, re.MULTILINE)


@pytest.mark.parametrize("source", LOCKS, ids=lambda path: path.stem)
def test_every_package_is_pinned_with_hashes(source: Path) -> None:
    lock = source.with_suffix(".txt").read_text()
    wanted = named(source.read_text())
    assert wanted
    for package in wanted:
        assert "--hash=sha256:" in bootstrap.requirement(lock, package)
    assert all(
        re.match(r"[a-z0-9.-]+==\S+( ;.*)? \\$|    --hash=sha256:[0-9a-f]{64}", line) for line in lock.splitlines()
    )


@pytest.mark.parametrize(
    "lock",
    [
        *(path.with_suffix(".txt") for path in LOCKS),
        HERE / "package-lock.json",
        HERE / "calculator/web/lighthouse/package-lock.json",
    ],
    ids=lambda path: str(path.relative_to(HERE)),
)
def test_a_lock_holds_no_address_and_no_path(lock: Path) -> None:
    text = lock.read_text()
    if lock.suffix == ".json":  # where a package's authors ask for support is not where the package is
        packages = json.loads(text)["packages"].values()
        text = json.dumps([{name: value for name, value in one.items() if name != "funding"} for one in packages])
    assert (
        re.findall(r'"resolved"|(?:file|git)[:+]//?\S*|--(?:index-url|find-links)\S*|/opt/\S*|https?://\S*', text) == []
    )


def test_make_lock_refreshes_every_lock(root: Path) -> None:
    recipe = (root / "Makefile").read_text()
    assert [path.relative_to(root).as_posix() for path in LOCKS if f" {path.relative_to(root)} " not in recipe] == []


def test_npm_packages_are_pinned_exactly(root: Path) -> None:
    package = json.loads((root / "package.json").read_text())
    versions = {**package["dependencies"], **package["devDependencies"]}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values()), versions


def test_python_here_and_in_the_browser_are_one_minor_version(root: Path) -> None:
    info = json.loads((root / "node_modules/pyodide/pyodide-lock.json").read_text())["info"]
    assert info["python"].startswith(f"{bootstrap.PYTHON}.")
    assert (root / ".python-version").read_text().strip() == bootstrap.PYTHON


def test_every_package_has_its_reason_in_contributing(root: Path) -> None:
    package = json.loads((root / "package.json").read_text())
    wanted = {*named((root / "requirements.in").read_text()), *package["dependencies"], *package["devDependencies"]}
    reasons = (root / "CONTRIBUTING.md").read_text().partition("### What each package is for")[2]
    first_cells = " ".join(re.findall(r"^\| ([^|]*)", reasons, re.MULTILINE))
    assert {name for name in wanted if not re.search(rf"(^|[\s,]){re.escape(name)}($|[\s,(])", first_cells)} == set()
