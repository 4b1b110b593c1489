"""What stays on the GPU all the time: weights, their quantisation constants, adapters, a reference model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import peft

if TYPE_CHECKING:
    from .architecture import Architecture
    from .case import Case
    from .plan import Plan

# Bytes of payload per quantised weight.
PAYLOAD = {"none": 0.0, "nf4": 0.5, "nf4-nested": 0.5, "int8": 1.0, "gptq-int4": 0.5, "fp8": 1.0}


def packed_weights(plan: Plan, arch: Architecture) -> float:
    """Number of weights a quantiser packs: the linears of the layers; experts too while they are linear modules.

    Embeddings, head, norms, biases and (from transformers 5 on) fused experts stay in 16 or 32 bit.
    Unit: weights. Formula: Σ layers (linears, + experts) + the vision tower.
    """
    if not plan.is_quantized:
        return 0.0
    packed = sum([y.count * y.linear_weights for y in arch.layers])
    if plan.quantize_moe_experts:
        packed += sum([y.count * y.expert_weights for y in arch.layers])
    return packed + (arch.vision if plan.vision != "absent" else 0)


def weights(c: Case) -> float:
    """The model's weights on this rank.

    Unit: bytes. Formula: (packed × payload + the rest × 2, or × 4 in fp32) ÷ ranks that share them.
    """
    if c.weights_on_host:
        return 0.0
    return base_bytes(c) * c.weight_share


def base_bytes(c: Case) -> float:
    """All weights of the base as they are stored, before they are shared out.

    Unit: bytes. Formula: packed × payload + the rest × 2 or 4.
    """
    packed = c.packed
    rest = 4 if c.upcast else c.stored
    tower = c.arch.vision if c.plan.vision != "absent" else 0
    return packed * PAYLOAD[c.plan.quantization] + (c.arch.parameters + tower - packed) * rest


def quantisation_constants(c: Case) -> float:
    """Scales of the quantised weights.

    Unit: bytes. Formula, per weight: NF4 one fp32 per block of 64; nested one byte per block and one fp32 per 256
    blocks; GPTQ a 16-bit scale and a 4-bit zero per group of 128; int8 and fp8 one fp32 per row of h.
    Source: QLoRA, arXiv 2305.14314; bitsandbytes; GPTQ, arXiv 2210.17323; LLM.int8(), arXiv 2208.07339.
    """
    packed, kind = c.packed * c.weight_share, c.plan.quantization
    if not packed or c.weights_on_host:
        return 0.0
    if kind == "nf4":
        return packed * 4 / c.a["nf4-block"]
    if kind == "nf4-nested":
        return packed * (1 + 4 / c.a["nf4-nested-block"]) / c.a["nf4-block"]
    if kind == "gptq-int4":
        return packed * 2.5 / c.a["gptq-group"]
    return packed * 4 / c.arch.hidden


def adapters(c: Case) -> float:
    """Adapter weights.

    Unit: bytes. Formula: A × 4 in fp32 or 2 in bf16, + trained copies of embedding and head in the base's dtype,
    + VeRA's frozen shared matrices. FSDP's CPU offload takes them along: gathered with their layer.
    """
    if c.full or c.steps_on_host:
        return 0.0
    trained = c.kept_gradient * c.trainable * c.weight_share
    return trained + c.adapter * peft.shared_parameters(c.arch, c.plan)


def reference_model(c: Case) -> float:
    """A frozen copy of the model that preference losses compare with.

    Unit: bytes. Formula: the base's bytes again, in 16 bit; nothing when the adapter is switched off instead.
    """
    if c.plan.reference != "copy":
        return 0.0
    if c.full:
        return 2.0 * c.arch.parameters * c.weight_share
    return base_bytes(c) * c.weight_share
