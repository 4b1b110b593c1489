"""What one layer at work needs on top of everything that waits: recomputed and temporary tensors.

Forward and backward are cut into points, each affine in the number of tokens; the largest decides. Source of every
count: the op-level reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import activations
from .case import release
from .records import NamedTuple

if TYPE_CHECKING:
    from .case import Case


class Point(NamedTuple):
    """Bytes alive at one point because of the work done there."""

    name: str
    saved: float = 0.0  # of the layer at work, kept or recomputed for its backward
    temporaries: float = 0.0
    gradients: float = 0.0  # of this layer's (or the head's) weights so far
    casts: float = 0.0  # 16-bit copies of fp32 weights
    dequantised: float = 0.0
    logits: float = 0.0


def dequantised(c: Case, matrix: float, scales: bool = True) -> float:
    """A packed matrix made 16 bit to be multiplied.

    Unit: bytes. Formula: 2 × its weights, + for nested NF4 its scales made fp32 twice over (forward); int8 also
    multiplies in int8 with an int32 result, which is smaller than the matrix.
    """
    nested = scales and c.plan.quantization == "nf4-nested"
    return (2 + (2 * 4 / c.a["nf4-block"] if nested else 0)) * matrix if c.quantized else 0.0


def adapter_casts(c: Case) -> float:
    """16-bit copies of one layer's fp32 adapters under autocast.

    Unit: bytes. Formula: 2r(in + out) per target, of VeRA's shared matrices too.
    """
    if not c.autocast or c.adapter != 4:
        return 0.0
    if c.plan.method == "vera":
        return 2.0 * c.plan.lora.rank * sum([m.inputs + m.outputs for m in c.targets])
    return 2.0 * c.layer_adapter


def direction_norm(c: Case) -> float:
    """DoRA's norm of the merged weight, one target at a time.

    Unit: bytes. Formula: 24 × weights of the largest target: B·A, the weight in fp32, their sum, and what norms it.
    """
    return 24.0 * max([m.weights for m in c.targets], default=0.0) if c.plan.method == "dora" else 0.0


def gate_gradients(c: Case) -> float:
    """What the gate's backward needs at once; fused kernels write in place.

    Unit: bytes per token and feed-forward width. Formula: 2m, fused or ungated m.
    """
    return c.mlp_bytes * (1 if c.fused_mlp or not c.arch.traits.gated else 2)


def active_ffn(c: Case) -> float:
    """Feed-forward width that one token passes. Unit: numbers per token. Formula: f + chosen experts × their width."""
    return c.layer.ffn + c.layer.experts_per_token * c.layer.expert_ffn


def worked_ffn(c: Case) -> float:
    """Feed-forward width at work at once: experts that are modules of their own run one after the other.

    Unit: numbers per token. Formula: f + chosen × width ÷ experts; fused experts all that `active_ffn` says.
    """
    y = c.layer
    if y.experts and c.plan.quantize_moe_experts:
        return y.ffn + y.experts_per_token * y.expert_ffn / y.experts[0].copies
    return active_ffn(c)


# ---------------------------------------------------------------------------------------------------- forward


def forward_points(c: Case) -> list[Point]:
    """The widest points of the last layer's forward pass.

    Under full checkpointing nothing is saved, so the whole feed-forward is temporary; otherwise only what is cast.
    """
    h, t = c.hidden, c.tokens
    points = _checkpointed_forward(c) if c.checkpointed else _plain_forward(c)
    merged = direction_norm(c)
    if merged:
        points = [p._replace(temporaries=p.temporaries + merged) for p in points]
    if (c.eager or c.scores_written) and c.checkpointed:
        q, n, each = c.layer.query, c.layer.heads, 13 if c.scores_written else 10
        points.append(Point("attention", temporaries=(n * c.sequence * each + 4 * h + 6 * q) * t))
    return points


def _checkpointed_forward(c: Case) -> list[Point]:
    f, h, t, m, dq = c.layer.ffn, c.hidden, c.tokens, c.mlp_bytes, dequantised(c, c.layer.largest_weights)
    if c.layer.experts:
        chosen = c.layer.experts_per_token
        return [Point("mlp", temporaries=(chosen * (6 * h + 6 * c.layer.expert_ffn) + 4 * h + 6 * f) * t)]
    if c.full or not c.feeds_adapter:
        points = [Point("mlp", temporaries=(3 * m * f + 2 * c.residual * h) * t)]
        if c.quantized:
            points.append(Point("mlp", temporaries=(2 * m * f + 2 * c.residual * h) * t, dequantised=dq))
        return points
    if c.quantized and c.upcast:
        return [Point("mlp", temporaries=((14 if c.autocast else 16) * f + 8 * h) * t)]
    if c.one_copy:
        points = [Point("mlp", temporaries=(8 * f + 4 * h) * t)]
        if c.quantized:
            points.append(Point("mlp", temporaries=(4 * f + 4 * h) * t, dequantised=dq))
        return points
    return [Point("mlp", temporaries=((8 if c.autocast else 12) * f + 8 * h) * t)]


def _plain_forward(c: Case) -> list[Point]:
    f, h, t = c.layer.ffn, c.hidden, c.tokens
    if c.full or not c.feeds_adapter:
        return [Point("mlp", temporaries=c.residual * h * t)]
    if c.quantized and c.upcast:
        return [Point("mlp", temporaries=(2 * f + 8 * h) * t)]
    if c.one_copy:
        return [Point("mlp", temporaries=4 * h * t), Point("mlp", dequantised=dequantised(c, c.layer.largest_weights))]
    if c.autocast:
        return [Point("mlp", temporaries=(4 * f + 6 * h) * t)]
    return [Point("mlp", temporaries=(4 * f + 4 * h) * t), Point("mlp", temporaries=(2 * f + 12 * h) * t)]


# --------------------------------------------------------------------------------------------------- backward


def backward_points(c: Case) -> list[Point]:
    """The widest points of one layer's backward pass, its gradients and saved tensors included."""
    saved = activations.saved_per_token(c, c.layer) * c.tokens
    if not c.full:
        points = _adapter_backward(c, saved)
    elif c.autocast:
        points = _autocast_backward(c, saved)
    else:
        points = _full_backward(c, saved)
    if c.eager or c.scores_written:
        points.append(_scores_backward(c, saved))
    casts = adapter_casts(c)
    extra = 4.5 * c.layer.expert_weights + 2 * c.expert_adapter if c.expert_adapter else 0.0
    extra += direction_norm(c) if c.checkpointed else 0.0  # recomputed
    if casts or extra:
        points = [p._replace(casts=p.casts + casts, temporaries=p.temporaries + extra) for p in points]
    return points


def indexed_experts(c: Case) -> float:
    """A gradient the size of all experts, written for one of them and added to the others'.

    Unit: bytes. Formula: gradient's × 2 of 3 projections, where the experts' one parameter is indexed expert by expert
    (gpt-oss before transformers 5). Source: transformers 4.55, `modeling_gpt_oss.py`.
    """
    if c.arch.family != "gpt_oss" or not c.plan.transformers or release(c.plan.transformers) >= (5,):
        return 0.0
    return c.gradient * c.layer.expert_weights * 2 / 3


def _full_backward(c: Case, saved: float) -> list[Point]:
    """Trained weights, nothing cast: down projection, second norm, attention, end of the layer."""
    y, h, t, g = c.layer, c.hidden, c.tokens, c.gradient
    q, k = y.query, y.key
    after_mlp = saved - activations.feed_forward(c, y) * t
    norms = activations.norms(c) / 2 * t
    kept_norm = 0 if c.fused_kernels else 4 if c.residual == 2 else 8
    fp32_queries = 4 * q + (4 * q if y.heads != y.kv_heads else 0)
    return [
        Point("mlp", saved, (gate_gradients(c) * active_ffn(c) + c.residual * h) * t, g * y.down_weights),
        Point("experts", saved, indexed_experts(c), g * y.mlp_weights),
        Point("norm", after_mlp - kept_norm * h * t, (8 if c.fused_kernels else 22) * h * t, g * y.mlp_weights),
        Point(
            "attention",
            after_mlp - norms,
            (4 * q + 4 * k + fp32_queries + c.residual * h) * t,
            g * (y.mlp_weights + y.out_weights),
        ),
        Point("end", 0.0, (10 if c.fused_kernels else 26) * h * t, g * y.parameters),
    ]


def _autocast_backward(c: Case, saved: float) -> list[Point]:
    """Trained fp32 weights under autocast: each weight also has a 16-bit copy, and its gradient arrives in 16 bit."""
    y, t, g = c.layer, c.tokens, c.gradient
    mlp, _, norm, attention, end = _full_backward(c, saved)
    dense = y.mlp_weights - y.expert_weights
    others = 2 * (y.linear_weights - dense)
    down = Point(
        "down",
        saved - activations.feed_forward(c, y) * t,
        2 * active_ffn(c) * t,
        g * y.mlp_weights * 2 / 3,
        2 * y.linear_weights,
    )
    return [
        mlp._replace(casts=2 * y.linear_weights),
        norm._replace(casts=others + 2 * dense / 3),
        attention._replace(casts=others),
        end._replace(casts=2 * y.largest_weights),
        down,
    ]


def _adapter_backward(c: Case, saved: float) -> list[Point]:
    """Frozen weights: the feed-forward's backward is the widest point, or its dequantised weight."""
    f, h, t = worked_ffn(c), c.hidden, c.tokens
    weight = dequantised(c, c.layer.down_weights, scales=False)
    if c.quantized and c.upcast:
        return _upcast_backward(c, saved)
    if c.fused_mlp:
        widest = gate_gradients(c) * f + 2 * h
    elif not c.feeds_adapter:
        widest = 6 * f + 2 * h
    elif c.one_copy:
        widest = 4 * f + 2 * h
    elif c.autocast:
        widest = 6 * f + 10 * h if c.checkpointed else 4 * f + 2 * h
    else:
        widest = 4 * f + (12 if c.checkpointed else 4) * h
    copies = 2.0 * c.layer.linear_weights if c.autocast and c.weight == 4 and not c.quantized else 0.0
    points = [Point("mlp", saved, widest * t, casts=copies)]
    if weight:
        points.append(Point("mlp", saved, (2 * f + 2 * h) * t, dequantised=weight))
    return points


def _upcast_backward(c: Case, saved: float) -> list[Point]:
    """After `prepare_model_for_kbit_training`: the feed-forward flows in fp32."""
    f, h, t = worked_ffn(c), c.hidden, c.tokens
    if not c.feeds_adapter:
        return [Point("mlp", saved, (12 * f + 4 * h) * t, dequantised=dequantised(c, c.layer.down_weights, False))]
    points = [Point("mlp", saved, (10 * f + (0 if c.checkpointed else 4 * h)) * t)]
    if not c.autocast:
        points = [Point("mlp", saved, (8 * f + 4 * h) * t)]
    if c.checkpointed:
        workspace = dequantised(c, c.layer.down_weights)
        points.append(Point("mlp", saved, (4 * f + 8 * h) * t, dequantised=workspace))
    return points


def _scores_backward(c: Case, saved: float) -> Point:
    """Attention that has its scores written out: their gradients.

    Unit: bytes. Formula: n·S·T × 6 eager (fp32 and 16 bit), × 8 in fp32, + the residual's and the queries'.
    """
    y, h, t, n, q = c.layer, c.hidden, c.tokens, c.layer.heads, c.layer.query
    left = saved - (activations.feed_forward(c, y) + activations.norms(c) / 2) * t
    gradients = c.gradient * (y.mlp_weights + y.out_weights) if c.full else 0.0
    each = 8 if c.scores_written else 6
    return Point("attention", left, (each * n * c.sequence + c.residual * h + 4 * q) * t, gradients)
