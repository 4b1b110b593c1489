"""The instants of one training step: when things are largest, and what waits in memory meanwhile.

A moment of the answer (forward, loss, backward, …) is the largest of its instants. Each instant is affine in the
number of sequences, which is what makes the largest micro-batch an arithmetic matter.
"""

from __future__ import annotations

from typing import NamedTuple

from . import activations, optimizer
from .layer_work import Point, adapter_casts, backward_points, forward_points
from .loss import loss_points
from .setup import Setup

NOTHING = Point("")
MOMENTS = ("load", "forward", "loss", "backward", "optimizer_step", "evaluation", "save")


class Instant(NamedTuple):
    moment: str
    work: Point
    saved: float = 0.0  # activations that wait for their backward, the layer at work apart
    casts: float = 0.0  # 16-bit copies kept by autocast
    gradients: float = 0.0  # ready in this pass, the work's own apart
    outputs: bool = False  # the logits are still referenced
    training: bool = True


def instants(s: Setup) -> list[Instant]:
    """All instants of the training step."""
    return [*forward_instants(s), *loss_instants(s), *backward_instants(s), step_instant(s)]


def checkpoints(s: Setup, layers: float) -> float:
    """Inputs of the layers, kept for recomputation. Unit: bytes. Formula: 2h (4h in fp32) per layer and token."""
    return layers * s.residual * s.h * s.T


def rotary_tables(s: Setup) -> float:
    """Sine and cosine of the positions, shared by all layers. Unit: bytes. Formula: 2 × S × head size × 2 or 4."""
    return 2.0 * s.residual * s.layer.head_dim * s.S if s.arch.rotary else 0.0


def saved_by_layers(s: Setup) -> float:
    """What all layers wait with when nothing is recomputed. Unit: bytes."""
    per_token = sum(y.count * activations.saved_per_token(s, y) for y in s.arch.layers)
    return per_token * s.T + s.L * expert_copies(s)


def expert_copies(s: Setup) -> float:
    """Adapted experts, materialised in 16 bit and saved, per layer. Unit: bytes."""
    return 2.0 * s.layer.expert_weights + s.expert_adapter if s.expert_adapter else 0.0


def weight_casts(s: Setup, layers: float) -> float:
    """16-bit copies of trained fp32 linears under autocast. Unit: bytes. Formula: 2 B × weights of the layers."""
    return layers * 2.0 * (s.layer.linear_weights + s.layer.router) if s.full and s.autocast else 0.0


def final_norm(s: Setup) -> float:
    """What the last norm keeps, and the first one does not when nothing before it is trained. Bytes per token."""
    h = s.h
    if not s.full:
        return 4.0 * h if s.checkpointed else 0.0
    gemma = s.arch.traits.norm == "gemma"
    if gemma or s.residual == 2:
        return 10.0 * h if gemma else 8.0 * h
    return 10.0 * h if s.autocast else 12.0 * h


def saved_after_forward(s: Setup) -> float:
    """Everything that waits for backward when the last layer is done, the autocast copies apart. Unit: bytes."""
    total = final_norm(s) * s.T + rotary_tables(s)
    if s.checkpointed:
        return total + checkpoints(s, s.L)
    total += saved_by_layers(s)
    if not s.full and not any(m.role in ("q", "k", "v", "qkv", "o") for m in s.targets):
        first = activations.attention(s, s.layer)  # no gradient reaches the first layer's attention
        total -= (first + activations.query_key_norms(s, s.layer)) * s.T
    return total


def forward_instants(s: Setup) -> list[Instant]:
    casts = s.L * adapter_casts(s)
    if s.checkpointed:  # autocast keeps its copies until the forward ends
        saved = checkpoints(s, s.L) + rotary_tables(s)
        copies = casts + weight_casts(s, s.L)
        if s.expert_adapter:
            copies += 2 * expert_copies(s)
    else:
        saved = saved_after_forward(s) - final_norm(s) * s.T
        copies = casts + weight_casts(s, s.L)
    return [Instant("forward", point, saved, copies) for point in forward_points(s)]


def loss_instants(s: Setup) -> list[Instant]:
    """Loss forward and backward, and the head's backward."""
    saved, result = saved_after_forward(s), []
    adapters, layers = s.L * adapter_casts(s), weight_casts(s, s.L)
    head = 2.0 * s.arch.embedding if s.autocast and (s.full or s.upcast) and s.plan.loss == "default" else 0.0
    kept = 0.0 if s.checkpointed else adapters + layers
    for point in loss_points(s):
        forward = point.name == "loss"
        casts = adapters + layers if forward else kept
        if point.name != "head_backward" or point.logits:
            casts += head
        result.append(Instant("loss", point, saved, casts, outputs=s.plan.outputs_alive and not forward))
    return result


def backward_instants(s: Setup) -> list[Instant]:
    """The last layer (everything below still waits), the first (all gradients are there), the embedding."""
    head = float(s.gradient * s.arch.embedding) if s.full and (not s.accumulates or s.arch.tied) else 0.0
    above = 0.0 if s.accumulates else (s.L - 1) * optimizer.layer_gradients(s)
    tables, alive = rotary_tables(s), s.plan.outputs_alive
    if s.checkpointed:
        saved_top, saved_first, casts_top = checkpoints(s, s.L), checkpoints(s, 1), 0.0
    else:
        rest = (s.L - 1) / s.L
        working = activations.saved_per_token(s, s.layer) * s.T + expert_copies(s)
        saved_top, saved_first = saved_by_layers(s) - working, 0.0
        casts_top = weight_casts(s, s.L - 1) + rest * s.L * adapter_casts(s)
    result = []
    for point in backward_points(s):
        result.append(Instant("backward", point, saved_top + tables, casts_top, head, alive))
        result.append(Instant("backward", point, saved_first + tables, 0.0, head + above, alive))
    if s.full:
        result.append(_embedding_backward(s))
    return result


def _embedding_backward(s: Setup) -> Instant:
    """The embedding's dense gradient; tied, the head's, the embedding's and their sum are alive together."""
    one = float(s.gradient * s.arch.embedding)
    if s.accumulates:
        gradients = one * (3 if s.arch.tied else 1)
    else:
        gradients = optimizer.all_gradients(s) + (2 * one if s.arch.tied else 0.0)
    end = Point("end", temporaries=s.residual * s.h * s.T)
    return Instant("backward", end, gradients=gradients, outputs=s.plan.outputs_alive)


def step_instant(s: Setup) -> Instant:
    gradients = 0.0 if s.accumulates else optimizer.all_gradients(s)
    return Instant("optimizer_step", Point("step", temporaries=optimizer.step_temporaries(s)), gradients=gradients)
