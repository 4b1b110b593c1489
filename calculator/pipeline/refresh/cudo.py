"""CUDO Compute: machine types with a price per GPU; processors and memory are billed on top of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.refresh.fetch import json_list
from pipeline.refresh.offer import Collected, Names, to_number

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

URL = "https://rest.compute.cudo.org/v1/vms/machine-types"


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """One GPU of each machine type."""
    collected = Collected(URL)
    names = Names(data, "cudo")
    types = json_list(URL, fetch.get(URL), "machineTypes")
    for machine in (machine for machine in types if machine.get("gpuModel")):
        gpu = names.gpu(str(machine["gpuModel"]))
        if gpu is None:
            collected.refuse(f"unknown GPU {machine['gpuModel']!r}")
            continue
        collected.add(
            "cudo",
            offer=str(machine.get("machineType")),
            gpu=gpu,
            gpus=1,
            region=machine.get("dataCenterId") or None,
            purchase="on-demand",
            usd_per_hour=_price(machine),
            price_basis="listed",
            assumed=["host_extra"],
            confidence="A",
            checked=today.isoformat(),
            source_url=URL,
        )
    return collected.finish()


def _price(machine: dict[str, Any]) -> float:
    price = machine.get("gpuPriceHr")
    return to_number(str(price.get("value"))) if isinstance(price, dict) else float("nan")
