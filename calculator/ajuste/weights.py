"""What stays on the GPU all the time: weights, their quantisation constants, adapters."""

from __future__ import annotations

from .case import Case

# Bytes of payload per quantised weight.
PAYLOAD = {"none": 0.0, "nf4": 0.5, "nf4-nested": 0.5, "int8": 1.0, "gptq-int4": 0.5, "fp8": 1.0}


def quantised_weights(c: Case) -> int:
    """Number of weights a quantiser packs: the linears of the layers; experts too while they are linear modules.

    Embeddings, head, norms, biases and (from transformers 5 on) fused experts stay in 16 or 32 bit.
    """
    if not c.quantized:
        return 0
    experts = c.plan.quantize_moe_experts
    return sum(y.count * (y.linear_weights + (y.expert_weights if experts else 0)) for y in c.arch.layers)


def weights(c: Case) -> float:
    """The model's weights.

    Unit: bytes. Formula: packed × 0.5 or 1 + the rest × 2, or × 4 in fp32 (master copies have their own term).
    """
    packed = quantised_weights(c)
    rest = 4 if c.upcast else c.weight
    return packed * PAYLOAD[c.plan.quantization] + (c.arch.parameters - packed) * rest


def quantisation_constants(c: Case) -> float:
    """Scales of the quantised weights.

    Unit: bytes. Formula: nf4 one fp32 per block of 64; nested one byte per block of 64 + one fp32 per 256 blocks.
    Source: QLoRA, arXiv 2305.14314; bitsandbytes.
    """
    packed, kind = quantised_weights(c), c.plan.quantization
    if kind == "nf4":
        return packed * 4 / c.a["nf4-block"]
    if kind == "nf4-nested":
        return packed * (1 + 4 / c.a["nf4-nested-block"]) / c.a["nf4-block"]
    return 0.0


def adapters(c: Case) -> float:
    """Adapter weights.

    Unit: bytes. Formula: Σ targets r (in + out) × 4 in fp32 or 2 in bf16.
    """
    return float(c.adapter * c.adapter_parameters)


def largest_dequantised(c: Case) -> float:
    """The largest packed weight as 16 bit. Unit: bytes. Formula: 2 × weights of the largest linear."""
    return 2.0 * c.layer.largest_weights if c.quantized else 0.0
