"""Gradients and optimizer: what training adds to the weights it changes."""

from __future__ import annotations

from .setup import Setup

# Moments per trained parameter that have the parameter's dtype.
MOMENTS = {"adamw": 2, "adamw-foreach": 2, "paged-adamw": 2, "lion": 1, "sgd": 0, "adafactor": 0, "muon": 1}


def optimizer_states(s: Setup, moment: str) -> float:
    """Moments of the optimizer.

    Unit: bytes. Formula: AdamW 2 × the parameter's bytes; 8-bit 2 × (1 + 4 ÷ 256); paged states are managed memory
    and not counted here. They do not exist yet while the model loads.
    """
    return 0.0 if moment == "load" or s.plan.optimizer.startswith("paged") else state_bytes(s)


def state_bytes(s: Setup) -> float:
    """All optimizer states, wherever they live. Unit: bytes."""
    kind = s.plan.optimizer.removeprefix("paged-")
    if kind == "adamw-8bit":
        return s.trainable * 2 * (1 + 4 / s.a["adamw-8bit-block"])
    return float(MOMENTS[kind] * s.gradient * s.trainable)


def paged_states(s: Setup) -> float:
    """States of paged optimizers: managed memory, which the driver moves to the host under pressure. Unit: bytes."""
    return state_bytes(s) if s.plan.optimizer.startswith("paged") else 0.0


def all_gradients(s: Setup) -> float:
    """Gradients of everything trained. Unit: bytes. Formula: trained parameters × their bytes."""
    return float(s.gradient * s.trainable)


def layer_gradients(s: Setup) -> float:
    """Gradients of one layer of average size. Unit: bytes."""
    if s.full:
        return float(s.gradient * sum(y.count * y.parameters for y in s.arch.layers) / s.L)
    return all_gradients(s) / s.L


def step_temporaries(s: Setup) -> float:
    """What the optimizer step allocates for a moment.

    Unit: bytes. Formula: fused 0; foreach one copy of the gradients; Adafactor 16 B × the largest tensor.
    """
    if s.plan.optimizer == "adamw-foreach":
        return all_gradients(s)
    if s.plan.optimizer == "adafactor" and s.full:
        return 16.0 * max(s.arch.embedding, s.layer.largest_weights)
    return 0.0
