"""What a column is: its name, kind, unit, range, and what it means in both languages."""

from __future__ import annotations

from typing import Any, NamedTuple

Value = str | int | float | bool | list[str] | None


class Text(NamedTuple):
    """A sentence in both languages."""

    es: str
    en: str


class Column(NamedTuple):
    """One column of a CSV file, or one key of a TOML table."""

    name: str
    kind: str  # text · id · integer · number · yes-no · choice · date · url · words · list
    doc: Text
    example: str
    required: bool = False
    unit: str = ""
    low: float | None = None
    high: float | None = None  # of a text: the most characters
    choices: tuple[str, ...] = ()
    refers: str = ""  # the table whose ids this value must name
    inside: bool = False  # provenance or housekeeping: stays out of the catalog that the page downloads


class Table(NamedTuple):
    """One data file, or one folder of files that share their columns."""

    name: str
    path: str  # "data/gpus.csv", or "data/prices/*.csv"
    doc: Text
    columns: tuple[Column, ...]
    key: tuple[str, ...]  # no two rows may share it
    order: tuple[str, ...]  # rows are kept in this order; mended, never red

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)


def column(name: str, kind: str, es: str, en: str, example: str = "", **more: Any) -> Column:
    """A column, described in both languages."""
    return Column(name, kind, Text(es, en), example, **more)


def checked(required: bool = True) -> Column:
    """The day of a look at the source, a column of nearly every table."""
    return column(
        "checked",
        "date",
        "Día en que alguien miró la fuente. Si solo se sabe el mes o el año: 2026-10 o 2026.",
        "The day someone looked at the source. When only the month or year is known: 2026-10 or 2026.",
        "2026-11-30",
        required=required,
    )
