"""Files of data/ into typed rows, with every complaint tied to its file and line."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.cells import CellError, check_value, nearest, parse
from pipeline.columns import Column, Table, Value

if TYPE_CHECKING:
    from collections.abc import Iterator


class Problem(NamedTuple):
    """One complaint. Notes are not red: the data is right, only its dress is not."""

    path: str
    line: int
    subject: str  # what the complaint is about: a column with what was typed
    es: str
    en: str
    red: bool = True

    def __str__(self) -> str:
        sign = "❌" if self.red else "ℹ️ "
        return f"{sign} {self.path}:{self.line} {self.subject}\n     es: {self.es}\n     en: {self.en}"


class Row(NamedTuple):
    """One row of a file: typed values by column name."""

    path: str
    line: int
    values: dict[str, Any]

    def wrong(self, subject: str, es: str, en: str) -> Problem:
        """A complaint about this row."""
        return Problem(self.path, self.line, subject, es, en)


class Data(NamedTuple):
    """Everything in data/, typed. Offers carry their provider; architectures are whole JSON documents."""

    gpus: list[Row]
    gpu_aliases: list[Row]
    prices: list[Row]
    past_prices: list[Row]
    instances: list[Row]
    models: list[Row]
    links: list[Row]
    providers: list[Row]
    sources: list[Row]
    assumptions: list[Row]
    memory: list[Row]
    bounds: list[Row]
    throughput: list[Row]
    throughput_errors: list[Row]
    configs: dict[str, Row]


class Sheet(NamedTuple):
    """One file as read: its rows, what is wrong with it, and how it should be written."""

    path: str
    rows: list[Row]
    problems: list[Problem]
    canonical: str | None  # the file in its tidy form; None while something is wrong with it


def read_csv(table: Table, path: str, data: bytes) -> Sheet:
    """A CSV file of `table`. Never raises: whatever the bytes are, the answer is rows and problems."""
    try:
        lines = list(_records(_decode(path, data), path))
    except _BrokenFileError as broken:
        return Sheet(path, [], [broken.problem], None)
    if not lines:
        return Sheet(path, [], [_missing_header(table, path)], None)
    header_line, header = lines[0]
    problem = _check_header(table, path, header_line, header)
    if problem:
        return Sheet(path, [], problem, None)
    rows, problems = [], []
    for line, cells in lines[1:]:
        row, wrong = read_row(table, path, line, header, cells)
        problems += wrong
        if row:
            rows.append(row)
    problems += _duplicates(table, rows)
    return Sheet(path, rows, problems, None if problems else _canonical(table, header, lines[1:]))


def read_row(
    table: Table, path: str, line: int, header: list[str], cells: list[str]
) -> tuple[Row | None, list[Problem]]:
    """One record of a CSV file, checked cell by cell."""
    if len(cells) != len(header):
        return None, [
            Problem(
                path,
                line,
                f"{len(cells)} ≠ {len(header)}",
                f"la fila tiene {len(cells)} campos y la cabecera {len(header)} → si un texto lleva coma, "
                "ponlo entre comillas dobles",
                f"the row has {len(cells)} fields and the header {len(header)} → quote a text that has a comma",
            )
        ]
    values: dict[str, Value] = {}
    problems = []
    for name, cell in zip(header, cells, strict=True):
        column = table.column(name)
        assert column is not None, name
        try:
            values[name] = parse(column, cell)
        except CellError as error:
            problems.append(Problem(path, line, f'{name} "{_short(cell)}"', *error.text))
    return (None if problems else Row(path, line, values)), problems


def write_csv(table: Table, rows: list[dict[str, Value]]) -> str:
    """Rows as the tidy text of a file of `table`."""
    lines = [[_cell(row.get(name)) for name in table.names] for row in rows]
    return _join(table, list(table.names), lines)


def read_toml(table: Table, path: str, data: bytes) -> Sheet:
    """A TOML file whose every table [id] is one row. Keys that the schema does not name are refused."""
    document, problems = parse_toml(path, data)
    lines = toml_lines(data)
    rows = []
    for name, entry in document.items():
        line = lines.get((name, ""), 1)
        if not isinstance(entry, dict):
            problems.append(Problem(path, line, name, "va dentro de una tabla [id]", "goes inside a table [id]"))
            continue
        values, wrong = read_table(table.columns, path, name, entry, lines)
        problems += wrong
        rows.append(Row(path, line, {"id": name, **values}))
    return Sheet(path, rows, problems, None)


def read_table(
    columns: tuple[Column, ...],
    path: str,
    name: str,
    entry: dict[str, Any],
    lines: dict[tuple[str, str], int],
    nested: tuple[str, ...] = ("label", "sources"),
) -> tuple[dict[str, Any], list[Problem]]:
    """The values of one TOML table; what is nested is passed on as it is."""
    values: dict[str, Any] = {column.name: None for column in columns}
    problems = []
    known = {column.name: column for column in columns}
    for key, value in entry.items():
        line = lines.get((name, key), lines.get((name, ""), 1))
        if key in nested:
            values[key] = value
        elif key not in known:
            meant = nearest(key, known)
            problems.append(
                Problem(
                    path,
                    line,
                    f"[{name}] {key}",
                    f"clave desconocida → ¿{meant}?"
                    if meant
                    else "clave desconocida → las que hay están en data/README.md",
                    f"unknown key → {meant}?" if meant else "unknown key → those there are stand in data/README.md",
                )
            )
        else:
            try:
                values[key] = check_value(known[key], value)
            except CellError as error:
                problems.append(Problem(path, line, f'[{name}] {key} "{_short(str(value))}"', *error.text))
    for column in columns:
        if column.required and column.name not in entry:
            heading = lines.get((name, ""), 1)
            problems.append(
                Problem(
                    path,
                    heading,
                    f"[{name}] {column.name}",
                    f"falta → {column.name} = … ({column.doc.es})",
                    f"is missing → {column.name} = … ({column.doc.en})",
                )
            )
    return values, problems


def parse_toml(path: str, data: bytes) -> tuple[dict[str, Any], list[Problem]]:
    """A TOML document, or the line where it stops being one."""
    try:
        return tomllib.loads(_decode(path, data)), []
    except _BrokenFileError as broken:
        return {}, [broken.problem]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        line = re.search(r"line (\d+)", str(error))
        return {}, [
            Problem(
                path,
                int(line[1]) if line else 1,
                "TOML",
                f"no se puede leer ({error}) → revisa comillas, corchetes y claves repetidas",
                f"cannot be read ({error}) → check quotes, brackets and repeated keys",
            )
        ]


def toml_lines(data: bytes) -> dict[tuple[str, str], int]:
    """Where each table and each of its keys stands: (table, key) → line; (table, "") is its heading."""
    places: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        heading = re.match(r'\s*\[+\s*"?([\w.-]+?)"?\s*\]', line)
        key = re.match(r'\s*"?([\w-]+)"?\s*=', line)
        if heading:
            table = heading[1]
            places.setdefault((table, ""), number)
        elif key:
            places.setdefault((table, key[1]), number)
    return places


def read_json(path: str, data: bytes) -> tuple[dict[str, Any], list[Problem]]:
    """A JSON object, or where it stops being one."""
    try:
        document = json.loads(_decode(path, data), parse_constant=_no_number, object_pairs_hook=_unique)
    except _BrokenFileError as broken:
        return {}, [broken.problem]
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return {}, [Problem(path, line, "JSON", f"no se puede leer ({error})", f"cannot be read ({error})")]
    if not isinstance(document, dict):
        return {}, [Problem(path, 1, "JSON", "tiene que ser un objeto {…}", "must be an object {…}")]
    return document, []


# --- inside ---


def _no_number(word: str) -> float:
    raise ValueError(f"{word}: no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"{key}: twice")
        table[key] = value
    return table


class _BrokenFileError(Exception):
    def __init__(self, path: str, line: int, subject: str, es: str, en: str) -> None:
        super().__init__(en)
        self.problem = Problem(path, line, subject, es, en)


def _decode(path: str, data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _BrokenFileError(path, 1, "UTF-16", "guarda el archivo como «CSV UTF-8»", "save the file as “CSV UTF-8”")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _BrokenFileError(
            path,
            line,
            f"byte 0x{data[error.start]:02x}",
            "no es UTF-8 → guarda el archivo como «CSV UTF-8»",
            "is not UTF-8 → save the file as “CSV UTF-8”",
        ) from None
    return text


def _records(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line they start on, cells stripped, blank lines dropped."""
    first = text.split("\n", 1)[0]
    for mark, es, en in ((";", "punto y coma", "semicolons"), ("\t", "tabuladores", "tabs")):
        if first.count(mark) > first.count(","):
            raise _BrokenFileError(
                path,
                1,
                f'"{_short(first)}"',
                f"las columnas van separadas por {es} → guarda como CSV separado por comas",
                f"the columns are separated by {en} → save as comma-separated CSV",
            )
    reader = csv.reader(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"), newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, [cell.strip() for cell in cells]
            line = reader.line_num + 1
    except csv.Error:
        raise _BrokenFileError(
            path,
            line,
            '"',
            "hay una comilla doble sin cerrar o fuera de lugar → cierra las comillas",
            "a double quote is not closed or is out of place → close the quotes",
        ) from None


def _missing_header(table: Table, path: str) -> Problem:
    names = ",".join(table.names)
    return Problem(path, 1, "cabecera / header", f"falta la cabecera → escribe {names}", f"no header → type {names}")


def _check_header(table: Table, path: str, line: int, header: list[str]) -> list[Problem]:
    problems = []
    for name in dict.fromkeys(header):
        if name not in table.names:
            meant = nearest(name, [known for known in table.names if known not in header])
            problems.append(
                Problem(
                    path,
                    line,
                    f'cabecera / header "{_short(name)}"',
                    f"columna desconocida → {f'¿{meant}?' if meant else 'bórrala'}",
                    f"unknown column → {f'{meant}?' if meant else 'delete it'}",
                )
            )
        elif header.count(name) > 1:
            problems.append(
                Problem(
                    path,
                    line,
                    f'cabecera / header "{name}"',
                    "columna repetida → deja una",
                    "repeated column → keep one",
                )
            )
    problems += [
        Problem(
            path,
            line,
            f'cabecera / header "{name}"',
            "falta la columna → añádela, vacía si no se sabe",
            "the column is missing → add it, empty if unknown",
        )
        for name in table.names
        if name not in header
    ]
    return problems


def _duplicates(table: Table, rows: list[Row]) -> list[Problem]:
    seen: dict[tuple[Any, ...], int] = {}
    problems = []
    for row in rows:
        key = tuple(row.values[name] for name in table.key)
        if "offer" in table.key:  # providers do not sell two that differ in case alone
            key = tuple(part.casefold() if isinstance(part, str) else part for part in key)
        if key in seen:
            typed = (row.values[name] for name in table.key)
            shown = ", ".join(str(part) for part in typed if part not in (None, ""))
            problems.append(
                Problem(
                    row.path,
                    row.line,
                    shown,
                    f"ya está en la línea {seen[key]} → deja una de las dos",
                    f"is already on line {seen[key]} → keep one of the two",
                )
            )
        seen.setdefault(key, row.line)
    return problems


def _canonical(table: Table, header: list[str], lines: list[tuple[int, list[str]]]) -> str:
    places = [header.index(name) for name in table.names]
    return _join(table, list(table.names), [[cells[place] for place in places] for _, cells in lines])


def _join(table: Table, header: list[str], lines: list[list[str]]) -> str:
    order = [header.index(name) for name in table.order]
    ordered = sorted(lines, key=lambda cells: [_sort_key(cells[place]) for place in order])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(ordered)
    return out.getvalue()


def _sort_key(cell: str) -> tuple[float, str]:
    return (float(cell), "") if re.fullmatch(r"\d+(\.\d+)?", cell) else (float("inf"), cell)


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _short(text: str, limit: int = 40) -> str:
    """What was typed, cut to `limit`; what does not print is spelt out: it must not act on a terminal or a log."""
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode()
        for letter in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
