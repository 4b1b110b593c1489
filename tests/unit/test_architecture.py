"""Architectures read from config.json: exact parameter counts, module names, refusals."""

import json
from pathlib import Path

import pytest

from ajuste import estimate, load_catalog
from ajuste.architecture import parameters, read_architecture
from ajuste.errors import RequestError
from ajuste.families import FAMILIES
from ajuste.peft import targets_head
from ajuste.resolve import resolve

from .conftest import LLAMA_8B

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
    assert count(LLAMA_8B) - count(LLAMA_8B | {"tie_word_embeddings": True}) == 128_256 * 4096


def test_head_size_and_biases_come_from_the_config():
    wide = read_architecture(LLAMA_8B | {"head_dim": 256, "attention_bias": True})
    linears = {m.name: (m.inputs, m.outputs, m.bias) for m in wide.layers[0].linears}
    assert linears["q_proj"] == (4096, 8192, True)
    assert linears["k_proj"] == (4096, 2048, True)
    assert linears["o_proj"] == (8192, 4096, True)
    assert linears["down_proj"] == (14336, 4096, False)


def test_mixed_layers_are_kinds_with_counts():
    config = LLAMA_8B | {"model_type": "gemma3_text", "sliding_window": 1024, "sliding_window_pattern": 6}
    kinds = read_architecture(config).layers
    assert {(y.mixer, y.count, y.window) for y in kinds} == {("sliding", 27, 1024), ("full", 5, 0)}


def test_experts_are_all_resident():
    """8 experts of 3 × 4096 × 14336, and a router of 8 × 4096."""
    config = LLAMA_8B | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    layer = read_architecture(config).layers[0]
    assert layer.expert_weights == 8 * 3 * 4096 * 14336
    assert layer.router == 8 * 4096
    assert layer.ffn == 0


def test_a_multimodal_config_counts_text_and_tower():
    vision = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "image_size": 896}
    wrapped = {"model_type": "gemma3", "text_config": LLAMA_8B | {"model_type": "gemma3_text"}, "vision_config": vision}
    architecture = read_architecture(wrapped)
    assert architecture.family == "gemma3_text"
    assert architecture.vision == pytest.approx(417e6, rel=0.06)  # SigLIP so400m, published as 0.4 B


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_reads_a_small_config(family):
    config = LLAMA_8B | {
        "model_type": family,
        "num_hidden_layers": 4,
        "max_position_embeddings": 128,
        "num_experts": 4,
        "moe_intermediate_size": 64,
        "mamba_n_heads": 8,
        "hybrid_override_pattern": "M*-E",
    }
    architecture = read_architecture(config)
    assert architecture.parameters == sum(y.count * y.parameters for y in architecture.layers) + (
        architecture.embedding * (1 if architecture.tied else 2) + architecture.outside
    )


def test_unknown_architecture_names_the_nearest():
    with pytest.raises(RequestError) as refused:
        read_architecture(LLAMA_8B | {"model_type": "qwen3_moeish"})
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
        read_architecture(LLAMA_8B | change)
    assert refused.value.code == "bad-config"
    assert refused.value.field == field


# --------------------------------------------------------------------------------------- an unknown architecture

NEW = LLAMA_8B | {"model_type": "llama9"}


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


# Hybrids and per-layer shapes: parameters as transformers 5.24 counts them, of configs with the published shapes.
HYBRIDS = {
    "Nemotron 3 Nano": (
        31_577_937_344,
        {"model_type": "nemotron_h", "hidden_size": 2688, "intermediate_size": 1856, "moe_intermediate_size": 1856}
        | {"moe_shared_expert_intermediate_size": 3712, "num_hidden_layers": 52, "num_attention_heads": 32}
        | {"num_key_value_heads": 2, "head_dim": 128, "vocab_size": 131072, "n_routed_experts": 128}
        | {"hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "mamba_num_heads": 64}
        | {"mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "n_shared_experts": 1},
    ),
    "Falcon-H1 7B": (
        7_585_519_712,
        {"model_type": "falcon_h1", "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 44}
        | {"num_attention_heads": 12, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 130049}
        | {"mamba_n_heads": 24, "mamba_d_head": 128, "mamba_d_ssm": 3072, "mamba_d_state": 256, "mamba_d_conv": 4},
    ),
    "LFM2 1.2B": (
        1_170_340_608,
        {"model_type": "lfm2", "hidden_size": 2048, "intermediate_size": 12288, "num_hidden_layers": 16}
        | {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536, "conv_L_cache": 3}
        | {"block_auto_adjust_ff_dim": True, "block_multiple_of": 256, "full_attn_idxs": [2, 5, 8, 10, 12, 14]},
    ),
    "LFM2 8B-A1B": (
        8_339_929_856,
        {"model_type": "lfm2_moe", "hidden_size": 2048, "intermediate_size": 7168, "moe_intermediate_size": 1792}
        | {"num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536}
        | {"num_experts": 32, "num_experts_per_tok": 4, "num_dense_layers": 2, "conv_L_cache": 3}
        | {"layer_types": ["full_attention" if i in (2, 6, 10, 14, 18, 21) else "conv" for i in range(24)]},
    ),
    "Bamba 9B": (
        9_808_584_064,
        {"model_type": "bamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32}
        | {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128000, "mamba_n_heads": 128}
        | {"mamba_d_head": 64, "mamba_d_state": 256, "mamba_d_conv": 4, "attn_layer_indices": [9, 18, 27]},
    ),
    "Gemma 4 26B-A4B": (
        25_233_141_760,
        {"model_type": "gemma4_text", "hidden_size": 2816, "intermediate_size": 2112, "moe_intermediate_size": 704}
        | {"num_hidden_layers": 30, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256}
        | {"global_head_dim": 512, "num_global_key_value_heads": 2, "attention_k_eq_v": True, "vocab_size": 262144}
        | {"num_experts": 128, "top_k_experts": 8, "enable_moe_block": True, "tie_word_embeddings": True}
        | {"layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5, "sliding_window": 1024},
    ),
    "Gemma 4, an embedding for each layer": (
        4_621_490_944,
        {"model_type": "gemma4_text", "hidden_size": 1536, "intermediate_size": 6144, "num_hidden_layers": 35}
        | {"num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, "global_head_dim": 512}
        | {"vocab_size": 262144, "vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256}
        | {"num_kv_shared_layers": 20, "use_double_wide_mlp": True, "tie_word_embeddings": True}
        | {"layer_types": [*((["sliding_attention"] * 5 + ["full_attention"]) * 6)[:34], "full_attention"]},
    ),
    "DeepSeek V3.2": (
        671_877_944_064,  # 14,848 biases of the router more, which transformers counts as buffers
        {k: v for k, v in DEEPSEEK_V3.items() if k != "model_type"}
        | {"model_type": "deepseek_v32", "index_n_heads": 64, "index_head_dim": 128}
        | {"layer_types": ["indexed_attention"] * 61, "mlp_layer_types": ["dense"] * 3 + ["sparse"] * 58},
    ),
}


@pytest.mark.parametrize("name", HYBRIDS)
def test_hybrids_and_layers_of_their_own_shape(name: str):
    expected, config = HYBRIDS[name]
    assert parameters(read_architecture(config)) == expected


@pytest.mark.parametrize("name", HYBRIDS)
@pytest.mark.parametrize("method", ["full", "lora", "qlora", "dora", "ia3", "prefix", "adapter", "ln-tuning", "galore"])
def test_hybrids_are_answered(name: str, method: str):
    request = {"model": HYBRIDS[name][1], "method": method, "micro_batch": 1, "sequence_length": 512}
    answer = estimate(request, load_catalog("{}"))
    assert answer["ok"], answer
    assert answer["memory"]["allocated_gib"]["mid"] * 2**30 > 0.4 * HYBRIDS[name][0]


@pytest.mark.parametrize(
    ("field", "value"),
    [("hybrid_override_pattern", "MEX"), ("layers_block_type", [["mamba"]] * 52), ("layers_block_type", ["mamba"])],
)
def test_a_nemotron_whose_blocks_are_not_told_is_refused(field: str, value: object):
    config = HYBRIDS["Nemotron 3 Nano"][1] | {"hybrid_override_pattern": None, field: value}
    with pytest.raises(RequestError) as caught:
        read_architecture(config)
    assert (caught.value.code, caught.value.field) == ("bad-config", f"model.{field}")


def test_towers_state_their_sides_as_pairs_and_widths_by_other_names():
    """InternVL's patches are (height, width); Qwen2-VL's hidden_size is the language model's."""
    text = LLAMA_8B | {"model_type": "qwen2"}
    pair = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096, "image_size": [448, 448]}
    intern = read_architecture(
        {"model_type": "internvl", "text_config": text} | {"vision_config": pair | {"patch_size": [14, 14]}}
    )
    assert intern.tower.patches == 1024
    vision = {"model_type": "qwen2_vl", "depth": 32, "embed_dim": 1280, "hidden_size": 3584, "spatial_merge_size": 2}
    assert (
        read_architecture({"model_type": "qwen2_vl", "text_config": text, "vision_config": vision}).tower.width == 1280
    )


SMALL = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8} | {
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "moe_intermediate_size": 128,
    "head_dim": 32,
}
DENSE_FIRST = {"n_routed_experts": 8, "first_k_dense_replace": 1, "n_shared_experts": 1}


@pytest.mark.parametrize(
    ("family", "change", "targets", "trainable"),
    [
        ("mixtral", {"num_local_experts": 8, "moe_intermediate_size": None}, "all-linear", 229_440),
        (
            "mixtral",
            {"num_local_experts": 8, "moe_intermediate_size": None},
            ["q_proj", "v_proj", "w1", "w2", "w3"],
            220_160,
        ),
        ("mixtral", {"num_local_experts": 8}, ["q_proj", "v_proj", "gate_proj", "up_proj", "down_proj"], 7_168),
        ("qwen3_moe", {"num_experts": 8}, "all-linear", 106_560),
        ("qwen3_moe", {"num_experts": 8}, ["q_proj", "v_proj", "gate_proj", "up_proj", "down_proj"], 97_280),
        ("qwen2_moe", {"num_experts": 8, "shared_expert_intermediate_size": 128}, "all-linear", 25_608),
        ("glm4_moe", DENSE_FIRST, "all-linear", 60_448),  # dense and shared feed-forwards lose their adapters
        ("granitemoe", {"num_local_experts": 8}, "all-linear", 14_336),
        ("gpt_oss", {"num_local_experts": 8}, "all-linear", 14_336),
    ],
)
def test_adapters_of_fused_experts_are_those_that_peft_makes(
    family: str, change: dict, targets: object, trainable: int
):
    """Rank 4, counted on models that PEFT 0.21.2 prepared under transformers 5.24."""
    model = {k: v for k, v in (SMALL | change | {"model_type": family}).items() if v is not None}
    request = {"model": model, "method": "lora", "lora": {"rank": 4, "targets": targets}, "transformers": "5.24"}
    assert estimate(request, load_catalog("{}"))["model"]["trainable_parameters"] == trainable


PACKED_8B = 6_979_321_856  # weights of LLAMA_8B's linears
UNPACKED_8B = 8_030_261_248 - PACKED_8B


@pytest.mark.parametrize(
    ("quantization", "each"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 0.5 + (1 + 4 / 256) / 64),
        ({"quant_method": "awq", "bits": 4}, 0.5 + 2.5 / 128),
        ({"quant_method": "gptq", "bits": 8}, 2 * (0.5 + 2.5 / 128)),
        ({"quant_method": "of tomorrow"}, 2),
        ({"quant_method": ["fp8"]}, 2),
        ("fp8", 2),
    ],
)
def test_a_quantised_repository_is_smaller_to_download(quantization: object, each: float):
    stored = read_architecture(LLAMA_8B | {"quantization_config": quantization}).stored_bytes
    assert stored == pytest.approx(each * PACKED_8B + 2 * UNPACKED_8B, rel=1e-9)


def test_a_repository_whose_attention_is_spared_packs_its_experts_only():
    """Kimi K2.5: 60 layers × 384 experts × 3 × 7168 × 2048 in 4 bits and a scale for each 32, 594 GB in all."""
    text = DEEPSEEK_V3 | {"n_routed_experts": 384, "num_attention_heads": 64, "num_key_value_heads": 64}
    text |= {"vocab_size": 163840, "first_k_dense_replace": 1, "model_type": "kimi_k2", "num_nextn_predict_layers": 0}
    spared = {"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"]}
    assert read_architecture(text | {"quantization_config": spared}).stored_bytes / 1e9 == pytest.approx(594, rel=0.005)


SEVEN = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@pytest.mark.parametrize(
    ("method", "targets", "trainable"),
    [
        ("lora", SEVEN, 65_536),
        ("dora", SEVEN, 69_632),
        ("adalora", SEVEN, 65_648),
        ("vera", ["q_proj", "o_proj"], 1_056),
        ("ia3", ["k_proj", "v_proj", "down_proj"], 1_536),
        ("prefix", SEVEN, 4_096),
        ("prompt", SEVEN, 2_048),
        ("p-tuning", SEVEN, 199_424),
        ("ln-tuning", SEVEN, 1_280),
        ("llama-adapter", SEVEN, 4_098),
    ],
)
def test_trained_parameters_are_those_that_peft_makes(method: str, targets: list[str], trainable: int):
    """Rank 8 or 8 virtual tokens on a small Llama, counted on models that PEFT 0.21.2 prepared."""
    model = {k: v for k, v in SMALL.items() if k != "moe_intermediate_size"} | {"model_type": "llama"}
    request = {"model": model, "method": method, "lora": {"rank": 8, "targets": targets}, "virtual_tokens": 8}
    assert estimate(request, load_catalog("{}"))["model"]["trainable_parameters"] == trainable


def test_a_block_of_experts_alone_carries_what_every_layer_does():
    config = HYBRIDS["Nemotron 3 Nano"][1] | {"n_shared_experts": 0}
    for method in ("prefix", "adapter", "llama-adapter", "lora"):
        assert estimate({"model": config, "method": method}, load_catalog("{}"))["ok"]


def test_gpt_neox_head_carries_an_adapter_by_its_name_in_transformers_5():
    """`lm_head` in transformers 5.24; it was `embed_out` before."""
    neox = {"model_type": "gpt_neox", "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 2}
    request = {"model": neox | {"num_attention_heads": 8, "vocab_size": 50304}, "method": "lora"}
    plan, arch = resolve(request | {"lora": {"targets": ["query_key_value", "lm_head"]}}, load_catalog("{}"))
    assert targets_head(arch, plan)
