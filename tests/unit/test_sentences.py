"""Tables of sentences: how they are read, and that both languages say the same of the same values."""

from string import Formatter

import pytest

from ajuste import cli_words, launch_run, tool_reasons
from ajuste.errors import MESSAGES
from ajuste.sentences import LANGUAGES, sentences

TABLES = {
    "cli": cli_words.WORDS,
    "launch": launch_run.WORDS,
    "reasons": tool_reasons.REASONS,
    "errors": {name: both for name, both in MESSAGES.items() if name not in ("inconsistent", "bad-config")},
}


def test_a_table_is_read_as_it_stands():
    read = sentences("""
fits
  es cabe en {gpu}
  en fits {gpu}
long
  es una línea
     y otra
  en  begins with a space
empty
  es
  en
""")
    assert read == {
        "fits": {"es": "cabe en {gpu}", "en": "fits {gpu}"},
        "long": {"es": "una línea y otra", "en": " begins with a space"},
        "empty": {"es": "", "en": ""},
    }


@pytest.mark.parametrize("table", TABLES)
def test_every_sentence_has_both_languages(table: str):
    for name, both in TABLES[table].items():
        assert tuple(both) == LANGUAGES, name
        holes = [{hole for _, hole, _, _ in Formatter().parse(text) if hole} - set(LANGUAGES) for text in both.values()]
        assert holes[0] == holes[1], name
