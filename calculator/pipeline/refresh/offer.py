"""One offer as a collector found it: checked by the same schema that checks what people type."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import schema
from pipeline.cells import CellError, check_value
from pipeline.refresh.fetch import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.files import Data

Offer = dict[str, Any]


class Names:
    """GPU names of a source. Exact, by context first; ambiguous ones are as unknown as the rest."""

    def __init__(self, data: Data, context: str) -> None:
        rows = [row.values for row in data.gpu_aliases]
        self._known = {row["alias"]: row["gpu"] for row in rows if not row["context"]}
        self._known |= {row["alias"]: row["gpu"] for row in rows if row["context"] == context}

    def gpu(self, name: str) -> str | None:
        """The id, or None."""
        return self._known.get(name)


class Collected:
    """What one source says: offers by provider, and what it said that was not taken, with why."""

    def __init__(self, source: str) -> None:
        self.source = source  # rows whose source_url starts with this are this collector's to renew
        self.offers: dict[str, list[Offer]] = {}
        self.refused: Counter[str] = Counter()

    def add(self, provider: str, **values: Any) -> None:
        """Takes an offer if the schema does."""
        values = {"assumed": [], "note": None, "region": None, "vcpus": None, "ram_gib": None} | values
        for column in schema.PRICES.columns:
            try:
                _check(column, values[column.name])
            except CellError as error:
                self.refuse(f"{column.name} {values[column.name]!r}: {error.text.en}")
                return
        self.offers.setdefault(provider, []).append({name: values[name] for name in schema.PRICES.names})

    def refuse(self, why: str) -> None:
        """Notes what was not taken."""
        self.refused[why[:160]] += 1

    def finish(self) -> Collected:
        """The same, or SourceError when there is nothing: an empty answer is a broken one."""
        if not any(self.offers.values()):
            reasons = "; ".join(f"{why} ({count})" for why, count in self.refused.most_common(3))
            raise SourceError(f"{self.source}: no offer left ({reasons or 'empty answer'})")
        return self


def choose(offers: Iterable[Offer], regions: list[str] | None) -> list[Offer]:
    """The wanted regions of each offer, or its cheapest one. Without this a hyperscaler would fill the page."""
    best: dict[tuple[Any, ...], Offer] = {}
    for offer in sorted(offers, key=lambda offer: (offer["usd_per_hour"], offer["region"] or "")):
        if regions and offer["region"] not in regions:
            continue
        key = (offer["offer"], offer["gpu"], offer["gpus"], offer["purchase"], offer["region"] if regions else None)
        best.setdefault(key, offer)
    return list(best.values())


class Instance(NamedTuple):
    """An instance type whose source does not name its GPU."""

    gpu: str
    gpus: int
    vcpus: int | None
    ram_gib: float | None


def instances(data: Data, provider: str) -> dict[str, Instance]:
    """data/instances.csv of one provider, by name."""
    names = Instance._fields
    return {
        row.values["offer"]: Instance(*(row.values[name] for name in names))
        for row in data.instances
        if row.values["provider"] == provider
    }


def regions(data: Data, provider: str) -> list[str]:
    """The regions whose prices are kept, from data/providers.toml."""
    return next((row.values["price_regions"] or [] for row in data.providers if row.values["id"] == provider), [])


def to_number(text: str) -> float:
    """The number a source wrote, NaN when it is none: the schema refuses it by name."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def to_integer(text: str) -> int | float:
    """The same, whole numbers as integers."""
    number = to_number(text)
    return int(number) if number.is_integer() else number


def _check(column: schema.Column, value: Any) -> None:
    if column.kind == "words":
        return
    if value is None and not column.required:
        return
    check_value(column, value)
