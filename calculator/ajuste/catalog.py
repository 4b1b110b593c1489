"""The catalog: GPUs, models, providers and offers, as the pipeline's bundle holds them.

`load_catalog(text)` parses once per worker or process; what a ranking asks of every offer (its day, its GPU) is worked
out here and not again.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import RequestError, near_matches, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = 1  # of the bundle


class Gpu(NamedTuple):
    """A row of gpus.csv. None = not known."""

    id: str
    name: str
    vendor: str
    architecture: str
    compute_capability: float | str | None
    memory_label_gb: float
    usable_gib: float | None  # what CUDA offers, GiB
    usable_basis: str | None  # seen | estimated
    memory_type: str | None
    memory_bandwidth_gb_per_s: float | None
    bf16_dense_tflops: float | None
    fp16_dense_tflops: float | None
    fp32_tflops: float | None
    fp8_dense_tflops: float | None
    gemm_measured_tflops: float | None
    interconnect: str | None
    interconnect_gb_per_s: float | None
    pcie_generation: float | None
    tdp_w: float | None
    supports_bf16: bool | None
    supports_flash_attention_2: bool | None
    supports_fp8: bool | None
    segment: str | None  # column `class`: datacenter | workstation | consumer
    sibling_tflops: tuple[float, float] = (0.0, float("inf"))  # between them is what nobody measured: `beside_siblings`

    @property
    def is_ranked(self) -> bool:
        """NVIDIA and AMD cards get verdicts; other accelerators are listed only."""
        return self.vendor in ("NVIDIA", "AMD")


GPU_COLUMNS = (*Gpu._fields[:-2], "class")
# Figures of a data sheet of which more is never slower.
FIGURES = (
    "memory_bandwidth_gb_per_s", "bf16_dense_tflops", "fp16_dense_tflops", "fp32_tflops", "fp8_dense_tflops", "tdp_w"
)  # fmt: skip


def beside_siblings(gpus: dict[str, Gpu]) -> dict[str, Gpu]:
    """Cards whose matrix products nobody measured, held between their measured siblings.

    A sibling is of the same architecture, class and kind of memory, and better or worse in every figure of the data
    sheet. A card is no slower than its worse ones and no faster than its better ones.
    """
    measured: dict[object, list[tuple[Gpu, float]]] = {}
    for gpu in gpus.values():
        if gpu.gemm_measured_tflops:
            measured.setdefault(_kind(gpu), []).append((gpu, gpu.gemm_measured_tflops))
    found = dict(gpus)
    for gpu in gpus.values():
        if gpu.gemm_measured_tflops:
            continue
        low, high = 0.0, float("inf")
        for other, reached in measured.get(_kind(gpu), ()):
            if is_sibling_at_least(gpu, other):
                low = max(low, reached)
            elif is_sibling_at_least(other, gpu):
                high = min(high, reached)
        found[gpu.id] = gpu._replace(sibling_tflops=(low, max(low, high)))
    return found


def _kind(gpu: Gpu) -> tuple[object, ...]:
    """What siblings have in common."""
    return gpu.architecture, gpu.segment, (gpu.memory_type or "").startswith("HBM")


def is_sibling_at_least(gpu: Gpu, other: Gpu) -> bool:
    """Whether a card is of another's kind and at least as good in every figure of the data sheet."""
    pairs = [(getattr(gpu, name), getattr(other, name)) for name in FIGURES]
    return _kind(gpu) == _kind(other) and all(a == b or (a is not None and b is not None and a >= b) for a, b in pairs)


class Offer(NamedTuple):
    """A row of prices/<provider>.csv: the price of the whole offer."""

    provider: str
    offer: str
    gpu: str
    gpus: int
    region: str | None
    purchase: str
    usd_per_hour: float
    vcpus: float | None
    ram_gib: float | None
    price_basis: str
    confidence: str
    assumed: tuple[str, ...]
    checked: str
    source_url: str
    day: int  # of `checked`, days since 1970-01-01; the first day of a month or year given without one


class Catalog(NamedTuple):
    """What `load_catalog` made of a bundle."""

    as_of: str | None
    data: str | None  # newest day on which someone looked
    gpus: dict[str, Gpu]
    models: dict[str, dict[str, Any]]
    model_ids: dict[str, str]  # any accepted spelling, lower case -> id
    providers: dict[str, dict[str, Any]]
    offers: tuple[Offer, ...]
    on_demand: dict[tuple[str, str, str | None], float]  # provider, offer, region -> USD per hour: spot's fallback
    rented: frozenset[tuple[str, int]]  # GPU and how many of it somebody rents out together


def load_catalog(text: str) -> Catalog:
    """The bundle's JSON text as a `Catalog`. Raises `RequestError` (`bad-catalog`)."""
    try:
        bundle = json.loads(text.removeprefix("\ufeff") if isinstance(text, str) else text)
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestError("bad-catalog", "catalog", detail=type(error).__name__) from None
    if not isinstance(bundle, dict):
        raise RequestError("bad-catalog", "catalog", detail="not an object")
    if bundle.get("format", FORMAT) != FORMAT:
        raise RequestError("bad-catalog", "catalog", detail=f"format {shorten(bundle['format'])} ≠ {FORMAT}")
    try:
        return _index(bundle)
    except ValueError as error:
        raise RequestError("bad-catalog", "catalog", detail=str(error)[:120]) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise RequestError("bad-catalog", "catalog", detail=repr(error)[:120]) from None


def _number(row: dict[str, Any], name: str) -> float:
    """A number above 0 of a row. Raises ValueError that names it."""
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e12:
        raise ValueError(f"{name} = {shorten(value)}")
    return value


def _config(row: dict[str, Any]) -> dict[str, Any]:
    """A model's row, if it has its architecture. Raises ValueError that names it."""
    if not isinstance(row["config"], dict):
        raise ValueError(f"{shorten(row['id'])}: config = {shorten(row['config'])}")
    return row


def _index(bundle: dict[str, Any]) -> Catalog:
    gpus = beside_siblings({row["id"]: Gpu(*[row.get(name) for name in GPU_COLUMNS]) for row in bundle.get("gpus", ())})
    models = {row["id"]: _config(row) for row in bundle.get("models", ())}
    if bundle.get("as_of") is not None:
        day_number(bundle["as_of"])
    spellings = {}
    for row in models.values():
        for spelling in (row.get("hf_id"), row.get("name"), row["id"]):
            if spelling:
                spellings[spelling.lower()] = row["id"]
    offers = tuple(
        Offer(
            row["provider"],
            row["offer"],
            row["gpu"],
            int(_number(row, "gpus")),
            row.get("region"),
            row["purchase"],
            _number(row, "usd_per_hour"),
            row.get("vcpus"),
            row.get("ram_gib"),
            row["price_basis"],
            row["confidence"],
            tuple(row.get("assumed") or ()),
            row["checked"],
            row["source_url"],
            day_number(row["checked"]),
        )
        for row in bundle.get("offers", ())
    )
    return Catalog(
        as_of=bundle.get("as_of"),
        data=bundle.get("data"),
        gpus=gpus,
        models=models,
        model_ids=spellings,
        providers={row["id"]: row for row in bundle.get("providers", ())},
        offers=offers,
        on_demand={(o.provider, o.offer, o.region): o.usd_per_hour for o in offers if o.purchase == "on-demand"},
        rented=frozenset([(o.gpu, o.gpus) for o in offers]),
    )


def find_model(catalog: Catalog, name: str) -> dict[str, Any]:
    """The catalog's row of a model by id, Hugging Face id or name. Raises `unknown-model` with near matches."""
    found = catalog.model_ids.get(name.strip().lower()) or _same_architecture(catalog, name)
    if found is None:
        near = near_matches(name.rsplit("/", 1)[-1], catalog.models)
        raise RequestError("unknown-model", "model", name, suggestions=near)
    return catalog.models[found]


# Words of a repository's name that say how its weights were tuned, stored or copied, not how large they are.
TUNING_WORDS = {
    *("instruct", "chat", "it", "pt", "base", "hf", "meta", "sft", "dpo", "bf16", "fp16", "fp8", "unsloth", "bnb"),
    *("4bit", "8bit", "nf4", "gptq", "awq", "int4", "int8", "dynamic", "quantized"),
}


def is_tuned(name: str) -> bool:
    """Whether a repository's name says that its weights were tuned to converse: a base has no chat template."""
    words = name.lower().rsplit("/", 1)[-1].replace("_", "-").split("-")
    return not {"instruct", "chat", "it", "sft", "dpo"}.isdisjoint(words)


def _same_architecture(catalog: Catalog, name: str) -> str | None:
    """The one model of the catalog whose name differs only in owner and tuning: its architecture is the same."""
    wanted = _stem(name)
    found = {
        row["id"]
        for row in catalog.models.values()
        if wanted and wanted in (_stem(row.get("hf_id") or ""), _stem(row["id"]))
    }
    return found.pop() if len(found) == 1 else None


def _stem(name: str) -> str:
    words = name.strip().lower().replace("\\", "/").rsplit("/", 1)[-1].replace("_", "-").split("-")
    return "-".join(word for word in words if word not in TUNING_WORDS and not _is_month(word))


def _is_month(word: str) -> bool:
    """The date of a later tuning in a name: `2507` is July 2025."""
    return len(word) == 4 and word.isdigit() and 24 <= int(word[:2]) <= 39 and 1 <= int(word[2:]) <= 12


def find_gpu(catalog: Catalog, name: str) -> Gpu:
    """A GPU by id, or by a name that only one has. Raises `unknown-gpu` with the choices, or near matches."""
    if name in catalog.gpus:
        return catalog.gpus[name]
    found = gpus_named(name, catalog.gpus)
    if len(found) == 1:
        return catalog.gpus[found[0]]
    several = (" con ese solo nombre: hay varias", " by that name alone: there are several") if found else ("", "")
    near = found[:8] or near_matches(name, catalog.gpus)
    raise RequestError("unknown-gpu", "gpu", name, suggestions=near, es=several[0], en=several[1])


# What sellers and tools put before or behind a card's name.
BRAND_WORDS = ("nvidia", "geforce", "tesla", "amd", "instinct", "radeon", "intel", "generation", "rtx")


def gpus_named(name: str, ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that a name means: itself, else the same but for separators and memory, else all that hold its words.

    >>> ids = ["rtx-3090-24gb", "rtx-3090-ti-24gb", "a100-sxm-80gb", "a100-pcie-80gb"]
    >>> gpus_named("RTX3090", ids), gpus_named("NVIDIA A100-SXM4-80GB", ids), gpus_named("A100 80 GB", ids)
    (('rtx-3090-24gb',), ('a100-sxm-80gb',), ('a100-sxm-80gb', 'a100-pcie-80gb'))
    """
    wanted = name[:80].strip().lower()
    known = {identifier: _gpu_words(identifier) for identifier in ids}
    words = _gpu_words(wanted)
    for found in (
        [identifier for identifier in known if identifier == wanted],
        [identifier for identifier, own in known.items() if "".join(own) == "".join(words)],
        [identifier for identifier, own in known.items() if "".join(own[:-1]) == "".join(words)],
        [identifier for identifier, own in known.items() if all(word in own for word in words)],
    ):
        if found and words:
            return tuple(found)
    return ()


def _gpu_words(name: str) -> list[str]:
    """The words of a card's name that tell it from others: no brand, no generation of a socket, `80 GB` in one."""
    text = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
    for brand in BRAND_WORDS:
        text = text.replace(brand, " ")
    for generation in "23456":
        text = text.replace("sxm" + generation, "sxm")
    return text.replace(" gb", "gb").split()


@lru_cache(maxsize=256)  # a catalog's rows were checked on a few days
def day_number(date: str) -> int:
    """Days since 1970-01-01 of an ISO date (`2026-11-30`, `2026-11`, `2026`). ValueError when it is none.

    A date without day or month counts as its first: an age is never shown smaller than it may be. Written out because
    importing datetime costs the browser more than these lines.
    """
    parts = date.split("-")
    if not 1 <= len(parts) <= 3 or any(not (part.isascii() and part.isdigit()) for part in parts) or len(parts[0]) != 4:
        raise ValueError(date)
    year, month, day = (int(part) for part in parts + ["1"] * (3 - len(parts)))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        raise ValueError(date)
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400
    return before * 365 + leap_days + sum(lengths[: month - 1]) + day - 719_163
