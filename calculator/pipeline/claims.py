"""What other guides say, against what we compute and what was measured: docs/claims.toml → figure-claims."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.accuracy import rows
from pipeline.text import number, word

if TYPE_CHECKING:
    from pipeline.figures import Figure
    from pipeline.measurements import Row

Json = dict[str, Any]
CLAIMS = Path("docs/claims.toml")
PACES = Path("data/measurements/throughput.csv")
NO_CARD = 9999.0  # GB of the smallest card when none is enough


def claims() -> list[Json]:
    """The claims, as the file has them."""
    listed: list[Json] = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))["claim"]
    return listed


def largest_term(result: Json, term: str) -> float:
    """The most that a term takes in any moment of training."""
    return max(float(moment["terms"].get(term, 0)) for moment in result["memory"]["moments"])


def value(figure: Figure, case: Json) -> float:
    """What we compute for one case; a case with `over` is how many times the other's value."""
    found = VALUES[case["value"]](figure, figure.answer(case["request"]))
    if "over" in case:
        found /= VALUES[case["value"]](figure, figure.answer(case["over"]))
    return found


def _card(figure: Figure, result: Json) -> float:
    gpus = figure.source.catalog.gpus
    alone = [gpu["id"] for gpu in result["gpus"] if gpu["count"] == 1 and gpu["verdict"] == "fits"]
    return min((gpus[name].memory_label_gb for name in alone), default=NO_CARD)


VALUES: dict[str, Callable[[Figure, Json], float]] = {
    "required": lambda _, result: float(result["memory"]["required_gib"]["mid"]),
    "weights": lambda _, result: largest_term(result, "weights"),
    "activations": lambda _, result: largest_term(result, "activations"),
    "pace": lambda _, result: float(result["time"]["tokens_per_second"]["mid"]),
    "card": _card,
}


def answer(claim: Json, values: list[float]) -> str:
    """Whether what was said is so: yes when every case lies in it, no when none does."""
    low, high = claim["claimed"]
    inside = [low <= found <= high for found in values]
    return "yes" if all(inside) else "depends" if any(inside) else "no"


def _written(figure: Figure, claim: Json, found: float) -> str:
    if claim["unit"] == "GiB":
        return figure.gib(found)
    if claim["unit"] == "times":
        return f"{number(found, figure.language, 1 if found >= 1.95 else 2)}×"
    if found == NO_CARD:
        return figure.word("none")
    return f"{number(found, figure.language)}\u00a0GB"


def claims_figure(figure: Figure) -> str:
    """One row per claim: what was said, whether it is so, our numbers, a measured run, why."""
    heads = [word(f"claim_{head}", figure.language) for head in ("said", "so", "ours", "measured", "why")]
    lines = [heads, ["---"] * len(heads)]
    for claim in claims():
        values = [value(figure, case) for case in claim["cases"]]
        ours = "<br>".join(
            f"{figure.link(case[figure.language], case['request'])}: {_written(figure, claim, found)}"
            for case, found in zip(claim["cases"], values, strict=True)
        )
        verdict = word(f"claim_{answer(claim, values)}", figure.language)
        lines.append(
            [claim[figure.language], verdict, ours, _measured(figure, claim), escape(claim["why"][figure.language])]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _measured(figure: Figure, claim: Json) -> str:
    """A published run near the claim: its peak, what it keeps at rest, or how two paces compare."""
    if "paces" in claim:
        one, other = (paces()[name] for name in claim["paces"])
        times = float(one["tokens_per_s_per_gpu"]) / float(other["tokens_per_s_per_gpu"])
        said = f"{number(times, figure.language, 2)}×"
        return f"[{said}]({one['url']})<br>{escape(one['model'])}, {one['method']} ÷ {other['method']}"
    if "measured" not in claim:
        return "–"
    row = figure.source.measurements[claim["measured"]]
    gib, rest = row["peak_gib"], ""
    if claim.get("at_rest"):
        gib, rest = row["static_gib"], f", {word('claim_at_rest', figure.language, n=row['gpus'])}"
    return f"[{figure.gib(float(gib))}]({row['source_url']})<br>{escape(row['model'])}, {row['method']}{rest}"


@cache
def paces() -> dict[str, Row]:
    """The published paces, by id."""
    return {row["id"]: row for row in rows(PACES)}
