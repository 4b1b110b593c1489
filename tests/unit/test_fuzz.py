"""Malformed requests: each gives a structured error, none raises, none hangs."""

import json
import random
import time

import pytest

import ajuste
from ajuste.contract import REQUEST, Field
from ajuste.errors import MESSAGES

from .conftest import TINY

GOOD = {"model": TINY, "method": "lora"}
EMPTY = ajuste.load_catalog("{}")
LONGEST_S = 0.5  # generous: an order of magnitude above what any of them takes


def wrong_values(field: Field, rng: random.Random) -> list:
    """Values that the field must refuse."""
    wrong: list = [[[]], {"a": {"b": []}}, "\x00", "x" * 5000, float("nan"), float("inf"), -float("inf"), -1, 10**400]
    wrong += [-0.5, 1e308, [None], [[1, 2, 3]], "", "ñandú", "NaN", "1e3", True, None, {}, 2**63, "none; drop table"]
    rng.shuffle(wrong)
    return [value for value in wrong if not is_accepted(field, value)]


def is_accepted(field: Field, value: object) -> bool:
    from ajuste.contract import check_value
    from ajuste.errors import RequestError

    try:
        check_value(field, value, "x")
    except RequestError:
        return False
    return True


def field_faults() -> list[tuple[str, dict]]:
    """Each field of the request with values that it must refuse; nested fields too."""
    rng, faults = random.Random(7), []
    for name, field in REQUEST.items():
        if name == "model":
            continue
        faults += [(name, GOOD | {name: value}) for value in wrong_values(field, rng)[:3]]
        for inner, inner_field in (field.fields or {}).items():
            faults += [(f"{name}.{inner}", GOOD | {name: {inner: v}}) for v in wrong_values(inner_field, rng)[:1]]
    return faults


def config_faults() -> list[tuple[str, dict]]:
    """Broken config.json objects."""
    broken = [{}, {"model_type": "llama"}, {"model_type": "lama"}, {"model_type": 7}, {"model_type": None}]
    values = [0, -1, 1.5, "many", None, [], {}, True, float("nan"), float("inf"), 10**30, "4096"]
    keys = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size")
    broken += [TINY | {key: value} for key in keys for value in values if (key, value) != (keys[3], None)]
    broken += [TINY | {"num_attention_heads": 3, "num_key_value_heads": 2}, TINY | {"text_config": {"a": 1}}]
    broken += [TINY | {"num_hidden_layers": 10**9}, TINY | {"intermediate_size": -5}]
    return [("model", {"model": config, "method": "qlora"}) for config in broken]


def inconsistent() -> list[tuple[str, dict]]:
    """Well-formed fields that cannot go together."""
    pairs = [
        ("precision", {"method": "lora", "precision": "bf16"}),
        ("quantization", {"method": "qlora", "quantization": "none"}),
        ("quantization", {"method": "full", "quantization": "nf4"}),
        ("autocast", {"method": "full", "precision": "bf16-mixed", "autocast": False}),
        ("base_dtype", {"method": "full", "precision": "bf16", "base_dtype": "fp32"}),
        ("kbit_upcast", {"kbit_upcast": True}),
        ("reference", {"method": "full", "task": "dpo", "reference": "adapter-off"}),
        ("parallel", {"parallel": {"gpus_per_node": 4, "tp": 3}}),
        ("parallel.strategy", {"parallel": {"gpus_per_node": 4, "strategy": "none"}}),
        ("parallel.replicas", {"parallel": {"gpus_per_node": 4, "strategy": "fsdp2", "replicas": 3}}),
        ("parallel.ep", {"parallel": {"gpus_per_node": 4, "ep": 3}}),
        ("parallel.offload", {"parallel": {"gpus_per_node": 4, "strategy": "ddp", "offload": "all"}}),
        ("optimizer_in_backward", {"method": "full", "optimizer_in_backward": True, "grad_accum": 4}),
        ("global_batch", {"micro_batch": 8, "global_batch": 4}),
        ("dataset.length_histogram", {"dataset": {"length_histogram": [[10, 0]]}}),
        ("dataset.mean_tokens", {"dataset": {"mean_tokens": 900, "max_tokens": 100}}),
        ("gpu", {"gpu": "rtx-9090-1tb"}),
        ("gpu", {"mode": "have-gpu"}),
        ("job.budget_usd", {"mode": "have-budget"}),
        *[("as_of", {"as_of": day}) for day in ("2026-13-01", "2026-11", "٢٠٢٦-01-01", "0001-01-01", "9999-01-01")],
        *[("transformers", {"transformers": text}) for text in ("banana", "-4", "v", "4 or 5", "２.0")],
        *[("framework_version", {"framework_version": text}) for text in ("main", "2026-13", "-1")],
        ("model", {"model": "llama-99b"}),
    ]
    return [(field, GOOD | change) for field, change in pairs]


FAULTS = field_faults() + config_faults() + inconsistent()
BROKEN_TEXTS = [
    "",
    " ",
    "{",
    "[]",
    "null",
    "7",
    '"llama"',
    '{"model": }',
    "{'model': 'x'}",
    "[" * 100_000,
    '{"a":' * 50_000,
    '{"model":"' + "a" * 3_000_000 + '"}',
    '{"model": "llama", "method": "lora", "micro_batch": ' + "9" * 5000 + "}",
    '{"model": "x", "method": "lora"',
    "\ud800",
    '{"model": "llama-3.1-8b"}',
    '{"method": "lora"}',
    "{}",
    '{"model": NaN, "method": Infinity}',
]


def assert_error(answer: dict, field: str | None = None) -> None:
    assert answer["ok"] is False
    error = answer["error"]
    assert error["code"] in MESSAGES
    assert error["code"] != "internal"
    assert set(error) == {"code", "field", "message", "suggestions"}
    assert set(error["message"]) == {"es", "en"}
    for text in error["message"].values():
        assert 10 < len(text) < 600
        assert "{" not in text.replace("{…}", "").replace('{"', "") or "accepted" not in text
    if field is not None:
        assert error["field"].startswith(field)


def test_there_are_more_than_two_hundred():
    assert len(FAULTS) + len(BROKEN_TEXTS) > 200


@pytest.mark.parametrize(("field", "request_"), FAULTS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_field_is_named(field: str, request_: dict):
    started = time.process_time()
    answer = ajuste.estimate(request_, EMPTY)
    assert time.process_time() - started < LONGEST_S
    assert_error(answer, field)
    # The same through the JSON door, where Python can write it as JSON.
    assert_error(json.loads(ajuste.estimate_json(json.dumps(request_), EMPTY)))


@pytest.mark.parametrize("text", BROKEN_TEXTS, ids=range(len(BROKEN_TEXTS)))
def test_a_broken_text_is_an_error(text: str):
    started = time.process_time()
    answer = json.loads(ajuste.estimate_json(text, EMPTY))
    assert time.process_time() - started < LONGEST_S
    assert_error(answer)


@pytest.mark.parametrize("field", ["model", "framework_version"])
def test_half_a_character_can_still_be_written_as_utf8(field: str):
    ajuste.estimate_json(json.dumps(GOOD | {field: "\ud800"}), EMPTY).encode()


@pytest.mark.parametrize("catalog", ["", "[]", "{", '{"offers": [{}]}', '{"gpus": 7}', '{"models": [{"name": 1}]}'])
def test_a_broken_catalog_is_an_error(catalog: str):
    answer = json.loads(ajuste.estimate_json(json.dumps(GOOD), catalog))
    assert answer["error"]["code"] == "bad-catalog"


@pytest.mark.parametrize("request_", [None, 7, "x", [], object()])
def test_what_is_no_request_is_an_error(request_: object):
    assert_error(ajuste.estimate(request_, EMPTY))
    assert_error(json.loads(ajuste.estimate_json(request_, EMPTY)))


def test_random_garbage_never_escapes():
    """300 random trees in random places: an answer or a structured error, never anything else."""
    rng = random.Random(11)

    def tree(depth: int) -> object:
        kind = rng.randrange(8 if depth else 6)
        if kind == 0:
            return rng.choice([None, True, False])
        if kind == 1:
            return rng.choice([0, -1, 1, 7, 10**12, 2**70, rng.random(), float("nan"), float("inf"), -1e300])
        if kind in (2, 3):
            return "".join(chr(rng.choice([*range(32, 127), 0x1F600, 0xE9])) for _ in range(rng.randrange(20)))
        if kind in (4, 5):
            return rng.choice([*REQUEST, "lora", "zero3", "bf16", "llama"])
        if kind == 6:
            return [tree(depth - 1) for _ in range(rng.randrange(4))]
        return {str(tree(0)): tree(depth - 1) for _ in range(rng.randrange(4))}

    for _ in range(300):
        request_ = dict(GOOD)
        for _ in range(rng.randrange(1, 4)):
            name = rng.choice([*REQUEST])
            fields = REQUEST[name].fields
            request_[name] = {rng.choice([*fields]): tree(2)} if fields and rng.random() < 0.7 else tree(3)
        started = time.process_time()
        answer = json.loads(ajuste.estimate_json(json.dumps(request_), EMPTY))
        assert time.process_time() - started < LONGEST_S, request_
        if not answer["ok"]:
            assert answer["error"]["code"] != "internal", (request_, answer)


def test_near_matches_are_suggested():
    assert ajuste.estimate({"modle": 1}, EMPTY)["error"]["suggestions"][0] in ("mode", "model")
    assert ajuste.estimate(GOOD | {"method": "qlroa"}, EMPTY)["error"]["suggestions"][0] == "qlora"
    assert ajuste.estimate(GOOD | {"lora": {"ranks": 8}}, EMPTY)["error"]["suggestions"] == ["lora.rank"]
    assert ajuste.estimate(GOOD | {"parallel": {"strategy": "zero-3"}}, EMPTY)["error"]["suggestions"][0] == "zero3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model":"tiny","method":"lora","method":"qlora"}', '"method" × 2'),
        ('{"model":"tiny","method":"lora","dataset":{"epochs":1,"epochs":1,"epochs":2}}', '"epochs" × 3'),
        ('{"model":"tiny","method":"lora","sequence_length":NaN}', "NaN"),
        ('{"model":"tiny","method":"lora","dataset":{"mean_tokens":-Infinity}}', "-Infinity"),
    ],
)
def test_json_that_means_two_things_or_none(text: str, said: str, catalog):
    error = json.loads(ajuste.estimate_json(text, catalog))["error"]
    assert error["code"] == "bad-json"
    assert said in error["message"]["es"]


def test_a_byte_order_mark_is_no_fault(catalog, bundle):
    text = json.dumps({"model": "tiny", "method": "lora"})
    assert ajuste.estimate_json("\ufeff" + text, catalog) == ajuste.estimate_json(text, catalog)
    assert ajuste.estimate_json(text, "\ufeff" + json.dumps(bundle)) == ajuste.estimate_json(text, catalog)


@pytest.mark.parametrize("field", ["model", "calibration.request"])
def test_objects_too_deep_are_refused(field: str, catalog):
    deep = (
        '{"calibration": {"request": ' * 200 + "{}" + "}}" * 200
    )  # as text: writing it would be too deep for Python 3.11
    request = f'{{"model": {deep}, "method": "lora"}}'
    if field != "model":
        request = f'{{"model": "tiny", "method": "lora", "calibration": {{"measured_gib": 9, "request": {deep}}}}}'
    error = json.loads(ajuste.estimate_json(request, catalog))["error"]
    assert (error["code"], error["field"]) == ("out-of-range", field)


def test_a_calibration_has_none_of_its_own(catalog):
    request = {"model": "tiny", "method": "lora", "calibration": {"measured_gib": 9, "request": {"calibration": {}}}}
    assert ajuste.estimate(request, catalog)["error"]["field"] == "calibration.request.calibration"


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"as_of": "x"},
        {"models": [{"id": "x"}]},
        {"models": [{"id": "x", "config": 5}]},
        {"gpus": 5},
        {"providers": {"a": 1}},
        {"offers": [5]},
        {"offers": [{"usd_per_hour": "0.5"}]},
        {"offers": [{"usd_per_hour": -1}]},
        {"offers": [{"gpus": 0}]},
    ],
)
def test_what_is_wrong_with_a_catalog_is_the_catalogs(change: dict, bundle):
    if "offers" in change and isinstance(change["offers"][0], dict):
        change = {"offers": [bundle["offers"][0] | change["offers"][0]]}
    text = json.dumps(bundle | change)
    answer = ajuste.estimate_json('{"model":"tiny","method":"lora"}', text)
    assert json.loads(answer)["error"]["code"] == "bad-catalog"


@pytest.mark.parametrize("catalog", [None, 5, b"{", "null"])
def test_no_catalog_at_all(catalog: object):
    answer = ajuste.estimate_json('{"model":"tiny","method":"lora"}', catalog)  # type: ignore[arg-type]
    assert json.loads(answer)["error"]["code"] == "bad-catalog"
