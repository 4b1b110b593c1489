"""Parameters of a vision tower and its projector, from the vision part of a multimodal config."""

from __future__ import annotations

from typing import Any

from .config import Reader


def vision_parameters(config: dict[str, Any], hidden: int) -> int:
    """Tower and projector; 0 where the config has no vision part.

    Unit: parameters. Formula: a vision transformer's layers 4v² + 2 or 3 v·m + biases and norms, patch embedding,
    positions, and a projector into the language model's hidden size. Towers differ in details that are small beside
    their layers: within about 5 % of the published counts.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, dict) or not vision:
        return 0
    read = Reader(vision)
    width = read.number("hidden_size", "embed_dim", "width", default=0, least=0)
    depth = read.number("num_hidden_layers", "depth", "layers", default=0, least=0)
    if not width or not depth:
        return 0
    ffn = read.number("intermediate_size", "mlp_dim", default=0, least=0) or 4 * width
    gated = vision.get("model_type") in ("pixtral", "qwen2_5_vl")
    layer = 4 * width * width + (3 if gated else 2) * width * ffn + 9 * width + ffn
    patch = read.number("patch_size", default=14)
    positions = (read.number("image_size", default=0, least=0) // patch) ** 2
    if vision.get("model_type") in ("pixtral", "qwen2_vl", "qwen2_5_vl", "qwen3_vl"):  # rotary positions
        positions = 0
    tower = depth * layer + (3 * patch * patch + positions + 4) * width
    merged = read.number("spatial_merge_size", default=1) ** 2 * width
    projector = merged * hidden + hidden * hidden
    if vision.get("model_type") in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl"):
        projector = merged * merged + merged * hidden
    return tower + projector
