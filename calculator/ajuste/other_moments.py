"""Moments outside the training step: loading, evaluating, saving."""

from __future__ import annotations

from . import weights
from .case import Case
from .layer_work import Point, active_ffn
from .moments import Instant


def other_instants(c: Case) -> list[Instant]:
    """Load and save always, evaluation when the plan evaluates."""
    found = [load_instant(c), save_instant(c)]
    if c.plan.eval.examples:
        found.append(evaluation_instant(c))
    return found


def load_instant(c: Case) -> Instant:
    """Weights arriving, one tensor at a time.

    Unit: bytes. Formula: what is resident + the largest 16-bit weight before it is packed; after
    `prepare_model_for_kbit_training`, + the 16-bit embedding while its fp32 copy is made.
    """
    arriving = 2.0 * c.layer.largest_weights if c.quantized else 0.0
    if c.upcast:
        arriving = max(arriving, 2.0 * c.arch.embedding)
    return Instant("load", Point("load", temporaries=arriving), training=False)


def evaluation_instant(c: Case) -> Instant:
    """One evaluation batch without gradients, its logits, and the logits of all batches where they are kept.

    Unit: bytes. Formula: T' = evaluation batch × S; 2 layers' inputs + one feed-forward + V·T' (2 + 4 + 4); kept
    logits 4V per evaluated token. Fused kernels only skip the logits while training; TRL's chunked loss always does.
    """
    asked, h = c.plan.eval, c.hidden
    tokens = min(asked.batch, asked.examples) * c.sequence
    work = (2 * c.residual * h + 3 * c.mlp_bytes * active_ffn(c)) * tokens
    if c.eager:
        work += 10.0 * c.layer.heads * c.sequence * tokens
    written = 0.0 if c.plan.loss == "chunked" and not asked.keep_logits else 10.0 * c.vocabulary * tokens
    kept = 4.0 * c.vocabulary * asked.examples * c.sequence if asked.keep_logits else 0.0
    if asked.generate_tokens:
        cache = sum(2 * 2 * y.count * y.key for y in c.arch.layers)
        kept += cache * (tokens + min(asked.batch, asked.examples) * asked.generate_tokens)
    point = Point("evaluation", temporaries=work, logits=written + kept, dequantised=weights.largest_dequantised(c))
    return Instant("evaluation", point, training=False)


def save_instant(c: Case) -> Instant:
    """Saving copies tensor by tensor to the host: nothing but what is resident."""
    return Instant("save", Point("save"), training=False)
