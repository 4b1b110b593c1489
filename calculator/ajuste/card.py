"""From bytes of tensors to a card: context, allocator slack, ranges, verdicts, and the largest batch that fits.

`required` is the smallest card that runs the job: allocated + the least slack PyTorch's allocator needs + the CUDA
context (+ NCCL). `reserved` is what the allocator takes when nothing presses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import add, sub

from .architecture import Architecture, parameters
from .case import Case
from .constants import ASSUMPTIONS, MID
from .memory import GIB, MemoryTable, fullest_table, memory_table, middle_totals, moved_totals, resident_bytes
from .optimizer import paged_states
from .plan import Plan
from .records import NamedTuple
from .sharding import gather_pool, stages


class Range(NamedTuple):
    """Low, middle and high value."""

    low: float
    mid: float
    high: float


class Card(NamedTuple):
    """How a plan's allocated bytes become a card's, with the spread of each factor."""

    residual: Range  # measured ÷ estimated − 1 of allocated bytes, by class
    blocks: Range  # reserved and not used ÷ what comes and goes
    lengths: Range  # the same ÷ logits and loss, when batches differ in length
    slack: Range  # least slack ÷ allocated
    fixed: Range  # context and NCCL, bytes
    share: float  # of the card that is the trainer's: less than 1 beside a generation engine
    engine: Range  # smallest card whose other share holds that engine, bytes


def card_of(plan: Plan, arch: Architecture) -> Card:
    """The factors that apply to a plan."""
    sharded = plan.parallel.strategy not in ("none", "ddp")
    kind = "full" if plan.trains_base else "quantised" if plan.is_quantized else "adapter"
    residual = _assumption(f"residual-{kind}-sharded" if sharded else f"residual-{kind}")
    if plan.assume_family:
        residual = _assumption("residual-assumed-family")
    gathers = plan.parallel.strategy in ("zero3", "fsdp1", "fsdp2")
    blocks, slack = _assumption("reserved-blocks"), _assumption(f"allocator-slack{'-sharded' if gathers else ''}")
    lengths = Range(*[value * length_spread(plan) for value in _assumption("reserved-varied-lengths")])
    if plan.allocator == "expandable":
        slack = blocks = _assumption("allocator-slack-expandable")
        lengths = NOTHING
    context = _assumption("cuda-context-gib")
    fixed = [GIB * value for value in context]
    if plan.parallel.world > 1 and plan.parallel.strategy != "device-map":
        for index, value in enumerate(_assumption("nccl-gib")):
            fixed[index] += GIB * value
    share, engine = 1.0, NOTHING
    if plan.task == "grpo" and plan.rl.engine == "colocate":
        share = 1 - plan.rl.engine_share
        part = max(plan.rl.engine_share, 0.01)
        engine = Range(*[size / part for size in engine_bytes(plan, arch)])
    return Card(residual, blocks, lengths, slack, Range(*fixed), max(share, 0.01), engine)


def engine_bytes(plan: Plan, arch: Architecture) -> Range:
    """What a generation engine on the trainer's own GPUs needs of each of them before it starts.

    It has a copy of the weights of its own, whole on every GPU; where training shards them or cuts its tensors, the
    engine is taken to cut its own over the GPUs of a node (tensor parallelism). Quantised training does not make its
    copy smaller.
    Unit: bytes. Formula: (2 × N + sequences × (prompt + completion) × Σ layers 4k) ÷ engine ranks. Source: vLLM refuses
    to start with a cache shorter than one sequence; `engine-kv-sequences`.
    """
    split = plan.parallel.tp > 1 or plan.parallel.strategy in ("zero3", "fsdp1", "fsdp2")
    ranks = plan.parallel.gpus_per_node if split else 1
    tokens = plan.rl.prompt_tokens + plan.rl.completion_tokens
    cache = tokens * sum([4.0 * y.count * y.key for y in arch.layers])
    return Range(*[(2.0 * parameters(arch) + n * cache) / ranks for n in _assumption("engine-kv-sequences")])


def length_spread(plan: Plan) -> float:
    """How much batches of different lengths leave behind, from 0 (all alike) to 1.

    Unit: 1. Formula: √(mean length ÷ longest): where most examples are near the longest, the allocator meets many new
    maxima of almost the same size and keeps a block for each. Source: replays of the caching allocator.
    """
    if plan.padding == "packed" or plan.dataset.group_by_length:
        return 0.0
    return float(min(1.0, plan.dataset.mean_tokens / plan.sequence_length) ** 0.5)


def _assumption(name: str) -> Range:
    row = ASSUMPTIONS[name]
    return Range(row.low, row.mid, row.high)


NOTHING = Range(0.0, 0.0, 0.0)
RESIDENT = (
    "weights",
    "quantisation_constants",
    "master_weights",
    "adapters",
    "reference_model",
    "optimizer_states",
    "workspace",
)


def reserved_range(table: MemoryTable, allocated: Range, card: Card, apart: float) -> Range:
    """What PyTorch's allocator reserves on a card with room.

    Unit: bytes. Formula: the largest instant's allocated + blocks × (allocated − resident) + lengths × logits + apart:
    with batches of different lengths the allocator keeps the logits' blocks of shorter ones beside those of the
    longest; `gather_pool` is apart. At least what loading takes.
    """
    instants, load = [], 0.0
    for index, instant in enumerate(table.instants):
        if instant.training:
            total = table.totals[index]
            resident = sum([table.columns[name][index] for name in RESIDENT])
            instants.append((total, total - resident, table.columns["logits"][index]))
        elif instant.moment == "load":
            load = max(load, table.totals[index])

    def largest(blocks: float, lengths: float) -> float:
        return max(
            load, apart + max([total + blocks * passing + lengths * logits for total, passing, logits in instants])
        )

    mid = largest(card.blocks.mid, card.lengths.mid)
    below = (mid - largest(card.blocks.low, card.lengths.mid)) ** 2
    above = (largest(card.blocks.high, card.lengths.mid) - mid) ** 2
    below += (mid - largest(card.blocks.mid, card.lengths.low)) ** 2
    above += (largest(card.blocks.mid, card.lengths.high) - mid) ** 2
    below += apart**2  # two gathers at once are the most
    low = mid - below**0.5 - (allocated.mid - allocated.low)
    return Range(max(low, allocated.low), mid, mid + above**0.5 + allocated.high - allocated.mid)


def spread(mid: float, moved: list[float], card: Card, factor: Range, fixed: Range) -> Range:
    """Range of `(allocated × (1 + factor) + fixed) ÷ the trainer's share of the card`, at least the engine's card.

    Each assumption moved alone, effects in quadrature per side, then widened by the residual of the class.

    Args:
        mid: allocated bytes with every assumption in the middle.
        moved: allocated bytes with one assumption at an end.
    """
    scale = 1 + factor.mid
    below, above = (mid * (factor.mid - factor.low)) ** 2, (mid * (factor.high - factor.mid)) ** 2
    below += (fixed.mid - fixed.low) ** 2
    above += (fixed.high - fixed.mid) ** 2
    for value in moved:
        effect = (value - mid) * scale
        if effect > 0:
            above += effect * effect
        else:
            below += effect * effect
    middle = mid * scale + fixed.mid
    low, high = middle - below**0.5 + card.residual.low * mid, middle + above**0.5 + card.residual.high * mid
    if fixed is not card.fixed:  # tensors, not a card
        return Range(low, middle, high)
    share, engine = card.share, card.engine
    return Range(max(low / share, engine.low), max(middle / share, engine.mid), max(high / share, engine.high))


def least_required(plan: Plan, arch: Architecture) -> float:
    """Bytes that the low end of `required` is never below: what is resident, for a fraction of a table's cost.

    Formula: resident × (1 + residual's low end), and 2 % for assumptions that move it.
    """
    card = card_of(plan, arch)
    resident = max([resident_bytes(plan, arch, stage) for stage in stages(plan)])
    return 0.98 * resident * (1 + card.residual.low) / card.share


class Memory(NamedTuple):
    """Memory of one plan on its fullest GPU, in bytes."""

    table: MemoryTable
    allocated: Range
    reserved: Range
    required: Range
    whole_run_peak: str
    whole_run: Range
    paged: float


def estimate_memory(plan: Plan, arch: Architecture) -> Memory:
    """Table, ranges and peaks of one plan at its micro-batch (1 when automatic)."""
    table = fullest_table(plan, arch)
    ends = [totals for _, _, totals in moved_totals(plan, arch, table)]
    card, case = card_of(plan, arch), Case(plan, arch, MID, table.stage)
    training = [index for index, instant in enumerate(table.instants) if instant.training]
    everything = range(len(table.instants))

    def peak(totals: tuple[float, ...], indexes: Iterable[int]) -> float:
        return max(totals[index] for index in indexes)

    moved = [peak(totals, training) for totals in ends]
    moved_run = [peak(totals, everything) for totals in ends]
    mid, run = table.peak, max(table.totals)
    allocated = spread(mid, moved, card, NOTHING, NOTHING)
    return Memory(
        table=table,
        allocated=allocated,
        reserved=reserved_range(table, allocated, card, gather_pool(case)),
        required=spread(mid, moved, card, card.slack, card.fixed),
        whole_run_peak=table.instants[table.totals.index(run)].moment if run > mid else table.peak_moment,
        whole_run=spread(run, moved_run, card, card.slack, card.fixed),
        paged=paged_states(case),
    )


# ------------------------------------------------------------------------------------------------ largest batch


Rows = list[tuple[float, ...]]  # numbers of each instant, or coefficients of those that can be the largest


class Footprint:
    """Required memory of a plan as arithmetic in the micro-batch and the sequence length.

    Every instant is  a₀ + a₁·S + B·(b₁·S + b₂·S²)  bytes for B sequences of length S: four tables give the
    coefficients, and no table is evaluated again, whatever the number of GPUs that ask.
    """

    LARGEST_BATCH = 65_536
    LONGEST = 16_777_216

    def __init__(self, plan: Plan, arch: Architecture, like: Footprint | None = None) -> None:
        """`like`: of the same strategy, on another number of GPUs or with gradients that wait: batch and length add to
        it what they add to this one, so that one table does where four were needed."""
        self.plan = plan
        self.card = card_of(plan, arch)
        self._arch = arch
        self._like = like if plan.parallel.pp == 1 else None  # a pipeline holds as many micro-batches as accumulate
        self._evaluated: dict[tuple[int, int], Rows] = {}
        self._shifts: list[tuple[float, ...]] | None = None
        self._near = [self._scenarios(plan.sequence_length, batch) for batch in (1, 2)]
        # At the plan's own sequence only the micro-batch varies: base + slope · B.
        self._lines, self._line_moves = _relative(
            [
                _undominated([(2 * one - two, two - one) for one, two in zip(a, b, strict=True)])
                for a, b in zip(*self._near, strict=True)
            ]
        )
        self._coefficients: tuple[Rows, list[float | Rows]] | None = None
        self._known: dict[tuple[int, int], Range] = {}

    @property
    def coefficients(self) -> tuple[Rows, list[float | Rows]]:
        """a₀, a₁, b₁, b₂ of each instant, per scenario. Evaluated when another sequence length is first asked for."""
        if self._coefficients is None:
            near = self.plan.sequence_length
            far = [self._scenarios(2 * near, batch) for batch in (1, 2)]
            self._coefficients = _relative(
                [
                    _undominated([_fit(near, *values) for values in zip(a, b, c, d, strict=True)])
                    for a, b, c, d in zip(*self._near, *far, strict=True)
                ]
            )
        return self._coefficients

    def required(self, micro_batch: int, sequence: int | None = None) -> Range:
        """Required bytes of the whole run."""
        own = self.plan.sequence_length
        sequence = sequence or own
        key = (micro_batch, sequence)
        found = self._known.get(key)
        if found is None:
            if sequence == own:
                rows, moves = self._lines, self._line_moves

                def largest(lines: Rows) -> float:
                    return max([base + slope * micro_batch for base, slope in lines])
            else:
                rows, moves = self.coefficients
                tokens, squares = micro_batch * sequence, micro_batch * sequence * sequence

                def largest(lines: Rows) -> float:
                    return max([a0 + a1 * sequence + b1 * tokens + b2 * squares for a0, a1, b1, b2 in lines])

            mid = largest(rows)
            moved = [mid + move if isinstance(move, float) else largest(move) for move in moves]
            found = self._known[key] = spread(mid, moved, self.card, self.card.slack, self.card.fixed)
        return found

    def _scenarios(self, sequence: int, batch: int) -> Rows:
        """Totals of all instants of all candidate ranks: in the middle, then with each assumption at each end."""
        found = self._evaluated.get((sequence, batch))
        if found is None:
            found = self._as_the_other(sequence, batch) or self._from_tables(sequence, batch)
            self._evaluated[sequence, batch] = found
        return found

    def _as_the_other(self, sequence: int, batch: int) -> Rows | None:
        """The totals at one sequence of the plan's own length, and what the other's grow by from there."""
        own, other = self.plan.sequence_length, self._like
        if other is None or (sequence, batch) == (own, 1):
            return None
        start, before, after = self._scenarios(own, 1), other._scenarios(own, 1), other._scenarios(sequence, batch)
        if [len(row) for row in start] != [len(row) for row in before]:
            return None
        return [
            tuple([a + c - b for a, b, c in zip(*rows, strict=True)]) for rows in zip(start, before, after, strict=True)
        ]

    def _from_tables(self, sequence: int, batch: int) -> Rows:
        plan, arch = self.plan.replace(sequence_length=sequence, micro_batch=batch), self._arch
        if self._shifts is not None:
            middle = sum([middle_totals(plan, arch, stage) for stage in stages(plan)], ())
            return [middle, *[tuple(map(add, middle, shift)) for shift in self._shifts]]
        tables = [memory_table(plan, arch, MID, stage) for stage in stages(plan)]
        middle = sum([table.totals for table in tables], ())
        ranks = zip(*[moved_totals(plan, arch, table) for table in tables], strict=True)
        ends = [sum([totals for _, _, totals in each], ()) for each in ranks]
        if not any(table.moves_with_the_batch for table in tables):
            # What moves is resident: as far at every batch and length.
            self._shifts = [tuple(map(sub, totals, middle)) for totals in ends]
        return [middle, *ends]

    def largest_micro_batch(self, usable: float) -> int:
        """Largest micro-batch whose verdict is `fits` on `usable` bytes; 0 when not even one sequence fits."""
        return _largest(lambda batch: self.required(batch).high <= usable, self.LARGEST_BATCH)

    def longest_sequence(self, usable: float, micro_batch: int) -> int:
        """Longest sequence whose verdict is `fits` on `usable` bytes at this micro-batch; 0 when none does."""
        return _largest(lambda length: self.required(micro_batch, length).high <= usable, self.LONGEST)


def _relative(scenarios: list[Rows]) -> tuple[Rows, list[float | Rows]]:
    """The middle's rows, and of each other scenario how far its own lie from them, where all lie as far."""
    middle, *others = scenarios
    return middle, [_shift(middle, rows) for rows in others]


def _shift(middle: Rows, rows: Rows) -> float | Rows:
    if len(rows) != len(middle):
        return rows
    far = rows[0][0] - middle[0][0]
    for one, other in zip(rows, middle, strict=True):
        # A byte in a gigabyte is the arithmetic's own rounding.
        if abs(one[0] - other[0] - far) > 1 or any(
            abs(a - b) > 1e-9 * abs(b) for a, b in zip(one[1:], other[1:], strict=True)
        ):
            return rows
    return far


def _undominated(rows: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """The instants that can be the largest: those that no other exceeds in every coefficient."""
    kept: list[tuple[float, ...]] = []
    for row in sorted(set(rows), reverse=True):  # the first coefficient of those kept is never smaller
        rest = row[1:]
        for other in kept:
            for mine, theirs in zip(rest, other[1:], strict=True):
                if mine > theirs:
                    break
            else:
                break
        else:
            kept.append(row)
    return kept


def _fit(length: int, near_1: float, near_2: float, far_1: float, far_2: float) -> tuple[float, float, float, float]:
    """Coefficients a₀, a₁, b₁, b₂ from the values at (S, 1), (S, 2), (2S, 1), (2S, 2)."""
    slope_near, slope_far = near_2 - near_1, far_2 - far_1
    b2 = (slope_far - 2 * slope_near) / (2 * length * length)
    b1 = slope_near / length - b2 * length
    base_near, base_far = near_1 - slope_near, far_1 - slope_far
    a1 = (base_far - base_near) / length
    return base_near - a1 * length, a1, b1, b2


def _largest(fits: Callable[[int], bool], limit: int) -> int:
    """Largest n in 1 … limit for which `fits(n)`, which holds up to some n and not after; 0 when for none."""
    if not fits(1):
        return 0
    high = 2
    while high <= limit and fits(high):
        high *= 2
    low, high = high // 2, min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
