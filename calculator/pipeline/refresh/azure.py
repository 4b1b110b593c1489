"""Azure Retail Prices: pages of JSON, no key. One request per region; the GPU comes from data/instances.csv."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any

from pipeline.refresh.fetch import SourceError, parse_json
from pipeline.refresh.offer import Collected, instances, regions

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

URL = "https://prices.azure.com/api/retail/prices"
PAGES = 200  # per region: an answer that never ends is not followed for ever


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """On-demand and spot prices of the instances we know, in the regions we keep."""
    collected = Collected(URL)
    known = instances(data, "azure")
    for region in regions(data, "azure"):
        for item in _items(fetch, region):
            name = item.get("armSkuName")
            instance = known.get(name) if isinstance(name, str) else None
            if instance is None or not _is_linux_hour(item):
                continue
            if item.get("currencyCode") != "USD":
                raise SourceError(f"{URL}: prices in {item.get('currencyCode')!r}, not USD")
            collected.add(
                "azure",
                offer=name,
                gpu=instance.gpu,
                gpus=instance.gpus,
                region=region,
                purchase="spot" if "Spot" in str(item.get("skuName")) else "on-demand",
                usd_per_hour=item.get("retailPrice"),
                vcpus=instance.vcpus,
                ram_gib=instance.ram_gib,
                price_basis="listed",
                confidence="A",
                checked=today.isoformat(),
                source_url=_filtered(f"armSkuName eq '{name}'"),
            )
    return collected.finish()


def _items(fetch: Fetch, region: str) -> Iterator[dict[str, Any]]:
    wanted = f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '{region}'"
    url = _filtered(wanted)
    for _ in range(PAGES):
        page = parse_json(url, fetch.get(url))
        items = page.get("Items") if isinstance(page, dict) else None
        if not isinstance(items, list):
            raise SourceError(f"{url}: no Items in the answer")
        yield from (item for item in items if isinstance(item, dict))
        url = page.get("NextPageLink")
        if not url:
            return
        if not str(url).startswith(URL.removesuffix("/api/retail/prices")):
            raise SourceError(f"{URL}: sends us to {url}")
    raise SourceError(f"{URL}: over {PAGES} pages for {region}")


def _filtered(condition: str) -> str:
    return f"{URL}?$filter={urllib.parse.quote(condition)}"


def _is_linux_hour(item: dict[str, Any]) -> bool:
    product, sku = str(item.get("productName")), str(item.get("skuName"))
    return (
        "Windows" not in product
        and "Dedicated" not in product
        and "Low Priority" not in sku
        and item.get("type") == "Consumption"
        and item.get("unitOfMeasure") == "1 Hour"
    )
