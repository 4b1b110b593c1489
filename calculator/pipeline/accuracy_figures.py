"""Figures of methodology/accuracy.md: every published run against its estimate, as drawings and tables."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import accuracy
from pipeline.text import number, word

if TYPE_CHECKING:
    from pipeline.accuracy import Point
    from pipeline.figures import Figure

REASONS = Path(__file__).parent / "reasons.toml"
KINDS = ("allocated", "reserved", "unknown")
SELECTIONS = {  # groups that the project's aims name → words
    "allocated · Hugging Face": "accuracy_hugging_face",
    "allocated · all": "accuracy_allocated",
    "allocated · sharded": "accuracy_sharded",
    "reserved · all": "accuracy_reserved",
    "tool not stated": "accuracy_unknown",
}

# ------------------------------------------------------------------------------------------------------- drawing

SIDE, LEFT, TOP, BOTTOM = 240, 34, 8, 30  # of one panel's plot, and the room for its axes
LEAST, MOST = 2.0, 128.0  # GiB, both axes
TICKS = (2, 4, 8, 16, 32, 64, 128)
MARKS = {  # hue and shape, so that neither is needed alone
    "full": "M{x} {y}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "adapter": "M{x} {y}m-3-3h6v6h-6z",
    "quantised": "M{x} {y}m0-3.8l3.8 6.6h-7.6z",
}


def scatter_figure(figure: Figure) -> str:
    """One panel per source: measured across, estimated up, both logarithmic; the band is ±10 %."""
    sources: dict[str, list[Point]] = {}
    for point in sorted(figure.source.accuracy.points, key=lambda point: point.id):
        sources.setdefault(point.source, []).append(point)
    legend = "".join(
        f'<span class="{name}"><svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">'
        f'<path d="{mark.format(x=7, y=7)}"/></svg> {escape(word(f"accuracy_{name}", figure.language))}</span>'
        for name, mark in MARKS.items()
    )
    order = sorted(sources, key=lambda name: (KINDS.index(sources[name][0].kind), -len(sources[name]), name))
    panels = [_panel(figure, source, sources[source]) for source in order]
    parts = ['<div class="scatter" data-search-exclude>', f'<p class="legend">{legend}</p>', *panels, "</div>"]
    return "\n".join(parts) + "\n"


def _place(value: float) -> float:
    share = math.log(min(max(value, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return round(share * SIDE, 1)


def _panel(figure: Figure, source: str, points: list[Point]) -> str:
    stats = accuracy.figures(points)
    said = word(
        "accuracy_panel",
        figure.language,
        source=source,
        kind=word(f"accuracy_{points[0].kind}_short", figure.language),
        n=number(stats.rows, figure.language),
        median=figure.percent(stats.median),
        bias=figure.percent(stats.bias, signed=True),
    )
    width, height = LEFT + SIDE + 8, TOP + SIDE + BOTTOM
    base = TOP + SIDE
    tenth, right = _place(LEAST * 1.1), LEFT + SIDE
    band = f"M{LEFT} {base - tenth}L{right - tenth} {TOP}H{right}V{TOP + tenth}L{LEFT + tenth} {base}H{LEFT}z"
    parts = [
        f'<figure><svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(said)}">',
        f'<path class="band" d="{band}"/>',
        f'<path class="diagonal" d="M{LEFT} {base}L{right} {TOP}"/>',
        f'<path class="axis" d="M{LEFT} {TOP}V{base}H{right}"/>',
    ]
    for tick in TICKS:
        x, y = LEFT + _place(tick), base - _place(tick)
        parts.append(f'<text x="{x}" y="{base + 14}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end">{tick}</text>')
    label = word("accuracy_axes", figure.language)
    parts.append(f'<text x="{LEFT + SIDE / 2}" y="{base + 27}" text-anchor="middle">{escape(label)}</text>')
    parts += [_mark(figure, point, base) for point in points]
    linked = f'<a href="https://github.com/{source}">{escape(source)}</a>'
    caption = escape(said).replace(escape(source), linked, 1)
    return "\n".join([*parts, f"</svg><figcaption>{caption}</figcaption></figure>"])


def _mark(figure: Figure, point: Point, base: float) -> str:
    kind = point.residual_class.removesuffix("-sharded")
    mark = MARKS[kind].format(x=round(LEFT + _place(point.measured), 1), y=round(base - _place(point.mid), 1))
    row = figure.source.measurements[point.id]
    numbers = f"{figure.gib(point.measured)} → {figure.gib(point.mid)}"
    return f'<path class="{kind}" d="{mark}"><title>{escape(row["model"])}, {point.method}: {numbers}</title></path>'


# -------------------------------------------------------------------------------------------------------- tables


def _table(figure: Figure, heads: list[str], lines: list[list[str]]) -> str:
    labels = [word(f"accuracy_{head}", figure.language) for head in heads]
    rows = [labels, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _shares(figure: Figure, stats: accuracy.Figures) -> list[str]:
    bias = figure.percent(stats.bias, signed=True)
    return [
        figure.percent(stats.median),
        figure.percent(stats.p90),
        bias,
        figure.percent(stats.coverage),
        figure.percent(stats.width),
    ]


FIGURES = ["median", "p90", "bias", "inside", "width"]


def kinds_figure(figure: Figure) -> str:
    """The groups that the aims name, every run weighted alike and every source weighted alike."""
    lines = []
    for name, points in accuracy.selections(figure.source.accuracy.points).items():
        for weighting, by_source in (("by_row", False), ("by_source", True)):
            label = f"{word(SELECTIONS[name], figure.language)}, {word(f'accuracy_{weighting}', figure.language)}"
            stats = accuracy.figures(points, by_source)
            lines.append([label, number(stats.rows, figure.language), *_shares(figure, stats)])
    return _table(figure, ["group", "runs", *FIGURES], lines)


def errors_figure(figure: Figure) -> str:
    """The errors of each group of `by`, kinds of measurement apart."""
    key, points = accuracy.GROUPS[figure.preset["by"]], figure.source.accuracy.points
    lines = []
    for kind in KINDS:
        said = word(f"accuracy_{kind}_short", figure.language)
        for name in sorted({key(point) for point in points if point.kind == kind}):
            stats = accuracy.figures([point for point in points if point.kind == kind and key(point) == name])
            lines.append([f"`{name}`, {said}", number(stats.rows, figure.language), *_shares(figure, stats)])
    return _table(figure, ["group", "runs", *FIGURES], lines)


def held_out_figure(figure: Figure) -> str:
    """What the ranges hold of each source: with margins of all sources, and with margins that never saw it."""
    points = [point for point in figure.source.accuracy.points if point.kind != "unknown"]
    inside = accuracy.with_residuals(points, accuracy.residuals(points))
    outside = accuracy.held_out(points)
    lines = []
    for source in sorted({point.source for point in points}):
        seen, unseen = (
            accuracy.figures([point for point in chosen if point.source == source]) for chosen in (inside, outside)
        )
        line = [f"`{source}`", number(seen.rows, figure.language)]
        lines.append([*line, *[figure.percent(s) for f in (seen, unseen) for s in (f.coverage, f.width)]])
    return _table(figure, ["group", "runs", "seen", "seen_width", "unseen", "unseen_width"], lines)


# ------------------------------------------------------------------------------------------------- rows left out


@cache
def _reasons() -> dict[str, str]:
    return tomllib.loads(REASONS.read_text(encoding="utf-8"))


def reason(text: str, language: str) -> str:
    """Why a row is not estimated, in the page's language; some sentences hold a name in brackets."""
    if language == "en":
        return text
    known = _reasons()
    if text in known:
        return known[text]
    for english, spanish in known.items():
        before, hole, after = english.partition("{name}")
        if hole and text.startswith(before) and text.endswith(after):
            return spanish.format(name=text[len(before) : len(text) - len(after)])
    raise KeyError(f"{REASONS.name} has no Spanish for: {text}")


def left_out_figure(figure: Figure) -> str:
    """Every row that is not estimated, by reason."""
    reasons = figure.source.accuracy.left_out
    lines = [
        [escape(reason(text, figure.language)), number(len(names), figure.language), " ".join(f"`{n}`" for n in names)]
        for text, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    labels = [word(f"accuracy_{head}", figure.language) for head in ("reason", "runs", "rows")]
    rows = [labels, ["---", "---:", "---"], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


FIGURE_KINDS: dict[str, Callable[[Figure], str]] = {
    "scatter": scatter_figure,
    "kinds": kinds_figure,
    "errors": errors_figure,
    "held-out": held_out_figure,
    "left-out": left_out_figure,
}
