"""Formulas of the pages, read from their tables, give what the estimator computes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ajuste import estimate, load_catalog
from pipeline.guide import CODE_SPAN, LANGUAGES, pages

LLAMA = {"h": 4096, "f": 14336, "q": 4096, "k": 1024, "n": 32, "V": 128_256, "T": 2048, "L": 32}  # Llama 3.1 8B
BASE = {
    "model": "llama-3.1-8b",
    "framework": "hf",
    "micro_batch": 1,
    "sequence_length": 2048,
    "gradient_checkpointing": "none",
    "attention": "flash",
    "loss": "default",
}
# The rows of guide/memory/index.md#saved-activations, in their order.
ROWS: list[dict[str, Any]] = [
    {"method": "full", "precision": "bf16"},
    {"method": "full", "precision": "bf16-mixed"},
    {"method": "lora", "base_dtype": "bf16", "autocast": False, "lora": {"rank": 16, "dtype": "bf16"}},
    {"method": "lora", "base_dtype": "bf16", "autocast": True, "lora": {"rank": 16, "dtype": "fp32"}},
]


def value(formula: str) -> float:
    """16h + 4q → bytes for Llama 3.1 8B: a number beside a letter multiplies it."""
    spelled = re.sub(r"(?<=[\da-zA-Z])\s*(?=[a-zA-Z])", "*", formula)
    return float(eval(spelled, {"__builtins__": {}}, LLAMA))


def section(language: str, anchor: str) -> str:
    found = {part.anchor: part.body for part in pages(language)["guide/memory/index.md"].sections}
    return found[anchor]


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Any:
    return load_catalog(catalog_text)


def loss_terms(catalog: Any, request: dict[str, Any]) -> dict[str, float]:
    """Bytes of each term at the moment of the loss, when everything saved is still there."""
    answer = estimate({**BASE, **request}, catalog)
    assert answer["ok"], answer
    moments = {moment["id"]: moment["terms"] for moment in answer["memory"]["moments"]}
    return {name: gib * 2**30 for name, gib in moments["loss"].items()}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_saved_activations(catalog: Any, language: str, row: int) -> None:
    lines = [line for line in section(language, "saved-activations").splitlines() if line.count("`") == 6]
    per_token = sum(value(formula) for formula in CODE_SPAN.findall(lines[row]))
    saved = loss_terms(catalog, ROWS[row])["activations"] / LLAMA["L"] / LLAMA["T"]
    assert per_token == pytest.approx(saved, rel=0.01)  # the last norm and the rotary tables are not in the formula


@pytest.mark.parametrize("language", LANGUAGES)
def test_checkpointed_activations(catalog: Any, language: str) -> None:
    assert "`32 × 2 × 4096 × 2048`" in section(language, "saved-activations")
    request = {"method": "lora", "base_dtype": "bf16", "gradient_checkpointing": "full"}
    assert loss_terms(catalog, request)["activations"] == pytest.approx(32 * 2 * 4096 * 2048, rel=0.1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_logits(catalog: Any, language: str) -> None:
    formulas = CODE_SPAN.findall(section(language, "logits"))
    assert value(formulas[1]) == pytest.approx(loss_terms(catalog, ROWS[0])["logits"], rel=0.01)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_symbols_are_the_models(catalog: Any, language: str) -> None:
    """The table of symbols states Llama 3.1 8B as the catalog has it."""
    config = catalog.models["llama-3.1-8b"]["config"]
    assert [config[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size")] == [
        LLAMA[letter] for letter in "hfLV"
    ]
    digits = re.sub(r"[\s.,\u202f]", "", section(language, "symbols"))
    for number in (8_030_261_248, 6_979_321_856, 128_256, 41_943_040):
        assert str(number) in digits
