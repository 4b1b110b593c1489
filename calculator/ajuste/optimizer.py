"""Gradients and optimizer: what training adds to the weights it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import sharding

if TYPE_CHECKING:
    from .case import Case
    from .moments import Instant

# Moments per trained parameter that have the parameter's dtype (or fp32 beside a master copy).
MOMENTS = {"adamw": 2, "adamw-foreach": 2, "paged-adamw": 2, "lion": 1, "sgd": 0, "adafactor": 0, "muon": 1}


def optimizer_states(c: Case) -> float:
    """Moments of the optimizer on this rank.

    Unit: bytes. Formula: AdamW 2 × the parameter's bytes; 8-bit 2 × (1 + 4 ÷ 256); 4-bit 2 × (0.5 + 4 ÷ 128); GaLore
    2r per row of each matrix + the projection; paged states are managed memory and not counted here. They do not exist
    yet while the model loads.
    """
    if c.states_on_host or c.plan.optimizer.startswith("paged"):
        return 0.0
    return state_bytes(c) * c.state_share


def state_bytes(c: Case) -> float:
    """All optimizer states, wherever they live, before they are shared out.

    Unit: bytes. Formula: moments × bytes × trained; LOMO keeps none.
    """
    kind = c.plan.optimizer.removeprefix("paged-")
    if c.plan.method == "lomo":
        return 0.0
    if c.plan.method == "galore":
        return _galore_bytes(c, kind)
    return _dense_bytes(c, kind, c.trainable)


def _dense_bytes(c: Case, kind: str, elements: float) -> float:
    if kind == "adamw-8bit":
        return elements * 2 * (1 + 4 / c.a["adamw-8bit-block"])
    if kind == "adamw-4bit":
        return elements * 2 * (0.5 + 4 / c.a["adamw-4bit-block"])
    if kind == "muon" and c.full:  # embedding and head get AdamW
        return c.moment * (elements + c.arch.embedding * c.embeddings)
    return float(MOMENTS[kind] * c.moment * elements)


def _galore_bytes(c: Case, kind: str) -> float:
    """GaLore: linears keep their moments in a space of rank r, and the projection. Source: arXiv 2403.03507."""
    rank = c.plan.lora.rank
    projected = projection = 0.0
    for y in c.arch.layers:
        for m in (*y.linears, *y.experts):
            small = min(rank, m.inputs, m.outputs)
            projected += y.count * m.copies * small * max(m.inputs, m.outputs)
            projection += y.count * m.copies * small * min(m.inputs, m.outputs)
    linears = sum(y.count * (y.linear_weights + y.expert_weights) for y in c.arch.layers)
    return _dense_bytes(c, kind, projected + c.trainable - linears) + projection * c.moment


def paged_states(c: Case) -> float:
    """States of paged optimizers: managed memory, which the driver moves to the host under pressure.

    Unit: bytes. Formula: as `optimizer_states`. Source: CUDA unified memory, bitsandbytes' paged optimizers.
    """
    return state_bytes(c) * c.state_share if c.plan.optimizer.startswith("paged") else 0.0


def master_weights(c: Case) -> float:
    """fp32 copy of 16-bit trained weights (DeepSpeed, Megatron). Unit: bytes. Formula: 4 × trained ÷ ranks."""
    return 0.0 if c.states_on_host else c.master * c.trainable * c.state_share


def gradients(c: Case, i: Instant) -> float:
    """Gradients that exist.

    Unit: bytes. Formula: all of them between micro-steps, if steps are accumulated (Megatron: always); else those of
    this pass so far. FSDP that does not synchronise every micro-step keeps them whole until the last.
    Freed layer by layer when the optimizer runs inside the backward pass. With ZeRO-2/3 and a host that has the
    optimizer, those of the layer at work, and a buffer for the largest tensor's through which they pass: full buckets
    go to the host. Of FSDP's CPU offload FSDP2 leaves those of the layer at work, FSDP1 a shard of all until the pass
    ends. Source: DeepSpeed, `stage_1_and_2.py`, `stage3.py`; PyTorch, `_fsdp_collectives.py` (`foreach_reduce`),
    `_runtime_utils.py` (`_accumulate_sharded_grad`).
    """
    if c.gradients_on_host:
        passing = c.gradient * sharding.largest_trained(c) if i.training else 0.0
        return passing + i.work.gradients
    now = i.gradients + i.work.gradients
    if c.unreduced and i.training and i.moment != "optimizer_step":
        return whole_gradients(c) + now
    if c.steps_on_host and i.moment != "backward":
        return i.work.gradients
    resident = c.keeps_gradients and i.moment != "load"
    return (kept_gradients(c) if (c.accumulates and i.training) or resident else 0.0) + now


def whole_gradients(c: Case) -> float:
    """Gradients that no other rank has reduced yet, as the backward pass writes them.

    Unit: bytes. Formula: trained × bytes of the gathered weights; the layers' whole size where FSDP1 flattens adapters
    and frozen weights into one parameter.
    """
    if c.flat_gradients:
        return c.stored * sum(y.count * y.parameters for y in c.arch.layers)
    return c.gradient * (c.trainable - c.copies) + c.head_gradient * c.copies


def kept_gradients(c: Case) -> float:
    """Gradients of everything trained, as this rank keeps them.

    Unit: bytes. Formula: trained × bytes ÷ ranks; the layers' whole size where FSDP1 flattens adapters and frozen
    weights into one parameter.
    """
    if c.plan.method == "lomo" or c.plan.optimizer_in_backward:
        return 0.0
    if c.flat_gradients:
        return c.stored * sum(y.count * y.parameters for y in c.arch.layers) * c.gradient_share
    return c.kept_gradient * c.trainable * c.gradient_share


def layer_gradients(c: Case) -> float:
    """Gradients that one layer of average size leaves behind. Unit: bytes. Formula: bytes × layers' trained ÷ L."""
    if c.plan.method == "lomo" or c.plan.optimizer_in_backward:
        return 0.0
    if not c.full and not c.flat_gradients:
        return c.adapter * (c.trainable - c.copies) * c.gradient_share / c.depth
    if c.plan.method == "freeze" or c.flat_gradients:
        return kept_gradients(c) / c.depth
    inside = sum(y.count * y.parameters for y in c.arch.layers)
    return c.kept_gradient * inside * c.gradient_share / c.depth


def step_temporaries(c: Case) -> float:
    """What the optimizer step allocates for a moment.

    Unit: bytes. Formula: fused 0; foreach one copy of the gradients; Adafactor 16 B × the largest tensor; Muon 12 B ×
    it; ZeRO as `_master_temporaries`; FSDP's CPU offload 0.
    """
    largest = sharding.largest_trained(c) if c.full else 0.0
    kind = c.plan.optimizer
    if c.plan.method == "lomo" or c.plan.optimizer_in_backward or c.steps_on_host:
        return 0.0
    if c.plan.method == "galore":  # one matrix after the other
        return 2.0 * c.moment * largest
    if c.master and c.zero != "megatron" and c.plan.framework != "megatron":
        return _master_temporaries(c)
    if kind == "adamw-foreach":
        return c.kept_gradient * c.trainable * c.state_share
    if kind == "adafactor":
        return 16.0 * largest * c.state_share
    if kind == "muon":
        return 12.0 * c.layer.largest_weights if c.full else 0.0
    return 8.0 * largest * c.state_share if kind == "adamw-4bit" else 0.0


def _master_temporaries(c: Case) -> float:
    """What it takes to bring 16-bit gradients to the fp32 master copy.

    Unit: bytes. Formula: DeepSpeed, per element of the shard (ZeRO-3: of one sub-group) 2 for the gradients in
    one piece + 4 for these in fp32; torch's foreach then 4 more, when the 2 are gone. ZeRO-1 frees the other ranks'
    gradients first. ColossalAI 4, + 8 of the largest tensor's shard for its norm. An optimizer on the host has them
    there, or copies tensor by tensor.
    Source: DeepSpeed, `stage_1_and_2.py`, `stage3.py`; ColossalAI, `low_level_optim.py`.
    """
    kept = c.trainable * c.state_share
    largest = sharding.largest_trained(c) * c.state_share
    if c.states_on_host:
        return 0.0 if c.zero == "deepspeed" else 8.0 * largest
    if c.zero != "deepspeed":
        return 4.0 * kept + (8.0 * largest if c.zero == "colossalai" else 0.0)
    if c.plan.parallel.strategy == "zero3":
        return (8.0 if c.plan.optimizer == "adamw-foreach" else 6.0) * min(kept, c.a["zero3-sub-group-elements"])
    others = c.kept_gradient * (c.trainable - kept) if c.plan.parallel.strategy == "zero1" else 0.0
    return max(0.0, 6.0 * kept - others)
