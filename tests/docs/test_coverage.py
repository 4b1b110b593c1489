"""Every heading and bullet of the two texts that the guide answers to has a place in it, in both languages."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.guide import LANGUAGES, pages

TEXTS = tomllib.loads((Path(__file__).parent / "coverage.toml").read_text(encoding="utf-8"))["text"]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["name"])
def test_nothing_is_left_out(text: dict[str, Any]) -> None:
    kinds = Counter(item["kind"] for item in text["items"])
    assert kinds == {"heading": text["headings"], "bullet": text["bullets"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_place_exists_and_says_something(language: str) -> None:
    for text in TEXTS:
        for item in text["items"]:
            path, _, anchor = item["page"].partition("#")
            sections = {section.anchor: section for section in pages(language)[path].sections}
            assert anchor in sections, f"{language}: {item['says']}: no {item['page']}"
            assert len(sections[anchor].body) > 80, f"{language}: {item['says']}: {item['page']} is all but empty"
