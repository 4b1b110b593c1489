"""Gradients and optimizer: what training adds to the weights it changes."""

from __future__ import annotations

from .case import Case

# Moments per trained parameter that have the parameter's dtype.
MOMENTS = {"adamw": 2, "adamw-foreach": 2, "paged-adamw": 2, "lion": 1, "sgd": 0, "adafactor": 0, "muon": 1}


def optimizer_states(c: Case, moment: str) -> float:
    """Moments of the optimizer.

    Unit: bytes. Formula: AdamW 2 × the parameter's bytes; 8-bit 2 × (1 + 4 ÷ 256); paged states are managed memory
    and not counted here. They do not exist yet while the model loads.
    """
    return 0.0 if moment == "load" or c.plan.optimizer.startswith("paged") else state_bytes(c)


def state_bytes(c: Case) -> float:
    """All optimizer states, wherever they live. Unit: bytes."""
    kind = c.plan.optimizer.removeprefix("paged-")
    if kind == "adamw-8bit":
        return c.trainable * 2 * (1 + 4 / c.a["adamw-8bit-block"])
    return float(MOMENTS[kind] * c.gradient * c.trainable)


def paged_states(c: Case) -> float:
    """States of paged optimizers: managed memory, which the driver moves to the host under pressure. Unit: bytes."""
    return state_bytes(c) if c.plan.optimizer.startswith("paged") else 0.0


def all_gradients(c: Case) -> float:
    """Gradients of everything trained. Unit: bytes. Formula: trained parameters × their bytes."""
    return float(c.gradient * c.trainable)


def layer_gradients(c: Case) -> float:
    """Gradients of one layer of average size. Unit: bytes."""
    if c.full:
        return float(c.gradient * sum(y.count * y.parameters for y in c.arch.layers) / c.depth)
    return all_gradients(c) / c.depth


def step_temporaries(c: Case) -> float:
    """What the optimizer step allocates for a moment.

    Unit: bytes. Formula: fused 0; foreach one copy of the gradients; Adafactor 16 B × the largest tensor.
    """
    if c.plan.optimizer == "adamw-foreach":
        return all_gradients(c)
    if c.plan.optimizer == "adafactor" and c.full:
        return 16.0 * max(c.arch.embedding, c.layer.largest_weights)
    return 0.0
