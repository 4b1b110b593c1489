"""What must always hold, whatever the request: contract.md, "What must always hold"."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ajuste.card import Footprint, estimate_memory
from ajuste.catalog import load_catalog
from ajuste.contract import METHODS
from ajuste.errors import RequestError
from ajuste.memory import STATES, fullest_table
from ajuste.resolve import resolve

CATALOG = load_catalog("{}")
SHAPES = [
    {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32}
    | {"num_key_value_heads": 4, "vocab_size": 32000, "model_type": "llama"},
    {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}
    | {"num_key_value_heads": 8, "vocab_size": 128256, "model_type": "llama"},
    {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14}
    | {"num_key_value_heads": 2, "vocab_size": 151936, "model_type": "qwen2", "tie_word_embeddings": True},
    {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "num_attention_heads": 8}
    | {"num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208, "model_type": "gemma3_text"}
    | {"sliding_window": 1024, "sliding_window_pattern": 6},
    {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 32}
    | {"num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "model_type": "qwen3_moe"}
    | {"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 768},
]
STRATEGIES = ("ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2")
REQUESTS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(SHAPES),
        "method": st.sampled_from(METHODS),
        "framework": st.sampled_from(["hf", "trl", "unsloth", "torchtune", "litgpt", "deepspeed"]),
        "micro_batch": st.integers(1, 16),
        "sequence_length": st.integers(16, 32_768),
        "grad_accum": st.sampled_from([1, 2, 8]),
        "gradient_checkpointing": st.sampled_from(["full", "none", "selective"]),
        "attention": st.sampled_from(["flash", "sdpa", "eager"]),
        "padding": st.sampled_from(["packed", "padded"]),
        "loss": st.sampled_from(["default", "in-place", "chunked-kept", "chunked", "fused"]),
        "kernels": st.sampled_from(["none", "liger", "unsloth"]),
        "transformers": st.sampled_from(["4.40", "4.47", "5.0"]),
        "task": st.sampled_from(["sft", "dpo", "reward", "grpo"]),
    }
)


def planned(request: dict):
    """Plan and architecture; a combination that no framework runs is not a case."""
    try:
        return resolve(request, CATALOG)
    except RequestError as error:
        assume(error.code != "inconsistent")
        raise


def required(request: dict) -> float:
    return estimate_memory(*planned(request)).whole_run.mid


def no_more(smaller: dict, larger: dict) -> None:
    assert required(smaller) <= required(larger) * (1 + 1e-12)


@given(REQUESTS)
@settings(max_examples=120)
def test_ranges_are_ordered_and_terms_add_up(request):
    memory = estimate_memory(*planned(request))
    for low, mid, high in (memory.allocated, memory.reserved, memory.required, memory.whole_run):
        assert 0 < low <= mid <= high
    table = memory.table
    for index, total in enumerate(table.totals):
        assert sum(table.terms(index).values()) == pytest.approx(total, rel=1e-9)
        assert all(value >= 0 for value in table.terms(index).values())
    training = [total for total, instant in zip(table.totals, table.instants, strict=True) if instant.training]
    assert table.peak == max(training)
    assert memory.whole_run.mid >= memory.required.mid


@given(REQUESTS, st.integers(1, 16))
@settings(max_examples=60)
def test_more_sequences_never_need_less(request, more):
    no_more(request, request | {"micro_batch": request["micro_batch"] + more})


@given(REQUESTS, st.integers(1, 4096))
@settings(max_examples=60)
def test_longer_sequences_never_need_less(request, more):
    no_more(request, request | {"sequence_length": request["sequence_length"] + more})


@given(REQUESTS, st.sampled_from(["lora", "qlora", "dora", "adalora", "vera", "galore"]), st.integers(1, 256))
@settings(max_examples=60)
def test_higher_rank_never_needs_less(request, method, rank):
    request = request | {"method": method}
    no_more(request | {"lora": {"rank": rank}}, request | {"lora": {"rank": rank + 8}})


@given(REQUESTS, st.integers(2, 64))
@settings(max_examples=30)
def test_more_experts_never_need_less(request, experts):
    model = SHAPES[4]
    no_more(
        request | {"model": model | {"num_experts": experts}},
        request | {"model": model | {"num_experts": experts + 8}},
    )


SPLITS = ({}, {"tp": 2}, {"pp": 2}, {"cp": 2}, {"sp": 2}, {"tp": 2, "pp": 4})


@given(REQUESTS, st.sampled_from(STRATEGIES), st.sampled_from(SPLITS), st.sampled_from([(2, 4), (4, 8), (2, 8)]))
@settings(max_examples=120)
def test_more_ranks_never_need_more(request, strategy, split, counts):
    """From two shards up: the first that is gathered brings what gathers it."""
    fewer, more = (
        {"strategy": strategy, "gpus_per_node": count * math.prod(split.values())} | split for count in counts
    )
    no_more(request | {"parallel": more}, request | {"parallel": fewer})


@given(REQUESTS)
@settings(max_examples=60)
def test_smaller_weights_and_states_from_full_to_lora_to_qlora(request):
    held = {}
    for method, more in (
        ("full", {"precision": "bf16"}),
        ("lora", {"base_dtype": "bf16"}),
        ("qlora", {"kbit_upcast": False, "base_dtype": "bf16"}),
    ):
        table = fullest_table(*planned(request | {"method": method, "lora": {"rank": 16}, "optimizer": "adamw"} | more))
        names = ("weights", "quantisation_constants", "adapters", *STATES)
        held[method] = sum(table.columns[name][-1] for name in names)
    assert held["qlora"] <= held["lora"] <= held["full"]


@given(REQUESTS, st.sampled_from(("none", *STRATEGIES, "device-map")), st.sampled_from(SPLITS), st.integers(3, 64))
@settings(max_examples=60)
def test_accumulation_beyond_two_changes_nothing(request, strategy, split, steps):
    """Nor in a pipeline: it is counted as full."""
    parallel = split | {"strategy": strategy, "gpus_per_node": 2 * math.prod(split.values())}
    twice, often = (planned(request | {"grad_accum": n, "parallel": parallel}) for n in (2, steps))
    assert fullest_table(*twice).totals == fullest_table(*often).totals


@given(REQUESTS, st.integers(3, 64))
@settings(max_examples=60)
def test_accumulation_adds_the_resident_gradients_once(request, steps):
    assume(request["method"] != "lomo")
    once, twice, often = (planned(request | {"grad_accum": n}) for n in (1, 2, steps))
    assert fullest_table(*twice).totals == fullest_table(*often).totals
    first, second = fullest_table(*once), fullest_table(*twice)
    for index, instant in enumerate(first.instants):
        if instant.moment in ("forward", "loss"):
            added = second.columns["gradients"][index] - first.columns["gradients"][index]
            assert added > 0
            assert second.totals[index] - first.totals[index] == pytest.approx(added)


@given(REQUESTS, st.integers(1, 300), st.sampled_from([0.5, 0.8, 1.5, 3.0, 10.0]))
@settings(max_examples=60)
def test_the_arithmetic_agrees_with_the_table(request, batch, factor):
    """The affine parts give the table's figure at another micro-batch, and the largest one is the largest."""
    plan, architecture = planned(request)
    footprint = Footprint(plan, architecture)
    direct = estimate_memory(plan.replace(micro_batch=batch), architecture).whole_run
    tolerance = 0.02 if plan.loss == "fused" else 1e-9  # the fused loss rounds its chunks to powers of two
    assert footprint.required(batch) == pytest.approx(direct, rel=tolerance)
    usable = footprint.required(1).high * factor
    largest = footprint.largest_micro_batch(usable)
    if largest:
        assert footprint.required(largest).high <= usable
        assert largest == Footprint.LARGEST_BATCH or usable < footprint.required(largest + 1).high
    else:
        assert footprint.required(1).high > usable


@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        ({"micro_batch": 1}, {"micro_batch": 2}),
        ({"micro_batch": 1, "parallel": {"cp": 2}}, {"micro_batch": 2, "parallel": {"cp": 2}}),
    ],
    ids=["alone", "beside cp"],
)
def test_at_one_global_batch_accumulation_decides(fewer: dict, more: dict):
    """Who ends accumulation frees the gradients that waited; at one accumulation a larger micro-batch needs more."""
    request = {"model": SHAPES[1], "method": "full", "precision": "bf16", "sequence_length": 128}

    def needed(change: dict) -> tuple[int, float]:
        plan, arch = resolve(request | change, CATALOG)
        return plan.grad_accum, fullest_table(plan, arch).peak

    (two, waiting), (one, freed) = needed(fewer | {"global_batch": 2}), needed(more | {"global_batch": 2})
    assert (two, one) == (2, 1)
    assert freed < waiting
    assert needed(fewer | {"grad_accum": 2})[1] < needed(more | {"grad_accum": 2})[1]
