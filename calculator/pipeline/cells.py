"""One cell: from the text a person typed to a typed value, or to a sentence that says what to type instead."""

from __future__ import annotations

import datetime
import difflib
import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.columns import Column, Text, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
IDENTIFIER = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
EARLIEST_YEAR = 2016  # before it nobody rented any GPU, or published any model, of the catalog
INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  # control, format (bidi, zero width), no characters at all
TEXT_LIMIT = 400  # characters: a cell is a fact, not a paragraph
_SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
_MONEY_WORDS = re.compile(r"(?i)us\$|usd|[$]|/h(our|ora|r)?\b")
_YES_NO = {"yes": True, "no": False}
_YES_NO_MEANT = {"sí": "yes", "si": "yes", "true": "yes", "1": "yes", "y": "yes", "false": "no", "0": "no", "n": "no"}


class CellError(Exception):
    """What is wrong with a cell and what to type, in both languages."""

    def __init__(self, es: str, en: str) -> None:
        super().__init__(en)
        self.text = Text(es, en)


def parse(column: Column, text: str) -> Value:
    """The typed value of a cell, None when it is empty. Raises CellError."""
    if not text:
        if column.required:
            raise CellError(
                f"no puede quedar vacía → {_for_example(column).es}", f"cannot be empty → {_for_example(column).en}"
            )
        return [] if column.kind == "words" else None
    if column.kind != "text":  # which says so among its own
        _visible(text)
    return _PARSERS[column.kind](column, text)


def check_value(column: Column, value: object) -> Value:
    """The same for a value that TOML or JSON already typed."""
    if value is None:
        return parse(column, "")
    if column.kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise CellError(
                f"tiene que ser un número sin comillas → {_for_example(column).es}",
                f"must be a number without quotes → {_for_example(column).en}",
            )
        if column.kind == "integer" and not isinstance(value, int):
            raise CellError("tiene que ser un entero", "must be an integer")
        return _in_range(column, value)
    if column.kind == "yes-no":
        if not isinstance(value, bool):
            raise CellError("escribe true o false, sin comillas", "type true or false, without quotes")
        return value
    if column.kind == "list":
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise CellError(
                f"es una lista de textos → escribe {column.example}", f"is a list of texts → type {column.example}"
            )
        for item in value:
            _visible(item)
        return [str(item) for item in value]
    if not isinstance(value, str):
        raise CellError(f"va entre comillas → {_for_example(column).es}", f"goes in quotes → {_for_example(column).en}")
    return parse(column, value.strip())


def earliest_day(date: str) -> datetime.date:
    """Day from which a date counts: 2026-10 counts from 2026-10-01."""
    year, month, day = (int(part or 1) for part in DATE.fullmatch(date).groups())  # type: ignore[union-attr]
    return datetime.date(year, month, day)


def number_meant(text: str) -> str | None:
    """What a number as printed means, «US$ 0,74 /h» being 0.74; None when it has no reading, or more than one."""
    digits = _SPACES.sub("", _MONEY_WORDS.sub("", text))
    if not re.fullmatch(r"[0-9]([0-9.,]*[0-9])?", digits):
        return None
    readings = [digits] if NUMBER.fullmatch(digits) else _readings(digits, integer=False)
    return readings[0] if len(readings) == 1 else None


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word a person probably meant, or an empty text."""
    return next(iter(difflib.get_close_matches(word[:60], list(known), 1, 0.5)), "")


def _for_example(column: Column) -> Text:
    if column.choices:
        options = ", ".join(column.choices)
        return Text(f"escribe una de: {options}", f"type one of: {options}")
    return Text(f"por ejemplo {column.example}", f"for example {column.example}")


def _number(column: Column, text: str) -> Value:
    if not NUMBER.fullmatch(text):
        raise _not_a_number(column, text)
    if column.kind == "integer" and "." in text:
        known = re.fullmatch(r"[0-9]{1,3}(\.[0-9]{3})+|[0-9]+\.0{1,2}", text)
        meant = _readings(text, integer=True)[0] if known else _for_example(column)
        es, en = (f"escribe {meant}", f"type {meant}") if isinstance(meant, str) else meant
        raise CellError(f"es un entero, sin puntos ni decimales → {es}", f"is an integer, no points or decimals → {en}")
    return _in_range(column, int(text) if column.kind == "integer" else float(text))


def _in_range(column: Column, value: int | float) -> int | float:
    low, high = column.low, column.high
    unit = f" {column.unit}" if column.unit else ""
    if value == 0 and low:
        raise CellError(
            "nunca es 0 → si no se sabe, déjala vacía o quita la fila",
            "is never 0 → if unknown, leave it empty or remove the row",
        )
    if (low is not None and value < low) or (high is not None and value > high):
        limits = f"{_plain(low)}–{_plain(high)}{unit}"
        raise CellError(
            f"fuera de {limits} → revisa qué pide la columna: {column.doc.es}",
            f"outside {limits} → check what the column asks: {column.doc.en}",
        )
    return value


def _plain(value: float | None) -> str:
    return "…" if value is None else f"{value:.9f}".rstrip("0").rstrip(".")


def _not_a_number(column: Column, text: str) -> CellError:
    if "€" in text or "eur" in text.lower():
        return CellError(
            "está en euros → escribe dólares, con el cambio del BCE del día, y dilo en la nota",
            "is in euros → type dollars, at the ECB rate of the day, and say so in the note",
        )
    digits = _SPACES.sub("", _MONEY_WORDS.sub("", text))
    if not re.fullmatch(r"-?[0-9][0-9.,]*", digits) or not digits[-1].isdigit():
        unless = ("", "") if column.required else (", o vacía si no se sabe", ", or empty if unknown")
        es, en = _for_example(column)
        return CellError(f"no es un número → {es}{unless[0]}", f"is not a number → {en}{unless[1]}")
    readings = " | ".join(_readings(digits, column.kind == "integer"))
    if digits != _SPACES.sub("", text):
        return CellError(
            f"solo el número, sin moneda ni unidad → escribe {readings}",
            f"only the number, without currency or unit → type {readings}",
        )
    return CellError(
        f"los decimales llevan punto y los miles no llevan nada → escribe {readings}",
        f"decimals take a point and thousands take nothing → type {readings}",
    )


def _readings(digits: str, integer: bool) -> list[str]:
    """What `digits` can mean: 0,74 is 0.74; 1.234,5 is 1234.5; 1,234 is 1234 or 1.234; as an integer 8,0 is 8."""
    if integer and re.fullmatch(r"[0-9]+[.,]0{1,2}", digits):
        return [re.split(r"[.,]", digits)[0]]
    comma, point = digits.rfind(","), digits.rfind(".")
    bare = digits.replace(",", "").replace(".", "")
    last = max(comma, point)
    if integer or last < 0:
        return [bare]
    mark = digits[last]
    decimals = len(digits) - last - 1
    as_decimal = digits[:last].replace(",", "").replace(".", "") + "." + digits[last + 1 :]
    if digits.count(mark) > 1:
        return [bare]
    if comma >= 0 and point >= 0:
        return [as_decimal]
    return [bare, as_decimal] if decimals == 3 and len(digits[:last]) <= 3 else [as_decimal]


def _yes_no(_column: Column, text: str) -> Value:
    if text in _YES_NO:
        return _YES_NO[text]
    meant = _YES_NO_MEANT.get(text.lower()) or ("yes | no" if text.lower() not in _YES_NO else text.lower())
    raise CellError(f"solo admite yes o no → escribe {meant}", f"takes only yes or no → type {meant}")


def _choice(column: Column, text: str) -> Value:
    if text in column.choices:
        return text
    meant = nearest(text.lower(), column.choices)
    options = ", ".join(column.choices)
    raise CellError(
        f"solo admite {options} → {f'¿{meant}?' if meant else 'escribe una de ellas'}",
        f"takes only {options} → {f'{meant}?' if meant else 'type one of them'}",
    )


def _words(column: Column, text: str) -> Value:
    return [str(_choice(column, word)) for word in text.split()]


def _identifier(column: Column, text: str) -> Value:
    # What names another table is compared with that table's ids later, which says better what was meant.
    if not column.refers and not IDENTIFIER.fullmatch(text):
        guess = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or column.example
        raise CellError(
            f"un id lleva minúsculas, cifras, guiones y puntos → escribe {guess}",
            f"an id has lower case, digits, hyphens and points → type {guess}",
        )
    return text


def _date(_column: Column, text: str) -> Value:
    found = DATE.fullmatch(text)
    if not found:
        guess = _date_guess(text)
        raise CellError(f"no es una fecha AAAA-MM-DD → escribe {guess}", f"is not a YYYY-MM-DD date → type {guess}")
    try:
        day = earliest_day(text)
    except ValueError:
        raise CellError(
            "no existe en el calendario → revisa mes y día", "is not in the calendar → check month and day"
        ) from None
    if day.year < EARLIEST_YEAR:
        raise CellError(
            f"es anterior a {EARLIEST_YEAR} → escribe el día en que se vio",
            f"is before {EARLIEST_YEAR} → type the day on which it was seen",
        )
    return text


def _date_guess(text: str) -> str:
    found = re.fullmatch(r"([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})", text)
    if found and int(found[1]) > 12 >= int(found[2]):
        return f"{found[3]}-{int(found[2]):02}-{int(found[1]):02}"
    if found and int(found[2]) > 12 >= int(found[1]):
        return f"{found[3]}-{int(found[1]):02}-{int(found[2]):02}"
    if found:
        return f"{found[3]}-{int(found[2]):02}-{int(found[1]):02} | {found[3]}-{int(found[1]):02}-{int(found[2]):02}"
    return "2026-11-30"


def _url(column: Column, text: str) -> Value:
    if text.startswith("http://"):
        raise CellError(f"tiene que ser https → escribe https://{text[7:]}", f"must be https → type https://{text[7:]}")
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        host = ""
    if not text.startswith("https://") or "." not in host or _SPACES.search(text):
        raise CellError(
            f"no es una dirección → por ejemplo {column.example}", f"is not an address → for example {column.example}"
        )
    return text


def _text(column: Column, text: str) -> Value:
    limit = int(column.high or TEXT_LIMIT)
    if len(text) > limit:
        raise CellError(f"pasa de {limit} caracteres → acórtala", f"is over {limit} characters → shorten it")
    _visible(text)
    if text[0] in "=@+-":
        raise CellError(
            f"una hoja de cálculo la leería como fórmula → quita el «{text[0]}» del principio",
            f"a spreadsheet would read it as a formula → remove the leading “{text[0]}”",
        )
    return text


def _visible(text: str) -> None:
    """Raises CellError where a character does not show, or turns the order of the others about."""
    hidden = next((letter for letter in text if unicodedata.category(letter) in INVISIBLE), None)
    if hidden is not None:
        point = f"U+{ord(hidden):04X}"
        raise CellError(
            f"lleva un salto de línea o un carácter invisible ({point}) → bórralo",
            f"has a line break or an invisible character ({point}) → delete it",
        )


_PARSERS = {
    "text": _text,
    "id": _identifier,
    "integer": _number,
    "number": _number,
    "yes-no": _yes_no,
    "choice": _choice,
    "date": _date,
    "url": _url,
    "words": _words,
}
