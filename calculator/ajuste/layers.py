"""The modules of one decoder layer, by kind of mixer and feed-forward: names, shapes, parameters."""

from __future__ import annotations

from .config import Reader, bad_config
from .families import CONVERTED, Family
from .records import NamedTuple


class Linear(NamedTuple):
    """One nn.Linear of a layer (or `copies` equal ones, as experts have)."""

    role: str  # q k v o qkv gate up down gate_up …, with "expert_" in front inside the routed experts
    name: str  # its module name
    inputs: float  # a fraction of the matrix on a tensor-parallel rank
    outputs: float
    bias: bool = False
    copies: float = 1

    @property
    def weights(self) -> float:
        """Entries of the matrix, all copies, bias apart."""
        return self.inputs * self.outputs * self.copies


class Layer(NamedTuple):
    """One kind of decoder layer and how many of it the model has."""

    count: float  # type: ignore[assignment]  # hides tuple.count; a fraction where a pipeline stage holds some
    mixer: str  # full · sliding · latent · recurrent · none (only a feed-forward)
    heads: float
    kv_heads: float
    head_dim: int  # of queries and keys
    value_dim: int  # of values: differs from head_dim only in latent attention
    window: int  # 0 = sees everything
    ffn: float  # width of the dense feed-forward and of shared experts; 0 = none
    expert_ffn: float  # width of one routed expert
    linears: tuple[Linear, ...]  # outside the routed experts
    experts: tuple[Linear, ...]  # one entry per projection, copies = number of experts
    experts_per_token: int
    router: int  # parameters of the router
    small: float  # norms, biases and whatever else is neither a linear's weight nor a router
    state: float  # recurrent mixers: numbers per token that flow between their projections
    # Derived once, so that no formula sums modules again. Weights, biases apart:
    linear_weights: float  # of all linears outside the experts
    expert_weights: float
    mlp_weights: float  # dense feed-forward and experts
    out_weights: float  # output projection of the attention
    down_weights: float  # down projection of the dense feed-forward
    largest_weights: float  # largest linear outside the experts
    parameters: float  # everything in the layer
    expert_parameters: bool = False  # experts were never linear modules, in no release of transformers
    converted: bool = False  # PEFT finds the model's experts under their old names where they are parameters

    @property
    def query(self) -> float:
        """Width of the queries: heads × head size."""
        return self.heads * self.head_dim

    @property
    def key(self) -> float:
        """Width of the keys: key-value heads × head size."""
        return self.kv_heads * self.head_dim


NORM_WEIGHTS = {"rms": 1, "gemma": 1, "layer": 2, "layer-no-bias": 1, "none": 0}


def read_layers(read: Reader, family: Family, hidden: int) -> tuple[Layer, ...]:
    """The kinds of layer, in the order they first appear, with their counts."""
    blocks = read.config.get("layers_block_type")
    listed = len(blocks) if isinstance(blocks, list) and blocks else None
    depth = read.number("num_hidden_layers", "n_layer", "num_layers", "n_layers", default=listed)
    if depth > 10_000:
        raise bad_config("num_hidden_layers", "demasiadas capas.", "too many layers.")
    experts = read.number("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", default=0, least=0)
    kinds: dict[tuple[str, str], int] = {}
    for index in range(depth):
        kind = block_kind(read, index) or (
            mixer_kind(read, index),
            "experts" if experts > 1 and is_sparse(read, index) else "dense",
        )
        if index >= depth - read.number("num_kv_shared_layers", default=0, least=0):
            kind = (kind[0] + SHARED, kind[1])
        kinds[kind] = kinds.get(kind, 0) + 1
    return tuple(
        build_layer(read, family, hidden, count, mixer, feed, experts) for (mixer, feed), count in kinds.items()
    )


# ------------------------------------------------------------------------------------------- kinds by index

SHARED = "-shared"  # of a layer that attends to the keys and values of an earlier one (Gemma 4)
_RECURRENT = ("linear_attention", "mamba", "mamba2", "recurrent", "conv", "short_conv")
# Nemotron-H: every block is one mixer or one feed-forward, as words or as one letter each.
_BLOCKS = {
    "mamba": ("recurrent", "none"),
    "linear_attention": ("recurrent", "none"),
    "attention": ("full", "none"),
    "full_attention": ("full", "none"),
    "mlp": ("none", "dense"),
    "moe": ("none", "experts"),
}
_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
_PATTERN = {"gemma2": 2, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2, "exaone4": 4, "olmo3": 4}


def block_kind(read: Reader, index: int) -> tuple[str, str] | None:
    """(mixer, feed-forward) of a block that has only one of the two; None where layers have both."""
    if read.config.get("model_type") != "nemotron_h":
        return None
    letters, words = read.config.get("hybrid_override_pattern"), read.config.get("layers_block_type")
    if isinstance(letters, str) and index < len(letters):
        words = [_LETTERS.get(letter) for letter in letters]
    kind = words[index] if isinstance(words, list) and index < len(words) else None
    if not isinstance(kind, str) or kind not in _BLOCKS:
        name = "hybrid_override_pattern" if isinstance(letters, str) else "layers_block_type"
        raise bad_config(name, f"{name} no dice todos los bloques.", f"{name} does not tell every block.")
    return _BLOCKS[kind]


def mixer_kind(read: Reader, index: int) -> str:
    """What mixes the tokens of one layer: a list in the config, a period, or one answer for all layers."""
    config = read.config
    types = config.get("layer_types") or config.get("layers_block_type")
    if isinstance(types, list) and types:
        kind = types[index % len(types)]
        if kind in _RECURRENT:
            return "recurrent"
        if config.get("kv_lora_rank"):
            return "latent"
        return "sliding" if kind in ("sliding_attention", "chunked_attention") else "full"
    for name in ("attn_layer_indices", "full_attn_idxs"):  # Bamba, LFM2; Falcon-H1 has both in every layer
        if name in config and config.get("model_type") != "falcon_h1":
            listed = config[name]
            return "full" if isinstance(listed, list) and index in listed else "recurrent"
    period = read.number("attn_layer_period", "full_attention_interval", default=0, least=0)
    if period:
        offset = read.number("attn_layer_offset", default=period - 1, least=0)
        return "full" if index % period == offset % period else "recurrent"
    if config.get("kv_lora_rank"):
        return "latent"
    if not config.get("sliding_window") or config.get("use_sliding_window") is False:
        return "full"
    pattern = read.number("sliding_window_pattern", default=_PATTERN.get(config.get("model_type", ""), 0), least=0)
    return "sliding" if not pattern or (index + 1) % pattern else "full"


def is_sparse(read: Reader, index: int) -> bool:
    """Whether a layer of a mixture of experts has experts."""
    types = read.config.get("mlp_layer_types")
    if isinstance(types, list) and types:
        return bool(types[index % len(types)] == "sparse")
    dense_only = read.config.get("mlp_only_layers")
    if isinstance(dense_only, list) and index in dense_only:
        return False
    listed = read.config.get("moe_layers")
    if isinstance(listed, list) and listed:
        return index in listed
    if index < read.number("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers", default=0, least=0):
        return False
    period = read.number("expert_layer_period", default=0, least=0)
    if period:
        return index % period == read.number("expert_layer_offset", default=0, least=0)
    step = read.number("decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step", default=1)
    return (index + 1) % step == 0


# ------------------------------------------------------------------------------------------------- one layer


class Mixer(NamedTuple):
    """What mixes the tokens of one layer."""

    linears: tuple[Linear, ...] = ()
    others: float = 0  # parameters outside any matrix
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    value_dim: int = 0
    state: int = 0


def build_layer(read: Reader, family: Family, hidden: int, count: int, mixer: str, feed: str, experts: int) -> Layer:
    """One kind of layer with every module counted."""
    shares, mixer = mixer.endswith(SHARED), mixer.removesuffix(SHARED)
    mixing = read_mixer(read, family, hidden, mixer, shares)
    experts = experts if feed == "experts" else 0
    ffn, expert_ffn, shared = widths(read, family, hidden, experts) if feed != "none" else (0, 0, 0)
    ffn *= 2 if shares and read.flag("use_double_wide_mlp") else 1
    dense = mlp_linears(read, family, hidden, ffn) if ffn else ()
    routed, latent = expert_linears(read, family, hidden, experts, expert_ffn) if experts else ((), ())
    linears = mixing.linears + per_layer_inputs(read, hidden) + latent + dense
    extra = mixing.others + norm_weights(read, family) * hidden * NORM_WEIGHTS[family.norm]
    if experts and shared and read.config.get("shared_expert_intermediate_size"):
        linears += (Linear("shared_switch", "shared_expert_gate", hidden, 1),)
    extra += sum(m.outputs * m.copies for m in linears + routed if m.bias)
    router = experts * (hidden + family.router_bias)
    weights = {m.role: m.weights for m in linears}
    linear_weights, expert_weights = sum(m.weights for m in linears), sum(m.weights for m in routed)
    return Layer(
        count=count,
        mixer=mixer,
        heads=mixing.heads,
        kv_heads=mixing.kv_heads,
        head_dim=mixing.head_dim,
        value_dim=mixing.value_dim,
        window=read.number("sliding_window", "attention_chunk_size", default=0, least=0) if mixer == "sliding" else 0,
        ffn=ffn,
        expert_ffn=expert_ffn,
        linears=linears,
        experts=routed,
        experts_per_token=read.number("num_experts_per_tok", "top_k_experts", "top_k", "moe_k", default=2)
        if experts
        else 0,
        router=router,
        small=extra,
        state=mixing.state,
        linear_weights=linear_weights,
        expert_weights=expert_weights,
        mlp_weights=sum(m.weights for m in dense) + expert_weights,
        out_weights=weights.get("o", 0),
        down_weights=weights.get("down", 0),
        largest_weights=max(weights.values(), default=0),
        parameters=linear_weights + expert_weights + router + extra,
        expert_parameters=family.expert_parameters and bool(routed),
        converted=read.config.get("model_type") in CONVERTED,
    )


def read_mixer(read: Reader, family: Family, hidden: int, kind: str, shares: bool) -> Mixer:
    """Attention with or without a window, latent attention, a recurrent mixer, or none.

    Args:
        shares: uses the keys and values of an earlier layer.
    """
    heads = read.number("num_attention_heads", "n_head", "n_heads")
    kv_heads = key_value_heads(read, heads)
    head_dim = read.number("head_dim", "kv_channels", default=max(1, hidden // heads))
    if kind == "none":
        return Mixer(head_dim=head_dim, value_dim=head_dim)
    if kind == "recurrent":
        linears, others, state = recurrent_mixer(read, hidden)
        return Mixer(linears, others, 0, 0, head_dim, head_dim, state)
    if kind == "latent":
        linears, others, head_dim, value_dim = latent_attention(read, hidden, heads)
        return Mixer(linears, others, heads, heads, head_dim, value_dim)
    if kind == "full":
        head_dim, kv_heads = heads_that_see_all(read, head_dim, kv_heads)
    without = ("k", "v") if shares else ("v",) if kind == "full" and read.flag("attention_k_eq_v") else ()
    linears = attention_linears(read, family, hidden, heads * head_dim, kv_heads * head_dim)
    linears = tuple(m for m in linears if m.role not in without)
    others = query_key_norm(read, family, heads, kv_heads, head_dim) + family.sinks * heads
    others -= head_dim if shares else 0  # the keys' norm
    if read.config.get("model_type") != "falcon_h1":
        return Mixer(linears, others, heads, kv_heads, head_dim, head_dim)
    beside, more, state = _mamba2(read, hidden)  # a state-space mixer in every layer, beside the attention
    linears += tuple(m._replace(role="mix_" + m.role) for m in beside)
    return Mixer(linears, others + more, heads, kv_heads, head_dim, head_dim, state)


def expert_linears(
    read: Reader, family: Family, hidden: int, experts: int, width: int
) -> tuple[tuple[Linear, ...], tuple[Linear, ...]]:
    """(projections of the routed experts, what leads into their narrower space and out of it, if they have one)."""
    inner = read.number("moe_latent_size", default=hidden)
    routed = tuple(
        m._replace(
            role="expert_" + m.role,
            name=family.names.get("expert_" + m.role, m.name),
            copies=experts,
            bias=family.expert_bias,
        )
        for m in mlp_linears(read, family, inner, width)
    )
    if inner == hidden:
        return routed, ()
    return routed, (
        Linear("latent_in", "fc1_latent_proj", hidden, inner),
        Linear("latent_out", "fc2_latent_proj", inner, hidden),
    )


def heads_that_see_all(read: Reader, head_dim: int, kv_heads: int) -> tuple[int, int]:
    """Head size and key-value heads of the layers without a window, which Gemma 4 states apart, in two spellings."""
    layers = read.config.get("per_layer_config")
    apart = next(iter(layers.values()), None) if isinstance(layers, dict) else None
    spelled = Reader(apart) if isinstance(apart, dict) else read
    head_dim = read.number("global_head_dim", default=spelled.number("head_dim", default=head_dim))
    if not read.flag("attention_k_eq_v"):
        return head_dim, kv_heads
    other = spelled.number("num_key_value_heads", default=kv_heads)
    return head_dim, read.number("num_global_key_value_heads", default=other)


def per_layer_inputs(read: Reader, hidden: int) -> tuple[Linear, ...]:
    """What brings each layer its own embedding of the tokens (Gemma 4's small models)."""
    width = read.number("hidden_size_per_layer_input", default=0, least=0)
    if not width:
        return ()
    return (
        Linear("token_in", "per_layer_input_gate", hidden, width),
        Linear("token_out", "per_layer_projection", width, hidden),
    )


def key_value_heads(read: Reader, heads: int) -> int:
    """Key-value heads; 1 with multi-query attention, as many as heads when the config does not say."""
    config = read.config
    if config.get("multi_query") is True and not config.get("new_decoder_architecture"):
        return 1
    attention = config.get("attn_config")
    if isinstance(attention, dict) and "kv_n_heads" in attention:
        return Reader(attention).number("kv_n_heads")
    kv_heads = read.number("num_key_value_heads", "num_kv_heads", "multi_query_group_num", default=heads)
    if kv_heads > heads or heads % kv_heads:
        raise bad_config(
            "num_key_value_heads",
            "las cabezas deben ser múltiplo de las cabezas de clave y valor.",
            "heads must be a multiple of the key-value heads.",
        )
    return kv_heads


def attention_linears(read: Reader, family: Family, hidden: int, q: int, k: int) -> tuple[Linear, ...]:
    """Query, key, value (one module where they are fused) and output projections."""
    names, qkv_bias, o_bias = family.names, read.flag(family.qkv_bias), read.flag(family.o_bias)
    out = Linear("o", names["o"], q, hidden, o_bias)
    if family.fused_qkv:
        return (Linear("qkv", names["qkv"], hidden, q + 2 * k, qkv_bias), out)
    gate = 2 if read.config.get("model_type") in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text") else 1
    return (
        Linear("q", names["q"], hidden, q * gate, qkv_bias),  # these families gate the output with a second half
        Linear("k", names["k"], hidden, k, qkv_bias),
        Linear("v", names["v"], hidden, k, qkv_bias),
        out,
    )


def latent_attention(read: Reader, hidden: int, heads: int) -> tuple[tuple[Linear, ...], int, int, int]:
    """Multi-head latent attention (DeepSeek-V2): (linears, norm parameters, query head size, value head size)."""
    kv_rank = read.number("kv_lora_rank")
    q_rank = read.number("q_lora_rank", default=0, least=0)
    nope, rope = read.number("qk_nope_head_dim"), read.number("qk_rope_head_dim")
    value = read.number("v_head_dim")
    linears, norms = [], kv_rank
    if q_rank:
        linears += [
            Linear("q_down", "q_a_proj", hidden, q_rank),
            Linear("q", "q_b_proj", q_rank, heads * (nope + rope)),
        ]
        norms += q_rank
    else:
        linears.append(Linear("q", "q_proj", hidden, heads * (nope + rope)))
    linears += [
        Linear("kv_down", "kv_a_proj_with_mqa", hidden, kv_rank + rope),
        Linear("kv", "kv_b_proj", kv_rank, heads * (nope + value)),
        Linear("o", "o_proj", heads * value, hidden),
    ]
    index_heads = read.number("index_n_heads", default=0, least=0)
    if index_heads and q_rank:  # DeepSeek 3.2 and GLM 5: what chooses the tokens that attention looks at
        width = read.number("index_head_dim")
        linears += [
            Linear("index_q", "wq_b", q_rank, index_heads * width),
            Linear("index_k", "wk", hidden, width),
            Linear("index_w", "weights_proj", hidden, index_heads),
        ]
        norms += 2 * width
    return tuple(linears), norms, nope + rope, value


def recurrent_mixer(read: Reader, hidden: int) -> tuple[tuple[Linear, ...], int, int]:
    """State-space or linear-attention mixers: (linears, other parameters, width that flows between projections)."""
    if read.config.get("linear_num_value_heads"):
        return _gated_delta_net(read, hidden)
    if read.config.get("mamba_n_heads") or read.config.get("mamba_num_heads"):
        return _mamba2(read, hidden)
    if read.config.get("conv_L_cache"):
        return _short_convolution(read, hidden)
    return _mamba(read, hidden)


def _short_convolution(read: Reader, hidden: int) -> tuple[tuple[Linear, ...], int, int]:
    """Gated short convolution (LFM2): three streams in, two of them kept twice."""
    bias = read.flag("conv_bias")
    linears = (
        Linear("in", "in_proj", hidden, 3 * hidden, bias),
        Linear("o", "out_proj", hidden, hidden, bias),
    )
    return linears, hidden * (read.number("conv_L_cache") + bias), 2 * hidden


def _gated_delta_net(read: Reader, hidden: int) -> tuple[tuple[Linear, ...], int, int]:
    """Gated delta net (Qwen3-Next; Qwen3.5 has its two projections in two parts each)."""
    heads = read.number("linear_num_value_heads")
    value = heads * read.number("linear_value_head_dim")
    key = read.number("linear_num_key_heads") * read.number("linear_key_head_dim")
    convolution = (2 * key + value) * read.number("linear_conv_kernel_dim", default=4)
    linears: tuple[Linear, ...] = (
        Linear("in", "in_proj_qkvz", hidden, 2 * key + 2 * value),
        Linear("in_small", "in_proj_ba", hidden, 2 * heads),
    )
    if read.config.get("model_type") != "qwen3_next":
        linears = (
            Linear("in", "in_proj_qkv", hidden, 2 * key + value),
            Linear("in_z", "in_proj_z", hidden, value),
            Linear("in_small", "in_proj_b", hidden, heads),
            Linear("in_step", "in_proj_a", hidden, heads),
        )
    linears += (Linear("o", "out_proj", value, hidden),)
    return linears, convolution + 2 * heads + read.number("linear_value_head_dim"), 2 * key + 2 * value


def _mamba2(read: Reader, hidden: int) -> tuple[tuple[Linear, ...], int, int]:
    """Mamba-2 (Bamba, Granite 4, Falcon-H1, Nemotron-H)."""
    heads = read.number("mamba_n_heads", "mamba_num_heads")
    width = read.number("mamba_d_head", "mamba_head_dim", default=max(1, 2 * hidden // heads))
    inner = read.number("mamba_d_ssm", default=heads * width)
    groups = read.number("mamba_n_groups", "n_groups", default=1)
    convolved = inner + 2 * groups * read.number("mamba_d_state", "ssm_state_size", default=128)
    kernel = read.number("mamba_d_conv", "conv_kernel", default=4)
    norm = inner * read.flag("mamba_rms_norm", read.config.get("model_type") != "falcon_h1")
    linears = (Linear("in", "in_proj", hidden, inner + convolved + heads), Linear("o", "out_proj", inner, hidden))
    return linears, convolved * (kernel + 1) + 3 * heads + norm, inner + convolved + heads


def _mamba(read: Reader, hidden: int) -> tuple[tuple[Linear, ...], int, int]:
    """Mamba (Jamba)."""
    inner, state = read.number("mamba_expand", default=2) * hidden, read.number("mamba_d_state", default=16)
    rank = read.number("mamba_dt_rank", default=-(-hidden // 16))
    linears = (
        Linear("in", "in_proj", hidden, 2 * inner),
        Linear("x", "x_proj", inner, rank + 2 * state),
        Linear("dt", "dt_proj", rank, inner, bias=True),
        Linear("o", "out_proj", inner, hidden),
    )
    kernel = read.number("mamba_d_conv", default=4)
    return linears, inner * (kernel + 1 + state + 1) + rank + 2 * state, 3 * inner


def widths(read: Reader, family: Family, hidden: int, experts: int) -> tuple[int, int, int]:
    """(dense or shared width, width of one routed expert, shared width)."""
    names = ("intermediate_size", "block_ff_dim", "n_inner", "ffn_dim", "ffn_hidden_size")
    dense = read.number(*names, default=0, least=0)
    if not dense:
        dense = read.number("expansion_ratio", default=4) * hidden
    if family.half_ffn:
        dense //= 2
    if read.flag("block_auto_adjust_ff_dim"):  # LFM2: two thirds, rounded up
        step = read.number("block_multiple_of", default=256)
        dense = -(-int(2 * dense / 3) // step) * step
    if not experts:
        alone = ("shared_intermediate_size",) if read.config.get("model_type") == "granitemoehybrid" else ()
        return read.number("intermediate_size_mlp", *alone, default=dense), 0, 0
    routed = read.number("moe_intermediate_size", default=dense)
    shared = read.number("shared_expert_intermediate_size", "shared_intermediate_size", default=0, least=0)
    if not shared:
        counts = ("n_shared_experts", "moe_num_shared_experts", "num_shared_expert", "num_shared_experts")
        shared = read.number(*counts, default=0, least=0)
        shared *= read.number("moe_shared_expert_intermediate_size", default=routed)
    if read.config.get("model_type") == "llama4_text":
        shared = routed
    if read.flag("enable_moe_block"):  # Gemma 4: a dense feed-forward beside the experts
        shared = dense
    return shared, routed, shared


def mlp_linears(read: Reader, family: Family, hidden: int, ffn: int) -> tuple[Linear, ...]:
    """Gate, up (one module where they are fused) and down; up and down where nothing is gated."""
    names, bias = family.names, read.flag(family.mlp_bias)
    down = Linear("down", names["down"], ffn, hidden, bias)
    if not family.gated:
        return (Linear("up", names["up"], hidden, ffn, bias), down)
    if family.fused_gate:
        return (Linear("gate_up", names["gate_up"], hidden, 2 * ffn, bias), down)
    return (Linear("gate", names["gate"], hidden, ffn, bias), Linear("up", names["up"], hidden, ffn, bias), down)


def norm_weights(read: Reader, family: Family) -> int:
    """How many norms over the hidden size one layer has."""
    if read.config.get("model_type") == "falcon" and read.config.get("parallel_attn", True):
        return 2 if read.config.get("new_decoder_architecture") else 1
    if read.config.get("use_parallel_residual") and read.config.get("model_type") == "stablelm":
        return 1
    if read.flag("enable_moe_block"):
        return family.norms + 4  # three norms, and the router's scale
    return family.norms + (read.number("hidden_size_per_layer_input", default=0, least=0) > 0)


def query_key_norm(read: Reader, family: Family, heads: int, kv_heads: int, head_dim: int) -> int:
    """Parameters of the norms on queries and keys."""
    if not family.qk_norm or (family.qk_norm_key and not read.flag(family.qk_norm_key)):
        return 0
    return 2 * head_dim if family.qk_norm == "head" else (heads + kv_heads) * head_dim
