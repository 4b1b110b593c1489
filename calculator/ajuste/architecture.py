"""The architecture of a model, read from its own Hugging Face config.json.

Nothing is guessed from a parameter count: hidden size, heads, key-value heads, head size, feed-forward, vocabulary,
experts and windows all come from the config, and what a config does not say (biases, norms, fused projections)
from the family's line in `families.py`. The parameter count is exact, module by module.
"""

from __future__ import annotations

from typing import NamedTuple

from .errors import RequestError, near_matches
from .families import FAMILIES, Family


class Linear(NamedTuple):
    """One nn.Linear of a layer (or a set of `copies` equal ones, as experts have)."""

    role: str  # q k v o qkv gate up down gate_up head, with "expert_" or "shared_" in front where it applies
    name: str  # its module name
    inputs: int
    outputs: int
    bias: bool = False
    copies: int = 1

    @property
    def weights(self) -> int:
        return self.inputs * self.outputs * self.copies


class Layer(NamedTuple):
    """One kind of decoder layer and how many of it the model has."""

    count: int
    attention: str  # full · sliding · latent · linear
    heads: int
    kv_heads: int
    head_dim: int  # of queries and keys
    value_dim: int  # of values: differs from head_dim only in latent attention
    window: int  # 0 = sees everything
    ffn: int  # width of the dense feed-forward and of shared experts; 0 = none
    expert_ffn: int  # width of one routed expert
    linears: tuple[Linear, ...]  # outside the experts
    experts: tuple[Linear, ...]  # one entry per projection, copies = number of experts
    experts_per_token: int
    router: int  # parameters of the router
    small: int  # norms, biases and whatever else is neither a linear's weight nor a router
    # Derived once, so that no formula sums modules again. Weights, biases apart:
    linear_weights: int  # of all linears outside the experts
    expert_weights: int
    mlp_weights: int  # dense feed-forward and experts
    out_weights: int  # output projection of the attention
    down_weights: int  # down projection of the dense feed-forward
    largest_weights: int  # largest linear outside the experts
    parameters: int  # everything in the layer

    @property
    def query(self) -> int:
        """Width of the queries: heads × head size."""
        return self.heads * self.head_dim

    @property
    def key(self) -> int:
        """Width of the keys: key-value heads × head size."""
        return self.kv_heads * self.head_dim


class Architecture(NamedTuple):
    family: str
    traits: Family
    hidden: int
    vocabulary: int
    layers: tuple[Layer, ...]
    tied: bool
    rotary: float  # share of head_dim that rotates; 0 = learned or no positions
    logit_softcap: bool
    attention_softcap: bool
    outside: int  # parameters outside layers, embedding and head: final norm, learned positions
    vision: int  # parameters of the vision tower and its projector
    embedding: int  # vocabulary × hidden
    depth: int  # layers
    parameters: int

    @property
    def is_moe(self) -> bool:
        return any(layer.experts for layer in self.layers)


def read_architecture(config: dict) -> Architecture:
    """Architecture of a Hugging Face config.json object.

    Raises:
        RequestError: `unknown-architecture` for a `model_type` we do not know (with the nearest known ones),
            `bad-config` for numbers that are missing or do not fit together.
    """
    outer, config = config, _text_config(config)
    kind = config.get("model_type") or outer.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        near = near_matches(kind, FAMILIES) if isinstance(kind, str) else ()
        raise RequestError("unknown-architecture", "model.model_type", kind, suggestions=near)
    read = _Reader(config)
    hidden = read.number("hidden_size", "n_embd", "d_model")
    vocabulary = read.number("vocab_size", "padded_vocab_size")
    layers = _layers(read, family, hidden)
    positions = read.number("max_position_embeddings", "n_positions") if family.learned_positions else 0
    norm = hidden * (2 if family.norm == "layer" else 1)
    outside = norm * family.final_norm + (positions + family.position_offset) * hidden * family.learned_positions
    outside += norm * family.embedding_norm + vocabulary * family.head_bias
    # A multimodal wrapper may state the tie at either level; the family's default is for neither.
    tied = read.flag("tie_word_embeddings", bool(outer.get("tie_word_embeddings", family.tied)))
    embedding = vocabulary * hidden
    return Architecture(
        family=kind,
        traits=family,
        hidden=hidden,
        vocabulary=vocabulary,
        layers=layers,
        tied=tied,
        rotary=0.0 if family.learned_positions else read.share("partial_rotary_factor", "rotary_pct", default=1.0),
        logit_softcap=bool(config.get("final_logit_softcapping", family.logit_softcap or None)),
        attention_softcap=bool(config.get("attn_logit_softcapping", family.logit_softcap or None)),
        outside=outside,
        vision=0,
        embedding=embedding,
        depth=sum(layer.count for layer in layers),
        parameters=sum(layer.count * layer.parameters for layer in layers) + embedding * (1 if tied else 2) + outside,
    )


def parameters(architecture: Architecture) -> int:
    """Exact number of parameters: layers, embedding, head (once when tied), norms, vision tower."""
    return architecture.parameters + architecture.vision


def _text_config(config: dict) -> dict:
    """The language model inside a multimodal config."""
    for key in ("text_config", "language_config", "llm_config"):
        inner = config.get(key)
        if isinstance(inner, dict):
            return inner
    return config


class _Reader:
    """Numbers of a config under any of their names, checked."""

    LARGEST = 1 << 40

    def __init__(self, config: dict) -> None:
        self.config = config

    def number(self, *names: str, default: int | None = None, least: int = 1) -> int:
        for name in names:
            value = self.config.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value % 1:
                raise bad_config(name, f"{name} debe ser un entero.", f"{name} must be an integer.")
            if not least <= value <= self.LARGEST:
                raise bad_config(name, f"{name} está fuera de rango.", f"{name} is out of range.")
            return int(value)
        if default is None:
            raise bad_config(names[0], f"falta {names[0]}.", f"{names[0]} is missing.")
        return default

    def share(self, *names: str, default: float) -> float:
        for name in names:
            value = self.config.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise bad_config(name, f"{name} debe estar entre 0 y 1.", f"{name} must be between 0 and 1.")
            return float(value)
        return default

    def flag(self, name: str | bool, default: bool = False) -> bool:
        """A boolean key; a family's fixed answer passes through."""
        if isinstance(name, bool):
            return name
        value = self.config.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise bad_config(name, f"{name} debe ser true o false.", f"{name} must be true or false.")
        return value


def bad_config(name: str, es: str, en: str) -> RequestError:
    return RequestError("bad-config", f"model.{name}", es=es, en=en)


# ---------------------------------------------------------------------------------------------------- layers


def _layers(read: _Reader, family: Family, hidden: int) -> tuple[Layer, ...]:
    """The kinds of layer, in the order they first appear."""
    depth = read.number("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if depth > 10_000:
        raise bad_config("num_hidden_layers", "demasiadas capas.", "too many layers.")
    experts = read.number("num_local_experts", "num_experts", "n_routed_experts", default=0, least=0)
    kinds: dict[tuple[bool, bool], int] = {}
    for index in range(depth):
        kind = (_is_sliding(read, index), experts > 1)
        kinds[kind] = kinds.get(kind, 0) + 1
    return tuple(
        _layer(read, family, hidden, count, sliding, experts if sparse else 0)
        for (sliding, sparse), count in kinds.items()
    )


def _is_sliding(read: _Reader, index: int) -> bool:
    """Whether a layer attends to a window only: `layer_types`, a pattern, or one window for all."""
    config = read.config
    types = config.get("layer_types")
    if isinstance(types, list):
        return index < len(types) and types[index] == "sliding_attention"
    if not config.get("sliding_window") or config.get("use_sliding_window") is False:
        return False
    pattern = read.number("sliding_window_pattern", default=0, least=0)
    if not pattern:
        pattern = {"gemma2": 2, "gemma3_text": 6}.get(config.get("model_type"), 0)
    return (index + 1) % pattern != 0 if pattern else True


def _layer(read: _Reader, family: Family, hidden: int, count: int, sliding: bool, experts: int) -> Layer:
    heads = read.number("num_attention_heads", "n_head", "n_heads")
    kv_heads = read.number("num_key_value_heads", "num_kv_heads", "multi_query_group_num", default=heads)
    if heads % kv_heads:
        raise bad_config(
            "num_key_value_heads",
            "las cabezas deben ser múltiplo de las cabezas de clave y valor.",
            "heads must be a multiple of the key-value heads.",
        )
    head_dim = read.number("head_dim", "kv_channels", default=max(1, hidden // heads))
    attention = _attention_linears(read, family, hidden, heads * head_dim, kv_heads * head_dim)
    ffn = read.number("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", default=4 * hidden)
    expert_ffn = read.number("moe_intermediate_size", default=ffn) if experts else 0
    mlp = () if experts else _mlp_linears(read, family, hidden, ffn)
    expert_linears = _expert_linears(read, family, hidden, expert_ffn, experts)
    small = _norm_parameters(family, hidden, heads, kv_heads, head_dim)
    linears = attention + mlp
    small += sum(m.outputs * m.copies for m in linears + expert_linears if m.bias)
    router = experts * hidden
    weights = {m.role: m.weights for m in linears}
    linear_weights = sum(weights.values())
    expert_weights = sum(m.weights for m in expert_linears)
    return Layer(
        count=count,
        attention="sliding" if sliding else "full",
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=head_dim,
        window=read.number("sliding_window", default=0, least=0) if sliding else 0,
        ffn=0 if experts else ffn,
        expert_ffn=expert_ffn,
        linears=linears,
        experts=expert_linears,
        experts_per_token=read.number("num_experts_per_tok", "top_k", default=2) if experts else 0,
        router=router,
        small=small,
        linear_weights=linear_weights,
        expert_weights=expert_weights,
        mlp_weights=sum(m.weights for m in mlp) + expert_weights,
        out_weights=weights["o"],
        down_weights=weights.get("down", 0),
        largest_weights=max(weights.values()),
        parameters=linear_weights + expert_weights + router + small,
    )


def _attention_linears(read: _Reader, family: Family, hidden: int, q: int, k: int) -> tuple[Linear, ...]:
    names, qkv_bias, o_bias = family.names, read.flag(family.qkv_bias), read.flag(family.o_bias)
    out = Linear("o", names["o"], q, hidden, o_bias)
    if family.fused_qkv:
        return (Linear("qkv", names["qkv"], hidden, q + 2 * k, qkv_bias), out)
    return (
        Linear("q", names["q"], hidden, q, qkv_bias),
        Linear("k", names["k"], hidden, k, qkv_bias),
        Linear("v", names["v"], hidden, k, qkv_bias),
        out,
    )


def _mlp_linears(read: _Reader, family: Family, hidden: int, ffn: int) -> tuple[Linear, ...]:
    names, bias = family.names, read.flag(family.mlp_bias)
    down = Linear("down", names["down"], ffn, hidden, bias)
    if not family.gated:
        return (Linear("up", names["up"], hidden, ffn, bias), down)
    if family.fused_gate:
        return (Linear("gate_up", names["gate_up"], hidden, 2 * ffn, bias), down)
    return (
        Linear("gate", names["gate"], hidden, ffn, bias),
        Linear("up", names["up"], hidden, ffn, bias),
        down,
    )


def _expert_linears(read: _Reader, family: Family, hidden: int, ffn: int, experts: int) -> tuple[Linear, ...]:
    if not experts:
        return ()
    return tuple(m._replace(role="expert_" + m.role, copies=experts) for m in _mlp_linears(read, family, hidden, ffn))


def _norm_parameters(family: Family, hidden: int, heads: int, kv_heads: int, head_dim: int) -> int:
    norms = family.norms * hidden * (2 if family.norm == "layer" else 1)
    query_key = {
        "": 0,
        "head": 2 * head_dim,
        "all": (heads + kv_heads) * head_dim,
        "each": (heads + kv_heads) * head_dim,
    }
    return norms + query_key[family.qk_norm]
