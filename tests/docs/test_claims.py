"""Numbers that the prose types although the estimator knows them: they fail here when the estimator moves."""

from __future__ import annotations

from typing import Any

import pytest

from ajuste import estimate, load_catalog

# With QLoRA, 2048 tokens and the defaults, a card of so many GB is enough. Said in guide/hardware/index.md#hardware,
# guide/index.md#start, guide/memory/index.md#memory and guide/faq.md#pretraining.
QLORA_CARDS = {"llama-3.1-8b": 16, "qwen2.5-14b": 24, "qwen2.5-32b": 48, "llama-3.1-70b": 80}


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Any:
    return load_catalog(catalog_text)


@pytest.mark.parametrize(("model", "label"), QLORA_CARDS.items())
def test_the_card_of_a_qlora(catalog: Any, model: str, label: int) -> None:
    answer = estimate({"model": model, "method": "qlora"}, catalog)
    alone = [gpu["id"] for gpu in answer["gpus"] if gpu["verdict"] == "fits" and gpu["count"] == 1]
    fits = {catalog.gpus[gpu].memory_label_gb for gpu in alone}
    assert label in fits
    assert min(fits) > label * 0.6, "a much smaller card is enough: say so"


@pytest.mark.parametrize(("precision", "said"), [("bf16", 60), ("bf16-mixed", 120)])
def test_a_full_8b_takes_60_or_120_gib(catalog: Any, precision: str, said: int) -> None:
    answer = estimate({"model": "llama-3.1-8b", "method": "full", "precision": precision}, catalog)
    assert answer["memory"]["allocated_gib"]["mid"] == pytest.approx(said, rel=0.05)


def test_the_default_job_takes_under_two_hours_and_a_few_dollars(catalog: Any) -> None:
    answer = estimate({"model": "llama-3.1-8b", "method": "qlora"}, catalog)
    offer = answer["offers"][answer["picks"]["cheapest"]]
    assert offer["hours"]["mid"] < 2
    assert 1 < offer["usd"]["mid"] < 5
    assert answer["plan"]["dataset"]["examples"] * 350 * 3 == 10_500_000
