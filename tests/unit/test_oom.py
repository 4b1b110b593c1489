"""Out-of-memory messages of many PyTorch versions, and what is proposed for them."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajuste import RequestError, estimate
from ajuste.doors import call_json
from ajuste.oom import PAGES, causes, diagnose, moment_of, read_message

MESSAGES = tomllib.loads((Path(__file__).parent / "oom_messages.toml").read_text(encoding="utf-8"))["message"]
NAMES = [f"{row['source'].split('.com/')[1]} ({row['pytorch']})" for row in MESSAGES]
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total capacity of 23.64 GiB of "
    "which {free} is free. Including non-PyTorch memory, this process has 22.40 GiB memory in use. Of the allocated "
    "memory {allocated} is allocated by PyTorch, and {gap} is reserved by PyTorch but unallocated. If reserved but "
    "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)


def message(tried="1.96 GiB", free="1.12 GiB", allocated="20.87 GiB", gap="934.12 MiB"):
    return NEW.format(tried=tried, free=free, allocated=allocated, gap=gap)


@pytest.mark.parametrize("row", MESSAGES, ids=NAMES)
def test_public_messages_are_read(row):
    facts = read_message(row["text"])
    read = {name: round(getattr(facts, name), 2) for name in row["expect"]}
    assert read == pytest.approx(row["expect"], abs=0.011)
    assert facts.device == row.get("device", "cuda")
    assert moment_of(row["text"]) == row.get("moment")
    assert list(causes(facts)) == row["causes"]
    if "setting" in row:
        assert facts.setting == row["setting"]


def test_they_are_many_of_many_years():
    assert len(MESSAGES) >= 15
    assert len({row["source"] for row in MESSAGES}) == len(MESSAGES)
    assert len({row["pytorch"].split(",")[0] for row in MESSAGES}) >= 10
    moments = {row.get("moment") for row in MESSAGES}
    assert moments >= {"load", "forward", "loss", "backward", "optimizer_step", "evaluation", "save", "generation"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        # https://github.com/pytorch/pytorch/issues/130112
        ("RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, max allowed: 20.40 GB).", "MPS"),
        # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/464
        ("Error out of memory at line 351 in file /home/me/bitsandbytes/csrc/pythonInterface.c", "RAM"),
        # https://github.com/gensyn-ai/rl-swarm/issues/118
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "vLLM"),
        # https://github.com/unslothai/unsloth/issues/1629
        ("ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU", "nvidia-smi"),
        # https://github.com/triton-lang/triton/issues/8182
        ("out of resource: shared memory, Required: 131072, Hardware limit: 101376.", "Triton"),
        # https://github.com/deepspeedai/DeepSpeed/issues/3160
        ("[launch.py:318:sigkill_handler] Killing subprocess 80\n['python3'] exits with return code = -9", "RAM"),
        # https://github.com/hiyouga/LlamaFactory/issues/9116
        ("[ERROR] failed (exitcode: -9) local_rank: 0 (pid: 438) of binary: /opt/conda/bin/python", "RAM"),
        ("torch.distributed.elastic: Signal 9 (SIGKILL) received by PID 438", "RAM"),
        ("Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137", "RAM"),
        ("ERROR: task exited with status 137", "RAM"),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory", "JAX"),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: can't allocate memory", "RAM"),
        ("Loading checkpoint shards:  53%\nKilled\n", "RAM"),
        ("ValueError: too many values to unpack", "PyTorch"),
    ],
)
def test_other_messages_are_refused_by_name(text, named):
    with pytest.raises(RequestError) as refused:
        read_message(text)
    assert all(named in sentence for sentence in refused.value.message.values())


def test_loading_counts_as_the_moment_only_while_it_loads():
    assert moment_of(f"Loading checkpoint shards:  33%|███\n{message()}") == "load"
    assert moment_of(f"Loading checkpoint shards: 100%|███\n{message()}") is None


def test_logits_are_known_by_their_size(catalog):
    """Micro-batch 2 × 2048 tokens × 128,256 × 4 bytes = 1.957 GiB; one token in ten more is another tensor."""
    asked = {"model": "llama-3.1-8b", "method": "qlora", "micro_batch": 2, "sequence_length": 2048}
    read = diagnose(message(tried="1.96 GiB"), asked, catalog)
    assert (read["moment"], read["moment_from"]) == ("loss", "size")
    assert diagnose(message(tried="2.15 GiB"), asked, catalog)["moment"] is None


@pytest.mark.parametrize(
    ("frame", "first"),
    [
        ("  File 'loss_utils.py', in ForCausalLMLoss\n    logits = logits.float()\n", {"loss": "fused"}),
        ("  File 'train.py'\n    trainer.evaluate()\n", {"eval": {"keep_logits": False}}),
    ],
)
def test_the_moment_decides_the_fix(catalog, frame, first):
    asked = {"model": "llama-3.1-8b", "method": "qlora", "micro_batch": 4, "loss": "default"}
    read = diagnose(frame + message(), asked, catalog)
    assert read["fixes"][0]["change"] == first
    assert read["fixes"][0]["saves_gib"] > 1


def test_fixes_are_changes_that_can_be_made(catalog):
    asked = {"model": "llama-3.1-8b", "method": "full", "precision": "bf16-mixed", "micro_batch": 2}
    read = diagnose(f"    optimizer.step()\n{message()}", asked, catalog)
    assert len(read["fixes"]) == 3
    before = estimate(asked, catalog)["memory"]
    for fix in read["fixes"]:
        after = estimate({**asked, **_without_clash(fix["change"])}, catalog)
        assert after["ok"], fix
        assert _moment(after["memory"], "optimizer_step") < _moment(before, "optimizer_step")
    assert read["expected_gib"]["mid"] > 60


def _without_clash(change):
    """LoRA takes no precision: the page drops it, as this does."""
    return {**change, "precision": None} if change.get("method") in ("lora", "qlora") else change


def _moment(memory, name):
    return next(moment["gib"] for moment in memory["moments"] if moment["id"] == name)


def test_fragmentation_proposes_what_the_message_itself_names(catalog):
    read = diagnose(
        message(allocated="14.00 GiB", gap="8.00 GiB"), {"model": "llama-3.1-8b", "method": "lora"}, catalog
    )
    assert read["causes"] == ["fragmentation"]
    assert read["fixes"][0] == {"change": {"allocator": "expandable"}, "saves_gib": 8.0, "slowdown": 1.0}
    assert read["facts"]["setting"] == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"


def test_a_message_alone_is_read_too(catalog):
    read = diagnose(message(), None, catalog)
    assert read["fixes"] == []
    assert read["expected_gib"] is None
    assert set(read["pages"]) == set(read["causes"])
    assert set(read["pages"].values()) <= set(PAGES.values())


@given(st.text())
def test_any_text_is_read_or_refused(text):
    for whole in (text, f"{text}CUDA out of memory. Tried to allocate {text}", message(tried=text), message() + text):
        try:
            facts = read_message(whole)
        except RequestError:
            continue
        assert list(causes(facts))


def test_the_door_answers_in_json(catalog):
    asked = {"message": message(), "request": {"model": "llama-3.1-8b", "method": "qlora"}}
    assert json.loads(call_json("oom", json.dumps(asked), catalog))["ok"]
    for wrong in (
        {"message": 3},
        {"message": message(), "request": {"model": "x"}},
        {"message": message(), "request": 3},
    ):
        assert json.loads(call_json("oom", json.dumps(wrong), catalog))["error"]["message"]["es"], wrong
