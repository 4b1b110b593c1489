"""Words the project does not use, with the one it does (docs/terms.toml)."""

from __future__ import annotations

import re
import tomllib

import pytest

from pipeline.guide import DOCS, LANGUAGES
from pipeline.spelling import texts

TERMS = tomllib.loads((DOCS / "terms.toml").read_text(encoding="utf-8"))
TEXTS = {language: tuple(texts(language)) for language in LANGUAGES}
RULES = [(language, rule) for language in LANGUAGES for rule in TERMS[language]]


@pytest.mark.parametrize(
    ("language", "rule"), RULES, ids=lambda value: value if isinstance(value, str) else value["use"]
)
def test_term(language: str, rule: dict[str, str]) -> None:
    pattern = re.compile(rf"\b(?:{rule['avoid']})\b", re.I)
    for place, text in TEXTS[language]:
        found = pattern.search(text)
        assert not found, f"{place}: “{found[0]}”; write “{rule['use']}”"


@pytest.mark.parametrize("language", LANGUAGES)
def test_rules_say_what_to_write(language: str) -> None:
    for rule in TERMS[language]:
        assert set(rule) <= {"avoid", "use", "why"}
        assert not re.search(rf"\b(?:{rule['avoid']})\b", rule["use"], re.I), rule
