"""HTML tables that read well without a script and that a script can sort."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

NUMBER = ' class="number"'
NUMBER_HEAD = ' class="number" data-sort="number"'


class Cell(NamedTuple):
    """A cell: what is read and what it is sorted by."""

    html: str
    sort: float | str | None = None  # None: by the text itself


class Head(NamedTuple):
    """A column's heading."""

    label: str
    number: bool = False


class Line(NamedTuple):
    """A row: its anchor, its class, its cells. The first cell is the row's heading."""

    anchor: str
    cells: list[Cell]
    style: str = ""


def table(label: str, heads: list[Head], lines: list[Line]) -> str:
    """One table in a block that may scroll sideways. No blank lines, or Markdown would end the HTML there."""
    parts = [
        f'<div class="data-table" tabindex="0" role="region" aria-label="{escape(label)}">',
        '<table class="data" data-sortable><thead><tr>',
    ]
    parts += [f'<th scope="col"{NUMBER_HEAD if head.number else ""}>{escape(head.label)}</th>' for head in heads]
    parts.append("</tr></thead><tbody>")
    parts += [_line(line, heads) for line in lines]
    parts.append("</tbody></table></div>")
    return "\n".join(parts) + "\n"


def _line(line: Line, heads: list[Head]) -> str:
    cells = []
    for place, (cell, head) in enumerate(zip(line.cells, heads, strict=True)):
        tag = 'th scope="row"' if place == 0 else "td"
        style = NUMBER if head.number else ""
        sort = "" if cell.sort is None else f' data-sort="{escape(str(cell.sort))}"'
        cells.append(f"<{tag}{style}{sort}>{cell.html}</{tag.split()[0]}>")
    identity = f' id="{line.anchor}"' if line.anchor else ""
    style = f' class="{line.style}"' if line.style else ""
    return f"<tr{identity}{style}>{''.join(cells)}</tr>"
