"""Estimates against published runs: how far off, for whom, and whether the ranges hold what was measured.

Every row of data/measurements/memory.csv is estimated from its configuration alone, or keeps the reason why it cannot
be. Figures are weighted by row and again by source, so that a source with many rows does not decide alone.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ajuste.card import Memory, Range, card_of, estimate_memory
from ajuste.catalog import Catalog
from ajuste.errors import RequestError
from ajuste.resolve import resolve
from pipeline.measurements import NotOfferedError, Reading, Row, read, read_bound

Estimated = TypeVar("Estimated")
GIB = 2**30
HUGGING_FACE = ("foundation-model-stack/fms-acceleration", "huggingface/peft", "QwenLM/Qwen", "modelscope/ms-swift")


class Point(NamedTuple):
    """One row, estimated."""

    id: str
    source: str
    method: str
    framework: str
    sharding: str
    kind: str  # allocated · reserved · unknown
    residual_class: str
    measured: float  # GiB
    low: float
    mid: float
    high: float
    bare_low: float  # the range without the residual of its class
    bare_high: float
    unit: float  # GiB that a residual of 1 moves: the allocated estimate

    @property
    def error(self) -> float:
        """Estimate ÷ measured − 1."""
        return self.mid / self.measured - 1

    @property
    def covered(self) -> bool:
        """The range holds what was measured."""
        return self.low <= self.measured <= self.high

    @property
    def width(self) -> float:
        """Width of the range, as a share of its middle."""
        return (self.high - self.low) / self.mid


class Verdict(NamedTuple):
    """One out-of-memory or fits fact, and what the estimate says."""

    id: str
    source: str
    outcome: str  # oom · fits
    verdict: str  # fits · tight · no


class Accuracy(NamedTuple):
    """All rows: estimated, judged, left out."""

    points: list[Point]
    verdicts: list[Verdict]
    left_out: dict[str, list[str]]  # reason -> row ids


def measure(folder: Path, catalog: Catalog) -> Accuracy:
    """Estimates every row of data/measurements/ that can be."""
    models = {model["hf_id"]: name for name, model in catalog.models.items() if model["hf_id"]}
    left_out: dict[str, list[str]] = {}
    points = list(_each(folder / "memory.csv", lambda row: read(row, models), _point, catalog, left_out))
    verdicts = list(_each(folder / "bounds.csv", lambda row: read_bound(row, models), _verdict, catalog, left_out))
    return Accuracy(points, verdicts, left_out)


def _each(
    path: Path,
    reading_of: Callable[[Row], Reading],
    estimated: Callable[[Row, dict[str, Any], Catalog], Estimated],
    catalog: Catalog,
    left_out: dict[str, list[str]],
) -> Iterator[Estimated]:
    """Each row of a file, estimated. What cannot be goes to `left_out`, by its reason."""
    for row in rows(path):
        reading = reading_of(row)
        try:
            if reading.request is None:
                raise NotOfferedError(reading.reason)
            yield estimated(row, reading.request, catalog)
        except (NotOfferedError, RequestError) as error:
            left_out.setdefault(_reason(error), []).append(row["id"])


def rows(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _reason(error: Exception) -> str:
    return error.message["en"] if isinstance(error, RequestError) else str(error)


def _point(row: Row, request: dict[str, Any], catalog: Catalog) -> Point:
    plan, architecture = resolve(request, catalog)
    memory = estimate_memory(plan, architecture)
    span = _compared(memory, row)
    residual = card_of(plan, architecture).residual
    unit = memory.allocated.mid
    bare = Range(span.low - residual.low * unit, span.mid, span.high - residual.high * unit)
    full = _usable(plan.gpu, catalog)
    if row["peak_kind"] != "allocated" and memory.allocated.mid < full:  # PyTorch empties its cache at the card's end
        span = Range(*(min(value, full) for value in span))
    strategy = plan.parallel.strategy
    split = plan.parallel.tp * plan.parallel.pp * plan.parallel.cp > 1
    return Point(
        id=row["id"],
        source=row["source"],
        method=plan.method,
        framework=plan.framework,
        sharding=f"{strategy}+split" if split else strategy,
        kind=row["peak_kind"],
        residual_class=_residual_class(plan),
        measured=float(row["peak_gib"]),
        low=span.low / GIB,
        mid=span.mid / GIB,
        high=span.high / GIB,
        bare_low=bare.low / GIB,
        bare_high=bare.high / GIB,
        unit=unit / GIB,
    )


def _usable(gpu: str | None, catalog: Catalog) -> float:
    """Bytes that CUDA offers on a card; no end where the row names none."""
    gib = catalog.gpus[gpu].usable_gib if gpu else None
    return gib * GIB if gib else math.inf


def _compared(memory: Memory, row: Row) -> Range:
    """The figure that a row measures. What an unnamed tool shows is at least what PyTorch reserves."""
    return memory.allocated if row["peak_kind"] == "allocated" else memory.reserved


def _residual_class(plan: Any) -> str:
    kind = "full" if plan.trains_base else "quantised" if plan.is_quantized else "adapter"
    return kind + ("-sharded" if plan.parallel.strategy not in ("none", "ddp") else "")


def _verdict(row: Row, request: dict[str, Any], catalog: Catalog) -> Verdict:
    plan, architecture = resolve(request, catalog)
    required = estimate_memory(plan, architecture).whole_run
    usable = _usable(plan.gpu, catalog)
    verdict = "fits" if required.high <= usable else "tight" if required.low <= usable else "no"
    return Verdict(row["id"], row["source"], row["outcome"], verdict)


# --------------------------------------------------------------------------------------------------- statistics


class Figures(NamedTuple):
    """What a group of rows says about the estimates."""

    rows: int
    median: float  # of |error|
    p90: float
    bias: float  # mean error
    coverage: float
    width: float  # median width of the ranges


def figures(points: list[Point], by_source: bool = False) -> Figures:
    """Figures of some points; `by_source` gives every source the same total weight."""
    count = {source: sum(p.source == source for p in points) for source in {p.source for p in points}}
    weights = [1 / count[p.source] if by_source else 1.0 for p in points]
    total = sum(weights)
    errors = [abs(p.error) for p in points]
    return Figures(
        len(points),
        quantile(errors, 0.5, weights),
        quantile(errors, 0.9, weights),
        sum(p.error * w for p, w in zip(points, weights, strict=True)) / total,
        sum(p.covered * w for p, w in zip(points, weights, strict=True)) / total,
        quantile([p.width for p in points], 0.5, weights),
    )


def quantile(values: Iterable[float], share: float, weights: Iterable[float] | None = None) -> float:
    """Weighted quantile: the smallest value at which `share` of the weight is reached."""
    values = list(values)
    pairs = sorted(zip(values, list(weights) if weights is not None else [1.0] * len(values), strict=True))
    wanted = share * sum(weight for _, weight in pairs)
    reached = 0.0
    for value, weight in pairs:
        reached += weight
        if reached >= wanted - 1e-12:
            return value
    return pairs[-1][0]


# ------------------------------------------------------------------------------------------------------ residuals

MISSED = 0.05  # share of the measured values, on each side, that a range may leave out
CLASSES = [kind + sharded for kind in ("full", "adapter", "quantised") for sharded in ("", "-sharded")]
LEAST, STEP = 0.04, 0.005


def residuals(points: list[Point], without: str = "") -> dict[str, tuple[float, float]]:
    """What measured allocated peaks need beyond the range of the assumptions, by class, as shares of the estimate.

    A conformal margin: on each side the 95th percentile of the distance from the range, sources weighted equally, at
    least 4 %: a source that nobody has seen errs by more than those at hand. A class without rows takes that of all.

    Args:
        without: a source to leave out.
    """
    allocated = [p for p in points if p.kind == "allocated" and p.source != without]
    margins = {}
    for name in CLASSES:
        group = [p for p in allocated if p.residual_class == name] or allocated
        count = {source: sum(p.source == source for p in group) for source in {p.source for p in group}}
        weights = [1 / count[p.source] for p in group]
        below = quantile([max(0.0, (p.bare_low - p.measured) / p.unit) for p in group], 1 - MISSED, weights)
        above = quantile([max(0.0, (p.measured - p.bare_high) / p.unit) for p in group], 1 - MISSED, weights)
        margins[name] = (-_rounded_up(below), _rounded_up(above))
    return margins


def _rounded_up(share: float) -> float:
    return max(LEAST, round(math.ceil(share / STEP - 1e-9) * STEP, 4))


def with_residuals(points: list[Point], margins: dict[str, tuple[float, float]]) -> list[Point]:
    """The same points with other residuals."""
    moved = []
    for p in points:
        low, high = margins[p.residual_class]
        moved.append(p._replace(low=p.bare_low + low * p.unit, high=p.bare_high + high * p.unit))
    return moved


def held_out(points: list[Point]) -> list[Point]:
    """Every point with the residuals that the other sources alone give."""
    return [
        moved
        for source in sorted({p.source for p in points})
        for moved in with_residuals([p for p in points if p.source == source], residuals(points, source))
    ]


def write_residuals(path: Path, margins: dict[str, tuple[float, float]]) -> None:
    """Writes the margins into the `residual-…` tables of data/assumptions.toml; nothing else changes."""
    text = path.read_text(encoding="utf-8")
    for name, (low, high) in margins.items():
        pattern = rf"(\[residual-{name}\]\nlow = )\S+(\nmid = 0\.0\nhigh = )\S+"
        text, found = re.subn(pattern, rf"\g<1>{low}\g<2>{high}", text)
        if not found:
            raise KeyError(f"residual-{name} in {path}")
    path.write_text(text, encoding="utf-8")


# -------------------------------------------------------------------------------------------------------- groups

GROUPS: dict[str, Callable[[Point], str]] = {
    "source": lambda p: p.source,
    "method": lambda p: p.method,
    "framework": lambda p: p.framework,
    "sharding": lambda p: p.sharding,
    "class": lambda p: p.residual_class,
}


def selections(points: list[Point]) -> dict[str, list[Point]]:
    """The groups that the project's aims name."""
    allocated = [p for p in points if p.kind == "allocated"]
    return {
        "allocated · Hugging Face": [p for p in allocated if p.source in HUGGING_FACE],
        "allocated · all": allocated,
        "allocated · sharded": [p for p in allocated if p.sharding not in ("none", "ddp", "device-map")],
        "reserved · all": [p for p in points if p.kind == "reserved"],
        "tool not stated": [p for p in points if p.kind == "unknown"],
    }


# ------------------------------------------------------------------------------------------------------- report


def report(accuracy: Accuracy) -> str:
    """Everything as text, for a terminal."""
    lines = ["Published runs of data/measurements/ against the estimate; errors are estimate ÷ measured − 1.", ""]
    lines += _table("weighted by row", selections(accuracy.points), by_source=False)
    lines += _table("weighted by source", selections(accuracy.points), by_source=True)
    lines += _held_out(accuracy.points)
    for kind in ("allocated", "reserved", "unknown"):
        chosen = [p for p in accuracy.points if p.kind == kind]
        for name, key in GROUPS.items():
            groups: dict[str, list[Point]] = {}
            for point in chosen:
                groups.setdefault(key(point), []).append(point)
            lines += _table(f"{kind}, by {name}", dict(sorted(groups.items())), by_source=False)
    lines += _worst(accuracy.points) + _confusion(accuracy.verdicts) + _left_out(accuracy.left_out)
    return "\n".join(lines)


def _table(title: str, groups: dict[str, list[Point]], by_source: bool) -> list[str]:
    lines = [f"{title:42} {'n':>4} {'median':>7} {'p90':>7} {'bias':>7} {'in band':>8} {'width':>7}"]
    for name, points in groups.items():
        if points:
            f = figures(points, by_source)
            lines.append(
                f"  {name:40} {f.rows:4} {f.median:7.1%} {f.p90:7.1%} {f.bias:+7.1%} {f.coverage:8.0%} {f.width:7.0%}"
            )
    return [*lines, ""]


def _held_out(points: list[Point]) -> list[str]:
    """Ranges in sample and with each source left out of its own residuals."""
    known = [p for p in points if p.kind in ("allocated", "reserved")]
    lines = [f"{'ranges: held, width':42} {'in sample':>12} {'left out':>12}"]
    inside, outside = with_residuals(known, residuals(points)), held_out(known)
    for source in sorted({p.source for p in known}):
        a, b = (figures([p for p in chosen if p.source == source]) for chosen in (inside, outside))
        lines.append(f"  {source:40} {a.coverage:6.0%} {a.width:5.0%} {b.coverage:6.0%} {b.width:5.0%}")
    for kind in ("allocated", "reserved"):
        for weighting in (False, True):
            name = f"{kind}, by {'source' if weighting else 'row'}"
            a, b = (figures([p for p in chosen if p.kind == kind], weighting) for chosen in (inside, outside))
            lines.append(f"  {name:40} {a.coverage:6.0%} {a.width:5.0%} {b.coverage:6.0%} {b.width:5.0%}")
    return [*lines, ""]


def _worst(points: list[Point], count: int = 10) -> list[str]:
    lines = ["the worst (tool stated)"]
    stated = [p for p in points if p.kind != "unknown"]
    lines.extend(
        f"  {p.id:16} {p.error:+7.1%}  {p.mid:7.2f} GiB estimated, {p.measured:7.2f} {p.kind}"
        for p in sorted(stated, key=lambda p: -abs(p.error))[:count]
    )
    return [*lines, ""]


def _confusion(verdicts: list[Verdict]) -> list[str]:
    lines = [f"{'out of memory and fits':42} {'fits':>6} {'tight':>6} {'no':>6}"]
    for outcome in ("oom", "fits"):
        counts = [sum(v.outcome == outcome and v.verdict == word for v in verdicts) for word in ("fits", "tight", "no")]
        lines.append(f"  {outcome:40} " + " ".join(f"{count:6}" for count in counts))
    wrong = [v.id for v in verdicts if (v.outcome, v.verdict) in (("oom", "fits"), ("fits", "no"))]
    return [*lines, "  wrong: " + " ".join(wrong), ""]


def _left_out(reasons: dict[str, list[str]]) -> list[str]:
    lines = [f"not estimated: {sum(map(len, reasons.values()))} rows"]
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        some = " ".join(names[:4]) + (" …" if len(names) > 4 else "")
        lines.append(f"  {len(names):3}  {reason}: {some}")
    return [*lines, ""]


def as_json(accuracy: Accuracy) -> str:
    """The same for the accuracy page: points for the chart, figures for the tables."""
    chosen = {name: points for name, points in selections(accuracy.points).items() if points}
    tables = {
        name: {
            group: figures([p for p in accuracy.points if key(p) == group])._asdict()
            for group in sorted({key(p) for p in accuracy.points})
        }
        for name, key in GROUPS.items()
    }
    content = {
        "points": [{**p._asdict(), "error": round(p.error, 5)} for p in accuracy.points],
        "by_row": {name: figures(points)._asdict() for name, points in chosen.items()},
        "by_source": {name: figures(points, True)._asdict() for name, points in chosen.items()},
        "tables": tables,
        "verdicts": [v._asdict() for v in accuracy.verdicts],
        "left_out": accuracy.left_out,
    }
    return json.dumps(_rounded(content), ensure_ascii=False, separators=(",", ":")) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
