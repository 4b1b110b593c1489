"""What the command line prints: numbers of two languages, tables, colours. Nothing here knows of requests."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Timer
from typing import Any

from .cli_words import WORDS

COLOURS = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31", "cyan": "36"}
VERDICT_COLOUR = {"fits": "green", "tight": "yellow", "no": "red"}


def system_language() -> str:
    """The language of the system's locale: Spanish where it says so, else English."""
    for name in ("AJUSTE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "es" if value.lower().startswith("es") else "en"
    return "en"


def packed_path(name: str) -> str | None:
    """A file that the wheel brings, or its original in a checkout; None where there is neither."""
    here = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(here)
    originals = {
        "catalog.json": os.path.join(os.path.dirname(above), "build", "app", "catalog.json"),
        "assumptions.toml": os.path.join(os.path.dirname(above), "data", "assumptions.toml"),
        "smoke.py": os.path.join(above, "smoke", "smoke.py"),
    }
    in_checkout = originals.get(name, os.path.join(above, "web", "strings", name))
    for path in (os.path.join(here, "_data", name), in_checkout):
        if os.path.exists(path):
            return path
    return None


@cache
def page_words(language: str) -> dict[str, Any]:
    """The page's own sentences."""
    path = packed_path(f"{language}.json")
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        words: dict[str, Any] = json.load(file)
    return words


class Screen:
    """Prints in one language, with colours only where a person looks."""

    def __init__(self, language: str, stream: Any = None) -> None:
        self.language = language
        self.stream = stream or sys.stdout
        self.lines: list[str] = []
        asked = os.environ.get("FORCE_COLOR")
        self.colours = bool(asked and asked != "0") or (self.stream.isatty() and "NO_COLOR" not in os.environ)

    def say(self, sentence: str, /, **values: object) -> str:
        """A sentence of the command line."""
        return WORDS[sentence][self.language].format(**values)

    def page(self, name: str) -> str:
        """A word that the page also uses; the name itself where it has none."""
        said = page_words(self.language).get(name)
        return said if isinstance(said, str) else name.rsplit(".", 1)[-1]

    def number(self, value: float | None, figures: int = 3) -> str:
        """A number with so many significant figures, as the language writes it."""
        if value is None:
            return "?"
        if value == 0:
            return "0"
        decimals = max(0, figures - len(str(int(abs(value)))) if abs(value) >= 1 else figures)
        text = f"{value:,.{decimals}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        if self.language == "es":
            text = text.replace(",", "\u202f").replace(".", ",")
        return text

    def paint(self, text: str, *styles: str) -> str:
        """Text in a colour, where colours are on."""
        if not self.colours or not styles:
            return text
        return f"\033[{';'.join(COLOURS[style] for style in styles)}m{text}\033[0m"

    def verdict(self, verdict: str) -> str:
        """Fits, tight, does not fit: a word in its colour."""
        return self.paint(self.page(f"offer.{verdict}"), VERDICT_COLOUR[verdict])

    def line(self, text: str = "") -> None:
        """One line, shown with the rest at the end: what is printed does not depend on how far a reader got."""
        self.lines.append(text)

    def show(self) -> None:
        """Print everything. A reader who stops early (`| head`) is no fault."""
        try:
            self.stream.write("".join(f"{line}\n" for line in self.lines))
            self.stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    def pair(self, label: str, text: str) -> None:
        """A label and what it is."""
        self.line(f"{self.paint(label + ' ' * max(0, 18 - len(label)), 'bold')} {text}")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
        """Rows under column names; numbers, by the index of their column, to the right."""
        heads = [self.say(f"col.{name}") for name in columns]
        widths = [max(width(row[i]) for row in [heads, *rows]) for i in range(len(heads))]

        def shown(cells: Sequence[str]) -> str:
            parts = []
            for i, cell in enumerate(cells):
                room = " " * (widths[i] - width(cell))
                parts.append(room + cell if i in right else cell + room)
            return "  ".join(parts).rstrip()

        self.line(self.paint(shown(heads), "dim"))
        for row in rows:
            self.line(shown(row))


def width(text: str) -> int:
    """How many columns a text takes: escape sequences take none."""
    shown, escaped = 0, False
    for character in text:
        if character == "\033":
            escaped = True
        elif escaped:
            escaped = character != "m"
        else:
            shown += 1
    return shown


# argparse's own complaints, which it only has in English.
USAGE_ERRORS = (
    (r"the following arguments are required: (.*)", r"falta: \1"),
    (r"unrecognized arguments: (.*)", r"sobra: \1"),
    (r"argument (.*?): invalid choice: (.*?) \(choose from (.*)\)", r"\1: \2 no vale; una de: \3"),
    (r"argument (.*?): invalid (?:int|float) value: (.*)", r"\1: \2 no es un número"),
    (r"argument (.*?): expected (?:one|at least one) argument", r"\1: falta su valor"),
)


def usage_error(message: str, language: str) -> str:
    """What argparse complains of, in the language of the screen."""
    for pattern, spanish in USAGE_ERRORS if language == "es" else ():
        if re.fullmatch(pattern, message, re.DOTALL):
            return re.sub(pattern, spanish, message, flags=re.DOTALL)
    return message


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Say what goes on where it takes more than a second and a person looks."""
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(1.0, lambda: sys.stderr.write(f"{text}\r"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        sys.stderr.write(" " * len(text) + "\r")
