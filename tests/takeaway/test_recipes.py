"""What a training file says beside the plan: its task's recipe, the model that was asked for, one run's figures."""

import ast
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from ajuste import estimate, load_catalog
from ajuste.catalog import Catalog, is_tuned
from ajuste.launch import run_files
from ajuste.tool_files import read_config

TOOLS = ("trl", "axolotl", "llama-factory")
EPOCHS = {"trl": "num_train_epochs", "axolotl": "num_epochs", "llama-factory": "num_train_epochs"}
BETA = {"trl": "beta", "axolotl": "rl_beta", "llama-factory": "pref_beta"}
MODEL = {"trl": "model_name_or_path", "axolotl": "base_model", "llama-factory": "model_name_or_path"}

# Ends of the learning rates that recipes use, by task: (full, adapters). Sources: data/presets.toml, recipe by recipe.
RATES = {
    "sft": ((5e-6, 2e-5), (1e-4, 2e-4)),
    "dpo": ((5e-7, 1e-6), (5e-6, 1e-5)),
    "kto": ((5e-7, 5e-6), (5e-7, 5e-6)),
    "orpo": ((1e-6, 8e-6), (5e-6, 8e-5)),
    "simpo": ((3e-7, 1e-6), (5e-6, 1e-5)),
    "reward": ((1e-5, 2e-5), (1e-4, 1e-3)),
    "grpo": ((3e-7, 1e-6), (1e-5, 5e-5)),
}
BETAS = {"dpo": 0.1, "kto": 0.1, "orpo": 0.1, "simpo": 2.0}
WITHOUT = {("trl", "orpo"), ("trl", "simpo"), ("llama-factory", "grpo")}  # no script, no stage


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Catalog:
    return load_catalog(catalog_text)


def files_of(request: dict, tool: str, catalog: Catalog, target: str | None = None, language: str = "en") -> dict:
    answer = estimate({"framework": tool, **request}, catalog)
    assert answer["ok"], answer
    made = run_files(answer, catalog, target or tool, language=language, model=request["model"])["files"]
    return {file["name"]: file["text"] for file in made}


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize(("tool", "task"), [(tool, task) for tool in TOOLS for task in RATES])
def test_a_file_carries_the_recipe_of_its_task(tool: str, task: str, method: str, catalog: Catalog):
    if (tool, task) in WITHOUT:
        return
    text = files_of({"model": "qwen2.5-7b", "method": method, "task": task}, tool, catalog)["train.yaml"]
    config = yaml.safe_load(text)
    low, high = RATES[task][method != "full"]
    assert low <= config["learning_rate"] <= high
    assert f"{task} with {method}: {low:g} to {high:g}" in text
    assert config[EPOCHS[tool]] == (3 if task == "sft" else 1)
    assert config.get(BETA[tool]) == (config.get("beta") if task == "grpo" and tool == "trl" else BETAS.get(task))
    assert config.get("simpo_gamma") == (1.0 if task == "simpo" else None)


@pytest.mark.slow
def test_a_warm_up_below_one_is_a_share_of_the_steps(frameworks: Path):
    """transformers 5 has no warmup_ratio: its own function, run as it stands."""
    text = (frameworks / "transformers" / "training_args.py").read_text(encoding="utf-8")
    assert "warmup_ratio" not in {
        node.target.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    found = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == "get_warmup_steps"
    )
    space: dict = {"math": math}
    exec(ast.unparse(found), space)  # the pinned package's own lines
    assert space["get_warmup_steps"](SimpleNamespace(warmup_steps=0.03), 1000) == 30


# ------------------------------------------------------------------------------------------------- figures of one run


def limit_hours(script: str) -> float:
    return int(re.search(r"^limit=(\d+)$", script, re.MULTILINE)[1]) / 3600


@pytest.mark.parametrize("budget", [None, 400])
def test_of_several_experiments_the_file_starts_and_guards_one(budget: int | None, catalog: Catalog):
    job = {"idle_h_per_experiment": 1} | ({"budget_usd": budget} if budget else {})
    request = {"model": "llama-3.1-8b", "method": "qlora", "gpu": "a100-pcie-80gb", "framework": "trl"}
    one = estimate({**request, "job": {**job, "experiments": 1, "idle_h_per_experiment": 0}}, catalog)
    ten = estimate({**request, "job": {**job, "experiments": 10}}, catalog)
    index = ten["picks"]["cheapest"]
    asked = ten["offers"][index]
    alone = next(o for o in one["offers"] if all(o[k] == asked[k] for k in ("offer", "provider", "purchase", "region")))
    want = budget / asked["usd_per_hour"] / 10 if budget else alone["hours"]["high"] * 1.25
    for target in ("trl", "skypilot", "dstack", "docker"):
        made = {file["name"]: file["text"] for file in run_files(ten, catalog, target, offer=index)["files"]}
        assert limit_hours(made["run.sh"]) == pytest.approx(want, rel=1e-3)
        hours = f"{alone['hours']['low']:.1f}–{alone['hours']['high']:.1f} h"
        whole = f"One experiment of 10, each in its own folder; all of them: {asked['hours']['low']:.1f}–"
        assert all(hours in text and whole in text for text in made.values())
        if target == "dstack":
            minutes = int(yaml.safe_load(made["ajuste.dstack.yml"])["max_duration"].removesuffix("m"))
            assert minutes == pytest.approx(want * 60, rel=0.01)


def test_figures_are_of_what_the_file_runs(catalog: Catalog):
    """TRL's trainers keep their chunked loss, Liger or not: the header counts that one."""
    request = {"model": "llama-3.1-8b", "method": "lora", "kernels": "liger", "gpu": "a100-pcie-80gb", "micro_batch": 4}
    asked = files_of(request | {"loss": "fused"}, "trl", catalog)["train.yaml"]
    plain = files_of(request, "trl", catalog)["train.yaml"]
    assert "The figures are of what this file runs" in asked
    assert "loss = fused" in asked
    assert "The figures are of what this file runs" not in plain
    assert [line for line in asked.splitlines() if "GiB of" in line] == [
        line for line in plain.splitlines() if "GiB of" in line
    ]
    assert yaml.safe_load(asked) == yaml.safe_load(plain)


@pytest.mark.parametrize(("loss", "verdict"), [("in-place", "fits"), ("chunked", "no")])
def test_where_what_the_file_runs_does_not_fit_it_says_so(loss: str, verdict: str, catalog: Catalog):
    """LLaMA-Factory has neither of these losses: a micro-batch that one of them allows may be too much without it."""
    request = {"model": "gemma-2-2b", "method": "lora", "base_dtype": "bf16", "gpu": "rtx-4090-24gb"}
    request |= {"framework": "llama-factory", "global_batch": 64}
    answer = estimate(request | {"loss": loss}, catalog)
    offer = answer["offers"][answer["picks"]["cheapest"]]
    runs = estimate(request | {"loss": "default", "micro_batch": offer["micro_batch"]}, catalog)
    fits = next(row for row in runs["gpus"] if row["id"] == offer["gpu"] and row["count"] == offer["gpus"])
    assert fits["verdict"] == verdict
    text = run_files(answer, catalog, "llama-factory")["files"][0]["text"]
    assert "loss = " + loss in text
    assert ("as it runs it may not fit" in text) == (verdict == "no")
    assert ("figures are of what this file runs" in text) == (verdict != "no")
    memory = offer["required_gib"] if verdict == "no" else fits["required_gib"]
    assert f"{memory['low']:.1f}–{memory['high']:.1f} GiB" in text


@pytest.mark.parametrize("kernels", ["liger", "none"])
def test_trl_runs_ligers_layers_and_never_its_loss(kernels: str, catalog: Catalog):
    text = files_of({"model": "llama-3.1-8b", "method": "lora", "kernels": kernels}, "trl", catalog)["train.yaml"]
    config = yaml.safe_load(text)
    assert config.get("use_liger_kernel") == (True if kernels == "liger" else None)
    request = read_config(config, "trl")["request"]
    assert request["kernels"] == kernels
    assert "loss" not in request, "the trainer's own, whatever the kernels"
    assert "Not in this file: kernels" not in text


# ------------------------------------------------------------------------------------------------------- the model


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B-Instruct", "me/Llama-3.1-8B-sft", "meta-llama/Llama-3.1-8B"])
def test_the_repository_that_was_asked_for_stays(tool: str, name: str, catalog: Catalog):
    config = yaml.safe_load(files_of({"model": name, "method": "lora"}, tool, catalog)["train.yaml"])
    assert config[MODEL[tool]] == name
    by_id = yaml.safe_load(files_of({"model": "llama-3.1-8b", "method": "lora"}, tool, catalog)["train.yaml"])
    assert by_id[MODEL[tool]] == "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(("language", "words"), [("es", "plantilla de chat"), ("en", "chat template")])
def test_a_base_model_gets_a_chat_template_and_is_told_apart(language: str, words: str, catalog: Catalog):
    base, tuned = "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"
    for tool, key, template in (
        ("trl", "chat_template_path", tuned),
        ("axolotl", "chat_template", "tokenizer_default_fallback_llama3"),
        ("llama-factory", "template", "llama3"),
    ):
        text = files_of({"model": base, "method": "lora"}, tool, catalog, language=language)["train.yaml"]
        assert yaml.safe_load(text)[key] == template
        line = next(line for line in text.splitlines() if line.startswith(MODEL[tool]))
        assert words in line
        text = files_of({"model": tuned, "method": "lora"}, tool, catalog, language=language)["train.yaml"]
        assert "#" not in next(line for line in text.splitlines() if line.startswith(MODEL[tool]))
        assert "chat_template_path" not in text
    other = files_of({"model": "mistral-7b-v0.3", "method": "lora"}, "trl", catalog, language=language)["train.yaml"]
    assert "chat_template_path" in next(line for line in other.splitlines() if line.startswith("model_name"))
    raw = files_of({"model": base, "method": "lora", "task": "pretrain"}, "trl", catalog)["train.yaml"]
    assert "template" not in raw, "plain text has no turns"


def test_names_say_whether_weights_were_tuned():
    assert [is_tuned(name) for name in ("google/gemma-2-9b-it", "a/B_Chat", "x/Italian-7B", "chat/Llama-3.1-8B")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("tool", [*TOOLS, "torchtune"])
def test_a_gated_model_says_where_its_licence_is_accepted(tool: str, catalog: Catalog):
    for text in files_of({"model": "llama-3.1-8b", "method": "lora"}, tool, catalog).values():
        assert "https://huggingface.co/meta-llama/Llama-3.1-8B and export HF_TOKEN" in text
    for free in ("unsloth/Llama-3.1-8B", "/weights/Llama-3.1-8B", "qwen2.5-7b"):
        if tool != "torchtune" or free != "qwen2.5-7b":
            assert "HF_TOKEN" not in str(files_of({"model": free, "method": "lora"}, tool, catalog))


def test_the_global_batch_is_said_to_be_what_the_file_multiplies_to(catalog: Catalog):
    answer = estimate({"model": "qwen2.5-7b", "method": "lora", "framework": "trl", "global_batch": 32}, catalog)
    made = run_files(answer, catalog, "trl")
    reason = next(row["reason"] for row in made["refused"] if row["field"] == "global_batch")
    assert "micro-lote × acumulación × GPU" in reason["es"]
    config = yaml.safe_load(made["files"][0]["text"])
    gpus = answer["offers"][answer["picks"]["cheapest"]]["gpus"]
    assert config["per_device_train_batch_size"] * config["gradient_accumulation_steps"] * gpus == 32
