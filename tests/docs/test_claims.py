"""Numbers that the prose types although the estimator knows them: they fail here when the estimator moves."""

from __future__ import annotations

from typing import Any

import pytest

from ajuste import estimate, load_catalog
from pipeline import claims
from pipeline.figures import Figure, Source

# With QLoRA, 2048 tokens and the defaults, a card of so many GB is enough. Said in guide/hardware/index.md#hardware,
# guide/index.md#start, guide/memory/index.md#memory and guide/faq.md#pretraining.
QLORA_CARDS = {"llama-3.1-8b": 16, "qwen2.5-14b": 24, "qwen2.5-32b": 48, "llama-3.1-70b": 80}


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Any:
    return load_catalog(catalog_text)


@pytest.mark.parametrize(("model", "label"), QLORA_CARDS.items())
def test_the_card_of_a_qlora(catalog: Any, model: str, label: int) -> None:
    answer = estimate({"model": model, "method": "qlora"}, catalog)
    alone = [gpu for gpu in answer["gpus"] if gpu["count"] == 1]
    size = {gpu["id"]: catalog.gpus[gpu["id"]].memory_label_gb for gpu in alone}
    enough = set(size.values()) - {size[gpu["id"]] for gpu in alone if gpu["verdict"] != "fits"}
    assert label in enough, "on every card of this size"
    assert min(enough) > label * 0.6, "a much smaller card is enough: say so"


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


# ------------------------------------------------------------------------------ what the two original texts say


@pytest.fixture(scope="module")
def figure(catalog: Any) -> Figure:
    return Figure("claims", {}, Source(catalog), "en", "")


@pytest.mark.parametrize("claim", claims.claims(), ids=lambda claim: claim["id"])
def test_a_claim_is_answered_as_the_numbers_say(figure: Figure, claim: dict[str, Any]) -> None:
    values = [claims.value(figure, case) for case in claim["cases"]]
    assert claims.answer(claim, values) == claim["answer"], values
    assert claim["claimed"][0] < claim["claimed"][1] or claim["unit"] == "card"
    assert all(claim[key] for key in ("es", "en", "why", "cases"))


def test_a_claim_says_why_and_what_was_measured(figure: Figure) -> None:
    for claim in claims.claims():
        assert min(len(claim["why"]["es"]), len(claim["why"]["en"])) > 20
        assert claim.get("measured", "fms-001") in figure.source.measurements
        assert set(claim.get("paces", ())) <= set(claims.paces())
    shown = claims.claims_figure(figure)
    assert shown.count("https://") >= 10  # measured runs
    assert "27.0\u00a0GiB" in shown  # 16 bytes per parameter of a 7B over 4 GPUs


def test_every_number_of_the_texts_is_a_claim() -> None:
    """So that none is lost."""
    said = {claim["id"] for claim in claims.claims()}
    assert said >= {"qlora-7b", "qlora-13b", "qlora-34b", "qlora-34b-a100", "qlora-70b", "qlora-65b-48gb"}
    assert said >= {"qlora-13b-24gb", "13b-without-qlora", "lora-saves", "peft-up-to-4", "7b", "70b"}
    assert said >= {"mixed-precision-weights", "mixed-precision-activations", "accumulation", "lora-speed"}


def test_an_answer() -> None:
    claim = {"claimed": [10, 14]}
    assert claims.answer(claim, [10, 14.0]) == "yes"
    assert claims.answer(claim, [9.9, 14.1]) == "no"
    assert claims.answer(claim, [9.9, 12]) == "depends"
