"""Ranking, picks by the rule of ages, exclusions, filters, inverse answers."""

import json

import pytest

import ajuste
from ajuste.card import Footprint
from ajuste.catalog import day_number
from ajuste.constants import ASSUMPTIONS
from ajuste.fit import even_batch
from ajuste.host import server_gpus
from ajuste.resolve import resolve
from ajuste.wanted import in_region

from .conftest import BUNDLE, offer

DEFAULT = {"model": "tiny", "method": "lora", "framework": "hf", "padding": "packed"}


def ask(catalog, **request: object) -> dict:
    answer = ajuste.estimate(DEFAULT | request, catalog)
    assert answer["ok"], answer
    return answer


def picked(answer: dict, name: str) -> dict | None:
    index = answer["picks"][name]
    return None if index is None else answer["offers"][index]


def catalog_of(*offers: dict) -> ajuste.Catalog:
    return ajuste.load_catalog(json.dumps(BUNDLE | {"offers": list(offers)}))


def test_a_stale_price_never_leads():
    # 0.30 seen 319 days ago against 0.50 seen ten days ago: the younger leads, the older gets its line.
    answer = ask(
        catalog_of(
            offer("second", "medium-24gb", 0.5),
            offer("second", "medium-24gb", 0.3, checked="2026-01-15", region="us"),
        )
    )
    assert picked(answer, "cheapest")["usd_per_hour"] == 0.5
    assert picked(answer, "maybe_cheaper")["usd_per_hour"] == 0.3
    assert picked(answer, "maybe_cheaper")["age_days"] == 319


def test_an_older_price_must_be_a_fifth_cheaper_to_be_named():
    answer = ask(
        catalog_of(
            offer("second", "medium-24gb", 0.5),
            offer("second", "medium-24gb", 0.45, checked="2026-01-15", region="us"),
        )
    )
    assert answer["picks"]["maybe_cheaper"] is None


def test_what_is_maybe_cheaper_is_the_likeliest_hint():
    # 0.2 seen in January is cheaper, 0.3 seen 72 days ago is likelier to be true still.
    answer = ask(
        catalog_of(
            offer("second", "medium-24gb", 0.5),
            offer("second", "medium-24gb", 0.3, checked="2026-09-19", region="us"),
            offer("second", "medium-24gb", 0.2, checked="2026-01-15", region="eu"),
        )
    )
    assert picked(answer, "maybe_cheaper")["usd_per_hour"] == 0.3


@pytest.mark.parametrize(
    ("ages", "leads"),
    [
        (("2026-11-20", "2026-09-15", "2026-01-01"), "2026-11-20"),  # up to 60 days
        (("2026-08-15", "2026-09-15", "2026-01-01"), "2026-09-15"),  # failing those, up to 120: the cheaper of two
        (("2026-01-02", "2026-01-01"), "2026-01-01"),  # failing those, whatever there is
    ],
)
def test_failing_young_prices_older_ones_lead(ages: tuple[str, ...], leads: str):
    # The price falls with age: 0.50, 0.45, 0.40 …
    rows = [offer("second", "medium-24gb", 0.5 - 0.05 * i, checked=age, region=str(i)) for i, age in enumerate(ages)]
    assert picked(ask(catalog_of(*rows)), "cheapest")["checked"] == leads


def test_scaled_and_spot_prices_do_not_lead():
    answer = ask(
        catalog_of(
            offer("second", "medium-24gb", 0.5),
            offer("second", "medium-24gb", 0.1, price_basis="scaled", region="b"),
            offer("second", "medium-24gb", 0.2, purchase="spot"),
        ),
        filters={"include_scaled": True},
    )
    assert picked(answer, "cheapest")["usd_per_hour"] == 0.5
    assert picked(answer, "spot")["usd_per_hour"] == 0.2


def test_what_fits_leads_before_what_may_fail(catalog):
    # The card of unknown memory is never `fits`, however cheap.
    answer = ask(catalog)
    assert picked(answer, "cheapest")["verdict"] == "fits"
    assert {o["verdict"] for o in answer["offers"] if o["gpu"] == "unknown-48gb"} == {"tight"}


def test_the_fastest_costs_at_most_three_times_the_cheapest():
    # 100 × the price on a card about three times as fast: faster, but not within three times the bill.
    rows = [offer("second", "medium-24gb", 0.5), offer("second", "large-80gb", 50.0)]
    many = {"dataset": {"examples": 1_000_000, "mean_tokens": 1000}}
    assert picked(ask(catalog_of(*rows), **many), "fastest")["gpu"] == "medium-24gb"
    rows[1]["usd_per_hour"] = 0.6
    assert picked(ask(catalog_of(*rows), **many), "fastest")["gpu"] == "large-80gb"


def test_what_is_left_out_says_why(catalog):
    answer = ask(
        catalog,
        model="llama-3.1-8b",
        filters={"max_age_days": 100, "providers": ["second", "hourly", "vague"], "regions": ["eu"]},
    )
    reasons = {row["reason"]: row for row in answer["excluded"]}
    assert reasons["region"]["count"] == 2  # one in us-east, one whose region nobody wrote down
    assert reasons["scaled"]["count"] == 1
    assert reasons["does-not-fit"]["cheapest"]["usd_per_hour"] == 0.1
    total = answer["offers_total"] + sum(row["count"] for row in answer["excluded"])
    assert total == len(BUNDLE["offers"])


def test_budget_and_deadline_exclude(catalog):
    everything = ask(catalog)["offers_total"]
    rich = ask(catalog, job={"budget_usd": 1e6, "deadline_h": 1e4})
    assert rich["offers_total"] == everything
    assert all(o["finish_by_deadline"] == pytest.approx(1, abs=1e-3) for o in rich["offers"])
    poor = ask(catalog, job={"budget_usd": 0.001})
    assert poor["offers_total"] == 0
    assert poor["excluded"][0]["reason"] in ("does-not-fit", "over-budget")
    late = ask(catalog, job={"deadline_h": 0.001})
    assert late["offers_total"] == 0
    assert "misses-deadline" in {row["reason"] for row in late["excluded"]}


def test_an_unknown_provider_is_refused_with_its_near_match(catalog):
    error = ajuste.estimate(DEFAULT | {"filters": {"providers": ["secnd"]}}, catalog)["error"]
    assert (error["field"], error["suggestions"]) == ("filters.providers", ["second"])


@pytest.mark.parametrize(
    ("region", "wanted", "inside"),
    [
        ("eu-west-1", "eu", True),
        ("westeurope", "eu", True),
        ("NORWAY-1", "eu", True),
        ("it-fr2", "eu", True),
        ("us-east-1", "eu", False),
        ("sa-east-1", "latam", True),
        ("us-east-1", "us-east", True),
        ("Texas US", "us", False),
        (None, "eu", False),
    ],
)
def test_regions(region: str | None, wanted: str, inside: bool):
    assert in_region(region, wanted) is inside


def test_the_pareto_front_is_cheaper_or_faster(real):
    answer = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"}, real)
    front = [answer["offers"][i] for i in answer["pareto"]]
    times = [o["hours"]["mid"] for o in front]
    assert times == sorted(times, reverse=True)
    assert len(front) > 1


def test_cards_list_the_fewest_that_fit(real):
    answer = ajuste.estimate({"model": "llama-3.1-70b", "method": "lora", "base_dtype": "bf16"}, real)
    counts: dict[str, list] = {}
    for card in answer["gpus"]:
        counts.setdefault(card["id"], []).append(card)
    for cards in counts.values():
        assert cards[0]["count"] == 1
        assert all(card["verdict"] == "fits" for card in cards[1:])
    # 141 GB of weights in 16 bit: two A100-80 hold 158 GiB, the activations not as well; four do.
    assert [c["count"] for c in counts["a100-sxm-80gb"]] == [1, 4]


def test_have_gpu_answers_with_a_grid(real):
    answer = ajuste.estimate(
        {"model": "llama-3.1-8b", "method": "qlora", "mode": "have-gpu", "gpu": "rtx-4090-24gb"}, real
    )
    cells = {(cell["model"], cell["method"]): cell for cell in answer["grid"]}
    assert cells["llama-3.1-8b", "qlora"]["verdict"] == "fits"
    assert cells["llama-3.1-70b", "qlora"]["verdict"] == "no"
    assert cells["llama-3.1-70b", "qlora"]["usd"] is None
    own = next(card for card in answer["gpus"] if card["count"] == 1)
    assert cells["llama-3.1-8b", "qlora"]["max_micro_batch"] == own["max_micro_batch"]


def test_have_budget_answers_with_what_it_buys(real):
    request = {"model": "llama-3.1-8b", "method": "qlora", "mode": "have-budget"}
    answer = ajuste.estimate(request | {"job": {"budget_usd": 3, "deadline_h": 24}}, real)
    fitting = [cell for cell in answer["grid"] if cell["verdict"] != "no"]
    assert fitting
    assert all(cell["usd"]["mid"] <= 3 for cell in fitting)
    assert ajuste.estimate(request | {"job": {"budget_usd": 3}}, real)["error"]["field"] == "job.deadline_h"


@pytest.mark.parametrize(
    ("date", "day"),
    [("1970-01-01", 0), ("2000-03-01", 11017), ("2026-11-30", 20787), ("2026-11", 20758), ("2026", 20454)],
)
def test_days(date: str, day: int):
    assert day_number(date) == day


@pytest.mark.parametrize("date", ["", "2026-02-29", "2026-13", "26-01-01", "2026-01-01T00", "hoy", "2026--1"])
def test_what_is_no_date(date: str):
    with pytest.raises(ValueError, match=r".*"):
        day_number(date)


def test_the_global_batch_is_kept_over_counts(real):
    """4 × 8 on one GPU is 32 examples a step: on 8 GPUs one micro-batch each, on 4 two."""
    request = {"model": "llama-3.1-8b", "method": "qlora", "micro_batch": 4, "grad_accum": 8, "gpu": "a100-sxm-80gb"}
    cards = {card["count"]: card for card in ajuste.estimate(request, real)["gpus"]}
    assert {count: card["grad_accum"] for count, card in cards.items()} == {1: 8, 2: 4, 4: 2, 8: 1}
    assert {card["micro_batch"] for card in cards.values()} == {4}


def test_a_global_batch_bounds_the_automatic_micro_batch(real):
    request = {"model": "llama-3.2-1b", "method": "lora", "global_batch": 12, "gpu": "a100-sxm-80gb"}
    for card in ajuste.estimate(request, real)["gpus"]:
        assert card["micro_batch"] * card["grad_accum"] * card["count"] in (8, 12, 16)
        assert card["micro_batch"] <= max(1, 12 // card["count"])


def test_every_gpu_and_count_does_the_same_job(real):
    """Automatic: 16 examples a step on each of them, in as few micro-batches as its memory allows."""
    for method in ("qlora", "full"):
        answer = ajuste.estimate({"model": "llama-3.1-8b", "method": method, "filters": {"limit": 1000}}, real)
        assert (answer["plan"]["global_batch"], answer["plan"]["defaults"]["global_batch"]) == (16, "general")
        for row in answer["gpus"]:
            if row["verdict"] == "fits":
                assert row["micro_batch"] * row["grad_accum"] * row["count"] == 16
        for row in answer["offers"]:  # on 3 GPUs the nearest is 15
            if row["verdict"] == "fits":
                assert row["micro_batch"] * row["grad_accum"] * row["gpus"] == 16 // row["gpus"] * row["gpus"]


def test_no_micro_batch_is_larger_than_the_data(real):
    answer = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora", "dataset": {"examples": 1}}, real)
    assert {row["micro_batch"] for row in answer["gpus"]} == {1}
    packed = {"padding": "packed", "dataset": {"examples": 12, "mean_tokens": 512}}  # 6,144 tokens: 3 rows of 2,048
    answer = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"} | packed, real)
    assert max(row["micro_batch"] for row in answer["gpus"]) == 3


def test_an_even_micro_batch_reaches_the_global_one():
    # 7 fit of 16: 4 × 4 is exact. 5 fit of 13: 5 × 3 = 15, 4 × 3 = 12, 3 × 4 = 12. All fit: one micro-batch.
    assert [even_batch(16, 7), even_batch(13, 5), even_batch(16, 16), even_batch(9, 1)] == [4, 4, 16, 1]


def test_the_largest_micro_batch_fits_and_one_more_does_not(real):
    request = {"model": "llama-3.1-8b", "method": "lora", "base_dtype": "bf16", "gpu": "rtx-a6000-48gb"}
    card = ajuste.estimate(request, real)["gpus"][0]
    assert card["max_micro_batch"] >= card["micro_batch"] > 1

    def asked(**change: object) -> str:
        return ajuste.estimate(request | change, real)["gpus"][0]["verdict"]

    assert asked(micro_batch=card["max_micro_batch"]) == "fits"
    assert asked(micro_batch=card["max_micro_batch"] + 1) != "fits"
    assert asked(micro_batch=1, sequence_length=card["max_sequence_length"]) == "fits"
    assert asked(micro_batch=1, sequence_length=int(1.01 * card["max_sequence_length"]) + 1) != "fits"


def two_machines(gpus: int = 1, provider: str = "second") -> dict:
    """A full fine-tune on two machines: its gradients cross the network."""
    return {
        "method": "full",
        "precision": "bf16-mixed",
        "model": "llama-3.1-8b",
        "parallel": {"strategy": "fsdp2", "gpus_per_node": gpus, "nodes": 2},
        "filters": {"providers": [provider], "purchase": ["on-demand"]},
    }


def test_several_machines_are_rented_together(catalog):
    # Eight GPUs at 15.00 an hour, twice: 30.00, and 16 GPUs work.
    answer = ask(catalog, **two_machines(8))
    (row,) = answer["offers"]
    assert (row["gpus"], row["machines"], row["usd_per_hour"]) == (16, 2, 30.0)
    assert row["breakdown_usd"]["compute"] == pytest.approx(
        30 * sum(answer["time"]["breakdown_h"][part] for part in ("train", "evaluate", "save", "merge")), rel=1e-4
    )


def test_machines_without_a_known_fast_network_talk_over_ethernet():
    bundle = BUNDLE | {
        "providers": [*BUNDLE["providers"], BUNDLE["providers"][0] | {"id": "fast", "multi_node_link": "InfiniBand"}],
        "offers": [offer("second", "large-80gb", 15.0, gpus=8), offer("fast", "large-80gb", 15.0, gpus=8)],
    }
    linked = ajuste.load_catalog(json.dumps(bundle))
    slow, fast = (ask(linked, **two_machines(8, name))["offers"][0]["tokens_per_second"] for name in ("second", "fast"))
    assert slow["mid"] < 0.8 * fast["mid"]
    # Nobody states how slow: the range says so.
    assert slow["high"] / slow["low"] > 1.5 * fast["high"] / fast["low"]


def test_processors_bound_what_the_gpus_get():
    # One example of 350 tokens and 4 images, 0.015 s of a vCPU each: 4 × 0.015 / 350 + 1e-6 = 0.000172429 s per token;
    # of 2 vCPUs one is the trainer's: 1 ÷ 0.000172429 = 5799.5 tokens/s. 64 feed 63 times that; not stated, no bound.
    images = {"dataset": {"mean_tokens": 350, "images_per_example": 4}}
    few, many, unknown = (
        ask(catalog_of(offer("second", "large-80gb", 2.0, vcpus=count)), **images)["offers"][0]["tokens_per_second"]
        for count in (2, 64, None)
    )
    seconds = ASSUMPTIONS["loader-seconds-per-million-tokens"], ASSUMPTIONS["loader-seconds-per-image"]
    assert few["mid"] == pytest.approx(1 / (4 * seconds[1].mid / 350 + seconds[0].mid / 1e6), rel=1e-4)
    assert few["low"] == pytest.approx(1 / (4 * seconds[1].high / 350 + seconds[0].high / 1e6), rel=1e-4)
    assert few["mid"] < many["mid"] < unknown["mid"]


def test_processors_do_not_bound_text(catalog):
    """Rows of text are quickly padded: two processors feed any GPU, one shared with the trainer as well."""
    two, many = (
        ask(catalog_of(offer("second", "large-80gb", 2.0, vcpus=count)), model="llama-3.1-8b")["offers"][0]
        for count in (2, 64)
    )
    assert two["tokens_per_second"] == many["tokens_per_second"]


def test_a_card_whose_share_is_too_small_for_the_engine_is_no(real):
    """0.3 × 39.4 GiB = 11.8 GiB, and the engine's copy of Llama 3.1 8B is 15 GiB; 0.3 × 79.1 = 23.7 holds it."""
    request = {"model": "llama-3.1-8b", "method": "qlora", "task": "grpo", "micro_batch": 1, "sequence_length": 1024}
    request["rl"] = {"engine": "colocate", "engine_share": 0.3}
    for gpu, verdict in (("a100-sxm-40gb", "no"), ("a100-sxm-80gb", "fits")):
        answer = ajuste.estimate(request | {"gpu": gpu, "parallel": {"gpus_per_node": 1}}, real)
        assert [row["verdict"] for row in answer["gpus"] if row["id"] == gpu] == [verdict]


@pytest.mark.parametrize(
    "request_", [{"method": "full", "precision": "fp8-mixed"}, {"method": "lora", "quantization": "fp8"}]
)
def test_fp8_runs_only_on_cards_that_have_it(real, request_: dict):
    for model, gpu, verdict in (
        ("qwen2.5-0.5b", "a100-sxm-80gb", "no"),  # Ampere has no fp8 tensor cores, Hopper and Ada do
        ("qwen2.5-0.5b", "h100-sxm-80gb", "fits"),
        ("qwen2.5-0.5b", "l4-24gb", "fits"),
    ):
        answer = ajuste.estimate({"model": model, "gpu": gpu, "parallel": {"gpus_per_node": 1}} | request_, real)
        row = next(row for row in answer["gpus"] if row["id"] == gpu)
        assert row["verdict"] == verdict
        assert (row["max_micro_batch"] > 0) == (verdict == "fits")


def test_rows_of_grpo_have_their_own_length(real):
    """Prompt and completion make the row: no longest sequence is too long."""
    request = {"model": "qwen2.5-0.5b", "method": "qlora", "gpu": "l4-24gb", "parallel": {"gpus_per_node": 1}}
    grpo, sft = (ajuste.estimate(request | {"task": task}, real)["gpus"] for task in ("grpo", "sft"))
    assert [row["max_sequence_length"] for row in grpo if row["id"] == "l4-24gb"] == [None]
    assert all(row["max_sequence_length"] > 2048 for row in sft if row["id"] == "l4-24gb")


def test_the_network_between_nodes_is_the_providers_or_the_one_asked_for(real):
    request = {"model": "llama-3.1-8b", "method": "full", "gpu": "h100-sxm-80gb"}

    def asked(network: str | None) -> dict:
        parallel = {"gpus_per_node": 8, "nodes": 2, "strategy": "fsdp2", "network": network}
        return ajuste.estimate(request | {"parallel": parallel}, real)

    stated, fast, slow = (asked(network) for network in (None, "infiniband", "ethernet"))
    for row in stated["offers"]:
        link = real.providers[row["provider"]].get("multi_node_link")
        like = next(o for o in (fast if link else slow)["offers"] if o["gpu"] == row["gpu"])
        assert row["tokens_per_second"]["mid"] == pytest.approx(like["tokens_per_second"]["mid"], rel=0.01)
    assert stated["time"]["tokens_per_second"] == fast["time"]["tokens_per_second"]
    assert fast["time"]["tokens_per_second"]["mid"] > 5 * slow["time"]["tokens_per_second"]["mid"]


def test_time_is_that_of_the_offer_that_leads(real):
    for change in ({}, {"gpu": "rtx-4090-24gb"}, {"job": {"persistent_storage": False, "experiments": 3}}):
        answer = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"} | change, real)
        lead = picked(answer, "cheapest")
        if lead["gpus"] == answer["time"]["count"]:
            assert answer["time"]["hours"] == lead["hours"]


def test_what_the_frameworks_do_not_run_on_is_said(catalog, real):
    """TPUs and the like: no verdict that looks like one, and a reason of its own."""
    reasons = {row["reason"]: row["count"] for row in ask(catalog)["excluded"]}
    assert reasons["unsupported"] == 1
    for name in ("tpu-v5e-16gb", "gaudi3-128gb", "trainium2-96gb"):
        answer = ajuste.estimate({"model": "qwen2.5-0.5b", "method": "qlora", "gpu": name}, real)
        assert {(row["verdict"], row["max_micro_batch"]) for row in answer["gpus"]} == {("no", 0)}
        assert "unsupported-accelerator" in {piece["id"] for piece in answer["advice"]}


def test_a_generation_server_is_billed(real):
    """GRPO with a server: as many machines again as its weights take, on their own line of the bill."""
    request = {"model": "llama-3.1-8b", "method": "qlora", "task": "grpo", "gpu": "a100-sxm-80gb"}
    request |= {"dataset": {"examples": 1000}, "filters": {"limit": 1000}}

    def offers(engine: str) -> dict:
        rows = ajuste.estimate(request | {"rl": {"engine": engine}}, real)["offers"]
        return {(o["provider"], o["offer"], o["region"], o["purchase"]): o for o in rows}

    alone, served = offers("none"), offers("server")
    for key, row in served.items():
        lines = row["breakdown_usd"]
        machine = [lines[name] or 0 for name in ("compute", "setup", "rounding", "interruptions", "idle", "host")]
        assert lines["server"] == pytest.approx(sum(machine), rel=1e-4)
        assert "server" not in alone[key]["breakdown_usd"]
    # 16 bit of 8.03 B are 16.06 GB, one card; of 70.6 B 141 GB: two of 79 GiB × 0.9 hold them and a sequence.
    plan, arch = resolve(request | {"rl": {"engine": "server"}}, real)
    large, large_arch = resolve(request | {"model": "llama-3.1-70b", "rl": {"engine": "server"}}, real)
    gpu = real.gpus["a100-sxm-80gb"]
    assert [server_gpus(plan, arch, gpu), server_gpus(large, large_arch, gpu)] == [1, 2]


@pytest.mark.parametrize("framework", ["trl", "deepspeed"])
@pytest.mark.parametrize("method", ["qlora", "lora", "full"])
def test_a_footprint_like_another_is_the_one_worked_out_alone(method: str, framework: str, real):
    """On other counts, and with gradients that wait, batch and length add what they add to the first."""
    plan, arch = resolve({"model": "llama-3.1-8b", "method": method, "framework": framework}, real)
    for strategy in ("ddp", "zero1", "zero2", "zero3", "fsdp2"):
        plans = [
            plan.replace(
                parallel=plan.parallel._replace(strategy=strategy, gpus_per_node=count),
                grad_accum=waits,
                optimizer_in_backward=False,
            )
            for count in (2, 4, 8)
            for waits in (1, 2)
        ]
        first = Footprint(plans[0], arch)
        for other in plans[1:]:
            alone, like = Footprint(other, arch), Footprint(other, arch, first)
            for batch, length in ((1, 2048), (7, 2048), (1, 512), (3, 100_000)):
                assert like.required(batch, length) == pytest.approx(alone.required(batch, length), rel=1e-9)


def test_a_budget_is_answered_first(real):
    """Whether the job is inside, for how much; and the largest model that is, by each method."""
    request = {"model": "llama-3.1-8b", "method": "qlora", "mode": "have-budget"}
    answer = ajuste.estimate(request | {"job": {"budget_usd": 5, "deadline_h": 10}}, real)
    budget = answer["budget"]
    assert budget["inside"]
    assert budget["usd"] == picked(answer, "cheapest")["usd"]
    assert budget["usd"]["mid"] <= 5
    for row in budget["largest"]:
        cells = [cell for cell in answer["grid"] if cell["method"] == row["method"] and cell["usd"]]
        assert (row["model"], row["usd"]) == (cells[-1]["model"], cells[-1]["usd"])
        assert row["usd"]["mid"] <= 5
    none = ajuste.estimate(request | {"job": {"budget_usd": 0.01, "deadline_h": 10}}, real)["budget"]
    assert (none["inside"], none["usd"], none["largest"]) == (False, None, [])
    assert ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"}, real)["budget"] is None


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("qlora", {"gpu": "a100-sxm-40gb", "parallel": {"strategy": "zero3", "gpus_per_node": 8}}),
        ("qlora", {"gpu": "rtx-3090-24gb", "parallel": {"strategy": "fsdp2", "gpus_per_node": 4}}),
        ("qlora", {"gpu": "a100-sxm-80gb", "quantization": "nf4", "calibration": {"measured_gib": 55.0}}),
        ("lora", {"gpu": "h200-sxm-141gb", "base_dtype": "fp32"}),
    ],
    ids=["ZeRO-3", "FSDP", "own settings", "own base"],
)
def test_the_grid_says_what_the_headline_says(method: str, change: dict, real):
    """On the GPUs, divided, set and calibrated as the request asks."""
    request = {"model": "llama-3.1-70b", "method": method, "mode": "have-gpu", "gradient_checkpointing": "full"}
    answer = ajuste.estimate(request | {"micro_batch": 1} | change, real)
    row = answer["gpus"][0]
    assert row["count"] == change.get("parallel", {}).get("gpus_per_node", 1)
    cell = next(c for c in answer["grid"] if (c["model"], c["method"]) == ("llama-3.1-70b", method))
    for name in ("verdict", "max_micro_batch", "max_sequence_length"):
        assert cell[name] == row[name], name


def test_the_grid_of_several_gpus_reaches_what_one_cannot(real):
    request = {"model": "llama-3.1-70b", "method": "qlora", "mode": "have-gpu", "gpu": "a100-sxm-40gb"}
    request |= {"gradient_checkpointing": "full", "micro_batch": 1, "loss": "chunked"}
    several = {"parallel": {"strategy": "zero3", "gpus_per_node": 8}}
    verdicts = [
        next(c["verdict"] for c in ajuste.estimate(asked, real)["grid"] if c["model"] == "llama-3.1-70b")
        for asked in (request, request | several)
    ]
    assert verdicts == ["no", "fits"]


def test_the_grid_of_a_budget_bills_what_the_picks_bill(real):
    request = {"model": "llama-3.1-8b", "method": "qlora", "mode": "have-budget", "quantization": "nf4"}
    answer = ajuste.estimate(request | {"job": {"budget_usd": 20, "deadline_h": 48}}, real)
    cell = next(c for c in answer["grid"] if (c["model"], c["method"]) == ("llama-3.1-8b", "qlora"))
    assert cell["usd"] == picked(answer, "cheapest")["usd"]


def test_a_floor_never_leads_where_a_price_is_stated():
    """ "From 0.79" is no price to plan with: it is named as maybe cheaper, with why."""
    floors = [
        offer("second", "medium-24gb", 0.2, region="floor", assumed=["from_price"], purchase=purchase)
        for purchase in ("on-demand", "spot")
    ]
    prices = [offer("second", "medium-24gb", 0.5), offer("second", "medium-24gb", 0.4, purchase="spot")]
    answer = ask(catalog_of(*floors, *prices))
    assert picked(answer, "cheapest")["usd_per_hour"] == 0.5
    assert picked(answer, "fastest")["usd_per_hour"] == 0.5
    assert picked(answer, "spot")["usd_per_hour"] == 0.4
    assert picked(answer, "maybe_cheaper")["price_doubt"] == "floor"
    assert picked(answer, "cheapest")["price_doubt"] is None
    alone = ask(catalog_of(*floors))
    assert picked(alone, "cheapest")["usd_per_hour"] == 0.2
    assert picked(alone, "cheapest")["price_doubt"] == "floor"


def test_an_old_price_says_that_it_is(real):
    answer = ask(
        catalog_of(
            offer("second", "medium-24gb", 0.5),
            offer("second", "medium-24gb", 0.3, checked="2026-01-15", region="us"),
        )
    )
    assert picked(answer, "maybe_cheaper")["price_doubt"] == "stale"


def test_nebius_floors_lead_no_pick(real):
    for gpu in ("h100-sxm-80gb", "h200-sxm-141gb", "rtx-pro-6000-96gb"):
        spot = picked(ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora", "gpu": gpu}, real), "spot")
        assert "from_price" not in spot["assumed"], gpu


def test_who_has_the_gpu_pays_no_rent(real):
    request = {"model": "llama-3.1-8b", "method": "qlora", "mode": "have-gpu", "gpu": "rtx-4090-24gb"}
    answer = ajuste.estimate(request, real)
    assert answer["rents"] is False
    of_bills = {
        "old-price",
        "no-autostop",
        "no-budget-alert",
        "storage-while-stopped",
        "stop-the-machine",
        "experiments",
    }
    assert not of_bills & {piece["id"] for piece in answer["advice"]}
    assert ajuste.estimate(request | {"filters": {"regions": ["eu"]}}, real)["rents"]
    assert ajuste.estimate(request | {"mode": "find-gpu"}, real)["rents"]


def test_a_missing_sum_says_what_it_takes(real):
    error = ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora", "mode": "have-budget"}, real)["error"]
    assert error["message"]["es"] == "Falta «job.budget_usd». Se acepta: 0 USD o más."
    assert error["message"]["en"] == "“job.budget_usd” is missing. Accepted: 0 USD or more."


@pytest.mark.parametrize("mode", [{"mode": "have-gpu"}, {"mode": "have-budget"}])
@pytest.mark.parametrize("parallel", [{"gpus_per_node": 8, "nodes": 2}, {"gpus_per_node": 1, "nodes": 8}, {"nodes": 2}])
def test_several_machines_in_every_mode(mode: dict, parallel: dict, real):
    """Each cell of the grid is placed on as many machines as were asked for."""
    request = {"model": "llama-3.1-8b", "method": "lora", "gpu": "h100-sxm-80gb"} | mode
    request |= {"job": {"budget_usd": 1000, "deadline_h": 100}, "parallel": {"strategy": "fsdp2"} | parallel}
    answer = ajuste.estimate(request, real)
    assert answer["ok"]
    world = parallel.get("gpus_per_node", 1) * parallel["nodes"]
    assert [row["count"] for row in answer["gpus"]] == [world]
    cell = next(c for c in answer["grid"] if (c["model"], c["method"]) == ("llama-3.1-8b", "lora"))
    if mode["mode"] == "have-gpu":
        assert (answer["time"]["count"], cell["verdict"]) == (world, answer["gpus"][0]["verdict"])


def test_a_machine_without_the_ram_runs_nothing(real):
    """Known RAM below the least that the job needs leaves an offer out; between least and most it may do."""
    request = {"model": "llama-3.1-8b", "method": "full", "micro_batch": 1, "filters": {"limit": 1000}}
    request |= {"parallel": {"strategy": "zero3", "gpus_per_node": 2, "offload": "all"}}
    answer = ajuste.estimate(request, real)
    need = answer["memory"]["host_ram_gib"]
    known = {(o.provider, o.offer, o.region, o.purchase): o.ram_gib for o in real.offers}
    assert {reason["reason"]: reason["count"] for reason in answer["excluded"]}["too-little-ram"] > 0
    for row in answer["offers"]:
        ram = known[row["provider"], row["offer"], row["region"], row["purchase"]]
        assert ram is None or ram >= need["low"]
        assert row["ram_verdict"] == (None if ram is None else "fits" if ram >= need["high"] else "tight")


@pytest.mark.parametrize(("ram", "excluded", "advised"), [(1, 1, "serious"), (4, 0, "warning"), (64, 0, None)])
def test_ram_of_the_only_offer(ram: float, excluded: int, advised: str | None):
    answer = ask(catalog_of(offer("first", "medium-24gb", 1.0, ram_gib=ram)))
    need = answer["memory"]["host_ram_gib"]
    assert 1 < need["low"] < 4 < need["high"] < 64
    assert [group["count"] for group in answer["excluded"] if group["reason"] == "too-little-ram"] == [1] * excluded
    pieces = {piece["id"]: piece for piece in answer["advice"]}
    assert "fits-nowhere" not in pieces
    if advised is None:
        assert "host-ram" not in pieces
    else:
        assert pieces["host-ram"]["severity"] == advised
        assert pieces["host-ram"]["values"]["offer_gib"] == ram
