"""What the files say about each other: one rule, one function, which yields what is wrong."""

from __future__ import annotations

import datetime
import re
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ajuste.architecture import parameters, read_architecture
from ajuste.catalog import gpus_named
from ajuste.contract import REQUEST
from ajuste.errors import RequestError
from pipeline import runs, schema, toml_columns
from pipeline.cells import CellError, check_value, earliest_day, nearest
from pipeline.files import Data, Problem, Row, read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

METHODS = REQUEST["method"].choices
SHARED_HOSTS = (  # where anybody publishes
    *("github.com", "raw.githubusercontent.com", "gist.github.com", "gitlab.com", "huggingface.co", "github.io"),
    *("docs.google.com", "drive.google.com", "web.archive.org", "medium.com", "reddit.com", "www.reddit.com"),
)
PARAMETERS_TOLERANCE = 0.005  # files add a few buffers, or leave a rotary table in
NAMED = (0.6, 1.6)  # parameters against the size in the model's name, which is rounded and leaves experts' shares out
PLAUSIBLE = (0.3, 3.0)  # a price per GPU against the median of its GPU and purchase type
PLAUSIBLE_FROM = 5  # offers: fewer make no median worth the name
LARGE_CHANGE = 0.4  # a price that moves more than this needs a note


def relations(data: Data, today: datetime.date, broken: set[str], before: Data | None = None) -> Iterator[Problem]:
    """Everything that one file alone does not show; `before`, to tell a change's own rows from the others.

    What refers to a table in `broken` is left for later: a row that cannot be read is not a row that is missing.
    """
    known = {name: {row.values["id"] for row in getattr(data, name)} for name in ("gpus", "providers")}
    known = {name: ids for name, ids in known.items() if name not in broken}
    for table in schema.TABLES.values():
        rows = getattr(data, table.name)
        yield from unknown_references(table, rows, known)
        yield from future_dates(table, rows, today)
    yield from gpus(data.gpus)
    if not broken & {"providers", "sources"}:
        yield from price_files(data.prices, known["providers"])
        yield from price_sources(data)
        for row in data.providers:
            yield from provider_sources(row, today)
    yield from gpu_bandwidths(data.gpus)
    yield from shared_hosts(data)
    yield from measured_methods([*data.memory, *data.bounds, *data.throughput])
    if "prices" not in broken:
        yield from implausible_prices(data.prices, before.prices if before else None)
    yield from assumptions(data.assumptions)
    if "models" not in broken:
        yield from architectures(data)


def changes(before: Data, after: Data) -> Iterator[Problem]:
    """What a change of prices must say of itself."""
    old = {offer_key(row.values): row.values for row in before.prices}
    for row in after.prices:
        was, now = old.get(offer_key(row.values)), row.values
        if was is None:
            continue
        change = now["usd_per_hour"] / was["usd_per_hour"] - 1
        if change and earliest_day(now["checked"]) <= earliest_day(was["checked"]):
            yield row.wrong(
                f'checked "{now["checked"]}"',
                f"el precio cambió ({was['usd_per_hour']:g} → {now['usd_per_hour']:g}) y la fecha no → escribe el día "
                "en que lo viste",
                f"the price changed ({was['usd_per_hour']:g} → {now['usd_per_hour']:g}) and the date did not → type "
                "the day you saw it",
            )
        if abs(change) > LARGE_CHANGE and (not now["note"] or now["note"] == was["note"]):
            yield row.wrong(
                f"usd_per_hour {now['usd_per_hour']:g}",
                f"cambia {change:+.0%}, más de {LARGE_CHANGE:.0%} → di por qué en note",
                f"moves {change:+.0%}, more than {LARGE_CHANGE:.0%} → say why in note",
            )
        if _host(now["source_url"]) != _host(was["source_url"]) and (not now["note"] or now["note"] == was["note"]):
            yield row.wrong(
                f'source_url "{_host(now["source_url"])}"',
                f"antes se leía en {_host(was['source_url'])} → di en note qué fue de esa fuente",
                f"it was read at {_host(was['source_url'])} before → say in note what became of that source",
            )


def left_behind(before: Data, after: Data) -> Iterator[Problem]:
    """Prices computed from one that changed and still at its old value: said, not red."""
    old = {offer_key(row.values): row.values for row in before.prices}
    moved = {
        _family_key(row.values): (was["usd_per_hour"] / was["gpus"], row.values["usd_per_hour"] / row.values["gpus"])
        for row in after.prices
        if row.values["price_basis"] == "listed"
        and (was := old.get(offer_key(row.values)))
        and was["usd_per_hour"] != row.values["usd_per_hour"]
    }
    for row in after.prices:
        offer = row.values
        was_each, now_each = moved.get(_family_key(offer), (0.0, 0.0))
        stays = abs(offer["usd_per_hour"] / offer["gpus"] - was_each) < 1e-6
        if offer["price_basis"] == "scaled" and was_each and stays:
            right = f"{now_each * offer['gpus']:g}"
            yield row.wrong(
                f"usd_per_hour {offer['usd_per_hour']:g}",
                f"se calculó del precio que cambió → si sigue valiendo por GPU, {right}",
                f"was computed from the price that changed → if it still holds per GPU, {right}",
            )._replace(red=False)


def _family_key(offer: dict[str, Any]) -> tuple[Any, ...]:
    """Offers of one price per GPU in several sizes."""
    return tuple(offer[name] for name in ("provider", "gpu", "region", "purchase"))


def offer_key(offer: dict[str, Any]) -> tuple[Any, ...]:
    """What makes an offer the same offer, from one day to the next."""
    return (offer["provider"], *(offer[name] for name in schema.PRICES.key))


def unknown_references(table: schema.Table, rows: Iterable[Row], known: dict[str, set[str]]) -> Iterator[Problem]:
    """Ids that are not in the table they name."""
    columns = [column for column in table.columns if column.refers in known]
    for row in rows:
        for column in columns:
            value = row.values[column.name]
            if value is not None and value not in known[column.refers]:
                meant = id_meant(value, known[column.refers], column.refers)
                place = schema.TABLES[column.refers].path
                yield row.wrong(
                    f'{column.name} "{value}"',
                    f"no está en {place} → {f'¿{meant}?' if meant else 'añádela allí antes'}",
                    f"is not in {place} → {f'{meant}?' if meant else 'add it there first'}",
                )


def id_meant(text: str, known: set[str], table: str) -> str:
    """The id that was probably meant, or an empty text: a GPU by the name that sellers use, else by its letters."""
    named = gpus_named(text, sorted(known)) if table == "gpus" else ()
    return named[0] if len(named) == 1 else nearest(text.lower().replace(" ", "-"), sorted(known))


def future_dates(table: schema.Table, rows: Iterable[Row], today: datetime.date) -> Iterator[Problem]:
    """Days that have not come."""
    names = [column.name for column in table.columns if column.kind == "date"]
    for row in rows:
        for name in names:
            if _is_future(row.values[name], today):
                yield _future(row, f'{name} "{row.values[name]}"', today)


def gpus(rows: Iterable[Row]) -> Iterator[Problem]:
    """Ids that end with the memory; usable memory with its basis, and below what nvidia-smi shows."""
    for row in rows:
        gpu = row.values
        ending = f"-{gpu['memory_label_gb']}gb"
        if not gpu["id"].endswith(ending):
            right = gpu["id"].rsplit("-", 1)[0] + ending
            yield row.wrong(
                f'id "{gpu["id"]}"', f"termina en su memoria → escribe {right}", f"ends with its memory → type {right}"
            )
        if (gpu["usable_gib"] is None) != (gpu["usable_basis"] is None):
            yield row.wrong(
                "usable_basis",
                "usable_gib y usable_basis van juntas → escribe seen o estimated, o deja vacías las dos",
                "usable_gib and usable_basis go together → type seen or estimated, or leave both empty",
            )
        if gpu["usable_gib"] and gpu["nvidia_smi_mib"] and gpu["usable_gib"] * 1024 > gpu["nvidia_smi_mib"]:
            most = f"{gpu['nvidia_smi_mib'] / 1024:.2f}"
            yield row.wrong(
                f"usable_gib {gpu['usable_gib']:g}",
                f"CUDA no ofrece más de lo que muestra nvidia-smi → como mucho {most}",
                f"CUDA offers no more than nvidia-smi shows → {most} at most",
            )


def price_files(offers: Iterable[Row], providers: set[str]) -> Iterator[Problem]:
    """Files named after no provider."""
    first = {row.values["provider"]: row for row in reversed(list(offers))}
    for provider, row in first.items():
        if provider not in providers:
            meant = nearest(provider, providers)
            yield Problem(
                row.path,
                1,
                provider,
                "el archivo lleva el id de un proveedor de data/providers.toml → "
                + (f"¿{meant}.csv?" if meant else f"añade allí [{provider}]"),
                "the file is named after a provider of data/providers.toml → "
                + (f"{meant}.csv?" if meant else f"add [{provider}] there"),
            )


def price_sources(data: Data) -> Iterator[Problem]:
    """Prices read at neither the provider's own site nor a named third party's."""
    homes = {
        row.values["id"]: {_domain(row.values["url"] or ""), *(row.values["domains"] or [])} for row in data.providers
    }
    others = tuple(row.values["url"] for row in data.sources if row.values["url"])
    for row in [*data.prices, *data.past_prices]:
        url, provider = row.values["source_url"], row.values["provider"]
        if provider not in homes:
            continue
        own = any(_host(url) == home or _host(url).endswith(f".{home}") for home in homes[provider] if home)
        if not own and not any(_is_under(url, other) for other in others):
            yield row.wrong(
                f'source_url "{_host(url)}"',
                f"no es del proveedor ni un tercero de data/sources.toml → enlaza su página, o añade el dominio a "
                f"domains de [{provider}] en data/providers.toml",
                f"is neither the provider's nor a third party of data/sources.toml → link its page, or add the domain "
                f"to domains of [{provider}] in data/providers.toml",
            )


def _is_under(url: str, address: str) -> bool:
    """Whether an address is `address` or below it; `…/catalog-of-mine` is not below `…/catalog`."""
    below = url == address or url.startswith(f"{address.rstrip('/')}/")
    return below and ".." not in urlsplit(url).path.split("/")


def shared_hosts(data: Data) -> Iterator[Problem]:
    """Sources and domains so wide that anybody's page would count."""
    for row in data.sources:
        address = urlsplit(row.values["url"] or "")
        if address.hostname in SHARED_HOSTS and len([part for part in address.path.split("/") if part]) < 2:
            yield row.wrong(
                f'[{row.values["id"]}] url "{row.values["url"]}"',
                f"ahí publica cualquiera → https://{address.hostname}/<dueño>/<repositorio>",
                f"anybody publishes there → https://{address.hostname}/<owner>/<repository>",
            )
    for row in data.providers:
        for domain in {_host(row.values["url"] or ""), *(row.values["domains"] or [])} & set(SHARED_HOSTS):
            yield row.wrong(
                f'[{row.values["id"]}] "{domain}"',
                "ahí publica cualquiera → pon la página del proveedor, o la fuente en data/sources.toml",
                "anybody publishes there → put the provider's own page, or the source in data/sources.toml",
            )


def gpu_bandwidths(rows: list[Row]) -> Iterator[Problem]:
    """Memory bandwidths far from those of other cards with the same memory: a digit too many, or too few."""
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.values["memory_type"] and row.values["memory_bandwidth_gb_per_s"]:
            groups[row.values["memory_type"]].append(row.values["memory_bandwidth_gb_per_s"])
    for row in rows:
        bandwidth, kind = row.values["memory_bandwidth_gb_per_s"], row.values["memory_type"]
        if not bandwidth or len(groups[kind]) < PLAUSIBLE_FROM:
            continue
        median = statistics.median(groups[kind])
        if not PLAUSIBLE[0] <= bandwidth / median <= PLAUSIBLE[1]:
            ratio = f"{bandwidth / median:.2g}×"
            yield row.wrong(
                f"memory_bandwidth_gb_per_s {bandwidth:g}",
                f"es {ratio} la mediana de las que llevan {kind} ({median:g} GB/s) → revisa las cifras y memory_type",
                f"is {ratio} the median of those with {kind} ({median:g} GB/s) → check the digits and memory_type",
            )


def measured_methods(rows: Iterable[Row]) -> Iterator[Problem]:
    """Methods of measured runs that are none: the first word counts, what stands in brackets is a remark."""
    for row in rows:
        method = row.values["method"] or ""
        if not method:
            continue
        name = method.split(" ", 1)[0]
        if name not in runs.METHODS:
            meant = nearest(name, runs.METHODS) or " | ".join(METHODS)
            yield row.wrong(f'method "{method}"', f"no es un método → ¿{meant}?", f"is no method → {meant}?")


def implausible_prices(offers: list[Row], before: list[Row] | None = None) -> Iterator[Problem]:
    """Prices per GPU far from the median of their GPU and purchase type, unless a note settles them.

    Red where a change touched the row: it may have moved the median under anybody else's.
    """
    known = medians(offers)
    old = {_as_priced(row.values) for row in before or ()}
    for row in offers:
        median = known.get((row.values["gpu"], row.values["purchase"]))
        price = _per_gpu(row.values)
        if median and not row.values["note"] and not PLAUSIBLE[0] <= price / median <= PLAUSIBLE[1]:
            ratio = f"{price / median:.2g}×"
            touched = before is not None and _as_priced(row.values) not in old
            yield row.wrong(
                f"usd_per_hour {row.values['usd_per_hour']:g}",
                f"{price:.3g} USD por GPU es {ratio} la mediana ({median:.3g}) → revisa gpus y el precio de la oferta "
                "entera; si es así, dilo en note",
                f"{price:.3g} USD per GPU is {ratio} the median ({median:.3g}) → check gpus and the price of the whole "
                "offer; if it is right, say so in note",
            )._replace(red=touched)


def _as_priced(offer: dict[str, Any]) -> tuple[Any, ...]:
    """What an offer is and costs, without where and when it was seen."""
    return (*offer_key(offer), *(offer[name] for name in ("gpu", "gpus", "purchase", "usd_per_hour", "note")))


def medians(offers: Iterable[Row]) -> dict[tuple[str, str], float]:
    """Median price per GPU by GPU and purchase type, where there are enough offers to have one."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in offers:
        groups[row.values["gpu"], row.values["purchase"]].append(_per_gpu(row.values))
    return {key: statistics.median(prices) for key, prices in groups.items() if len(prices) >= PLAUSIBLE_FROM}


def provider_sources(row: Row, today: datetime.date) -> Iterator[Problem]:
    """Facts that no source of their provider names, and sources that name facts which are not there."""
    name, sources = row.values["id"], row.values.get("sources")
    if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
        yield row.wrong(
            f"[{name}] sources",
            f"falta la fuente → [[{name}.sources]] con url, checked y facts",
            f"no source → [[{name}.sources]] with url, checked and facts",
        )
        return
    supported: set[str] = set()
    for source in sources:
        table = f"{name}.sources"
        values, wrong = read_table(
            toml_columns.PROVIDER_SOURCE, row.path, table, source, {(table, ""): row.line}, nested=()
        )
        yield from wrong
        supported.update(values["facts"] or ())
        if _is_future(values["checked"], today):
            yield _future(row, f'[{name}] sources "{values["checked"]}"', today)
    stated = {column.name for column in toml_columns.PROVIDER_FACTS if row.values[column.name] is not None}
    for fact in sorted(stated - supported):
        yield row.wrong(
            f"[{name}] {fact}",
            f'ninguna fuente lo respalda → añade "{fact}" a facts de un [[{name}.sources]], o quita la clave',
            f'no source supports it → add "{fact}" to the facts of a [[{name}.sources]], or remove the key',
        )
    for fact in sorted(supported - stated):
        meant = nearest(fact, stated)
        yield row.wrong(
            f'[{name}] facts "{fact}"',
            f"una fuente lo nombra y no está → {f'¿{meant}?' if meant else 'escribe su valor o quítalo de facts'}",
            f"a source names it and it is not there → {f'{meant}?' if meant else 'type its value or drop it'}",
        )


def assumptions(rows: Iterable[Row]) -> Iterator[Problem]:
    """Constants whose ends are not in order, or that are named in one language only."""
    for row in rows:
        values, name = row.values, row.values["id"]
        bounds = [values[key] for key in ("low", "mid", "high")]
        if None not in bounds and bounds != sorted(bounds):
            shown = ", ".join(f"{bound:g}" for bound in bounds)
            yield row.wrong(
                f"[{name}]", f"low ≤ mid ≤ high no se cumple → {shown}", f"low ≤ mid ≤ high does not hold → {shown}"
            )
        label = values.get("label")
        if (
            not isinstance(label, dict)
            or set(label) != {"es", "en"}
            or not all(_is_text(text) for text in label.values())
        ):
            yield row.wrong(
                f"[{name}] label",
                'falta en algún idioma → label = { es = "…", en = "…" }',
                'is missing in a language → label = { es = "…", en = "…" }',
            )


def architectures(data: Data) -> Iterator[Problem]:
    """Rows of the index without their file, files without their row, files without what they are for."""
    index = {row.values["id"]: row for row in data.models}
    for model, row in index.items():
        if model not in data.configs:
            path = f"data/models/{model}.json"
            yield row.wrong(f'id "{model}"', f"falta su arquitectura → {path}", f"no architecture → {path}")
    for model, row in data.configs.items():
        if model not in index:
            yield row.wrong(
                model, "no está en data/models.csv → añade su fila", "is not in data/models.csv → add its row"
            )
        for column in schema.ARCHITECTURE:
            try:
                check_value(column, row.values.get(column.name))
            except CellError as error:
                yield row.wrong(column.name, *error.text)
        if not isinstance(row.values.get("config"), dict) or not row.values["config"]:
            yield row.wrong(
                "config",
                "falta el objeto config → las claves del config.json del modelo",
                "no config object → the keys of the model's config.json",
            )
        elif model in index:
            yield from _counted(row, index[model])


def _counted(config: Row, entry: Row) -> Iterator[Problem]:
    """An architecture that cannot be read, or that does not make the published number of parameters."""
    try:
        found = parameters(read_architecture(config.values["config"]))
    except RequestError as error:
        yield config.wrong("config", error.message["es"], error.message["en"])
        return
    named = size_in_name(entry.values["name"])
    published = entry.values["published_parameters"]
    if published and abs(found / published - 1) > PARAMETERS_TOLERANCE:
        yield entry.wrong(
            f"published_parameters {published}",
            f"de {config.path} salen {found} ({found / published:.3g}×) → revisa sus capas y tamaños, o escribe "
            f"{found} si es lo que dice la fuente",
            f"{config.path} makes {found} ({found / published:.3g}×) → check its layers and sizes, or type {found} if "
            "that is what the source says",
        )
    if not published and named and not NAMED[0] <= found / named <= NAMED[1]:
        yield entry.wrong(
            f'name "{entry.values["name"]}"',
            f"de {config.path} salen {found} parámetros ({found / named:.3g}× su nombre) → revisa sus capas y tamaños",
            f"{config.path} makes {found} parameters ({found / named:.3g}× its name) → check its layers and sizes",
        )


def size_in_name(name: str) -> float | None:
    """Parameters that a model's name tells, `8x7B` being 56 billion; None where it tells none."""
    found = re.search(r"(?<![\w.])(?:([0-9]+)x)?([0-9]+(?:\.[0-9]+)?) ?([BM])\b", name)
    return int(found[1] or 1) * float(found[2]) * {"B": 1e9, "M": 1e6}[found[3]] if found else None


def _is_future(date: str | None, today: datetime.date) -> bool:
    # Whoever edits east of us may already be in tomorrow.
    return date is not None and earliest_day(date) > today + datetime.timedelta(days=1)


def _future(row: Row, subject: str, today: datetime.date) -> Problem:
    return row.wrong(subject, f"es una fecha futura → como mucho {today}", f"is in the future → {today} at most")


def _per_gpu(offer: dict[str, Any]) -> float:
    return float(offer["usd_per_hour"] / offer["gpus"])


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _domain(url: str) -> str:
    return ".".join(_host(url).split(".")[-2:])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
