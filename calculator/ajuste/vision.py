"""The vision tower of a multimodal model and its projector: parameters, and what training it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .config import Reader
from .records import NamedTuple

if TYPE_CHECKING:
    from .case import Case

ROTARY = ("pixtral", "qwen2_vl", "qwen2_5_vl")  # towers without a table of positions
MERGING = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")  # whose projector is a merger of two linears
GATED = ("pixtral", "qwen2_5_vl", "gemma4_vision")


class Tower(NamedTuple):
    """What the formulas need of a vision tower."""

    parameters: int  # projector included
    width: int
    depth: int
    ffn: int
    gated: bool
    patches: int  # of one image where the config fixes its size, else 0
    merge: int  # patches that become one token of the language model, where it does not


NO_TOWER = Tower(0, 0, 0, 0, False, 0, 1)


def read_tower(config: dict[str, Any], hidden: int) -> Tower:
    """Tower and projector; `NO_TOWER` where the config has no vision part.

    Unit: parameters. Formula: a vision transformer's layers 4v² + 2 or 3 v·m + biases and norms, patch embedding,
    positions, and a projector into the language model's hidden size; Qwen3-VL has one merger more for each of its
    deepstack layers. Towers differ in details that are small beside their layers: within about 5 % of the published
    counts.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, dict) or not vision:
        return NO_TOWER
    # InternVL states sides of images and patches as (height, width).
    sides = {name: vision[name][0] for name in ("patch_size", "image_size") if _is_pair(vision.get(name))}
    read, kind = Reader(vision | sides), vision.get("model_type")
    # Qwen2-VL calls the language model's width hidden_size.
    width = read.number("embed_dim", "hidden_size", "width", default=0, least=0)
    depth = read.number("num_hidden_layers", "depth", "layers", default=0, least=0)
    if not width or not depth:
        return NO_TOWER
    ffn = read.number("intermediate_size", "mlp_dim", default=0, least=0) or 4 * width
    layer = 4 * width * width + (3 if kind in GATED else 2) * width * ffn + 9 * width + ffn
    patch = read.number("patch_size", default=14)
    patches = (read.number("image_size", default=0, least=0) // patch) ** 2
    positions = read.number("num_position_embeddings", default=0 if kind in ROTARY else patches, least=0)
    positions += 2 * read.number("position_embedding_size", default=0, least=0)  # of rows and of columns
    tower = depth * layer + (3 * patch * patch + positions + 4) * width
    side = read.number("spatial_merge_size", "pooling_kernel_size", default=1)
    return Tower(
        tower + projector_parameters(vision, side * side * width, hidden),
        width,
        depth,
        ffn,
        kind in GATED,
        patches,
        side * side,
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2


def projector_parameters(vision: dict[str, Any], merged: int, hidden: int) -> int:
    """From merged patches to the language model.

    Unit: parameters. Formula: p² + p·h per merger, else p·h + h²; Gemma 4 pools the patches: v·h.
    """
    if "pooling_kernel_size" in vision:
        side = Reader(vision).number("pooling_kernel_size")
        return merged // (side * side) * hidden
    if vision.get("model_type") not in MERGING:
        return merged * hidden + hidden * hidden
    deepstack = vision.get("deepstack_visual_indexes")
    mergers = 1 + (len(deepstack) if isinstance(deepstack, list) else 0)
    return mergers * (merged * merged + merged * hidden)


def tower_activations(c: Case) -> float:
    """What a trained tower waits with from the images' pass until its own backward, after the language model's.

    Unit: bytes. Formula: patches of the micro-batch × layers × e (8v + 4m, gated 5m): norms' inputs and outputs,
    queries, keys, values, output, and the feed-forward's; checkpointed e·v per layer + one layer in full. A frozen
    tower keeps none.
    """
    tower, data = c.arch.tower, c.plan.dataset
    if c.plan.vision != "trained" or not tower.depth or not data.images_per_example:
        return 0.0
    patches = c.rows * data.images_per_example * (tower.patches or data.image_tokens * tower.merge)
    e = c.attention_bytes
    layer = e * (8 * tower.width + (5 if tower.gated else 4) * tower.ffn)
    if c.checkpointed:
        return patches * (e * tower.width * tower.depth + layer)
    return patches * layer * tower.depth
