"""The instants of a run: when things are largest, and what waits in memory meanwhile.

A moment of the answer (load, forward, loss, …) is the largest of its instants. Each instant is affine in the number of
sequences, which is what makes the largest micro-batch an arithmetic matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import activations, optimizer, sharding
from .case import release
from .layer_work import Point, active_ffn, adapter_casts, backward_points, dequantised, forward_points
from .loss import key_value_cache, loss_points
from .records import NamedTuple
from .vision import tower_activations

if TYPE_CHECKING:
    from .case import Case

MOMENTS = ("load", "forward", "loss", "backward", "optimizer_step", "evaluation", "save")


class Instant(NamedTuple):
    """One instant: the work done in it and what waits beside it, in bytes."""

    moment: str
    work: Point
    saved: float = 0.0  # activations that wait for their backward, the layer at work apart
    casts: float = 0.0  # 16-bit copies kept by autocast
    gradients: float = 0.0  # ready in this pass, the work's own apart
    outputs: bool = False  # the logits are still referenced
    training: bool = True


def instants(c: Case) -> list[Instant]:
    """Load, one training step, evaluation, save."""
    found = [load_instant(c), *forward_instants(c), *loss_instants(c), *backward_instants(c), step_instant(c)]
    if c.plan.eval.examples:
        found.append(evaluation_instant(c))
    found.append(save_instant(c))
    return found


# ------------------------------------------------------------------------------------------------ what waits


def rotary_tables(c: Case) -> float:
    """Sine and cosine of the positions, shared by all layers. Unit: bytes. Formula: 2 × S × head size × 2 or 4."""
    return 2.0 * c.residual * c.layer.head_dim * c.sequence if c.arch.rotary else 0.0


def outside_layers(c: Case) -> float:
    """What waits beside the layers: tables of positions, and a trained vision tower's activations. Unit: bytes."""
    return rotary_tables(c) + tower_activations(c)


def waiting(c: Case) -> float:
    """What the layers wait with when the last one is done. Unit: bytes. Formula: T × Σ layers.

    Offloaded to the host, two layers' worth stays: the one leaving and the one coming back.
    """
    if c.waiting_bytes is None:
        per_token = sum([y.count * activations.waiting_per_token(c, y) for y in c.arch.layers])
        total = per_token * c.tokens * c.trained_layers / c.depth
        total += 0.0 if c.checkpointed else c.depth * expert_copies(c)
        c.waiting_bytes = total * min(1.0, 2 / c.depth) if c.plan.activation_offload else total
    return c.waiting_bytes


def other_micro_batches(c: Case) -> float:
    """Activations of the other micro-batches in flight in a pipeline. Unit: bytes."""
    return (c.in_flight - 1) * waiting(c)


def expert_copies(c: Case) -> float:
    """Adapted fused experts, materialised in 16 bit and saved, per layer. Unit: bytes."""
    return 2.0 * c.layer.expert_weights + c.expert_adapter if c.expert_adapter else 0.0


def weight_casts(c: Case, layers: float) -> float:
    """16-bit copies of fp32 linears under autocast.

    Unit: bytes. Formula: 2 B × weights of the layers. Trained ones are cached; frozen ones are kept by the layers that
    save them for their backward.
    """
    if not c.autocast or c.weight != 4 or c.quantized:
        return 0.0
    return min(layers, c.trained_layers) * 2.0 * (c.layer.linear_weights + c.layer.router)


def final_norm(c: Case) -> float:
    """What the last norm keeps, and the first one does not when nothing before it is trained. Bytes per token."""
    h = c.hidden
    if c.plan.activation_offload and c.plan.framework == "torchtune":  # of everything, not only of layers' inputs
        return 0.0
    if not c.full:
        return 4.0 * h if c.checkpointed else 0.0
    if c.fused_kernels:
        return 4.0 * h
    gemma = c.arch.traits.norm == "gemma"
    if gemma or c.residual == 2:
        return 10.0 * h if gemma else 8.0 * h
    return 10.0 * h if c.autocast else 12.0 * h


def saved_after_forward(c: Case) -> float:
    """Everything that waits for backward when the last layer is done, the autocast copies apart. Unit: bytes."""
    total = final_norm(c) * c.tokens + outside_layers(c) + waiting(c) + other_micro_batches(c)
    if not (c.full or c.checkpointed or c.selective) and not _reaches_attention(c):
        first = activations.mixer(c, c.layer)  # no gradient reaches the first layer's attention
        total -= (first + activations.query_key_norms(c, c.layer)) * c.tokens
    return total


def _reaches_attention(c: Case) -> bool:
    """Whether something trained sits in or before the first layer's attention."""
    return c.plan.method not in ("lora", "qlora", "rslora", "dora") or any(
        m.role not in (*activations.GATE_UP, "down") for m in c.targets
    )


# ------------------------------------------------------------------------------------------- the training step


def forward_instants(c: Case) -> list[Instant]:
    """The last layer at work, everything below it waiting."""
    copies = c.depth * adapter_casts(c)
    if c.checkpointed:  # autocast keeps its copies of trained weights until the forward ends
        saved = waiting(c) + outside_layers(c)
        copies += weight_casts(c, c.depth if c.full else 1)
        copies += 2 * expert_copies(c)
    else:
        saved = saved_after_forward(c) - final_norm(c) * c.tokens - other_micro_batches(c)
        copies += weight_casts(c, c.depth)
    saved += other_micro_batches(c)
    found = [Instant("forward", point, saved, copies) for point in forward_points(c)]
    if c.plan.task == "grpo" and c.plan.rl.engine == "none":
        # The trained model itself generates, one micro-batch at a time.
        found.append(Instant("forward", Point("generation", temporaries=key_value_cache(c))))
    return found


def loss_instants(c: Case) -> list[Instant]:
    """Loss forward and backward, and the head's backward."""
    saved, result = saved_after_forward(c), []
    adapters = c.depth * adapter_casts(c)
    layers = weight_casts(c, c.depth) if c.full or not c.checkpointed else 0.0
    fp32_head = c.autocast and (c.weight == 4 or c.upcast) and c.plan.loss in ("default", "in-place")
    head = 2.0 * c.arch.embedding if fp32_head else 0.0
    kept = 0.0 if c.checkpointed else adapters + layers
    for point in loss_points(c):
        forward = point.name in ("loss", "reference")
        casts = adapters + layers if forward else kept
        if point.name != "head_backward" or point.logits:
            casts += head
        result.append(Instant("loss", point, saved, casts, outputs=c.plan.outputs_alive and not forward))
    return result


def backward_instants(c: Case) -> list[Instant]:
    """The last layer (everything below still waits), the first (all gradients are there), the embedding."""
    head, above = _head_gradient(c), 0.0
    if not c.accumulates:
        above = (c.depth - 1) * optimizer.layer_gradients(c)
    tables, alive = outside_layers(c) + other_micro_batches(c), c.plan.outputs_alive and c.has_head
    everything, one = waiting(c), activations.waiting_per_token(c, c.layer) * c.tokens
    if c.checkpointed or c.selective:  # the layer at work still has what it waited with
        kept = 2 * everything - one  # inputs, and their gradients but the first layer's own
        saved_top, saved_first, casts_top = everything, kept if c.keeps_inputs else one, 0.0
    else:
        saved_top, saved_first = max(0.0, everything - one - expert_copies(c)), 0.0
        casts_top = weight_casts(c, c.depth - 1) + (c.depth - 1) * adapter_casts(c)
    if c.plan.method == "freeze":
        above = min(above, (c.trained_layers - 1) * optimizer.layer_gradients(c))
    result = []
    for point in backward_points(c):
        result.append(Instant("backward", point, saved_top + tables, casts_top, head, alive))
        result.append(Instant("backward", point, saved_first + tables, 0.0, head + above, alive))
    if c.flat_gradients:  # zeros for the frozen part, then all of the layer in one piece
        flat = Point("flat_gradient", gradients=2.0 * c.weight * c.layer.parameters)
        result.append(Instant("backward", flat, saved_top + tables, 0.0, 0.0, alive))
    if c.trains_embedding:
        result.append(_embedding_backward(c))
    return result


def _head_gradient(c: Case) -> float:
    """The head's gradient, alive while the layers run backward. Unit: bytes."""
    whole = c.plan.parallel.strategy.startswith("fsdp") and not c.own_ends  # FSDP's outermost unit reduces last
    reduced_last = whole and c.gathers and not c.unreduced
    if not c.trains_head or (c.accumulates and not c.arch.tied and not reduced_last):
        return 0.0
    if c.plan.optimizer_in_backward or c.plan.method == "lomo":
        return c.head_gradient * c.arch.embedding if c.arch.tied else 0.0
    kept = c.kept_gradient if c.full else c.head_gradient
    return (c.head_gradient if whole else kept * c.gradient_share) * c.arch.embedding


def _embedding_backward(c: Case) -> Instant:
    """The embedding's dense gradient; tied, the head's, the embedding's and their sum are alive together.

    Under FSDP the outermost unit's gradients are whole, and in one piece once more before they are reduced (the
    embedding's alone where it is a unit); whole ones that wait for the last micro-step only take this one in.
    """
    one = float(c.head_gradient * c.arch.embedding)
    if c.gathers and c.plan.parallel.strategy.startswith("fsdp") and not c.unreduced:
        units = 1 if c.own_ends else c.embeddings
        gradients = 2 * one * units + (0.0 if c.accumulates else optimizer.kept_gradients(c))
    else:
        gradients = (3 if c.arch.tied else 1) * one
        if not c.accumulates:
            gradients += max(0.0, optimizer.kept_gradients(c) - one)
    end = Point("end", temporaries=c.residual * c.hidden * c.tokens)
    return Instant("backward", end, gradients=gradients, outputs=c.plan.outputs_alive and c.has_head)


def step_instant(c: Case) -> Instant:
    """The optimizer's step: every gradient and its temporaries."""
    gradients = 0.0 if c.accumulates else optimizer.kept_gradients(c)
    point = Point("step", temporaries=optimizer.step_temporaries(c))
    return Instant("optimizer_step", point, gradients=gradients, outputs=c.plan.outputs_alive and c.has_head)


# ------------------------------------------------------------------------------------------------ other moments


def load_instant(c: Case) -> Instant:
    """Weights arriving, one tensor at a time.

    Unit: bytes. Formula: what is resident + the largest 16-bit weight before it is packed, or `merged_experts`; after
    `prepare_model_for_kbit_training`, + the 16-bit embedding while its fp32 copy is made.
    """
    arriving = max(2.0 * c.layer.largest_weights if c.quantized else 0.0, merged_experts(c))
    if c.upcast:
        arriving = max(arriving, 2.0 * c.arch.embedding)
    return Instant("load", Point("load", temporaries=arriving), training=False)


def merged_experts(c: Case) -> float:
    """Experts' matrices of one layer while they become one parameter, on the GPU that loads them.

    Unit: bytes. Formula: 2 × gate and up of all experts, which wait beside the parameter they are copied into; twice
    that where it is packed only then. None where the repository has them as one, or ranks load their part.
    Source: transformers 5, `core_model_loading.py` (`MergeModulelist`, `Concatenate`).
    """
    y = c.layer
    if not y.experts or y.expert_parameters or c.gathers or release(c.plan.transformers) < (5,):
        return 0.0
    pieces = 2.0 * y.expert_weights * (2 / 3 if c.arch.traits.gated else 1 / 2)
    return pieces * (2 if c.quantized and c.plan.quantize_moe_experts else 1)


def evaluation_instant(c: Case) -> Instant:
    """One evaluation batch without gradients, its logits, and the logits of all batches where they are kept.

    Unit: bytes. Formula: T' = evaluation batch × S; 2 layers' inputs + one feed-forward + V·T' (2 + 4 + 4); kept
    logits 4V per evaluated token; generation 4k·L per token of cache. Fused kernels only skip the logits while
    training; TRL's own, by chunks or tiles, always do.
    """
    asked, h = c.plan.eval, c.hidden
    rows = min(asked.batch, asked.examples)
    tokens = rows * c.sequence
    work = (2 * c.residual * h + 3 * c.mlp_bytes * active_ffn(c)) * tokens
    if c.eager:
        work += 10.0 * c.layer.heads * c.sequence * tokens
    logits = 0.0
    if c.has_head:
        logits = 0.0 if c.plan.loss in ("chunked", "tiled") and not asked.keep_logits else 10.0 * c.vocabulary * tokens
        logits += 4.0 * c.vocabulary * asked.examples * c.sequence if asked.keep_logits else 0.0
    if asked.generate_tokens:
        cache = sum(4 * y.count * y.key for y in c.arch.layers)
        work += cache * rows * (c.sequence + asked.generate_tokens)
    point = Point(
        "evaluation", temporaries=work, logits=logits, dequantised=dequantised(c, c.layer.largest_weights, False)
    )
    return Instant("evaluation", point, training=False)


def save_instant(c: Case) -> Instant:
    """Saving copies tensor by tensor to the host.

    Unit: bytes. Formula: what is resident; sharded weights are gathered one unit at a time.
    """
    gathered = 0.0
    if c.gathers and (c.full or c.plan.save.merge):
        gathered = sharding.layer_bytes(c) + sharding.root_bytes(c)
    return Instant("save", Point("save", temporaries=gathered), training=False)
