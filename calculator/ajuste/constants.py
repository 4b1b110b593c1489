"""The constants of the formulas and the defaults of the request: data, not code.

In the wheel they come from `_packed.py`, which the build writes; in a checkout from `data/assumptions.toml` and
`data/presets.toml` (tomllib is imported only then: the browser never pays for it).
"""

from __future__ import annotations

from typing import Any

from .records import NamedTuple


class Assumption(NamedTuple):
    """A constant of a formula: its middle value and the ends it may be moved to."""

    low: float
    mid: float
    high: float
    unit: str


def _load() -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        from ._packed import ASSUMPTIONS, PRESETS  # in the wheel only
    except ImportError:
        return _read_checkout()
    return ASSUMPTIONS, PRESETS


def _read_checkout() -> tuple[dict[str, Any], dict[str, Any]]:
    import os.path
    import tomllib

    data = os.path.join(os.path.dirname(__file__), "..", "..", "data")
    tables = []
    for name in ("assumptions.toml", "presets.toml"):
        with open(os.path.join(data, name), "rb") as file:
            tables.append(tomllib.load(file))
    return tables[0], tables[1]


_assumptions, PRESETS = _load()
ASSUMPTIONS: dict[str, Assumption] = {
    name: Assumption(row["low"], row["mid"], row["high"], row["unit"]) for name, row in _assumptions.items()
}
MID: dict[str, float] = {name: assumption.mid for name, assumption in ASSUMPTIONS.items()}
