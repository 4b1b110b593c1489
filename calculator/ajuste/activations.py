"""What a decoder layer saves for its backward pass, in bytes per token.

Each function follows the tensors that autograd keeps alive in the public transformers code, per precision mode.
Source of every count: the op-level reference (real transformers and peft code, followed tensor by tensor).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .peft import targeted

if TYPE_CHECKING:
    from .architecture import Layer
    from .case import Case

RSQRT = 4  # each norm keeps one fp32 number per token
QKV = ("q", "k", "v", "qkv", "q_down", "kv_down", "in", "in_small", "mix_in", "in_z", "in_step")
GATE_UP = ("gate", "up", "gate_up")


def saved_per_token(c: Case, y: Layer) -> float:
    """All that one layer keeps between its forward and its backward pass when nothing is recomputed.

    Unit: bytes per token. Formula: norms + linear inputs + mixer + feed-forward + the adapter's own + 4 B per norm.
    """
    return (
        norms(c)
        + query_key_norms(c, y)
        + linear_inputs(c, y)
        + mixer(c, y)
        + feed_forward(c, y)
        + adapter_outputs(c, y)
        + quantised_inputs(c, y)
        + RSQRT * c.arch.traits.norms
    )


def waiting_per_token(c: Case, y: Layer) -> float:
    """What one layer keeps while others are at work.

    Unit: bytes per token. Formula: everything without checkpointing; its input, 2h (4h in fp32), with full
    checkpointing (and what `quantised_inputs` of old stacks hold on to); selective: the input, the attention's output
    and every second matrix product (torchtitan), or all but the attention's inside (Megatron).
    """
    if c.checkpointed:
        return c.residual * c.hidden + quantised_inputs(c, y)
    if not c.selective:
        return saved_per_token(c, y)
    e, q, k = c.attention_bytes, y.query, y.key
    if c.plan.framework == "megatron":
        return saved_per_token(c, y) - e * q - 4 * y.heads
    products = e * (q + k + y.ffn + y.experts_per_token * y.expert_ffn + c.hidden)
    return c.residual * c.hidden + products + e * q + 4 * y.heads


def norms(c: Case) -> float:
    """Inputs and outputs of the norms over the hidden size.

    Unit: bytes per token. Formula, per RMS norm: frozen 4h (the fp32 copy that is squared and scaled; LN tuning + 2h,
    the normalised); trained in bf16
    8h (fp32 copy 4h, normalised 2h, output 2h, which the linears share); trained in fp32 8h under autocast (the
    linears keep their own bf16 copies), 12h without; Gemma's 1 + w norms 8h, and 2h more for the two whose output
    feeds linears. Fused kernels and LayerNorm: only the input, + the output where linears are trained.
    """
    h, count, kind = c.hidden, c.arch.traits.norms, c.arch.traits.norm
    if c.fused_kernels or kind.startswith("layer") or kind == "none":
        kept = 4 if c.autocast and not c.fused_kernels else c.residual
        inputs = 1 if c.arch.family == "gpt_neox" else count
        return h * (inputs * kept + count * (c.residual if c.full else 0))
    if not c.full:
        return count * (6 if c.plan.method == "ln-tuning" else 4) * h
    if kind == "gemma":
        return count * 8 * h + 2 * 2 * h
    if c.residual == 4:
        return count * (8 if c.autocast else 12) * h
    return count * 8 * h


def query_key_norms(c: Case, y: Layer) -> float:
    """Norms on queries and keys (Qwen3, Gemma 3, OLMo 2).

    Unit: bytes per token. Formula: frozen 4(q + k); trained 6(q + k), Gemma's 8(q + k); fused kernels 2(q + k).
    """
    if not c.arch.traits.qk_norm:
        return 0
    per_element = 4 if not c.full else 8 if c.arch.traits.norm == "gemma" else 6
    return (2 if c.fused_kernels else per_element) * (y.query + y.key)


def linear_inputs(c: Case, y: Layer) -> float:
    """Inputs of the linears whose weights (or adapters) are trained, beyond what norms and attention keep anyway.

    Unit: bytes per token. Formula: trained under autocast 2h per linear that reads a norm; adapters: one shared copy
    where nothing is cast, else one copy per target (4·in without autocast, 2·in with it), + 1·in for a dropout mask,
    + r per target for B's input. Unsloth's kernels keep no input of the down projection: they compute it again.
    """
    if c.full:
        readers = sum(1 for m in y.linears if m.role in QKV or m.role in GATE_UP) + (2 if y.experts else 0)
        return readers * 2 * c.hidden if c.autocast else 0
    targets = c.targets if y is c.layer else targeted(y, c.plan)
    if c.plan.method in ("ia3", "vera"):  # their frozen linears keep no input
        return 0
    if c.litgpt:
        targets = _one_query_key_value(targets)
    if c.quantized and c.upcast:
        return _upcast_inputs(c, targets)
    total: float = (2 if c.autocast or c.gathered_adapter == 2 else 4) * c.plan.lora.rank * len(targets)
    if not c.one_copy:
        copy = (2 if c.autocast else 4) + c.dropout
        return total + copy * sum(m.inputs for m in targets)
    if c.dropout:  # the dropped input is a tensor of its own for each target, and so is its mask
        return total + (c.attention_bytes + 1) * sum(m.inputs for m in targets)
    roles = {m.role for m in targets}
    shared = bool(roles.intersection(QKV)) + bool(roles.intersection(GATE_UP))
    total += c.attention_bytes * c.hidden * shared
    if c.adapter_kernels:
        return total
    return total + c.attention_bytes * sum(m.inputs for m in targets if m.role == "down")


def _one_query_key_value(targets: tuple[Any, ...]) -> tuple[Any, ...]:
    """Targets with query, key and value as one module: they share one input, mask and projection."""
    kept, seen = [], False
    for m in targets:
        if m.role not in ("q", "k", "v") or not seen:
            kept.append(m)
        seen = seen or m.role in ("q", "k", "v")
    return tuple(kept)


def _upcast_inputs(c: Case, targets: tuple[Any, ...]) -> float:
    """Linear inputs after `prepare_model_for_kbit_training`: the norms answer in fp32, each target casts again."""
    copy, mask = (2 if c.autocast else 4), c.dropout
    total = 0.0
    shared = set()
    for m in targets:
        if m.role == "down":
            total += (copy + mask) * m.inputs
        elif m.role == "o":
            total += (copy + 1) * m.inputs * mask
        elif c.autocast or c.dropout:
            total += (copy + mask) * m.inputs
        else:
            shared.add("attention" if m.role in QKV else "mlp")
    return total + 4 * c.hidden * len(shared) + (2 if c.autocast else 4) * c.plan.lora.rank * len(targets)


def mixer(c: Case, y: Layer) -> float:
    """Tensors that mixing the tokens keeps.

    Unit: bytes per token. Formula: `attention` or `latent_attention`, + of a recurrent mixer 3e × its state.
    """
    state = 3 * c.attention_bytes * y.state
    if y.mixer in ("recurrent", "none"):
        return state
    return state + (latent_attention(c, y) if y.mixer == "latent" else attention(c, y))


def attention(c: Case, y: Layer) -> float:
    """Tensors the attention keeps.

    Unit: bytes per token, e = 2 in bf16, 4 in fp32. Formula: flash e(2q + 2k) + 4n (queries, keys, values, output,
    log-sum-exp); with a padding mask keys and values are expanded to all heads, + 2S for the mask; eager e·q + keys
    and values expanded + n·S (4 + e) for the fp32 softmax and its copy, + n·S·e with soft-capping. PyTorch's kernel for
    grouped heads in fp32 writes out the scores: e·q + keys and values expanded + e·n·S.
    Source: PyTorch, `sdp_utils.cpp` (flash is for 16 bit, memory-efficient not for grouped heads); transformers,
    `sdpa_attention.py` (`enable_gqa` where no mask is needed).
    """
    e, q, k, n = c.attention_bytes, y.query, y.key, y.heads
    grouped = y.heads != y.kv_heads
    keys_values = 2 * e * (q if grouped else k)
    if c.plan.method == "prefix":  # the prefix comes as a cache: keys and values once more, and longer
        longer = 1 + c.plan.virtual_tokens / c.sequence
        keys_values = longer * (keys_values + 2 * e * k)
    if c.eager:
        total = e * q + keys_values + n * c.sequence * (4 + e + (e if c.arch.attention_softcap else 0))
        if c.full or (c.one_copy and not c.upcast and not c.dropout and any(m.role == "o" for m in c.targets)):
            total += e * q
    elif c.scores_written and grouped:
        total = e * q + keys_values + e * n * c.sequence
        if c.full or any(m.role == "o" for m in c.targets):
            total += e * q
    elif c.masked or (e == 4 and grouped):
        total = 2 * e * q + keys_values + 4 * n + (2 * c.sequence if c.masked else 0)
    elif y.window and c.sequence >= y.window and c.arch.family == "gemma3_text":
        total = 2 * e * q + keys_values + 4 * n + 2 * c.sequence  # a window mask: the memory-efficient kernel
    else:
        total = 2 * e * (q + k) + 4 * n
    if c.litgpt and grouped and not c.eager:
        total += 2 * e * (q - k)  # keys and values expanded to all heads
    if c.fused_qkv and c.arch.rotary and not c.upcast and not (c.litgpt and grouped):
        total += 2 * q + 2 * k  # v is a view: the whole fused output stays
    return total


def latent_attention(c: Case, y: Layer) -> float:
    """Multi-head latent attention.

    Unit: bytes per token. Formula: queries and keys 2e·q, the up-projection that values are a view of e·n(d + v),
    output e·n·v, log-sum-exp 4n, the latents' norms 4 B and inputs e B per latent number; eager + n·S (4 + e).
    """
    e, q, values = c.attention_bytes, y.query, y.heads * y.value_dim
    latents = sum(m.inputs for m in y.linears if m.role in ("q", "kv") and m.inputs < c.arch.hidden)
    total = 2 * e * q + e * (q + values) + e * values + 4 * y.heads + (4 + (e if c.full else 0)) * latents
    return total + (y.heads * c.sequence * (4 + e) if c.eager else 0)


def feed_forward(c: Case, y: Layer) -> float:
    """Tensors the feed-forward keeps.

    Unit: bytes per token, m = 2 in bf16, 4 in fp32. Formula: gated 3m·f (gate, its activation, up), ungated m·f, fused
    kernels 2m·f; trained + 2f (the product that feeds down); experts the same with K·f for f, + 2K·h (outputs to be
    weighted), + the routing.
    """
    m, trained = c.mlp_bytes, c.full
    kept = m * ((2 if c.fused_mlp else 3) if c.arch.traits.gated else 1)
    total = kept * y.ffn + ((2 if c.autocast or c.weight == 2 else 4) * y.ffn if trained else 0)
    if y.experts:
        chosen = y.experts_per_token
        f, h = chosen * y.expert_ffn, chosen * c.hidden
        total += kept * f + 2 * h
        total += 2 * f + 2 * h if trained or c.expert_adapter else 0
        total += 24 * chosen + 6 * y.experts[0].copies
    return total


def adapter_outputs(c: Case, y: Layer) -> float:
    """What some adapters keep beyond their inputs.

    Unit: bytes per token, b = 4, or 2 under autocast or with 16-bit adapters. Formula, per target: DoRA 2·out (base
    output) + b·out; VeRA b (out + r); (IA)³ the output it scales, 2·out, or the fp32 input of the down projection,
    4·in; bottleneck adapters 2(2h + 4·width); LLaMA-Adapter one more output, 2q, and
    (peft) its own queries and scores, 2q + 6n per virtual token.
    """
    method = c.plan.method
    if c.litgpt and {"q", "k", "v"}.issubset({m.role for m in c.targets}):
        return 0.0
    if c.litgpt and c.targets:  # index_copy keeps its source: what B gives for query, key and value
        return c.attention_bytes * sum(
            m.outputs * (2 / 3 if m.role == "qkv" else 1) for m in c.targets if m.role in ("q", "k", "v", "qkv")
        )
    if method in ("dora", "vera", "ia3"):
        own = 2 if c.autocast or c.gathered_adapter == 2 else 4
        targets = c.targets if y is c.layer else targeted(y, c.plan)
        if method == "ia3":
            return sum(4 * m.inputs if m.role.endswith("down") else 2 * m.outputs for m in targets)
        outputs = sum(m.outputs for m in targets)
        return (2 + own) * outputs if method == "dora" else own * (outputs + c.plan.lora.rank * len(targets))
    if method == "adapter":
        return 2 * (2 * c.hidden + 4 * c.plan.bottleneck)
    if method == "llama-adapter":
        scores = 0 if c.litgpt else 2 * y.query + 6 * y.heads * c.plan.virtual_tokens
        return 2 * y.query + scores
    return 0


def quantised_inputs(c: Case, y: Layer) -> float:
    """Inputs that quantised linears keep although their weights are frozen.

    Unit: bytes per token. Formula: bitsandbytes up to 0.43.1 keeps every linear's input, out of reach of
    checkpointing that is not reentrant. With litgpt of 2023, and ms-swift, 2h for each group that shares one, 2q, 2f;
    in 2024 it computed in fp32, every linear with a copy of its own: 4h, 4q, 4f. Later releases keep none.
    """
    if c.input_copies == 4:
        readers = 1 + (2 if c.arch.traits.gated else 1)
        return 4 * (readers * c.hidden + y.query + y.ffn)
    return c.input_copies * (2 * c.hidden + y.query + y.ffn)
