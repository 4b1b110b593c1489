"""Runs the collectors and writes what they found, one file per provider; one that fails holds no other back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.refresh import akash, aws, azure, cudo, gpuhunt, oci, scaleway, skypilot, vultr
from pipeline.refresh.fetch import SourceError
from pipeline.refresh.merge import merge, write
from pipeline.refresh.offer import choose, regions

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch
    from pipeline.refresh.offer import Collected

REFUSED_SHOWN = 20


class Outcome(NamedTuple):
    """What one source did."""

    source: str
    written: list[str]  # providers
    remarks: list[str]  # for a person to look at
    refused: list[str]  # what was not understood
    failure: str = ""


def sources() -> dict[str, Callable[[Fetch, Data, datetime.date], Collected]]:
    """Every source by the name that --source takes."""
    found: dict[str, Any] = {
        module.__name__.rpartition(".")[2]: module.collect for module in (akash, aws, azure, cudo, oci, scaleway, vultr)
    }
    for name in gpuhunt.PROVIDERS:
        found[f"gpuhunt-{name}"] = _of(gpuhunt.collect, name)
    for name in skypilot.CLOUDS:
        found[f"skypilot-{name}"] = _of(skypilot.collect, name)
    return found


def refresh(root: Path, data: Data, fetch: Fetch, today: datetime.date, wanted: list[str]) -> list[Outcome]:
    """Collects from each wanted source and writes data/prices/<provider>.csv of what changed."""
    return [_refresh(root, data, fetch, today, name, collect) for name, collect in sources().items() if name in wanted]


def tell(outcomes: list[Outcome]) -> str:
    """What happened, as Markdown."""
    lines = []
    for outcome in outcomes:
        sign = "❌" if outcome.failure else "✅"
        lines.append(f"- {sign} **{outcome.source}** {outcome.failure or ', '.join(outcome.written) or 'no change'}")
        lines += [f"  - 👀 {remark}" for remark in outcome.remarks]
        lines += [f"  - {refused}" for refused in outcome.refused]
    return "\n".join([*lines, ""])


def _refresh(root: Path, data: Data, fetch: Fetch, today: datetime.date, name: str, collect: Any) -> Outcome:
    try:
        collected = collect(fetch, data, today)
    except SourceError as error:
        return Outcome(name, [], [], [], str(error))
    refused = [f"{why} ({count})" for why, count in collected.refused.most_common(REFUSED_SHOWN)]
    written, remarks = [], []
    for provider, offers in sorted(collected.offers.items()):
        old = [row.values for row in data.prices if row.values["provider"] == provider]
        try:
            merged = merge(provider, old, choose(offers, regions(data, provider)), collected.source, data.prices)
        except SourceError as error:
            remarks.append(str(error))
            continue
        remarks += merged.remarks
        if write(root / "data/prices" / f"{provider}.csv", merged.offers):
            written.append(provider)
    return Outcome(name, written, remarks, refused)


def _of(collect: Any, name: str) -> Any:
    return lambda fetch, data, today: collect(fetch, data, today, name)
