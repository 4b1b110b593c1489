"""One question ready for the formulas: the plan's choices turned into the bytes and counts that the terms multiply.

Letters used by every formula: h hidden size, f feed-forward width, q = heads × head size, k = key-value heads × head
size, n heads, V vocabulary, S sequence length, T = S × micro-batch (tokens in flight), L layers, r rank. All results
are bytes unless a name says otherwise.
"""

from __future__ import annotations

from .architecture import Architecture, Layer, Linear
from .plan import Plan

# What "targets" words mean, as roles of `Linear`.
TARGETS = {
    "qv": ("q", "v", "qkv"),
    "qkv": ("q", "k", "v", "qkv"),
    "attention": ("q", "k", "v", "qkv", "o"),
}
# Bytes per stored weight of each precision of a full fine-tune.
WEIGHT_BYTES = {"bf16": 2, "fp16": 2, "bf16-master": 2, "bf16-mixed": 4, "fp16-mixed": 4, "fp8-mixed": 4, "fp32": 4}
DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}


class Case:
    """Everything the terms read. Built once per table."""

    __slots__ = (
        "a",
        "accumulates",
        "adapter",
        "adapter_parameters",
        "arch",
        "attention_bytes",
        "autocast",
        "checkpointed",
        "depth",
        "dropout",
        "eager",
        "expert_adapter",
        "full",
        "gradient",
        "hidden",
        "layer",
        "layer_adapter",
        "masked",
        "mlp_bytes",
        "one_copy",
        "plan",
        "point_cache",
        "quantized",
        "residual",
        "rows",
        "saved_layers",
        "saved_working",
        "sequence",
        "targets",
        "tokens",
        "trainable",
        "upcast",
        "vocabulary",
        "weight",
    )  # fmt: skip

    def __init__(self, plan: Plan, arch: Architecture, a: dict[str, float]) -> None:
        self.plan, self.arch, self.a = plan, arch, a
        self.layer = max(arch.layers, key=lambda y: y.parameters)
        self.depth, self.hidden, self.vocabulary = arch.depth, arch.hidden, arch.vocabulary
        self.sequence, self.rows = plan.sequence_length, plan.batch
        self.tokens = self.sequence * self.rows
        self.full, self.quantized = plan.trains_base, plan.is_quantized
        self.upcast = plan.kbit_upcast
        self.checkpointed = plan.gradient_checkpointing == "full"
        self.eager, self.masked = plan.attention == "eager", plan.attention == "sdpa" and plan.padding == "padded"
        self.accumulates = plan.grad_accum > 1
        self._numerics(plan)
        self._adapters(plan, arch)

    def _numerics(self, plan: Plan) -> None:
        """Bytes of weights, adapters, gradients and of the tensors that flow through a layer."""
        if self.full:
            self.weight = WEIGHT_BYTES[plan.precision]
            self.autocast = plan.precision.endswith("mixed")
            self.adapter, self.gradient = 0, self.weight
        else:
            self.weight = DTYPE_BYTES[plan.base_dtype]
            self.autocast = plan.autocast
            self.adapter = self.gradient = DTYPE_BYTES[plan.lora.dtype]
        # fp32 embeddings or norms make the residual stream fp32; without autocast everything then computes in fp32.
        self.residual = 4 if self.weight == 4 or self.upcast else 2
        self.attention_bytes = 4 if self.residual == 4 and not self.autocast else 2
        # A 4-bit linear answers in the dtype it was given: after an fp32 norm, fp32, even under autocast.
        self.mlp_bytes = 4 if self.upcast else self.attention_bytes
        # Input and adapter share one dtype: nothing is cast, neighbouring linears save the same tensor.
        self.one_copy = self.adapter == self.attention_bytes or (self.quantized and self.autocast)

    def _adapters(self, plan: Plan, arch: Architecture) -> None:
        """Modules that carry an adapter and the parameters they add."""
        self.dropout = plan.lora.dropout > 0 and not self.full
        rank = plan.lora.rank
        self.targets: tuple[Linear, ...] = ()
        self.layer_adapter = self.adapter_parameters = self.expert_adapter = 0
        if not self.full:
            self.targets = targeted(self.layer, plan.lora.targets)
            self.layer_adapter = lora_parameters(self.targets, rank)
            for layer in arch.layers:
                self.adapter_parameters += layer.count * lora_parameters(targeted(layer, plan.lora.targets), rank)
            self.expert_adapter = fused_expert_adapter(self.layer, plan)
            self.adapter_parameters += self.depth * self.expert_adapter
        self.trainable = arch.parameters if self.full else self.adapter_parameters


def targeted(layer: Layer, targets: str | tuple[str, ...]) -> tuple[Linear, ...]:
    """The linears of a layer that `targets` names: a word, or module names."""
    if targets == "all-linear":
        return layer.linears
    if isinstance(targets, str):
        roles = TARGETS[targets]
        return tuple(m for m in layer.linears if m.role in roles)
    return tuple(m for m in layer.linears if m.name in targets or m.role in targets)


def lora_parameters(targets: tuple[Linear, ...], rank: int) -> int:
    """Parameters of A (rank × inputs) and B (outputs × rank) on each module. Source: LoRA, arXiv 2106.09685."""
    return rank * sum((m.inputs + m.outputs) * m.copies for m in targets)


def fused_expert_adapter(layer: Layer, plan: Plan) -> int:
    """Adapter parameters on one layer's fused experts.

    From transformers 5 on, experts are one parameter per projection; PEFT ≥ 0.19 turns the names of the expert
    projections into `target_parameters`, with twice the rank on the fused gate and up.
    Unit: parameters. Formula: E · r · (2 (h + 2f) + (f + h)).
    """
    names = {m.name for m in layer.experts}
    wanted = plan.lora.targets == "all-linear" or (
        not isinstance(plan.lora.targets, str) and names & set(plan.lora.targets)
    )
    if not wanted or "gate_proj" not in names or plan.quantize_moe_experts:
        return 0
    down = next(m for m in layer.experts if m.role == "expert_down")
    f, h = down.inputs, down.outputs
    return down.copies * plan.lora.rank * (2 * (h + 2 * f) + f + h)
