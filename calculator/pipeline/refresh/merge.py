"""What enters a file of prices, and how it is written: whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import schema
from pipeline.files import Row, write_csv
from pipeline.refresh.fetch import SourceError
from pipeline.rules import LARGE_CHANGE, PLAUSIBLE, medians

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.refresh.offer import Offer

SHRINK = 0.3  # a source that loses more of its rows than this is broken until a person says otherwise


class Merged(NamedTuple):
    """A file as it should be, and what a person should look at."""

    offers: list[Offer]
    remarks: list[str]


def merge(provider: str, old: list[Offer], new: list[Offer], source: str, prices: list[Row]) -> Merged:
    """The file's rows with the source's own renewed; rows of other sources stay as they are.

    Raises SourceError when the source shrank. `prices` are all offers, for what a plausible price is.
    """
    owned = [offer for offer in old if offer["source_url"].startswith(source)]
    if len(new) < (1 - SHRINK) * len(owned):
        raise SourceError(f"{provider}: {len(owned)} rows became {len(new)} at {source}: kept as it was")
    before = {_key(offer): offer for offer in old}
    known = medians(prices)
    kept = {_key(offer): offer for offer in old if offer not in owned}
    remarks = []
    for offer in new:
        was = before.get(_key(offer))
        if was and was not in owned and was["checked"] >= offer["checked"]:
            continue  # somebody read this very offer elsewhere: theirs stands until it is older
        settled = _settle(offer, was, known)
        if settled is None:
            remarks.append(f"{provider} {offer['offer']}: {offer['usd_per_hour']:g} USD/h is far from its GPU's median")
            settled = was
        elif was and was["note"] != settled["note"] and settled["usd_per_hour"] != was["usd_per_hour"]:
            remarks.append(f"{provider} {offer['offer']}: {was['usd_per_hour']:g} → {offer['usd_per_hour']:g} USD/h")
        if settled:
            kept[_key(settled)] = settled
    return Merged(list(kept.values()), remarks)


def write(path: Path, offers: list[Offer]) -> bool:
    """Replaces the file in one step, if it changes: whoever stops us finds the old one or the new one."""
    text = write_csv(schema.PRICES, offers).encode()
    if path.exists() and path.read_bytes() == text:
        return False
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return True


def _settle(offer: Offer, was: Offer | None, known: dict[tuple[str, str], float]) -> Offer | None:
    """The offer with the note it needs; None when only a person can say that such a price is right."""
    note = offer["note"] or (was["note"] if was else None)
    if was:
        change = offer["usd_per_hour"] / was["usd_per_hour"] - 1
        if abs(change) > LARGE_CHANGE:
            note = f"moved {change:+.0%} since {was['checked']}, read by a robot"
    median = known.get((offer["gpu"], offer["purchase"]))
    if median and not note and not PLAUSIBLE[0] <= offer["usd_per_hour"] / offer["gpus"] / median <= PLAUSIBLE[1]:
        return None
    return offer | {"note": note}


def _key(offer: Offer) -> tuple[Any, ...]:
    return tuple(offer[name] for name in schema.PRICES.key)
