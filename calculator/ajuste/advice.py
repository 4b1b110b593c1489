"""What the numbers alone do not say: what will break this run or its bill, and where the guide explains it.

Each piece has a stable id, a severity (`serious`: it fails; `warning`: it costs; `note`: good to know), the page of the
guide, and the values its sentence needs. The sentences live in the string files of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .architecture import Architecture, parameters
from .card import Memory
from .catalog import Catalog
from .constants import MID
from .fit import Fitter, Placement, runs_on
from .host import disk, host_ram, merged_bytes
from .lengths import mean_tokens, row_tokens
from .levers import required_mid
from .memory import GB, GIB
from .offers import FRESH_DAYS, Ranked, Ranking
from .peft import fused_expert_parameters
from .plan import Plan
from .spot import Spot
from .throughput import PCIE_GB_PER_S
from .wanted import rents

SMALL_GB = 24  # labels of the cards that one can buy for a desk
SEVERITIES = ("serious", "warning", "note")


class Question(NamedTuple):
    """Everything advice looks at."""

    plan: Plan
    arch: Architecture
    memory: Memory
    placement: Placement | None
    ranking: Ranking
    fitter: Fitter
    catalog: Catalog

    @property
    def lead(self) -> Ranked | None:
        """The offer that leads: the cheapest pick; none for who has the machine."""
        return self.ranking.picks["cheapest"] if rents(self.plan) else None


Piece = tuple[str, str, str, dict[str, Any]]


def advice(
    plan: Plan,
    arch: Architecture,
    memory: Memory,
    placement: Placement | None,
    ranking: Ranking,
    fitter: Fitter,
    catalog: Catalog,
) -> list[dict[str, Any]]:
    """All advice that applies, the serious first."""
    question = Question(plan, arch, memory, placement, ranking, fitter, catalog)
    pieces = [piece for rule in RULES for piece in rule(question)]
    pieces.sort(key=lambda piece: SEVERITIES.index(piece[1]))
    return [{"id": i, "severity": severity, "page": page, "values": values} for i, severity, page, values in pieces]


def about_memory(q: Question) -> Iterator[Piece]:
    """Moments that surprise, and what does not move memory."""
    plan, memory = q.plan, q.memory
    run, training = memory.whole_run.mid / GIB, memory.required.mid / GIB
    values = {"run_gib": run, "training_gib": training}
    if memory.whole_run_peak == "evaluation" and run > 1.02 * training:
        yield "evaluation-peak", "warning", "guide/memory/moments/", values
    if memory.whole_run_peak in ("save", "load") and run > 1.02 * training:
        yield (
            "save-peak" if memory.whole_run_peak == "save" else "load-peak",
            "warning",
            "guide/memory/moments/",
            values,
        )
    if plan.padding != "packed":
        yield "longest-first", "note", "guide/run/smoke-test/", {"tokens": plan.sequence_length}
    if plan.has_lora and plan.lora.rank > 16:
        adapters = sum(
            memory.table.terms(memory.table.peak_index).get(t, 0.0) for t in ("adapters", "optimizer_states")
        )
        yield "rank-is-not-the-lever", "note", "guide/methods/lora/", {"rank": plan.lora.rank, "gib": adapters / GIB}
    if "dataset.examples" not in plan.defaults and plan.dataset.examples >= 50_000:
        yield "dataset-size", "note", "guide/memory/", {"examples": plan.dataset.examples}
    if not plan.trains_base and not plan.is_quantized and plan.base_dtype == "fp32":
        # Nobody who did not ask for it expects twice the weights.
        severity = "serious" if "base_dtype" in plan.defaults else "warning"
        half = required_mid(plan.replace(base_dtype="bf16"), q.arch)
        old = q.placement is not None and q.placement.gpu.supports_bf16 is False
        words = {"half": "fp16", "dtype": "float16"} if old else {"half": "bf16", "dtype": "bfloat16"}
        saved = required_mid(plan, q.arch) - half
        yield "fp32-base", severity, "guide/methods/lora/", {"gib": saved / GIB, "half_gib": half / GIB, **words}
    if plan.trains_base and parameters(q.arch) > 3e9 and not any(r.placement.count == 1 for r in q.ranking.ranked):
        yield "full-needs-many", "warning", "guide/methods/", {"gib": memory.required.mid / GIB}
    yield from _experts(q)
    if plan.assume_family:
        yield "assumed-family", "serious", "methodology/", {"family": plan.assume_family}
    if plan.save.merge:
        merged = merged_bytes(q.arch) / GB
        yield "merge-memory", "note", "guide/memory/moments/", {"gb": merged}
    if plan.sequence_length < (plan.dataset.max_tokens or 0):
        values = {"tokens": plan.sequence_length, "longest": plan.dataset.max_tokens or 0}
        yield "rows-truncated", "warning", "guide/run/settings/", values


def _experts(q: Question) -> Iterator[Piece]:
    """Experts that are one large parameter, as in transformers 5: module names do not reach them."""
    plan, fused = q.plan, sum(y.count * y.expert_weights for y in q.arch.layers)
    if not fused or plan.trains_base or plan.quantize_moe_experts:
        return
    values = {"share": fused / parameters(q.arch), "gib": 2 * fused / GIB}
    if plan.is_quantized and plan.quantization != "gptq-int4":
        yield "experts-not-quantized", "serious", "guide/methods/qlora/", values
    targets = plan.lora.targets
    named = not isinstance(targets, str) and any(m.name in targets for y in q.arch.layers for m in y.experts)
    wanted = plan.has_lora and (targets == "all-linear" or named)
    if wanted and not any(fused_expert_parameters(y, plan) for y in q.arch.layers):
        yield "experts-not-adapted", "warning", "guide/methods/lora/", values


def about_the_card(q: Question) -> Iterator[Piece]:
    """What this GPU cannot do, and how several of them talk."""
    placement = q.placement
    if placement is None:
        # What only misses the budget, the deadline or RAM does fit on some GPU.
        fitting = ("over-budget", "misses-deadline", "too-little-ram")
        if q.catalog.gpus and not any(group["reason"] in fitting for group in q.ranking.excluded):
            yield "fits-nowhere", "serious", "guide/memory/reduce/", {"gib": q.memory.whole_run.mid / GIB}
        return
    gpu = placement.gpu
    if not gpu.is_ranked:
        yield "unsupported-accelerator", "serious", "gpus/", {"gpu": gpu.id}
        return
    # Of a GPU asked for, the verdict is on as many as asked: several that would be tight are no warning about one.
    if placement.verdict == "tight" and (q.plan.gpu is None or placement.count == q.fitter.counts()[0]):
        yield from _tight(placement)
    if gpu.supports_bf16 is False:
        yield "no-bf16", "warning", "guide/hardware/", {"gpu": gpu.id}
    if not runs_on(placement.site.plan, gpu):
        yield "no-fp8", "serious", "guide/hardware/", {"gpu": gpu.id}
    if gpu.supports_flash_attention_2 is False:
        yield "no-flash-attention", "note", "guide/hardware/", {"gpu": gpu.id}
    if placement.count > 1 and placement.strategy in ("fsdp1", "fsdp2", "zero3") and _is_pcie(placement):
        rate = PCIE_GB_PER_S.get(int(gpu.pcie_generation or 4), 32.0)
        yield "pcie-sharding", "warning", "guide/hardware/links/", {"gpu": gpu.id, "gb_per_s": rate}
    if placement.count > 1 and placement.strategy == "ddp":
        yield "ddp-does-not-pool", "note", "guide/hardware/several-gpus/", {"gpus": placement.count}
    if placement.count > 1 and q.fitter.fixed_gpus is False and placement.strategy == "ddp":
        yield from _more_gpus(q, placement)
    if gpu.segment == "datacenter" and (gpu.memory_label_gb or 0) >= 80 and _small_card_does(q):
        yield "pretraining-hardware", "note", "guide/hardware/", {"gpu": gpu.id}


def _tight(placement: Placement) -> Iterator[Piece]:
    """It may fail; and where even the middle estimate is more than the card has, it probably does."""
    required, usable = placement.required, placement.gpu.usable_gib
    values: dict[str, Any] = {"gpu": placement.gpu.id, "gib": required.high}
    if usable is not None and required.mid > usable:
        values |= {"run_gib": required.mid, "low_gib": required.low, "usable_gib": usable}
        yield "tight-unlikely", "serious", "guide/run/smoke-test/", values
    elif usable is None:
        yield "tight-unknown", "serious", "guide/run/smoke-test/", values
    else:
        yield "tight", "serious", "guide/run/smoke-test/", values


def _is_pcie(placement: Placement) -> bool:
    fabric = placement.gpu.interconnect or "pcie"
    return fabric == "pcie" or "bridge" in fabric


def _more_gpus(q: Question, placement: Placement) -> Iterator[Piece]:
    """What these GPUs bring over one: seldom their number."""
    one = q.fitter.place(placement.gpu, 1)
    if one.verdict != "no":
        rows = [p.tokens_per_second.mid / row_tokens(q.plan, p.micro_batch) for p in (placement, one)]
        times = rows[0] / rows[1]
        yield "more-gpus", "note", "guide/hardware/several-gpus/", {"gpus": placement.count, "times": times}


def _small_card_does(q: Question) -> bool:
    """One card of 24 GB or less fits it too, whatever GPU was asked for."""
    if q.fitter.fixed_gpus and q.plan.parallel.world > 1:
        return False
    small = [gpu for gpu in q.catalog.gpus.values() if gpu.memory_label_gb <= SMALL_GB]
    return any(q.fitter.place(gpu, 1).verdict == "fits" for gpu in small)


def about_the_batch(q: Question) -> Iterator[Piece]:
    """Padding that a larger micro-batch brings."""
    placement = q.placement
    if placement is None or q.plan.padding != "padded":
        return
    row, mean = row_tokens(q.plan, placement.micro_batch), mean_tokens(q.plan)
    if row > 1.3 * mean:
        values = {"share": 1 - mean / row, "micro_batch": placement.micro_batch}
        yield "padding-waste", "warning", "guide/run/settings/", values


def about_the_host(q: Question) -> Iterator[Piece]:
    """RAM, disk and processors of the machine that leads."""
    lead, room = q.lead, disk(q.plan, q.arch, MID).mid / GB
    # An offer with too little RAM never leads: where all are such, one of them says by how much.
    starved = next((group for group in q.ranking.excluded if group["reason"] == "too-little-ram"), None)
    if lead is not None and lead.ram_verdict == "tight":
        values = {"ram_gib": lead.stay.host_ram_gib.mid, "offer_gib": lead.offer.ram_gib}
        yield "host-ram", "warning", "guide/run/smoke-test/", values
    elif starved and not q.ranking.ranked:
        ram = host_ram(q.plan, q.arch, MID).mid * q.plan.parallel.nodes
        values = {"ram_gib": ram / GIB, "offer_gib": starved["cheapest"]["ram_gib"]}
        yield "host-ram", "serious", "guide/run/smoke-test/", values
    if room > 100:
        yield "disk", "note", "guide/memory/moments/", {"gb": room}
    if lead is not None and lead.offer.vcpus is not None:
        each = lead.offer.vcpus / lead.offer.gpus
        if each < MID["loader-vcpus-per-gpu"]:
            yield "loader-workers", "warning", "guide/run/settings/", {"vcpus": each}


def about_money(q: Question) -> Iterator[Piece]:
    """What makes a bill larger than hours × price."""
    lead, plan = q.lead, q.plan
    if lead is None:
        return
    provider = q.catalog.providers.get(lead.offer.provider, {})
    name = {"provider": lead.offer.provider}
    if lead.age_days is not None and lead.age_days > FRESH_DAYS:
        yield "old-price", "warning", "prices/", name | {"days": lead.age_days}
    if provider.get("autostop") is not True:
        yield "no-autostop", "note", "guide/cost/stop-the-bill/", name
    if provider.get("budget_alerts") is not True:
        yield "no-budget-alert", "note", "guide/cost/stop-the-bill/", name
    if provider.get("storage_billed_while_stopped") is True or plan.job.keep_storage_days:
        yield "storage-while-stopped", "warning", "guide/cost/stop-the-bill/", name
    if provider.get("kind") == "hyperscaler" and lead.bill.hours.mid < 24:
        yield "provider-mismatch", "note", "guide/providers/", name
    if lead.bill.hours.mid > 1:
        yield "stop-the-machine", "note", "guide/cost/stop-the-bill/", {"usd_per_day": 24 * lead.offer.usd_per_hour}
    if plan.job.experiments == 1 and lead.bill.hours.mid < 24:
        yield "experiments", "note", "guide/cost/", {"usd": lead.bill.usd.mid}


def about_spot(q: Question) -> Iterator[Piece]:
    """Spot where it pays, and spot without checkpoints."""
    pick, lead = q.ranking.picks["spot"], q.lead
    if pick is None or pick.spot is None or not rents(q.plan):
        return
    if lead is not None and pick.bill.usd.mid < 0.9 * lead.bill.usd.mid:
        values = {"share": 1 - pick.bill.usd.mid / lead.bill.usd.mid, "usd": pick.bill.usd.mid}
        yield "spot-is-cheaper", "note", "guide/cost/spot/", values
    spot: Spot = pick.spot
    if spot.checkpoints == 1 and spot.interruptions > 0.5:
        values = {"interruptions": spot.interruptions, "hours": spot.wall}
        yield "spot-without-checkpoints", "serious", "guide/cost/spot/", values


RULES = (about_memory, about_the_card, about_the_batch, about_the_host, about_money, about_spot)
