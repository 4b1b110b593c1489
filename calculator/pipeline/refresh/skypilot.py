"""SkyPilot's catalogue: one CSV per cloud, kept in git, without a date inside: the date is that of its last commit."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from pipeline.refresh.fetch import SourceError, parse_json
from pipeline.refresh.offer import Collected, Names, to_integer, to_number

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

REPOSITORY = "skypilot-org/skypilot-catalog"
VERSION = "v8"
# Its names of clouds → ours. GCP splits a machine in two rows, AWS and Azure are read at the source.
CLOUDS = {
    "jarvislabs": "jarvislabs",
    "lium": "lium",
    "paperspace": "paperspace",
    "seeweb": "seeweb",
    "vast": "vast",
    "yotta": "yotta",
}
COLUMNS = {"InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "Price", "SpotPrice", "Region"}


def collect(fetch: Fetch, data: Data, today: datetime.date, cloud: str) -> Collected:
    """The catalogue of one cloud, by its name at SkyPilot."""
    path = f"catalogs/{VERSION}/{cloud}/vms.csv"
    page = f"https://github.com/{REPOSITORY}/blob/master/{path}"
    url = f"https://raw.githubusercontent.com/{REPOSITORY}/master/{path}"
    checked = min(_committed(fetch, path), today.isoformat())
    collected = Collected(page)
    names = Names(data, f"skypilot-{cloud}")
    for row in _rows(url, fetch.get(url)):
        name = row["AcceleratorName"]
        if not name:
            continue
        gpu = names.gpu(name)
        if gpu is None:
            collected.refuse(f"unknown GPU {name!r} of {cloud}")
            continue
        common = {
            "offer": row["InstanceType"],
            "gpu": gpu,
            "gpus": to_integer(row["AcceleratorCount"]),
            "region": row["Region"] or None,
            "vcpus": _known(to_integer(row["vCPUs"])),
            "ram_gib": _known(to_number(row["MemoryGiB"])),
            "price_basis": "listed",
            "confidence": "B",
            "checked": checked,
            "source_url": page,
        }
        price, spot = to_number(row["Price"]), to_number(row["SpotPrice"])
        if row["Price"]:
            collected.add(CLOUDS[cloud], purchase="on-demand", usd_per_hour=price, **common)
        # Several clouds write 0, or the price itself, where they sell no spot.
        if 0 < spot < price:
            collected.add(CLOUDS[cloud], purchase="spot", usd_per_hour=spot, **common)
    return collected.finish()


def _committed(fetch: Fetch, path: str) -> str:
    """Day of the file's last commit."""
    url = f"https://api.github.com/repos/{REPOSITORY}/commits?path={path}&per_page=1"
    answer = parse_json(url, fetch.get(url))
    try:
        return str(answer[0]["commit"]["committer"]["date"])[:10]
    except (LookupError, TypeError):
        raise SourceError(f"{url}: no commit in the answer") from None


def _rows(url: str, data: bytes) -> list[dict[str, str]]:
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
        rows = [row for row in reader if all(isinstance(row.get(name), str) for name in COLUMNS)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{url}: {error}") from None
    if not set(reader.fieldnames or ()) >= COLUMNS:
        raise SourceError(f"{url}: other columns than expected: {reader.fieldnames}")
    return rows


def _known(value: float) -> float | None:
    return value if value > 0 else None
