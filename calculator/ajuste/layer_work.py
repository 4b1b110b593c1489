"""What one layer at work needs on top of everything that waits: recomputed and temporary tensors.

Forward and backward are cut into points, each affine in the number of tokens; the largest decides. Source of every
count: the op-level reference.
"""

from __future__ import annotations

from typing import NamedTuple

from . import activations
from .setup import Setup


class Point(NamedTuple):
    """Bytes alive at one point because of the work done there."""

    name: str
    saved: float = 0.0  # of the layer at work, kept or recomputed for its backward
    temporaries: float = 0.0
    gradients: float = 0.0  # of this layer's (or the head's) weights so far
    casts: float = 0.0  # 16-bit copies of fp32 weights
    dequantised: float = 0.0
    logits: float = 0.0


def dequantised_forward(s: Setup) -> float:
    """Work space of a 4-bit linear in forward: the 16-bit weight and its scales made fp32 twice over."""
    return (2 + 2 * 4 / s.a["nf4-block"]) * s.layer.largest_weights if s.quantized else 0.0


def adapter_casts(s: Setup) -> float:
    """16-bit copies of one layer's fp32 adapters under autocast: 2r(in + out) per target."""
    return 2.0 * s.layer_adapter if s.autocast and s.adapter == 4 else 0.0


def active_ffn(s: Setup) -> float:
    """Feed-forward width that one token passes."""
    return s.layer.ffn + s.layer.experts_per_token * s.layer.expert_ffn


def feeds_adapter(s: Setup) -> bool:
    """Whether the feed-forward carries adapters."""
    return any(m.role in ("gate", "up", "gate_up", "down") for m in s.targets)


# ---------------------------------------------------------------------------------------------------- forward


def forward_points(s: Setup) -> list[Point]:
    """The widest points of the last layer's forward pass.

    Under full checkpointing nothing is saved, so the whole feed-forward is temporary; otherwise only what is cast.
    """
    h, T = s.h, s.T
    points = _checkpointed_forward(s) if s.checkpointed else _plain_forward(s)
    if s.eager and s.checkpointed:
        q, n = s.layer.query, s.layer.heads
        points.append(Point("attention", temporaries=(n * s.S * 10 + 4 * h + 6 * q) * T))
    return points


def _checkpointed_forward(s: Setup) -> list[Point]:
    f, h, T, m, dq = s.layer.ffn, s.h, s.T, s.mlp_bytes, dequantised_forward(s)
    if s.layer.experts:
        chosen = s.layer.experts_per_token
        return [Point("mlp", temporaries=(chosen * (6 * h + 6 * s.layer.expert_ffn) + 4 * h + 6 * f) * T)]
    if s.full or not feeds_adapter(s):
        points = [Point("mlp", temporaries=(3 * m * f + 2 * s.residual * h) * T)]
        if s.quantized:
            points.append(Point("mlp", temporaries=(2 * m * f + 2 * s.residual * h) * T, dequantised=dq))
        return points
    if s.quantized and s.upcast:
        return [Point("mlp", temporaries=((14 if s.autocast else 16) * f + 8 * h) * T)]
    if s.one_copy:
        points = [Point("mlp", temporaries=(8 * f + 4 * h) * T)]
        if s.quantized and s.adapter == 4 or s.quantized:
            points.append(Point("mlp", temporaries=(4 * f + 4 * h) * T, dequantised=dq))
        return points
    return [Point("mlp", temporaries=((8 if s.autocast else 12) * f + 8 * h) * T)]


def _plain_forward(s: Setup) -> list[Point]:
    f, h, T = s.layer.ffn, s.h, s.T
    if s.full or not feeds_adapter(s):
        return [Point("mlp", temporaries=s.residual * h * T)]
    if s.quantized and s.upcast:
        return [Point("mlp", temporaries=(2 * f + 8 * h) * T)]
    if s.one_copy:
        return [Point("mlp", temporaries=4 * h * T), Point("mlp", dequantised=dequantised_forward(s))]
    if s.autocast:
        return [Point("mlp", temporaries=(4 * f + 6 * h) * T)]
    return [Point("mlp", temporaries=(4 * f + 4 * h) * T), Point("mlp", temporaries=(2 * f + 12 * h) * T)]


# --------------------------------------------------------------------------------------------------- backward


def backward_points(s: Setup) -> list[Point]:
    """The widest points of one layer's backward pass, its gradients and saved tensors included."""
    saved = activations.saved_per_token(s, s.layer) * s.T
    if not s.full:
        points = _adapter_backward(s, saved)
    elif s.autocast:
        points = _autocast_backward(s, saved)
    else:
        points = _full_backward(s, saved)
    if s.eager:
        points.append(_eager_backward(s, saved))
    casts = adapter_casts(s)
    extra = 4.5 * s.layer.expert_weights + 2 * s.expert_adapter if s.expert_adapter else 0.0
    if casts or extra:
        points = [p._replace(casts=p.casts + casts, temporaries=p.temporaries + extra) for p in points]
    return points


def _full_backward(s: Setup, saved: float) -> list[Point]:
    """Trained weights, nothing cast: down projection, second norm, attention, end of the layer."""
    y, h, T, g = s.layer, s.h, s.T, s.gradient
    q, k = y.query, y.key
    after_mlp = saved - activations.feed_forward(s, y) * T
    norms = activations.norms(s) / 2 * T
    fp32_queries = 4 * q + (4 * q if y.heads != y.kv_heads else 0)
    return [
        Point("mlp", saved, (2 * s.mlp_bytes * active_ffn(s) + s.residual * h) * T, g * y.down_weights),
        Point("norm", after_mlp - (4 if s.residual == 2 else 8) * h * T, 22 * h * T, g * y.mlp_weights),
        Point(
            "attention",
            after_mlp - norms,
            (4 * q + 4 * k + fp32_queries + s.residual * h) * T,
            g * (y.mlp_weights + y.out_weights),
        ),
        Point("end", 0.0, 26 * h * T, g * y.parameters),
    ]


def _autocast_backward(s: Setup, saved: float) -> list[Point]:
    """Trained fp32 weights under autocast: each weight also has a 16-bit copy, and its gradient arrives in 16 bit."""
    y, h, T, g = s.layer, s.h, s.T, s.gradient
    mlp, norm, attention, end = _full_backward(s, saved)
    others = 2 * (y.linear_weights - y.mlp_weights)
    down = Point(
        "down",
        saved - activations.feed_forward(s, y) * T,
        2 * active_ffn(s) * T,
        g * y.mlp_weights * 2 / 3,
        2 * y.linear_weights,
    )
    return [
        mlp._replace(casts=2 * y.linear_weights),
        norm._replace(casts=others + 2 * y.mlp_weights / 3),
        attention._replace(casts=others),
        end._replace(casts=2 * y.largest_weights),
        down,
    ]


def _adapter_backward(s: Setup, saved: float) -> list[Point]:
    """Frozen weights: the feed-forward's backward is the widest point, or its dequantised weight."""
    f, h, T = active_ffn(s), s.h, s.T
    weight = 2.0 * s.layer.down_weights if s.quantized else 0.0
    if s.quantized and s.upcast:
        return _upcast_backward(s, saved)
    if not feeds_adapter(s):
        widest = 6 * f + 2 * h
    elif s.one_copy:
        widest = 4 * f + 2 * h
    elif s.autocast:
        widest = 6 * f + 10 * h if s.checkpointed else 4 * f + 2 * h
    else:
        widest = 4 * f + (12 if s.checkpointed else 4) * h
    points = [Point("mlp", saved, widest * T)]
    if weight:
        points.append(Point("mlp", saved, (2 * f + 2 * h) * T, dequantised=weight))
    return points


def _upcast_backward(s: Setup, saved: float) -> list[Point]:
    """After `prepare_model_for_kbit_training`: the feed-forward flows in fp32."""
    f, h, T = active_ffn(s), s.h, s.T
    points = [Point("mlp", saved, (10 * f + (0 if s.checkpointed else 4 * h)) * T)]
    if not s.autocast:
        points = [Point("mlp", saved, (8 * f + 4 * h) * T)]
    if s.checkpointed:
        if feeds_adapter(s) or not s.autocast:
            workspace = (2 + 2 * 4 / s.a["nf4-block"]) * s.layer.down_weights
            points.append(Point("mlp", saved, (4 * f + 8 * h) * T, dequantised=workspace))
        else:
            points.append(Point("mlp", saved, 8 * f * T))
    return points


def _eager_backward(s: Setup, saved: float) -> Point:
    """Eager attention: gradients of the scores, in fp32 and 16 bit."""
    y, h, T, n, q = s.layer, s.h, s.T, s.layer.heads, s.layer.query
    left = saved - (activations.feed_forward(s, y) + activations.norms(s) / 2) * T
    gradients = s.gradient * (y.mlp_weights + y.out_weights) if s.full else 0.0
    return Point("attention", left, (6 * n * s.S + s.residual * h + 4 * q) * T, gradients)
