"""A request, written as a tool's file, read back: the same plan; and what a file cannot say is named."""

import random

import pytest
import yaml

from ajuste import load_catalog
from ajuste.errors import RequestError
from ajuste.resolve import resolve
from ajuste.tool_files import nest, plan_fields, read_config, request_field, write_config
from ajuste.tool_rules import ANY, Linked, Rows
from ajuste.tool_tables import TABLES

MODELS = ("llama-3.1-8b", "qwen2.5-7b", "mixtral-8x7b", "gemma-2-9b")
SMALL = (1, 2, 3, 4, 8, 16)
# Where any number would do, one that means something to the estimator.
DRAWN = {
    "sequence_length": (512, 1024, 2048, 4096, 8192),
    "dataset.epochs": (1, 2, 3, 4.5),
    "lora.dropout": (0.0, 0.05, 0.1),
    "rl.engine_share": (0.2, 0.3, 0.5),
    "rl.beta": (0, 0.04),
    "lora.targets": (["q_proj", "up_proj"], ["k_proj", "o_proj"], ["down_proj"]),
    "eval.examples": (2, 100, 500),
}
ALWAYS = ("method", "precision", "base_dtype")  # left out, the file still says one: what the tool does


@pytest.fixture(scope="module")
def catalog(catalog_text: str):
    return load_catalog(catalog_text)


def draw(tool: str, chance: random.Random) -> dict:
    """A request of fields that the tool's table can write: a row of each rule that applies, a value of each key."""
    found = {"model": chance.choice(MODELS)}
    for rule in TABLES[tool]:
        if rule.older or not all(found.get(field) in values for field, values in rule.when):
            continue
        if isinstance(rule, Rows):
            rows = [
                fields
                for fields, _ in rule.rows
                if all(
                    value is ANY or found.get(field, value) == value
                    for field, value in zip(rule.fields, fields, strict=True)
                )
            ]
            if not rows or (rule.fields[0] not in found and rule.fields[0] not in ALWAYS and chance.random() < 0.3):
                continue
            fields = chance.choice(rows)
            found |= {field: value for field, value in zip(rule.fields, fields, strict=True) if value is not ANY}
        elif rule.field not in found and (rule.field == "micro_batch" or chance.random() < 0.6):
            found[rule.field] = one_of(rule.field, chance)
            if isinstance(rule, Linked) and rule.over:  # the GPUs of a job whose parts multiply
                for field in rule.over:
                    found[rule.field] *= found.get(field, 1)
    return nest({**found, "framework": tool})


def one_of(field: str, chance: random.Random) -> object:
    if field in DRAWN:
        return chance.choice(DRAWN[field])
    described = request_field(field)
    if "boolean" in described.types:
        return chance.random() < 0.5
    return chance.choice(SMALL)


@pytest.mark.parametrize(("tool", "count"), [("axolotl", 200), ("llama-factory", 200), ("trl", 60)])
def test_requests_come_back_as_they_went(tool: str, count: int, catalog):
    chance = random.Random(f"{tool} 2026")
    done, tried = 0, 0
    while done < count:
        tried += 1
        assert tried < 20_000, f"only {done} of the drawn requests make sense"
        request = draw(tool, chance)
        try:
            plan, _ = resolve(request, catalog)
        except RequestError:
            continue  # a combination that no framework runs
        written = write_config(plan, tool, catalog)
        text = yaml.safe_dump(written["config"])
        back, _ = resolve(read_config(yaml.safe_load(text), tool)["request"], catalog)
        ours, theirs = plan_fields(plan), plan_fields(back)
        different = {field: (ours[field], theirs[field]) for field in ours if ours[field] != theirs[field]}
        assert not different, f"{request}\n{text}"
        assert written["refused"] == []
        done += 1


def fields_of(tool: str) -> set[str]:
    rules = [rule for rule in TABLES[tool] if not rule.older]
    return {field for rule in rules for field in (rule.fields if isinstance(rule, Rows) else (rule.field,))}


def other_values(plan, field: str) -> list:
    """Values of a field that the plan does not have."""
    described = request_field(field)
    now = plan_fields(plan)[field]
    if described.choices:
        return [value for value in described.choices if value != now]
    if "boolean" in described.types:
        return [not now]
    if "array" in described.types:
        return [[[100, 5], [200, 1]]] if field == "dataset.length_histogram" else [["runpod"], ["spot"], ["eu"]]
    if "string" in described.types:
        return ["2026-01-01", "4.40", "a100-sxm-80gb"]
    return [value for value in (1, 2, 3, 0.5, 7, 64) if value != now]


@pytest.mark.parametrize("tool", ["axolotl", "llama-factory"])
def test_every_field_is_written_or_refused_by_name(tool: str, catalog):
    base = {"model": "llama-3.1-8b", "method": "lora", "framework": tool, "micro_batch": 2}
    plan, _ = resolve(base, catalog)
    assert write_config(plan, tool, catalog)["refused"] == []
    silent, changed = [], set()
    for field in plan_fields(plan):
        if field in ("model", "framework", "calibration.request", "as_of"):
            continue
        for value in other_values(plan, field):
            request = {**base, **nest({field: value})}
            try:
                asked = plan_fields(resolve(request, catalog)[0])
            except RequestError:
                continue
            if asked[field] == plan_fields(plan)[field]:
                continue
            changed.add(field)
            written = write_config(resolve(request, catalog)[0], tool, catalog)
            back = plan_fields(resolve({**read_config(written["config"], tool)["request"]}, catalog)[0])
            refused = {row["field"]: row for row in written["refused"]}
            if field != "framework_version" and back[field] != asked[field] and field not in refused:
                silent.append((field, value))
            for row in refused.values():
                assert row["reason"]["es"]
                assert row["reason"]["en"]
    assert silent == []
    assert len(changed) > 70, "nearly every field was tried"
    assert fields_of(tool) - {"model"} <= set(plan_fields(plan))


def test_a_refusal_says_who_decides(catalog):
    request = {
        "model": "llama-3.1-8b",
        "method": "lora",
        "framework": "axolotl",
        "micro_batch": 2,
        "outputs_alive": True,
        "dataset": {"examples": 77},
        "job": {"budget_usd": 9},
        "parallel": {"strategy": "ddp", "gpus_per_node": 4},
    }
    refused = write_config(resolve(request, catalog)[0], "axolotl", catalog)["refused"]
    assert {row["field"]: row["reason"]["en"] for row in refused} == {
        "outputs_alive": "axolotl has no option for this: it will run with false.",
        "dataset.examples": "Your data decide it, not this file.",
        "job.budget_usd": "It belongs to the offer and the budget, not to the training.",
        "parallel.gpus_per_node": "It is said when the job is launched, not in this file.",
        "parallel.strategy": "It is said when the job is launched, not in this file.",
    }


@pytest.mark.parametrize(
    ("lines", "kernels"),
    [
        ({"adapter": "qlora", "load_in_4bit": True}, "unsloth"),
        ({"adapter": "lora", "lora_dropout": 0.05}, "unsloth"),
        ({"adapter": "lora", "lora_mlp_kernel": True}, "unsloth"),
        ({"adapter": "lora", "lora_mlp_kernel": False}, "none"),
        ({"adapter": "lora", "lora_qkv_kernel": True}, "none"),  # one is said: the feed-forward's stays off
        ({"adapter": "lora", "load_in_8bit": True}, "none"),
        ({"adapter": "lora", "rl": "dpo"}, "none"),
        ({"adapter": "lora", "rl": "dpo", "lora_mlp_kernel": True}, "unsloth"),
        ({"adapter": "lora", "trust_remote_code": True}, "none"),
        ({"adapter": "lora", "liger_rms_norm": True, "liger_glu_activation": True}, "unsloth"),
        ({"adapter": "lora", "liger_rms_norm": True, "liger_glu_activation": True, "lora_mlp_kernel": False}, "liger"),
        ({"liger_rms_norm": True, "liger_glu_activation": True}, "liger"),
        ({}, "none"),
    ],
    ids=str,
)
def test_axolotls_kernels_are_read_as_it_turns_them_on(lines: dict, kernels: str, catalog_text: str):
    request = read_config({"base_model": "meta-llama/Llama-3.1-8B", **lines}, "axolotl")["request"]
    assert resolve(request, load_catalog(catalog_text))[0].kernels == kernels
