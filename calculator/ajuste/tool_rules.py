"""What each tool's file says, key by key, against the request's fields. One table serves both directions.

Each table is a tuple of rules, applied in order by `ajuste.tool_files`:

- `Same`: a key whose value is the field's value.
- `Rows`: keys that decide fields together, one row per case. Reading takes the first row whose file side matches,
  writing the first whose request side does.
- `Linked`: a number that is a product with other fields, such as the GPUs of a whole job.

On the file side of a row `None` means absent or false, `False` said to be false, `ANY` whatever it is (not written),
`GIVEN` whatever it is, but said; a tuple holds spellings, the first of which is written. On the request side `ANY` is
left alone.

Read from the packages' sources on 2026-11-30: axolotl 0.21.0, llamafactory 0.9.5, trl 1.16.0, transformers 5.24.0,
deepspeed 0.19.8, accelerate 1.15.0. A test looks every key up there again.
"""

from __future__ import annotations

from typing import NamedTuple

from .contract import FULL_METHODS, PEFT_METHODS

ANY = object()
GIVEN = object()  # said at all, whatever it is (not written)
ZERO = ("zero1", "zero2", "zero3")
FSDP = ("fsdp1", "fsdp2")
WHOLE = (None, "none", "ddp", "device-map")
Condition = tuple[tuple[str, tuple[object, ...]], ...]


class Also(NamedTuple):
    """A list that a row needs beside it when written, such as the plugin that defines its keys. Not compared."""

    items: tuple[str, ...]


class Same(NamedTuple):
    """One key, one field, the same value."""

    field: str
    key: str
    older: bool = False  # a spelling that is read and no longer written
    when: Condition = ()
    unless: object = None  # the value that is said by saying nothing


class Rows(NamedTuple):
    """Keys that decide fields together."""

    fields: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[tuple[tuple[object, ...], tuple[object, ...]], ...]
    when: Condition = ()
    older: bool = False


class Linked(NamedTuple):
    """`key` = `field` × `times` ÷ `over`, all integers; a factor that is not said counts as 1."""

    field: str
    key: str
    times: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    when: Condition = ()
    older: bool = False


Rule = Same | Rows | Linked

FULL: Condition = (("method", FULL_METHODS),)
PEFT: Condition = (("method", PEFT_METHODS),)
ZEROED: Condition = (("parallel.strategy", ZERO),)
SHARDED: Condition = (("parallel.strategy", FSDP),)
GRPO: Condition = (("task", ("grpo",)),)


def sharded(base: Condition, *strategies: object) -> Condition:
    """A condition, and one of these strategies."""
    return (*base, ("parallel.strategy", strategies))


def under(prefix: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The same rules with their keys inside a table of the file."""
    moved: list[Rule] = []
    for rule in rules:
        if isinstance(rule, Rows):
            moved.append(rule._replace(keys=tuple(prefix + key for key in rule.keys)))
        else:
            moved.append(rule._replace(key=prefix + rule.key))
    return tuple(moved)
