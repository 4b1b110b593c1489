"""Each term's formula as the page writes it, with the numbers of this plan.

Letters: N parameters, P packed weights, A trained adapter parameters, L layers, T tokens in flight, h hidden size,
V vocabulary. The same string serves both languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .weights import PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from .case import Case


def formula(term: str, value: float, c: Case) -> str:
    """The formula of one term at one instant.

    Args:
        term: its id.
        value: its bytes at that instant, of which some formulas show the coefficient.
        c: the case it was evaluated for.
    """
    return WRITTEN[term](value, c)


def _shared(text: str, share: float) -> str:
    return text if share == 1 else f"({text}) ÷ {1 / share:g}"


def _weights(_: float, c: Case) -> str:
    rest = 4 if c.upcast else c.stored
    if not c.packed:
        return _shared(f"N × {rest}", c.weight_share)
    return _shared(f"P × {PAYLOAD[c.plan.quantization]:g} + (N − P) × {rest}", c.weight_share)


def _constants(_: float, c: Case) -> str:
    kinds = {"nf4": "P × 4 ÷ 64", "nf4-nested": "P × (1 + 4 ÷ 256) ÷ 64", "gptq-int4": "P × 2.5 ÷ 128"}
    return _shared(kinds.get(c.plan.quantization, "P × 4 ÷ h"), c.weight_share)


def _trained(c: Case) -> str:
    return "N" if c.full else "A"


def _states(_: float, c: Case) -> str:
    kind = c.plan.optimizer.removeprefix("paged-")
    each = {"adamw-8bit": "2 × (1 + 4 ÷ 256)", "adamw-4bit": "2 × (0.5 + 4 ÷ 128)", "lion": f"{c.moment:g}"}
    each["muon"] = each["lion"]
    return _shared(f"{_trained(c)} × {each.get(kind, f'2 × {c.moment:g}')}", c.state_share)


def _gathered(_: float, c: Case) -> str:
    if c.plan.parallel.strategy == "zero3":
        return f"max_live_parameters × {c.weight}"
    return f"(1 + prefetch) × layer × {c.weight} + {c.embeddings} V h × {c.weight}"


def _buffers(_: float, c: Case) -> str:
    if c.plan.parallel.strategy == "ddp":
        return f"{_trained(c)} × {c.kept_gradient:g}"
    return "buckets × 2" if c.zero else f"layer × {c.gradient}"


def _per(letters: str, unit: Callable[[Case], float]) -> Callable[[float, Case], str]:
    """A formula that is a coefficient times letters."""
    return lambda value, c: f"{value / unit(c):.4g} × {letters}"


WRITTEN: dict[str, Callable[[float, Case], str]] = {
    "weights": _weights,
    "quantisation_constants": _constants,
    "adapters": lambda _, c: _shared(f"A × {c.kept_gradient:g}", c.weight_share),
    "reference_model": _per("N", lambda c: c.arch.parameters),
    "master_weights": lambda _, c: _shared("N × 4", c.state_share),
    "optimizer_states": _states,
    "workspace": lambda _, c: f"{c.a['cublas-workspace-mib']:g} MiB",
    "gradients": lambda value, c: f"{value / c.trainable:.4g} × {_trained(c)}",
    "gathered_weights": _gathered,
    "communication_buffers": _buffers,
    "activations": _per("L T h", lambda c: c.depth * c.tokens * c.hidden),
    "layer_at_work": _per("T h", lambda c: c.tokens * c.hidden),
    "temporaries": _per("T h", lambda c: c.tokens * c.hidden),
    "logits": _per("V T", lambda c: c.vocabulary * c.scored_tokens),
    "autocast_copies": lambda _, c: "2 × copied" if c.autocast else "4 × V h",
    "dequantisation": lambda *_: "2 × max(in × out)",
}
