"""Where a plan fits: verdicts, the micro-batch each card was solved for, strategies and GPU counts.

Memory is evaluated once per strategy × count × capability class; every card then asks that arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

from .architecture import Architecture
from .calibration import Calibrated
from .card import Footprint, Range
from .catalog import Gpu
from .constants import ASSUMPTIONS
from .memory import GIB
from .plan import Plan
from .resolve import accumulation
from .throughput import Work, compute_of, rates_of, tokens_per_second, work_of

COUNTS = (1, 2, 4, 8)
# Strategies tried for several GPUs when the request names none; the fastest that fits is taken.
STRATEGIES = {"deepspeed": ("zero1", "zero2", "zero3"), "megatron": ("zero1", "fsdp2"), "unsloth": ("ddp",)}
USUAL_STRATEGIES = ("ddp", "fsdp2")
HALF_IN_FP16 = {"bf16": "fp16", "bf16-mixed": "fp16-mixed", "bf16-master": "fp16-mixed"}


class Placement(NamedTuple):
    """A plan on a number of GPUs of one kind."""

    gpu: Gpu
    count: int
    strategy: str
    micro_batch: int
    accumulation: int
    verdict: str  # fits | tight | no
    required: Range  # GiB, of the whole run at that micro-batch
    tokens_per_second: Range  # of the whole job
    site: Site


class Site(NamedTuple):
    """What all cards of one strategy, count and capability class share."""

    plan: Plan
    footprint: Footprint
    accumulating: Footprint  # with gradients that wait for the next micro-batch
    work: Work


def verdict(required: Range, usable_gib: float | None, label_gb: float = 0.0) -> str:
    """`fits` when required.high ≤ usable, `tight` when only required.low is, else `no`.

    A card whose usable memory is not known is never `fits`: its label is the most it could offer.
    """
    if usable_gib is None:
        return "tight" if required.low <= label_gb * 1e9 / GIB else "no"
    if required.high <= usable_gib:
        return "fits"
    return "tight" if required.low <= usable_gib else "no"


class Fitter:
    """Places one plan on GPUs. Holds what has been worked out, so that no table is evaluated twice."""

    def __init__(self, plan: Plan, arch: Architecture, *, fixed_gpus: bool, fixed_strategy: bool) -> None:
        """The request's own GPUs and strategy are kept when it named them (`fixed_…`)."""
        self.plan, self.arch = plan, arch
        self.calibrated = Calibrated()
        self.fixed_gpus, self.fixed_strategy = fixed_gpus, fixed_strategy
        self._sites: dict[tuple[int, str, str, bool], Site] = {}
        self._placed: dict[tuple[str, int], Placement | None] = {}

    def counts(self) -> tuple[int, ...]:
        """GPU counts that may be tried."""
        if self.fixed_gpus:
            return (self.plan.parallel.world,)
        return tuple(n for n in COUNTS if n <= self.plan.filters.max_gpus)

    def strategies(self, count: int) -> tuple[str, ...]:
        """Strategies to try on a count of GPUs."""
        asked = self.plan.parallel.strategy
        if self.fixed_gpus:
            return (asked,)
        if count == 1:
            return ("none",)
        if self.fixed_strategy and asked != "none":
            return (asked,)
        return STRATEGIES.get(self.plan.framework, USUAL_STRATEGIES)

    def site(self, count: int, strategy: str, gpu: Gpu) -> Site:
        """Footprint and work of a strategy on a count, for the capability class of a GPU."""
        attention = self.plan.attention
        if attention == "flash" and gpu.supports_flash_attention_2 is False:
            attention = "sdpa"
        half = gpu.supports_bf16 is not False
        key = (count, strategy, attention, half)
        found = self._sites.get(key)
        if found is None:
            plan = self.plan.replace(attention=attention)
            if not self.fixed_gpus:
                plan = plan.replace(parallel=plan.parallel._replace(strategy=strategy, gpus_per_node=count, nodes=1))
            if not half:
                plan = in_fp16(plan)
            # The same bytes in bf16 and fp16: only the arithmetic differs.
            twin = self._sites.get((count, strategy, attention, True)) if not half else None
            if twin is not None:
                footprint, accumulating = twin.footprint, twin.accumulating
            else:
                footprint = Footprint(plan, self.arch)
                accumulating = footprint
                if plan.global_batch is not None and plan.grad_accum == 1 and not plan.optimizer_in_backward:
                    accumulating = Footprint(plan.replace(grad_accum=2), self.arch)
            found = Site(plan, footprint, accumulating, work_of(plan, self.arch))
            self._sites[key] = found
        return found

    def place(self, gpu: Gpu, count: int) -> Placement | None:
        """The best strategy on these GPUs: verdict first, then speed. None when no strategy applies."""
        key = (gpu.id, count)
        if key not in self._placed:
            best = None
            for strategy in self.strategies(count):
                placed = self._place(gpu, count, strategy)
                if best is None or _rank(placed) < _rank(best):
                    best = placed
            self._placed[key] = best
        return self._placed[key]

    def _place(self, gpu: Gpu, count: int, strategy: str) -> Placement:
        site = self.site(count, strategy, gpu)
        plan = site.plan
        micro_batch, accumulate, required = self._batch(site, gpu)
        rates = rates_of(gpu, compute_of(plan), plan)
        speed = tokens_per_second(site.work, rates, plan, micro_batch, accumulate)
        low, mid, high = residual_of(plan)
        return Placement(
            gpu,
            count,
            strategy,
            micro_batch,
            accumulate,
            verdict(required, gpu.usable_gib, gpu.memory_label_gb),
            required,
            self.calibrated.rate(Range(low * speed, mid * speed, high * speed)),
            site,
        )

    def _batch(self, site: Site, gpu: Gpu) -> tuple[int, int, Range]:
        """Micro-batch, accumulation and required memory (GiB): as asked, else the largest that fits, else 1."""
        plan = site.plan
        usable = gpu.usable_gib
        if plan.micro_batch is not None:
            batch, footprint = plan.micro_batch, site.footprint
            accumulate = self._accumulation(plan, batch)
        elif plan.global_batch is None:
            footprint, accumulate = site.footprint, plan.grad_accum
            batch = max(1, self.largest_batch(footprint, usable))
        else:
            share = max(1, plan.global_batch // plan.parallel.data_ranks)
            footprint, batch = site.footprint, share
            if usable is None or self.required(footprint, share).high > usable * GIB:
                footprint = site.accumulating
                batch = max(1, min(share, self.largest_batch(footprint, usable)))
            accumulate = self._accumulation(plan, batch)
        low, mid, high = self.required(footprint, batch)
        return batch, accumulate, Range(low / GIB, mid / GIB, high / GIB)

    @staticmethod
    def _accumulation(plan: Plan, batch: int) -> int:
        if plan.global_batch is None or plan.optimizer_in_backward:
            return plan.grad_accum
        return accumulation(plan.global_batch, batch, plan.parallel.data_ranks)

    def required(self, footprint: Footprint, batch: int, sequence: int | None = None) -> Range:
        """Required bytes of the whole run, after calibration."""
        return self.calibrated.required(footprint.required(batch, sequence))

    def largest_batch(self, footprint: Footprint, usable_gib: float | None) -> int:
        """Largest micro-batch whose verdict is `fits`; 0 when none is."""
        if usable_gib is None:
            return 0
        return largest(
            lambda batch: self.required(footprint, batch).high, usable_gib * GIB, Footprint.LARGEST_BATCH, start=64
        )

    def longest_sequence(self, placement: Placement) -> int:
        """Longest sequence that fits at the micro-batch asked for, 1 when it is automatic; 0 when none does."""
        usable = placement.gpu.usable_gib
        if usable is None:
            return 0
        batch = self.plan.micro_batch or 1
        footprint = placement.site.footprint
        return largest(
            lambda length: self.required(footprint, batch, length).high,
            usable * GIB,
            Footprint.LONGEST,
            start=4 * self.plan.sequence_length,
        )


def _rank(placement: Placement) -> tuple[int, float]:
    return ("fits", "tight", "no").index(placement.verdict), -placement.tokens_per_second.mid


def largest(needs: object, room: float, limit: int, start: int) -> int:
    """Largest n in 1 … limit with needs(n) ≤ room; 0 when not even 1.

    `needs` grows with n and is nearly straight: a secant lands within a step or two, and the answer is then checked on
    both sides, so that it is exact whatever the curve.
    """
    at_1 = needs(1)
    if at_1 > room:
        return 0
    low, need_low = 1, at_1  # fits
    high, need_high = min(start, limit), 0.0  # to become the least known that does not
    need_high = needs(high)
    while need_high <= room:
        if high == limit:
            return limit
        low, need_low = high, need_high
        slope = (need_high - at_1) / (high - 1) if high > 1 else 0.0
        reach = 2 * high if slope <= 0 else int(high + 1.05 * (room - need_high) / slope) + 1
        high = min(limit, max(high + 1, reach))
        need_high = needs(high)
    turn = 0
    while high - low > 1:
        share = (room - need_low) / (need_high - need_low)
        turn += 1
        guess = low + int(share * (high - low)) if turn % 3 else (low + high) // 2
        guess = min(high - 1, max(low + 1, guess))
        need = needs(guess)
        if need <= room:
            low, need_low = guess, need
            # The curve may be straight: look one step further before halving.
            if guess + 1 < high and needs(guess + 1) > room:
                return guess
        else:
            high, need_high = guess, need
            if guess - 1 > low and needs(guess - 1) <= room:
                return guess - 1
    return low


def in_fp16(plan: Plan) -> Plan:
    """The plan as it runs on a card without bf16: the same bytes, in fp16."""
    return plan.replace(
        precision=HALF_IN_FP16.get(plan.precision or "", plan.precision),
        base_dtype="fp16" if plan.base_dtype == "bf16" else plan.base_dtype,
    )


def residual_of(plan: Plan) -> Range:
    """Measured ÷ estimated tokens per second of a plan's class, from sources that the fit had not seen."""
    kind = "full" if plan.trains_base else "quantised" if plan.is_quantized else "adapter"
    sharded = "" if plan.parallel.strategy in ("none", "ddp", "device-map") else "-sharded"
    row = ASSUMPTIONS[f"throughput-residual-{kind}{sharded}"]
    return Range(row.low, row.mid, row.high)


