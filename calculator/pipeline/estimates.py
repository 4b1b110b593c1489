"""Bills, as the calculator would answer them with some data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ajuste import estimate, load_catalog
from pipeline.bundle import bundle

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable

    from pipeline.files import Data


def cheapest_bill(as_of: datetime.date) -> Callable[[dict[str, Any], Data], float | None]:
    """A function that gives what the cheapest pick for a request costs, USD; None when nothing fits."""
    catalogs: dict[int, Any] = {}

    def bill(request: dict[str, Any], data: Data) -> float | None:
        if id(data) not in catalogs:
            catalogs[id(data)] = load_catalog(bundle(data, as_of))
        answer = estimate(request, catalogs[id(data)])
        pick = answer["picks"]["cheapest"] if answer["ok"] else None
        return None if pick is None else float(answer["offers"][pick]["usd"]["mid"])

    return bill


def allocated_peak(as_of: datetime.date) -> Callable[[dict[str, Any], Data], tuple[float, float, float] | None]:
    """A function that gives a request's allocated peak in GiB, low, mid and high; None where there is no answer."""

    def peak(request: dict[str, Any], data: Data) -> tuple[float, float, float] | None:
        answer = estimate(request, load_catalog(bundle(data, as_of)))
        if not answer["ok"]:
            return None
        found = answer["memory"]["allocated_gib"]
        return found["low"], found["mid"], found["high"]

    return peak
