"""The answer as a whole: what must always hold."""

import json
import math
import random

import pytest

import ajuste
from ajuste.contract import FULL_METHODS, REQUEST
from ajuste.schema import answer_schema, request_schema

DEFAULT = {"model": "llama-3.1-8b", "method": "qlora"}


def conforms(value: object, schema: dict, where: str = "$") -> list[str]:
    """Faults of a value against the part of JSON Schema that ours use."""
    if "anyOf" in schema:
        faults = [conforms(value, option, where) for option in schema["anyOf"]]
        return [] if any(not f for f in faults) else min(faults, key=len)
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where}: {value!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r}"]
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "null": type(None),
        "boolean": bool,
    }
    kind = schema.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{where}: {type(value).__name__} is no {kind}"]
    if kind in ("number", "integer"):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        return [] if low <= value <= high else [f"{where}: {value} out of range"]
    faults = []
    if kind == "object":
        faults += [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        properties = schema.get("properties", {})
        for name, inner in value.items():
            more = properties.get(name, schema.get("additionalProperties", {}))
            if more is False:
                faults.append(f"{where}.{name}: unknown")
            else:
                faults += conforms(inner, more, f"{where}.{name}")
    if kind == "array":
        for index, inner in enumerate(value):
            faults += conforms(inner, schema.get("items", {}), f"{where}[{index}]")
    return faults


def assert_sound(answer: dict) -> None:
    """Every rule of the contract that one answer can show."""
    assert conforms(answer, answer_schema()) == []
    memory = answer["memory"]
    for name in ("allocated_gib", "reserved_gib", "required_gib", "host_ram_gib", "disk_gb"):
        assert_ordered(memory[name])
    training = [m for m in memory["moments"] if m["id"] not in ("load", "evaluation", "save")]
    for moment in memory["moments"]:
        assert sum(moment["terms"].values()) == pytest.approx(moment["gib"], rel=1e-4)
    assert max(training, key=lambda m: m["gib"])["id"] == memory["peak_moment"]
    for card in answer["gpus"]:
        assert_ordered(card["required_gib"])
        assert card["verdict"] == verdict(card)
        if card["verdict"] == "fits" and answer["plan"]["micro_batch"] is None:
            assert card["micro_batch"] <= max(1, card["max_micro_batch"])
    bills = [offer["usd"]["mid"] for offer in answer["offers"]]
    assert bills == sorted(bills)
    for offer in answer["offers"]:
        for name in ("usd", "hours", "billed_hours", "tokens_per_second", "required_gib"):
            assert_ordered(offer[name])
        lines = sum(line or 0 for line in offer["breakdown_usd"].values())
        assert lines == pytest.approx(offer["usd"]["mid"], rel=1e-4, abs=1e-6)
    for pick in answer["picks"].values():
        assert pick is None or 0 <= pick < len(answer["offers"])
    if answer["time"]:
        assert sum(answer["time"]["breakdown_h"].values()) == pytest.approx(answer["time"]["hours"]["mid"], rel=1e-4)


def assert_ordered(band: dict) -> None:
    assert band["low"] <= band["mid"] <= band["high"]


def verdict(card: dict) -> str:
    usable, need = card["usable_gib"], card["required_gib"]
    if usable is None:
        return card["verdict"] if card["verdict"] != "fits" else "not fits"
    return "fits" if need["high"] <= usable else "tight" if need["low"] <= usable else "no"


def test_the_default_question(catalog):
    answer = ajuste.estimate(DEFAULT, catalog)
    assert_sound(answer)
    assert answer["versions"] == {"contract": 1, "estimator": ajuste.__version__, "data": "2026-11-20"}
    assert answer["plan"]["defaults"]["optimizer"] == "general"
    assert "method" not in answer["plan"]["defaults"]
    # N of Llama-3.1-8B: 2·128256·4096 + 32·(2·4096² + 2·4096·1024 + 3·4096·14336 + 2·4096) + 4096
    assert answer["model"]["parameters"] == 8030261248
    # LoRA rank 16 on q, o (4096+4096), k, v (4096+1024), gate, up, down (4096+14336), 32 layers:
    # 16 · 32 · (2·8192 + 2·5120 + 3·18432) = 41,943,040
    assert answer["model"]["trainable_parameters"] == 41943040
    # TRL's tiles leave the peak to the last layer's backward: 5.3 GiB of packed weights, 0.25 of adapters and their
    # states, 0.5 of checkpointed inputs, 0.4 of the layer, 0.1 of its unpacked weights. Its releases before 1.15 turned
    # the head to fp32 and, under autocast, to 16 bit again: 2.9 GiB at the loss.
    assert answer["memory"]["allocated_gib"]["mid"] == pytest.approx(6.6, abs=0.2)
    before = ajuste.estimate(DEFAULT | {"framework_version": "1.14"}, catalog)
    assert before["memory"]["allocated_gib"]["mid"] == pytest.approx(9.1, abs=0.3)


def test_requests_of_every_kind_are_sound(real):
    """Valid requests drawn at random over the whole catalog: an answer that holds together, or `inconsistent`."""
    rng = random.Random(2026)
    answered = 0
    for _ in range(30):
        request = random_request(rng, real)
        answer = ajuste.estimate(request, real)
        if answer["ok"]:
            assert_sound(json.loads(json.dumps(answer, allow_nan=False)))
            answered += 1
        else:
            assert answer["error"]["code"] == "inconsistent", (request, answer)
    assert answered > 15


def random_request(rng: random.Random, catalog: ajuste.Catalog) -> dict:
    request: dict = {"model": rng.choice(list(catalog.models)), "method": rng.choice(REQUEST["method"].choices)}
    for name in ("optimizer", "padding", "gradient_checkpointing", "attention", "loss", "framework", "task", "kernels"):
        if rng.random() < 0.3:
            request[name] = rng.choice(REQUEST[name].choices)
    if request["method"] not in FULL_METHODS and rng.random() < 0.3:
        request["lora"] = {"rank": rng.choice([4, 16, 128]), "dropout": rng.choice([0, 0.1])}
    if rng.random() < 0.3:
        request["micro_batch"] = rng.choice([1, 3, 8])
    if rng.random() < 0.4:
        request["sequence_length"] = rng.choice([64, 512, 4096, 32768])
    if rng.random() < 0.3:
        request["parallel"] = {"strategy": rng.choice(["ddp", "zero2", "zero3", "fsdp2"]), "gpus_per_node": 4}
    if rng.random() < 0.3:
        request["job"] = {"experiments": 3, "idle_h_per_experiment": 0.5, "deadline_h": 40, "keep_storage_days": 7}
    if rng.random() < 0.2:
        request["eval"] = {"examples": 500, "every_steps": 50}
    return request


def test_the_same_request_gives_the_same_bytes(real):
    text = json.dumps(DEFAULT)
    assert ajuste.estimate_json(text, real) == ajuste.estimate_json(text, real)


def test_the_catalog_may_be_text_or_nothing(bundle):
    text = json.dumps(DEFAULT | {"model": bundle["models"][0]["config"]})
    with_text = json.loads(ajuste.estimate_json(text, json.dumps(bundle)))
    alone = json.loads(ajuste.estimate_json(text, "{}"))
    assert_sound(alone)
    assert alone["memory"] == with_text["memory"]
    assert alone["offers"] == alone["gpus"] == []
    assert alone["time"] is None


def test_a_card_that_does_not_fit_has_no_time(real):
    asked = {"model": "llama-3.1-70b", "method": "lora", "gpu": "l4-24gb", "parallel": {"gpus_per_node": 1}}
    alone = ajuste.estimate(asked, real)
    assert [row["verdict"] for row in alone["gpus"]] == ["no"]
    assert alone["time"] is None
    assert alone["gpus"][0]["tokens_per_second"] is None


def test_floats_have_six_digits(catalog):
    text = ajuste.estimate_json(json.dumps(DEFAULT), catalog)

    def floats(value: object) -> list[float]:
        if isinstance(value, float):
            return [value]
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [x for item in inner for x in floats(item)]

    assert all(x == float(f"{x:.6g}") for x in floats(json.loads(text)))


def test_a_plan_is_a_request_again(real):
    """What was resolved, asked again, resolves to itself: a shared link can hold either."""
    first = ajuste.estimate(DEFAULT, real)
    again = {k: v for k, v in first["plan"].items() if k != "defaults" and v is not None}
    for name, value in again.items():
        if isinstance(value, dict):
            again[name] = {k: v for k, v in value.items() if v is not None}
    second = ajuste.estimate(again, real)
    assert second["ok"], second
    assert second["memory"] == first["memory"]


def test_the_request_schema_accepts_what_we_accept():
    schema = request_schema()
    good = {"model": "x", "method": "lora", "lora": {"targets": ["q_proj"]}, "micro_batch": None}
    assert conforms(good, schema) == []
    assert conforms(good | {"mode": "guess"}, schema)
    assert conforms({"model": "x"}, schema)


def test_offers_show_limit_and_picks(real):
    answer = ajuste.estimate(DEFAULT | {"filters": {"limit": 5}}, real)
    assert len(answer["offers"]) == 5
    assert answer["offers_total"] > 5
    assert_sound(answer)
    assert answer["picks"]["cheapest"] is not None


def test_picks_look_at_all_offers_whatever_is_shown(real):
    def picked(limit: int) -> dict:
        answer = ajuste.estimate(DEFAULT | {"filters": {"limit": limit}}, real)
        assert_sound(answer)
        return {name: index if index is None else answer["offers"][index] for name, index in answer["picks"].items()}

    everything = picked(1000)
    assert None not in everything.values()
    assert all(picked(limit) == everything for limit in (0, 1, 2, 5, 50))


@pytest.mark.parametrize(
    "change",
    [
        {"gpu": "t4-16gb", "method": "lora"},
        {"gpu": "rtx-3090-24gb", "parallel": {"strategy": "fsdp2", "gpus_per_node": 4}, "model": "llama-3.1-70b"},
        {"gpu": "rtx-3090-24gb", "micro_batch": 4, "calibration": {"measured_gib": 20.0}},
        {"model": "llama-3.1-70b", "method": "full", "micro_batch": 2},
    ],
    ids=["no FlashAttention", "accumulates", "calibrated", "several GPUs"],
)
def test_one_number_for_the_memory_of_a_placement(change: dict, real):
    """What the headline says a placement takes is what its row, its offer and its advice say."""
    answer = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"} | change, real)
    headline = answer["headline"]
    row = answer["gpus"][0] if "gpu" in change else answer["offers"][answer["picks"]["cheapest"]]
    assert (headline["gpu"], headline["count"]) == (row.get("id", row.get("gpu")), row.get("count", row.get("gpus")))
    needed = headline["memory"]["whole_run"]["required_gib"]
    assert needed == pytest.approx(row["required_gib"], rel=1e-5)
    if "gpu" in change:
        assert row["headroom_gib"] == pytest.approx(row["usable_gib"] - needed["mid"], abs=1e-3)


def test_another_micro_batch_has_no_headline(real):
    """On a card with room the automatic micro-batch is larger than the 1 that `memory` is for."""
    answer = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora", "gpu": "h100-sxm-80gb"}, real)
    assert answer["gpus"][0]["micro_batch"] > 1
    assert answer["headline"] is None


@pytest.mark.parametrize("gpu", ["rtx-3080-10gb", "t4-16gb", "rtx-4090-24gb"])
def test_the_time_is_of_the_count_that_the_verdict_speaks_of(gpu: str, real):
    """A card where it is tight has its own speed: not that of eight of them."""
    request = {"model": "llama-3.1-8b", "method": "qlora", "mode": "have-gpu", "gpu": gpu}
    answer = ajuste.estimate(request, real)
    row, time = answer["gpus"][0], answer["time"]
    assert row["verdict"] in ("fits", "tight")
    assert (time["count"], time["tokens_per_second"]) == (row["count"], row["tokens_per_second"])
    two = ajuste.estimate(request | {"parallel": {"gpus_per_node": 2, "strategy": "fsdp2"}}, real)
    assert two["time"]["count"] == two["gpus"][0]["count"] == 2
    none = ajuste.estimate(request | {"method": "full", "parallel": {"gpus_per_node": 1}}, real)
    assert (none["gpus"][0]["verdict"], none["time"]) == ("no", None)


@pytest.mark.parametrize("gpu", ["v100-sxm-32gb", "a100-sxm-80gb", "h100-sxm-80gb"])
def test_a_card_with_room_that_cannot_run_says_so(gpu: str, real):
    """No verdict contradicts its row: "no" beside room has its reason, and what fits has none."""
    for change in ({"method": "qlora"}, {"method": "lora", "quantization": "fp8"}):
        for row in ajuste.estimate({"model": "llama-3.2-1b", "gpu": gpu, **change}, real)["gpus"]:
            assert row["reason"] == (None if row["verdict"] == "fits" else "unsupported")
            assert (row["max_micro_batch"] >= row["micro_batch"]) == (row["verdict"] == "fits")
    assert row["reason"] == (None if gpu.startswith("h100") else "unsupported")
