"""Bytes from the network: with a timeout, a few tries, a limit of size, and a clear reason when it fails."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT = 60  # seconds without a byte
TRIES = 3
PAUSE = 5  # seconds before the second try, doubled before the third
LIMIT = 256 * 2**20  # bytes: none of our sources is larger, AWS's price lists aside, which are streamed
AGENT = "ajuste-refresh"
_PASSING = (429, 500, 502, 503, 504)


class SourceError(Exception):
    """A source that gave no usable answer. The old data stays."""


class Fetch(Protocol):
    """What collectors ask for; tests answer from recordings."""

    def get(self, url: str) -> bytes:
        """The whole answer."""

    def lines(self, url: str) -> Iterator[str]:
        """The answer line by line, for what is too large to hold."""


class Network:
    """The real thing."""

    def get(self, url: str) -> bytes:
        """The whole answer, after up to TRIES tries."""
        for attempt in range(TRIES):
            try:
                with _open(url) as answer:
                    data: bytes = answer.read(LIMIT + 1)
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES - 1 or not _may_pass(error):
                    raise SourceError(f"{url}: {error}") from None
                time.sleep(PAUSE * 2**attempt)
                continue
            if len(data) > LIMIT:
                raise SourceError(f"{url}: over {LIMIT} bytes")
            return data
        raise AssertionError("unreachable")

    def lines(self, url: str) -> Iterator[str]:
        """The answer line by line. Half an answer is no answer: an error on the way is raised."""
        try:
            with _open(url) as answer:
                for line in answer:
                    yield line.decode("utf-8")
        except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
            raise SourceError(f"{url}: {error}") from None


def parse_json(url: str, data: bytes) -> Any:
    """A JSON answer; a page of HTML, half an answer or NaN is none."""
    try:
        return json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        start = data[:40].decode("utf-8", "replace")
        raise SourceError(f"{url}: not JSON ({error}): {start!r}") from None


def json_list(url: str, data: bytes, name: str) -> list[dict[str, Any]]:
    """The tables in the list `name` of a JSON answer; an answer without that list is none."""
    answer = parse_json(url, data)
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise SourceError(f"{url}: no {name} in the answer")
    return [one for one in found if isinstance(one, dict)]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _open(url: str) -> Any:
    if not url.startswith("https://"):
        raise SourceError(f"{url}: not https")
    answer = urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": AGENT}), timeout=TIMEOUT)
    if not answer.geturl().startswith("https://"):
        raise SourceError(f"{url}: sent us to {answer.geturl()}")
    return answer


def _may_pass(error: Exception) -> bool:
    return error.code in _PASSING if isinstance(error, urllib.error.HTTPError) else True
