"""AWS: the price list of each region (hundreds of megabytes, streamed) and Spot Advisor's savings and interruptions.

AWS publishes no list of spot prices that needs no key. Spot rows are the on-demand price less the month's average
saving, which Spot Advisor rounds to a whole per cent: marked `scaled` and `average`, never `listed`.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from pipeline.refresh.fetch import SourceError, parse_json
from pipeline.refresh.offer import Collected, instances, regions, to_number

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

ROOT = "https://pricing.us-east-1.amazonaws.com"
ADVISOR = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
# A row is the plain price of an instance when its columns say all of this.
PLAIN = {
    "TermType": "OnDemand",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "Pre Installed S/W": "NA",
    "CapacityStatus": "Used",
    "Unit": "Hrs",
}
NEEDED = {*PLAIN, "Instance Type", "PricePerUnit", "Currency", "Region Code"}


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """On-demand and spot prices of the instances we know, in the regions we keep."""
    collected = Collected(ROOT)
    known = instances(data, "aws")
    advisor = _advisor(fetch)
    for region in regions(data, "aws"):
        url = f"{ROOT}/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"
        for name, price in _prices(url, fetch.lines(url), known):
            instance = known[name]
            common = {
                "offer": name,
                "gpu": instance.gpu,
                "gpus": instance.gpus,
                "region": region,
                "vcpus": instance.vcpus,
                "ram_gib": instance.ram_gib,
                "confidence": "A",
                "checked": today.isoformat(),
                "source_url": url,
            }
            collected.add("aws", purchase="on-demand", usd_per_hour=price, price_basis="listed", **common)
            saving, label = advisor.get((region, name), (None, ""))
            if saving and price > 0:
                collected.add(
                    "aws",
                    purchase="spot",
                    usd_per_hour=round(price * (1 - saving / 100), 4),
                    price_basis="scaled",
                    assumed=["average"],
                    note=f"Spot Advisor: interrupted in {label} of months",
                    **common,
                )
    return collected.finish()


def _prices(url: str, lines: Iterator[str], known: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Instance type and USD per hour of each plain row. The list opens with five lines about itself."""
    reader = csv.reader(lines)
    try:
        header = next((cells for cells in reader if cells[:1] == ["SKU"]), None)
        missing = NEEDED - set(header or ())
        if header is None or missing:
            raise SourceError(f"{url}: no price list, or without {sorted(missing)}")
        places = {name: header.index(name) for name in NEEDED}
        for cells in reader:
            if len(cells) != len(header):
                raise SourceError(f"{url}: cut off")
            name = cells[places["Instance Type"]]
            if name not in known or any(cells[places[column]] != value for column, value in PLAIN.items()):
                continue
            if cells[places["Currency"]] != "USD":
                raise SourceError(f"{url}: prices in {cells[places['Currency']]!r}, not USD")
            yield name, to_number(cells[places["PricePerUnit"]])
    except csv.Error as error:
        raise SourceError(f"{url}: {error}") from None


def _advisor(fetch: Fetch) -> dict[tuple[str, str], tuple[int, str]]:
    """By region and instance type: the average saving in per cent, and how often it is interrupted."""
    answer = parse_json(ADVISOR, fetch.get(ADVISOR))
    try:
        labels = {entry["index"]: entry["label"] for entry in answer["ranges"]}
        return {
            (region, name): (entry["s"], labels[entry["r"]])
            for region, systems in answer["spot_advisor"].items()
            for name, entry in systems["Linux"].items()
            if 0 < entry["s"] < 100
        }
    except (KeyError, TypeError, AttributeError):
        raise SourceError(f"{ADVISOR}: other fields than expected") from None
