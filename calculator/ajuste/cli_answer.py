"""An answer on the screen: what it takes, how long, what it costs, on which cards; and which verdict ends it."""

from __future__ import annotations

from typing import Any

from .cli_input import short
from .cli_text import Screen

FITS, FAULT, BAD_REQUEST, TIGHT, DOES_NOT_FIT = 0, 1, 2, 3, 4
EXIT = {"fits": FITS, "tight": TIGHT, "no": DOES_NOT_FIT}
ORDER = ("fits", "tight", "no")


def cards_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The cards to show, the best first: verdict, then how many, then how large. The request's own GPU alone."""
    wanted = answer["plan"]["gpu"]
    cards = [row for row in answer["gpus"] if wanted in (None, row["id"])]
    return sorted(cards, key=lambda row: (ORDER.index(row["verdict"]), row["count"], row["usable_gib"] or 0))


def verdict_of(answer: dict[str, Any]) -> str:
    """The best verdict there is: of the request's own GPU, in any number, else of any."""
    found = {row["verdict"] for row in cards_of(answer)}
    if answer["plan"]["gpu"] is None:
        found |= {row["verdict"] for row in answer["offers"]}
    return next((verdict for verdict in ORDER if verdict in found), "no")


def _band(screen: Screen, band: dict[str, float]) -> dict[str, str]:
    return {side: screen.number(band[side]) for side in ("low", "mid", "high")}


def show_answer(answer: dict[str, Any], screen: Screen, verdict: str) -> None:
    """The verdict, memory term by term, time and bill."""
    plan, memory = answer["plan"], answer["memory"]
    model = answer["model"]["id"] or "config.json"
    title = f"{model} · {plan['method']} · {plan['framework']} · {plan['sequence_length']} tokens"
    best = cards_of(answer)[:1] if answer["plan"]["gpu"] else []
    where = f" ({best[0]['count']} × {best[0]['id']})" if best else ""
    screen.line(f"{screen.paint(title, 'bold')}   {screen.verdict(verdict)}{where}")
    screen.line()
    moment = screen.page(f"moment.{memory['peak_moment']}")
    screen.pair(screen.say("memory"), screen.say("required", moment=moment, **_band(screen, memory["required_gib"])))
    whole = memory["whole_run"]
    if whole["peak_moment"] != memory["peak_moment"]:
        moment = screen.page(f"moment.{whole['peak_moment']}")
        screen.pair(screen.say("run"), screen.say("whole-run", moment=moment, **_band(screen, whole["required_gib"])))
    time = answer["time"]
    if time:
        hours = screen.say("hours", count=time["count"], gpu=time["gpu"], **_band(screen, time["hours"]))
        screen.pair(screen.say("time"), hours)
    cheapest = answer["picks"].get("cheapest")
    if cheapest is None:
        screen.pair(screen.say("cost"), screen.say("no-offer"))
    else:
        offer = answer["offers"][cheapest]
        said = screen.say("usd", provider=offer["provider"], purchase=offer["purchase"], **_band(screen, offer["usd"]))
        screen.pair(screen.say("cost"), said)
    ram, disk = screen.number(memory["host_ram_gib"]["mid"]), screen.number(memory["disk_gb"]["mid"])
    screen.pair(screen.say("host"), screen.say("host-values", ram=ram, disk=disk))
    screen.line()
    terms = [(screen.page(f"term.{row['id']}"), screen.number(row["gib"])) for row in memory["terms"]]
    screen.table(("term", "gib"), terms, right=(1,))


def show_cards(answer: dict[str, Any], screen: Screen, limit: int) -> None:
    """What each card needs, the best first."""
    cards = cards_of(answer)
    if not cards:
        return
    screen.line()
    rows = [
        (
            f"{row['count']} × {row['id']}" if row["count"] > 1 else row["id"],
            screen.number(row["usable_gib"]),
            f"{screen.number(row['required_gib']['low'])}–{screen.number(row['required_gib']['high'])}",
            screen.verdict(row["verdict"]),
            screen.number(row["max_micro_batch"]),
            screen.number(row["max_sequence_length"], 6),
        )
        for row in cards[:limit]
    ]
    screen.table(("gpu", "usable", "need", "verdict", "batch", "tokens"), rows, right=(1, 2, 4, 5))


def show_reading(reading: dict[str, Any], screen: Screen) -> None:
    """What became of a file's lines."""
    screen.line()
    screen.line(screen.paint(screen.say("drives"), "bold"))
    rows = [(row["key"], short(row["value"]), ", ".join(row["fields"])) for row in reading["drivers"]]
    screen.table(("key", "value", "reason"), rows)
    if reading["ignored"]:
        screen.line()
        screen.line(screen.paint(screen.say("ignored"), "bold"))
        rows = [(row["key"], short(row["value"]), row["reason"][screen.language]) for row in reading["ignored"]]
        screen.table(("key", "value", "reason"), rows)


def show_foot(answer: dict[str, Any], screen: Screen) -> None:
    """What would take less, what was assumed, and of which day the data are."""
    if answer["levers"]:
        screen.line()
        screen.line(screen.paint(screen.say("levers"), "bold"))
        for row in answer["levers"][:4]:
            change = ", ".join(f"{name} = {short(value)}" for name, value in row["change"].items())
            saved = screen.say("saves", gib=screen.number(row["saves_gib"]), slowdown=screen.number(row["slowdown"]))
            screen.line(f"  {change}: {saved}")
    filled = {name: source for name, source in answer["plan"]["defaults"].items() if source in ("framework", "general")}
    if filled:
        screen.line()
        shown = [f"{name} = {short(_value(answer['plan'], name))}" for name in filled if name in NOTABLE]
        screen.line(f"{screen.paint(screen.say('defaults'), 'bold')}  {' · '.join(shown)}")
    versions = answer["versions"]
    screen.line(screen.paint(screen.say("catalog", data=versions["data"], version=versions["estimator"]), "dim"))


NOTABLE = (
    *("framework", "sequence_length", "optimizer", "gradient_checkpointing", "attention", "loss", "padding"),
    *("dataset.examples", "dataset.mean_tokens", "dataset.epochs", "lora.rank", "lora.targets", "lora.dtype"),
)


def _value(plan: dict[str, Any], dotted: str) -> Any:
    value: Any = plan
    for step in dotted.split("."):
        value = value[step]
    return value
