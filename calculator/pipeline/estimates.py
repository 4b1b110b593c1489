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
