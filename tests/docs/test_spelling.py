"""The English pages are spelled right, and the American way."""

from __future__ import annotations

import subprocess
import sys

from pipeline.guide import DOCS


def test_english() -> None:
    command = [sys.executable, "-m", "codespell_lib", "--builtin", "clear,rare,en-GB_to_en-US", str(DOCS / "en")]
    found = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
