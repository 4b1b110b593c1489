"""JSON Schemas of the estimator's request and answer, for editors, clients and tests.

The request's comes from `contract.REQUEST`, field by field. The answer's is written here: what each part must hold, in
the shorthand of `RANGE`, `rows` and `record`. Not imported by the page.

    python -m ajuste.schema FOLDER      writes request.schema.json and answer.schema.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .contract import METHODS, REQUEST, REQUIRED, STRATEGIES, VERSION, Field

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


# ------------------------------------------------------------------------------------------------------- request


def request_schema() -> Schema:
    """The request: only the contract's fields, each with its types, range and accepted strings."""
    return {
        "$schema": DIALECT,
        "title": f"Ajuste request, contract {VERSION}",
        **_fields(REQUEST),
        "required": list(REQUIRED),
    }


def _fields(fields: dict[str, Field]) -> Schema:
    return {
        "type": "object",
        "properties": {name: field_schema(field) for name, field in fields.items()},
        "additionalProperties": False,
    }


def field_schema(field: Field) -> Schema:
    """One field: one schema for each accepted type, joined by `anyOf` where there are several."""
    schemas = [_typed(field, kind) for kind in field.types]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _typed(field: Field, kind: str) -> Schema:
    if kind in ("integer", "number"):
        return {"type": kind, "minimum": field.low, "maximum": field.high}
    if kind == "string":
        if field.choices:
            return {"enum": [*field.choices, *dict(field.spellings)]}
        return {"type": "string", "minLength": field.low, "maxLength": field.high}
    if kind == "array" and field.items is not None:
        return {"type": "array", "maxItems": field.high, "items": field_schema(field.items)}
    if kind == "object" and field.fields is not None:
        return _fields(field.fields)
    return {"type": kind}


# -------------------------------------------------------------------------------------------------------- answer


def record(**properties: Schema) -> Schema:
    """An object that has at least these properties (the contract may grow)."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def rows(item: Schema) -> Schema:
    """An array of these."""
    return {"type": "array", "items": item}


def null_or(schema: Schema) -> Schema:
    """This, or null where it is not known."""
    return {"anyOf": [{"type": "null"}, schema]}


NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
RANGE = record(low=null_or(NUMBER), mid=null_or(NUMBER), high=null_or(NUMBER))
VERDICT: Schema = {"enum": ["fits", "tight", "no"]}
MOMENT: Schema = {"enum": ["load", "forward", "loss", "backward", "optimizer_step", "evaluation", "save"]}
AMOUNTS: Schema = {"type": "object", "additionalProperties": null_or(NUMBER)}

MEMORY = record(
    allocated_gib=RANGE,
    reserved_gib=RANGE,
    required_gib=RANGE,
    paged_gib=NUMBER,
    peak_moment=MOMENT,
    moments=rows(record(id=MOMENT, gib=NUMBER, terms=AMOUNTS)),
    terms=rows(record(id=TEXT, gib=NUMBER, formula=TEXT, assumptions=rows(TEXT))),
    required_parts_gib=AMOUNTS,
    whole_run=record(peak_moment=MOMENT, required_gib=RANGE),
    host_ram_gib=RANGE,
    disk_gb=RANGE,
)
CARD = record(
    id=TEXT,
    count=INTEGER,
    strategy={"enum": list(STRATEGIES)},
    micro_batch=INTEGER,
    grad_accum=INTEGER,
    tokens_per_second=null_or(RANGE),
    usable_gib=null_or(NUMBER),
    required_gib=RANGE,
    verdict=VERDICT,
    reason={"enum": [None, "unsupported"]},
    headroom_gib=null_or(NUMBER),
    max_micro_batch=null_or(INTEGER),
    max_sequence_length=null_or(INTEGER),
)
TIME = record(tokens_per_second=RANGE, hours=RANGE, breakdown_h=AMOUNTS)
OFFER = record(
    provider=TEXT,
    offer=TEXT,
    purchase={"enum": ["on-demand", "spot"]},
    gpu=TEXT,
    gpus=INTEGER,
    region=null_or(TEXT),
    availability=null_or(NUMBER),
    usd_per_hour=NUMBER,
    verdict={"enum": ["fits", "tight"]},
    ram_verdict={"enum": [None, "fits", "tight"]},
    required_gib=RANGE,
    strategy={"enum": list(STRATEGIES)},
    micro_batch=INTEGER,
    grad_accum=INTEGER,
    tokens_per_second=RANGE,
    hours=RANGE,
    billed_hours=RANGE,
    usd=RANGE,
    finish_by_deadline=null_or(NUMBER),
    breakdown_usd=AMOUNTS,
    unknown=rows(TEXT),
    source_url=TEXT,
    checked=TEXT,
    price_basis={"enum": ["listed", "scaled"]},
    price_doubt={"enum": [None, "stale", "floor", "scaled"]},
    confidence={"enum": ["A", "B", "C"]},
    assumed=rows(TEXT),
)
GRID_ROW = record(
    model=TEXT,
    method={"enum": list(METHODS)},
    verdict=VERDICT,
    max_micro_batch=null_or(INTEGER),
    max_sequence_length=null_or(INTEGER),
    usd=null_or(RANGE),
)
BUDGET = record(
    budget_usd=NUMBER,
    deadline_h=NUMBER,
    inside={"type": "boolean"},
    usd=null_or(RANGE),
    hours=null_or(RANGE),
    largest=rows(record(method={"enum": list(METHODS)}, model=TEXT, usd=RANGE, hours=RANGE, gpu=TEXT, gpus=INTEGER)),
)
PICKS = record(**{name: null_or(INTEGER) for name in ("cheapest", "fastest", "spot", "maybe_cheaper")})
ADVICE = record(id=TEXT, severity=TEXT, values={"type": "object"})
ERROR = record(code=TEXT, field=null_or(TEXT), message=record(es=TEXT, en=TEXT), suggestions=rows(TEXT))

ANSWERED = record(
    ok={"const": True},
    versions=record(contract={"const": VERSION}, estimator=TEXT, data=null_or(TEXT)),
    plan={"type": "object"},
    model=record(id=null_or(TEXT), parameters=INTEGER, trainable_parameters=INTEGER),
    memory=MEMORY,
    headline=null_or(record(gpu=TEXT, count=INTEGER, strategy={"enum": list(STRATEGIES)}, memory=MEMORY)),
    gpus=rows(CARD),
    time=null_or(TIME),
    offers=rows(OFFER),
    rents={"type": "boolean"},
    picks=PICKS,
    grid=rows(GRID_ROW),
    budget=null_or(BUDGET),
    offers_total=INTEGER,
    excluded=rows(record(reason=TEXT, count=INTEGER)),
    pareto=rows(INTEGER),
    spot_curve=rows(record(checkpoints=INTEGER, interval_minutes=NUMBER, usd=NUMBER)),
    levers=rows(record(change={"type": "object"}, saves_gib=NUMBER, slowdown=null_or(NUMBER))),
    advice=rows(ADVICE),
)
REFUSED = record(ok={"const": False}, error=ERROR)


def answer_schema() -> Schema:
    """The answer: `ok` true with everything, or `ok` false with the error."""
    return {"$schema": DIALECT, "title": f"Ajuste answer, contract {VERSION}", "anyOf": [ANSWERED, REFUSED]}


def write(folder: Path) -> None:
    """Write both schemas."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in (("request", request_schema()), ("answer", answer_schema())):
        text = json.dumps(schema, ensure_ascii=False, indent=1)
        (folder / f"{name}.schema.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
