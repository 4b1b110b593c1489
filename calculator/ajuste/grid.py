"""The other way round: which models, by which methods, a card or a budget allows."""

from __future__ import annotations

from typing import Any

from .catalog import Catalog
from .constants import PRESETS
from .errors import RequestError
from .fit import Fitter, Placement
from .offers import Ranker
from .plan import Plan
from .resolve import as_request, resolve

# What a model or a method brings along anew: everything else of the request stays as asked.
OWN_DEFAULTS = ("model", "method", "mode", "defaults", "calibration")


def grid(plan: Plan, catalog: Catalog) -> list[dict[str, Any]]:
    """Models × methods, smallest model first: verdict, largest micro-batch and sequence, bill.

    `have-gpu`: on that card. `have-budget`: on the cheapest offer inside budget and deadline.
    """
    known = [name for name in PRESETS["grid"]["models"] if name in catalog.models]
    known.sort(key=lambda name: catalog.models[name].get("published_parameters") or 0)
    asked = _asked(plan)
    if plan.mode == "have-gpu":  # one card of it
        asked["filters"] = asked.get("filters", {}) | {"max_gpus": 1}
    rows = []
    for model in known:
        for method in PRESETS["grid"]["methods"]:
            request = asked | {"model": model, "method": method}
            try:
                rows.append(_cell(request, plan, catalog))
            except RequestError:
                continue
    return rows


def _asked(plan: Plan) -> dict[str, Any]:
    """The fields that the request itself gave, without those that belong to its own model and method."""
    asked: dict[str, Any] = {}
    for name, value in as_request(plan).items():
        if name in OWN_DEFAULTS or name in plan.defaults or value is None:
            continue
        if isinstance(value, dict):
            inner = {k: v for k, v in value.items() if f"{name}.{k}" not in plan.defaults and v is not None}
            if inner:
                asked[name] = {k: list(v) if isinstance(v, tuple) else v for k, v in inner.items()}
        else:
            asked[name] = value
    for name in ("quantization", "precision", "base_dtype", "kbit_upcast", "autocast"):
        asked.pop(name, None)
    return asked


def _cell(request: dict[str, Any], plan: Plan, catalog: Catalog) -> dict[str, Any]:
    own, arch = resolve(request | {"mode": "find-gpu"}, catalog)
    fitter = Fitter(own, arch, fixed_gpus=False, fixed_strategy=False)
    ranker = Ranker(fitter, catalog)
    row = {"model": own.model, "method": own.method}
    if plan.mode == "have-gpu":
        placed = fitter.place(catalog.gpus[plan.gpu or ""], 1)
        best = None if placed.verdict == "no" else ranker.cheapest()
        return row | _fit(fitter, placed) | {"usd": None if best is None else best.bill.usd}
    best = ranker.cheapest()
    if best is None:
        return row | {"verdict": "no", "max_micro_batch": 0, "max_sequence_length": 0, "usd": None}
    placed = best.placement
    return (
        row
        | _fit(fitter, placed)
        | {
            "usd": best.bill.usd,
            "gpu": placed.gpu.id,
            "gpus": placed.count,
            "hours": best.bill.hours,
        }
    )


def _fit(fitter: Fitter, placed: Placement) -> dict[str, Any]:
    micro_batch, sequence = fitter.largest(placed)
    return {"verdict": placed.verdict, "max_micro_batch": micro_batch, "max_sequence_length": sequence}
