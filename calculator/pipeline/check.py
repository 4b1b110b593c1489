"""Checks all of data/: each file by itself, then what the files say about each other."""

from __future__ import annotations

import csv
import datetime
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pipeline import schema
from pipeline.cells import CellError, check_value, earliest_day, nearest
from pipeline.files import (
    Problem,
    Row,
    Sheet,
    parse_toml,
    paths,
    read_csv,
    read_json,
    read_table,
    read_toml,
    toml_lines,
)
from pipeline.schema import Text

PLAUSIBLE = (0.3, 3.0)  # a price per GPU against the median of its GPU and purchase type
PLAUSIBLE_FROM = 5  # offers: fewer make no median worth the name


class Data(NamedTuple):
    """Everything in data/, typed. Offers carry their provider."""

    gpus: list[Row]
    gpu_aliases: list[Row]
    prices: list[Row]
    providers: list[Row]
    sources: list[Row]
    models: list[Row]
    configs: dict[str, dict[str, Any]]
    links: list[Row]
    assumptions: list[Row]
    measurements: dict[str, list[dict[str, str]]]


class Report(NamedTuple):
    """What `check` found."""

    data: Data
    problems: list[Problem]
    untidy: dict[str, str]  # path → tidy text, for files that only need their dress mended

    @property
    def red(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.red]


def check(root: Path, today: datetime.date) -> Report:
    """Reads and checks every data file under `root`."""
    problems: list[Problem] = []
    untidy: dict[str, str] = {}
    rows: dict[str, list[Row]] = {}
    for table in schema.CSV_TABLES + schema.TOML_TABLES:
        rows[table.name] = []
        for path in paths(root, table):
            name, data = path.relative_to(root).as_posix(), path.read_bytes()
            sheet = (read_csv if path.suffix == ".csv" else read_toml)(table, name, data)
            rows[table.name] += sheet.rows
            problems += sheet.problems + _tidiness(sheet, data, untidy)
    for row in rows["prices"]:
        row.values["provider"] = Path(row.path).stem
    configs, wrong = _configs(root, rows["models"])
    measurements = {path.stem: _measurements(path) for path in sorted(root.glob("data/measurements/*.csv"))}
    data = Data(**rows, configs=configs, measurements=measurements)
    problems += wrong + _relations(data, today) + _presets(root)
    return Report(data, problems, untidy)


def fix(root: Path, report: Report) -> list[str]:
    """Rewrites the files that only need their dress mended; says which."""
    for path, text in report.untidy.items():
        (root / path).write_bytes(text.encode())
    return list(report.untidy)


def _tidiness(sheet: Sheet, data: bytes, untidy: dict[str, str]) -> list[Problem]:
    if sheet.canonical is None or sheet.canonical.encode() == data:
        return []
    untidy[sheet.path] = sheet.canonical
    return [Problem(sheet.path, 1, "orden / order", Text(
        "orden, espacios, BOM o comillas → no tienes que hacer nada; lo arregla `python -m pipeline check --fix`",
        "order, spaces, BOM or quotes → nothing for you to do; `python -m pipeline check --fix` mends it",
    ), red=False)]  # fmt: skip


# --- what the files say about each other ---------------------------------------------------------------------------------


def _relations(data: Data, today: datetime.date) -> list[Problem]:
    known = {"gpus": {row.values["id"] for row in data.gpus}, "providers": {row.values["id"] for row in data.providers}}
    problems = []
    for table in schema.CSV_TABLES + schema.TOML_TABLES:
        rows = getattr(data, table.name)
        problems += _references(table, rows, known)
        problems += _dates(table, rows, today)
    problems += _gpus(data.gpus)
    problems += _price_files(data.prices, known["providers"])
    problems += _price_sources(data)
    problems += plausibility(data.prices)
    problems += _provider_sources(data.providers, today)
    problems += _assumptions(data.assumptions)
    return problems


def _references(table: schema.Table, rows: Iterable[Row], known: dict[str, set[str]]) -> list[Problem]:
    problems = []
    for column in (column for column in table.columns if column.refers):
        for row in rows:
            value = row.values[column.name]
            if value is None or value in known[column.refers]:
                continue
            meant = nearest(value, known[column.refers])
            place = schema.TABLES[column.refers].path
            problems.append(Problem(row.path, row.line, f'{column.name} "{value}"', Text(
                f"no está en {place} → {f'¿{meant}?' if meant else 'añádela allí antes'}",
                f"is not in {place} → {f'{meant}?' if meant else 'add it there first'}")))  # fmt: skip
    return problems


def _dates(table: schema.Table, rows: Iterable[Row], today: datetime.date) -> list[Problem]:
    # Whoever edits east of us may already be in tomorrow.
    latest = today + datetime.timedelta(days=1)
    names = [column.name for column in table.columns if column.kind == "date"]
    return [
        _future(row.path, row.line, f'{name} "{row.values[name]}"', today)
        for row in rows for name in names
        if row.values.get(name) and earliest_day(row.values[name]) > latest
    ]  # fmt: skip


def _future(path: str, line: int, subject: str, today: datetime.date) -> Problem:
    return Problem(
        path, line, subject, Text(f"es una fecha futura → hoy es {today}", f"is in the future → today is {today}")
    )


def _gpus(rows: Iterable[Row]) -> list[Problem]:
    problems = []
    for row in rows:
        gpu = row.values
        if not gpu["id"].endswith(f"-{gpu['memory_label_gb']}gb"):
            name = gpu["id"].rsplit("-", 1)[0]
            problems.append(Problem(row.path, row.line, f'id "{gpu["id"]}"', Text(
                f"termina en su memoria → escribe {name}-{gpu['memory_label_gb']}gb",
                f"ends with its memory → type {name}-{gpu['memory_label_gb']}gb")))  # fmt: skip
        if (gpu["usable_gib"] is None) != (gpu["usable_basis"] is None):
            problems.append(Problem(row.path, row.line, "usable_basis", Text(
                "usable_gib y usable_basis van juntas → escribe seen o estimated, o deja vacías las dos",
                "usable_gib and usable_basis go together → type seen or estimated, or leave both empty")))  # fmt: skip
        if gpu["usable_gib"] and gpu["nvidia_smi_mib"] and gpu["usable_gib"] * 1024 > gpu["nvidia_smi_mib"]:
            problems.append(Problem(row.path, row.line, f"usable_gib {gpu['usable_gib']}", Text(
                f"CUDA no ofrece más de lo que muestra nvidia-smi → como mucho {gpu['nvidia_smi_mib'] / 1024:.2f}",
                f"CUDA offers no more than nvidia-smi shows → {gpu['nvidia_smi_mib'] / 1024:.2f} at most")))  # fmt: skip
    return problems


def _price_files(offers: Iterable[Row], providers: set[str]) -> list[Problem]:
    problems = {}
    for row in offers:
        provider = row.values["provider"]
        if provider not in providers:
            meant = nearest(provider, providers)
            problems[row.path] = Problem(row.path, 1, provider, Text(
                f"el archivo lleva el id de un proveedor de data/providers.toml → "
                f"{f'¿{meant}.csv?' if meant else f'añade allí [{provider}]'}",
                f"the file is named after a provider of data/providers.toml → "
                f"{f'{meant}.csv?' if meant else f'add [{provider}] there'}"))  # fmt: skip
    return list(problems.values())


def _price_sources(data: Data) -> list[Problem]:
    homes = {
        row.values["id"]: {_domain(row.values["url"] or ""), *(row.values["domains"] or [])} for row in data.providers
    }
    others = [row.values["url"] for row in data.sources if row.values["url"]]
    problems = []
    for row in data.prices:
        url, provider = row.values["source_url"], row.values["provider"]
        host = urlsplit(url).hostname or ""
        own = any(host == home or host.endswith("." + home) for home in homes.get(provider, ()) if home)
        if not own and not any(url.startswith(other) for other in others):
            problems.append(Problem(row.path, row.line, f'source_url "{host}"', Text(
                f"no es del proveedor ni un tercero conocido → enlaza su página, o añade el dominio a [{provider}] "
                "domains en data/providers.toml",
                f"is neither the provider's nor a known third party → link its page, or add the domain to [{provider}] "
                "domains in data/providers.toml")))  # fmt: skip
    return problems


def _domain(url: str) -> str:
    return ".".join((urlsplit(url).hostname or "").split(".")[-2:])


def plausibility(offers: list[Row]) -> list[Problem]:
    """Prices per GPU far from the median of their GPU and purchase type, unless a note settles them."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in offers:
        groups[row.values["gpu"], row.values["purchase"]].append(row.values["usd_per_hour"] / row.values["gpus"])
    medians = {key: statistics.median(prices) for key, prices in groups.items() if len(prices) >= PLAUSIBLE_FROM}
    problems = []
    for row in offers:
        median = medians.get((row.values["gpu"], row.values["purchase"]))
        price = row.values["usd_per_hour"] / row.values["gpus"]
        if not median or row.values["note"] or PLAUSIBLE[0] <= price / median <= PLAUSIBLE[1]:
            continue
        ratio = f"{price / median:.2g}×"
        problems.append(Problem(row.path, row.line, f"usd_per_hour {row.values['usd_per_hour']:g}", Text(
            f"{price:.3g} USD por GPU es {ratio} la mediana ({median:.3g}) → revisa gpus y el precio de la oferta "
            "entera; si es así, dilo en note",
            f"{price:.3g} USD per GPU is {ratio} the median ({median:.3g}) → check gpus and the price of the whole "
            "offer; if it is right, say so in note")))  # fmt: skip
    return problems


def _provider_sources(rows: Iterable[Row], today: datetime.date) -> list[Problem]:
    problems = []
    facts = {column.name for column in schema.PROVIDER_FACTS}
    for row in rows:
        name = row.values["id"]
        supported: set[str] = set()
        sources = row.values.get("sources")
        if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
            problems.append(Problem(row.path, row.line, f"[{name}] sources", Text(
                f"falta la fuente → [[{name}.sources]] con url, checked y facts",
                f"no source → [[{name}.sources]] with url, checked and facts")))  # fmt: skip
            continue
        for source in sources:
            values, wrong = read_table(schema.PROVIDER_SOURCE, row.path, f"{name}.sources", source,
                                       {(f"{name}.sources", ""): row.line}, nested=())  # fmt: skip
            problems += wrong
            supported.update(values["facts"] or ())
            if values["checked"] and earliest_day(values["checked"]) > today + datetime.timedelta(days=1):
                problems.append(_future(row.path, row.line, f'[{name}] sources "{values["checked"]}"', today))
        stated = {fact for fact in facts if row.values[fact] is not None}
        for fact in sorted(stated - supported):
            problems.append(Problem(row.path, row.line, f"[{name}] {fact}", Text(
                f"ninguna fuente lo respalda → añade \"{fact}\" a facts de un [[{name}.sources]], o quita la clave",
                f"no source supports it → add \"{fact}\" to the facts of a [[{name}.sources]], or remove the key")))  # fmt: skip
        for fact in sorted(supported - stated):
            meant = nearest(fact, stated)
            problems.append(Problem(row.path, row.line, f'[{name}] facts "{fact}"', Text(
                f"una fuente lo nombra y no está → {f'¿{meant}?' if meant else 'escribe su valor o quítalo de facts'}",
                f"a source names it and it is not there → {f'{meant}?' if meant else 'type its value or drop it'}")))  # fmt: skip
    return problems


def _assumptions(rows: Iterable[Row]) -> list[Problem]:
    problems = []
    for row in rows:
        values, name = row.values, row.values["id"]
        bounds = [values[key] for key in ("low", "mid", "high")]
        if None not in bounds and bounds != sorted(bounds):
            problems.append(Problem(row.path, row.line, f"[{name}]", Text(
                f"low ≤ mid ≤ high no se cumple → {', '.join(f'{bound:g}' for bound in bounds)}",
                f"low ≤ mid ≤ high does not hold → {', '.join(f'{bound:g}' for bound in bounds)}")))  # fmt: skip
        label = values.get("label")
        if (
            not isinstance(label, dict)
            or set(label) != {"es", "en"}
            or not all(isinstance(t, str) and t for t in label.values())
        ):
            problems.append(Problem(row.path, row.line, f"[{name}] label", Text(
                'falta en algún idioma → label = { es = "…", en = "…" }',
                'is missing in a language → label = { es = "…", en = "…" }')))  # fmt: skip
    return problems


# --- files that are not tables --------------------------------------------------------------------------------------------


def _configs(root: Path, models: list[Row]) -> tuple[dict[str, dict[str, Any]], list[Problem]]:
    """Architectures by model id: each row of the index has its file, each file its row."""
    problems = []
    configs: dict[str, dict[str, Any]] = {}
    index = {row.values["id"]: row for row in models}
    for path in sorted(root.glob("data/models/*.json")):
        name = path.relative_to(root).as_posix()
        document, wrong = read_json(name, path.read_bytes())
        problems += wrong
        if path.stem not in index:
            problems.append(Problem(name, 1, path.stem, Text("no está en data/models.csv → añade su fila",
                                                             "is not in data/models.csv → add its row")))  # fmt: skip
        for key in ("source_url", "checked"):
            try:
                check_value(schema.PRICES.column(key), document.get(key))  # type: ignore[arg-type]
            except CellError as error:
                if not wrong:
                    problems.append(Problem(name, 1, key, error.text))
        if isinstance(document.get("config"), dict):
            configs[path.stem] = document["config"]
        elif not wrong:
            problems.append(Problem(name, 1, "config", Text("falta el objeto config → las claves del config.json del modelo",
                                                            "no config object → the keys of the model's config.json")))  # fmt: skip
    for model, row in index.items():
        if model not in configs and not any(problem.path.endswith(f"/{model}.json") for problem in problems):
            problems.append(Problem(row.path, row.line, f'id "{model}"', Text(
                f"falta su arquitectura → data/models/{model}.json", f"no architecture → data/models/{model}.json")))  # fmt: skip
    return configs, problems


def _measurements(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _presets(root: Path) -> list[Problem]:
    path = root / "data/presets.toml"
    return parse_toml("data/presets.toml", path.read_bytes())[1] if path.exists() else []
