"""`ajuste explain`, `models`, `gpus`, `prices`: what the estimator and its catalog know."""

from __future__ import annotations

import argparse
import json
from typing import Any

from . import load_catalog
from .cli_answer import FITS
from .cli_input import UsageError, catalog_of
from .cli_text import Screen, packed_path
from .errors import near_matches


def explain(options: argparse.Namespace, screen: Screen) -> int:
    """A term or a constant: formula, values, source."""
    import tomllib

    from .memory import TERMS

    path = packed_path("assumptions.toml")
    constants: dict[str, Any] = {}
    if path is not None:
        with open(path, "rb") as file:
            constants = tomllib.load(file)
    names = {screen.page(f"term.{term}").lower(): term for term in TERMS} | {term: term for term in TERMS}
    wanted = options.term.strip().lower()
    term = names.get(wanted, names.get(wanted.replace(" ", "_").replace("-", "_")))
    if term is None and wanted not in constants:
        near = near_matches(wanted, (*names, *constants))
        raise UsageError(screen.say("unknown-term", term=options.term, near=", ".join(near) or "…"))
    formulas, read = _seen(term) if term else ({}, [wanted])
    found = {name: constants[name] for name in read if name in constants}
    if options.json:
        screen.line(
            json.dumps({"term": term, "formulas": formulas, "constants": found}, ensure_ascii=False, default=str)
        )
        return FITS
    if term:
        screen.line(screen.paint(screen.page(f"term.{term}"), "bold"))
        for formula, where in formulas.items():
            screen.pair(screen.say("formula"), f"{formula}   ({', '.join(where)})")
    if found:
        screen.line()
        rows = [
            (
                row["label"][screen.language],
                *(screen.number(row[side], 4) for side in ("low", "mid", "high")),
                row["unit"],
                name,
            )
            for name, row in found.items()
        ]
        screen.table(("constant", "low", "mid", "high", "unit", "key"), rows, right=(1, 2, 3))
        for name, row in found.items():
            page = f" {row['url']}" if "url" in row else ""
            screen.pair(screen.say("source"), f"{name}: {row['source']}{page} ({screen.say('seen')} {row['checked']})")
    return FITS


def _seen(term: str) -> tuple[dict[str, list[str]], list[str]]:
    """A term's formulas, each with the methods where it was met, and the constants it read: over example plans."""
    from .case import Case
    from .constants import MID
    from .formulas import formula
    from .memory import fullest_table
    from .resolve import resolve

    formulas: dict[str, list[str]] = {}
    read: set[str] = set()
    for request in EXAMPLES:
        plan, arch = resolve({"model": EXAMPLE_MODEL, **request}, load_catalog("{}"))
        table = fullest_table(plan, arch)
        case = Case(plan, arch, MID, table.stage)
        for index in range(len(table.instants)):
            value = table.terms(index).get(term)
            if value:
                where = formulas.setdefault(formula(term, value, case), [])
                where += [plan.method] if plan.method not in where else []
                read.update(table.assumptions_of(term))
    return formulas, sorted(read)


EXAMPLES: tuple[dict[str, Any], ...] = (
    {"method": "qlora", "optimizer": "adamw-8bit", "loss": "default"},
    {"method": "lora", "task": "dpo", "reference": "copy"},
    {"method": "full", "framework": "deepspeed", "parallel": {"strategy": "zero3", "gpus_per_node": 8}},
    {"method": "full", "framework": "hf", "precision": "bf16-mixed", "gradient_checkpointing": "none"},
)
EXAMPLE_MODEL = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


def _rows(options: argparse.Namespace, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    wanted = options.filter.lower()
    return [row for row in rows if wanted in " ".join(str(value) for value in row.values()).lower()]


def _listing(options: argparse.Namespace, screen: Screen, rows: list[dict[str, Any]]) -> bool:
    """Print rows as JSON where asked. Returns whether that was all."""
    if options.json:
        screen.line(json.dumps(rows, ensure_ascii=False))
    return bool(options.json)


def list_models(options: argparse.Namespace, screen: Screen) -> int:
    """The catalog's models, the smallest first."""
    catalog = catalog_of(options, screen)
    kept = ("id", "name", "family", "hf_id", "published_parameters")
    rows = _rows(options, [{name: row.get(name) for name in kept} for row in catalog.models.values()])
    if not _listing(options, screen, rows):
        shown = [
            (row["id"], row["hf_id"] or "", row["family"] or "", screen.number(row["published_parameters"], 12))
            for row in sorted(rows, key=lambda row: row["published_parameters"] or float("inf"))
        ]
        screen.table(("model", "key", "family", "parameters"), shown, right=(3,))
    return FITS


def list_gpus(options: argparse.Namespace, screen: Screen) -> int:
    """The catalog's GPUs, by usable memory."""
    catalog = catalog_of(options, screen)
    rows = _rows(options, [gpu._asdict() for gpu in catalog.gpus.values()])
    if not _listing(options, screen, rows):
        shown = [
            (
                row["id"],
                row["name"],
                screen.number(row["usable_gib"]),
                screen.number(row["memory_bandwidth_gb_per_s"], 4),
                screen.number(row["bf16_dense_tflops"]),
            )
            for row in sorted(rows, key=lambda row: (row["usable_gib"] or float("inf"), row["id"]))
        ]
        screen.table(("gpu", "key", "usable", "bandwidth", "tflops"), shown, right=(2, 3, 4))
    return FITS


def list_prices(options: argparse.Namespace, screen: Screen) -> int:
    """The catalog's prices, by GPU and price per GPU."""
    catalog = catalog_of(options, screen)
    rows = _rows(options, [offer._asdict() for offer in catalog.offers])
    for row in rows:
        del row["day"]
    if not _listing(options, screen, rows):
        shown = [
            (
                f"{row['gpus']} × {row['gpu']}",
                row["provider"],
                row["purchase"],
                screen.number(row["usd_per_hour"]),
                row["region"] or "",
                row["checked"],
            )
            for row in sorted(rows, key=lambda row: (row["gpu"], row["usd_per_hour"] / row["gpus"]))
        ]
        screen.table(("gpu", "provider", "purchase", "usd-h", "region", "seen"), shown, right=(3,))
    return FITS
