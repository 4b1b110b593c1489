"""The architecture of a model, read from its own Hugging Face config.json.

Nothing is guessed from a parameter count: hidden size, heads, key-value heads, head size, feed-forward, vocabulary,
experts and windows all come from the config, and what a config does not say (biases, norms, fused projections)
from the family's entry in `families.py`. The parameter count is exact, module by module.
"""

from __future__ import annotations

from typing import Any

from .config import Reader
from .errors import RequestError, near_matches
from .families import FAMILIES, Family
from .layers import NORM_WEIGHTS, Layer, Linear, read_layers
from .records import NamedTuple
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
    stored_bytes: float  # of the published checkpoint

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
    tower = read_tower(outer, hidden)
    total = int(inside) + embedding * (1 if tied else 2) + outside
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
        tower=tower,
        embedding=embedding,
        depth=sum(layer.count for layer in layers),
        parameters=total,
        stored_bytes=stored_bytes(outer, config, layers, hidden, embedding, total + tower.parameters),
    )


def parameters(architecture: Architecture) -> float:
    """Exact number of parameters: layers, embedding, head (once when tied), norms, vision tower."""
    return architecture.parameters + architecture.vision


# Bytes per weight, scales included, of the formats that whole repositories are published in.
STORED = {
    "fp8": 1 + 4 / 128**2,  # an fp32 scale for each 128 × 128
    "mxfp4": 0.5 + 1 / 32,  # a byte for each 32
    "bitsandbytes": 0.5 + (1 + 4 / 256) / 64,  # NF4, double quantised
    "awq": 0.5 + 2.5 / 128,  # a 16-bit scale and a 4-bit zero for each 128
    "gptq": 0.5 + 2.5 / 128,
    "compressed-tensors": 0.5 + 2 / 32,  # 4 bits in groups of 32, as Kimi K2.5 has them
}


def stored_bytes(
    outer: dict[str, Any], config: dict[str, Any], layers: tuple[Layer, ...], hidden: int, embedding: int, total: float
) -> float:
    """The checkpoint as its repository has it.

    Unit: bytes. Formula: 2 × N; where `quantization_config` says so, each linear weight as `STORED`, attention apart
    where it is said to be. With the layers that only predict further tokens (`num_nextn_predict_layers`; embedding,
    head and a 2h × h again in each), which nobody loads to train.
    """
    further = config.get("num_nextn_predict_layers")
    if isinstance(further, int) and 0 < further < 100:
        layers = (*layers, layers[-1]._replace(count=further))
        total += further * (layers[-1].parameters + 2 * embedding + 2 * hidden * hidden)
    quantization = outer.get("quantization_config") or config.get("quantization_config")
    method = quantization.get("quant_method") if isinstance(quantization, dict) else None
    if not isinstance(quantization, dict) or not isinstance(method, str) or method not in STORED:
        return 2.0 * total
    each = STORED[method]
    if quantization.get("load_in_8bit") is True or quantization.get("bits") == 8:
        each *= 2
    spared = quantization.get("modules_to_not_convert") or quantization.get("ignore")
    experts_only = isinstance(spared, list) and any(isinstance(name, str) and "self_attn" in name for name in spared)
    weights = sum(y.count * (y.expert_weights + (0 if experts_only else y.linear_weights)) for y in layers)
    return each * weights + 2.0 * (total - weights)


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
    width = read.number("hidden_size_per_layer_input", default=0, least=0)
    if width:  # Gemma 4: an embedding of its own for each layer, and the projection and norm beside it
        depth = read.number("num_hidden_layers")
        total += (read.number("vocab_size_per_layer_input", default=vocabulary) + hidden) * depth * width + width
    return total + vocabulary * read.flag(family.head_bias)


def _rotary(read: Reader, family: Family) -> float:
    if read.config.get("alibi") is True:
        return 0.0
    return read.share("partial_rotary_factor", "rotary_pct", default=family.rotary)
