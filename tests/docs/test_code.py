"""What reference.md shows runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.guide import FENCE, ROOT, pages

BLOCKS = [(block[2], block[3]) for block in FENCE.findall(pages("en")["reference.md"].text)]


@pytest.fixture
def here(tmp_path: Path, catalog_text: str) -> Path:
    (tmp_path / "catalog.json").write_text(catalog_text, encoding="utf-8")
    (tmp_path / "request.json").write_text('{"model": "llama-3.1-8b", "method": "qlora"}', encoding="utf-8")
    return tmp_path


def run(here: Path, *command: str) -> str:
    environment = {"PYTHONPATH": str(ROOT / "calculator"), "PATH": str(Path(sys.executable).parent)}
    return subprocess.run(command, cwd=here, env=environment, check=True, capture_output=True, text=True).stdout


def test_the_python_blocks(here: Path) -> None:
    program = "\n".join(code for language, code in BLOCKS if language == "python")
    printed = run(here, sys.executable, "-c", program)
    assert "mid" in printed
    assert "'method': 'qlora'" in printed


def test_the_command_line(here: Path) -> None:
    """`ajuste` is what the package installs; the catalog of this checkout stands in for the package's own."""
    commands = [line for language, code in BLOCKS if language == "bash" for line in code.splitlines()]
    assert len(commands) == 5
    for command in commands:
        words = command.split()
        assert words[0] == "ajuste"
        run(here, sys.executable, "-m", "ajuste", *words[1:], "--catalog", "catalog.json")
    assert (here / "job" / "train.yaml").exists()
