"""Euros into dollars, at the European Central Bank's reference rate. No rate, no price: there is no fallback."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from pipeline.refresh.fetch import SourceError

if TYPE_CHECKING:
    from pipeline.refresh.fetch import Fetch

URL = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
OLDEST = 7  # days: the bank rests at Christmas
PLAUSIBLE = (0.5, 2.0)  # USD per euro


def usd_per_euro(fetch: Fetch, today: datetime.date) -> float:
    """The rate of the last working day."""
    text = fetch.get(URL).decode("utf-8", "replace")
    day = re.search(r"<Cube time=['\"](\d{4}-\d{2}-\d{2})['\"]", text)
    rate = re.search(r"<Cube currency=['\"]USD['\"] rate=['\"](\d+\.\d+)['\"]", text)
    if not day or not rate:
        raise SourceError(f"{URL}: no rate of the dollar")
    try:
        age = (today - datetime.date.fromisoformat(day[1])).days
    except ValueError:
        raise SourceError(f"{URL}: {day[1]} is no day") from None
    if not -1 <= age <= OLDEST:
        raise SourceError(f"{URL}: the rate is of {day[1]}")
    value = float(rate[1])
    if not PLAUSIBLE[0] < value < PLAUSIBLE[1]:
        raise SourceError(f"{URL}: {value} USD per euro")
    return value
