"""Where a plan fits: verdicts, the micro-batch each card was solved for, strategies and GPU counts.

Memory is evaluated once per strategy × count × capability class; every card then asks that arithmetic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from .architecture import Architecture
from .calibration import Calibrated
from .card import Footprint, Range, least_required
from .catalog import Gpu
from .constants import ASSUMPTIONS
from .lengths import attended_tokens, row_tokens, rows_per_epoch
from .memory import GIB
from .plan import Plan
from .resolve import accumulation
from .throughput import (
    GATHERING,
    Rates,
    Work,
    compute_of,
    is_linked_by_pcie,
    on_more_ranks,
    rates_of,
    speed,
    work_of,
)

COUNTS = (1, 2, 4, 8)
# Strategies tried for several GPUs when the request names none, those that send least first: the first that fits is
# taken.
STRATEGIES = {"deepspeed": ("zero1", "zero2", "zero3"), "megatron": ("zero1", "fsdp2"), "unsloth": ("ddp",)}
USUAL_STRATEGIES = ("ddp", "fsdp2")
HALF_IN_FP16 = {"bf16": "fp16", "bf16-mixed": "fp16-mixed", "bf16-master": "fp16-mixed"}


UNTIMED = Range(0.0, 0.0, 0.0)


class Placement(NamedTuple):
    """A plan on a number of GPUs of one kind."""

    gpu: Gpu
    count: int  # type: ignore[assignment]  # hides tuple.count
    strategy: str
    micro_batch: int
    accumulation: int
    verdict: str  # fits | tight | no
    required: Range  # GiB, of the whole run at that micro-batch
    tokens_per_second: Range  # of the whole job; `UNTIMED` where it does not fit
    site: Site


class Site:
    """What all cards of one strategy, count and capability class share, worked out when it is asked for."""

    def __init__(
        self,
        plan: Plan,
        arch: Architecture,
        calibrated: Calibrated,
        patterns: dict[tuple[str, str], Footprint],
        like: Site | None = None,
    ) -> None:
        """`patterns`: the first footprint of each strategy; `like`: a site whose ranks take the same bytes."""
        self._patterns = patterns
        self.plan, self.arch = plan, arch
        self._calibrated, self._like = calibrated, like
        self._curves: dict[bool, Curve] = like._curves if like else {}

    @cached_property
    def work(self) -> Work:
        """What a rank computes and moves."""
        plan, like = self.plan, self._like
        if like is None:
            return work_of(plan, self.arch)
        same = like.plan.parallel.data_ranks == plan.parallel.data_ranks
        work = like.work if same else on_more_ranks(like.work, plan)
        return work._replace(compute=compute_of(plan))

    @cached_property
    def least(self) -> float:
        """Bytes that it never needs less than: what is resident."""
        return least_required(self.plan, self.arch)

    def curve(self, accumulates: bool) -> Curve:
        """Required memory, with or without gradients that wait for the next micro-batch."""
        found = self._curves.get(accumulates)
        if found is None:
            plan = self.plan.replace(grad_accum=2 if accumulates else 1)
            pattern = (plan.parallel.strategy, plan.attention)
            footprint = Footprint(plan, self.arch, self._patterns.get(pattern))
            self._patterns.setdefault(pattern, footprint)
            found = self._curves[accumulates] = Curve(footprint, self._calibrated)
        return found

    def is_too_large_for(self, room: float) -> bool:
        """Whether what is resident alone leaves no doubt that it does not fit."""
        return self._calibrated.memory_width == 1.0 and self.least > room


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
        self._patterns: dict[tuple[str, str], Footprint] = {}
        self._rates: dict[tuple[str, str, str], Rates] = {}
        self._rows: dict[int, tuple[float, float]] = {}
        self._placed: dict[tuple[str, int, bool], Placement] = {}
        self._all_rows = 0

    def freed(self) -> Fitter:
        """A fitter of the same plan that may take any GPU, count and strategy."""
        parallel = self.plan.parallel
        world = parallel._replace(strategy="none", gpus_per_node=1, nodes=1, tp=1, pp=1, cp=1, sp=1, ep=1, replicas=1)
        plan = self.plan.replace(gpu=None, global_batch=self.global_batch(), parallel=world)
        return Fitter(plan, self.arch, fixed_gpus=False, fixed_strategy=False)

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
            found = self._sites[key] = self._site(plan, count, strategy, attention)
        return found

    def _site(self, plan: Plan, count: int, strategy: str, attention: str) -> Site:
        # bf16 and fp16 take the same bytes, and so do copies on any number of GPUs: only the arithmetic differs.
        for (n, other, kind, _), site in self._sites.items():
            if other == strategy and kind == attention and (n == count or (strategy == "ddp" and n > 1)):
                return Site(plan, self.arch, self.calibrated, self._patterns, site)
        return Site(plan, self.arch, self.calibrated, self._patterns)

    def place(self, gpu: Gpu, count: int, fast_network: bool = False) -> Placement:
        """The first strategy whose verdict is `fits` on these GPUs, else the first `tight`, else the last tried.

        Between nodes the network is the one asked for, else plain Ethernet unless it is known to be fast.
        """
        network = self.plan.parallel.network
        fast_network = network == "infiniband" or (fast_network and network is None)
        key = (gpu.id, count, fast_network)
        found = self._placed.get(key)
        if found is None:
            *leaner, last = self.strategies(count)
            if leaner and leaner[0] == "ddp" and self.place(gpu, 1).verdict == "no":
                leaner.pop(0)  # copies need as much as one, and their buffers
            room = (gpu.usable_gib or gpu.memory_label_gb) * GIB
            for strategy in leaner:
                if self.site(count, strategy, gpu).is_too_large_for(room):
                    continue
                placed = self._place(gpu, count, strategy, fast_network)
                if found is None or found.verdict == "no" or placed.verdict == "fits":
                    found = placed
                if found.verdict == "fits":
                    break
            if found is None or found.verdict != "fits":
                placed = self._place(gpu, count, last, fast_network)
                if found is None or found.verdict == "no" or placed.verdict == "fits":
                    found = placed
            self._placed[key] = found
        return found

    def _place(self, gpu: Gpu, count: int, strategy: str, fast_network: bool) -> Placement:
        site = self.site(count, strategy, gpu)
        plan = site.plan
        micro_batch, accumulate, required = self._batch(site, gpu)
        verdict_ = verdict(required, gpu.usable_gib, gpu.memory_label_gb) if runs_on(plan, gpu) else "no"
        rate = UNTIMED if verdict_ == "no" else self._rate(site, gpu, micro_batch, accumulate, fast_network)
        return Placement(gpu, count, strategy, micro_batch, accumulate, verdict_, required, rate, site)

    def timed(self, placed: Placement) -> Placement:
        """The placement with its tokens per second, which those that do not fit are given only when asked for."""
        rate = self._rate(placed.site, placed.gpu, placed.micro_batch, placed.accumulation, False)
        return placed._replace(tokens_per_second=rate)

    def _rate(self, site: Site, gpu: Gpu, micro_batch: int, accumulate: int, fast_network: bool) -> Range:
        """Tokens per second of the job, with what measured runs differ by."""
        row, attended = self._row(site.plan, micro_batch)
        low, mid, high = self._speeds(site, gpu, micro_batch * row, attended, accumulate, fast_network)
        residual = residual_of(site.plan, gpu)
        return self.calibrated.rate(Range(residual.low * low, residual.mid * mid, residual.high * high))

    def _speeds(
        self, site: Site, gpu: Gpu, tokens: float, attended: float, accumulate: int, fast_network: bool
    ) -> Range:
        """Tokens per second of the job; over Ethernet, whose speed nobody states, from its slow end to its fast one."""
        ethernet = site.plan.parallel.nodes > 1 and not fast_network
        rates = self._rates_of(gpu, site, "ethernet-gb-per-s" if ethernet else "network-gb-per-s")
        mid = speed(site.work, rates, tokens, attended, accumulate)
        if not ethernet:
            return Range(mid, mid, mid)
        link = ASSUMPTIONS["ethernet-gb-per-s"]
        low, high = (
            speed(site.work, rates._replace(link=1e9 * end), tokens, attended, accumulate)
            for end in (link.low, link.high)
        )
        return Range(low, mid, high)

    def fastest(self, gpu: Gpu) -> float:
        """Tokens per second that no micro-batch on one of these GPUs exceeds: its matrix units alone."""
        site = self.site(1, "none", gpu)
        rates = self._rates_of(gpu, site, "network-gb-per-s")
        work = site.work
        most = rates.matmul * work.efficiency * work.fp8 / (work.flops * work.slowdown)
        plans = (site.plan, site.plan.replace(parallel=site.plan.parallel._replace(strategy="fsdp2")))
        return self.calibrated.rate(Range(*[max(residual_of(plan, gpu).mid for plan in plans) * most] * 3)).mid

    def _rates_of(self, gpu: Gpu, site: Site, network: str) -> Rates:
        key = (gpu.id, site.work.compute, network)
        found = self._rates.get(key)
        if found is None:
            found = self._rates[key] = rates_of(gpu, site.work.compute, site.plan, network=network)
        return found

    def _row(self, plan: Plan, micro_batch: int) -> tuple[float, float]:
        """Tokens of a row and what attention sees of it, with padding."""
        found = self._rows.get(micro_batch)
        if found is None:
            found = row_tokens(plan, micro_batch), attended_tokens(plan, micro_batch)
            self._rows[micro_batch] = found
        return found

    def _batch(self, site: Site, gpu: Gpu) -> tuple[int, int, Range]:
        """Micro-batch, accumulation and required memory (GiB): as asked, else the largest that fits, else 1.

        At one `global_batch` a larger micro-batch, or more data-parallel ranks (beside cp and pp too), may need less:
        where accumulation falls to 1, no gradients wait between micro-batches. At one accumulation it never does.
        """
        plan = site.plan
        usable, ranks = gpu.usable_gib, plan.parallel.data_ranks
        total = self.global_batch()
        if plan.micro_batch is not None:
            batch = plan.micro_batch
            accumulate = plan.grad_accum if plan.optimizer_in_backward else accumulation(total or batch, batch, ranks)
            curve = site.curve(accumulate > 1)
        else:
            # As few micro-batches as memory allows; with more than one, gradients wait between them.
            each, accumulate = max(1, min(total or Footprint.LARGEST_BATCH, self.rows) // ranks), 1
            batch, curve = each, site.curve(False)
            if usable is None or curve.required(batch).high > usable * GIB:
                if not plan.optimizer_in_backward:
                    curve = site.curve(True)
                batch = max(1, min(each, curve.largest_batch(usable)))
                if total is not None and not plan.optimizer_in_backward:
                    batch = even_batch(each, batch)
                    accumulate = accumulation(each, batch, 1)
                    curve = site.curve(accumulate > 1)
        low, mid, high = curve.required(batch)
        return batch, accumulate, Range(low / GIB, mid / GIB, high / GIB)

    def global_batch(self) -> int | None:
        """Examples per optimizer step, kept equal over counts; None = as the automatic micro-batch makes it."""
        plan = self.plan
        if plan.global_batch is not None or plan.micro_batch is None:
            return plan.global_batch
        return plan.micro_batch * plan.grad_accum * plan.parallel.data_ranks

    @property
    def rows(self) -> int:
        """Rows of one epoch: no micro-batch can hold more."""
        if self._all_rows == 0:
            self._all_rows = rows_per_epoch(self.plan)
        return self._all_rows

    def curve(self, placement: Placement) -> Curve:
        """The memory curve that a placement was solved on."""
        return placement.site.curve(placement.accumulation > 1)

    def largest(self, placement: Placement) -> tuple[int, int | None]:
        """Largest micro-batch, and longest sequence at the plan's own, that fit; 0 = none, null = of any length.

        With the placement's own strategy and accumulation: another micro-batch asked for may be placed otherwise.
        The rows of GRPO are prompt and completion, whatever the longest sequence allowed.
        """
        gpu, plan, curve = placement.gpu, placement.site.plan, self.curve(placement)
        if not runs_on(plan, gpu):
            return 0, 0
        longest = curve.longest_sequence(gpu.usable_gib, plan.batch)
        return curve.largest_batch(gpu.usable_gib), None if longest == Footprint.LONGEST else longest


def fitter_of(plan: Plan, arch: Architecture) -> Fitter:
    """A fitter that keeps the GPUs and the strategy that the request named."""
    named = [
        name
        for name in ("gpus_per_node", "nodes", "tp", "pp", "cp", "sp", "ep")
        if f"parallel.{name}" not in plan.defaults
    ]
    return Fitter(
        plan,
        arch,
        fixed_gpus=bool(named) or plan.parallel.world > 1,
        fixed_strategy="parallel.strategy" not in plan.defaults,
    )


def even_batch(total: int, largest: int) -> int:
    """The largest micro-batch whose multiple is the total; none from half the largest up, the one that comes nearest.

    >>> even_batch(16, 7), even_batch(13, 5)
    (4, 4)
    """
    tried = range(largest, max(0, largest // 2 - 1), -1)
    return min(tried, key=lambda batch: abs(total - batch * accumulation(total, batch, 1)))


class Curve:
    """Required memory of a footprint over micro-batch and sequence, and its inverse; after calibration."""

    def __init__(self, footprint: Footprint, calibrated: Calibrated) -> None:
        """Nothing is evaluated yet."""
        self.plan = footprint.plan
        self.footprint, self.calibrated = footprint, calibrated
        self._batches = Inverse(lambda n: self.required(n).high, Footprint.LARGEST_BATCH)
        self._sequences: dict[int, Inverse] = {}

    def required(self, batch: int, sequence: int | None = None) -> Range:
        """Required bytes of the whole run."""
        return self.calibrated.required(self.footprint.required(batch, sequence))

    def largest_batch(self, usable_gib: float | None) -> int:
        """Largest micro-batch whose verdict is `fits` on this much usable memory; 0 when none is."""
        return 0 if usable_gib is None else self._batches.largest(usable_gib * GIB)

    def longest_sequence(self, usable_gib: float | None, batch: int) -> int:
        """Longest sequence that fits at a micro-batch; 0 when none does."""
        if usable_gib is None:
            return 0
        inverse = self._sequences.get(batch)
        if inverse is None:
            inverse = Inverse(lambda n: self.required(batch, n).high, Footprint.LONGEST)
            self._sequences[batch] = inverse
        return inverse.largest(usable_gib * GIB)


class Inverse:
    """The largest n that a growing need leaves room for, exact whatever the curve.

    What has been evaluated is kept and serves every card: a parabola through three known needs lands on the answer or
    beside it (bytes grow with n and n²), and its upper neighbour is checked.
    """

    def __init__(self, needs: Callable[[int], float], limit: int) -> None:
        """`needs(n)` must grow with n, for n in 1 … limit."""
        self.needs, self.limit = needs, limit
        self._tried, self._needs = [1], [needs(1)]
        self._found: dict[float, int] = {}

    def largest(self, room: float) -> int:
        """Largest n in 1 … limit with needs(n) ≤ room; 0 when not even 1."""
        found = self._found.get(room)
        if found is None:
            found = self._found[room] = self._largest(room)
        return found

    def _try(self, n: int) -> float:
        need = self.needs(n)
        index = bisect_right(self._tried, n)
        self._tried.insert(index, n)
        self._needs.insert(index, need)
        return need

    def _largest(self, room: float) -> int:
        tried, needs = self._tried, self._needs
        while needs[-1] <= room:
            if tried[-1] == self.limit:
                return self.limit
            self._try(min(self.limit, 4 * tried[-1]))
        index = bisect_right(needs, room)
        if index == 0:
            return 0
        low, high, third = [(tried[i], needs[i]) for i in (index - 1, index, index - 2 if index > 1 else -1)]
        halve = False
        while (width := high[0] - low[0]) > 1:
            guess = low[0] + (width // 2 if halve else min(width - 1, max(1, int(crossing(low, high, third, room)))))
            need = self._try(guess)
            if need > room:
                high, third = (guess, need), high
            else:
                low, third = (guess, need), low
                if guess + 1 < high[0]:
                    need = self._try(guess + 1)
                    if need > room:
                        return guess
                    low = guess + 1, need
            halve = 2 * (high[0] - low[0]) > width  # where the curve has a corner
        return low[0]


def crossing(low: tuple[int, float], high: tuple[int, float], third: tuple[int, float], room: float) -> float:
    """How far after `low` a parabola through three points (n, need) reaches `room`, which it does before `high`.

    A straight line where the third is none of its own.
    """
    (x0, y0), (x1, y1), (x2, y2) = low, high, third
    slope = (y1 - y0) / (x1 - x0)
    bend = ((y2 - y1) / (x2 - x1) - slope) / (x2 - x0) if x2 not in (x0, x1) else 0.0
    first = slope - bend * (x1 - x0)
    steepest = first + max(0.0, first * first + 4 * bend * (room - y0)) ** 0.5
    return 2 * (room - y0) / steepest if steepest > 0 else 0.0


def runs_on(plan: Plan, gpu: Gpu) -> bool:
    """Whether a card can compute the plan at all.

    TPUs, Gaudi, Trainium and the like are no target of these frameworks' CUDA and ROCm builds, and nobody's memory is
    counted here. fp8 needs tensor cores that have it, and no framework falls back.

    Source: Transformer Engine and torchao refuse below compute capability 8.9, transformers to quantise to fp8 too.
    """
    if not gpu.is_ranked:
        return False
    return gpu.supports_fp8 is not False or "fp8" not in (plan.quantization, (plan.precision or "").partition("-")[0])


def in_fp16(plan: Plan) -> Plan:
    """The plan as it runs on a card without bf16: the same bytes, in fp16."""
    return plan.replace(
        precision=HALF_IN_FP16.get(plan.precision or "", plan.precision),
        base_dtype="fp16" if plan.base_dtype == "bf16" else plan.base_dtype,
    )


def residual_of(plan: Plan, gpu: Gpu) -> Range:
    """Measured ÷ estimated tokens per second of a plan's class, from sources that the fit had not seen.

    Weights gathered over PCIe are a class of their own: what a board's lanes carry is not known.
    """
    kind = "full" if plan.trains_base else "quantised" if plan.is_quantized else "adapter"
    if plan.parallel.strategy in GATHERING and is_linked_by_pcie(gpu):
        kind = "gathered-pcie"
    elif plan.parallel.strategy not in ("none", "ddp", "device-map"):
        kind += "-sharded"
    row = ASSUMPTIONS[f"throughput-residual-{kind}"]
    return Range(row.low, row.mid, row.high)
