"""Scaleway: its public product catalogue, in euros, by the minute, with the GPU of each instance named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.refresh.ecb import usd_per_euro
from pipeline.refresh.fetch import SourceError, parse_json
from pipeline.refresh.offer import Collected, Names

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

URL = "https://api.scaleway.com/product-catalog/v2alpha1/public-catalog/products"
PAGE = 100
PAGES = 200
PER_HOUR = {"minute": 60, "hour": 1}


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """GPU instances that are sold, in dollars at today's rate."""
    collected = Collected(URL)
    names = Names(data, "scaleway")
    rate = usd_per_euro(fetch, today)
    for product in _products(fetch):
        try:
            hardware = product["properties"]["hardware"]
            card, name, zone = hardware["gpu"], product["product"], product["locality"]["zone"]
            price, unit = product["price"]["retail_price"], product["unit_of_measure"]
            euros = (price["units"] + price["nanos"] / 1e9) * PER_HOUR[unit["unit"]] / unit["size"]
            currency, gpus, described = price["currency_code"], card["count"], card["type"]
            vcpus, ram = hardware["cpu"]["virtual"]["count"], hardware["ram"]["size"] / 2**30
        except (KeyError, TypeError, ZeroDivisionError):
            continue  # not a GPU instance, or not sold by time
        if product.get("status") not in ("general_availability", "public_beta"):
            continue
        if currency != "EUR":
            raise SourceError(f"{URL}: prices in {currency!r}, not EUR")
        gpu = names.gpu(str(described))
        if gpu is None:
            collected.refuse(f"unknown GPU {described!r}")
            continue
        collected.add(
            "scaleway",
            offer=name,
            gpu=gpu,
            gpus=gpus,
            region=zone,
            purchase="on-demand",
            usd_per_hour=round(euros * rate, 4),
            vcpus=vcpus,
            ram_gib=ram,
            price_basis="listed",
            confidence="A",
            checked=today.isoformat(),
            source_url=URL,
            note=f"{euros:g} EUR/h at {rate:g} USD per euro",
        )
    return collected.finish()


def _products(fetch: Fetch) -> Iterator[dict[str, Any]]:
    for page in range(1, PAGES + 1):
        url = f"{URL}?page_size={PAGE}&page={page}"
        answer = parse_json(url, fetch.get(url))
        products = answer.get("products") if isinstance(answer, dict) else None
        if not isinstance(products, list):
            raise SourceError(f"{url}: no products in the answer")
        yield from (product for product in products if isinstance(product, dict))
        if len(products) < PAGE:
            return
    raise SourceError(f"{URL}: over {PAGES} pages")
