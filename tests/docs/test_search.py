"""Searches that people type: the built index holds every word of each under the page that answers it."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pipeline.guide import LANGUAGES, ROOT

pytestmark = pytest.mark.site
SEARCHES = tomllib.loads((Path(__file__).parent / "searches.toml").read_text(encoding="utf-8"))


@cache
def index(language: str) -> Any:
    """What the search box reads."""
    file = ROOT / "site" / language / "search" / "search_index.json"
    assert file.exists(), f"{file} is missing: type `make build`"
    return json.loads(file.read_text(encoding="utf-8"))


@cache
def words(language: str, page: str) -> frozenset[str]:
    """The words of a page and its sections, split where the search box splits them."""
    entries = [entry for entry in index(language)["docs"] if entry["location"].partition("#")[0] == page]
    text = " ".join(f"{entry['title']} {unescape(re.sub('<[^>]+>', ' ', entry['text']))}" for entry in entries)
    return frozenset(re.split(index(language)["config"]["separator"], text.lower()))


@pytest.mark.parametrize("language", LANGUAGES)
def test_punctuation_is_no_part_of_a_word(language: str) -> None:
    separator = index(language)["config"]["separator"]
    assert [word for word in re.split(separator, "¿Cuánta memoria (VRAM), en CUDA 12.8?") if word] == [
        "Cuánta",
        "memoria",
        "VRAM",
        "en",
        "CUDA",
        "12.8",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_that_answers_has_every_word_typed(language: str) -> None:
    assert len(SEARCHES[language]) >= 20
    separator = index(language)["config"]["separator"]
    lacking = {
        query: missing
        for query, page in SEARCHES[language].items()
        if (
            missing := [
                w for w in re.split(separator, query) if not any(x.startswith(w) for x in words(language, page))
            ]
        )
    }
    assert not lacking, f"no such word on the page that answers: {lacking}"
