"""How hard each page reads, by a published formula for its language. `pytest -s` on this file prints the table.

English: the automated readability index (Senter and Smith, 1967), a United States school grade.
Spanish: Szigriszt-Pazos (1993) on the INFLESZ scale (Barrio-Cantalejo, 2008): from 55, normal; from 65, quite easy.
The first needs letters, the second syllables, which Spanish spelling gives by rule: no library is needed. textstat
would bring nltk and a dictionary of pronunciations, and counts Spanish syllables by where a word may be hyphenated,
which misses some.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from pipeline.guide import LANGUAGES, Page, pages, prose

# A newspaper's reader follows any page; those where a newcomer begins are "quite easy", of a grade below high school.
HARDEST = {"en": 9.0, "es": 60.0}
HARDEST_FOR_NEWCOMERS = {"en": 7.0, "es": 65.0}
NEWCOMERS = ("guide/index.md", "guide/methods/index.md", "guide/faq.md", "guide/run/index.md", "guide/cost/index.md")
FEWEST_WORDS = 100  # a formula made for samples of a hundred words says nothing about less

NOT_PROSE = re.compile(
    r"^\s*(?:\||#|---|!!!|===|\[(?:Next|Siguiente): |[\w-]+: )"
)  # tables, headings, front matter, the way on
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
STRONG, WEAK = "aeoáéóíú", "iuü"


def sentences(page: Page) -> list[list[str]]:
    """The words of each sentence of the running text and the lists; an item of a list ends one."""
    body = "\n\n".join(section.body for section in page.sections)
    kept = [line for line in prose(body).splitlines() if not NOT_PROSE.match(line)]
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", "\n" + "\n".join(kept))
    pieces = [piece for block in blocks for piece in re.split(r"[.!?…]+(?=\s|[»”*)]|$)", block)]
    return [words for piece in pieces if (words := WORD.findall(piece))]


def syllables(word: str) -> int:
    """Syllables of a Spanish word: each strong vowel is one, weak ones alone are one; an acronym is spelled."""
    if len(word) > 1 and word.isupper():
        return len(word)
    plain = re.sub(r"gu(?=[eiéí])", "g", word.lower().replace("qu", "k"))
    plain = re.sub(rf"y(?![{STRONG}{WEAK}])", "i", plain)
    groups = re.findall(rf"[{STRONG}{WEAK}]+", plain)
    return max(1, sum(max(1, sum(letter in STRONG for letter in group)) for group in groups))


def english_grade(found: list[list[str]]) -> float:
    """4.71 × letters per word + 0.5 × words per sentence − 21.43."""
    words = [word for sentence in found for word in sentence]
    return 4.71 * sum(map(len, words)) / len(words) + 0.5 * len(words) / len(found) - 21.43


def spanish_ease(found: list[list[str]]) -> float:
    """206.835 − 62.3 × syllables per word − words per sentence."""
    words = [word for sentence in found for word in sentence]
    return 206.835 - 62.3 * sum(map(syllables, words)) / len(words) - len(words) / len(found)


@cache
def measured(language: str) -> dict[str, float]:
    """Path → how hard the page reads, of every page with enough text."""
    formula = english_grade if language == "en" else spanish_ease
    texts = {path: sentences(page) for path, page in pages(language).items()}
    return {path: formula(found) for path, found in texts.items() if sum(map(len, found)) >= FEWEST_WORDS}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_is_too_hard(language: str) -> None:
    harder_is_more = language == "en"
    marks = sorted(measured(language).items(), key=lambda item: item[1], reverse=harder_is_more)
    print("\n" + "\n".join(f"{mark:5.1f}  {language}/{path}" for path, mark in marks))
    too_hard = {
        path: round(mark, 1)
        for path, mark in marks
        for bar in [(HARDEST_FOR_NEWCOMERS if path in NEWCOMERS else HARDEST)[language]]
        if (mark > bar if harder_is_more else mark < bar)
    }
    assert len(marks) > 30
    assert not too_hard, "shorter sentences, shorter words"


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("memoria", 3),
        ("guía", 2),
        ("que", 1),
        ("guitarra", 3),
        ("averigüe", 4),
        ("caer", 2),
        ("muy", 1),
        ("y", 1),
        ("GPU", 3),
    ],
)
def test_syllables_of_spanish_words(word: str, count: int) -> None:
    assert syllables(word) == count


def test_the_formulas_know_hard_from_easy() -> None:
    """Three words of four letters; four words of six syllables. Long words and long sentences are harder."""
    easy, hard = [["data", "goes", "here"]], [["parameters", "notwithstanding", "quantization"] * 10]
    assert english_grade(easy) == pytest.approx(4.71 * 4 + 0.5 * 3 - 21.43)
    assert english_grade(hard) > HARDEST["en"] > english_grade(easy)
    plain, heavy = [["La", "casa", "es", "mía"]], [["cuantización", "descuantizándolos", "configuraciones"] * 10]
    assert spanish_ease(plain) == pytest.approx(206.835 - 62.3 * 6 / 4 - 4)
    assert spanish_ease(heavy) < HARDEST["es"] < spanish_ease(plain)
