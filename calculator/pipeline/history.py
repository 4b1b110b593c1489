"""What each offer cost, day by day that someone looked.

The past is kept by git: a price that changes leaves its old row in the history of its file, with its date and source,
and nobody has to copy anything anywhere. `data/past_prices.csv` adds the readings from before the repository began. A
clone without history (a shallow one, an archive) shows those and today's.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, NamedTuple

from pipeline.cells import earliest_day
from pipeline.git import past_rows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.files import Data, Row

Key = tuple[str, str, str | None, str, int, str]  # provider, offer, region, gpu, gpus, purchase


class Reading(NamedTuple):
    """What an offer cost on a day."""

    day: datetime.date
    usd_per_hour: float
    source_url: str


History = dict[Key, list[Reading]]


def history(root: Path, data: Data) -> History:
    """The readings of each offer, oldest first, one per day."""
    return collect([*data.past_prices, *past_rows(root), *data.prices])


def collect(rows: Iterable[Row]) -> History:
    """Rows, oldest first, as readings by offer: of one day, the last row written holds."""
    days: dict[Key, dict[datetime.date, Reading]] = {}
    for row in rows:
        value = row.values
        key = (value["provider"], value["offer"], value["region"], value["gpu"], value["gpus"], value["purchase"])
        day = earliest_day(value["checked"])
        days.setdefault(key, {})[day] = Reading(day, value["usd_per_hour"], value["source_url"])
    return {key: sorted(readings.values()) for key, readings in days.items()}
