"""The memory table: terms × moments.

Each term is one pure function of the question and an instant. The terms of a moment add up to it; the largest moment
is the peak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import optimizer, weights
from .architecture import Architecture
from .constants import MID
from .moments import Instant, instants
from .plan import Plan
from .setup import Setup


def gradients(s: Setup, i: Instant) -> float:
    """Gradients that exist: of earlier micro-steps, and those of this pass so far. Unit: bytes."""
    earlier = optimizer.all_gradients(s) if s.accumulates else 0.0
    return earlier + i.gradients + i.work.gradients


def activations(s: Setup, i: Instant) -> float:
    """Tensors that wait for their backward pass, of the layers that are not at work. Unit: bytes."""
    return i.saved


def layer_at_work(s: Setup, i: Instant) -> float:
    """Saved or recomputed tensors of the one layer at work. Unit: bytes."""
    return i.work.saved


def temporaries(s: Setup, i: Instant) -> float:
    """Tensors that live for a moment: gradients of activations, optimizer temporaries. Unit: bytes."""
    return i.work.temporaries


def logits(s: Setup, i: Instant) -> float:
    """Logits, their fp32 copies and their gradient. Unit: bytes."""
    alive = (4 if s.attention_bytes == 4 else 2) * s.V * s.T if i.outputs else 0
    return i.work.logits + alive


def autocast_copies(s: Setup, i: Instant) -> float:
    """16-bit copies of fp32 weights that autocast makes. Unit: bytes."""
    return i.casts + i.work.casts


def dequantisation(s: Setup, i: Instant) -> float:
    """A quantised weight made 16 bit to be multiplied. Unit: bytes."""
    return i.work.dequantised


TERMS: dict[str, Callable[[Setup, Instant], float]] = {
    "weights": weights.weights,
    "quantisation_constants": weights.quantisation_constants,
    "adapters": weights.adapters,
    "optimizer_states": optimizer.optimizer_states,
    "gradients": gradients,
    "activations": activations,
    "layer_at_work": layer_at_work,
    "temporaries": temporaries,
    "logits": logits,
    "autocast_copies": autocast_copies,
    "dequantisation": dequantisation,
}


class MemoryTable(NamedTuple):
    """Terms × instants, in bytes."""

    instants: tuple[Instant, ...]
    columns: dict[str, tuple[float, ...]]
    totals: tuple[float, ...]

    @property
    def peak(self) -> float:
        return max(self.totals)

    @property
    def peak_moment(self) -> str:
        return self.instants[self.totals.index(self.peak)].moment


def memory_table(plan: Plan, arch: Architecture, assumptions: dict[str, float] = MID) -> MemoryTable:
    """Evaluate every term at every instant."""
    s = Setup(plan, arch, assumptions)
    moments = instants(s)
    columns = {name: tuple([term(s, i) for i in moments]) for name, term in TERMS.items()}
    return MemoryTable(tuple(moments), columns, tuple(map(sum, zip(*columns.values()))))
