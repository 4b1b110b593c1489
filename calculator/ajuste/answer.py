"""The answer: one request in, everything that the page, the command line and the API show out.

`estimate_json` never raises and never hangs: whatever is wrong with a request comes back as a structured error.
"""

from __future__ import annotations

import json
from typing import Any

from . import __version__
from .advice import advice
from .architecture import Architecture, parameters
from .calibration import calibrate
from .card import Memory, Range, card_of, estimate_memory
from .case import Case
from .catalog import Catalog, Gpu, load_catalog
from .constants import ASSUMPTIONS, MID
from .contract import VERSION
from .errors import RequestError, shorten
from .fit import Fitter, Placement, fitter_of, runs_on
from .formulas import formula
from .grid import grid
from .host import disk, host_ram
from .levers import levers
from .memory import GB, GIB
from .offers import MIDDLE, Ranked, Ranker, Ranking, Stay, price_doubt
from .plan import Plan
from .resolve import as_request, check_filters, resolve
from .wanted import rents

NEVER_HOURS = 1e5
LONGEST_REQUEST = 2_000_000  # characters


def estimate(request: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Answer a request.

    Args:
        request: fields of the contract; only `model` and `method` are required.
        catalog: what `load_catalog` returned.

    Returns:
        The answer, `ok` true; floats have 6 significant digits. Or `ok` false and the error.
    """
    try:
        if not isinstance(catalog, Catalog):
            raise RequestError("bad-catalog", "catalog", detail=type(catalog).__name__)
        answer: dict[str, Any] = significant(_answer(request, catalog))
        return answer
    except RequestError as error:
        return {"ok": False, "error": error.as_dict()}


def estimate_json(request: str, catalog: str | Catalog) -> str:
    """The same as text: JSON in, JSON out. Never raises.

    A catalog given as text is parsed at each call; keep the `Catalog` of `load_catalog` for many.
    """
    try:
        asked = parse(request)
        answer = estimate(asked, catalog if isinstance(catalog, Catalog) else load_catalog(catalog))
    except RequestError as error:
        answer = {"ok": False, "error": error.as_dict()}
    except Exception as error:  # the contract: whatever happens, a structured error comes back
        fault = RequestError("internal", detail=type(error).__name__)
        answer = {"ok": False, "error": fault.as_dict()}
    return as_json(answer)


def as_json(answer: dict[str, Any]) -> str:
    """An answer as text. Half a character that a request smuggled in ("\\ud800") is no UTF-8: it becomes "?"."""
    return (
        json.dumps(answer, ensure_ascii=False, check_circular=False, separators=(",", ":"))
        .encode("utf-8", "replace")
        .decode()
    )


def parse(text: object) -> dict[str, Any]:
    """The request's JSON. Raises `bad-json`; NaN, infinities, duplicate keys and giants are no valid JSON here.

    A byte order mark before it, as some editors write one, is skipped.
    """
    if not isinstance(text, str):
        raise RequestError("bad-json", detail=type(text).__name__)
    if len(text) > LONGEST_REQUEST:
        raise RequestError("bad-json", detail=f"> {LONGEST_REQUEST} characters")
    try:
        parsed: dict[str, Any] = json.loads(  # or another kind: `resolve` says so
            text.removeprefix("\ufeff"), parse_int=_integer, parse_constant=_no_number, object_pairs_hook=_unique
        )
        return parsed
    except RecursionError:
        raise RequestError("bad-json", detail="too deep") from None
    except ValueError as error:
        raise RequestError("bad-json", detail=str(error)[:120]) from None


def _integer(digits: str) -> int | float:
    """An integer literal; beyond 400 digits it is out of any range and only its size matters."""
    return int(digits) if len(digits) <= 400 else float("-inf" if digits.startswith("-") else "inf")


def _no_number(word: str) -> float:
    """NaN and the infinities, which Python's parser would take."""
    raise ValueError(word)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two values for one key nobody knows which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shorten(twice)} × {names.count(twice)}")
    return found


# --------------------------------------------------------------------------------------------------- assembling


def _answer(request: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    plan, arch = resolve(request, catalog)
    check_filters(plan, catalog)
    fitter = fitter_of(plan, arch)
    fitter.calibrated = calibrate(plan, catalog)
    memory = fitter.calibrated.of(estimate_memory(plan, arch))
    ranker = Ranker(fitter, catalog)
    ranking = ranker.ranking()
    shown = shown_offers(ranking, plan.filters.limit)
    stay = stay_of_interest(ranker, ranking, catalog)
    placed = stay.placement if stay else None
    cards = cards_of(fitter, catalog)
    cells = grid(ranker) if plan.mode != "find-gpu" else []
    answer: dict[str, Any] = {
        "ok": True,
        "versions": {"contract": VERSION, "estimator": __version__, "data": catalog.data},
        "plan": as_request(plan),
        "model": model_of(plan, arch),
        "memory": memory_of(memory, plan, arch),
        "headline": headline_of(cards[0] if plan.gpu else placed, fitter),
        "gpus": [row_of(fitter, placement) for placement in cards],
        "time": time_of(stay) if stay and stay.placement.verdict != "no" else None,
        "offers": [offer_of(row, ranker) for row in shown],
        "rents": rents(plan),
        "picks": {name: _index(shown, row) for name, row in ranking.picks.items()},
        "grid": cells,
        "budget": budget_of(plan, ranking, cells) if plan.mode == "have-budget" else None,
        "offers_total": len(ranking.ranked),
        "excluded": ranking.excluded,
        "pareto": pareto(shown),
        "spot_curve": spot_curve(ranking.picks["spot"], ranker),
        "levers": levers(plan, arch, placed, fitter, catalog),
    }
    answer["advice"] = advice(plan, arch, memory, placed, ranking, fitter, catalog)
    return answer


def model_of(plan: Plan, arch: Architecture) -> dict[str, Any]:
    """Identity and size of the model; trained parameters of the whole model, not of one rank."""
    whole = plan.replace(parallel=plan.parallel._replace(tp=1, pp=1, ep=1, strategy="none", gpus_per_node=1, nodes=1))
    return {
        "id": plan.model if isinstance(plan.model, str) else None,
        "parameters": parameters(arch),
        "trainable_parameters": int(Case(whole, arch, MID).trainable),
        "family": arch.family,
    }


def memory_of(memory: Memory, plan: Plan, arch: Architecture) -> dict[str, Any]:
    """The contract's `memory`: of the fullest rank, at the plan's micro-batch."""
    table = memory.table
    peak = table.terms(table.peak_index)
    case = Case(plan, arch, MID, table.stage)
    return {
        "allocated_gib": range_of(memory.allocated, GIB),
        "reserved_gib": range_of(memory.reserved, GIB),
        "required_gib": range_of(memory.required, GIB),
        "paged_gib": memory.paged / GIB,
        "peak_moment": table.peak_moment,
        "moments": [
            {
                "id": moment,
                "gib": table.totals[index] / GIB,
                "terms": {name: value / GIB for name, value in table.terms(index).items()},
            }
            for moment, index in table.moments().items()
        ],
        "terms": [
            {
                "id": name,
                "gib": value / GIB,
                "formula": formula(name, value, case),
                "assumptions": table.assumptions_of(name),
            }
            for name, value in peak.items()
        ],
        "required_parts_gib": {name: value / GIB for name, value in required_parts(memory, plan, arch).items()},
        "whole_run": {"peak_moment": memory.whole_run_peak, "required_gib": range_of(memory.whole_run, GIB)},
        "host_ram_gib": range_of(host_ram(plan, arch, MID), GIB),
        "disk_gb": range_of(disk(plan, arch, MID), GB),
    }


def required_parts(memory: Memory, plan: Plan, arch: Architecture) -> dict[str, float]:
    """From what tensors take to what a card must have, in the middle: the parts of `required`. Unit: bytes.

    A run of the user's moves the ranges, but does not say which tensor was larger: terms and moments stay as computed,
    and what the measurement adds (or takes, below 0) is a part of its own, so that the parts add up to `required`.
    """
    card, allocated = card_of(plan, arch), memory.table.peak
    context = min(card.fixed.mid, ASSUMPTIONS["cuda-context-gib"].mid * GIB)
    parts = {
        "allocated": allocated,
        "allocator_slack": allocated * card.slack.mid,
        "cuda_context": context,
        "nccl": card.fixed.mid - context,
    }
    needed = sum(parts.values())
    parts["engine"] = max(needed / card.share, card.engine.mid) - needed  # the generation engine's share of the card
    computed = sum(parts.values())
    moved = memory.required.mid - computed
    parts["measured_difference"] = moved if abs(moved) > 1e-9 * computed else 0.0  # 0 without calibration
    return {name: value for name, value in parts.items() if value}


def headline_of(placement: Placement | None, fitter: Fitter) -> dict[str, Any] | None:
    """The placement that the verdict speaks of, and `memory` as it is there.

    `memory` is of the plan as asked; a placement may share it among more GPUs, lack FlashAttention, or let gradients
    wait. Null where it runs another micro-batch than `memory` is for.
    """
    if placement is None or placement.micro_batch != fitter.plan.batch:
        return None
    plan = placement.site.plan.replace(micro_batch=placement.micro_batch, grad_accum=placement.accumulation)
    return {
        "gpu": placement.gpu.id,
        "count": placement.count,
        "strategy": placement.strategy,
        "memory": memory_of(fitter.calibrated.of(estimate_memory(plan, fitter.arch)), plan, fitter.arch),
    }


def cards_of(fitter: Fitter, catalog: Catalog) -> list[Placement]:
    """For each GPU: one card, and where one does not do, the fewest that fit. For a GPU asked for, every count.

    Where prices are known, only as many together as somebody rents out.
    """
    plan = fitter.plan
    asked = plan.gpu
    gpus = [catalog.gpus[asked]] if asked else [gpu for gpu in catalog.gpus.values() if gpu.is_ranked]
    cards = []
    several = plan.parallel.nodes > 1
    for gpu in gpus:
        counts = fitter.counts()
        fast = several and has_fast_network(gpu, catalog)
        first = fitter.place(gpu, counts[0], fast)
        cards.append(first)
        for count in counts[1:]:
            if asked is None and first.verdict == "fits":
                break
            if asked is None and catalog.offers and (gpu.id, count) not in catalog.rented:
                continue
            placed = fitter.place(gpu, count, fast)
            if asked is not None or placed.verdict == "fits":
                cards.append(placed)
            if asked is None and placed.verdict == "fits":
                break
    return cards


def row_of(fitter: Fitter, placement: Placement) -> dict[str, Any]:
    """One row of `gpus`."""
    gpu: Gpu = placement.gpu
    micro_batch, sequence = fitter.largest(placement)
    return {
        "id": gpu.id,
        "count": placement.count,
        "strategy": placement.strategy,
        "micro_batch": placement.micro_batch,
        "grad_accum": placement.accumulation,
        "usable_gib": gpu.usable_gib,
        "required_gib": placement.required,
        "verdict": placement.verdict,
        # What no room helps: without fp8 units, say.
        "reason": None if runs_on(placement.site.plan, gpu) else "unsupported",
        "headroom_gib": None if gpu.usable_gib is None else gpu.usable_gib - placement.required.mid,
        "max_micro_batch": micro_batch,
        "max_sequence_length": sequence,
        "tokens_per_second": None if placement.verdict == "no" else placement.tokens_per_second,
    }


def budget_of(plan: Plan, ranking: Ranking, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """What a budget buys: whether this job is inside it, for how much, and the largest model that is, by method."""
    row = ranking.picks["cheapest"] or (ranking.ranked[0] if ranking.ranked else None)
    largest = {
        cell["method"]: cell for cell in cells if cell["usd"] is not None
    }  # smallest model first: the last stays
    return {
        "budget_usd": plan.job.budget_usd,
        "deadline_h": plan.job.deadline_h,
        "inside": row is not None,
        "usd": row.bill.usd if row else None,
        "hours": row.bill.hours if row else None,
        "largest": [
            {name: cell[name] for name in ("method", "model", "usd", "hours", "gpu", "gpus")}
            for cell in largest.values()
        ],
    }


def stay_of_interest(ranker: Ranker, ranking: Ranking, catalog: Catalog) -> Stay | None:
    """What `time` is for: the GPU asked for, else the cheapest pick's, else the first offer's.

    Of the GPU asked for, on as many as asked, else on the fewest that may do (`tight` too: its verdict's own count),
    the cheapest offer's, whose storage and network are known.
    """
    fitter, row = ranker.fitter, ranking.picks["cheapest"]
    if fitter.plan.gpu is None:
        row = row or (ranking.ranked[0] if ranking.ranked else None)
        return row.stay if row else None
    gpu = catalog.gpus[fitter.plan.gpu]
    placed = [fitter.place(gpu, count, has_fast_network(gpu, catalog)) for count in fitter.counts()]
    placement = next((p for p in placed if p.verdict != "no"), placed[0])
    for offered in (row, *ranking.ranked):
        if offered is not None and offered.placement.count == placement.count:
            return offered.stay
    return Stay(ranker, placement, ranker.plan.job.persistent_storage)


def has_fast_network(gpu: Gpu, catalog: Catalog) -> bool:
    """Whether some provider of this GPU states a fast network between its machines."""
    providers = {offer.provider for offer in catalog.offers if offer.gpu == gpu.id}
    return any(catalog.providers.get(name, {}).get("multi_node_link") is not None for name in providers)


def time_of(stay: Stay) -> dict[str, Any]:
    """Tokens per second and hours of the whole job on a placement."""
    placement, hours = stay.placement, stay.hours
    return {
        "gpu": placement.gpu.id,
        "count": placement.count,
        "strategy": placement.strategy,
        "micro_batch": placement.micro_batch,
        "grad_accum": placement.accumulation,
        "tokens_per_second": placement.tokens_per_second,
        "hours": Range(*[h.total for h in hours]),
        "breakdown_h": hours[1].parts._asdict(),
    }


def shown_offers(ranking: Ranking, limit: int) -> list[Ranked]:
    """The first `limit` offers; picks that come later take the last places, so that the order by price stays.

    Picks look at all offers and are always shown, whatever the limit.
    """
    kept = {id(row) for row in ranking.picks.values() if row is not None}
    for row in ranking.ranked:
        if len(kept) >= limit:
            break
        kept.add(id(row))
    return [row for row in ranking.ranked if id(row) in kept]


def _index(shown: list[Ranked], row: Ranked | None) -> int | None:
    for index, other in enumerate(shown):
        if other is row:
            return index
    return None


def offer_of(row: Ranked, ranker: Ranker) -> dict[str, Any]:
    """One row of `offers`."""
    offer, placement, total = row.offer, row.placement, row.bill
    return {
        "provider": offer.provider,
        "offer": offer.offer,
        "purchase": offer.purchase,
        "gpu": offer.gpu,
        "gpus": offer.gpus,
        "machines": ranker.plan.parallel.nodes,
        "region": offer.region,
        "availability": ranker.plan.job.availability if offer.purchase == "spot" else None,
        "usd_per_hour": offer.usd_per_hour,
        "verdict": placement.verdict,
        "ram_verdict": row.ram_verdict,
        "required_gib": placement.required,
        "strategy": placement.strategy,
        "micro_batch": placement.micro_batch,
        "grad_accum": placement.accumulation,
        "tokens_per_second": placement.tokens_per_second,
        "hours": total.hours,
        "billed_hours": total.billed,
        "usd": total.usd,
        "finish_by_deadline": row.finish_by_deadline,
        "breakdown_usd": total.breakdown,
        "unknown": list(total.unknown),
        "spot": spot_of(row, ranker),
        "source_url": offer.source_url,
        "checked": offer.checked,
        "age_days": row.age_days,
        "price_basis": offer.price_basis,
        "price_doubt": price_doubt(row),
        "confidence": offer.confidence,
        "assumed": list(offer.assumed),
    }


def spot_of(row: Ranked, ranker: Ranker) -> dict[str, Any] | None:
    """What a spot offer's bill rests on: of one experiment."""
    spot = row.spot
    if spot is None:
        return None
    hours = row.stay.at(MIDDLE)
    bare = ranker.spot(hours, "mid", row.stay.persistent, 1, bridged=row.bridged)
    n = ranker.plan.job.experiments
    return {
        "checkpoints": spot.checkpoints,
        "interval_minutes": 60 * hours.work / n / spot.checkpoints,
        "interruptions": spot.interruptions,
        "hours_p50": row.stay.ends_by(0.5, bridged=row.bridged),
        "hours_p90": row.stay.ends_by(0.9, bridged=row.bridged),
        # Null: so unlikely to end that the figure says nothing.
        "hours_without_checkpoints": bare.wall if bare.wall < NEVER_HOURS else None,
        "usd_without_checkpoints": row.offer.usd_per_hour * bare.billed * n if bare.wall < NEVER_HOURS else None,
        # On-demand at this price per hour costs the same.
        "break_even_usd_per_hour": row.usd / hours.total,
    }


def spot_curve(row: Ranked | None, ranker: Ranker) -> list[dict[str, float]]:
    """Expected bill of the spot pick's hours by how often it saves: the best number of saves, halved and doubled."""
    if row is None or row.spot is None:
        return []
    rental = row.stay.rental(MIDDLE, on_spot=True, bridged=row.bridged)
    hours, n, price = rental.hours, rental.experiments, row.offer.usd_per_hour
    per_hour = (price + rental.bridged * (row.fallback - price)) * (1 + rental.servers)
    points = []
    for count in sorted({max(1, round(row.spot.checkpoints * factor)) for factor in (0, 0.125, 0.25, 0.5, 1, 2, 4, 8)}):
        spot = ranker.spot(hours, "mid", row.stay.persistent, count, bridged=row.bridged)
        if spot.wall < NEVER_HOURS:
            usd = row.usd + n * (spot.billed - row.spot.billed) * per_hour
            points.append({"checkpoints": count, "interval_minutes": 60 * hours.work / n / count, "usd": usd})
    return points


def pareto(shown: list[Ranked]) -> list[int]:
    """Indexes of shown offers that no other beats in both money and time."""
    front, quickest = [], float("inf")
    for index, row in enumerate(shown):
        if row.wall < quickest:
            quickest = row.wall
            front.append(index)
    return front


def range_of(value: Range, unit: float) -> Range:
    """A range in another unit."""
    return Range(value.low / unit, value.mid / unit, value.high / unit)


PLAIN = frozenset((str, int, bool, type(None)))  # what JSON has as it is


def significant(value: Any) -> Any:
    """The answer as JSON has it: floats to 6 significant digits, infinities as null, ranges as objects."""
    return _significant(value, {})


def _significant(value: Any, ranges: dict[Range, dict[str, float | None]]) -> Any:
    """`ranges`: those met before; offers on one GPU share most of theirs."""
    kind = type(value)
    if kind is float:
        return float(f"{value:.6g}") if value - value == 0 else None
    if kind is dict:
        return {key: inner if type(inner) in PLAIN else _significant(inner, ranges) for key, inner in value.items()}
    if kind in PLAIN:
        return value
    if kind is Range:
        found = ranges.get(value)
        if found is None:
            found = ranges[value] = {name: _significant(end, ranges) for name, end in value._asdict().items()}
        return dict(found)
    return [_significant(inner, ranges) for inner in value]
