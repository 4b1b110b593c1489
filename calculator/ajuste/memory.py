"""The memory table: terms × instants, and the ranges around its peak.

Each term is one pure function of the question and an instant. The terms of a moment add up to it; the largest
training moment is the peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import loss, optimizer, sharding, weights
from .architecture import Architecture
from .case import Case
from .constants import ASSUMPTIONS, MID
from .moments import Instant, instants
from .plan import Plan
from .records import NamedTuple

# ------------------------------------------------------------------------------------------------------ terms


def activations(_c: Case, i: Instant) -> float:
    """Tensors that wait for their backward pass, of the layers that are not at work.

    Unit: bytes. Formula: checkpointed 2h per layer and token; else `activations.saved_per_token` per layer.
    """
    return i.saved


def layer_at_work(_c: Case, i: Instant) -> float:
    """Saved or recomputed tensors of the one layer at work. Unit: bytes. Formula: `activations.saved_per_token`."""
    return i.work.saved


def temporaries(_c: Case, i: Instant) -> float:
    """Tensors that live for a moment: gradients of activations, the optimizer's. Unit: bytes. See `layer_work`."""
    return i.work.temporaries


def logits(c: Case, i: Instant) -> float:
    """Logits, their fp32 copies and their gradient. Unit: bytes. Formula and source: `loss`."""
    return i.work.logits + (loss.kept_logits(c) if i.outputs else 0.0)


def autocast_copies(_c: Case, i: Instant) -> float:
    """16-bit copies of fp32 weights that autocast makes. Unit: bytes. Formula: 2 B per copied weight."""
    return i.casts + i.work.casts


def dequantisation(_c: Case, i: Instant) -> float:
    """A packed weight made 16 bit to be multiplied. Unit: bytes. Formula: 2 B × weights of the linear at work."""
    return i.work.dequantised


def workspace(c: Case) -> float:
    """What cuBLAS asks of PyTorch's allocator once and keeps. Unit: bytes. Source: `cublas-workspace-mib`."""
    return c.a["cublas-workspace-mib"] * MIB


MIB, GIB, GB = float(2**20), float(2**30), 1e9
# Bytes that are there at every instant, from the first step on, and that come and go.
RESIDENT: dict[str, Callable[[Case], float]] = {
    "weights": weights.weights,
    "quantisation_constants": weights.quantisation_constants,
    "adapters": weights.adapters,
    "reference_model": weights.reference_model,
}
STATES: dict[str, Callable[[Case], float]] = {
    "master_weights": optimizer.master_weights,
    "optimizer_states": optimizer.optimizer_states,
    "workspace": workspace,
}
PASSING: dict[str, Callable[[Case, Instant], float]] = {
    "gradients": optimizer.gradients,
    "gathered_weights": sharding.gathered_weights,
    "communication_buffers": sharding.communication_buffers,
    "activations": activations,
    "layer_at_work": layer_at_work,
    "temporaries": temporaries,
    "logits": logits,
    "autocast_copies": autocast_copies,
    "dequantisation": dequantisation,
}
TERMS = (*RESIDENT, *STATES, *PASSING)
SIZED_BY_WEIGHTS = {*RESIDENT, *STATES, "gathered_weights", "communication_buffers"}  # not by batch or length
CASE, WORK = "case", "work"  # who else reads assumptions, before the terms do
# Assumptions that the work of an instant reads, before its terms are told apart, and the terms they enter.
READ_BY_WORK = {
    "nf4-block": ("dequantisation",),
    "chunked-loss-tokens": ("logits", "temporaries"),
    "loss-tile-tokens": ("logits", "temporaries"),
    "loss-tile-vocabulary": ("logits", "autocast_copies"),
    "loss-chunks": ("logits",),
    "freeze-layers": ("activations", "gradients"),
}


def column(name: str, c: Case, moments: tuple[Instant, ...]) -> tuple[float, ...]:
    """One term at every instant, in bytes."""
    if name in PASSING:
        term = PASSING[name]
        return tuple([term(c, i) for i in moments])
    if name in RESIDENT:
        return (RESIDENT[name](c),) * len(moments)
    value = STATES[name](c)
    return (0.0,) + (value,) * (len(moments) - 1)  # the first instant is the load's


# ------------------------------------------------------------------------------------------------------ table


class _Recorder(dict[str, float]):
    """Assumption values that remember which term read which."""

    __slots__ = ("seen", "term")
    seen: set[tuple[str, str]]
    term: str

    def __getitem__(self, name: str) -> float:
        self.seen.add((name, self.term))
        return dict.__getitem__(self, name)


class MemoryTable(NamedTuple):
    """Terms × instants, in bytes, and the assumptions each term read."""

    instants: tuple[Instant, ...]
    columns: dict[str, tuple[float, ...]]
    totals: tuple[float, ...]
    reads: frozenset[tuple[str, str]]  # (assumption, term that read it; or the case, or the instants' work)
    stage: str  # whole, or the stage of the pipeline

    @property
    def peak(self) -> float:
        """Largest training instant, in bytes."""
        return self.totals[self.peak_index]

    @property
    def peak_index(self) -> int:
        """Column of the largest training instant."""
        best = -1
        for index, instant in enumerate(self.instants):
            if instant.training and (best < 0 or self.totals[index] > self.totals[best]):
                best = index
        return best

    @property
    def peak_moment(self) -> str:
        """Moment of the largest training instant."""
        return self.instants[self.peak_index].moment

    def moments(self) -> dict[str, int]:
        """Each moment's largest instant, in the order of a run."""
        largest: dict[str, int] = {}
        for index, instant in enumerate(self.instants):
            best = largest.get(instant.moment)
            if best is None or self.totals[index] > self.totals[best]:
                largest[instant.moment] = index
        return largest

    def terms(self, index: int) -> dict[str, float]:
        """The terms of one instant that are not zero, in bytes."""
        return {name: column[index] for name, column in self.columns.items() if column[index]}

    @property
    def moves_with_the_batch(self) -> bool:
        """Whether an assumption with a range enters what depends on batch or length."""
        return any(
            reader not in SIZED_BY_WEIGHTS
            for name, reader in self.reads
            if ASSUMPTIONS[name].low != ASSUMPTIONS[name].high
        )

    def assumptions_of(self, term: str) -> list[str]:
        """Ids of the assumptions that a term read."""
        return sorted({name for name, reader in self.reads if reader == term or term in READ_BY_WORK.get(name, ())})


def memory_table(plan: Plan, arch: Architecture, values: dict[str, float] = MID, stage: str = "whole") -> MemoryTable:
    """Evaluate every term at every instant of one rank, with one value per assumption."""
    recorder = _Recorder(values)
    recorder.term, recorder.seen = CASE, set()
    c = Case(plan, arch, recorder, stage)
    recorder.term = WORK
    moments = tuple(instants(c))
    columns = {}
    for name in TERMS:
        recorder.term = name
        columns[name] = column(name, c, moments)
    totals = tuple(map(sum, zip(*columns.values(), strict=True)))
    return MemoryTable(moments, columns, totals, frozenset(recorder.seen), stage)


def middle_totals(plan: Plan, arch: Architecture, stage: str) -> tuple[float, ...]:
    """The totals of `memory_table` in the middle, without keeping who read what: half the work."""
    c = Case(plan, arch, MID, stage)
    moments = tuple(instants(c))
    return tuple(map(sum, zip(*[column(name, c, moments) for name in TERMS], strict=True)))


def resident_bytes(plan: Plan, arch: Architecture, stage: str) -> float:
    """What is there from the first step on, whatever the batch. Unit: bytes. Formula: weights + states."""
    c = Case(plan, arch, MID, stage)
    return sum([term(c) for terms in (RESIDENT, STATES) for term in terms.values()])


def fullest_table(plan: Plan, arch: Architecture) -> MemoryTable:
    """The table of the fullest rank: the only one, or the fullest stage of a pipeline or layer split."""
    tables = [memory_table(plan, arch, MID, stage) for stage in sharding.stages(plan)]
    return max(tables, key=lambda table: table.peak)


def moved_totals(plan: Plan, arch: Architecture, table: MemoryTable) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """The totals with one assumption at one of its ends: only the terms that read it are evaluated again.

    Yields:
        (assumption, "low" or "high", totals)
    """
    case = Case(plan, arch, MID, table.stage)
    for name in sorted({name for name, _ in table.reads}):
        assumption = ASSUMPTIONS[name]
        readers = {reader for read, reader in table.reads if read == name}
        for side, value in (("low", assumption.low), ("high", assumption.high)):
            if value == assumption.mid:
                continue
            values = MID | {name: value}
            c, moments = case, table.instants
            if CASE in readers:
                c = Case(plan, arch, values, table.stage)
            case.a = values
            if CASE in readers or WORK in readers:
                moments = tuple(instants(c))
            totals = list(table.totals)
            for term in TERMS if moments is not table.instants else readers:
                changed = column(term, c, moments)
                for index, before in enumerate(table.columns[term]):
                    totals[index] += changed[index] - before
            yield name, side, tuple(totals)
