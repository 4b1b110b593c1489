"""What a change of data/ does, in both languages: each price before → after, who is cheapest, typical bills."""

from __future__ import annotations

import re
import tomllib
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.rules import offer_key
from pipeline.tables import frame, leaders
from pipeline.text import LANGUAGES, percent, usd, word

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.files import Data, Problem, Row

Offer = dict[str, Any]
LISTED = 60  # lines of each kind in a report; a comment on a pull request has a limit


class Preset(NamedTuple):
    """A question whose bill shows what a price change means."""

    es: str
    en: str
    request: dict[str, Any]


class Changes(NamedTuple):
    """The offers that differ."""

    changed: list[tuple[Offer, Offer]]
    renewed: list[Offer]  # only the date, or what does not cost
    added: list[Offer]
    gone: list[Offer]

    @property
    def total(self) -> int:
        """How many offers differ."""
        return len(self.changed) + len(self.renewed) + len(self.added) + len(self.gone)


def changes(before: Data, after: Data) -> Changes:
    """The offers that differ between two states of the data, matched by what makes an offer the same offer."""
    old = {offer_key(row.values): row.values for row in before.prices}
    new = {offer_key(row.values): row.values for row in after.prices}
    both = [(old[key], offer) for key, offer in new.items() if key in old and offer != old[key]]
    return Changes(
        changed=[(was, now) for was, now in both if was["usd_per_hour"] != now["usd_per_hour"]],
        renewed=[now for was, now in both if was["usd_per_hour"] == now["usd_per_hour"]],
        added=[offer for key, offer in new.items() if key not in old],
        gone=[offer for key, offer in old.items() if key not in new],
    )


def report(
    before: Data,
    after: Data,
    problems: list[Problem],
    as_of: datetime.date,
    presets: list[Preset],
    bill: Callable[[dict[str, Any], Data], float | None],
) -> str:
    """The report as Markdown, Spanish first. Text from the data is escaped: it may come from a stranger.

    `bill` is what the cheapest pick for a request costs with some data, USD.
    """
    if any(problem.red for problem in problems):
        return "\n".join(
            line for language in LANGUAGES for line in [*heading(language), *problem_lines(problems, language)]
        )
    found = changes(before, after)
    ranks = _ranks(before, after, as_of)
    bills = [(preset, bill(preset.request, before), bill(preset.request, after)) for preset in presets if found.total]
    parts = []
    for language in LANGUAGES:
        parts += [*heading(language), f"✅ {word('diff_valid', language)}", "", *_change_lines(found, language)]
        parts += _rank_lines(ranks, _names(after.gpus), _names(after.providers), language)
        parts += _bill_lines(bills, language)
        parts += ["", word("diff_next", language), ""]
    return "\n".join(parts)


def presets(root: Path) -> list[Preset]:
    """The guide's own questions: its figures of methods and of model sizes."""
    document = tomllib.loads((root / "docs/presets.toml").read_text(encoding="utf-8"))
    sizes, methods = document["qlora-tiers"], document["methods"]
    model = methods["base"]["model"]
    return [
        *(
            Preset(f"{row['es']}, QLoRA", f"{row['en']}, QLoRA", {**sizes["base"], **row["change"]})
            for row in sizes["rows"]
        ),
        *(
            Preset(f"{model}, {row['es']}", f"{model}, {row['en']}", {**methods["base"], **row["change"]})
            for row in methods["rows"]
            if row["change"]["method"] != "qlora"  # asked already
        ),
    ]


def heading(language: str) -> list[str]:
    """The first lines of what a robot says."""
    return [f"### {word('diff_title', language)}", ""]


def problem_lines(problems: list[Problem], language: str) -> list[str]:
    """What the check refuses, line by line, as text that does nothing else."""
    red = [problem for problem in problems if problem.red][:LISTED]
    places = [_code(f"{problem.path}:{problem.line} {problem.subject}") for problem in red]
    says = [plain(problem.es if language == "es" else problem.en) for problem in red]
    return [*(f"- ❌ {place} {text}" for place, text in zip(places, says, strict=True)), ""]


def _change_lines(found: Changes, language: str) -> list[str]:
    if not found.total:
        return [word("diff_nothing", language), ""]
    lines = [
        word(
            "diff_changed",
            language,
            offer=_offer(now),
            before=usd(was["usd_per_hour"], language),
            after=usd(now["usd_per_hour"], language),
            change=_percent(was, now, language),
            date=now["checked"],
        )
        for was, now in found.changed
    ]
    lines += [
        word(
            "diff_added",
            language,
            offer=_offer(offer),
            price=usd(offer["usd_per_hour"], language),
            date=offer["checked"],
        )
        for offer in found.added
    ]
    lines += [word("diff_gone", language, offer=_offer(offer)) for offer in found.gone]
    shown = [f"- {line}" for line in lines[:LISTED]]
    if len(lines) > LISTED:
        shown.append(f"- {word('diff_more', language, n=len(lines) - LISTED)}")
    if found.renewed:
        shown.append(f"- {word('diff_renewed', language, n=len(found.renewed))}")
    return [*shown, ""]


def _ranks(before: Data, after: Data, as_of: datetime.date) -> list[tuple[str, Offer | None, Offer | None]]:
    """GPUs whose leading on-demand offer is another one, or costs something else."""
    old, new = _leading(before, as_of), _leading(after, as_of)
    return [
        (gpu, old.get(gpu), new.get(gpu)) for gpu in sorted({*old, *new}) if _lead(old.get(gpu)) != _lead(new.get(gpu))
    ]


def _leading(data: Data, as_of: datetime.date) -> dict[str, Offer]:
    offers = frame(data, as_of)
    return {} if offers.empty else leaders(offers)["on-demand"].to_dict("index")


def _lead(offer: Offer | None) -> tuple[Any, ...] | None:
    return (offer["provider"], offer["offer"], offer["per_gpu"]) if offer else None


def _rank_lines(
    ranks: list[tuple[str, Offer | None, Offer | None]], gpus: dict[str, str], sellers: dict[str, str], language: str
) -> list[str]:
    if not ranks:
        return [f"- {word('diff_same_leaders', language)}"]
    return [
        "- "
        + word(
            "diff_leader",
            language,
            gpu=_code(gpus.get(gpu, gpu)),
            before=_led(was, sellers, language),
            after=_led(now, sellers, language),
        )
        for gpu, was, now in ranks
    ]


def _led(offer: Offer | None, sellers: dict[str, str], language: str) -> str:
    if offer is None:
        return "–"
    # With its day: a young price leads an older and cheaper one.
    price = f"{usd(offer['per_gpu'], language)} ({offer['checked']})"
    return f"{_code(sellers.get(offer['provider'], offer['provider']))} {price}"


def _bill_lines(bills: list[tuple[Preset, float | None, float | None]], language: str) -> list[str]:
    moved = [(preset, was, now) for preset, was, now in bills if was != now]
    if not bills:
        return []
    if not moved:
        return [f"- {word('diff_same_bills', language)}"]
    return [
        "- "
        + word(
            "diff_bill",
            language,
            preset=preset.es if language == "es" else preset.en,
            before="–" if was is None else usd(was, language),
            after="–" if now is None else usd(now, language),
        )
        for preset, was, now in moved
    ]


def _percent(was: Offer, now: Offer, language: str) -> str:
    change = now["usd_per_hour"] / was["usd_per_hour"] - 1
    return ("+" if change > 0 else "\u2212") + percent(abs(change), language)


def _offer(offer: Offer) -> str:
    spot = " spot" if offer["purchase"] == "spot" else ""
    return _code(" ".join(part for part in (offer["provider"], offer["offer"], offer["region"]) if part)) + spot


def _code(text: object) -> str:
    """Text of the data as a code span: a stranger may have written it, and there it is only text."""
    return f"`{str(text).replace('`', chr(39))}`"


def plain(text: str) -> str:
    """Text that may quote a stranger, outside a code span: no HTML, no link, no mention."""
    return re.sub(r"([\[\]*_~|\\])", r"\\\1", escape(text, quote=False)).replace("@", "@\u2060")


def _names(rows: list[Row]) -> dict[str, str]:
    return {row.values["id"]: row.values["name"] for row in rows}
