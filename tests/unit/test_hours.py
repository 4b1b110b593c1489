"""Hours of a job: arithmetic by hand."""

import pytest

import ajuste
from ajuste.constants import MID
from ajuste.host import disk, merged_bytes
from ajuste.hours import (
    Parts,
    checkpoints_saved,
    evaluation_share,
    evaluation_tokens,
    fixed_parts,
    generation_hours,
    job_hours,
    optimizer_steps,
    training_tokens,
)
from ajuste.resolve import resolve

from .conftest import LLAMA_8B

EMPTY = ajuste.load_catalog("{}")


def resolved(**request: object):
    base = {"model": LLAMA_8B, "method": "qlora", "padding": "padding-free"}
    return resolve(base | request, EMPTY)


def test_training_tokens():
    # 10,000 examples × 350 tokens × 3 epochs = 10.5 million.
    assert training_tokens(resolved()[0], 4) == 10_500_000
    # Pairs are two rows each; preferences are trained for one epoch.
    assert training_tokens(resolved(task="dpo")[0], 4) == 7_000_000
    assert training_tokens(resolved(task="dpo", dataset={"epochs": 3})[0], 4) == 21_000_000
    # GRPO: 8 completions of 512 + 512 tokens for each of 10,000 prompts, as many times as asked.
    assert training_tokens(resolved(task="grpo", dataset={"epochs": 3})[0], 4) == 3 * 10_000 * 8 * 1024


def test_optimizer_steps():
    # 30,000 rows, 4 × 2 × 4 ranks in each step: 937.5 steps.
    plan = resolved(parallel={"gpus_per_node": 4})[0]
    assert optimizer_steps(plan, 4, 2) == pytest.approx(937.5)


def test_set_up():
    # 16.06 GB: download and load by the assumptions' seconds per GB; 3.5 million tokens to tokenise.
    plan, arch = resolved()
    parts = fixed_parts(plan, arch, "mid")
    gigabytes = 2 * 8_030_261_248 / 1e9
    assert parts.download == pytest.approx(gigabytes * MID["download-seconds-per-gb"] / 3600)
    assert parts.tokenize == pytest.approx(3.5 * MID["tokenize-seconds-per-million"] / 3600)
    assert parts.load == pytest.approx((MID["load-seconds"] + gigabytes * MID["load-seconds-per-gb"]) / 3600)
    assert parts.compile == pytest.approx(MID["warm-up-minutes"] / 60)
    assert parts.merge == 0
    for quick, slow in zip(fixed_parts(plan, arch, "low"), fixed_parts(plan, arch, "high"), strict=True):
        assert quick <= slow


def test_a_merge_reads_what_was_published_and_writes_16_bits():
    # Published in NF4, half a byte each: a third of what is written. The disk holds both.
    model = LLAMA_8B | {"quantization_config": {"quant_method": "bitsandbytes"}}
    plan, arch = resolve({"model": model, "method": "qlora", "save": {"merge": True}}, EMPTY)
    assert arch.stored_bytes < 0.5 * merged_bytes(arch) == 0.5 * 2 * 8_030_261_248
    hours = (arch.stored_bytes + 2 * 8_030_261_248) / 1e9 * MID["disk-write-seconds-per-gb"] / 3600
    assert fixed_parts(plan, arch, "mid").merge == pytest.approx(hours)
    kept = disk(plan.replace(save=plan.save._replace(merge=False)), arch, MID).mid
    assert disk(plan, arch, MID).mid - kept == merged_bytes(arch)


def test_checkpoints():
    assert checkpoints_saved(resolved()[0]) == 3  # one per epoch
    # 10,000 × 3 rows at micro-batch 1: 30,000 steps, one each 500.
    assert checkpoints_saved(resolved(micro_batch=1, save={"every_steps": 500})[0]) == 60


def test_evaluation_is_a_forward_pass():
    # QLoRA with checkpointing: forward 2 of 2 + 2 + 2 units. 800 examples × 350 tokens, each epoch.
    plan = resolved(eval={"examples": 800})[0]
    assert evaluation_share(plan) == pytest.approx(2 / 6)
    assert evaluation_tokens(plan, 4, 1) == pytest.approx(3 * 800 * 350 / 3)
    assert evaluation_tokens(resolved()[0], 4, 1) == 0


def test_generation_reads_the_weights_once_a_step():
    # 16 examples in 2 rounds of 8, 100 tokens each: 200 steps × 16.06 GB ÷ 2 TB/s × slowdown.
    plan, arch = resolved(eval={"examples": 16, "batch": 8, "generate_tokens": 100})
    seconds = 200 * 2 * 8_030_261_248 / 2e12 * MID["decode-slowdown"]
    assert generation_hours(plan, arch, 2e12, "mid") == pytest.approx(seconds / 3600)


def test_an_engine_generates_faster():
    plain, arch = resolved(task="grpo")
    engine, _ = resolved(task="grpo", rl={"engine": "colocate"})
    assert generation_hours(engine, arch, 2e12, "mid") < generation_hours(plain, arch, 2e12, "mid") / 4


def test_a_job_of_several_experiments():
    # Each of 4: 0.1 h to get the machine, 0.05 to load, 2 to train, 0.1 to evaluate, 0.5 of looking at it.
    # Once: 0.3 to download, 0.1 to tokenise.
    fixed = Parts(provision=0.1, download=0.3, tokenize=0.1, load=0.05, idle=0.5)
    kept = job_hours(fixed, 2.0, 0.1, 4, persistent=True)
    assert kept.setup == pytest.approx(4 * 0.15 + 0.4)
    assert kept.work == pytest.approx(8.4)
    assert kept.total == pytest.approx(1.0 + 8.4 + 2.0)
    lost = job_hours(fixed, 2.0, 0.1, 4, persistent=False)
    assert lost.total - kept.total == pytest.approx(3 * 0.4)
    assert sum(kept.parts) == pytest.approx(kept.total)


def test_an_automatic_batch_saves_as_often_as_the_batch_it_stands_for(real):
    # 10,000 examples × 3 epochs ÷ 16 a step = 1,875 steps: 18 saves, by whatever micro-batch.
    request = {"model": "llama-3.1-8b", "method": "full", "gpu": "b300-sxm-288gb", "save": {"every_steps": 100}}
    request |= {"framework": "hf", "padding": "padding-free"}
    saved = [
        ajuste.estimate(request | batch, real)["time"]["breakdown_h"]["save"]
        for batch in ({"global_batch": 16}, {"micro_batch": 4, "grad_accum": 4}, {"micro_batch": 1, "grad_accum": 16})
    ]
    assert saved[0] == pytest.approx(saved[1]) == pytest.approx(saved[2])
