"""Thirty questions that people asked are answered by the built site, each two clicks away: tab, page."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pipeline.guide import LANGUAGES, ROOT

pytestmark = pytest.mark.site
READERS = tomllib.loads((Path(__file__).parent / "questions.toml").read_text(encoding="utf-8"))["reader"]
QUESTIONS = [question for reader in READERS for question in reader["questions"]]
HEADING = re.compile(r'<h([1-4]) id="([^"]+)"')


@cache
def html(language: str, page: str) -> str:
    """The article of a built page."""
    file = ROOT / "site" / language / page / "index.html"
    assert file.exists(), f"{file} is missing: type `make build`"
    return file.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]


def section(language: str, page: str, anchor: str) -> str:
    """The text from a heading to the next of its level or a higher one."""
    text = html(language, page)
    found = next((match for match in HEADING.finditer(text) if match[2] == anchor), None)
    assert found, f"{language}/{page} has no heading #{anchor}"
    after = (match.start() for match in HEADING.finditer(text, found.end()) if match[1] <= found[1])
    body = text[found.start() : next(after, len(text))]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?(?:span|code|a)\b[^>]*>", "", body))))


def test_three_readers_ask_ten_each() -> None:
    assert [len(reader["questions"]) for reader in READERS] == [10, 10, 10]
    assert len({question["asks"] for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question['page']}#{question['anchor']}")
def test_the_answer_is_there(question: dict[str, Any], language: str) -> None:
    text = section(language, question["page"], question["anchor"])
    missing = [fact for fact in question["fact"] if not re.search(fact, text)]
    assert not missing, f"{question['asks']}: {missing} not in: {text[:600]}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_page_is_one_click_from_the_tabs(language: str) -> None:
    """The navigation of the first page of a tab names every page below it."""
    home = (ROOT / "site" / language / "guide" / "index.html").read_text(encoding="utf-8")
    for page in {question["page"] for question in QUESTIONS if question["page"].startswith("guide/")}:
        target = page.removeprefix("guide/") + "/"
        assert re.search(rf'href="(?:\./|\.\./guide/)?{re.escape(target)}" class="md-nav__link', home), page
