"""Sentences in two languages, written so that a reader sees one above the other."""

from __future__ import annotations

Sentences = dict[str, dict[str, str]]  # name → language → text, with places for values: {low}
LANGUAGES = ("es", "en")
INDENT = len("  es ")


def sentences(table: str) -> Sentences:
    """A table written as text: a line with the name, then `  es …` and `  en …`; lines indented further go on.

    What follows the language is kept as it is, so that a text may begin with a space.
    """
    read: Sentences = {}
    name = language = ""
    for line in table.strip("\n").splitlines():
        start = line[:INDENT].strip()
        if not line.startswith(" "):
            name = line
            read[name] = {}
        elif start:
            language = start
            read[name][language] = line[INDENT:]
        else:
            read[name][language] += f" {line[INDENT:]}"
    return read
