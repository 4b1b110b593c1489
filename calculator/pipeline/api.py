"""The site as an API: the data as static JSON files. Published addresses are a contract: a test pins their shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline import schema, toml_columns
from pipeline.bundle import newest, whole
from pipeline.text import anchor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.files import Data, Row
    from pipeline.history import History

VERSION = "1"
LICENSE = {"name": "CC0 1.0", "url": "https://creativecommons.org/publicdomain/zero/1.0/"}
ABOUT = {
    "offers": "Prices of GPU offers, one per offer and purchase type, with source and date.",
    "gpus": "GPUs: memory, speed, precisions, links.",
    "models": "Models and their architecture, as in their own config.json.",
    "providers": "What each provider offers; null is unknown, not no.",
    "measurements": "Memory peaks that others measured and published.",
    "bounds": "What fitted and what did not, on cards of known memory.",
    "throughput": "Tokens per second that others measured and published.",
    "history": "What each offer cost on each day that someone looked.",
}


def api(data: Data, past: History) -> dict[str, str]:
    """Every file by its path under api/v1/. The same data gives the same bytes."""
    lists: dict[str, list[dict[str, Any]]] = {
        "offers": [{"provider": row.values["provider"], **_row(schema.PRICES, row)} for row in data.prices],
        "gpus": [_row(schema.GPUS, row) for row in data.gpus],
        "models": [_row(schema.MODELS, row) | {"config": _config(data, row)} for row in data.models],
        "providers": [_provider(row) for row in data.providers],
        "measurements": [_row(schema.MEMORY, row) for row in data.memory],
        "bounds": [_row(schema.BOUNDS, row) for row in data.bounds],
        "throughput": [_row(schema.THROUGHPUT, row) for row in data.throughput],
        "history": _history(past),
    }
    files: dict[str, dict[str, Any]] = {f"{name}.json": {name: rows} for name, rows in lists.items()}
    files |= {
        f"providers/{provider['id']}.json": {
            "provider": provider,
            "offers": _where(lists["offers"], "provider", provider["id"]),
        }
        for provider in lists["providers"]
    }
    files |= {
        f"gpus/{gpu['id']}.json": {
            "gpu": gpu,
            "offers": _where(lists["offers"], "gpu", gpu["id"]),
            "history": _where(lists["history"], "gpu", gpu["id"]),
        }
        for gpu in lists["gpus"]
    }
    envelope = {"version": VERSION, "data": newest(data).isoformat(), "license": LICENSE}
    written = {path: _json(envelope | content) for path, content in files.items()}
    written |= {f"schema/{name}.json": _json(rows) for name, rows in schemas().items()}
    written["openapi.json"] = _json(openapi())
    written["index.json"] = _json(envelope | {"files": sorted(written)})
    return written


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of one row of each list."""
    offer = schema.json_schema(schema.PRICES)
    offer["properties"] = {"provider": {"type": "string", "description": "Id of the provider."}} | offer["properties"]
    offer["required"] = ["provider", *offer["required"]]
    model = schema.json_schema(schema.MODELS)
    model["properties"]["config"] = {"type": "object", "description": "Architecture keys of the model's config.json."}
    provider = schema.json_schema(schema.PROVIDERS)
    provider["properties"] = {"id": {"type": "string", "description": "Id of the provider."}} | provider["properties"]
    provider["properties"]["sources"] = {"type": "array", "items": schema.json_object(toml_columns.PROVIDER_SOURCE)}
    reading = {"type": "object", "properties": {"day": {"type": "string"}, "usd_per_hour": {"type": "number"},
                                                "source_url": {"type": "string"}}}  # fmt: skip
    key = {name: offer["properties"][name] for name in ("provider", *schema.PRICES.key)}
    history = {"$schema": offer["$schema"], "title": "history", "description": ABOUT["history"], "type": "object",
               "properties": {**key, "readings": {"type": "array", "items": reading}}}  # fmt: skip
    return {
        "offers": offer | {"title": "offers"},
        "gpus": schema.json_schema(schema.GPUS),
        "models": model,
        "providers": provider,
        "measurements": schema.json_schema(schema.MEMORY) | {"title": "measurements"},
        "bounds": schema.json_schema(schema.BOUNDS),
        "throughput": schema.json_schema(schema.THROUGHPUT),
        "history": history,
    }


def openapi() -> dict[str, Any]:
    """OpenAPI 3.1 description of the files."""
    found = schemas()
    paths = {f"/{name}.json": _get(ABOUT[name], {name: _many(name)}) for name in found}
    paths["/providers/{id}.json"] = _get(
        "One provider and its offers.", {"provider": _one("providers"), "offers": _many("offers")}, "lambda"
    )
    paths["/gpus/{id}.json"] = _get(
        "One GPU, its offers and their past.",
        {"gpu": _one("gpus"), "offers": _many("offers"), "history": _many("history")},
        "rtx-4090-24gb",
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ajuste",
            "version": VERSION,
            "summary": "GPU prices, specifications, models and measurements for fine-tuning, as static files.",
            "license": {"name": LICENSE["name"], "url": LICENSE["url"]},
        },
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": {
                name: {key: value for key, value in rows.items() if key != "$schema"} for name, rows in found.items()
            }
        },
    }


def _get(about: str, content: dict[str, Any], example: str = "") -> dict[str, Any]:
    envelope = {
        "version": {"type": "string"},
        "data": {"type": "string", "description": "Latest day on which someone looked at a price."},
        "license": {"type": "object"},
    }
    body = {"type": "object", "properties": envelope | content}
    responses = {"200": {"description": about, "content": {"application/json": {"schema": body}}}}
    operation: dict[str, Any] = {"get": {"summary": about, "responses": responses}}
    if example:
        operation["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, "example": example}
        ]
    return operation


def _one(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _many(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _one(name)}


def _row(table: schema.Table, row: Row) -> dict[str, Any]:
    return {name: whole(row.values[name]) for name in table.names}


def _provider(row: Row) -> dict[str, Any]:
    return {"id": row.values["id"], **_row(schema.PROVIDERS, row), "sources": row.values["sources"]}


def _config(data: Data, row: Row) -> dict[str, Any]:
    return dict(data.configs[row.values["id"]].values["config"])


def _history(past: History) -> list[dict[str, Any]]:
    names = ("provider", *schema.PRICES.key)
    return [
        dict(zip(names, key, strict=True))
        | {
            "readings": [
                {
                    "day": reading.day.isoformat(),
                    "usd_per_hour": whole(reading.usd_per_hour),
                    "source_url": reading.source_url,
                }
                for reading in readings
            ]
        }
        for key, readings in sorted(past.items(), key=lambda item: anchor(*item[0]))
    ]


def _where(rows: Iterable[dict[str, Any]], name: str, value: str) -> list[dict[str, Any]]:
    return [row for row in rows if row[name] == value]


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
