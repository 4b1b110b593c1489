"""Units and sources of the constants are written in Spanish too (calculator/pipeline/sources.toml)."""

from __future__ import annotations

import re
import tomllib

import pytest

from pipeline.guide import ROOT
from pipeline.tables import in_spanish

CONSTANTS = tomllib.loads((ROOT / "data" / "assumptions.toml").read_text(encoding="utf-8"))
WRITTEN = tomllib.loads((ROOT / "calculator" / "pipeline" / "sources.toml").read_text(encoding="utf-8"))
ALIKE = {"1", "GB", "GB/s", "GiB", "MiB", "bytes", "h", "min", "s", "s/GB", "tokens"}  # in both languages


def halves(kind: str) -> set[str]:
    """Each sentence to be translated, once."""
    return {half for row in CONSTANTS.values() for half in row[kind.removesuffix("s")].split("; prior: ")}


@pytest.mark.parametrize("kind", ["units", "sources"])
def test_each_is_written_in_spanish(kind: str) -> None:
    missing = halves(kind) - WRITTEN[kind].keys() - ALIKE
    assert not missing, f"write these in Spanish, under [{kind}] of calculator/pipeline/sources.toml: {missing}"


def test_numbers_stay() -> None:
    """The same figures in both, a decimal comma in Spanish; arXiv's numbers and versions keep their point."""
    for english, spanish in WRITTEN["sources"].items():
        digits = [re.findall(r"\d+", text) for text in (english, spanish)]
        assert set(digits[0]) <= set(digits[1]) | {"16", "1", "2022", "23", "2", "5th"}, (english, spanish)


def test_both_halves() -> None:
    assert in_spanish("sources", "Read 1, write 2, read 2; prior: Transformer Engine") == (
        "Leer 1, escribir 2, leer 2; de partida: Transformer Engine"
    )
