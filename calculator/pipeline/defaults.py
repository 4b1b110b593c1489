"""What the estimator takes from data/: presets are the contract's fields, constants have the names it asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ajuste.contract import REQUEST, Field, check_value
from ajuste.errors import RequestError, near_matches
from ajuste.resolve import CONDITIONS
from pipeline.cells import nearest
from pipeline.files import Problem, Row, toml_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PRESETS = "data/presets.toml"
METHODS = REQUEST["method"].choices
TASKS = REQUEST["task"].choices
# What no preset fills: the request must say it, or the estimator finds it out.
NOT_PRESET = {"model", "method", "reference", "logits_shift_copy", "quantize_moe_experts"}
OF_RELEASES = ("version", "released")


class Named(NamedTuple):
    """How the estimator's source names its constants."""

    asked: frozenset[str]  # `MID["…"]`: each must be there
    words: frozenset[str]  # every text that could be one
    beginnings: tuple[str, ...]  # of texts that are put together, `f"residual-{kind}"`


def named_by_code(*folders: Path) -> Named:
    """The names of constants in the source of the estimator, and of what fits them."""
    text = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.glob("*.py")))
    asked = re.findall(r'\b(?:MID|ASSUMPTIONS)\["([a-z0-9-]+)"[\] ]|\b_assumption\("([a-z0-9-]+)"', text)
    return Named(
        frozenset(one or other for one, other in asked),
        frozenset(re.findall(r'"([a-z0-9][a-z0-9-]*)"', text)),
        tuple({begun for begun in re.findall(r'"([a-z0-9-]+)\{', text) if len(begun) > 4}),
    )


def constants(rows: Iterable[Row], path: str, named: Named) -> Iterator[Problem]:
    """Constants that the formulas ask for and are not there, and those that none asks for: one renamed is both."""
    known = {row.values["id"]: row for row in rows}
    missing = sorted(named.asked - set(known))
    for name in missing:
        yield Problem(
            path,
            1,
            f"[{name}]",
            f"una fórmula la pide y no está → ponla con ese nombre: [{name}]",
            f"a formula asks for it and it is not there → add it under that name: [{name}]",
        )
    for name, row in known.items():
        if name not in named.words and not name.startswith(named.beginnings):
            meant = nearest(name, missing) or nearest(name, sorted(named.words - set(known)))
            yield row.wrong(
                f"[{name}]",
                f"ninguna fórmula la usa → {f'¿{meant}?' if meant else 'quítala'}",
                f"no formula uses it → {f'{meant}?' if meant else 'remove it'}",
            )


def presets(data: bytes, document: dict[str, Any]) -> Iterator[Problem]:
    """Defaults that are no fields of the request, or no values of theirs; and fields that are left without any."""
    walk = _Walk(toml_lines(data))
    for name in sorted(set(document) - {"general", "framework", "grid", "recipe"}):
        yield walk.wrong(name, "", "tabla desconocida → quítala", "unknown table → remove it")
    for name in ("general", "framework", "grid", "recipe"):
        if not isinstance(document.get(name), dict):
            yield walk.wrong(name, "", f"falta la tabla [{name}]", f"the table [{name}] is missing")
    general = _table(document, "general")
    yield from walk.fields("general", general)
    have = _names(general)
    for name in sorted(_needed() - have):
        yield walk.wrong(
            "general",
            name,
            "falta su valor de fábrica → ponlo en [general]",
            "its default is missing → put it in [general]",
        )
    frameworks = _table(document, "framework")
    for name, table in frameworks.items():
        if name not in REQUEST["framework"].choices:
            meant = ", ".join(near_matches(name, REQUEST["framework"].choices))
            yield walk.wrong(
                f"framework.{name}", "", f"framework desconocido → {meant}", f"unknown framework → {meant}"
            )
        yield from walk.fields(f"framework.{name}", table)
    for name in REQUEST["framework"].choices:
        if name not in frameworks:
            yield walk.wrong(f"framework.{name}", "", "falta la tabla", "the table is missing")
    yield from walk.choices("grid", "methods", _table(document, "grid").get("methods"), METHODS)
    yield from walk.recipes(_table(document, "recipe"))


class _Walk(NamedTuple):
    lines: dict[tuple[str, str], int]

    def wrong(self, table: str, key: str, es: str, en: str) -> Problem:
        """A complaint about a key of a table."""
        near = self.lines.get((table, ""), 1)
        return Problem(PRESETS, self.lines.get((table, key), near), f"[{table}] {key}".rstrip(), es, en)

    def fields(self, place: str, table: object) -> Iterator[Problem]:
        """Every key of a preset's table, and of the tables that apply under a condition."""
        if not isinstance(table, dict):
            yield self.wrong(place, "", "va como tabla", "goes as a table")
            return
        for name, value in table.items():
            if name == "before":
                for older in value if isinstance(value, list) else []:
                    yield from self.fields(f"{place}.before", older)
            elif name in CONDITIONS:
                yield from self.fields(f"{place}.{name}", value)
            elif name in OF_RELEASES:
                continue
            elif name not in REQUEST:
                meant = ", ".join(near_matches(name, (*REQUEST, *CONDITIONS)))
                yield self.wrong(
                    place,
                    name,
                    f"no es un campo de la solicitud → {f'¿{meant}?' if meant else 'quítalo'}",
                    f"is no field of the request → {f'{meant}?' if meant else 'remove it'}",
                )
            else:
                yield from self.value(place, name, value)

    def value(self, place: str, name: str, value: object) -> Iterator[Problem]:
        """One field against the contract."""
        field: Field = REQUEST[name]
        try:
            check_value(field, value, name)
        except RequestError as error:
            near = f" ¿{', '.join(error.suggestions)}?" if error.suggestions else ""
            inside = error.field.partition(".")[2]
            table, key = (
                (f"{place}.{name}", inside) if inside and (f"{place}.{name}", "") in self.lines else (place, name)
            )
            yield self.wrong(
                table, key, f"{error.message['es']}{near}", f"{error.message['en']}{near.replace('¿', '')}"
            )

    def choices(self, table: str, key: str, value: object, known: Iterable[str]) -> Iterator[Problem]:
        """A list of known words."""
        for word in value if isinstance(value, list) and value else [None]:
            if word not in known:
                options = " | ".join(known)
                yield self.wrong(table, key, f"{word!r} no vale → {options}", f"{word!r} will not do → {options}")

    def recipes(self, recipes: dict[str, Any]) -> Iterator[Problem]:
        """Learning rates of each task: low ≤ rate ≤ high, of full fine-tuning and of the rest."""
        for task in TASKS:
            for kind in ("full", "peft"):
                place = f"recipe.{task}"
                rates = _table(_table(recipes, task), kind)
                values = [rates.get(name) for name in ("low", "rate", "high")]
                numbers = [value for value in values if isinstance(value, (int, float)) and 0 < value < 1]
                if len(numbers) < len(values) or numbers != sorted(numbers):
                    yield self.wrong(
                        place,
                        kind,
                        "lleva low ≤ rate ≤ high, entre 0 y 1",
                        "takes low ≤ rate ≤ high, between 0 and 1",
                    )


def _table(document: dict[str, Any], name: str) -> dict[str, Any]:
    table = document.get(name)
    return table if isinstance(table, dict) else {}


def _needed() -> set[str]:
    """The fields that must have a default: those that the contract does not let be null."""
    needed = set()
    for name, field in REQUEST.items():
        if field.fields:
            needed |= {f"{name}.{key}" for key, inner in field.fields.items() if "null" not in inner.types}
        elif "null" not in field.types:
            needed.add(name)
    return needed - NOT_PRESET


def _names(table: dict[str, Any]) -> set[str]:
    names = set()
    for name, value in table.items():
        if name in CONDITIONS and isinstance(value, dict):
            names |= _names(value)
        elif isinstance(value, dict):
            names |= {f"{name}.{key}" for key in value}
        else:
            names.add(name)
    return names
