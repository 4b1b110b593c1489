"""Both languages say the same: pages, headings, numbers, formulas, includes, links."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pipeline.guide import DOCS, code_blocks, code_spans, includes, links, numbers, pages, prose

PATHS = sorted(pages("es"))


def difference(spanish: list[str], english: list[str]) -> str:
    """What only one side has, for the message."""
    left, right = Counter(spanish), Counter(english)
    return f"only in es: {sorted((left - right).elements())}; only in en: {sorted((right - left).elements())}"


def test_same_pages() -> None:
    assert sorted(pages("es")) == sorted(pages("en"))


def test_same_files_beside_the_pages() -> None:
    """Diagrams are written once per language under the same name."""
    spanish, english = (
        sorted(f.relative_to(DOCS / language).as_posix() for f in (DOCS / language).rglob("*") if f.is_file())
        for language in ("es", "en")
    )
    assert spanish == english


@pytest.mark.parametrize("path", PATHS)
def test_same_headings(path: str) -> None:
    spanish, english = (
        [(section.level, section.anchor) for section in pages(language)[path].sections] for language in ("es", "en")
    )
    assert all(anchor for _, anchor in spanish), f"es/{path}: a heading without {{#id}}: {spanish}"
    assert spanish == english
    assert len(set(spanish)) == len(spanish)


@pytest.mark.parametrize("path", PATHS)
def test_same_content(path: str) -> None:
    """Section by section, so that the message names the place."""
    spanish, english = pages("es")[path], pages("en")[path]
    assert includes(spanish) == includes(english)
    for es, en in zip(spanish.sections, english.sections, strict=True):
        place = f"{path}#{es.anchor}"
        es_text, en_text = f"{es.title}\n{es.body}", f"{en.title}\n{en.body}"
        for what, left, right in (
            ("links", links(es_text), links(en_text)),
            ("formulas", code_spans(es_text), code_spans(en_text)),
            ("code", code_blocks(es_text), code_blocks(en_text)),
            ("numbers", numbers(es_text, "es"), numbers(en_text, "en")),
        ):
            assert Counter(left) == Counter(right), f"{place}: {what} differ; {difference(left, right)}"


@pytest.mark.parametrize("path", PATHS)
def test_same_switches(path: str) -> None:
    """Front matter that changes the page, not its words."""
    for key in ("hide", "calculator"):
        assert pages("es")[path].meta.get(key) == pages("en")[path].meta.get(key)


@pytest.mark.parametrize("path", PATHS)
def test_thousands_in_spanish(path: str) -> None:
    """10 000 takes a thin space: a point reads as ten in Mexico, a plain space breaks the number."""
    text = prose(pages("es")[path].text)
    assert not re.findall(r"(?<![\d-])\d{1,3} \d{3}(?![\d-])", text)
    assert not re.findall(r"(?<![\d.])\d{1,3}(?:\.\d{3})+(?![\d.])", text)
