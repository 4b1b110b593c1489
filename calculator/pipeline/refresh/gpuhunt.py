"""gpuhunt's published catalogues: one zip per provider with a CSV inside, renewed every hour.

Read from the published files, not through the library: the same format, no dependency, and every byte is checked here.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from typing import TYPE_CHECKING

from pipeline.refresh.fetch import SourceError
from pipeline.refresh.offer import Collected, Names, instances, to_integer, to_number

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

ROOT = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3"
# Its names of providers → ours. AWS, Azure and OCI are read at the source instead.
PROVIDERS = {
    "gcp": "gcp",
    "lambdalabs": "lambda",
    "nebius": "nebius",
    "runpod": "runpod-secure",
    "verda": "verda",
}
COLUMNS = {"instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot"}
_COUNTRY = re.compile(r"[A-Z]{2}")
# All that a zip file can throw at whoever opens it: broken, cut, encrypted, compressed in a way we do not know.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, OSError, RuntimeError)
UNPACKED_LIMIT = 200 * 2**20  # bytes


def collect(fetch: Fetch, data: Data, today: datetime.date, provider: str) -> Collected:
    """The catalogue of one provider, by its name at gpuhunt."""
    url = f"{ROOT}/{provider}/latest/catalog.zip"
    collected = Collected(f"{ROOT}/{provider}/")
    names = Names(data, f"gpuhunt-{provider}")
    known = instances(data, PROVIDERS[provider])
    for row in _rows(url, fetch.get(url), provider):
        if not row["gpu_name"] or row["gpu_count"] in ("", "0"):
            continue
        name = f"{row['gpu_name']} {_plain(row['gpu_memory'])}GB"
        instance = known.get(row["instance_name"])
        gpu = instance.gpu if instance else names.gpu(row["instance_name"]) or names.gpu(name)
        if gpu is None:
            collected.refuse(f"unknown GPU {name!r} of {provider}")
            continue
        collected.add(
            _seller(provider, row["location"]),
            offer=row["instance_name"],
            gpu=gpu,
            gpus=to_integer(row["gpu_count"]),
            region=_region(provider, row["location"]),
            purchase="spot" if row["spot"].lower() == "true" else "on-demand",
            usd_per_hour=to_number(row["price"]),
            vcpus=to_integer(row["cpu"]) or None,
            ram_gib=to_number(row["memory"]) or None,
            price_basis="listed",
            confidence="A",
            checked=today.isoformat(),
            source_url=url,
        )
    return collected.finish()


def _rows(url: str, packed: bytes, provider: str) -> list[dict[str, str]]:
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            inside = archive.getinfo(f"{provider}.csv")
            if inside.file_size > UNPACKED_LIMIT:
                raise SourceError(f"{url}: unpacks to {inside.file_size} bytes")
            reader = csv.DictReader(io.StringIO(archive.read(inside).decode("utf-8"), newline=""))
    except _UNREADABLE as error:
        raise SourceError(f"{url}: {error}") from None
    if not set(reader.fieldnames or ()) >= COLUMNS:
        raise SourceError(f"{url}: other columns than expected: {reader.fieldnames}")
    try:
        return [row for row in reader if all(isinstance(row[name], str) for name in COLUMNS)]
    except csv.Error as error:
        raise SourceError(f"{url}: {error}") from None


def _seller(provider: str, location: str) -> str:
    """RunPod sells two ways: data centres have a code, other people's machines only a country."""
    if provider == "runpod" and _COUNTRY.fullmatch(location):
        return "runpod-community"
    return PROVIDERS[provider]


def _region(provider: str, location: str) -> str | None:
    """GCP's rows are of zones: us-central1-a is us-central1."""
    return (location.rsplit("-", 1)[0] if provider == "gcp" else location) or None


def _plain(text: str) -> str:
    return f"{to_number(text):g}"
