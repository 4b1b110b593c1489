"""Architectures read from config.json: exact parameter counts, module names, refusals."""

import json
from pathlib import Path

import pytest

from ajuste import estimate, load_catalog
from ajuste.architecture import parameters, read_architecture
from ajuste.errors import RequestError
from ajuste.families import FAMILIES

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "vocab_size": 129280,
}


def count(config: dict) -> int:
    return parameters(read_architecture(config))


def test_gpt2_is_exact():
    """Embedding 50,257 × 768, positions 1024 × 768, tied head; 12 × (12 × 768² + 13 × 768); final norm 2 × 768."""
    assert count(GPT2) == 50_257 * 768 + 1024 * 768 + 12 * (12 * 768**2 + 13 * 768) + 2 * 768 == 124_439_808


def test_deepseek_v3_is_exact():
    """671,026,419,200 published without the multi-token-prediction module; 3 dense layers, 58 sparse ones."""
    architecture = read_architecture(DEEPSEEK_V3)
    assert [(y.count, bool(y.experts)) for y in architecture.layers] == [(3, False), (58, True)]
    # latent attention: 7168·1536 + 1536·128·192 + 7168·576 + 512·128·256 + 128·128·7168, and norms 1536 + 512
    assert architecture.layers[0].linear_weights == 187_105_280 + 3 * 7168 * 18432
    assert parameters(architecture) == pytest.approx(671_026_419_200, rel=1e-6)


def test_tied_embeddings_count_once():
    assert count(LLAMA) - count(LLAMA | {"tie_word_embeddings": True}) == 128_256 * 4096


def test_head_size_and_biases_come_from_the_config():
    wide = read_architecture(LLAMA | {"head_dim": 256, "attention_bias": True})
    linears = {m.name: (m.inputs, m.outputs, m.bias) for m in wide.layers[0].linears}
    assert linears["q_proj"] == (4096, 8192, True)
    assert linears["k_proj"] == (4096, 2048, True)
    assert linears["o_proj"] == (8192, 4096, True)
    assert linears["down_proj"] == (14336, 4096, False)


def test_mixed_layers_are_kinds_with_counts():
    config = LLAMA | {"model_type": "gemma3_text", "sliding_window": 1024, "sliding_window_pattern": 6}
    kinds = read_architecture(config).layers
    assert {(y.mixer, y.count, y.window) for y in kinds} == {("sliding", 27, 1024), ("full", 5, 0)}


def test_experts_are_all_resident():
    """8 experts of 3 × 4096 × 14336, and a router of 8 × 4096."""
    config = LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    layer = read_architecture(config).layers[0]
    assert layer.expert_weights == 8 * 3 * 4096 * 14336
    assert layer.router == 8 * 4096
    assert layer.ffn == 0


def test_a_multimodal_config_counts_text_and_tower():
    vision = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "image_size": 896}
    wrapped = {"model_type": "gemma3", "text_config": LLAMA | {"model_type": "gemma3_text"}, "vision_config": vision}
    architecture = read_architecture(wrapped)
    assert architecture.family == "gemma3_text"
    assert architecture.vision == pytest.approx(417e6, rel=0.06)  # SigLIP so400m, published as 0.4 B


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_reads_a_small_config(family):
    config = LLAMA | {
        "model_type": family,
        "num_hidden_layers": 4,
        "max_position_embeddings": 128,
        "num_experts": 4,
        "moe_intermediate_size": 64,
    }
    architecture = read_architecture(config)
    assert architecture.parameters == sum(y.count * y.parameters for y in architecture.layers) + (
        architecture.embedding * (1 if architecture.tied else 2) + architecture.outside
    )


def test_unknown_architecture_names_the_nearest():
    with pytest.raises(RequestError) as refused:
        read_architecture(LLAMA | {"model_type": "qwen3_moeish"})
    assert refused.value.code == "unknown-architecture"
    assert "qwen3_moe" in refused.value.suggestions


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"hidden_size": None}, "model.hidden_size"),
        ({"hidden_size": 4096.5}, "model.hidden_size"),
        ({"hidden_size": "4096"}, "model.hidden_size"),
        ({"hidden_size": float("nan")}, "model.hidden_size"),
        ({"hidden_size": -1}, "model.hidden_size"),
        ({"num_hidden_layers": 10**9}, "model.num_hidden_layers"),
        ({"num_key_value_heads": 7}, "model.num_key_value_heads"),
        ({"tie_word_embeddings": "yes"}, "model.tie_word_embeddings"),
        ({"vocab_size": 10**30}, "model.vocab_size"),
    ],
)
def test_a_broken_config_names_the_field(change, field):
    with pytest.raises(RequestError) as refused:
        read_architecture(LLAMA | change)
    assert refused.value.code == "bad-config"
    assert refused.value.field == field


# --------------------------------------------------------------------------------------- an unknown architecture

NEW = LLAMA | {"model_type": "llama9"}


def test_an_unknown_architecture_is_refused_with_the_nearest_known():
    answer = estimate({"model": NEW, "method": "qlora"}, load_catalog("{}"))
    assert answer["error"]["code"] == "unknown-architecture"
    assert "llama9" in answer["error"]["message"]["en"]
    assert "llama" in answer["error"]["suggestions"]


def test_an_unknown_architecture_may_be_assumed_with_a_wide_range_that_says_so():
    catalog = load_catalog("{}")
    assumed = estimate({"model": NEW, "method": "qlora", "assume_family": "llama"}, catalog)
    known = estimate({"model": NEW | {"model_type": "llama"}, "method": "qlora"}, catalog)
    mine, theirs = (answer["memory"]["required_gib"] for answer in (assumed, known))
    assert mine["mid"] == theirs["mid"]
    assert mine["low"] < 0.8 * mine["mid"] < 1.3 * mine["mid"] < mine["high"]
    assert theirs["low"] > 0.9 * theirs["mid"]
    told = next(piece for piece in assumed["advice"] if piece["id"] == "assumed-family")
    assert told["severity"] == "serious"
    assert told["values"] == {"family": "llama"}


@pytest.mark.parametrize(
    ("model", "family", "code"),
    [
        ("llama9", "lama", "unknown-architecture"),
        ("llama", "mistral", "inconsistent"),
        ("llama", "lama", "inconsistent"),
    ],
)
def test_an_assumption_that_makes_no_sense_is_refused(model: str, family: str, code: str):
    request = {"model": NEW | {"model_type": model}, "method": "lora", "assume_family": family}
    error = estimate(request, load_catalog("{}"))["error"]
    assert (error["code"], error["field"]) == (code, "assume_family")


@pytest.mark.parametrize(
    ("model", "gb"), [("deepseek-v3", 688.6), ("gpt-oss-20b", 13.76), ("gpt-oss-120b", 65.25), ("glm-4.5-air", 220.9)]
)
def test_a_repository_in_fp8_or_mxfp4_downloads_as_such(model: str, gb: float):
    """What their indexes total: fp8 1 byte and a scale for 128 × 128, mxfp4 0.53 on experts; predictors too."""
    text = (Path(__file__).parents[2] / f"data/models/{model}.json").read_text(encoding="utf-8")
    assert read_architecture(json.loads(text)["config"]).stored_bytes / 1e9 == pytest.approx(gb, rel=0.003)
