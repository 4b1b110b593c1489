"""Diagrams of the guide from docs/presets.toml: what each strategy splits, and the decision tree.

Ink is `currentColor`, so that both themes show them; each has its content as alternative text.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pipeline.figures import Figure

CELL, GAP, ROW, LEFT, TOP = 76, 92, 42, 112, 34  # of the sharding diagram: box, column step, row step, margins
QUESTION, ANSWER, BOX, STEP = 240, 165, 60, 95  # of the decision tree: widths, height of a box, row step


def drawing(width: int, height: int, label: str, parts: Iterable[str]) -> str:
    """An image with its alternative text."""
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-size="14" fill="currentColor"'
    inside = "\n".join(parts)
    return f'<figure markdown="0">\n<svg {box} role="img" aria-label="{escape(label)}">\n{inside}\n</svg>\n</figure>\n'


def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
    """One line of text."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def sharding_figure(figure: Figure) -> str:
    """Rows × parts of the state: a full box is held whole by each GPU, a filled share is split among `gpus`."""
    preset, language = figure.preset, figure.language
    edge = f'height="30" rx="3" fill="none" stroke="currentColor" stroke-opacity="0.5" width="{CELL}"'
    parts = [
        text(LEFT + place * GAP + CELL / 2, 20, column[language]) for place, column in enumerate(preset["columns"])
    ]
    for line, row in enumerate(preset["rows"]):
        y = TOP + line * ROW
        parts.append(text(LEFT - 12, y + 20, row[language], "end"))
        for place in range(len(preset["columns"])):
            held = CELL / preset["gpus"] if place in row["split"] else CELL
            x = LEFT + place * GAP
            parts.append(f'<rect x="{x}" y="{y}" {edge}/>')
            parts.append(f'<rect x="{x}" y="{y}" width="{held:g}" height="30" rx="3" fill-opacity="0.4"/>')
    width, height = LEFT + len(preset["columns"]) * GAP - 10, TOP + len(preset["rows"]) * ROW + 28
    parts.append(text(width / 2, height - 8, preset["note"][language], more=' font-size="12"'))
    return drawing(width, height, preset["label"][language], parts)


def decision_figure(figure: Figure) -> str:
    """Questions one below the other; yes leads to the answer on the right, no to the next question."""
    preset, language = figure.preset, figure.language
    parts: list[str] = []
    for line, row in enumerate(preset["rows"]):
        y = 10 + line * STEP
        last = "then" not in row
        parts += _box(5, y, QUESTION, row[language], bold=last, strong=last)
        if last:
            continue
        middle, below = y + BOX / 2, y + BOX
        parts += _box(300, y, ANSWER, row["then"][language], bold=True, strong=True)
        across = f"M{5 + QUESTION} {middle:g}H292M284 {middle - 5:g}l9 5-9 5"
        down = f"M125 {below}v33M120 {below + 25}l5 9 5-9"
        parts.append(f'<path d="{across}{down}" fill="none" stroke="currentColor" stroke-width="1.5"/>')
        parts += [text(268, middle - 8, preset["yes"][language]), text(136, below + 22, preset["no"][language])]
    return drawing(470, 10 + len(preset["rows"]) * STEP - STEP + BOX + 15, preset["label"][language], parts)


def _box(x: float, y: float, width: float, lines: list[str], bold: bool, strong: bool) -> list[str]:
    """A rounded box with two lines; the first bold where it is an answer."""
    shade = 0.16 if strong else 0.05
    outline = f'rx="8" fill="currentColor" fill-opacity="{shade}" stroke="currentColor" stroke-opacity="0.5"'
    middle = x + width / 2
    first, second = lines
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{BOX}" {outline}/>',
        text(middle, y + 26, first, more=' font-weight="700"' if bold else ""),
        text(middle, y + 45, second),
    ]


FIGURE_KINDS: dict[str, Callable[[Figure], str]] = {"sharding": sharding_figure, "decision": decision_figure}
