"""Reads the guide's Markdown: what the two languages must share, the lock of their sections, the links they may use.

python -m pipeline.guide                       says what changed in one language only, and which links have no row
python -m pipeline.guide --update              takes sections that are new or changed in both languages
python -m pipeline.guide --update PAGE#ANCHOR  takes this one too: it changed in one language and still says the same
"""

from __future__ import annotations

import csv
import hashlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LANGUAGES = ("es", "en")
LOCK = DOCS / "parity.lock"
THIN_SPACE = "\u202f"  # between thousands in Spanish; a plain space would break the line and look like two numbers

HEADING = re.compile(r"^(#{1,4}) +(.*?)(?: *\{#([\w-]+)[^}]*\})? *$")
INCLUDE = re.compile(r'^\s*--8<-- "([^"]+)"', re.M)
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")
CODE_SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^( *)(```+)(\S*)[^\n]*\n(.*?)^\1\2 *$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d.,\u202f]*(?<![.,])")


class Section(NamedTuple):
    """The text under one heading, up to the next one."""

    level: int
    title: str
    anchor: str | None
    body: str


class Page(NamedTuple):
    """One Markdown file."""

    language: str
    path: str
    meta: dict[str, str]
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """All sections, titles included."""
        return "\n".join(f"{section.title}\n{section.body}" for section in self.sections)


def read_page(language: str, path: str) -> Page:
    """Split a page at its headings; a line that starts with # inside a code block is no heading."""
    text = (DOCS / language / path).read_text(encoding="utf-8")
    meta: dict[str, str] = {}
    if text.startswith("---\n"):
        head, text = text[4:].split("\n---\n", 1)
        meta = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
    sections: list[Section] = []
    heading: tuple[int, str, str | None] | None = None
    body: list[str] = []
    fenced = False

    def close() -> None:
        if heading:
            sections.append(Section(*heading, "\n".join(body).strip()))

    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        found = None if fenced else HEADING.match(line)
        if found:
            close()
            heading, body = (len(found[1]), found[2], found[3]), []
        else:
            body.append(line)
    close()
    return Page(language, path, meta, tuple(sections))


@cache
def pages(language: str) -> dict[str, Page]:
    """Every page of a language, by its path below docs/<language>."""
    folder = DOCS / language
    paths = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.md"))
    return {path: read_page(language, path) for path in paths}


def includes(page: Page) -> list[str]:
    """Names of the generated files a page includes, without their language."""
    return [name.replace(f".{page.language}.", ".") for name in INCLUDE.findall(page.text)]


def links(text: str) -> list[str]:
    """Targets of Markdown links, outside code."""
    return LINK.findall(CODE_SPAN.sub("", FENCE.sub("", text)))


def code_blocks(text: str) -> list[str]:
    """Code blocks without their comments, which are in the page's language."""
    return [re.sub(r"(?m)(^|\s+)#.*$", "", block[3]).strip() for block in FENCE.findall(text)]


def code_spans(text: str) -> list[str]:
    """Formulas, field names, file names: what is the same in every language."""
    return CODE_SPAN.findall(FENCE.sub("", text))


def prose(text: str) -> str:
    """The text without code, includes and link targets."""
    text = CODE_SPAN.sub(" ", FENCE.sub(" ", text))
    text = INCLUDE.sub(" ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"<[^>]+>|\{[^}]*\}", " ", text)


def numbers(text: str, language: str) -> list[str]:
    """Numbers of the prose in one spelling: 8 030,5 in Spanish and 8,030.5 in English are both 8030.5."""
    found = []
    for number in NUMBER.findall(prose(text)):
        if language == "es":
            number = number.replace(THIN_SPACE, "").replace(",", ".")
        else:
            number = re.sub(r",(?=\d{3}(?!\d))", "", number)
        found.append(number.replace("−", "-").lstrip("+"))
    return found


class Line(NamedTuple):
    """One section's hashes."""

    es: str
    en: str


def digest(title: str, body: str) -> str:
    """Ten hexadecimal digits of the text, blind to how its lines are wrapped."""
    return hashlib.sha256(re.sub(r"\s+", " ", f"{title} {body}").strip().encode()).hexdigest()[:10]


def current() -> dict[str, Line]:
    """Section → hashes, from the pages."""
    hashes = {
        language: {
            f"{path}#{section.anchor}": digest(section.title, section.body)
            for path, page in pages(language).items()
            for section in page.sections
        }
        for language in ("es", "en")
    }
    return {key: Line(value, hashes["en"].get(key, "")) for key, value in hashes["es"].items()}


def parse(text: str) -> dict[str, Line]:
    """Section → hashes, from the lock."""
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#!"))
    return {key: Line(es, en) for key, es, en in rows}


def row(key: str, line: Line) -> str:
    """One line of the lock."""
    return f"{key} {line.es} {line.en}"


def write(lines: dict[str, Line]) -> None:
    """Write the lock, sorted."""
    LOCK.write_text("".join(f"{row(key, lines[key])}\n" for key in sorted(lines)), encoding="utf-8")


def compare(lock: dict[str, Line], now: dict[str, Line]) -> dict[str, str]:
    """Section → what is wrong with its line and the line to paste."""
    wrong = {key: "is gone: delete its line" for key in lock if key not in now}
    for key, line in now.items():
        old = lock.get(key)
        if old == line:
            continue
        if old is None:
            wrong[key] = f"is new: add the line\n    {row(key, line)}"
        elif old.es != line.es and old.en != line.en:
            wrong[key] = f"changed in both languages: write the line\n    {row(key, line)}"
        else:
            changed, other = ("es", "en") if old.es != line.es else ("en", "es")
            wrong[key] = (
                f"changed in docs/{changed}/{key} but not in docs/{other}/{key}: change it there too, "
                f"or, if it still says the same, write the line\n    {row(key, line)}"
            )
    return wrong


def external_links() -> dict[str, str]:
    """External link → the first page that has it; the theme's templates count too."""
    found: dict[str, str] = {}
    for language in LANGUAGES:
        for path, page in pages(language).items():
            for target in links(page.text):
                if "://" in target:
                    found.setdefault(target.split("#")[0], f"{language}/{path}")
    for template in (DOCS / "theme").rglob("*.html"):
        for target in re.findall(r'href="(https?://[^"{]+)"', template.read_text(encoding="utf-8")):
            found.setdefault(target, template.name)
    return found


def link_rows() -> list[dict[str, str]]:
    """data/links.csv: every link the guide may use, where it was seen, when, and the claim it carries."""
    with (ROOT / "data" / "links.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def unlisted_links() -> dict[str, str]:
    """Links without a row: the build refuses them, so that no link is invented."""
    known = {row["url"] for row in link_rows()}
    return {url: place for url, place in external_links().items() if url not in known}


def main(arguments: list[str]) -> int:
    """Print what is wrong; with --update, take what may be taken."""
    lock = parse(LOCK.read_text(encoding="utf-8")) if LOCK.exists() else {}
    now = current()
    wrong = compare(lock, now)
    if "--update" in arguments:
        one_sided = {key for key, text in wrong.items() if "but not in" in text} - set(arguments)
        write({key: lock[key] if key in one_sided else line for key, line in now.items()})
        wrong = {key: wrong[key] for key in one_sided}
    for key, text in sorted(wrong.items()):
        print(f"{key} {text}")
    unlisted = unlisted_links()
    for url, place in sorted(unlisted.items()):
        print(f"{place}: {url} is not in data/links.csv: add where you saw it, the day, and the claim it carries")
    return 1 if wrong or unlisted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
