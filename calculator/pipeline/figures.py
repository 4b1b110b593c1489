"""The guide's live figures: docs/presets.toml → figure-<name>.<language>.md, computed by the estimator at build.

    python -m pipeline.figures --catalog build/app/catalog.json --out build/includes

A request without an ok answer ends the build: no figure of the guide can go stale or wrong in silence. So does an
outside link that is no row of data/links.csv.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tomllib
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ajuste import estimate, load_catalog
from ajuste.offers import AGEING_DAYS, FRESH_DAYS
from pipeline import accuracy, accuracy_figures, claims, drawings
from pipeline.guide import INCLUDE, pages, unlisted_links
from pipeline.measurements import read
from pipeline.text import LANGUAGES, number, percent, usd, word

if TYPE_CHECKING:
    from ajuste.catalog import Catalog, Offer
    from pipeline.measurements import Row

Json = dict[str, Any]
PRESETS = Path("docs/presets.toml")
STRINGS = Path("calculator/web/strings")
MEASUREMENTS = Path("data/measurements")
EPOCH = datetime.date(1970, 1, 1).toordinal()  # what `Offer.day` counts from
FEWEST_RUNS = 5  # of a group whose error is shown: a median of less says nothing

WORDS = {  # key → Spanish, English
    "row": ("caso", "case"),
    "allocated": ("memoria asignada", "allocated memory"),
    "required": ("memoria necesaria", "required memory"),
    "difference": ("diferencia", "difference"),
    "saves": ("ahorro", "saving"),
    "peak": ("momento más lleno", "fullest moment"),
    "card": ("tarjeta más pequeña donde cabe", "smallest card it fits on"),
    "hours": ("tiempo", "time"),
    "billed": ("horas facturadas", "billed hours"),
    "gpu": ("la más barata", "the cheapest"),
    "usd": ("factura", "bill"),
    "term": ("término", "term"),
    "name": ("en el código", "in the code"),
    "formula": ("fórmula, en bytes", "formula, in bytes"),
    "peak-gib": ("en el pico", "at the peak"),
    "moment": ("momento", "moment"),
    "largest": ("lo que más ocupa", "what takes most"),
    "charge": ("cargo", "charge"),
    "total": ("total", "total"),
    "none": ("ninguna", "none"),
    "unknown": ("no se sabe", "unknown"),
    "days": ("días", "days"),
    "chart": ("Memoria necesaria: {list}", "Required memory: {list}"),
    "open": ("Abrir en la calculadora", "Open in the calculator"),
    "note": (
        "Calculado al publicar, con precios sin impuestos. Cada fila abre la calculadora.",
        "Computed when published, prices before tax. Each row opens the calculator.",
    ),
    "measured": ("medida", "measured"),
    "computed": ("calculada", "computed"),
    "error": ("error", "error"),
    "runs": ("ejecuciones", "runs"),
    "median": ("error mediano", "median error"),
    "p90": ("9 de cada 10, menos de", "9 in 10, less than"),
    "bias": ("sesgo", "bias"),
    "coverage": ("dentro del margen", "inside the range"),
    "all": ("todas", "all"),
    "outcome": ("qué pasó", "what happened"),
    "oom": ("se quedó sin memoria", "ran out of memory"),
    "fits": ("cupo", "fitted"),
    "said-fits": ("dijimos que cabe", "we said it fits"),
    "said-tight": ("dijimos que justo", "we said tight"),
    "said-no": ("dijimos que no", "we said no"),
    "then": ("entonces, por hora", "then, per hour"),
    "now": ("hoy, ahí", "today, there"),
    "cheapest": ("hoy, la más barata", "today, the cheapest"),
    "bill-then": ("factura entonces", "bill then"),
    "now-card": ("hoy, la más barata con esa tarjeta", "today, the cheapest with that card"),
    "held-out": (
        "Con cada fuente dejada fuera del ajuste. Calculado el {day}.",
        "With each source left out of the fit. Computed on {day}.",
    ),
    "gone": ("sin precio hoy", "no price today"),
}


class FigureError(Exception):
    """A preset that the estimator refuses, or that no page shows."""


class Source:
    """What figures are made from: the catalog, and every published run estimated, once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._answers: dict[str, Json] = {}

    def answer(self, request: Json) -> Json:
        """The estimator's answer; asked once, for both languages and every figure."""
        key = json.dumps(request, sort_keys=True)
        if key not in self._answers:
            self._answers[key] = estimate(request, self.catalog)
        return self._answers[key]

    @cached_property
    def accuracy(self) -> accuracy.Accuracy:
        """The rows of data/measurements/, estimated."""
        return accuracy.measure(MEASUREMENTS, self.catalog)

    def request(self, run: str) -> Json:
        """A published run of data/measurements/ as a request."""
        models = {model["hf_id"]: name for name, model in self.catalog.models.items() if model["hf_id"]}
        reading = read(self.measurements[run], models)
        if reading.request is None:
            raise FigureError(f"{PRESETS}: {run}: {reading.reason}")
        return reading.request

    @cached_property
    def measurements(self) -> dict[str, Row]:
        """The rows themselves, by id."""
        return {row["id"]: row for row in accuracy.rows(MEASUREMENTS / "memory.csv")}


class Figure(NamedTuple):
    """One figure to make in one language."""

    name: str
    preset: Json
    source: Source
    language: str
    root: str  # way from the page that shows it to the language's root

    def word(self, key: str) -> str:
        """A word of WORDS."""
        return WORDS[key][LANGUAGES.index(self.language)]

    def string(self, key: str) -> str:
        """The calculator's own word for a moment, a term or a charge: the guide says the same."""
        return str(_strings(self.language)[key])

    def answer(self, request: Json) -> Json:
        """The estimator's answer, or the end of the build."""
        result = self.source.answer(request)
        if not result["ok"]:
            raise FigureError(f"{PRESETS}: [{self.name}] {request}: {result['error']['message']['en']}")
        return result

    def link(self, label: str, request: Json) -> str:
        """A label that opens its request in the calculator."""
        return f'<a href="{self.root}calculator/#{escape(fragment(request))}">{escape(label)}</a>'

    # How values are written

    def gib(self, value: float) -> str:
        """Memory: one decimal below 100 GiB; what would round to nothing, in MiB."""
        if 0 < abs(value) < 0.1:
            return f"{number(value * 1024, self.language)}\u00a0MiB"
        return f"{number(value, self.language, 1 if abs(value) < 99.95 else 0)}\u00a0GiB"

    def duration(self, hours: float) -> str:
        """Minutes, then hours, then days."""
        if hours < 1:
            return f"{number(hours * 60, self.language)}\u00a0min"
        if hours < 48:
            return f"{number(hours, self.language, 1)}\u00a0h"
        return f"{number(hours / 24, self.language, 1)}\u00a0{self.word('days')}"

    def percent(self, value: float, signed: bool = False) -> str:
        """A share; with its sign where the direction matters."""
        points = round(value * 100, 1)
        sign = "" if not signed else "+" if points > 0 else "−" if points < 0 else ""
        return sign + percent(abs(points) / 100, self.language, 1)

    def card(self, result: Json) -> str:
        """Label of the smallest card that surely runs it: alone, or each of as many as the request names."""
        gpus = self.source.catalog.gpus
        count = result["plan"]["parallel"]["gpus_per_node"]
        fits = [
            gpus[gpu["id"]].memory_label_gb
            for gpu in result["gpus"]
            if gpu["verdict"] == "fits" and gpu["count"] == count
        ]
        if not fits:
            return self.word("none")
        times = f"{count} × " if count > 1 else ""
        return f"{times}{number(min(fits), self.language)}\u00a0GB"


@cache
def _strings(language: str) -> Json:
    strings: Json = json.loads((STRINGS / f"{language}.json").read_text(encoding="utf-8"))
    return strings


def merged(base: Json, change: Json) -> Json:
    """A request with a change; nested objects are merged, not replaced."""
    result = dict(base)
    for key, value in change.items():
        nested = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if nested else value
    return result


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


def cheapest(result: Json) -> Json | None:
    """The offer that the calculator picks first; where only spot is asked for, its spot pick."""
    picks = result["picks"]
    pick = picks["spot"] if picks["cheapest"] is None else picks["cheapest"]
    return None if pick is None else result["offers"][pick]


def markdown_table(head: list[str], lines: list[list[str]], numbers: bool = True) -> str:
    """A table whose first column is text and whose others are numbers, or text too."""
    rule = ["---", *["---:" if numbers else "---"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines]) + "\n"


# Figures of answers


def _allocated(figure: Figure, result: Json, _first: Json) -> str:
    return figure.gib(result["memory"]["allocated_gib"]["mid"])


def _required(figure: Figure, result: Json, _first: Json) -> str:
    return figure.gib(result["memory"]["required_gib"]["mid"])


def _difference(figure: Figure, result: Json, first: Json) -> str:
    more = result["memory"]["required_gib"]["mid"] - first["memory"]["required_gib"]["mid"]
    return "–" if abs(more) < 0.05 else f"{'+' if more > 0 else '−'}{figure.gib(abs(more))}"


def _saves(figure: Figure, result: Json, first: Json) -> str:
    saved = first["memory"]["required_gib"]["mid"] - result["memory"]["required_gib"]["mid"]
    return "–" if abs(saved) < 0.05 else f"{'−' if saved < 0 else ''}{figure.gib(abs(saved))}"


def _peak(figure: Figure, result: Json, _first: Json) -> str:
    return figure.string(f"moment.{result['memory']['peak_moment']}")


def _card(figure: Figure, result: Json, _first: Json) -> str:
    return figure.card(result)


def _hours(figure: Figure, result: Json, _first: Json) -> str:
    return figure.duration((cheapest(result) or result["time"])["hours"]["mid"])


def _billed(figure: Figure, result: Json, _first: Json) -> str:
    offer = cheapest(result)
    return figure.word("none") if offer is None else figure.duration(offer["billed_hours"]["mid"])


def _gpu(figure: Figure, result: Json, _first: Json) -> str:
    offer = cheapest(result)
    if offer is None:
        return figure.word("none")
    count = f"{offer['gpus']} × " if offer["gpus"] > 1 else ""
    return count + figure.source.catalog.gpus[offer["gpu"]].name


def _usd(figure: Figure, result: Json, _first: Json) -> str:
    offer = cheapest(result)
    return figure.word("none") if offer is None else usd(offer["usd"]["mid"], figure.language)


COLUMNS = {
    "allocated": _allocated,
    "required": _required,
    "difference": _difference,
    "saves": _saves,
    "peak": _peak,
    "card": _card,
    "hours": _hours,
    "billed": _billed,
    "gpu": _gpu,
    "usd": _usd,
}


def rows_figure(figure: Figure) -> str:
    """One answer per row."""
    preset = figure.preset
    labels = [row[figure.language] for row in preset["rows"]]
    requests = [merged(preset["base"], row["change"]) for row in preset["rows"]]
    answers = [figure.answer(request) for request in requests]
    lines = [
        [figure.link(label, request), *[COLUMNS[column](figure, result, answers[0]) for column in preset["show"]]]
        for label, request, result in zip(labels, requests, answers, strict=True)
    ]
    table = markdown_table([figure.word("row"), *map(figure.word, preset["show"])], lines)
    chart = bars(figure, labels, answers) if preset.get("chart") else ""
    return f"{chart}\n{table}\n<small>{figure.word('note')}</small>\n"


def bars(figure: Figure, labels: list[str], answers: list[Json]) -> str:
    """Required memory as bars: the middle value as a bar, low to high as a line, both themes' ink."""
    step, left, width = 34, 190, 220
    bands = [result["memory"]["required_gib"] for result in answers]
    scale = width / max(band["high"] for band in bands)
    said = "; ".join(f"{label} {figure.gib(band['mid'])}" for label, band in zip(labels, bands, strict=True))
    label = escape(figure.word("chart").format(list=said))
    height = step * len(bands)
    box = f'width="500" height="{height}" viewBox="0 0 500 {height}" font-size="14" fill="currentColor"'
    parts = [f'<svg class="figure-bars" {box} role="img" aria-label="{label}">']
    for place, (name, band) in enumerate(zip(labels, bands, strict=True)):
        y = place * step
        low, mid, high = (left + band[end] * scale for end in ("low", "mid", "high"))
        whisker = f"M{low:.1f} {y + 17}H{high:.1f}M{low:.1f} {y + 12}v10M{high:.1f} {y + 12}v10"
        parts += [
            f'<text x="{left - 10}" y="{y + 22}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{left}" y="{y + 8}" width="{mid - left:.1f}" height="18" rx="2" fill-opacity="0.35"/>',
            f'<path d="{whisker}" stroke="currentColor"/>',
            f'<text x="{high + 8:.1f}" y="{y + 22}">{figure.gib(band["mid"])}</text>',
        ]
    return '<figure markdown="0">\n' + "\n".join(parts) + "\n</svg>\n</figure>\n"


def grid_figure(figure: Figure) -> str:
    """Rows × columns of requests; each cell is what `cell` says of one answer, as a link to it."""
    preset, lines = figure.preset, []
    say = CELLS[preset.get("cell", "memory")]
    for row in preset["rows"]:
        cells = []
        for column in preset["columns"]:
            request = merged(merged(preset["base"], row["change"]), column["change"])
            linked, beside = say(figure, figure.answer(request))
            cells.append(figure.link(linked, request) + (f"<br>{beside}" if beside else ""))
        lines.append([escape(row[figure.language]), *cells])
    head = [figure.word("row"), *[column[figure.language] for column in preset["columns"]]]
    return f"{markdown_table(head, lines)}\n<small>{figure.word('note')}</small>\n"


def _memory_and_card(figure: Figure, result: Json) -> tuple[str, str]:
    return figure.gib(result["memory"]["required_gib"]["mid"]), figure.card(result)


def _longest_example(figure: Figure, result: Json) -> tuple[str, str]:
    """The longest example, rounded down to two figures: nobody should count on the last token."""
    longest = max(gpu["max_sequence_length"] for gpu in result["gpus"] if gpu["count"] == 1)
    step = 10 ** max(0, len(str(longest)) - 2)
    return (number(longest // step * step, figure.language) if longest else figure.word("none")), ""


CELLS = {"memory": _memory_and_card, "length": _longest_example}


def terms_figure(figure: Figure) -> str:
    """The terms at the peak, as the code names them, with their formula."""
    request = figure.preset["base"]
    lines = [
        [figure.string(f"term.{term['id']}"), f"`{term['id']}`", f"`{term['formula']}`", figure.gib(term["gib"])]
        for term in figure.answer(request)["memory"]["terms"]
    ]
    head = [figure.word(key) for key in ("term", "name", "formula", "peak-gib")]
    return f"{markdown_table(head, lines, numbers=False)}\n{figure.link(figure.word('open'), request)}\n"


def moments_figure(figure: Figure) -> str:
    """The memory of each moment, its largest terms named."""
    request = figure.preset["base"]
    lines = []
    for moment in figure.answer(request)["memory"]["moments"]:
        largest = sorted(moment["terms"].items(), key=lambda term: -term[1])[:3]
        said = ", ".join(f"{figure.string(f'term.{term}')} {figure.gib(value)}" for term, value in largest)
        lines.append([figure.string(f"moment.{moment['id']}"), figure.gib(moment["gib"]), said])
    head = [figure.word(key) for key in ("moment", "allocated", "largest")]
    return f"{markdown_table(head, lines, numbers=False)}\n{figure.link(figure.word('open'), request)}\n"


def bill_figure(figure: Figure) -> str:
    """The bill of the cheapest offer, line by line; what nobody knows is said, never counted as zero."""
    request = figure.preset["base"]
    offer = cheapest(figure.answer(request))
    if offer is None:
        raise FigureError(f"{PRESETS}: [{figure.name}] has no offer")
    lines = [
        [figure.string(f"charge.{name}"), figure.word("unknown") if value is None else usd(value, figure.language)]
        for name, value in offer["breakdown_usd"].items()
        if value is None or value >= 0.005  # a line of zero cents says nothing
    ]
    lines.append([f"**{figure.word('total')}**", f"**{usd(offer['usd']['mid'], figure.language)}**"])
    gpu, provider = figure.source.catalog.gpus[offer["gpu"]], figure.source.catalog.providers.get(offer["provider"], {})
    about = figure.string("bill.for").format(
        gpu=gpu.name,
        provider=provider.get("name", offer["provider"]),
        hours=figure.duration(offer["billed_hours"]["mid"]),
        price=usd(offer["usd_per_hour"], figure.language),
    )
    table = markdown_table([figure.word("charge"), "US$"], lines)
    return f"{about}\n\n{table}\n{figure.link(figure.word('open'), request)}\n"


# Figures of measured runs


def _run(figure: Figure, label: str, point: accuracy.Point) -> list[str]:
    url = figure.source.measurements[point.id]["source_url"]
    error = figure.percent(point.error, signed=True)
    return [f"[{escape(label)}]({url})", figure.gib(point.measured), figure.gib(point.mid), error]


def _runs(figure: Figure, lines: list[list[str]]) -> str:
    return markdown_table([figure.word(key) for key in ("row", "measured", "computed", "error")], lines)


def measured_figure(figure: Figure) -> str:
    """Published runs: measured, computed for the same configuration, and what the job of `base` would cost today.

    A row names a run of data/measurements/ by its id, or states its own request, measured GiB and address. A row that
    does both is the run's configuration with a `change`.
    """
    lines = []
    for row in figure.preset["rows"]:
        run = figure.source.measurements.get(row.get("id", ""))
        request = merged(figure.source.request(run["id"]) if run else {}, row.get("change", {}))
        result = figure.answer(merged(request, figure.preset["base"]))
        measured = float(row["gib"] if "gib" in row else run["peak_gib"] if run else 0)
        address = row.get("url") or (run["source_url"] if run else "")
        computed = result["memory"]["allocated_gib"]["mid"]
        lines.append(
            [
                figure.link(row[figure.language], merged(request, figure.preset["base"])),
                f"[{figure.gib(measured)}]({address})",
                figure.gib(computed),
                figure.percent(computed / measured - 1, signed=True),
                _hours(figure, result, result),
                _usd(figure, result, result),
            ]
        )
    heads = [figure.word(key) for key in ("row", "measured", "computed", "error", "hours", "usd")]
    return f"{markdown_table(heads, lines)}\n<small>{figure.word('note')}</small>\n"


def worst_figure(figure: Figure) -> str:
    """The ten runs we miss most, whatever they say they measured with; each says it."""
    lines = []
    for point in sorted(figure.source.accuracy.points, key=lambda point: (-abs(point.error), point.id))[:10]:
        model = figure.source.measurements[point.id]["model"]
        kind = word(f"accuracy_{point.kind}_short", figure.language)
        lines.append(_run(figure, f"{model}, {point.method}, {point.framework}, {point.id} ({kind})", point))
    return _runs(figure, lines)


def verdicts_figure(figure: Figure) -> str:
    """Out-of-memory and fits facts against our verdict."""
    verdicts = figure.source.accuracy.verdicts
    lines = []
    for outcome in ("oom", "fits"):
        said = [verdict.verdict for verdict in verdicts if verdict.outcome == outcome]
        counts = [number(said.count(word), figure.language) for word in ("fits", "tight", "no")]
        lines.append([figure.word(outcome), *counts])
    return markdown_table([figure.word(key) for key in ("outcome", "said-fits", "said-tight", "said-no")], lines)


def pace_figure(figure: Figure) -> str:
    """Error of tokens per second on published runs of sources that the constants had not seen, by group.

    `groups` says which; without it all but the sources, where a few rows would say nothing.
    """
    wanted, lines = figure.preset.get("groups"), []
    for row in accuracy.rows(MEASUREMENTS / "throughput_errors.csv"):
        few = row["group"] == "source" or int(row["rows"]) < FEWEST_RUNS
        if (row["group"] not in wanted) if wanted else few:
            continue
        errors = [figure.percent(float(row[key])) for key in ("median_error", "p90_error")]
        bias = figure.percent(float(row["bias"]), signed=True)
        name = f"`{row['value']}`" if row["value"] else figure.word("all")
        lines.append([name, number(int(row["rows"]), figure.language), *errors, bias])
    table = markdown_table([figure.word(key) for key in ("row", "runs", "median", "p90", "bias")], lines)
    return f"{table}\n<small>{figure.word('held-out').format(day=row['checked'])}</small>\n"


# Figures of prices


def prices_figure(figure: Figure) -> str:
    """Prices that guides once quoted, beside today's: there, and the one that leads the price tables."""
    catalog, lines = figure.source.catalog, []
    today = datetime.date.fromisoformat(str(catalog.as_of)).toordinal() - EPOCH
    for row in figure.preset["rows"]:
        offers = [o for o in catalog.offers if o.gpu == row["gpu"] and _is_listed(o)]
        there = [_per_gpu(offer) for offer in offers if offer.provider in row["providers"]]
        best = min(
            (o for o in offers if o.confidence != "C"), key=lambda o: (_ageing(o, today), _per_gpu(o)), default=None
        )
        gone = figure.word("gone")
        lines.append(
            [
                f"{catalog.gpus[row['gpu']].name}, {row['provider']}",
                usd(row["then"], figure.language),
                usd(min(there), figure.language) if there else gone,
                f"{usd(_per_gpu(best), figure.language)} ({best.checked})" if best else gone,
            ]
        )
    return markdown_table([figure.word(key) for key in ("row", "then", "now", "cheapest")], lines)


def quoted_figure(figure: Figure) -> str:
    """Jobs on one card at the price that a guide once quoted, and on the same card at today's."""
    lines = []
    for row in figure.preset["rows"]:
        request = merged(figure.preset["base"], row["change"])
        result = figure.answer(request)
        hours, offer = result["time"]["hours"], cheapest(result)
        span = f"{figure.duration(hours['low'])} – {figure.duration(hours['high'])}"
        today = [figure.word("gone"), "–"]
        if offer is not None:
            provider = figure.source.catalog.providers.get(offer["provider"], {}).get("name", offer["provider"])
            price = usd(offer["usd_per_hour"], figure.language)
            today = [
                f"{price}, {escape(str(provider))} ({offer['checked']})",
                usd(offer["usd"]["mid"], figure.language),
            ]
        then = [usd(row["then"], figure.language), usd(row["then"] * hours["mid"], figure.language)]
        lines.append([figure.link(row[figure.language], request), span, *then, *today])
    head = ("row", "hours", "then", "bill-then", "now-card", "usd")
    return markdown_table([figure.word(key) for key in head], lines)


def _is_listed(offer: Offer) -> bool:
    return offer.purchase == "on-demand" and offer.price_basis == "listed"


def _ageing(offer: Offer, today: int) -> int:
    """0 for a fresh price, 1 for one that ages, 2 for an old one: the younger leads, as in the calculator's picks."""
    age = today - offer.day
    return (age > FRESH_DAYS) + (age > AGEING_DAYS)


def _per_gpu(offer: Offer) -> float:
    return offer.usd_per_hour / offer.gpus


# All of them

KINDS = (
    {
        "rows": rows_figure,
        "grid": grid_figure,
        "terms": terms_figure,
        "moments": moments_figure,
        "bill": bill_figure,
        "measured": measured_figure,
        "worst": worst_figure,
        "verdicts": verdicts_figure,
        "pace": pace_figure,
        "prices": prices_figure,
        "quoted": quoted_figure,
        "claims": claims.claims_figure,
    }
    | accuracy_figures.FIGURE_KINDS
    | drawings.FIGURE_KINDS
)


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
    where, source = roots(), Source(catalog)
    written = {}
    for name, preset in presets.items():
        for language in LANGUAGES:
            file = f"figure-{name}.{language}.md"
            if file not in where:
                raise FigureError(f"{PRESETS}: [{name}]: no page of docs/{language} includes {file}")
            figure = Figure(name, preset, source, language, where[file])
            written[file] = KINDS[preset.get("kind", "rows")](figure)
    return written


def main() -> int:
    """Write the figures."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.figures", description=__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("build/app/catalog.json"))
    parser.add_argument("--out", type=Path, default=Path("build/includes"))
    arguments = parser.parse_args()
    catalog = load_catalog(arguments.catalog.read_text(encoding="utf-8"))
    try:
        if unlisted := unlisted_links():
            raise FigureError(f"not in data/links.csv, with where you saw it and the claim it carries: {unlisted}")
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
