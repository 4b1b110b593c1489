"""Parameters that adapters add, method by method.

Source: the papers and the public peft package (0.21); counts checked against its own for LoRA.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .architecture import Architecture, Layer, Linear
from .families import FAMILIES
from .layers import NORM_WEIGHTS
from .plan import Plan

if TYPE_CHECKING:
    from .case import Case

# What the words of `lora.targets` mean, as roles of `Linear`.
TARGETS = {
    "qv": ("q", "v", "qkv"),
    "qkv": ("q", "k", "v", "qkv"),
    "attention": ("q", "k", "v", "qkv", "o", "q_down", "kv_down", "kv"),
}
# The module that a projection sits in, when a target names it too ("self_attn.q_proj").
FEED_FORWARD = ("gate", "up", "down", "gate_up")
SHARED_EXPERTS = ("shared_expert", "shared_experts", "shared_mlp")
FEED_FORWARDS = ("mlp", "feed_forward", "ffn", "block_sparse_moe", "moe", "experts", *SHARED_EXPERTS)
LATENT = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj")
DELTA_NET = ("in_proj_qkvz", "in_proj_ba", "in_proj_qkv", "in_proj_z", "in_proj_a", "in_proj_b", "out_proj")
TARGETED = ("lora", "qlora", "rslora", "dora", "adalora", "vera", "ia3")


def targeted(layer: Layer, plan: Plan) -> tuple[Linear, ...]:
    """The linears of a layer that carry an adapter: a word, or module names."""
    if plan.method not in TARGETED:
        return ()
    targets, linears = plan.lora.targets, layer.linears
    if _looks_among_experts(layer, plan):  # for these names only there: dense and shared feed-forwards get nothing
        linears = tuple(m for m in linears if m.role not in ("gate", "up", "down"))
    if plan.quantize_moe_experts and not layer.expert_parameters:  # experts are linear modules
        linears += layer.experts
    if targets == "all-linear":
        return linears
    if isinstance(targets, str):
        return tuple(m for m in linears if m.role in TARGETS[targets])
    return tuple(m for m in linears if m.role in targets or any(is_named(m, layer, name) for name in targets))


def is_named(m: Linear, layer: Layer, target: str) -> bool:
    """Whether a target names a module: its last part is the module's name, the part before the module it sits in.

    A module of one layer, or of one expert, by its number is none: layers are not told apart here.
    Source: PEFT 0.21, `tuners_utils.py` (`check_target_module_exists`: the whole path, or its end from a dot on).
    """
    *parents, name = target.split(".")
    if name != m.name or any(part.isdecimal() for part in parents):
        return False
    if not parents:
        return True
    if m.role.startswith("expert_"):  # a number stands between
        return False
    parent = parents[-1]
    if m.role in FEED_FORWARD:
        return parent in (SHARED_EXPERTS if layer.experts else FEED_FORWARDS)
    return parent not in FEED_FORWARDS


# Where decoder layers lie in a model, and what a regular expression may find in one of them.
PREFIXES = ("model.layers", "model.language_model.layers", "language_model.model.layers", "model.text_model.layers")
INSIDE = {  # parent: roles of what it holds
    "self_attn": TARGETS["attention"],
    **dict.fromkeys(("mlp", "mlp.shared_expert", "mlp.shared_experts", "feed_forward"), FEED_FORWARD),
    "feed_forward.shared_expert": FEED_FORWARD,
}


def named_by(pattern: str) -> list[str]:
    """The modules that a regular expression means, each with the module it sits in; none if it is no pattern.

    What it finds in one layer counts for all: layers are not told apart here.
    Source: PEFT 0.21, `tuners_utils.py` (a text is matched against the whole path).
    """
    if not set(pattern) & set("\\[](){}|*+?^$"):
        return []
    try:
        found = re.compile(pattern)
    except re.error:
        return []
    inside = [f"self_attn.{name}" for name in LATENT] + [f"linear_attn.{name}" for name in DELTA_NET]
    for parent, roles in INSIDE.items():
        names = [family.names.get(role) for family in FAMILIES.values() for role in roles]
        inside += [f"{parent}.{name}" for name in dict.fromkeys(names) if name]
    for layers in ((0,), range(1, 64)):  # some patterns list the layers they mean
        paths = [(f"{prefix}.{index}.{end}", end) for index in layers for prefix in PREFIXES for end in inside]
        ends = list(dict.fromkeys([end for path, end in paths if found.fullmatch(path)]))
        if ends:
            return ends
    return []


def layer_parameters(layer: Layer, plan: Plan) -> float:
    """Trained parameters in one layer.

    Unit: parameters. Formulas, per target: LoRA and rsLoRA r(in + out), DoRA + out, AdaLoRA + r, VeRA r + out,
    (IA)³ out (in for the down projection). Per layer: prefix 2k per virtual token, adapters 2(2h·b + b + h),
    LLaMA-Adapter h per token + a gate (litgpt n), LN tuning the norms.
    """
    rank, method = plan.lora.rank, plan.method
    if method in ("lora", "qlora", "rslora", "dora", "adalora", "vera"):
        targets = sum(m.copies * _per_target(m, rank, method) for m in targeted(layer, plan))
        return targets + router_parameters(layer, plan)
    if method == "ia3":
        return sum(m.copies * (m.inputs if m.role.endswith("down") else m.outputs) for m in targeted(layer, plan))
    hidden = next(m.inputs for m in (*layer.linears, *layer.experts))
    if method == "prefix":
        return plan.virtual_tokens * 2 * layer.key
    if method == "adapter":
        return 2 * (2 * hidden * plan.bottleneck + plan.bottleneck + hidden)
    if method == "llama-adapter":
        return plan.virtual_tokens * hidden + (layer.heads if plan.framework == "litgpt" else 1)
    if method == "ln-tuning":
        return layer.small - sum(m.outputs * m.copies for m in (*layer.linears, *layer.experts) if m.bias)
    return 0


def _per_target(m: Linear, rank: int, method: str) -> float:
    if method == "vera":
        return rank + m.outputs
    pair = rank * (m.inputs + m.outputs)
    return pair + m.outputs if method == "dora" else pair + rank if method == "adalora" else pair


def fused_expert_parameters(layer: Layer, plan: Plan) -> float:
    """Adapter parameters on one layer's fused experts.

    From transformers 5 on, experts are one parameter per projection; of the families it knows, PEFT ≥ 0.19 turns the
    old names of the projections into `target_parameters`, with twice the rank on gate and up, which are one.
    Unit: parameters. Formula: E · r · (2 (h + 2f) + (f + h)). Source: PEFT 0.21, `transformers_weight_conversion.py`.
    """
    targets = plan.lora.targets
    if not layer.experts or not _looks_among_experts(layer, plan):
        return 0
    ends = {name.rsplit(".", 1)[-1] for name in targets} if not isinstance(targets, str) else ()
    named = [m for m in layer.experts if targets == "all-linear" or m.name in ends]
    down = next(m for m in layer.experts if m.role == "expert_down")
    f, h = down.inputs, down.outputs
    each = (f + h) * (down in named) + 2 * (h + 2 * f) * (len(named) > 1)
    return down.copies * plan.lora.rank * each


def _looks_among_experts(layer: Layer, plan: Plan) -> bool:
    """Whether PEFT turns names of feed-forward projections into the experts' parameters (LoRA only)."""
    if plan.quantize_moe_experts or not layer.converted or plan.method not in ("lora", "qlora", "rslora", "dora"):
        return False
    return plan.lora.targets == "all-linear" or not isinstance(plan.lora.targets, str)


def router_parameters(layer: Layer, plan: Plan) -> float:
    """Adapter parameters on one layer's router, which "all-linear" takes for one linear more.

    Unit: parameters. Formula: r (h + E). Source: PEFT 0.21, `transformers_weight_conversion.py`; counted.
    """
    if plan.lora.targets != "all-linear" or not layer.experts or not layer.converted:
        return 0
    linear = layer.router == layer.experts[0].copies * layer.experts[0].inputs  # without a correction of its own
    if plan.quantize_moe_experts and not linear:
        return 0
    return plan.lora.rank * (layer.experts[0].inputs + layer.experts[0].copies)


def parameters(arch: Architecture, plan: Plan, c: Case) -> float:
    """All trained parameters of this rank.

    Unit: parameters. Formula: layers + prompt v·h (p-tuning + its encoder, 3 (h² + h)) + a head's adapter r(h + V)
    + the final norm (LN tuning) + copies of embedding and head where they are trained.
    """
    layers = sum([y.count * (layer_parameters(y, plan) + fused_expert_parameters(y, plan)) for y in arch.layers])
    h = arch.hidden
    outside = 0.0
    if plan.method in ("prompt", "p-tuning") and c.has_embedding:
        outside += plan.virtual_tokens * h
        outside += 3 * (h * h + h) if plan.method == "p-tuning" else 0
    if targets_head(arch, plan) and c.has_head:
        outside += plan.lora.rank * (h + arch.vocabulary)
    if plan.method == "ln-tuning" and c.has_head:
        outside += h * NORM_WEIGHTS[arch.traits.norm]
    if plan.train_embeddings:
        outside += arch.embedding * c.embeddings
    return layers + outside


def targets_head(arch: Architecture, plan: Plan) -> bool:
    """Whether the head carries an adapter: only when it is named."""
    targets = plan.lora.targets
    return plan.method in TARGETED and not isinstance(targets, str) and arch.traits.names["head"] in targets


def shared_parameters(arch: Architecture, plan: Plan) -> float:
    """Frozen parameters an adapter brings along: VeRA's shared A and B. Unit: parameters. Formula: r (in + out)."""
    if plan.method != "vera":
        return 0.0
    targets = [m for y in arch.layers for m in targeted(y, plan)]
    if not targets:
        return 0.0
    return plan.lora.rank * (max(m.inputs for m in targets) + max(m.outputs for m in targets))


# Modules of Mamba mixers whose adapters would be passed by, by the model types in which PEFT refuses them for it.
PASSED_BY = {"falcon_h1": ("out_proj", "conv1d"), "nemotron_h": ("out_proj", "conv1d")}


def passed_by(arch: Architecture, method: str, targets: object) -> tuple[str, ...]:
    """Modules that targets name and PEFT refuses, "all-linear" included.

    Source: PEFT 0.21, `tuners_utils.py` (`_check_lora_target_modules_mamba`).
    """
    names = PASSED_BY.get(arch.family, ())
    if method not in ("lora", "qlora", "rslora", "dora", "adalora") or not names:
        return ()
    if targets == "all-linear":
        return tuple(name for name in names if name in linear_names(arch))
    said = [] if isinstance(targets, str) or not isinstance(targets, (list, tuple)) else targets
    return tuple(name for name in names if any(str(target).split(".")[-1] == name for target in said))


def linear_names(arch: Architecture) -> tuple[str, ...]:
    """Names of the linear modules of the layers, each once."""
    return tuple(dict.fromkeys(m.name for y in arch.layers for m in y.linears))


def half_named(arch: Architecture, plan: Plan) -> tuple[str, str] | None:
    """Gate without up, or up without gate, of experts that hold both in one parameter: (the named one, the other).

    Source: PEFT 0.21, `transformers_weight_conversion.py`, which refuses it.
    """
    targets = plan.lora.targets
    if isinstance(targets, str):
        return None
    ends = {name.rsplit(".", 1)[-1] for name in targets}
    for layer in arch.layers:
        if layer.experts and _looks_among_experts(layer, plan):
            pair = [m.name for m in layer.experts if m.role in ("expert_gate", "expert_up")]
            named = [name for name in pair if name in ends]
            if len(named) == 1 and len(pair) == 2:
                return named[0], next(name for name in pair if name not in named)
    return None
