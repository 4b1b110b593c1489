"""Logits and loss: often the largest tensors of the whole step, because the vocabulary is wide.

Each function returns the points of one kind of loss, in the order they happen. Source of the counts: the op-level
reference; for the other kinds the public code of Liger-Kernel, TRL, torchtune and litgpt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layer_work import Point

if TYPE_CHECKING:
    from .case import Case


PREFERENCE = ("dpo", "kto", "orpo", "simpo")
# Families whose loss was computed in 16 bit while it was part of the model's own code.
SIXTEEN_BIT_LOSS = ("gpt2", "gpt_bigcode", "gpt_neox", "gptj", "bloom", "opt", "falcon", "mpt")


def loss_points(c: Case) -> list[Point]:
    """The widest points between the last layer's output and the gradient that enters it."""
    return KINDS[c.plan.loss](c) if c.has_head else []


def kept_logits(c: Case) -> float:
    """Logits that a raw training loop still references during backward.

    Unit: bytes. Formula: 2V·T (4 in fp32, and before transformers 4.46, which turned all logits to fp32); of preference
    losses the same of the reference model, and of KTO once more for the mismatched pairs of its KL term.
    """
    each: float = 4 if c.old_loss else c.attention_bytes
    if c.plan.task in PREFERENCE:
        each *= 2 if c.plan.reference in ("copy", "adapter-off") else 1
        each *= 2 if c.plan.task == "kto" else 1
    return each * c.vocabulary * c.scored_tokens


def hidden_bytes(c: Case) -> float:
    """The head's input. Unit: bytes. Formula: 2h·T; 4h·T after an upcast or with fp32 weights and no autocast."""
    return (4 if c.upcast or (c.residual == 4 and not c.autocast) else 2) * c.hidden * c.tokens


def default(c: Case) -> list[Point]:
    """Cross-entropy on logits upcast to fp32 (transformers).

    Unit: bytes. Formula: forward V·T (2 for the logits + 4 upcast + 4 log-softmax; + 4 where the shifted logits are
    copied, up to transformers 4.48; + 2 before 4.46, when the fp32 logits replaced the 16-bit ones; the oldest
    families, and Qwen 1 without autocast, 8 in all; compiled 2), backward V·T (4 + 4 + 4; compiled 2 + 2); with a
    trained head, then 2V·T + the head's gradient. + 2V·T with soft-capped logits.
    """
    logits = c.vocabulary * c.scored_tokens
    written = c.attention_bytes
    cap = 2 if c.arch.logit_softcap else 0
    hidden = 0.0 if c.full and not (c.residual == 4 and c.autocast) else hidden_bytes(c)
    forward, backward = (8 if written == 4 else 10) + cap, 12 + cap
    if c.plan.task in PREFERENCE and c.plan.reference in ("copy", "adapter-off"):
        forward += 4  # the policy's log-softmax waits while the reference model runs
    if c.plan.logits_shift_copy:
        if c.arch.family == "qwen" and not c.autocast:  # its own code never turns the logits to fp32
            forward, backward = 8, 8
        elif c.arch.family in SIXTEEN_BIT_LOSS:
            forward, backward = (16, 12) if c.plan.autocast else (8, 8)  # autocast computes a loss in fp32
        else:
            forward += 2 if c.old_loss and written == 2 else 4
    if c.plan.compile:  # one kernel reads the 16-bit logits, another writes their gradient
        forward, backward = written + cap, 2 * written + cap
    points = [
        Point("loss", temporaries=hidden, logits=forward * logits),
        Point("loss_backward", logits=backward * logits),
    ]
    if c.plan.outputs_alive and c.plan.task in PREFERENCE and c.plan.reference == "copy":
        points.append(reference_forward(c))
    return points + head_backward(c, written * logits)


def reference_forward(c: Case) -> Point:
    """The reference model at work in a raw loop, which asks it for keys and values too and drops them.

    Unit: bytes. Formula: T × Σ layers 4k + V·T (the policy's logits and their 4-byte log-softmax, the reference's of
    the last batch and its new ones: 2 each, in fp32 + 2 on top of 2 before transformers 4.46).
    """
    each = 4 if c.old_loss else c.attention_bytes
    logits = each + 4 + each + (each + c.attention_bytes if c.old_loss else each)
    return Point("reference", temporaries=key_value_cache(c), logits=logits * c.vocabulary * c.scored_tokens)


def key_value_cache(c: Case) -> float:
    """Keys and values of a micro-batch in 16 bit. Unit: bytes. Formula: T × Σ layers 4k."""
    return sum([4 * y.count * y.key for y in c.arch.layers]) * c.tokens


def head_backward(c: Case, logits: float) -> list[Point]:
    """The trained head's gradient beside the logits' own. Unit: bytes. Formula: 2V·T + 2V·h (+ 4V·h under autocast)."""
    if not c.trains_head:
        return []
    gradient = head_gradient(c)
    hidden = c.attention_bytes * c.hidden * c.tokens
    points = [Point("head_backward", temporaries=hidden, gradients=gradient, logits=logits)]
    if c.autocast and c.weight == 4:  # the 16-bit gradient is copied into the fp32 one
        points.append(Point("head_backward", gradients=gradient + 4 * c.arch.embedding))
    return points


def head_gradient(c: Case) -> float:
    """The trained head's gradient as its backward writes it. Unit: bytes. Formula: 2V·h, in fp32 4V·h."""
    return (2 if c.autocast or c.weight == 2 else 4) * c.arch.embedding


def in_place(c: Case) -> list[Point]:
    """Cross-entropy kernels that write the gradient into the logits.

    Unit: bytes. Formula: 8V·T in forward and backward, + 2V·T from transformers 4.46 to 4.48, which kept the 16-bit
    logits beside both fp32 copies.
    """
    each = 8
    if c.plan.logits_shift_copy:
        each = 8 if c.old_loss else 10
        if c.arch.family in SIXTEEN_BIT_LOSS:
            each = 12 if c.plan.autocast else 6
    logits = each * c.vocabulary * c.scored_tokens
    points = [Point("loss", temporaries=hidden_bytes(c), logits=logits), Point("loss_backward", logits=logits)]
    return points + head_backward(c, c.attention_bytes * c.vocabulary * c.scored_tokens)


def chunked_kept(c: Case) -> list[Point]:
    """Head and loss chunk by chunk, every chunk kept until backward (torchtune, litgpt).

    Unit: bytes. Formula: V·T (2 for the logits + 4 for the fp32 log-softmax; litgpt's logits are fp32 too, 8 in all) +
    one chunk at work, an eighth. torchtune compiles the loss of a chunk: 2V·T, what is fp32 is computed again, and
    in backward + the gradient of a chunk. A trained head: every chunk brings a whole gradient to add to the others'.
    Source: torchtune, `ce_chunked_output_loss.py` (`apply_compile_strategy`), its recipes (`del logits`).
    """
    logits, chunks = c.vocabulary * c.scored_tokens, c.a["loss-chunks"]
    hidden = (2 if c.litgpt else 1) * hidden_bytes(c)
    kept, chunk, written = (8, 8, 8) if c.litgpt else (c.attention_bytes + 4, 8, c.attention_bytes)
    compiled = c.plan.compile and not c.litgpt
    if compiled:
        kept = chunk = written
    points = [
        Point("loss", temporaries=hidden, logits=(kept + (0 if compiled else chunk / chunks)) * logits),
        Point("loss_backward", temporaries=hidden, logits=(kept + chunk / chunks) * logits),
    ]
    ends = head_backward(c, written * logits)
    if not c.litgpt:
        added, left = head_gradient(c), 1 - 1 / chunks
        ends = [p._replace(gradients=p.gradients + added, logits=p.logits * left) for p in ends]
    return points + ends


def fused(c: Case) -> list[Point]:
    """Head and cross-entropy in one kernel, chunk by chunk (Liger, cut cross-entropy).

    Unit: bytes. Formula: 2h·T + a chunk of t tokens, 2t (V + h); a trained head + 8V·h in forward (gradient, product
    and fp32 copy) and 2V·h until backward. t = power of two next above T ÷ ⌈V ÷ h⌉.
    """
    h, tokens = c.hidden, c.tokens
    parts = -(-c.vocabulary // h)
    chunk = min(tokens, 1 << int(max(1, -(-tokens // parts)) - 1).bit_length())
    trained = c.arch.embedding if c.trains_head else 0
    hidden = 0.0 if c.full else hidden_bytes(c)
    logits = 2 * chunk * c.vocabulary
    return [
        Point("loss", temporaries=2 * h * (tokens + chunk) + hidden, gradients=8 * trained, logits=logits),
        Point("loss_backward", temporaries=2 * h * tokens, gradients=2 * trained),
    ]


def chunked(c: Case) -> list[Point]:
    """Head and loss over 256 tokens at a time, recomputed in backward (TRL from 1.7 to 1.14).

    Unit: bytes. Formula: fp32 copy of the head 4V·h (+ 2V·h under autocast) + logits of one chunk, 16 B each.
    """
    size, h, t = c.a["chunked-loss-tokens"], c.hidden, c.tokens
    head = 0 if c.upcast or c.weight == 4 else 4 * c.arch.embedding
    head += 2 * c.arch.embedding if c.autocast else 0
    written = (2 if c.autocast else 4) * size * c.vocabulary
    trained = 6 * c.arch.embedding if c.trains_head else 0
    forward = Point("loss", temporaries=2 * h * t + hidden_bytes(c) + 6 * size * h, casts=head)
    backward = Point("loss_backward", temporaries=4 * h * t + 8 * size * h, casts=head)
    points = [
        forward._replace(logits=written),
        forward._replace(casts=0.0, logits=16 * size * c.vocabulary),
        backward._replace(gradients=trained, logits=written),
    ]
    if c.autocast:  # the softmax of a chunk, beside the 16-bit head only
        points.append(backward._replace(casts=2 * c.arch.embedding, logits=12 * size * c.vocabulary))
    else:
        points.append(backward._replace(logits=16 * size * c.vocabulary))
    return points


def tiled(c: Case) -> list[Point]:
    """Head and loss tile by tile, tokens by vocabulary, recomputed in backward (TRL from 1.15).

    Unit: bytes. Formula: b·t·v for a tile of t tokens by v words, b = 2 under autocast, else the hidden states'; the
    head's rows and the tokens at work cast to b where they are not; two copies of the hidden states in forward; one of
    them + 4h·T, then one more, in backward; a trained head + 4V·h, and 2V·h more where its weights have 16 bit.
    Source: TRL 1.16, `trl/kernels/chunked_logprob.py`, `add_fused_lm_head` of `trl/trainer/utils.py`.
    """
    h, each = c.hidden, c.attention_bytes
    tokens, words = min(c.tokens, c.a["loss-tile-tokens"]), min(c.vocabulary, c.a["loss-tile-vocabulary"])
    kept, wide_head = hidden_bytes(c), c.upcast or c.weight == 4
    tile = each * tokens * words
    at_work = each * tokens * h if kept != each * h * c.tokens else 0.0
    rows = each * words * h if wide_head != (each == 4) else 0.0
    gradient = 4 * c.arch.embedding if c.trains_head else 0
    backward = Point("loss_backward", temporaries=kept + 4 * h * c.tokens, gradients=gradient)
    return [
        Point("loss", temporaries=2 * kept + at_work, casts=rows, logits=tile),
        backward._replace(temporaries=backward.temporaries + at_work, casts=rows, logits=tile),
        backward._replace(
            temporaries=backward.temporaries + kept,
            gradients=gradient + (0 if wide_head or not gradient else 2 * c.arch.embedding),
        ),
    ]


KINDS = {
    "default": default,
    "in-place": in_place,
    "chunked-kept": chunked_kept,
    "chunked": chunked,
    "tiled": tiled,
    "fused": fused,
}
