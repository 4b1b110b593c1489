"""Moments outside the training step: loading, evaluating, saving."""

from __future__ import annotations

from . import weights
from .layer_work import Point, active_ffn
from .moments import Instant
from .setup import Setup


def other_instants(s: Setup) -> list[Instant]:
    """Load and save always, evaluation when the plan evaluates."""
    found = [load_instant(s), save_instant(s)]
    if s.plan.eval.examples:
        found.append(evaluation_instant(s))
    return found


def load_instant(s: Setup) -> Instant:
    """Weights arriving, one tensor at a time.

    Unit: bytes. Formula: what is resident + the largest 16-bit weight before it is packed; after
    `prepare_model_for_kbit_training`, + the 16-bit embedding while its fp32 copy is made.
    """
    arriving = 2.0 * s.layer.largest_weights if s.quantized else 0.0
    if s.upcast:
        arriving = max(arriving, 2.0 * s.arch.embedding)
    return Instant("load", Point("load", temporaries=arriving), training=False)


def evaluation_instant(s: Setup) -> Instant:
    """One evaluation batch without gradients, its logits, and the logits of all batches where they are kept.

    Unit: bytes. Formula: T' = evaluation batch × S; 2 layers' inputs + one feed-forward + V·T' (2 + 4 + 4); kept
    logits 4V per evaluated token. Fused kernels only skip the logits while training; TRL's chunked loss always does.
    """
    asked, h = s.plan.eval, s.h
    tokens = min(asked.batch, asked.examples) * s.S
    work = (2 * s.residual * h + 3 * s.mlp_bytes * active_ffn(s)) * tokens
    if s.eager:
        work += 10.0 * s.layer.heads * s.S * tokens
    written = 0.0 if s.plan.loss == "chunked" and not asked.keep_logits else 10.0 * s.V * tokens
    kept = 4.0 * s.V * asked.examples * s.S if asked.keep_logits else 0.0
    if asked.generate_tokens:
        cache = sum(2 * 2 * y.count * y.key for y in s.arch.layers)
        kept += cache * (tokens + min(asked.batch, asked.examples) * asked.generate_tokens)
    point = Point("evaluation", temporaries=work, logits=written + kept, dequantised=weights.largest_dequantised(s))
    return Instant("evaluation", point, training=False)


def save_instant(s: Setup) -> Instant:
    """Saving copies tensor by tensor to the host: nothing but what is resident."""
    return Instant("save", Point("save"), training=False)
