"""The shape every page shares: title, description, the short answer first, one way on, no more than eight minutes."""

from __future__ import annotations

import re

import pytest

from pipeline.guide import LANGUAGES, ROOT, Page, code_blocks, pages, prose

ALL = [page for language in LANGUAGES for page in pages(language).values()]
NO_BOX = {"index.md", "calculator.md"}  # these open with a live answer instead
ANSWER = {"es": '!!! abstract "Respuesta corta"', "en": '!!! abstract "Short answer"'}
NEXT = {"es": "[Siguiente: ", "en": "[Next: "}
WORDS_PER_MINUTE = 200


def name(page: Page) -> str:
    return f"{page.language}/{page.path}"


@pytest.mark.parametrize("page", ALL, ids=name)
def test_head(page: Page) -> None:
    assert 10 <= len(page.meta["title"]) <= 60, len(page.meta["title"])
    assert 50 <= len(page.meta["description"]) <= 160, len(page.meta["description"])
    assert [section.level for section in page.sections].count(1) == 1


@pytest.mark.parametrize("page", [page for page in ALL if page.path not in NO_BOX], ids=name)
def test_opens_with_the_answer_and_leads_on(page: Page) -> None:
    assert page.sections[0].body.startswith(ANSWER[page.language])
    assert page.text.count(NEXT[page.language]) == 1


@pytest.mark.parametrize("page", ALL, ids=name)
def test_eight_minutes_at_most(page: Page) -> None:
    words = len(re.findall(r"\w+", prose(page.text))) + sum(len(block.split()) for block in code_blocks(page.text)) / 2
    assert words / WORDS_PER_MINUTE <= 8, f"{words:.0f} words"


@pytest.mark.parametrize("page", ALL, ids=name)
def test_percent_as_each_language_writes_it(page: Page) -> None:
    """English: 15%. Spanish: 15 %, which no line's end may part."""
    wrong = re.compile(r"\d(?: |\u202f)?%" if page.language == "es" else r"\d\s%")
    assert not wrong.findall(prose(page.text)), "es: a no-break space (U+00A0) before %; en: none"


def test_the_pages_that_advice_names_exist() -> None:
    """Each piece of the calculator's advice sends the reader to a page of the guide."""
    source = (ROOT / "calculator" / "ajuste" / "advice.py").read_text(encoding="utf-8")
    named = set(re.findall(r'"((?:[a-z-]+/)+)"', source))
    assert named
    for language in LANGUAGES:
        addresses = {path.removesuffix(".md").removesuffix("index").rstrip("/") + "/" for path in pages(language)}
        assert named <= addresses
