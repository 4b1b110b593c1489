"""What stays on the GPU all the time: weights, their quantisation constants, adapters."""

from __future__ import annotations

from .setup import Setup

# Bytes of payload per quantised weight.
PAYLOAD = {"none": 0.0, "nf4": 0.5, "nf4-nested": 0.5, "int8": 1.0, "gptq-int4": 0.5, "fp8": 1.0}


def quantised_weights(s: Setup) -> int:
    """Number of weights a quantiser packs: the linears of the layers; experts too while they are linear modules.

    Embeddings, head, norms, biases and (from transformers 5 on) fused experts stay in 16 or 32 bit.
    """
    if not s.quantized:
        return 0
    experts = s.plan.quantize_moe_experts
    return sum(y.count * (y.linear_weights + (y.expert_weights if experts else 0)) for y in s.arch.layers)


def weights(s: Setup) -> float:
    """The model's weights.

    Unit: bytes. Formula: packed × 0.5 or 1 + the rest × 2, or × 4 in fp32 (master copies have their own term).
    """
    packed = quantised_weights(s)
    rest = 4 if s.upcast else s.weight
    return packed * PAYLOAD[s.plan.quantization] + (s.arch.parameters - packed) * rest


def quantisation_constants(s: Setup) -> float:
    """Scales of the quantised weights.

    Unit: bytes. Formula: nf4 one fp32 per block of 64; nested one byte per block of 64 + one fp32 per 256 blocks.
    Source: QLoRA, arXiv 2305.14314; bitsandbytes.
    """
    packed, kind = quantised_weights(s), s.plan.quantization
    if kind == "nf4":
        return packed * 4 / s.a["nf4-block"]
    if kind == "nf4-nested":
        return packed * (1 + 4 / s.a["nf4-nested-block"]) / s.a["nf4-block"]
    return 0.0


def adapters(s: Setup) -> float:
    """Adapter weights.

    Unit: bytes. Formula: Σ targets r (in + out) × 4 in fp32 or 2 in bf16.
    """
    return float(s.adapter * s.adapter_parameters)


def largest_dequantised(s: Setup) -> float:
    """The largest packed weight as 16 bit. Unit: bytes. Formula: 2 × weights of the largest linear."""
    return 2.0 * s.layer.largest_weights if s.quantized else 0.0
