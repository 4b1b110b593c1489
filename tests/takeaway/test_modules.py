"""Files name the modules that the model has: not Llama's where the model's are others."""

import json
import re
from pathlib import Path

import pytest
import yaml

from ajuste import estimate, load_catalog
from ajuste.architecture import read_architecture
from ajuste.catalog import Catalog
from ajuste.families import FAMILIES
from ajuste.launch import run_files
from ajuste.peft import TARGETS, targeted
from ajuste.resolve import resolve
from ajuste.tool_modules import ATTENTION, EMBEDDINGS, LLAMA_EMBEDDINGS, module_names, with_own_names

KEYS = {
    "trl": ("lora_target_modules", "lora_modules_to_save"),
    "axolotl": ("lora_target_modules", "lora_modules_to_save"),
    "llama-factory": ("lora_target", "additional_target"),
}
# Attention's projections, then embedding and head: print(model) of each.
NAMES = {
    "llama-3.1-8b": ("q_proj k_proj v_proj o_proj", "embed_tokens lm_head"),
    "phi-3-mini": ("qkv_proj o_proj", "embed_tokens lm_head"),
    "phi-2": ("q_proj k_proj v_proj dense", "embed_tokens lm_head"),
    "falcon-7b": ("query_key_value dense", "word_embeddings lm_head"),
    "pythia-1.4b": ("query_key_value dense", "embed_in lm_head"),
    "gpt2-xl": ("c_attn attn.c_proj", "wte lm_head"),  # c_proj alone is the feed-forward's too
    "mpt-7b": ("Wqkv out_proj", "wte lm_head"),
    "baichuan2-7b": ("W_pack o_proj", "embed_tokens lm_head"),
    "internlm2.5-7b": ("wqkv wo", "tok_embeddings output"),
    "deepseek-v2-lite": ("q_proj kv_a_proj_with_mqa kv_b_proj o_proj", "embed_tokens lm_head"),
    "deepseek-v3": ("q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj o_proj", "embed_tokens lm_head"),
}


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Catalog:
    return load_catalog(catalog_text)


@pytest.mark.parametrize("tool", KEYS)
@pytest.mark.parametrize("model", [name for name in NAMES if name != "deepseek-v3"])
def test_a_file_names_the_models_own_modules(tool: str, model: str, catalog: Catalog):
    request = {"model": model, "method": "lora", "framework": tool, "train_embeddings": True, "sequence_length": 512}
    answer = estimate({**request, "lora": {"targets": "attention"}}, catalog)
    made = run_files(answer, catalog, tool)
    config = yaml.safe_load(next(file["text"] for file in made["files"] if file["name"] == "train.yaml"))
    for key, expected in zip(KEYS[tool], NAMES[model], strict=True):
        said = config[key]
        assert (said.split(",") if isinstance(said, str) else said) == expected.split()
    assert {row["field"] for row in made["refused"]} <= {"global_batch"}, "read back, it is the same job"


def test_the_smoke_test_gets_names(catalog: Catalog):
    answer = estimate({"model": "pythia-1.4b", "method": "lora", "lora": {"targets": "attention"}}, catalog)
    (file, *_) = run_files(answer, catalog, "smoke")["files"]
    assert json.loads(file["text"])["lora_targets"] == ["query_key_value", "dense"]


@pytest.mark.parametrize("word", TARGETS)
def test_names_train_what_the_word_counts(word: str, catalog: Catalog):
    """Every model of the catalog: the same modules, by the word and by the names in the file."""
    for model, row in catalog.models.items():
        arch = read_architecture(row["config"])
        plan, _ = resolve({"model": model, "method": "lora", "lora": {"targets": word}}, catalog)
        named = with_own_names(plan, catalog)
        for layer in arch.layers:
            assert targeted(layer, named) == targeted(layer, plan), model
        if model in NAMES and word == "attention":
            assert module_names(word, arch) == NAMES[model][0].split()


def source_of(frameworks: Path, family: str) -> str | None:
    """The modelling file of a family in transformers; none where it lies in the model's own repository."""
    for name in (family, family.removesuffix("_text")):
        file = frameworks / "transformers" / "models" / name / f"modeling_{name}.py"
        if file.exists():
            return file.read_text(encoding="utf-8")
    return None


@pytest.mark.slow
def test_names_are_those_of_the_models_code(frameworks: Path, catalog: Catalog):
    looked_up = set()
    for model, row in catalog.models.items():
        arch = read_architecture(row["config"])
        text = source_of(frameworks, arch.family)
        if text is None:
            continue
        looked_up.add(arch.family)
        embedding, head = EMBEDDINGS.get(arch.family, LLAMA_EMBEDDINGS)
        for name in (*module_names("attention", arch), embedding):
            assert re.search(rf"self\.{name.split('.')[-1]} = ", text), (model, name)
        assert re.search(rf"self\.{head} = nn\.Linear\(", text), (model, head)
    assert len(looked_up) > 30, "most families' code is in transformers"
    for family in ("gpt2", "gpt_bigcode"):  # whose two projections share a name
        assert FAMILIES[family].names["o"] == FAMILIES[family].names["down"]
        assert re.search(rf"self\.{ATTENTION} = \w+Attention\(", source_of(frameworks, family) or "")
