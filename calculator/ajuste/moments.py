"""The instants of one training step: when things are largest, and what waits in memory meanwhile.

A moment of the answer (forward, loss, backward, …) is the largest of its instants. Each instant is affine in the
number of sequences, which is what makes the largest micro-batch an arithmetic matter.
"""

from __future__ import annotations

from typing import NamedTuple

from . import activations, optimizer
from .case import Case
from .layer_work import Point, adapter_casts, backward_points, forward_points
from .loss import loss_points

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


def instants(c: Case) -> list[Instant]:
    """All instants of the training step."""
    return [*forward_instants(c), *loss_instants(c), *backward_instants(c), step_instant(c)]


def checkpoints(c: Case, layers: float) -> float:
    """Inputs of the layers, kept for recomputation. Unit: bytes. Formula: 2h (4h in fp32) per layer and token."""
    return layers * c.residual * c.hidden * c.tokens


def rotary_tables(c: Case) -> float:
    """Sine and cosine of the positions, shared by all layers. Unit: bytes. Formula: 2 × S × head size × 2 or 4."""
    return 2.0 * c.residual * c.layer.head_dim * c.sequence if c.arch.rotary else 0.0


def saved_by_layers(c: Case) -> float:
    """What all layers wait with when nothing is recomputed. Unit: bytes."""
    per_token = sum(y.count * activations.saved_per_token(c, y) for y in c.arch.layers)
    return per_token * c.tokens + c.depth * expert_copies(c)


def expert_copies(c: Case) -> float:
    """Adapted experts, materialised in 16 bit and saved, per layer. Unit: bytes."""
    return 2.0 * c.layer.expert_weights + c.expert_adapter if c.expert_adapter else 0.0


def weight_casts(c: Case, layers: float) -> float:
    """16-bit copies of trained fp32 linears under autocast. Unit: bytes. Formula: 2 B × weights of the layers."""
    return layers * 2.0 * (c.layer.linear_weights + c.layer.router) if c.full and c.autocast else 0.0


def final_norm(c: Case) -> float:
    """What the last norm keeps, and the first one does not when nothing before it is trained. Bytes per token."""
    h = c.hidden
    if not c.full:
        return 4.0 * h if c.checkpointed else 0.0
    gemma = c.arch.traits.norm == "gemma"
    if gemma or c.residual == 2:
        return 10.0 * h if gemma else 8.0 * h
    return 10.0 * h if c.autocast else 12.0 * h


def saved_after_forward(c: Case) -> float:
    """Everything that waits for backward when the last layer is done, the autocast copies apart. Unit: bytes."""
    total = final_norm(c) * c.tokens + rotary_tables(c)
    if c.checkpointed:
        return total + checkpoints(c, c.depth)
    total += saved_by_layers(c)
    if not c.full and not any(m.role in ("q", "k", "v", "qkv", "o") for m in c.targets):
        first = activations.attention(c, c.layer)  # no gradient reaches the first layer's attention
        total -= (first + activations.query_key_norms(c, c.layer)) * c.tokens
    return total


def forward_instants(c: Case) -> list[Instant]:
    casts = c.depth * adapter_casts(c)
    if c.checkpointed:  # autocast keeps its copies until the forward ends
        saved = checkpoints(c, c.depth) + rotary_tables(c)
        copies = casts + weight_casts(c, c.depth)
        if c.expert_adapter:
            copies += 2 * expert_copies(c)
    else:
        saved = saved_after_forward(c) - final_norm(c) * c.tokens
        copies = casts + weight_casts(c, c.depth)
    return [Instant("forward", point, saved, copies) for point in forward_points(c)]


def loss_instants(c: Case) -> list[Instant]:
    """Loss forward and backward, and the head's backward."""
    saved, result = saved_after_forward(c), []
    adapters, layers = c.depth * adapter_casts(c), weight_casts(c, c.depth)
    head = 2.0 * c.arch.embedding if c.autocast and (c.full or c.upcast) and c.plan.loss == "default" else 0.0
    kept = 0.0 if c.checkpointed else adapters + layers
    for point in loss_points(c):
        forward = point.name == "loss"
        casts = adapters + layers if forward else kept
        if point.name != "head_backward" or point.logits:
            casts += head
        result.append(Instant("loss", point, saved, casts, outputs=c.plan.outputs_alive and not forward))
    return result


def backward_instants(c: Case) -> list[Instant]:
    """The last layer (everything below still waits), the first (all gradients are there), the embedding."""
    head = float(c.gradient * c.arch.embedding) if c.full and (not c.accumulates or c.arch.tied) else 0.0
    above = 0.0 if c.accumulates else (c.depth - 1) * optimizer.layer_gradients(c)
    tables, alive = rotary_tables(c), c.plan.outputs_alive
    if c.checkpointed:
        saved_top, saved_first, casts_top = checkpoints(c, c.depth), checkpoints(c, 1), 0.0
    else:
        rest = (c.depth - 1) / c.depth
        working = activations.saved_per_token(c, c.layer) * c.tokens + expert_copies(c)
        saved_top, saved_first = saved_by_layers(c) - working, 0.0
        casts_top = weight_casts(c, c.depth - 1) + rest * c.depth * adapter_casts(c)
    result = []
    for point in backward_points(c):
        result.append(Instant("backward", point, saved_top + tables, casts_top, head, alive))
        result.append(Instant("backward", point, saved_first + tables, 0.0, head + above, alive))
    if c.full:
        result.append(_embedding_backward(c))
    return result


def _embedding_backward(c: Case) -> Instant:
    """The embedding's dense gradient; tied, the head's, the embedding's and their sum are alive together."""
    one = float(c.gradient * c.arch.embedding)
    if c.accumulates:
        gradients = one * (3 if c.arch.tied else 1)
    else:
        gradients = optimizer.all_gradients(c) + (2 * one if c.arch.tied else 0.0)
    end = Point("end", temporaries=c.residual * c.hidden * c.tokens)
    return Instant("backward", end, gradients=gradients, outputs=c.plan.outputs_alive)


def step_instant(c: Case) -> Instant:
    gradients = 0.0 if c.accumulates else optimizer.all_gradients(c)
    return Instant("optimizer_step", Point("step", temporaries=optimizer.step_temporaries(c)), gradients=gradients)
