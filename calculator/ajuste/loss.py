"""Logits and loss: often the largest tensors of the whole step, because the vocabulary is wide.

Each function returns the points of one kind of loss, in the order they happen. Source of the counts: the op-level
reference; for the fused and chunked kinds the public code of Liger-Kernel and TRL.
"""

from __future__ import annotations

from .layer_work import Point
from .setup import Setup


def loss_points(s: Setup) -> list[Point]:
    """The widest points between the last layer's output and the gradient that enters it."""
    return KINDS[s.plan.loss](s)


def logit_bytes(s: Setup) -> int:
    """Bytes per logit as the head writes them: 4 where everything computes in fp32, else 2."""
    return s.attention_bytes


def hidden_bytes(s: Setup) -> float:
    """The head's input: h per token, in fp32 after an upcast or with fp32 weights and no autocast."""
    return (4 if s.upcast or (s.residual == 4 and not s.autocast) else 2) * s.h * s.T


def default(s: Setup) -> list[Point]:
    """Cross-entropy on logits upcast to fp32 (transformers).

    Unit: bytes. Formula: forward V·T (2 for the logits + 4 upcast + 4 log-softmax), backward V·T (4 + 4 + 4); with a
    trained head, then 2V·T + the head's gradient. + 2V·T with soft-capped logits.
    """
    tokens = s.V * s.T
    written = logit_bytes(s)
    cap = 2 if s.arch.logit_softcap else 0
    hidden = 0.0 if s.full and not (s.residual == 4 and s.autocast) else hidden_bytes(s)
    points = [
        Point("loss", temporaries=hidden, logits=((8 if written == 4 else 10) + cap) * tokens),
        Point("loss_backward", logits=(12 + cap) * tokens),
    ]
    if s.full:
        gradient = (2 if s.autocast or s.weight == 2 else 4) * s.arch.embedding
        back = Point("head_backward", temporaries=written * s.h * s.T, gradients=gradient, logits=written * tokens)
        points.append(back)
        if s.autocast:  # the 16-bit gradient is copied into the fp32 one
            points.append(Point("head_backward", gradients=gradient + 4 * s.arch.embedding))
    return points


def fused(s: Setup) -> list[Point]:
    """Head and cross-entropy in one kernel, chunk by chunk (Liger, cut cross-entropy).

    Unit: bytes. Formula: 2h·T + a chunk of c tokens, 2c (V + h); a trained head + 8V·h in forward (gradient, product
    and fp32 copy) and 2V·h until backward. c = power of two next above T ÷ ⌈V ÷ h⌉.
    """
    h, T = s.h, s.T
    parts = -(-s.V // h)
    chunk = min(T, 1 << (max(1, -(-T // parts)) - 1).bit_length())
    trained = s.arch.embedding if s.full else 0
    hidden = 0.0 if s.full else hidden_bytes(s)
    return [
        Point("loss", temporaries=2 * h * T + 2 * chunk * h + hidden, gradients=8 * trained, logits=2 * chunk * s.V),
        Point("loss_backward", temporaries=2 * h * T, gradients=2 * trained),
    ]


def chunked(s: Setup) -> list[Point]:
    """Head and loss over 256 tokens at a time, recomputed in backward (TRL).

    Unit: bytes. Formula: fp32 copy of the head 4V·h (+ 2V·h under autocast) + logits of one chunk, 16 B each.
    """
    size, h, T = s.a["chunked-loss-tokens"], s.h, s.T
    head = 0 if s.upcast or s.weight == 4 else 4 * s.arch.embedding
    head += 2 * s.arch.embedding if s.autocast else 0
    written = (2 if s.autocast else 4) * size * s.V
    trained = 6 * s.arch.embedding if s.full else 0
    forward = Point("loss", temporaries=2 * h * T + hidden_bytes(s) + 6 * size * h, casts=head)
    backward = Point("loss_backward", temporaries=4 * h * T + 8 * size * h, casts=head)
    points = [
        forward._replace(logits=written),
        forward._replace(casts=0.0, logits=16 * size * s.V),
        backward._replace(gradients=trained, logits=written),
    ]
    if not s.autocast:
        points.append(backward._replace(logits=16 * size * s.V))
    return points


KINDS = {"default": default, "fused": fused, "chunked": chunked}
