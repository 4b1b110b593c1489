"""Checks all of data/: each file by itself, then what the files say about each other."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pipeline import defaults, rules, schema
from pipeline.files import Data, Problem, Row, Sheet, parse_toml, read_csv, read_json, read_toml

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Mapping


class Report(NamedTuple):
    """What a check found."""

    data: Data
    problems: list[Problem]
    untidy: dict[str, str]  # path → tidy text, for files that only need their dress mended

    @property
    def red(self) -> list[Problem]:
        """What stops a build."""
        return [problem for problem in self.problems if problem.red]


def files_of(root: Path) -> dict[str, bytes]:
    """The files under data/ by their path from the root."""
    found = (path for path in sorted((root / "data").rglob("*")) if path.is_file() and not _is_an_editors(path))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def _is_an_editors(path: Path) -> bool:
    return path.name.endswith("~") or (path.name.startswith(".") and not _is_temporary(path.name))


def _is_temporary(path: str) -> bool:
    """Whether a spreadsheet holds the place of a file that it has open."""
    return PurePosixPath(path).name.startswith(("~$", ".~lock"))


def _temporary(path: str) -> Problem:
    return Problem(
        path,
        1,
        PurePosixPath(path).name,
        "es un archivo temporal de una hoja de cálculo → ciérrala, y no lo añadas al cambio",
        "is a spreadsheet's temporary file → close it, and leave it out of the change",
    )


def check(
    files: Mapping[str, bytes],
    today: datetime.date,
    before: Data | None = None,
    named: defaults.Named | None = None,
) -> Report:
    """Reads and checks every data file.

    `before` is the same data as it was, to check the changes too; `named`, the constants that the estimator asks for.
    """
    problems: list[Problem] = []
    untidy: dict[str, str] = {}
    rows: dict[str, list[Row]] = {name: [] for name in schema.TABLES}
    broken: set[str] = set()
    temporary = {path for path in files if _is_temporary(path)}
    problems += [_temporary(path) for path in sorted(temporary)]
    files = {path: data for path, data in files.items() if path not in temporary}
    for table, path in _tables(files):
        sheet = (read_toml if path.endswith(".toml") else read_csv)(table, path, files[path])
        rows[table.name] += sheet.rows
        problems += sheet.problems
        if sheet.problems:
            broken.add(table.name)
        if sheet.canonical is not None and sheet.canonical.encode() != files[path]:
            untidy[path] = sheet.canonical
            problems.append(_untidy(sheet))
    for row in rows["prices"]:
        row.values["provider"] = PurePosixPath(row.path).stem
    configs, wrong = _configs(files)
    data = Data(**rows, configs=configs)
    if wrong:
        problems += wrong
        broken.add("models")
    problems += rules.relations(data, today, broken, before)
    if named and "assumptions" not in broken:
        problems += defaults.constants(data.assumptions, schema.ASSUMPTIONS.path, named)
    problems += _presets(files)
    problems += _strangers(files)
    if before:
        problems += rules.changes(before, data)
        problems += rules.left_behind(before, data)
    return Report(data, problems, untidy)


def fix(root: Path, report: Report) -> list[str]:
    """Rewrites the files that only need their dress mended; says which."""
    for path, text in report.untidy.items():
        (root / path).write_bytes(text.encode())
    return list(report.untidy)


def _tables(files: Mapping[str, bytes]) -> Iterator[tuple[schema.Table, str]]:
    for table in schema.TABLES.values():
        for path in files:
            if fnmatchcase(path, table.path):
                yield table, path


def _strangers(files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Files that nothing describes: what is not checked is not data."""
    known = [table.path for table in schema.TABLES.values()] + ["data/models/*.json", "data/presets.toml"]
    for path in files:
        if not path.endswith((".md", "/LICENSE")) and not any(fnmatchcase(path, pattern) for pattern in known):
            yield Problem(
                path,
                1,
                PurePosixPath(path).name,
                "nadie describe este archivo → los precios van en data/prices/<proveedor>.csv; los demás, en "
                "calculator/pipeline/schema.py",
                "nothing describes this file → prices go in data/prices/<provider>.csv; the others are in "
                "calculator/pipeline/schema.py",
            )


def _untidy(sheet: Sheet) -> Problem:
    return Problem(
        sheet.path,
        1,
        "orden / order",
        "orden, espacios, BOM o comillas → no tienes que hacer nada; lo arregla `python -m pipeline check --fix`",
        "order, spaces, BOM or quotes → nothing for you to do; `python -m pipeline check --fix` mends it",
        red=False,
    )


def _configs(files: Mapping[str, bytes]) -> tuple[dict[str, Row], list[Problem]]:
    """The architectures, data/models/<id>.json, by model id."""
    configs: dict[str, Row] = {}
    problems: list[Problem] = []
    for path in files:
        if fnmatchcase(path, "data/models/*.json"):
            document, wrong = read_json(path, files[path])
            problems += wrong
            configs[PurePosixPath(path).stem] = Row(path, 1, document)
    return configs, problems


def _presets(files: Mapping[str, bytes]) -> list[Problem]:
    path = defaults.PRESETS
    if path not in files:
        return []
    document, wrong = parse_toml(path, files[path])
    return wrong or list(defaults.presets(files[path], document))
