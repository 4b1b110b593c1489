"""How numbers, dates, words and links look in each language, as HTML."""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    import datetime

LANGUAGES = ("es", "en")
THIN = "\u202f"  # narrow no-break space: Spanish thousands
UNKNOWN = '<span class="unknown" aria-label="{label}">–</span>'
_WORDS = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))


@cache
def repository() -> str:
    """The repository's address: REPO_URL, else the default that mkdocs.yml states, so that it stands in one place."""
    stated = re.search(r'!ENV \[REPO_URL, "([^"]+)"\]', Path("mkdocs.yml").read_text(encoding="utf-8"))
    return (os.environ.get("REPO_URL") or (stated[1] if stated else "")).rstrip("/")


def word(key: str, language: str, **values: object) -> str:
    """A word or sentence of words.toml."""
    return str(_WORDS[key][language]).format(**values)


def unknown(language: str) -> str:
    """What stands where nobody has read the fact."""
    return UNKNOWN.format(label=word("unknown", language))


def number(value: float, language: str, decimals: int = 0) -> str:
    """1234.5 → «1 234,5» or “1,234.5”."""
    text = f"{value:,.{decimals}f}"
    return text.translate(str.maketrans(",.", THIN + ",")) if language == "es" else text


def short_number(value: float, language: str) -> str:
    """A number with the decimals it has, six significant figures at most."""
    plain = f"{value:.6g}"
    if "e" in plain:
        return plain
    return number(float(plain), language, len(plain.partition(".")[2]))


def usd(value: float, language: str) -> str:
    """0.74 → «US$ 0,74» or “$0.74”: in half of the Spanish-speaking world "$" is another currency."""
    decimals = 2 if value >= 0.1 or value == 0 else 4 if value < 0.01 else 3
    return (
        f"US$\u00a0{number(value, language, decimals)}" if language == "es" else f"${number(value, language, decimals)}"
    )


def percent(share: float, language: str, decimals: int = 0) -> str:
    """0.66 → «66 %» or “66%”."""
    return number(share * 100, language, decimals) + ("\u00a0%" if language == "es" else "%")


def age(days: int, language: str) -> str:
    """«1 día», “21 days”."""
    return word("day" if days == 1 else "days", language, n=number(days, language)).replace(" ", "\u00a0")


def duration(seconds: float, language: str) -> str:
    """A billing step or a notice: «minuto», “30 s”."""
    names = {0.000001: "microsecond", 1: "second", 60: "minute", 3600: "hour"}
    if seconds in names:
        return word(names[seconds], language)
    if seconds > 60 and seconds % 60 == 0:
        return word("minutes", language, n=number(seconds / 60, language))
    return word("seconds", language, n=short_number(seconds, language))


def anchor(*parts: object) -> str:
    """An id for a row, from what identifies it."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts if part not in (None, "")).lower()).strip(
        "-"
    )


def link(url: str, label: str) -> str:
    """An outside link; the label is HTML already."""
    return f'<a href="{escape(url)}" rel="nofollow">{label}</a>'


def issue_form(offer: dict[str, object]) -> str:
    """The price form, filled in with a row."""
    fields = {name: offer[name] for name in ("provider", "offer", "gpu", "gpus", "region", "purchase") if offer[name]}
    title = f"{offer['provider']}: {offer['offer']}"
    query = {"template": "price.yml", "title": title, **fields}
    return f"{repository()}/issues/new?{urlencode(query, quote_via=quote)}"


def edit_link(path: str) -> str:
    """The page that edits a file in the browser."""
    return f"{repository()}/edit/main/{quote(path)}"


def days_between(earlier: datetime.date, later: datetime.date) -> int:
    """Whole days, never negative: what was read today in another time zone is of today."""
    return max(0, (later - earlier).days)
