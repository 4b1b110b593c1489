"""Changes that would make it fit, or fit better: gigabytes saved against time lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .architecture import Architecture
from .card import card_of, estimate_memory
from .catalog import Catalog, Gpu
from .errors import RequestError
from .fit import COUNTS, Fitter, Placement, in_fp16
from .memory import GIB, middle_totals
from .plan import Plan
from .records import NamedTuple
from .throughput import compute_of, rates_of, tokens_per_second, work_of

LEAST_SAVING_GIB = 0.1


def levers(
    plan: Plan, arch: Architecture, placement: Placement | None, fitter: Fitter, catalog: Catalog
) -> list[dict[str, Any]]:
    """Changes by GiB of required memory saved, most first; `slowdown` on the placement's GPU, same micro-batch.

    `slowdown` is 1 when there is no GPU to time it on and when the time does not change; all are against the plan as it
    would run on those GPUs. Where the plan does not fit, each says whether it then does, those that do come first, and
    where none is enough the smallest combination is added; and more of the same GPU, and the cheapest offer of another.
    """
    if placement is not None and plan.gpu is not None and not fitter.fixed_gpus:
        one = fitter.place(placement.gpu, 1)  # what would make it fit on one, where several do
        placement = placement if one.verdict == "fits" else one
    half = half_of(placement.gpu) if placement is not None else "bf16"
    if half == "fp16":
        plan = in_fp16(plan)
    found: list[dict[str, Any]] = []
    needed_now, speed_now = required_mid(plan, arch), placement and speed(plan, arch, placement)
    for change, changed in candidates(plan, half):
        try:
            saved = (needed_now - required_mid(changed, arch)) / GIB
        except RequestError:
            continue
        if saved >= LEAST_SAVING_GIB:
            slowdown = speed_now / speed(changed, arch, placement) if placement and speed_now else 1.0
            found.append({"change": change, "saves_gib": saved, "slowdown": slowdown})
    found.sort(key=lambda lever: -lever["saves_gib"])
    if placement is None or placement.verdict == "fits" or placement.gpu.usable_gib is None:
        return found
    wanted = Wanted(plan, arch, placement, needed_now, speed_now or 0.0)
    enough = {str(change) for change, changed in candidates(plan, half) if wanted.fits(changed)}
    for lever in found:
        lever["fits"] = str(lever["change"]) in enough
    fitting = [lever for lever in found if lever["fits"]]
    if not any(keeps_the_training(lever["change"]) for lever in fitting):
        fitting += wanted.combination(altering_too=not fitting)
    fitting.sort(key=lambda lever: (not keeps_the_training(lever["change"]), lever["slowdown"]))
    hardware = [*more_gpus(wanted, fitter), *another_gpu(wanted, fitter, catalog)]
    return [*fitting, *hardware, *[lever for lever in found if not lever["fits"]]]


ALTERING = ("sequence_length", "method", "precision")  # these train something else; the others only run it otherwise
BEAM, LONGEST_COMBINATION = 3, 5


def keeps_the_training(change: dict[str, Any]) -> bool:
    """Whether a change leaves what is trained, and on what, as it is."""
    return not any(name in ALTERING for name in change)


class Wanted(NamedTuple):
    """A plan that should fit on a placement's GPUs, and does not."""

    plan: Plan
    arch: Architecture
    placement: Placement
    needed: float  # bytes, as it is
    speed: float  # tokens per second, as it is

    def on_its_gpus(self, plan: Plan) -> Plan:
        """A changed plan with the placement's GPUs and strategy, unless the change is about these."""
        if plan.parallel != self.plan.parallel:
            return plan
        return plan.replace(parallel=self.placement.site.plan.parallel)

    def fits(self, plan: Plan) -> bool:
        """Whether a changed plan fits, its range included."""
        try:
            memory = estimate_memory(self.on_its_gpus(plan), self.arch)
        except RequestError:
            return False
        return memory.whole_run.high <= (self.placement.gpu.usable_gib or 0.0) * GIB

    def combination(self, *, altering_too: bool) -> list[dict[str, Any]]:
        """The fewest changes that make it fit together; those that train something else only if they must and may.

        The three that leave the least are followed at each number of changes.
        """
        for altering in (False, True)[: 1 + altering_too]:
            ahead: list[tuple[dict[str, Any], Plan]] = [({}, self.plan)]
            for _ in range(LONGEST_COMBINATION):
                longer = [
                    (merged(done, change), changed)
                    for done, plan in ahead
                    for change, changed in candidates(plan, half_of(self.placement.gpu))
                    if altering or keeps_the_training(change)
                ]
                ranked = sorted(longer, key=lambda one: required_mid(one[1], self.arch))[:BEAM]
                for change, changed in ranked:
                    if len(change) > 1 and self.fits(changed):
                        return [self.lever(change, changed)]
                if not ranked:
                    break
                ahead = ranked
        return []

    def lever(self, change: dict[str, Any], changed: Plan) -> dict[str, Any]:
        """A change as the answer writes it."""
        saved = (self.needed - required_mid(changed, self.arch)) / GIB
        slowdown = self.speed / speed(changed, self.arch, self.placement)
        return {"change": change, "saves_gib": saved, "slowdown": slowdown, "fits": True}


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two changes as one."""
    result = dict(one)
    for name, value in other.items():
        inner = result.get(name)
        result[name] = inner | value if isinstance(inner, dict) and isinstance(value, dict) else value
    return result


def more_gpus(wanted: Wanted, fitter: Fitter) -> list[dict[str, Any]]:
    """The fewest more of the same GPU on which it fits."""
    placement = wanted.placement
    free = fitter.freed()
    for count in (count for count in COUNTS if count > placement.count):
        placed = free.place(placement.gpu, count)
        if placed.verdict == "fits":
            parallel = {"gpus_per_node": count, "strategy": placed.strategy}
            saved = placement.required.mid - placed.required.mid
            return [_hardware(wanted, {"parallel": parallel}, placed, fitter) | {"saves_gib": saved}]
    return []


def another_gpu(wanted: Wanted, fitter: Fitter, catalog: Catalog) -> list[dict[str, Any]]:
    """The cheapest offer of any GPU on which it fits."""
    from .offers import Ranker

    row = Ranker(fitter.freed(), catalog).cheapest()
    if row is None or row.placement.verdict != "fits" or row.placement.gpu.id == wanted.placement.gpu.id:
        return []
    change: dict[str, Any] = {"gpu": row.placement.gpu.id}
    if row.placement.count > 1 or wanted.placement.count > 1:
        change["parallel"] = {"gpus_per_node": row.placement.count, "strategy": row.placement.strategy}
    return [_hardware(wanted, change, row.placement, fitter) | {"usd": row.usd}]


def _hardware(wanted: Wanted, change: dict[str, Any], placed: Placement, fitter: Fitter) -> dict[str, Any]:
    slowdown = fitter.timed(wanted.placement).tokens_per_second.mid / placed.tokens_per_second.mid
    return {"change": change, "saves_gib": 0.0, "slowdown": slowdown, "fits": True}


def required_mid(plan: Plan, arch: Architecture) -> float:
    """Required memory of the whole run, middle value only. Unit: bytes."""
    card = card_of(plan, arch)
    return max(middle_totals(plan, arch, "whole")) * (1 + card.slack.mid) + card.fixed.mid


def speed(plan: Plan, arch: Architecture, placement: Placement) -> float:
    """Tokens per second of a plan on a placement's GPUs."""
    placed = plan.replace(parallel=placement.site.plan.parallel._replace(offload=plan.parallel.offload))
    rates = rates_of(placement.gpu, compute_of(placed), placed)
    return tokens_per_second(work_of(placed, arch), rates, placed, placed.batch, placed.grad_accum)


def half_of(gpu: Gpu) -> str:
    """The 16-bit format that a card computes in."""
    return "fp16" if gpu.supports_bf16 is False else "bf16"


def candidates(plan: Plan, half: str = "bf16") -> Iterator[tuple[dict[str, Any], Plan]]:
    """Changes that apply to a plan, as fields of the request, with the plan they lead to; `half`: see `half_of`."""
    yield from _of_numbers(plan, half)
    yield from _of_activations(plan)
    yield from _of_size(plan)


def _of_numbers(plan: Plan, half: str) -> Iterator[tuple[dict[str, Any], Plan]]:
    if plan.trains_base:
        # Weights that are trained in pure fp16 lose their small steps: no advice.
        if half == "bf16" and plan.precision in ("bf16-mixed", "bf16-master", "fp32"):
            yield {"precision": "bf16"}, plan.replace(precision="bf16", base_dtype="bf16", autocast=False)
        if plan.optimizer in ("adamw", "adamw-foreach", "lion", "muon"):
            yield {"optimizer": "adamw-8bit"}, plan.replace(optimizer="adamw-8bit")
            yield {"optimizer": "paged-adamw-8bit"}, plan.replace(optimizer="paged-adamw-8bit")
        if not plan.optimizer_in_backward and plan.grad_accum == 1 and plan.parallel.world == 1:
            yield {"optimizer_in_backward": True}, plan.replace(optimizer_in_backward=True)
        lora = plan.replace(method="lora", precision=None, base_dtype=half, autocast=True, optimizer_in_backward=False)
        yield {"method": "lora"}, lora
        yield {"method": "qlora"}, lora.replace(method="qlora", quantization="nf4-nested")
        return
    if plan.optimizer == "adamw-foreach":
        yield {"optimizer": "adamw"}, plan.replace(optimizer="adamw")
    if not plan.is_quantized:
        if plan.base_dtype == "fp32":
            yield {"base_dtype": half}, plan.replace(base_dtype=half)
        if plan.method == "lora":
            quantised = plan.replace(method="qlora", quantization="nf4-nested", base_dtype=half)
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
    if parallel.strategy in ("fsdp1", "fsdp2") and plan.grad_accum > 1 and not parallel.sync_each_batch:
        yield {"parallel": {"sync_each_batch": True}}, plan.replace(parallel=parallel._replace(sync_each_batch=True))
    if parallel.strategy in ("zero3", "fsdp1", "fsdp2") and parallel.offload == "none":
        yield {"parallel": {"offload": "all"}}, plan.replace(parallel=parallel._replace(offload="all"))
