"""The architecture of a model, read from its own Hugging Face config.json.

Nothing is guessed from a parameter count: hidden size, heads, key-value heads, head size, feed-forward, vocabulary,
experts and windows all come from the config, and what a config does not say (biases, norms, fused projections)
from the family's entry in `families.py`. The parameter count is exact, module by module.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .config import Reader
from .errors import RequestError, near_matches
from .families import FAMILIES, Family
from .layers import NORM_WEIGHTS, Layer, Linear, read_layers
from .vision import Tower, read_tower

__all__ = ["Architecture", "Layer", "Linear", "parameters", "read_architecture"]


class Architecture(NamedTuple):
    """A decoder model, layer kinds with their counts."""

    family: str
    traits: Family
    hidden: int
    vocabulary: float
    layers: tuple[Layer, ...]
    tied: bool
    rotary: float  # share of the head that rotates; 0 = learned positions, ALiBi or none
    logit_softcap: bool
    attention_softcap: bool
    outside: int  # parameters outside layers, embedding and head: final norm, learned positions
    tower: Tower  # vision tower and its projector
    embedding: float  # vocabulary × hidden
    depth: float  # layers
    parameters: float  # of the language model

    @property
    def vision(self) -> int:
        """Parameters of the vision tower and its projector."""
        return self.tower.parameters

    @property
    def is_moe(self) -> bool:
        """Whether any layer has routed experts."""
        return any(layer.experts for layer in self.layers)


# Multimodal wrappers whose text part is not a nested config of its own `model_type`.
_INNER = ("text_config", "language_config", "llm_config", "thinker_config")
_FLAT_WRAPPERS = {"qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text"}


def read_architecture(config: dict[str, Any], assumed: str | None = None) -> Architecture:
    """Architecture of a Hugging Face config.json object.

    Args:
        assumed: the family that a `model_type` we do not know is read as; the ranges are then much wider.

    Raises:
        RequestError: `unknown-architecture` for a `model_type` we do not know (with the nearest known ones),
            `bad-config` for numbers that are missing or do not fit together.
    """
    outer, config, kind = config, *_text_config(config)
    kind = _family_name(kind, assumed)
    family = FAMILIES[kind]
    read = Reader(config | {"model_type": kind})
    hidden = read.number("hidden_size", "n_embd", "d_model", "n_embed")
    vocabulary = read.number("vocab_size", "padded_vocab_size")
    layers = read_layers(read, family, hidden)
    # A multimodal wrapper may state the tie at either level; the family's default is for neither.
    tied = read.flag("tie_word_embeddings", bool(outer.get("tie_word_embeddings", family.tied)))
    embedding = vocabulary * hidden
    outside = _outside(read, family, hidden, vocabulary)
    inside = sum(layer.count * layer.parameters for layer in layers)
    return Architecture(
        family=kind,
        traits=family,
        hidden=hidden,
        vocabulary=vocabulary,
        layers=layers,
        tied=tied,
        rotary=_rotary(read, family),
        logit_softcap=bool(config.get("final_logit_softcapping", family.softcap or None)),
        attention_softcap=bool(config.get("attn_logit_softcapping", family.softcap or None)),
        outside=outside,
        tower=read_tower(outer, hidden),
        embedding=embedding,
        depth=sum(layer.count for layer in layers),
        parameters=int(inside) + embedding * (1 if tied else 2) + outside,
    )


def parameters(architecture: Architecture) -> float:
    """Exact number of parameters: layers, embedding, head (once when tied), norms, vision tower."""
    return architecture.parameters + architecture.vision


def _family_name(kind: object, assumed: str | None) -> str:
    """The `model_type` to read a config by: its own, or the assumed one where nobody has read its own."""
    known = isinstance(kind, str) and kind in FAMILIES
    if assumed is None:
        if known:
            return str(kind)
        near = near_matches(kind, FAMILIES) if isinstance(kind, str) else ()
        raise RequestError("unknown-architecture", "model.model_type", kind, suggestions=near)
    if known:
        raise RequestError(
            "inconsistent",
            "assume_family",
            es=f"La arquitectura {kind} es conocida: no hace falta suponerla.",
            en=f"The architecture {kind} is known: nothing has to be assumed.",
        )
    if assumed not in FAMILIES:
        raise RequestError(
            "unknown-architecture", "assume_family", assumed, suggestions=near_matches(assumed, FAMILIES)
        )
    return assumed


def _text_config(config: dict[str, Any]) -> tuple[dict[str, Any], object]:
    """The language model inside a (possibly multimodal) config, and its kind."""
    kind = config.get("model_type")
    for key in _INNER:
        inner = config.get(key)
        if isinstance(inner, dict):
            inner_config, inner_kind = _text_config(inner)
            return inner_config, inner_kind or kind
    if isinstance(kind, str):
        kind = _FLAT_WRAPPERS.get(kind, kind)
    return config, kind


def _outside(read: Reader, family: Family, hidden: int, vocabulary: int) -> int:
    """Parameters that belong to no layer: final norm, positions, embedding norm, head bias."""
    norm = hidden * NORM_WEIGHTS[family.norm]
    total = norm * (family.final_norm + family.embedding_norm)
    if family.learned_positions:
        positions = read.number("max_position_embeddings", "n_positions")
        total += (positions + family.position_offset) * hidden
    return total + vocabulary * read.flag(family.head_bias)


def _rotary(read: Reader, family: Family) -> float:
    if read.config.get("alibi") is True:
        return 0.0
    return read.share("partial_rotary_factor", "rotary_pct", default=family.rotary)
