"""YAML for the files that we write: tables, lists and scalars, with comments. Deterministic, and nothing more.

The reader's side is a real YAML library (tests parse everything that is written here with one).
"""

from __future__ import annotations

from typing import Any

# What a plain scalar may hold beside letters and digits without meaning something else to a YAML reader.
PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+")
WORDS = {"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n", "nan", ".nan", ".inf", "-.inf", "~"}


def yaml_text(table: dict[str, Any], notes: dict[str, str] | None = None, header: tuple[str, ...] = ()) -> str:
    """A table as YAML.

    Args:
        table: nested dicts, lists, strings, numbers, booleans, None.
        notes: dotted key -> comment at the end of its line.
        header: comment lines above everything.

    >>> print(yaml_text({"a": 1, "b": {"c": ["x", "y: z"]}}, {"a": "why"}, ("first",)), end="")
    # first
    a: 1  # why
    b:
      c: [x, "y: z"]
    """
    lines = [f"# {line}".rstrip() for line in header]
    _table(table, "", "", notes or {}, lines)
    return "\n".join(lines) + "\n"


def _table(table: dict[str, Any], indent: str, prefix: str, notes: dict[str, str], lines: list[str]) -> None:
    for key, value in table.items():
        dotted = f"{prefix}{key}"
        note = f"  # {notes[dotted]}" if dotted in notes else ""
        start = f"{indent}{_scalar(key)}:"
        if isinstance(value, dict) and value:
            lines.append(start + note)
            _table(value, indent + "  ", dotted + ".", notes, lines)
        elif isinstance(value, str) and "\n" in value:
            lines.append(f"{start} |{note}")
            lines += [f"{indent}  {line}".rstrip() for line in value.rstrip("\n").split("\n")]
        elif isinstance(value, list) and any(isinstance(item, dict) or "\n" in str(item) for item in value):
            lines.append(start + note)
            for item in value:
                _item(item, indent, dotted, notes, lines)
        else:
            lines.append(f"{start} {_inline(value)}{note}")


def _item(item: object, indent: str, dotted: str, notes: dict[str, str], lines: list[str]) -> None:
    """One element of a list, its table's first key beside the dash."""
    if isinstance(item, dict):
        inner: list[str] = []
        _table(item, indent + "    ", dotted + ".", notes, inner)
        inner[0] = f"{indent}  - {inner[0].lstrip()}"
        lines += inner
    elif isinstance(item, str) and "\n" in item:
        lines.append(f"{indent}  - |")
        lines += [f"{indent}    {line}".rstrip() for line in item.rstrip("\n").split("\n")]
    else:
        lines.append(f"{indent}  - {_inline(item)}")


def _inline(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_inline(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_inline(item)}" for key, item in value.items()) + "}"
    return _scalar(value)


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # YAML 1.1 reads 2e-05 as text: a number needs its point.
        text = repr(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = text and set(text) <= PLAIN and text[0] not in "-+.0123456789" and text.lower() not in WORDS
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
