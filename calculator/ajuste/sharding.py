"""What one rank holds when the model, the batch or the states are spread over several GPUs.

Nothing is divided as a total: layers, heads, vocabulary and experts are cut as each strategy cuts them, and what must
be gathered to compute, or buffered to communicate, is added.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from .architecture import Architecture, Layer
from .plan import Plan
from .vision import NO_TOWER
from .weights import PAYLOAD

if TYPE_CHECKING:
    from .case import Case
    from .moments import Instant


def stages(plan: Plan) -> tuple[str, ...]:
    """The ranks that may be fullest: the whole model, or the first, middle and last stage of a pipeline or split."""
    if plan.parallel.pp > 1 or (plan.parallel.strategy == "device-map" and plan.parallel.world > 1):
        return ("first", "last")
    return ("whole",)


def micro_batches_in_flight(plan: Plan, stage: str) -> int:
    """Micro-batches whose activations a pipeline stage holds.

    Unit: micro-batches. Formula: pp in the first of `pp` stages once several are accumulated (one forward, one
    backward; a pipeline that is not full holds fewer); one in a layer split without a schedule.
    """
    pipelined = plan.parallel.pp > 1 and plan.grad_accum > 1 and plan.parallel.strategy != "device-map"
    return plan.parallel.pp if pipelined and stage == "first" else 1


def local(arch: Architecture, plan: Plan, stage: str) -> Architecture:
    """The part of the architecture on one rank: layers of its stage, its share of heads, widths, experts, vocabulary.

    Tensor parallelism cuts heads, feed-forward and vocabulary; expert parallelism shares out the experts, whole where
    it takes the same ranks; a pipeline or a layer split gives a stage ⌈L ÷ stages⌉ layers, the embedding to the first
    and the head to the last.
    """
    tensor, experts, stage_count = plan.parallel.tp, plan.parallel.ep, plan.parallel.pp
    if plan.parallel.strategy == "device-map":
        stage_count = plan.parallel.world
    if tensor == experts == stage_count == 1:
        return arch
    part = ceil(arch.depth / stage_count) / arch.depth
    layers = tuple(_local_layer(y, tensor, experts, plan.parallel.expert_tp, part) for y in arch.layers)
    embedding = arch.embedding / tensor
    ends = 1 if stage_count > 1 or arch.tied else 2
    total = sum(y.count * y.parameters for y in layers) + embedding * ends + arch.outside
    return arch._replace(
        layers=layers,
        depth=arch.depth * part,
        vocabulary=arch.vocabulary / tensor,
        embedding=embedding,
        parameters=total,
        tower=arch.tower if stage in ("whole", "first") else NO_TOWER,
    )


def _local_layer(y: Layer, tensor: int, experts: int, expert_tensor: int, part: float) -> Layer:
    kept = y.small + y.router
    expert_weights = y.expert_weights / (expert_tensor * experts)
    linear_weights = y.linear_weights / tensor
    cut = [
        m._replace(outputs=m.outputs / tensor) if m.role not in ("o", "down") else m._replace(inputs=m.inputs / tensor)
        for m in y.linears
    ]
    return y._replace(
        count=y.count * part,
        heads=y.heads / tensor,
        kv_heads=max(y.kv_heads / tensor, min(1, y.kv_heads)),
        ffn=y.ffn / tensor,
        expert_ffn=y.expert_ffn / expert_tensor,
        linears=tuple(cut),
        experts=tuple(m._replace(copies=m.copies / experts, outputs=m.outputs / expert_tensor) for m in y.experts),
        state=y.state / tensor,
        linear_weights=linear_weights,
        expert_weights=expert_weights,
        mlp_weights=(y.mlp_weights - y.expert_weights) / tensor + expert_weights,
        out_weights=y.out_weights / tensor,
        down_weights=y.down_weights / tensor,
        largest_weights=y.largest_weights / tensor,
        parameters=linear_weights + expert_weights + kept,
    )


# ------------------------------------------------------------------------------------------------------ terms


def layer_bytes(c: Case) -> float:
    """Weights of the largest layer as they are gathered.

    Unit: bytes. Formula: 2 × layer, packed × payload when the base is quantised, + its adapters.
    """
    y = c.layer
    packed = y.linear_weights + (y.expert_weights if c.plan.quantize_moe_experts else 0) if c.quantized else 0
    rest = 4 if c.upcast else c.weight
    return packed * PAYLOAD[c.plan.quantization] + (y.parameters - packed) * rest + c.layer_adapter * c.gathered_adapter


def root_bytes(c: Case) -> float:
    """Embedding, head and final norm, gathered with the outermost unit and kept until the step ends.

    Unit: bytes. Formula: (V·h, twice when untied, + norms) × 2, × 4 after an upcast.
    """
    return (c.arch.embedding * c.embeddings + c.arch.outside) * (4 if c.upcast else c.weight)


def gathered_weights(c: Case, i: Instant) -> float:
    """Weights gathered from the other ranks to be used.

    Unit: bytes. Formula: FSDP the layer at work + the one prefetched + embedding and head (FSDP1: these alone at the
    loss, one layer in the backward of frozen units; where they are units of their own, half of it, and nothing while
    layers run backward); ZeRO-3 up to `max_live_parameters` × 2, at least one layer.
    """
    if not c.gathers or not i.training or i.moment == "optimizer_step":
        return 0.0
    if c.plan.parallel.strategy == "zero3":
        live = c.plan.parallel.max_live_parameters or c.a["zero3-live-parameters"]
        whole = c.arch.parameters * c.weight
        return min(whole, max(live * c.weight, 2 * layer_bytes(c)))
    ahead = c.plan.parallel.prefetch
    unsaid = ahead is None or ahead >= c.depth  # or DeepSpeed's elements: FSDP counts layers
    layers = min(c.depth, 1 + (c.a["fsdp-prefetched-layers"] if unsaid else ahead or 0))
    if c.plan.parallel.strategy == "fsdp1":
        if i.moment == "loss":
            layers = 0
        elif i.moment == "backward" and not c.full and i.work.name != "flat_gradient":
            layers = 1
    if not c.plan.parallel.reshard_after_forward:
        layers = c.depth
    ends = root_bytes(c)
    if c.own_ends:  # the embedding goes after its forward, the head comes with the last layer
        ends *= 0.0 if i.moment == "backward" and i.work.name != "end" else 0.5
    return layers * layer_bytes(c) + ends


def gather_pool(c: Case) -> float:
    """Blocks of FSDP2's gathers that nothing else can use while backward is at its widest.

    It gathers into buffers allocated on a stream of their own and copies them out: two at once in forward, one in
    backward, and the allocator gives no stream the blocks of another.
    Unit: bytes. Formula: the larger of a layer and what the outermost unit holds. Source: PyTorch,
    `_fsdp_collectives.py`, `_fsdp_param_group.py` (`wait_for_unshard`).
    """
    if c.plan.parallel.strategy != "fsdp2" or not c.gathers:
        return 0.0
    return max(layer_bytes(c), root_bytes(c) / (2 if c.own_ends else 1))


def communication_buffers(c: Case, i: Instant) -> float:
    """Buffers in which gradients travel.

    Unit: bytes. Formula: DDP one copy of the gradients (its buckets); DeepSpeed two buckets of 2 B × their elements,
    whatever is trained, in backward (ZeRO-3 keeps one always); ColossalAI one, at least a layer's largest tensor,
    and the rank's part of it; Megatron none; FSDP the gradients of one layer, unsharded.
    """
    strategy, ranks = c.plan.parallel.strategy, c.plan.parallel.data_ranks
    if not i.training:
        return 0.0
    if c.zero == "deepspeed":  # also on one GPU
        buckets = 2 if i.moment == "backward" else 1 if strategy == "zero3" else 0
        return buckets * 2 * bucket_elements(c)
    if ranks == 1:
        return 0.0
    if strategy == "ddp":
        return c.trainable * c.kept_gradient
    if c.zero == "colossalai":
        flat = 2 * max(bucket_elements(c), c.layer.largest_weights if c.full else largest_trained(c))
        return flat * (1 + c.state_share) if i.moment == "backward" else 0.0
    if i.moment == "backward" and strategy.startswith("fsdp"):
        return c.gradient * (c.layer.parameters if c.full else c.layer_adapter)
    return 0.0


def bucket_elements(c: Case) -> float:
    """Gradients that are sent at once.

    Unit: elements. Formula: `reduce_bucket_size`; under ZeRO-3 the Hugging Face trainer's h², else the assumption.
    Source: transformers, `integrations/deepspeed.py`; DeepSpeed's default; ColossalAI's, `low_level_zero_plugin.py`.
    """
    if c.plan.parallel.bucket_elements:
        return c.plan.parallel.bucket_elements
    if c.zero == "colossalai":
        return c.a["colossalai-bucket-elements"]
    if c.plan.parallel.strategy == "zero3" and c.plan.framework != "deepspeed":
        return float(c.arch.hidden**2)
    return c.a["zero-bucket-elements"]


def largest_trained(c: Case) -> float:
    """The largest trained tensor: embedding or a linear, or one of an adapter's halves.

    Unit: elements. Formula: max(V·h, in·out), r·max(in, out) of adapters.
    """
    if c.full or c.copies:
        return max(c.arch.embedding, c.layer.largest_weights)
    return max([c.plan.lora.rank * max(m.inputs, m.outputs) for m in c.targets], default=0.0)
