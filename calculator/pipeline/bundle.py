"""The catalog: what the estimator needs of data/, as one compact JSON text."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

from pipeline import schema
from pipeline.cells import earliest_day

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.files import Data, Row

FORMAT = 1


def bundle(data: Data, as_of: datetime.date) -> str:
    """Catalog of format 1. The same data and day give the same bytes."""
    catalog = {
        "format": FORMAT,
        "data": newest(data).isoformat(),
        "as_of": as_of.isoformat(),
        "gpus": [public(schema.GPUS, row) for row in _sorted(data.gpus)],
        "models": [
            public(schema.MODELS, row, ("id", "name", "family", "hf_id", "published_parameters"))
            | ({"gated": True} if row.values["gated"] else {})
            | {"config": data.configs[row.values["id"]].values["config"]}
            for row in _sorted(data.models)
        ],
        "providers": [{"id": row.values["id"], **public(schema.PROVIDERS, row)} for row in _sorted(data.providers)],
        "offers": [{"provider": row.values["provider"], **public(schema.PRICES, row)} for row in data.prices],
    }
    return json.dumps(catalog, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def newest(data: Data) -> datetime.date:
    """The latest day on which someone looked at a price."""
    return max((earliest_day(row.values["checked"]) for row in data.prices), default=datetime.date(1970, 1, 1))


def public(table: schema.Table, row: Row, names: Iterable[str] = ()) -> dict[str, Any]:
    """The columns of a row that leave the house, in the schema's order; whole floats as integers."""
    wanted = tuple(names) or tuple(column.name for column in table.columns if not column.inside)
    return {name: whole(row.values[name]) for name in wanted}


def whole(value: Any) -> Any:
    """A whole float as an integer: 24.0 is written 24."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.values["id"])
