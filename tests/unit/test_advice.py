"""Levers and advice: what is said, and that the guide has a page for each."""

import json
from pathlib import Path

import pytest

import ajuste

from .conftest import LLAMA_8B

ROOT = Path(__file__).parents[2]
QLORA = {"model": "llama-3.1-8b", "method": "qlora"}


def ids(answer: dict) -> set[str]:
    assert answer["ok"], answer
    return {piece["id"] for piece in answer["advice"]}


def ask(catalog, **request: object) -> dict:
    return ajuste.estimate(QLORA | request, catalog)


# What an issue of the project lists, with a request that provokes it.
SITUATIONS = {
    "longest-first": {},
    "evaluation-peak": {"eval": {"examples": 1000, "batch": 64}, "framework": "hf"},
    "rank-is-not-the-lever": {"lora": {"rank": 256}},
    "dataset-size": {"dataset": {"examples": 1_000_000}},
    "fp32-base": {"method": "lora"},
    "merge-memory": {"save": {"merge": True}},
    "rows-truncated": {"sequence_length": 512, "dataset": {"max_tokens": 4000}},
    "full-needs-many": {"method": "full", "model": "llama-3.1-70b", "filters": {"max_gpus": 8}},
    "fits-nowhere": {"method": "full", "model": "llama-3.1-405b"},
    "no-bf16": {"gpu": "t4-16gb"},
    "no-fp8": {"gpu": "a100-sxm-80gb", "quantization": "fp8"},
    "no-flash-attention": {"gpu": "t4-16gb"},
    "ddp-does-not-pool": {"gpu": "a100-sxm-80gb", "parallel": {"gpus_per_node": 4}},
    "pcie-sharding": {"gpu": "rtx-4090-24gb", "parallel": {"gpus_per_node": 4, "strategy": "fsdp2"}},
    "padding-waste": {"micro_batch": 16},
    "stop-the-machine": {"dataset": {"examples": 200_000}},
    "no-autostop": {},
    "no-budget-alert": {},
    "experiments": {},
    "spot-is-cheaper": {},
    "storage-while-stopped": {"job": {"keep_storage_days": 30}},
    "provider-mismatch": {"filters": {"kinds": ["hyperscaler"]}},
    "old-price": {"filters": {"providers": ["openrelay"]}},
    "disk": {"method": "full"},
    "spot-without-checkpoints": {"job": {"checkpoint_minutes": 100_000}, "dataset": {"examples": 300_000}},
    "tight": {"gpu": "rtx-4090-24gb", "micro_batch": 16},
    "tight-unlikely": {"gpu": "rtx-4090-24gb", "micro_batch": 18},
}


@pytest.mark.parametrize("piece", SITUATIONS)
def test_each_situation_gets_its_advice(piece: str, real):
    assert piece in ids(ask(real, **SITUATIONS[piece]))


def test_the_machine_is_looked_at(bundle):
    weak = bundle | {"offers": [bundle["offers"][0] | {"vcpus": 2, "ram_gib": 2}]}
    catalog = ajuste.load_catalog(json.dumps(weak))
    assert {"loader-workers", "host-ram"} <= ids(ask(catalog))


def test_pages_exist_in_both_languages(real):
    seen = set()
    for request in SITUATIONS.values():
        seen |= {piece["page"] for piece in ask(real, **request)["advice"]}
    for page in seen:
        for language in ("es", "en"):
            folder = ROOT / "docs" / language
            assert (folder / f"{page.rstrip('/')}.md").exists() or (folder / page / "index.md").exists(), page


def test_serious_advice_comes_first(real):
    order = ["serious", "warning", "note"]
    severities = [order.index(p["severity"]) for p in ask(real, gpu="rtx-4090-24gb", micro_batch=16)["advice"]]
    assert severities == sorted(severities)


def test_levers_save_what_they_say(real):
    """Asking the changed request needs that much less."""
    request = {"model": LLAMA_8B, "method": "full", "framework": "hf", "micro_batch": 2, "gpu": "h100-sxm-80gb"}
    answer = ajuste.estimate(request, real)
    before = answer["memory"]["whole_run"]["required_gib"]["mid"]
    levers = {next(iter(lever["change"].items())): lever for lever in answer["levers"] if len(lever["change"]) == 1}
    for (name, value), lever in levers.items():
        if isinstance(value, dict) or name in ("method", "micro_batch"):
            continue
        changed = ajuste.estimate(request | {name: value}, real)
        assert changed["ok"], (name, value, changed)
        after = changed["memory"]["whole_run"]["required_gib"]["mid"]
        assert before - after == pytest.approx(lever["saves_gib"], abs=0.05), name
    assert ("gradient_checkpointing", "full") in levers
    assert levers["gradient_checkpointing", "full"]["slowdown"] > 1.1
    savings = [lever["saves_gib"] for lever in answer["levers"]]
    assert savings == sorted(savings, reverse=True)


def test_a_measurement_narrows_and_moves(real):
    measured = {"measured_gib": 8.5, "measured_tokens_per_second": 3000, "request": {"micro_batch": 1}}
    request = QLORA | {"gpu": "rtx-4090-24gb"}
    before, after = ajuste.estimate(request, real), ajuste.estimate(request | {"calibration": measured}, real)
    assert after["ok"], after
    was, now = before["memory"]["allocated_gib"], after["memory"]["allocated_gib"]
    assert now["high"] - now["low"] < was["high"] - was["low"]
    assert abs(now["mid"] - 8.5) < abs(was["mid"] - 8.5)
    was, now = before["time"]["tokens_per_second"], after["time"]["tokens_per_second"]
    assert now["high"] / now["low"] < was["high"] / was["low"]
    assert now["mid"] > was["mid"]


def test_a_measured_speed_needs_its_gpu(real):
    request = QLORA | {"calibration": {"measured_tokens_per_second": 100}}
    assert ajuste.estimate(request, real)["error"]["field"] == "calibration.request.gpu"
