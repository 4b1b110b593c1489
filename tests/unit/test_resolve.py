"""Defaults, where they come from, and what follows from what."""

import json

import pytest

import ajuste
from ajuste.constants import PRESETS
from ajuste.contract import FRAMEWORKS, REQUEST, check_request
from ajuste.errors import RequestError
from ajuste.resolve import CONDITIONS, resolve

from .conftest import LLAMA_8B

EMPTY = ajuste.load_catalog("{}")


def plan(**request: object):
    return resolve({"model": LLAMA_8B, "method": "lora", **request}, EMPTY)[0]


def test_a_request_of_two_fields_is_enough():
    p = plan()
    assert (p.framework, p.sequence_length, p.dataset.mean_tokens, p.dataset.examples, p.dataset.epochs) == (
        "trl",
        2048,
        350,
        10_000,
        3,
    )
    assert p.micro_batch is None
    assert p.batch == 1


def test_every_field_is_asked_or_listed_as_filled():
    p = plan(lora={"rank": 8}, optimizer="sgd")
    names = {n for n, f in REQUEST.items() if not f.fields}
    names |= {f"{n}.{inner}" for n, f in REQUEST.items() for inner in f.fields or ()}
    assert set(p.defaults) == names - {"model", "method", "optimizer", "lora.rank"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_every_preset_makes_a_plan(framework: str, method: str):
    p = plan(framework=framework, method=method)
    assert (p.precision is None) == (method != "full")


def test_presets_hold_only_fields_of_the_contract():
    def check(table: dict, where: str) -> None:
        for name, value in table.items():
            if name in CONDITIONS and isinstance(value, dict):
                check(value, f"{where}.{name}")
            elif name == "before":
                for older in value:
                    check({k: v for k, v in older.items() if k not in ("version", "released")}, f"{where}.before")
            else:
                check_request({"model": "x", "method": "lora", name: value})

    check(PRESETS["general"], "general")
    for framework in FRAMEWORKS:
        check(PRESETS["framework"][framework], framework)


def test_qlora_implies_nested_nf4():
    p = plan(method="qlora")
    assert (p.quantization, p.defaults["quantization"]) == ("nf4-nested", "method")
    assert plan(method="qlora", quantization="nf4").quantization == "nf4"


def test_trl_loads_a_model_by_name_in_float32():
    assert plan().base_dtype == "fp32"
    assert plan(method="full").precision == "bf16-mixed"
    assert plan(method="qlora").base_dtype == "bf16"
    assert plan(method="qlora").lora.dtype == "bf16"


def test_an_older_release_has_older_defaults():
    now, before = plan(framework="trl"), plan(framework="trl", framework_version="0.19.1")
    assert (now.loss, before.loss) == ("tiled", "default")
    assert (now.optimizer, before.optimizer) == ("adamw", "adamw-foreach")
    assert plan(framework="trl", framework_version="1.6.2").loss == "default"
    assert plan(framework="trl", framework_version="1.7").loss == "chunked"
    assert plan(framework="trl", framework_version="1.14.2", task="dpo").loss == "default"
    assert plan(framework="trl", task="dpo").loss == plan(framework="trl", framework_version="1.15").loss == "tiled"
    assert plan(framework="trl", task="reward").loss == "default"


def test_a_release_may_be_a_date():
    assert plan(framework="trl", framework_version="2026-05-02").loss == "default"
    assert plan(framework="trl", framework_version="2026-10").loss == "chunked"
    assert plan(framework="trl", framework_version="2026-11").loss == "tiled"
    assert plan(framework="hf", framework_version="2024-06", method="full").precision == "fp32"
    assert plan(framework="unsloth", framework_version="2026.10.9").kernels == "unsloth"


def test_transformers_decides_shifted_logits_and_experts():
    assert plan(transformers="4.48").logits_shift_copy is True
    assert plan(transformers="4.49").logits_shift_copy is False
    assert plan(transformers="4.57.1").quantize_moe_experts is True
    assert plan(transformers="5.0.0.dev0").quantize_moe_experts is False
    assert plan(transformers="5.24", quantize_moe_experts=True).quantize_moe_experts is True


def test_precision_of_full_fine_tunes_settles_dtype_and_autocast():
    mixed, pure = plan(method="full", precision="fp16-mixed"), plan(method="full", precision="bf16")
    assert (mixed.base_dtype, mixed.autocast) == ("fp32", True)
    assert (pure.base_dtype, pure.autocast) == ("bf16", False)


@pytest.mark.parametrize(
    ("request_", "reference"),
    [
        ({"task": "dpo"}, "adapter-off"),
        ({"task": "dpo", "method": "full"}, "copy"),
        ({"task": "orpo"}, "none"),
        ({"task": "grpo"}, "none"),
        ({"task": "grpo", "rl": {"beta": 0.04}}, "adapter-off"),
        ({}, "none"),
    ],
)
def test_the_reference_model_follows_from_the_task(request_: dict, reference: str):
    assert plan(**request_).reference == reference


def test_several_gpus_without_a_strategy_are_data_parallel():
    p = plan(parallel={"gpus_per_node": 4})
    assert (p.parallel.strategy, p.parallel.data_ranks) == ("ddp", 4)
    # Tensor parallelism over all of them leaves nothing for data parallelism.
    assert plan(parallel={"tp": 4}).parallel.strategy == "none"
    assert plan(parallel={"tp": 4}).parallel.world == 4


def test_fsdp_is_read_as_fsdp2():
    assert plan(parallel={"strategy": "fsdp", "gpus_per_node": 2}).parallel.strategy == "fsdp2"


def test_ranks():
    # 16 GPUs, tensors over 2, sequences over 4: 2 ranks see different examples, 8 share the states.
    p = plan(parallel={"strategy": "zero3", "gpus_per_node": 8, "nodes": 2, "tp": 2, "sp": 4}).parallel
    assert (p.world, p.data_ranks, p.shards) == (16, 2, 8)


def test_accumulation_is_solved_for_a_global_batch():
    p = plan(micro_batch=4, global_batch=64, parallel={"strategy": "ddp", "gpus_per_node": 2})
    assert p.grad_accum == 8  # 64 / (4 × 2)
    # The nearest reachable: 10 with a micro-batch of 4 is 2 × 4 = 8 or 3 × 4 = 12; round(2.5) = 2.
    assert plan(micro_batch=4, global_batch=10).grad_accum == 2


def test_a_short_sequence_shortens_the_default_mean():
    assert plan(sequence_length=128).dataset.mean_tokens == 128


def test_models_are_found_by_any_of_their_names(catalog):
    for name in ("llama-3.1-8b", "meta-llama/Llama-3.1-8B", "LLAMA 3.1 8B"):
        assert resolve({"model": name, "method": "lora"}, catalog)[0].model == "llama-3.1-8b"


def test_both_languages_say_what_is_wrong():
    error = ajuste.estimate({"model": LLAMA_8B, "method": "lora", "precision": "bf16"}, EMPTY)["error"]
    assert error["code"] == "inconsistent"
    assert "base_dtype" in error["message"]["es"]
    assert "base_dtype" in error["message"]["en"]
    assert error["suggestions"] == ["base_dtype", "lora.dtype", "autocast"]


@pytest.mark.parametrize(
    ("targets", "suggested"),
    [
        (["zzz"], {"q_proj", "lm_head"}),
        ([], {"q_proj", "down_proj"}),
        (["q_porj"], {"q_proj"}),
        (["Q_PROJ"], {"q_proj"}),
    ],
)
def test_targets_that_match_no_module_are_refused(targets, suggested):
    with pytest.raises(RequestError) as caught:
        plan(method="lora", lora={"targets": targets})
    assert caught.value.as_dict()["code"] == "inconsistent"
    assert caught.value.field == "lora.targets"
    assert suggested <= set(caught.value.suggestions)


@pytest.mark.parametrize("targets", [["lm_head"], ["zzz", "v_proj"], ["gate_proj"]])
def test_one_module_is_enough(targets):
    assert plan(method="lora", lora={"targets": targets}).lora.targets == tuple(targets)


FALCON_H1 = (
    {"model_type": "falcon_h1", "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 44}
    | {"num_attention_heads": 12, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 130049}
    | {"mamba_n_heads": 24, "mamba_d_head": 128, "mamba_d_ssm": 3072, "mamba_d_state": 256, "mamba_d_conv": 4}
)


@pytest.mark.parametrize("targets", ["all-linear", ["q_proj", "out_proj"], ["mamba.out_proj"], ["lm_head", "out_proj"]])
def test_peft_refuses_the_output_of_some_mamba_mixers(targets: object):
    with pytest.raises(RequestError) as refused:
        plan(model=FALCON_H1, lora={"targets": targets})
    assert (refused.value.code, refused.value.field) == ("inconsistent", "lora.targets")
    assert "out_proj" in refused.value.message["es"]
    assert "in_proj" in refused.value.suggestions
    assert "out_proj" not in refused.value.suggestions


def test_by_default_that_output_carries_no_adapter():
    p = plan(model=FALCON_H1)
    assert p.defaults["lora.targets"] == "model"
    assert p.lora.targets == ("q_proj", "k_proj", "v_proj", "o_proj", "in_proj", "gate_proj", "up_proj", "down_proj")
    assert plan(model=FALCON_H1, lora={"targets": ["q_proj"]}).lora.targets == ("q_proj",)
    assert plan(model=FALCON_H1, method="ia3", lora={"targets": "all-linear"}).lora.targets == "all-linear"
    bamba = FALCON_H1 | {"model_type": "bamba", "attn_layer_indices": [0]}  # PEFT does not name it
    assert plan(model=bamba).lora.targets == "all-linear"


def test_peft_wants_both_halves_of_fused_experts():
    model = {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768}
    model |= {"num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128}
    model |= {"num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936}
    with pytest.raises(RequestError) as refused:
        plan(model=model, lora={"targets": ["q_proj", "gate_proj", "down_proj"]})
    assert refused.value.suggestions == ("up_proj",)
    for targets in (["gate_proj", "up_proj"], ["q_proj", "down_proj"]):
        assert plan(model=model, lora={"targets": targets}).lora.targets == tuple(targets)
    # Experts that are modules of their own carry them apart.
    assert plan(model=model, transformers="4.57", lora={"targets": ["gate_proj"]}).lora.targets == ("gate_proj",)


@pytest.mark.parametrize("release", ["4.48", "v5.0.dev0", "5", "4.57.1+cu128"])
def test_releases_as_packages_write_them(release: str):
    assert plan(transformers=release, framework_version=release).transformers == release


@pytest.mark.parametrize("day", ["2026-03", "2026-03-15"])
def test_a_framework_by_its_day(day: str):
    assert plan(framework_version=day).framework_version == day


@pytest.mark.parametrize(
    ("filters", "near"),
    [({"kinds": ["neo-cloud"]}, "neocloud"), ({"regions": ["germny"]}, "Germany"), ({"providers": ["vasst"]}, "vast")],
)
def test_a_filter_that_nothing_is_called_is_refused(filters: dict, near: str, real):
    error = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora", "filters": filters}, real)["error"]
    assert error["code"] == "unknown-value"
    assert near in error["suggestions"]


@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 5000])
def test_a_number_beyond_reading_is_too_large(number: str):
    text = f'{{"model": "llama-3.1-8b", "method": "qlora", "sequence_length": {number}}}'
    error = json.loads(ajuste.estimate_json(text, "{}"))["error"]
    assert (error["code"], error["field"]) == ("out-of-range", "sequence_length")
    assert "∞" in error["message"]["en"]
