"""Numbers and flags of a config.json under any of their names, checked."""

from __future__ import annotations

from typing import Any

from .errors import RequestError


def bad_config(name: str, es: str, en: str) -> RequestError:
    """The refusal of a config whose numbers are missing or do not fit together."""
    return RequestError("bad-config", f"model.{name}", es=es, en=en)


class Reader:
    """Reads one config object."""

    LARGEST = 1 << 40

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config

    def number(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """The integer under the first of `names` that is present."""
        for name in names:
            value = self.config.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value % 1:
                raise bad_config(name, f"{name} debe ser un entero.", f"{name} must be an integer.")
            if not least <= value <= self.LARGEST:
                raise bad_config(name, f"{name} está fuera de rango.", f"{name} is out of range.")
            return int(value)
        if default is None:
            raise bad_config(names[0], f"falta {names[0]}.", f"{names[0]} is missing.")
        return default

    def share(self, *names: str, default: float) -> float:
        """The number between 0 and 1 under the first of `names` that is present."""
        for name in names:
            value = self.config.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise bad_config(name, f"{name} debe estar entre 0 y 1.", f"{name} must be between 0 and 1.")
            return float(value)
        return default

    def flag(self, name: str | bool, default: bool = False) -> bool:
        """The boolean under a key; a family's fixed answer passes through."""
        if isinstance(name, bool):
            return name
        value = self.config.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise bad_config(name, f"{name} debe ser true o false.", f"{name} must be true or false.")
        return value
