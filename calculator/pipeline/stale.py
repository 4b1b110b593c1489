"""What nobody has looked at for a while, and links that no longer open: the text of one rolling issue."""

from __future__ import annotations

import concurrent.futures
import time
import urllib.error
import urllib.request
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pipeline.cells import earliest_day
from pipeline.text import LANGUAGES, days_between, issue_form, word

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable

    from pipeline.files import Data

OLD = 60  # days
LIMIT = 60_000  # characters: what an issue holds, with room to spare
PER_PROVIDER = 5  # rows named, oldest first
GONE = (404, 410)  # what says that a page is not there; 403 or 429 only says that robots are not welcome
TIMEOUT = 20  # seconds
TRIES = 2


def stale(data: Data, as_of: datetime.date, dead: list[tuple[str, str]]) -> str:
    """The issue's text in both languages; empty when there is nothing to say."""
    old = _old(data, as_of)
    if not old and not dead:
        return ""
    return "\n".join([*_intro(old, len(data.prices)), *_rows(old), *_dead(dead)])[:LIMIT] + "\n"


def links(data: Data) -> list[str]:
    """Every address that the data leans on."""
    found = {row.values["source_url"] for row in [*data.prices, *data.past_prices, *data.gpus, *data.memory]}
    found |= {row.values["url"] for row in [*data.links, *data.providers]}
    found |= {source["url"] for row in data.providers for source in row.values["sources"]}
    return sorted(url for url in found if url)


def dead_links(urls: Iterable[str], look: Callable[[str], str] | None = None) -> list[tuple[str, str]]:
    """The addresses that are gone, with why. Eight at a time: a guest does not crowd."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        urls = list(urls)
        return [(url, why) for url, why in zip(urls, pool.map(look or gone, urls), strict=True) if why]


def gone(url: str) -> str:
    """Why a page is gone; empty when it opens, or when it cannot be told."""
    why = ""
    for attempt in range(TRIES):
        time.sleep(attempt)
        request = urllib.request.Request(url, headers={"User-Agent": "ajuste-links"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT):
                return ""
        except urllib.error.HTTPError as error:
            return str(error.code) if error.code in GONE else ""
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            why = type(reason).__name__ if "getaddrinfo" in repr(error) or "Name or service" in str(reason) else ""
    return why


def _old(data: Data, as_of: datetime.date) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """Offers over OLD days, by provider, oldest first."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for row in data.prices:
        days = days_between(earliest_day(row.values["checked"]), as_of)
        if days > OLD:
            found[row.values["provider"]].append((days, row.values))
    return {
        provider: sorted(rows, key=lambda row: (-row[0], row[1]["offer"]))
        for provider, rows in sorted(found.items(), key=lambda item: -max(days for days, _ in item[1]))
    }


def _intro(old: dict[str, list[tuple[int, dict[str, Any]]]], total: int) -> list[str]:
    count = sum(map(len, old.values()))
    return [
        line
        for language in LANGUAGES
        for line in (word("stale_count", language, n=count, total=total, days=OLD), "")
        if count
    ]


def _rows(old: dict[str, list[tuple[int, dict[str, Any]]]]) -> list[str]:
    ask = " / ".join(word("still_right", language) for language in LANGUAGES)
    lines = []
    for provider, rows in old.items():
        lines.append(f"- **{provider}** ({len(rows)})")
        lines += [
            f"  - `{offer['offer'].replace('`', chr(39))}` · {days} d · [{ask}]({issue_form(offer)})"
            for days, offer in rows[:PER_PROVIDER]
        ]
    return lines


def _dead(dead: list[tuple[str, str]]) -> list[str]:
    heading = " / ".join(word("stale_dead", language) for language in LANGUAGES)
    return ["", f"## {heading}", "", *(f"- <{url}> ({why})" for url, why in dead)] if dead else []
