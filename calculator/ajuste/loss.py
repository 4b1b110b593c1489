"""Logits and loss: often the largest tensors of the whole step, because the vocabulary is wide.

Each function returns the points of one kind of loss, in the order they happen. Source of the counts: the op-level
reference; for the fused and chunked kinds the public code of Liger-Kernel and TRL.
"""

from __future__ import annotations

from .case import Case
from .layer_work import Point


def loss_points(c: Case) -> list[Point]:
    """The widest points between the last layer's output and the gradient that enters it."""
    return KINDS[c.plan.loss](c)


def logit_bytes(c: Case) -> int:
    """Bytes per logit as the head writes them: 4 where everything computes in fp32, else 2."""
    return c.attention_bytes


def hidden_bytes(c: Case) -> float:
    """The head's input: h per token, in fp32 after an upcast or with fp32 weights and no autocast."""
    return (4 if c.upcast or (c.residual == 4 and not c.autocast) else 2) * c.hidden * c.tokens


def default(c: Case) -> list[Point]:
    """Cross-entropy on logits upcast to fp32 (transformers).

    Unit: bytes. Formula: forward V·T (2 for the logits + 4 upcast + 4 log-softmax), backward V·T (4 + 4 + 4); with a
    trained head, then 2V·T + the head's gradient. + 2V·T with soft-capped logits.
    """
    tokens = c.vocabulary * c.tokens
    written = logit_bytes(c)
    cap = 2 if c.arch.logit_softcap else 0
    hidden = 0.0 if c.full and not (c.residual == 4 and c.autocast) else hidden_bytes(c)
    points = [
        Point("loss", temporaries=hidden, logits=((8 if written == 4 else 10) + cap) * tokens),
        Point("loss_backward", logits=(12 + cap) * tokens),
    ]
    if c.full:
        gradient = (2 if c.autocast or c.weight == 2 else 4) * c.arch.embedding
        back = Point(
            "head_backward", temporaries=written * c.hidden * c.tokens, gradients=gradient, logits=written * tokens
        )
        points.append(back)
        if c.autocast:  # the 16-bit gradient is copied into the fp32 one
            points.append(Point("head_backward", gradients=gradient + 4 * c.arch.embedding))
    return points


def fused(c: Case) -> list[Point]:
    """Head and cross-entropy in one kernel, chunk by chunk (Liger, cut cross-entropy).

    Unit: bytes. Formula: 2h·T + a chunk of c tokens, 2c (V + h); a trained head + 8V·h in forward (gradient, product
    and fp32 copy) and 2V·h until backward. c = power of two next above T ÷ ⌈V ÷ h⌉.
    """
    h, t = c.hidden, c.tokens
    parts = -(-c.vocabulary // h)
    chunk = min(t, 1 << (max(1, -(-t // parts)) - 1).bit_length())
    trained = c.arch.embedding if c.full else 0
    hidden = 0.0 if c.full else hidden_bytes(c)
    return [
        Point(
            "loss",
            temporaries=2 * h * t + 2 * chunk * h + hidden,
            gradients=8 * trained,
            logits=2 * chunk * c.vocabulary,
        ),
        Point("loss_backward", temporaries=2 * h * t, gradients=2 * trained),
    ]


def chunked(c: Case) -> list[Point]:
    """Head and loss over 256 tokens at a time, recomputed in backward (TRL).

    Unit: bytes. Formula: fp32 copy of the head 4V·h (+ 2V·h under autocast) + logits of one chunk, 16 B each.
    """
    size, h, t = c.a["chunked-loss-tokens"], c.hidden, c.tokens
    head = 0 if c.upcast or c.weight == 4 else 4 * c.arch.embedding
    head += 2 * c.arch.embedding if c.autocast else 0
    written = (2 if c.autocast else 4) * size * c.vocabulary
    trained = 6 * c.arch.embedding if c.full else 0
    forward = Point("loss", temporaries=2 * h * t + hidden_bytes(c) + 6 * size * h, casts=head)
    backward = Point("loss_backward", temporaries=4 * h * t + 8 * size * h, casts=head)
    points = [
        forward._replace(logits=written),
        forward._replace(casts=0.0, logits=16 * size * c.vocabulary),
        backward._replace(gradients=trained, logits=written),
    ]
    if not c.autocast:
        points.append(backward._replace(logits=16 * size * c.vocabulary))
    return points


KINDS = {"default": default, "fused": fused, "chunked": chunked}
