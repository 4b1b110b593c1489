"""What all tests share: marks by folder, the built site, a browser."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

import bootstrap

# A busy machine is no fault of the code, and a red test must be red again on the next run.
settings.register_profile("ajuste", deadline=None, derandomize=True)
settings.load_profile("ajuste")

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything under tests/browser/ drives a browser and reads the built site."""
    for item in items:
        if (ROOT / "tests" / "browser") in item.path.parents:
            item.add_marker("browser")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What passing tests print are figures (errors by class, seconds, cases), which pytest alone keeps to itself."""
    told = [report for report in terminalreporter.getreports("passed") if report.when == "call" and report.capstdout]
    if told:
        terminalreporter.section("figures")
    for report in told:
        terminalreporter.write_line(f"{report.nodeid}:", bold=True)
        terminalreporter.write_line(report.capstdout.rstrip())


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def site(root: Path) -> Path:
    """Return the built site. A test that needs it fails where it is missing: it is never skipped."""
    folder = root / "site"
    if not (folder / "index.html").exists():
        pytest.fail("site/ is not built: run `make build` first", pytrace=False)
    import assemble

    if steps := assemble.outdated():
        pytest.fail(f"site/ is older than what it is made of ({', '.join(steps)}): run `make build`", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Return the browser's program. A test that needs it fails where there is none: it is never skipped."""
    found = bootstrap.browser()
    if not found:
        pytest.fail("no browser: run `make setup`, or set AJUSTE_BROWSER", pytrace=False)
    return found


@cache
def _catalog() -> str:
    folder = ROOT / "build" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"catalog-{os.getpid()}.json"  # several processes may run tests at once
    try:
        subprocess.run(
            [sys.executable, "-m", "pipeline", "bundle", "--out", str(target)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "calculator")},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return target.read_text(encoding="utf-8")
    finally:
        target.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def catalog_text() -> str:
    """Return the catalog made from data/ now, as the page gets it."""
    return _catalog()


@pytest.fixture(scope="session")
def catalog_data(catalog_text: str) -> dict:
    """Return the same catalog, parsed."""
    return json.loads(catalog_text)
