"""Packages that the run files are checked against: installed once, by hash, into `.cache/takeaway/`."""

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import bootstrap

HERE = Path(__file__).parent


def _once(name: str, make: Callable[[Path, str], None]) -> Path:
    """A folder made from a locked file, again only when the lock changes."""
    lock = HERE / f"{name}.txt"
    key = hashlib.sha256(lock.read_bytes()).hexdigest()
    home = bootstrap.CACHE / "takeaway" / name
    stamp = home / "made-from"
    with bootstrap.one_at_a_time(f"takeaway-{name}"):
        if not stamp.exists() or stamp.read_text() != key:
            home.mkdir(parents=True, exist_ok=True)
            stamp.unlink(missing_ok=True)
            make(home, str(lock))
            stamp.write_text(key)
    return home


def _uv(*words: str | Path) -> None:
    done = subprocess.run([bootstrap.find_uv(), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"could not install what this test checks against:\n{done.stderr[-2000:]}", pytrace=False)


@pytest.fixture(scope="session")
def frameworks() -> Path:
    """Return a folder with the sources of the tools that train, at their pinned releases."""

    def make(home: Path, lock: str) -> None:
        python = bootstrap.VENV / bootstrap.BIN / "python"
        target = home / "packages"
        _uv(
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--python-version",  # sources only: what they say of the Python that runs them does not matter
            bootstrap.PYTHON,
            "--require-hashes",
            "--python",
            python,
            "--target",
            target,
            "-r",
            lock,
        )

    return _once("frameworks", make) / "packages"


@pytest.fixture(scope="session")
def engines() -> Path:
    """Return the Python of an environment that holds SkyPilot and dstack."""

    def make(home: Path, lock: str) -> None:
        python = bootstrap.find_python(bootstrap.PYTHON) or bootstrap.THIS_PYTHON
        _uv("venv", "--quiet", "--clear", "--no-project", "--python", python, home / "venv")
        inside = home / "venv" / bootstrap.BIN / "python"
        _uv("pip", "install", "--quiet", "--require-hashes", "--python", inside, "-r", lock)

    return _once("engines", make) / "venv" / bootstrap.BIN / "python"
