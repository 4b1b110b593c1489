"""The other way round: which models, by which methods, a card or a budget allows."""

from __future__ import annotations

from typing import Any

from .constants import PRESETS
from .errors import RequestError
from .fit import Fitter, Placement, fitter_of
from .offers import Ranker
from .plan import Plan
from .resolve import as_request, resolve

# What a cell brings along anew, and what another method does: everything else of the request stays as asked.
OWN_DEFAULTS = ("model", "method", "mode", "defaults", "calibration")
OF_THE_METHOD = ("quantization", "precision", "base_dtype", "kbit_upcast", "autocast")


def grid(ranker: Ranker) -> list[dict[str, Any]]:
    """Models × methods, smallest model first: verdict, largest micro-batch and sequence, bill.

    `have-gpu`: on those cards, as many and shared as the plan asks, else on one. `have-budget`: on the cheapest offer
    inside budget and deadline. The model and method asked for are the plan itself, so that both say the same.
    """
    plan, catalog = ranker.plan, ranker.catalog
    known = [name for name in PRESETS["grid"]["models"] if name in catalog.models]
    known.sort(key=lambda name: catalog.models[name].get("published_parameters") or 0)
    asked = _asked(plan)
    rows = []
    for model in known:
        for method in PRESETS["grid"]["methods"]:
            request = asked | {"model": model, "method": method}
            if method != plan.method:
                request = {name: value for name, value in request.items() if name not in OF_THE_METHOD}
            try:
                rows.append(_cell(plan, *_answering(request, ranker)))
            except RequestError:
                continue
    return rows


def _answering(request: dict[str, Any], ranker: Ranker) -> tuple[Fitter, Ranker]:
    """What places and bills a cell: on one card of it where the GPU is given and not how many."""
    plan, arch, catalog = ranker.plan, ranker.arch, ranker.catalog
    own = (request["model"], request["method"]) == (plan.model, plan.method)
    if not own:
        plan, arch = resolve(request, catalog)
    if ranker.plan.mode == "have-gpu" and not ranker.fitter.fixed_gpus:
        plan = plan.replace(filters=plan.filters._replace(max_gpus=1))
    fitter = fitter_of(plan, arch)
    if own:
        fitter.calibrated = ranker.fitter.calibrated
    return fitter, Ranker(fitter, catalog)


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
    return asked


def _cell(asked: Plan, fitter: Fitter, ranker: Ranker) -> dict[str, Any]:
    row = {"model": fitter.plan.model, "method": fitter.plan.method}
    if asked.mode == "have-gpu":
        placed = fitter.place(ranker.catalog.gpus[asked.gpu or ""], fitter.counts()[0])
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
