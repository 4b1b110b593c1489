"""Changes that would make it fit, or fit better: gigabytes saved against time lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .architecture import Architecture
from .card import card_of
from .errors import RequestError
from .fit import Placement
from .memory import GIB, middle_totals
from .plan import Plan
from .throughput import compute_of, rates_of, tokens_per_second, work_of

LEAST_SAVING_GIB = 0.1


def levers(plan: Plan, arch: Architecture, placement: Placement | None) -> list[dict[str, Any]]:
    """Changes by GiB of required memory saved, most first; `slowdown` on the placement's GPU, same micro-batch.

    `slowdown` is 1 when there is no GPU to time it on and when the time does not change.
    """
    found: list[dict[str, Any]] = []
    needed_now, speed_now = required_mid(plan, arch), placement and speed(plan, arch, placement)
    for change, changed in candidates(plan):
        try:
            needed = required_mid(changed, arch)
        except RequestError:
            continue
        saved = (needed_now - needed) / GIB
        if saved >= LEAST_SAVING_GIB:
            slowdown = speed_now / speed(changed, arch, placement) if placement and speed_now else 1.0
            found.append({"change": change, "saves_gib": saved, "slowdown": slowdown})
    found.sort(key=lambda lever: -lever["saves_gib"])
    return found


def required_mid(plan: Plan, arch: Architecture) -> float:
    """Required memory of the whole run, middle value only. Unit: bytes."""
    card = card_of(plan, arch)
    return max(middle_totals(plan, arch, "whole")) * (1 + card.slack.mid) + card.fixed.mid


def speed(plan: Plan, arch: Architecture, placement: Placement) -> float:
    """Tokens per second of a plan on a placement's GPUs."""
    placed = plan.replace(parallel=placement.site.plan.parallel._replace(offload=plan.parallel.offload))
    rates = rates_of(placement.gpu, compute_of(placed), placed)
    return tokens_per_second(work_of(placed, arch), rates, placed, placed.batch, placed.grad_accum)


def candidates(plan: Plan) -> Iterator[tuple[dict[str, Any], Plan]]:
    """Changes that apply to a plan, as fields of the request, with the plan they lead to."""
    yield from _of_numbers(plan)
    yield from _of_activations(plan)
    yield from _of_size(plan)


def _of_numbers(plan: Plan) -> Iterator[tuple[dict[str, Any], Plan]]:
    if plan.trains_base:
        if plan.precision in ("bf16-mixed", "bf16-master", "fp32"):
            yield {"precision": "bf16"}, plan.replace(precision="bf16", base_dtype="bf16", autocast=False)
        if plan.optimizer in ("adamw", "adamw-foreach", "lion", "muon"):
            yield {"optimizer": "adamw-8bit"}, plan.replace(optimizer="adamw-8bit")
            yield {"optimizer": "paged-adamw-8bit"}, plan.replace(optimizer="paged-adamw-8bit")
        if not plan.optimizer_in_backward and plan.grad_accum == 1 and plan.parallel.world == 1:
            yield {"optimizer_in_backward": True}, plan.replace(optimizer_in_backward=True)
        lora = plan.replace(
            method="lora", precision=None, base_dtype="bf16", autocast=True, optimizer_in_backward=False
        )
        yield {"method": "lora"}, lora
        yield {"method": "qlora"}, lora.replace(method="qlora", quantization="nf4-nested")
        return
    if plan.optimizer == "adamw-foreach":
        yield {"optimizer": "adamw"}, plan.replace(optimizer="adamw")
    if not plan.is_quantized:
        if plan.base_dtype == "fp32":
            yield {"base_dtype": "bf16"}, plan.replace(base_dtype="bf16")
        if plan.method == "lora":
            quantised = plan.replace(method="qlora", quantization="nf4-nested", base_dtype="bf16")
            yield {"method": "qlora"}, quantised
    if plan.kbit_upcast:
        yield {"kbit_upcast": False}, plan.replace(kbit_upcast=False)
    if plan.train_embeddings:
        yield {"train_embeddings": False}, plan.replace(train_embeddings=False)


def _of_activations(plan: Plan) -> Iterator[tuple[dict[str, Any], Plan]]:
    if plan.gradient_checkpointing != "full":
        yield {"gradient_checkpointing": "full"}, plan.replace(gradient_checkpointing="full")
    elif not plan.activation_offload:
        yield {"activation_offload": True}, plan.replace(activation_offload=True)
    if plan.attention == "eager":
        yield {"attention": "sdpa"}, plan.replace(attention="sdpa")
    if plan.loss != "fused":
        yield {"loss": "fused"}, plan.replace(loss="fused")
    if plan.outputs_alive:
        yield {"outputs_alive": False}, plan.replace(outputs_alive=False)
    if plan.allocator == "default":
        yield {"allocator": "expandable"}, plan.replace(allocator="expandable")


def _of_size(plan: Plan) -> Iterator[tuple[dict[str, Any], Plan]]:
    if plan.batch > 1:
        yield {"micro_batch": 1}, plan.replace(micro_batch=1, grad_accum=plan.grad_accum * plan.batch)
    if plan.sequence_length >= 512:
        half = plan.sequence_length // 2
        yield {"sequence_length": half}, plan.replace(sequence_length=half)
    if plan.eval.examples and plan.eval.batch > 1:
        yield {"eval": {"batch": 1}}, plan.replace(eval=plan.eval._replace(batch=1))
    if plan.eval.examples and plan.eval.keep_logits:
        yield {"eval": {"keep_logits": False}}, plan.replace(eval=plan.eval._replace(keep_logits=False))
    parallel = plan.parallel
    if parallel.world > 1 and parallel.strategy in ("ddp", "zero1", "zero2"):
        yield {"parallel": {"strategy": "fsdp2"}}, plan.replace(parallel=parallel._replace(strategy="fsdp2"))
    if parallel.strategy in ("zero3", "fsdp1", "fsdp2") and parallel.offload == "none":
        yield {"parallel": {"offload": "all"}}, plan.replace(parallel=parallel._replace(offload="all"))
