"""The tables of the site, in both languages, from the checked data. Written into build/includes, never committed."""

from __future__ import annotations

import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pipeline import schema
from pipeline.bundle import newest
from pipeline.cells import earliest_day
from pipeline.chart import Series, price_chart
from pipeline.markup import Cell, Head, Line, table
from pipeline.text import (
    LANGUAGES,
    age,
    anchor,
    days_between,
    duration,
    edit_link,
    issue_form,
    link,
    number,
    percent,
    short_number,
    unknown,
    usd,
    word,
)

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.history import History

OLD = 60  # days: an older price is greyed
STALE = 120  # days: an older price leads only when there is no other
SHOWN = 12  # offers per GPU before the fold


def tables(data: Data, as_of: datetime.date, past: History) -> dict[str, str]:
    """Every include by file name; `past` is what each offer cost before."""
    offers = frame(data, as_of)
    makers = {
        "prices-cheapest": lambda language: prices_cheapest(data, offers, language),
        "prices-by-provider": lambda language: prices_by_provider(data, offers, language),
        "prices-by-tier": lambda language: prices_by_tier(data, offers, language),
        "prices-spot": lambda language: prices_spot(data, offers, language),
        "prices-all": lambda language: prices_all(data, offers, past, language),
        "gpus": lambda language: gpus(data, language),
        "models": lambda language: models(data, language),
        "providers": lambda language: providers(data, offers, language),
        "data-freshness": lambda language: freshness(data, offers, as_of, language),
        "assumptions": lambda language: assumptions(data, language),
        "data-columns": columns,
    }
    return {f"{name}.{language}.md": make(language) for name, make in makers.items() for language in LANGUAGES}


def frame(data: Data, as_of: datetime.date) -> pd.DataFrame:
    """The offers with what the tables derive: price per GPU, age in days, rank of trust."""
    offers = pd.DataFrame([row.values | {"path": row.path} for row in data.prices])
    if offers.empty:
        return offers
    offers["per_gpu"] = offers["usd_per_hour"] / offers["gpus"]
    offers["age"] = [days_between(earliest_day(date), as_of) for date in offers["checked"]]
    # Which price leads: published and fresh, then published within four months, then published, then the rest.
    listed = (offers["price_basis"] == "listed") & (offers["confidence"] != "C")
    offers["rank"] = 3
    offers.loc[listed, "rank"] = 2
    offers.loc[listed & (offers["age"] <= STALE), "rank"] = 1
    offers.loc[listed & (offers["age"] <= OLD), "rank"] = 0
    order = ["gpu", "rank", "purchase", "per_gpu", "gpus", "provider", "offer"]
    return offers.sort_values(order, kind="stable", ignore_index=True)


def _heads(language: str, names: str) -> list[Head]:
    """Columns' headings by their words; `#` before one: numbers are below."""
    return [Head(word(name.removeprefix("#"), language), number=name.startswith("#")) for name in names.split()]


# --- prices ---


def prices_cheapest(data: Data, offers: pd.DataFrame, language: str) -> str:
    """The cheapest offer of each GPU, on demand and on spot, and an older one that may be cheaper."""
    if offers.empty:
        return word("no_data", language) + "\n"
    best = leaders(offers)
    on_demand, spot = _by_gpu(best["on-demand"]), _by_gpu(best["spot"])
    maybe = _by_gpu(cheaper_but_older(offers, best["on-demand"]))
    names, sellers = _names(data), _provider_names(data)
    heads = _heads(language, "gpu #on_demand_price seen #spot_price #maybe_cheaper")
    order = sorted({*on_demand, *spot}, key=lambda gpu: ((on_demand.get(gpu) or spot[gpu])["per_gpu"], gpu))
    lines = []
    for gpu in order:
        first, second, third = on_demand.get(gpu), spot.get(gpu), maybe.get(gpu)
        dated = first or second
        lines.append(
            Line(
                anchor("cheapest", gpu),
                [
                    Cell(escape(names[gpu])),
                    _priced(first, sellers, language),
                    _seen(dated, language),
                    _priced(second, sellers, language),
                    _priced(third, sellers, language, with_age=True),
                ],
                _style(dated),
            )
        )
    return table(word("price_per_gpu", language), heads, lines)


def leaders(offers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By purchase type, the offer that leads each GPU: best rank of trust, then lowest price per GPU."""
    ranked = offers.sort_values(["rank", "per_gpu"], kind="stable")
    return {
        purchase: ranked[ranked["purchase"] == purchase].groupby("gpu").head(1).set_index("gpu", drop=False)
        for purchase in ("on-demand", "spot")
    }


def cheaper_but_older(offers: pd.DataFrame, leading: pd.DataFrame) -> pd.DataFrame:
    """Offers at least 20 % below the leader, of a lower rank of trust: worth a look, not a promise."""
    others = offers[offers["purchase"] == "on-demand"]
    lower = others["rank"] > others["gpu"].map(leading["rank"])
    cheaper = others["per_gpu"] <= 0.8 * others["gpu"].map(leading["per_gpu"])
    others = others[lower & cheaper].sort_values("per_gpu", kind="stable")
    return others.groupby("gpu").head(1).set_index("gpu", drop=False)


def prices_by_provider(data: Data, offers: pd.DataFrame, language: str) -> str:
    """What each provider sells: how much, from which price, and how fresh that is."""
    if offers.empty:
        return word("no_data", language) + "\n"
    names, sellers = _names(data), _provider_names(data)
    heads = _heads(language, "provider #offers #gpus_sold #cheapest #spot_offers seen")
    lines = []
    for provider, group in offers.groupby("provider", sort=False):
        on_demand = group[group["purchase"] == "on-demand"]
        best = _records((on_demand if len(on_demand) else group).sort_values(["rank", "per_gpu"], kind="stable"))[0]
        freshest = _records(group.nsmallest(1, "age"))[0]
        spot = int((group["purchase"] == "spot").sum())
        lines.append(
            Line(
                anchor("provider", provider),
                [
                    Cell(escape(sellers[provider])),
                    Cell(str(len(group)), len(group)),
                    Cell(str(group["gpu"].nunique()), group["gpu"].nunique()),
                    Cell(
                        f"{usd(best['per_gpu'], language)} <small>{escape(names[best['gpu']])}</small>",
                        round(best["per_gpu"], 6),
                    ),
                    Cell(str(spot), spot),
                    _seen(freshest, language),
                ],
                _style(freshest),
            )
        )
    return table(word("provider", language), heads, sorted(lines, key=lambda line: line.cells[0].html.casefold()))


def prices_by_tier(data: Data, offers: pd.DataFrame, language: str) -> str:
    """Consumer, workstation and data-centre cards: what they cost and what they have, GPU by GPU as the data says."""
    if offers.empty:
        return word("no_data", language) + "\n"
    cards = pd.DataFrame([row.values for row in data.gpus]).set_index("id")
    on_demand = offers[offers["purchase"] == "on-demand"].join(cards[["class", "usable_gib", "ecc"]], on="gpu")
    leading = leaders(offers)["on-demand"]
    heads = _heads(language, "tier #gpu #offers #cheapest #median_price #per_gib #ecc #sellers")
    lines = []
    for tier, group in on_demand.groupby("class", sort=False):
        per_gib = (group["per_gpu"] / group["usable_gib"]).median()
        kinds = group.drop_duplicates("gpu")
        with_ecc = int(kinds["ecc"].eq(True).sum())
        best = float(leading[leading["gpu"].isin(kinds["gpu"])]["per_gpu"].min())
        lines.append(
            Line(
                anchor("tier", tier),
                [
                    Cell(word(str(tier), language)),
                    Cell(str(len(kinds)), len(kinds)),
                    Cell(str(len(group)), len(group)),
                    Cell(usd(best, language), round(best, 6)),
                    Cell(usd(group["per_gpu"].median(), language), round(group["per_gpu"].median(), 6)),
                    Cell(usd(per_gib, language), round(per_gib, 6)),
                    Cell(word("of", language, n=with_ecc, total=len(kinds)), with_ecc),
                    Cell(str(group["provider"].nunique()), group["provider"].nunique()),
                ],
            )
        )
    return table(word("tier", language), heads, sorted(lines, key=lambda line: float(line.cells[4].sort or 0)))


def prices_spot(data: Data, offers: pd.DataFrame, language: str) -> str:
    """The same offer on demand and on spot: what interruptions save."""
    names, sellers = _names(data), _provider_names(data)
    notices = {row.values["id"]: row.values["spot_notice_seconds"] for row in data.providers}
    pairs = _spot_pairs(offers)
    heads = _heads(language, "gpu provider offer #on_demand_price #spot_price #saving #notice_given seen")
    lines = []
    for pair in _records(pairs):
        notice = notices[pair["provider"]]
        lines.append(
            Line(
                anchor("spot", pair["provider"], pair["offer"], pair["region"], pair["gpu"], pair["gpus"]),
                [
                    Cell(escape(names[pair["gpu"]])),
                    Cell(escape(sellers[pair["provider"]])),
                    Cell(escape(pair["offer"]) + _region(pair["region"], language)),
                    Cell(usd(pair["per_gpu_on_demand"], language), round(pair["per_gpu_on_demand"], 6)),
                    Cell(usd(pair["per_gpu"], language) + _marks(pair, language), round(pair["per_gpu"], 6)),
                    Cell(percent(pair["saving"], language), round(pair["saving"], 4)),
                    Cell(duration(notice, language), notice) if notice else Cell(unknown(language), ""),
                    _seen(pair, language),
                ],
                _style(pair),
            )
        )
    return table(word("spot", language), heads, lines) if lines else word("no_data", language) + "\n"


def _spot_pairs(offers: pd.DataFrame) -> pd.DataFrame:
    """Spot offers with the on-demand price of the very same offer, largest saving first."""
    if offers.empty:
        return offers
    same = ["provider", "offer", "region", "gpu", "gpus"]
    keyed = offers.assign(region=offers["region"].fillna(""))
    on_demand = keyed[keyed["purchase"] == "on-demand"]
    spot = keyed[keyed["purchase"] == "spot"]
    pairs = spot.merge(on_demand[[*same, "per_gpu"]], on=same, suffixes=("", "_on_demand"))
    pairs["saving"] = 1 - pairs["per_gpu"] / pairs["per_gpu_on_demand"]
    return pairs.sort_values(["saving", "provider", "offer"], ascending=[False, True, True], kind="stable")


def prices_all(data: Data, offers: pd.DataFrame, past: History, language: str) -> str:
    """Every offer, folded by GPU: the best supported before the fold, by price; the summary has the one that leads."""
    if offers.empty:
        return word("no_data", language) + "\n"
    names, sellers = _names(data), _provider_names(data)
    parts, leading = [], leaders(offers)
    first = {gpu: best["per_gpu"] for best in (leading["spot"], leading["on-demand"]) for gpu, best in best.iterrows()}
    for gpu, group in offers.groupby("gpu", sort=False):
        shown, folded = (part.sort_values("per_gpu", kind="stable") for part in (group[:SHOWN], group[SHOWN:]))
        lines = [[_offer_line(offer, sellers, language) for offer in _records(part)] for part in (shown, folded)]
        price = usd(first[gpu], language)
        count = word(
            "offers_from" if len(group) > 1 else "offer_from", language, n=number(len(group), language), price=price
        )
        parts.append(
            f'<details class="offers" id="{anchor("gpu", gpu)}" data-search-exclude>'
            f"<summary><strong>{escape(names[gpu])}</strong> · {count}</summary>\n"
        )
        parts.append(price_chart(_series(gpu, past, sellers), language))
        parts.append(table(names[gpu], _offer_heads(language), lines[0]))
        if lines[1]:
            more = word("more_offers", language, n=len(lines[1]))
            parts.append(f"<details><summary>{more}</summary>\n")
            parts.append(table(f"{names[gpu]}, {more}", _offer_heads(language), lines[1]))
            parts.append("</details>\n")
        parts.append("</details>\n")
    return "".join(parts)


def _series(gpu: str, past: History, sellers: dict[str, str]) -> list[Series]:
    """The on-demand offers of a GPU through time, per GPU."""
    return [
        Series(sellers[key[0]], [reading._replace(usd_per_hour=reading.usd_per_hour / key[4]) for reading in readings])
        for key, readings in past.items()
        if key[3] == gpu and key[5] == "on-demand"
    ]


def _offer_heads(language: str) -> list[Head]:
    # What corrects a price is beside it: on a phone the columns after it are off the screen.
    return _heads(language, "provider #price_per_gpu correct offer #price purchase seen")


def _offer_line(offer: dict[str, Any], sellers: dict[str, str], language: str) -> Line:
    correct = [
        link(issue_form(offer), word("still_right", language)),
        link(edit_link(offer["path"]), word("edit", language)),
    ]
    return Line(
        anchor(*(offer[name] for name in ("provider", "offer", "region", "gpu", "gpus", "purchase"))),
        [
            Cell(escape(sellers[offer["provider"]])),
            Cell(usd(offer["per_gpu"], language), round(offer["per_gpu"], 6)),
            Cell(" ".join(correct), ""),
            Cell(escape(offer["offer"]) + _region(offer["region"], language) + _marks(offer, language)),
            Cell(f"{usd(offer['usd_per_hour'], language)} <small>{offer['gpus']} GPU</small>", offer["usd_per_hour"]),
            Cell(word(offer["purchase"], language)),
            _seen(offer, language),
        ],
        _style(offer),
    )


def _region(name: str | None, language: str) -> str:
    """Where an offer is, small, behind its name; two of the names are ours."""
    ours = {"all": "all_regions", "global": "any_region"}
    shown = word(ours[name], language) if name in ours else escape(name or "")
    return f" <small>{shown}</small>" if shown else ""


def _marks(offer: dict[str, Any], language: str) -> str:
    """What is not plain about an offer: computed, assumed, of an estimated date."""
    marks = [word("scaled", language)] if offer["price_basis"] == "scaled" and "average" not in offer["assumed"] else []
    marks += [word(mark, language) for mark in offer["assumed"]]
    marks += [word("doubtful", language)] if offer["confidence"] == "C" else []
    return "".join(f" <small>{escape(mark)}</small>" for mark in marks)


def _priced(offer: dict[str, Any] | None, sellers: dict[str, str], language: str, with_age: bool = False) -> Cell:
    if offer is None:
        return Cell(unknown(language), "")
    dated = f" · {age(offer['age'], language)}" if with_age else ""
    where = escape(sellers[offer["provider"]]) + dated
    return Cell(f"{usd(offer['per_gpu'], language)} <small>{where}</small>", round(offer["per_gpu"], 6))


def _seen(offer: dict[str, Any] | None, language: str) -> Cell:
    """The day someone looked, as the link to where they looked, and how long ago that is."""
    if offer is None:
        return Cell(unknown(language), "")
    when = f'<time datetime="{offer["checked"]}">{offer["checked"]}</time>'
    source = f'<a href="{escape(offer["source_url"])}" title="{word("source", language)}">{when}</a>'
    return Cell(f"{source} <small>{age(offer['age'], language)}</small>", offer["age"])


def _style(offer: dict[str, Any] | None) -> str:
    return "old" if offer is not None and offer["age"] > OLD else ""


def _by_gpu(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {offer["gpu"]: offer for offer in _records(rows)}


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries, unknown as None again: pandas makes it NaN."""
    return list(rows.astype(object).where(rows.notna(), None).to_dict("records"))


def _names(data: Data) -> dict[str, str]:
    return {row.values["id"]: row.values["name"] for row in data.gpus}


def _provider_names(data: Data) -> dict[str, str]:
    return {row.values["id"]: row.values["name"] for row in data.providers}


def freshness(data: Data, offers: pd.DataFrame, as_of: datetime.date, language: str) -> str:
    """One sentence: how many prices there are and how many of them are fresh."""
    if offers.empty:
        return word("no_data", language) + "\n"
    return (
        word(
            "freshness",
            language,
            offers=number(len(offers), language),
            providers=offers["provider"].nunique(),
            gpus=offers["gpu"].nunique(),
            fresh=round(100 * (offers["age"] <= OLD).mean()),
            limit=OLD,
            newest=newest(data).isoformat(),
            as_of=as_of.isoformat(),
        )
        + "\n"
    )


# --- what things are ---


def gpus(data: Data, language: str) -> str:
    """The GPUs: NVIDIA's, AMD's, the others'; the newest first."""
    heads = _heads(
        language, "gpu #usable #bandwidth #bf16_peak #measured_peak precisions flash link ecc tier #year source"
    )
    lines = []
    makers = {"nvidia": 0, "amd": 1}
    by_maker = sorted(
        (row.values for row in data.gpus),
        key=lambda gpu: (
            makers.get(str(gpu["vendor"]).lower(), 2),
            gpu["vendor"],
            -(gpu["release_year"] or 0),
            gpu["name"],
        ),
    )
    for gpu in by_maker:
        basis = {"seen": "seen_basis", "estimated": "estimated"}.get(gpu["usable_basis"] or "")
        usable = _quantity(gpu["usable_gib"], "GiB", language, 1, word(basis, language) if basis else "")
        lines.append(
            Line(
                anchor(gpu["id"]),
                [
                    Cell(escape(gpu["name"])),
                    usable,
                    _quantity(gpu["memory_bandwidth_gb_per_s"], "GB/s", language),
                    _quantity(gpu["bf16_dense_tflops"], "TFLOPS", language),
                    _quantity(gpu["gemm_measured_tflops"], "TFLOPS", language),
                    Cell(" · ".join(_precisions(gpu))),
                    _yes_no(gpu["supports_flash_attention_2"], language),
                    Cell(_gpu_link(gpu, language)),
                    _yes_no(gpu["ecc"], language),
                    Cell(word(gpu["class"], language)),
                    Cell(str(gpu["release_year"] or ""), gpu["release_year"]),
                    Cell(link(gpu["source_url"], word("source", language)) if gpu["source_url"] else unknown(language)),
                ],
            )
        )
    return table(word("gpu", language), heads, lines)


def _precisions(gpu: dict[str, Any]) -> list[str]:
    names = [
        ("FP4", "fp4_dense_tflops"),
        ("FP8", "fp8_dense_tflops"),
        ("INT8", "int8_dense_tops"),
        ("BF16", "bf16_dense_tflops"),
        ("FP16", "fp16_dense_tflops"),
    ]
    return [name for name, column in names if gpu[column]]


def _gpu_link(gpu: dict[str, Any], language: str) -> str:
    if not gpu["interconnect"]:
        return unknown(language)
    speed = gpu["interconnect_gb_per_s"]
    return escape(gpu["interconnect"]) + (f" <small>{short_number(speed, language)} GB/s</small>" if speed else "")


def models(data: Data, language: str) -> str:
    """The models, as the index lists them."""
    heads = _heads(language, "model family #parameters #layers #width #vocabulary licence access source")
    lines = []
    for row in data.models:
        model = row.values
        config = data.configs[model["id"]].values["config"]
        config = {**config, **(config.get("text_config") or {})}
        hub = f"https://huggingface.co/{model['hf_id']}" if model["hf_id"] else ""
        access = {True: word("gated", language), False: word("open", language)}.get(model["gated"], unknown(language))
        lines.append(
            Line(
                anchor(model["id"]),
                [
                    Cell(escape(model["name"])),
                    Cell(escape(model["family"])),
                    _billions(model["published_parameters"], language),
                    _quantity(config.get("num_hidden_layers", config.get("n_layer")), "", language),
                    _quantity(config.get("hidden_size", config.get("n_embd")), "", language),
                    _quantity(config.get("vocab_size"), "", language),
                    Cell(escape(model["license"]) if model["license"] else unknown(language)),
                    Cell(access),
                    Cell(link(hub, "Hugging Face") if hub else unknown(language)),
                ],
            )
        )
    return table(word("model", language), heads, lines) if lines else word("no_data", language) + "\n"


def _billions(count: int | None, language: str) -> Cell:
    """8 030 261 248 as «8 030 M» or “8.03 B”: a billion is a million millions in Spanish."""
    if count is None:
        return Cell(unknown(language), "")
    if language == "es":
        return Cell(f"{number(count / 1e6, language)}\u00a0M", count)
    return Cell(f"{number(count / 1e9, language, 2)}\u00a0B", count)


def providers(data: Data, offers: pd.DataFrame, language: str) -> str:
    """What each provider offers; a dash is something nobody has read."""
    heads = _heads(
        language,
        "provider kind #offers billing spot_feature stop #storage #egress entry brakes multi_node eu latam source",
    )
    counts = offers["provider"].value_counts() if not offers.empty else {}
    lines = []
    for row in sorted(data.providers, key=lambda row: row.values["name"].lower()):
        provider = row.values
        count = int(counts.get(provider["id"], 0))
        lines.append(
            Line(
                anchor(provider["id"]),
                [
                    Cell(link(provider["url"], escape(provider["name"]))),
                    Cell(word(provider["kind"], language)),
                    Cell(str(count), count),
                    Cell(_billing(provider, language)),
                    Cell(_spot(provider, language)),
                    _yes_no(provider["stop"], language),
                    _money(
                        _first(provider, "network_storage_usd_per_gb_month", "block_storage_usd_per_gb_month"), language
                    ),
                    _money(provider["egress_usd_per_gb"], language),
                    Cell(_entry(provider) or unknown(language)),
                    Cell(_brakes(provider, language) or unknown(language)),
                    Cell(escape(provider["multi_node_link"]) if provider["multi_node_link"] else unknown(language)),
                    Cell(escape(", ".join(provider["regions_eu"])) if provider["regions_eu"] else unknown(language)),
                    Cell(
                        escape(", ".join(provider["regions_latam"])) if provider["regions_latam"] else unknown(language)
                    ),
                    Cell(_source_links(provider)),
                ],
            )
        )
    return table(word("features", language), heads, lines)


def _source_links(provider: dict[str, Any]) -> str:
    links = (link(source["url"], str(place)) for place, source in enumerate(provider["sources"], 1))
    return f'<span class="sources">{" ".join(links)}</span>'


def _first(values: dict[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if values[name] is not None), None)


def _billing(provider: dict[str, Any], language: str) -> str:
    step, least = provider["billing_granularity_seconds"], provider["minimum_charge_seconds"]
    if step is None:
        return unknown(language)
    minimum = f" <small>{word('minimum', language, time=duration(least, language))}</small>" if least else ""
    return duration(step, language) + minimum


def _spot(provider: dict[str, Any], language: str) -> str:
    if provider["spot"] is None:
        return unknown(language)
    notice = provider["spot_notice_seconds"]
    return word("yes" if provider["spot"] else "no", language) + (
        f" <small>{word('notice', language, time=duration(notice, language))}</small>" if notice else ""
    )


def _entry(provider: dict[str, Any]) -> str:
    names = {"ssh": "SSH", "docker": "Docker", "jupyter": "Jupyter", "api": "API"}
    return " · ".join(name for key, name in names.items() if provider[key])


def _brakes(provider: dict[str, Any], language: str) -> str:
    """What keeps a forgotten machine from billing on."""
    return " · ".join(word(key, language) for key in ("autostop", "budget_alerts") if provider[key])


def _money(value: float | None, language: str) -> Cell:
    if value is None:
        return Cell(unknown(language), "")
    return Cell(word("free", language) if value == 0 else usd(value, language), value)


def _quantity(value: float | None, unit: str, language: str, decimals: int | None = None, small: str = "") -> Cell:
    if value is None:
        return Cell(unknown(language), "")
    shown = short_number(value, language) if decimals is None else number(value, language, decimals)
    return Cell(f"{shown}\u00a0{unit}".rstrip("\u00a0") + (f" <small>{small}</small>" if small else ""), value)


def _yes_no(value: bool | None, language: str) -> Cell:
    return Cell(unknown(language) if value is None else word("yes" if value else "no", language))


# --- constants and columns ---


@cache
def _sources() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "sources.toml").read_text(encoding="utf-8"))


def in_spanish(kind: str, text: str) -> str:
    """A constant's unit or source in Spanish, the English where none is written yet: a test then says which."""
    known = _sources()[kind]
    said, prior, reason = text.partition("; prior: ")
    return known.get(said, said) + (f"; de partida: {known.get(reason, reason)}" if prior else "")


def assumptions(data: Data, language: str) -> str:
    """The constants of the formulas."""
    heads = _heads(language, "constant #low #mid #high unit source")
    lines = []
    for row in data.assumptions:
        values = row.values
        source = escape(in_spanish("sources", values["source"]) if language == "es" else values["source"])
        unit = in_spanish("units", values["unit"]) if language == "es" else values["unit"]
        lines.append(
            Line(
                anchor(values["id"]),
                [
                    Cell(escape(values["label"][language])),
                    *(Cell(short_number(values[bound], language), values[bound]) for bound in ("low", "mid", "high")),
                    Cell("" if unit == "1" else escape(unit)),
                    Cell(
                        (link(values["url"], source) if values["url"] else source)
                        + f" <small>{values['checked']}</small>"
                    ),
                ],
            )
        )
    return table(word("constant", language), heads, lines) if lines else word("no_data", language) + "\n"


def columns(language: str) -> str:
    """The columns of every data file, as Markdown: the one documentation of them."""
    parts = []
    for entry in schema.TABLES.values():
        doc = entry.doc.es if language == "es" else entry.doc.en
        parts.append(f"### `{entry.path}` {{#columns-{entry.name.replace('_', '-')}}}\n\n{doc}\n")
        heads = (word("column", language), word("meaning", language), word("unit", language), word("example", language))
        parts.append(f"| {' | '.join(heads)} |\n| --- | --- | --- | --- |")
        parts.append("\n".join(_column(column, language) for column in entry.columns) + "\n")
    return "\n".join(parts)


def _column(column: schema.Column, language: str) -> str:
    doc = column.doc.es if language == "es" else column.doc.en
    needed = f" *({word('required', language)})*" if column.required else ""
    example = f"`{column.example}`" if column.example else ""
    return f"| `{column.name}` | {doc}{needed} | {column.unit} | {example} |"
