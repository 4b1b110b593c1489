"""Oracle Cloud: one list of products, priced per GPU and hour; data/instances.csv says which machines have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.refresh.fetch import json_list
from pipeline.refresh.offer import Collected, Names, instances

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

URL = "https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/"


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """The machines we know, at the listed price of their GPU."""
    collected = Collected(URL)
    names = Names(data, "oci")
    items = json_list(URL, fetch.get(URL), "items")
    prices: dict[str, float] = {}
    for item in (item for item in items if item.get("metricName") == "GPU Per Hour"):
        gpu, price = names.gpu(str(item.get("displayName"))), _dollars(item)
        if gpu is None:
            collected.refuse(f"unknown GPU {item.get('displayName')!r}")
        elif price is not None:
            prices[gpu] = price
    for name, machine in instances(data, "oci").items():
        if machine.gpu in prices:
            collected.add(
                "oci",
                offer=name,
                gpu=machine.gpu,
                gpus=machine.gpus,
                region="all",
                purchase="on-demand",
                usd_per_hour=round(prices[machine.gpu] * machine.gpus, 4),
                vcpus=machine.vcpus,
                ram_gib=machine.ram_gib,
                price_basis="listed",
                confidence="A",
                checked=today.isoformat(),
                source_url=URL,
            )
    return collected.finish()


def _dollars(item: dict[str, Any]) -> float | None:
    """Pay-as-you-go price in USD; zero and nothing are no price."""
    try:
        (local,) = (part for part in item["currencyCodeLocalizations"] if part["currencyCode"] == "USD")
        (price,) = (part["value"] for part in local["prices"] if part["model"] == "PAY_AS_YOU_GO")
    except (KeyError, TypeError, ValueError):
        return None
    return float(price) if isinstance(price, int | float) and price > 0 else None
