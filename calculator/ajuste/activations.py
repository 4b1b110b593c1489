"""What a decoder layer saves for its backward pass, in bytes per token.

Each function follows the tensors that autograd keeps alive in the public transformers code, per precision mode.
Source of every count: the op-level reference (real transformers and peft code, followed tensor by tensor).
"""

from __future__ import annotations

from .architecture import Layer
from .case import Case, targeted

RSQRT = 4  # each norm keeps one fp32 number per token


def saved_per_token(c: Case, y: Layer) -> float:
    """All that one layer keeps between its forward and its backward pass.

    Unit: bytes per token. Formula: norms + linear inputs + attention + feed-forward + 4 B per norm.
    """
    return (
        norms(c)
        + query_key_norms(c, y)
        + linear_inputs(c, y)
        + attention(c, y)
        + feed_forward(c, y)
        + RSQRT * c.arch.traits.norms
    )


def norms(c: Case) -> float:
    """Inputs and outputs of the RMS norms.

    Unit: bytes per token. Formula, per norm: frozen 4h (the fp32 copy that is squared and scaled); trained in bf16
    8h (fp32 copy 4h, normalised 2h, output 2h, which the linears share); trained in fp32 8h under autocast (the
    linears keep their own bf16 copies), 12h without; Gemma's 1 + w norms 8h, and 2h more for the two whose output
    feeds linears.
    """
    h, count = c.hidden, c.arch.traits.norms
    if not c.full:
        return count * 4 * h
    if c.arch.traits.norm == "gemma":
        return count * 8 * h + 2 * 2 * h
    if c.residual == 4:
        return count * (8 if c.autocast else 12) * h
    return count * 8 * h


def query_key_norms(c: Case, y: Layer) -> float:
    """Norms on queries and keys (Qwen3, Gemma 3, OLMo 2).

    Unit: bytes per token. Formula: frozen 4(q + k); trained 6(q + k), Gemma's 8(q + k).
    """
    if not c.arch.traits.qk_norm:
        return 0
    per_element = 4 if not c.full else 8 if c.arch.traits.norm == "gemma" else 6
    return per_element * (y.query + y.key)


def linear_inputs(c: Case, y: Layer) -> float:
    """Inputs of the linears whose weights (or adapters) are trained, beyond what norms and attention keep anyway.

    Unit: bytes per token. Formula: trained under autocast 2h per linear that reads a norm; adapters: one shared copy
    where nothing is cast, else one copy per target (4·in without autocast, 2·in with it), + 1·in for a dropout mask,
    + r per target for B's input.
    """
    if c.full:
        readers = sum(1 for m in y.linears if m.role in ("q", "k", "v", "qkv", "gate", "up", "gate_up"))
        if y.experts:
            readers += 2
        return readers * 2 * c.hidden if c.autocast else 0
    targets = c.targets if y is c.layer else targeted(y, c.plan.lora.targets)
    if c.quantized and c.upcast:
        return _upcast_inputs(c, targets)
    rank_bytes = 2 if c.autocast or c.adapter == 2 else 4
    total = rank_bytes * c.plan.lora.rank * len(targets)
    if not c.one_copy:
        copy = (2 if c.autocast else 4) + c.dropout
        return total + copy * sum(m.inputs for m in targets)
    if c.dropout:  # the dropped input is a tensor of its own for each target, and so is its mask
        return total + (c.attention_bytes + 1) * sum(m.inputs for m in targets)
    roles = {m.role for m in targets}
    total += (
        c.attention_bytes * c.hidden * (bool(roles & {"q", "k", "v", "qkv"}) + bool(roles & {"gate", "up", "gate_up"}))
    )
    return total + c.attention_bytes * sum(m.inputs for m in targets if m.role == "down")


def _upcast_inputs(c: Case, targets: tuple) -> float:
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
            shared.add("attention" if m.role in ("q", "k", "v", "qkv") else "mlp")
    return total + 4 * c.hidden * len(shared) + (2 if c.autocast else 4) * c.plan.lora.rank * len(targets)


def attention(c: Case, y: Layer) -> float:
    """Tensors the attention keeps.

    Unit: bytes per token, e = 2 in bf16, 4 in fp32. Formula: flash e(2q + 2k) + 4n (queries, keys, values, output,
    log-sum-exp); with a padding mask keys and values are expanded to all heads, + 2S for the mask; eager e·q + keys
    and values expanded + n·S (4 + e) for the fp32 softmax and its copy, + n·S·e with soft-capping.
    """
    e, q, k, n = c.attention_bytes, y.query, y.key, y.heads
    grouped = y.heads != y.kv_heads
    keys_values = 2 * e * (q if grouped else k)
    if c.eager:
        total = e * q + keys_values + n * c.sequence * (4 + e + (e if c.arch.attention_softcap else 0))
        if c.full or (c.one_copy and not c.upcast and not c.dropout and any(m.role == "o" for m in c.targets)):
            total += e * q
    elif c.masked or (e == 4 and grouped):
        total = 2 * e * q + keys_values + 4 * n + (2 * c.sequence if c.masked else 0)
    elif (
        y.window and c.sequence >= y.window and c.arch.family == "gemma3_text"
    ):  # a window mask: the memory-efficient kernel
        total = 2 * e * q + keys_values + 4 * n + 2 * c.sequence
    else:
        total = 2 * e * (q + k) + 4 * n
    if c.arch.traits.fused_qkv and not c.upcast:
        total += 2 * q + 2 * k  # v is a view: the whole fused output stays
    return total


def feed_forward(c: Case, y: Layer) -> float:
    """Tensors the feed-forward keeps.

    Unit: bytes per token, m = 2 in bf16, 4 in fp32. Formula: dense 3m·f (gate, its activation, up), trained + 2f (the
    product that feeds down); experts the same with K·f for f, + 2K·h (outputs to be weighted), + the routing.
    """
    m, trained = c.mlp_bytes, c.full
    total = m * 3 * y.ffn + ((2 if c.autocast or c.weight == 2 else 4) * y.ffn if trained else 0)
    if y.experts:
        chosen = y.experts_per_token
        f, h = chosen * y.expert_ffn, chosen * c.hidden
        total += m * 3 * f + 2 * h
        total += 2 * f + 2 * h if trained or c.expert_adapter else 0
        total += 24 * chosen + 6 * y.experts[0].copies
    return total
