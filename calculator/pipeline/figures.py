"""The guide's live figures: docs/presets.toml → figure-<name>.<language>.md, computed by the estimator at build.

    python -m pipeline.figures --catalog build/app/catalog.json --out build/includes

A request without an ok answer ends the build: no figure of the guide can go stale or wrong in silence.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ajuste import estimate, load_catalog
from ajuste.catalog import Catalog
from pipeline import accuracy
from pipeline.guide import INCLUDE, pages
from pipeline.text import LANGUAGES, number, usd

Json = dict[str, Any]
PRESETS = Path("docs/presets.toml")
STRINGS = Path("calculator/web/strings")
MEASUREMENTS = Path("data/measurements")
WORDS = {
    "es": {
        "row": "caso",
        "allocated": "memoria asignada",
        "required": "memoria necesaria",
        "range": "entre",
        "saves": "ahorro",
        "peak": "momento más lleno",
        "card": "tarjeta más pequeña donde cabe",
        "hours": "tiempo",
        "gpu": "la más barata",
        "usd": "factura",
        "length": "ejemplo más largo",
        "micro_batch": "micro-lote",
        "moment": "momento",
        "charge": "cargo",
        "measured": "medida",
        "estimated": "calculada",
        "error": "error",
        "source": "fuente",
        "runs": "ejecuciones",
        "median": "error mediano",
        "p90": "9 de cada 10, menos de",
        "bias": "sesgo",
        "coverage": "dentro del margen",
        "all": "todas",
        "oom": "se quedó sin memoria",
        "fits": "cupo",
        "said_fits": "dijimos: cabe",
        "said_tight": "dijimos: justo",
        "said_no": "dijimos: no cabe",
        "outcome": "qué pasó",
        "then": "entonces, por hora",
        "now": "hoy, ahí",
        "cheapest": "hoy, la más barata",
        "gone": "sin precio hoy",
        "none": "ninguna",
        "unknown": "no se sabe",
        "total": "total",
        "chart": "Memoria necesaria en GiB: {list}",
        "open": "Abrir en la calculadora",
        "note": "Calculado al publicar, con precios sin impuestos. Cada fila abre la calculadora.",
    },
    "en": {
        "row": "case",
        "allocated": "allocated memory",
        "required": "required memory",
        "range": "between",
        "saves": "saving",
        "peak": "fullest moment",
        "card": "smallest card it fits on",
        "hours": "time",
        "gpu": "the cheapest",
        "usd": "bill",
        "length": "longest example",
        "micro_batch": "micro-batch",
        "moment": "moment",
        "charge": "charge",
        "measured": "measured",
        "estimated": "computed",
        "error": "error",
        "source": "source",
        "runs": "runs",
        "median": "median error",
        "p90": "9 in 10, less than",
        "bias": "bias",
        "coverage": "inside the range",
        "all": "all",
        "oom": "ran out of memory",
        "fits": "fitted",
        "said_fits": "we said: fits",
        "said_tight": "we said: tight",
        "said_no": "we said: no",
        "outcome": "what happened",
        "then": "then, per hour",
        "now": "today, there",
        "cheapest": "today, the cheapest",
        "gone": "no price today",
        "none": "none",
        "unknown": "unknown",
        "total": "total",
        "chart": "Required memory in GiB: {list}",
        "open": "Open in the calculator",
        "note": "Computed when published, prices before tax. Each row opens the calculator.",
    },
}


class FigureError(Exception):
    """A preset that the estimator refuses, or that no page shows."""


@cache
def _strings(language: str) -> Json:
    """The page's own words for moments, terms and charges: the guide and the calculator say the same."""
    return json.loads((STRINGS / f"{language}.json").read_text(encoding="utf-8"))


class Source:
    """What the figures are made from: the catalog, and every published run estimated, once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @cached_property
    def accuracy(self) -> accuracy.Accuracy:
        """The rows of data/measurements/, estimated."""
        return accuracy.measure(MEASUREMENTS, self.catalog)


def merged(base: Json, change: Json) -> Json:
    """A request with a change; nested objects are merged, not replaced."""
    result = dict(base)
    for key, value in change.items():
        nested = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if nested else value
    return result


def answer(name: str, request: Json, source: Source) -> Json:
    """The estimator's answer, or the end of the build."""
    result = estimate(request, source.catalog)
    if not result["ok"]:
        raise FigureError(f"{PRESETS}: [{name}] {request}: {result['error']['message']['en']}")
    return result


# How values are written


def gib(value: float, language: str) -> str:
    """Memory: one decimal below 100 GiB."""
    return f"{number(value, language, 1 if abs(value) < 99.95 else 0)}\u00a0GiB"


def duration(hours: float, language: str) -> str:
    """Minutes, then hours, then days."""
    if hours < 1:
        return f"{number(hours * 60, language)}\u00a0min"
    if hours < 48:
        return f"{number(hours, language, 1)}\u00a0h"
    return f"{number(hours / 24, language, 1)}\u00a0{'días' if language == 'es' else 'days'}"


def smallest_card(result: Json, source: Source) -> float | None:
    """Label of the smallest card, in GB, that runs it with certainty on one GPU."""
    fits = [
        source.catalog.gpus[gpu["id"]].memory_label_gb
        for gpu in result["gpus"]
        if gpu["verdict"] == "fits" and gpu["count"] == 1
    ]
    return min(fits, default=None)


def cheapest(result: Json) -> Json | None:
    """The offer the calculator would pick first."""
    pick = result["picks"]["cheapest"]
    return None if pick is None else result["offers"][pick]


def cell(column: str, result: Json, first: Json, source: Source, language: str) -> str:
    """One value of a row."""
    words, memory = WORDS[language], result["memory"]
    required = memory["required_gib"]
    if column == "allocated":
        return gib(memory["allocated_gib"]["mid"], language)
    if column == "required":
        return gib(required["mid"], language)
    if column == "range":
        return f"{gib(required['low'], language)} – {gib(required['high'], language)}"
    if column == "saves":
        saved = first["memory"]["required_gib"]["mid"] - required["mid"]
        return "–" if abs(saved) < 0.05 else f"{'−' if saved < 0 else ''}{gib(abs(saved), language)}"
    if column == "peak":
        return _strings(language)[f"moment.{memory['peak_moment']}"]
    if column == "card":
        card = smallest_card(result, source)
        return words["none"] if card is None else f"{number(card, language)}\u00a0GB"
    if column == "hours":
        return duration(result["time"]["hours"]["mid"], language)
    offer = cheapest(result)
    if offer is None:
        return words["none"]
    if column == "gpu":
        return (f"{offer['gpus']} × " if offer["gpus"] > 1 else "") + source.catalog.gpus[offer["gpu"]].name
    if column == "usd":
        return usd(offer["usd"]["mid"], language)
    raise FigureError(f"{PRESETS}: no column “{column}”")


def fragment(request: Json, prefix: str = "") -> str:
    """The request as the calculator's address keeps it: contract names, nested ones with a point."""
    parts = []
    for key, value in request.items():
        if isinstance(value, dict):
            parts.append(fragment(value, f"{prefix}{key}."))
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            parts.append(f"{prefix}{key}={quote(text, safe='')}")
    return "&".join(part for part in parts if part)


def linked(label: str, request: Json, root: str) -> str:
    """A row's label, as a link that opens its request in the calculator."""
    return f'<a href="{root}calculator/#{escape(fragment(request))}">{escape(label)}</a>'


# The kinds of figure


def markdown_table(head: list[str], lines: list[list[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines]) + "\n"


def bars(rows: list[tuple[str, Json]], language: str) -> str:
    """Horizontal bars of required memory: the middle value as a bar, low to high as a line."""
    step, left, width = 34, 200, 420
    top = max(result["memory"]["required_gib"]["high"] for _, result in rows)
    scale = width / top
    listed = "; ".join(f"{label} {gib(result['memory']['required_gib']['mid'], language)}" for label, result in rows)
    parts = [
        f'<svg class="figure-bars" viewBox="0 0 720 {step * len(rows)}" role="img" '
        f'aria-label="{escape(WORDS[language]["chart"].format(list=listed))}" font-size="14" fill="currentColor">'
    ]
    for place, (label, result) in enumerate(rows):
        band, y = result["memory"]["required_gib"], place * step
        low, mid, high = (left + band[end] * scale for end in ("low", "mid", "high"))
        parts += [
            f'<text x="{left - 10}" y="{y + 22}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{left}" y="{y + 8}" width="{mid - left:.1f}" height="18" rx="2" fill-opacity="0.35"/>',
            f'<path d="M{low:.1f} {y + 17}H{high:.1f}M{low:.1f} {y + 12}v10M{high:.1f} {y + 12}v10" '
            f'stroke="currentColor" stroke-width="1.5"/>',
            f'<text x="{high + 8:.1f}" y="{y + 22}">{gib(band["mid"], language)}</text>',
        ]
    parts.append("</svg>")
    return '<figure markdown="0">\n' + "\n".join(parts) + "\n</figure>\n"


def rows_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """One answer per row."""
    requests = [merged(preset["base"], row["change"]) for row in preset["rows"]]
    labels = [row[language] for row in preset["rows"]]
    answers = [answer(name, request, source) for request in requests]
    lines = [
        [linked(label, request, root)]
        + [cell(column, result, answers[0], source, language) for column in preset["show"]]
        for label, request, result in zip(labels, requests, answers, strict=True)
    ]
    words = WORDS[language]
    table = markdown_table([words["row"], *[words[column] for column in preset["show"]]], lines)
    chart = bars(list(zip(labels, answers, strict=True)), language) + "\n" if preset.get("chart") else ""
    return f"{chart}{table}\n<small>{words['note']}</small>\n"


def grid_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """Rows × columns of requests; each cell is the memory that one needs and the smallest card."""
    lines = []
    for row in preset["rows"]:
        cells = []
        for column in preset["columns"]:
            request = merged(merged(preset["base"], row["change"]), column["change"])
            result = answer(name, request, source)
            card = smallest_card(result, source)
            text = gib(result["memory"]["required_gib"]["mid"], language)
            cells.append(linked(text, request, root) + (f"<br>{number(card, language)}\u00a0GB" if card else ""))
        lines.append([escape(row[language]), *cells])
    head = [WORDS[language]["row"], *[column[language] for column in preset["columns"]]]
    return markdown_table(head, lines)


def moments_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """The memory of each moment, largest term named."""
    strings, result = _strings(language), answer(name, preset["base"], source)
    lines = []
    for moment in result["memory"]["moments"]:
        largest = sorted(moment["terms"].items(), key=lambda term: -term[1])[:3]
        said = ", ".join(f"{strings[f'term.{term}']} {gib(value, language)}" for term, value in largest)
        lines.append([strings[f"moment.{moment['id']}"], gib(moment["gib"], language), said])
    words = WORDS[language]
    table = markdown_table([words["moment"], words["allocated"], "…"], lines).replace("---: |\n", "--- |\n", 1)
    return f"{table}\n{linked(words['open'], preset['base'], root)}\n"


def bill_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """The bill of the cheapest offer, line by line; what nobody knows is said, never counted as zero."""
    strings, words = _strings(language), WORDS[language]
    offer = cheapest(answer(name, preset["base"], source))
    if offer is None:
        raise FigureError(f"{PRESETS}: [{name}] has no offer")
    lines = [
        [strings.get(f"bill.line.{charge}", charge), words["unknown"] if value is None else usd(value, language)]
        for charge, value in offer["breakdown_usd"].items()
        if value != 0
    ]
    lines.append([f"**{words['total']}**", f"**{usd(offer['usd']['mid'], language)}**"])
    table = markdown_table([words["charge"], "US$"], lines)
    return f"{table}\n{linked(words['open'], preset['base'], root)}\n"


def percent(value: float, language: str, signed: bool = False) -> str:
    """A share, with a thin space before the sign of per cent."""
    sign = "+" if signed and value > 0 else "−" if value < 0 else ""
    return f"{sign}{number(abs(value) * 100, language, 1)}\u202f%"


def measured_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """Published runs: what was measured and what we compute for the same configuration."""
    points = {point.id: point for point in source.accuracy.points}
    found = {row["id"]: row for row in accuracy.rows(MEASUREMENTS / "memory.csv")}
    lines = []
    for row in preset["rows"]:
        if row["id"] not in points:
            raise FigureError(f"{PRESETS}: [{name}] {row['id']}: not estimated")
        point = points[row["id"]]
        lines.append(
            [
                f"[{row[language]}]({found[row['id']]['source_url']})",
                gib(point.measured, language),
                gib(point.mid, language),
                percent(point.error, language, signed=True),
            ]
        )
    words = WORDS[language]
    return markdown_table([words["row"], words["measured"], words["estimated"], words["error"]], lines)


def worst_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """The runs we miss most, of those that say what they measured with."""
    found = {row["id"]: row for row in accuracy.rows(MEASUREMENTS / "memory.csv")}
    stated = [point for point in source.accuracy.points if point.kind != "unknown"]
    lines = []
    for point in sorted(stated, key=lambda point: (-abs(point.error), point.id))[:10]:
        row = found[point.id]
        lines.append(
            [
                f"[{escape(row['model'])}, {point.method}, {point.framework}]({row['source_url']})",
                gib(point.measured, language),
                gib(point.mid, language),
                percent(point.error, language, signed=True),
            ]
        )
    words = WORDS[language]
    return markdown_table([words["row"], words["measured"], words["estimated"], words["error"]], lines)


def groups_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """Error and coverage of the runs with allocated memory, by method, framework and sharding."""
    words = WORDS[language]
    chosen = [point for point in source.accuracy.points if point.kind == "allocated"]
    groups: dict[str, list[accuracy.Point]] = {words["all"]: chosen}
    for key in ("method", "framework", "sharding"):
        for point in sorted(chosen, key=lambda point: getattr(point, key)):
            groups.setdefault(getattr(point, key), []).append(point)
    lines = []
    for label, points in groups.items():
        stats = accuracy.figures(points)
        lines.append(
            [
                f"`{label}`" if label != words["all"] else label,
                number(stats.rows, language),
                percent(stats.median, language),
                percent(stats.p90, language),
                percent(stats.bias, language, signed=True),
                percent(stats.coverage, language),
            ]
        )
    head = [words[key] for key in ("row", "runs", "median", "p90", "bias", "coverage")]
    return markdown_table(head, lines)


def verdicts_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """Out-of-memory and fits facts against our verdict."""
    words, verdicts = WORDS[language], source.accuracy.verdicts
    lines = [
        [
            words[outcome],
            *[
                number(sum(v.outcome == outcome and v.verdict == said for v in verdicts), language)
                for said in ("fits", "tight", "no")
            ],
        ]
        for outcome in ("oom", "fits")
    ]
    return markdown_table([words["outcome"], words["said_fits"], words["said_tight"], words["said_no"]], lines)


def prices_figure(name: str, preset: Json, source: Source, language: str, root: str) -> str:
    """Prices that guides once quoted, beside today's: there, and the cheapest of all."""
    words, lines = WORDS[language], []
    for row in preset["rows"]:
        offers = [
            o
            for o in source.catalog.offers
            if o.gpu == row["gpu"] and o.purchase == "on-demand" and o.price_basis == "listed"
        ]
        there = [o.usd_per_hour / o.gpus for o in offers if o.provider in row["providers"]]
        newest = sorted(offers, key=lambda o: (-o.day, o.usd_per_hour / o.gpus))
        fresh = [o for o in newest if newest[0].day - o.day <= 60]
        best = min(fresh, key=lambda o: o.usd_per_hour / o.gpus, default=None)
        lines.append(
            [
                f"{source.catalog.gpus[row['gpu']].name}, {source.catalog.providers.get(row['providers'][0], {}).get('name', row['providers'][0])}",
                usd(row["then"], language),
                usd(min(there), language) if there else words["gone"],
                f"{usd(best.usd_per_hour / best.gpus, language)} ({best.checked})" if best else words["gone"],
            ]
        )
    return markdown_table([words["row"], words["then"], words["now"], words["cheapest"]], lines)


KINDS = {
    "rows": rows_figure,
    "grid": grid_figure,
    "moments": moments_figure,
    "bill": bill_figure,
    "measured": measured_figure,
    "worst": worst_figure,
    "groups": groups_figure,
    "verdicts": verdicts_figure,
    "prices": prices_figure,
}


def roots() -> dict[str, str]:
    """Include → the way from the page that shows it to the language's root."""
    found: dict[str, str] = {}
    for language in LANGUAGES:
        for path, page in pages(language).items():
            depth = path.count("/") + (0 if path.endswith("index.md") else 1)
            for name in INCLUDE.findall(page.text):
                found[name] = "../" * depth
    return found


def figures(presets: Json, catalog: Catalog) -> dict[str, str]:
    """File name → Markdown, for every preset in both languages."""
    where, source, written = roots(), Source(catalog), {}
    for name, preset in presets.items():
        for language in LANGUAGES:
            file = f"figure-{name}.{language}.md"
            if file not in where:
                raise FigureError(f"{PRESETS}: [{name}]: no page of docs/{language} includes {file}")
            make = KINDS[preset.get("kind", "rows")]
            written[file] = make(name, preset, source, language, where[file])
    return written


def main() -> int:
    """Write the figures."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.figures", description=__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("build/app/catalog.json"))
    parser.add_argument("--out", type=Path, default=Path("build/includes"))
    arguments = parser.parse_args()
    catalog = load_catalog(arguments.catalog.read_text(encoding="utf-8"))
    try:
        written = figures(tomllib.loads(PRESETS.read_text(encoding="utf-8")), catalog)
    except FigureError as error:
        print(error, file=sys.stderr)
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (arguments.out / name).write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {len(written)} figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
