"""The history of prices as a small drawing: step lines from zero, one per offer, broken where nobody looked."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from pipeline.text import usd, word

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable

    from pipeline.history import Reading

WIDTH, HEIGHT = 640, 180
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 12, 24  # room for the axis, the names, the months
LINES = 5  # offers drawn: more could not be told apart
GAP = 180  # days without a reading that break a line
NAME = 14  # pixels between two names


class Series(NamedTuple):
    """One offer's readings, per GPU."""

    name: str
    readings: list[Reading]


def price_chart(series: list[Series], language: str) -> str:
    """An SVG of the offers that were read most often; empty when none was read twice."""
    drawn = sorted(
        (line for line in series if len(line.readings) > 1), key=lambda line: (-len(line.readings), line.name)
    )
    drawn = drawn[:LINES]
    if not drawn:
        return ""
    days = [reading.day for line in drawn for reading in line.readings]
    first, last = min(days), max(days)
    top = max(reading.usd_per_hour for line in drawn for reading in line.readings)

    def x(day: datetime.date) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (day - first).days / max(1, (last - first).days)

    def y(price: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * price / top

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    axis = f"M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"
    parts = [
        f'<svg class="price-history" {size} role="img" aria-label="{_spoken(drawn, language)}">',
        f'<path class="axis" d="{axis}" fill="none" stroke="currentColor"/>',
    ]
    parts += [_label(LEFT - 6, y(price) + 4, usd(price, language), "end") for price in (0, top)]
    parts += [
        _label(x(day), HEIGHT - 6, day.isoformat()[:7], anchor) for day, anchor in ((first, "start"), (last, "end"))
    ]
    ends = _spread([y(line.readings[-1].usd_per_hour) for line in drawn])
    for number, (line, end) in enumerate(zip(drawn, ends, strict=True)):
        parts.append(f'<g class="line-{number}">')
        parts.append(f'<path d="{_steps(line, x, y)}" fill="none" stroke="currentColor" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(reading.day):.1f}" cy="{y(reading.usd_per_hour):.1f}" r="3" fill="currentColor">'
            f"<title>{reading.day} {usd(reading.usd_per_hour, language)}</title></circle>"
            for reading in line.readings
        ]
        parts.append(_label(WIDTH - RIGHT + 8, end + 4, line.name, "start") + "</g>")
    return "\n".join([*parts, "</svg>", ""])


def _steps(line: Series, x: Callable[[datetime.date], float], y: Callable[[float], float]) -> str:
    """A price holds until somebody reads another; after too long a silence the line starts anew."""
    path, before = "", None
    for reading in line.readings:
        if before is None or (reading.day - before).days > GAP:
            path += f"M{x(reading.day):.1f} {y(reading.usd_per_hour):.1f}"
        else:
            path += f"H{x(reading.day):.1f}V{y(reading.usd_per_hour):.1f}"
        before = reading.day
    return path


def _spread(places: list[float]) -> list[float]:
    """The same heights, moved apart so that names do not overlap."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + NAME)
    return moved


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" fill="currentColor">{escape(text)}</text>'
    )


def _spoken(series: list[Series], language: str) -> str:
    changes = "; ".join(
        f"{line.name}: {usd(line.readings[0].usd_per_hour, language)} ({line.readings[0].day}) → "
        f"{usd(line.readings[-1].usd_per_hour, language)} ({line.readings[-1].day})"
        for line in series
    )
    return escape(word("price_history", language, changes=changes))
