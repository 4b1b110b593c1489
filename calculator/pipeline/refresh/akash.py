"""Akash: what its market asks per GPU now, averaged over what is on offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.refresh.fetch import json_list
from pipeline.refresh.offer import Collected, Names

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

URL = "https://console-api.akash.network/v1/gpu-prices"
ENOUGH = 5  # machines on offer: the average of fewer is somebody's mood


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """The weighted average of each model of which enough machines are on offer."""
    collected = Collected(URL)
    names = Names(data, "akash")
    models = json_list(URL, fetch.get(URL), "models")
    for model in models:
        name = " ".join(str(model.get(key)) for key in ("model", "interface", "ram"))
        gpu, price, free = names.gpu(name), model.get("price"), model.get("availability")
        if gpu is None:
            collected.refuse(f"unknown GPU {name!r}")
        elif not isinstance(price, dict) or price.get("currency") != "USD":
            collected.refuse(f"{name}: no price in USD")
        elif not isinstance(free, dict) or not isinstance(free.get("total"), int) or free["total"] < ENOUGH:
            collected.refuse(f"{name}: fewer than {ENOUGH} machines")
        else:
            collected.add(
                "akash",
                offer=name,
                gpu=gpu,
                gpus=1,
                purchase="on-demand",
                usd_per_hour=price.get("weightedAverage"),
                price_basis="scaled",
                assumed=["average"],
                confidence="A",
                checked=today.isoformat(),
                source_url=URL,
            )
    return collected.finish()
