"""Launch files are read by the engines themselves; the shell scripts by a shell."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from ajuste import estimate, load_catalog
from ajuste.catalog import Catalog
from ajuste.errors import RequestError
from ajuste.launch import DSTACK_BACKENDS, SKYPILOT_CLOUDS, TARGETS, dstack_gpu, run_files, skypilot_gpu

REQUEST = {"model": "llama-3.1-8b", "method": "qlora", "job": {"budget_usd": 40}, "eval": {"examples": 20}}


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Catalog:
    return load_catalog(catalog_text)


@pytest.fixture(scope="module")
def answer(catalog: Catalog) -> dict:
    return estimate(REQUEST, catalog)


@pytest.fixture(scope="module")
def every_offer(catalog: Catalog) -> dict:
    return estimate({**REQUEST, "filters": {"limit": 1000}}, catalog)


def offers_of(answer: dict) -> list[int]:
    """Offers that differ in GPU and purchase, and one of every provider."""
    kinds: dict[object, int] = {}
    for index, offer in enumerate(answer["offers"]):
        kinds.setdefault((offer["gpu"], offer["purchase"], offer["gpus"] > 1), index)
        kinds.setdefault(offer["provider"], index)
    return sorted(set(kinds.values()))


@pytest.mark.slow
def test_the_engines_read_what_we_write(every_offer: dict, catalog: Catalog, engines: Path, tmp_path: Path):
    answer = every_offer
    home = tmp_path / "home"
    home.mkdir()
    files = tmp_path / "files"
    files.mkdir()
    wanted = {}
    for index in offers_of(answer):
        sky = run_files(answer, catalog, "skypilot", offer=index)["files"][-1]["text"]
        *_, volume, stack = (file["text"] for file in run_files(answer, catalog, "dstack", offer=index)["files"])
        if "type: volume" in volume:
            (files / f"{index}.volume.dstack.yml").write_text(volume, encoding="utf-8")
        (files / f"{index}.sky.yaml").write_text(sky, encoding="utf-8")
        (files / f"{index}.dstack.yml").write_text(stack, encoding="utf-8")
        wanted[index] = answer["offers"][index]
    broken = yaml.safe_load(sky)
    broken["resources"]["use_spott"] = True
    (files / "broken.sky.yaml").write_text(yaml.safe_dump(broken), encoding="utf-8")
    broken = yaml.safe_load(stack)
    broken["max_prize"] = 1
    (files / "broken.dstack.yml").write_text(yaml.safe_dump(broken), encoding="utf-8")
    done = subprocess.run(
        [engines, Path(__file__).with_name("check_engines.py"), files],
        env={**os.environ, "HOME": str(home), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert "use_spott" in said.pop("broken.sky.yaml")["refused"]
    assert "max_prize" in said.pop("broken.dstack.yml")["refused"]
    volumes = [said.pop(name) for name in [*said] if name.endswith(".volume.dstack.yml")]
    assert {volume["backend"] for volume in volumes} >= {"aws", "gcp"}, volumes
    assert len(said) == 2 * len(wanted) >= 50
    assert {offer["provider"] for offer in wanted.values()} >= {
        "aws",
        "gcp",
        "azure",
        "runpod-secure",
        "vast",
        "lambda",
    }
    for index, offer in wanted.items():
        sky, stack = said[f"{index}.sky.yaml"], said[f"{index}.dstack.yml"]
        cloud = SKYPILOT_CLOUDS.get(offer["provider"])
        assert sky["cloud"].casefold() == str(cloud).casefold(), sky
        assert sky["max_hourly_cost"] == pytest.approx(offer["usd_per_hour"] * 1.1, rel=0.01)
        backend = DSTACK_BACKENDS.get(offer["provider"])
        assert stack["backends"] == ([backend] if backend else []), stack
        assert stack["files"] == ["train.yaml", "run.sh", "data"]
        assert sky["accelerators"] == {skypilot_gpu(offer["gpu"]): offer["gpus"]}, sky
        assert sky["use_spot"] == (offer["purchase"] == "spot")
        assert "down=True" in sky["autostop"]
        assert len(sky["mounts"]) == 1
        assert stack["gpu"] == [dstack_gpu(offer["gpu"])[0]], stack
        assert stack["spot_policy"] == offer["purchase"]
        assert stack["max_price"] == pytest.approx(offer["usd_per_hour"] * 1.1, rel=0.01)
        assert stack["max_duration"] == pytest.approx(40 / offer["usd_per_hour"] * 3600, abs=330)


def test_gpu_names_are_the_engines_own():
    assert [skypilot_gpu(gpu) for gpu in ("a100-sxm-80gb", "a100-pcie-40gb", "v100-sxm-32gb", "h100-nvl-94gb")] == [
        "A100-80GB",
        "A100",
        "V100-32GB",
        "H100-NVL",
    ]
    assert [
        skypilot_gpu(gpu) for gpu in ("rtx-4090-24gb", "rtx-a6000-48gb", "rtx-6000-ada-48gb", "rtx-pro-6000-96gb")
    ] == [
        "RTX4090",
        "RTXA6000",
        "RTX6000-Ada",
        "RTXPRO6000",
    ]
    assert dstack_gpu("rtx-6000-ada-48gb") == ("RTX6000Ada", "48GB")
    assert dstack_gpu("rtx-a6000-48gb") == ("A6000", "48GB")
    assert dstack_gpu("rtx-4070-ti-super-16gb") == ("RTX4070TiSUPER", "16GB")
    assert dstack_gpu("h100-sxm-80gb") == ("H100", "80GB")


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "smoke"])
@pytest.mark.parametrize("language", ["es", "en"])
def test_files_of_every_target_say_what_was_assumed(target: str, language: str, answer: dict, catalog: Catalog):
    made = run_files(answer, catalog, target, language=language)
    cheapest = answer["offers"][answer["picks"]["cheapest"]]
    for file in made["files"]:
        assert cheapest["gpu"] in file["text"]
        assert cheapest["provider"] in file["text"]
        assert {"es": "10\u202f000 ejemplos", "en": "10,000 examples"}[language] in file["text"]
        if file["name"].endswith((".yaml", ".yml")):
            assert isinstance(yaml.safe_load(file["text"]), dict)
    text = "\n".join(file["text"] for file in made["files"])
    if target != "accelerate":
        assert "USD 40.00" in text or "40.00 USD" in text, "the budget stop is said"
        assert "timeout --signal=INT" in text
        assert "shutdown" in text


def test_the_scripts_are_shell(answer: dict, catalog: Catalog, tmp_path: Path):
    for target in TARGETS:
        for file in run_files(answer, catalog, target)["files"]:
            if file["name"].endswith(".sh"):
                script = tmp_path / file["name"]
                script.write_text(file["text"], encoding="utf-8")
                subprocess.run(["sh", "-n", script], check=True)


def run_with(program: str, script: str, folder: Path, lasts_s: int = 0) -> subprocess.CompletedProcess:
    """Run run.sh as written in a folder, with a program that says how it was called."""
    (folder / "run.sh").write_text(script, encoding="utf-8")
    tool = folder / "bin" / program
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f'#!/bin/sh\necho "$@" >> called\nexec sleep {lasts_s}\n', encoding="utf-8")
    tool.chmod(0o755)
    path = f"{tool.parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "run.sh"], cwd=folder, env={**os.environ, "PATH": path, "KEEP": "1"}, check=False, timeout=30
    )


def script_of(request: dict, tool: str, catalog: Catalog) -> str:
    made = run_files(estimate({**request, "framework": tool}, catalog), catalog, tool)["files"]
    return next(file["text"] for file in made if file["name"] == "run.sh")


def test_the_budget_stop_stops_and_a_checkpoint_is_resumed(catalog: Catalog, tmp_path: Path):
    for step in (100, 20):
        (tmp_path / "checkpoints" / f"checkpoint-{step}").mkdir(parents=True)
    done = run_with("trl", script_of(REQUEST, "trl", catalog).replace("limit=", "limit=1 # "), tmp_path, 60)
    assert done.returncode == 124, "timeout says so"
    assert (tmp_path / "called").read_text().split() == [
        *("sft", "--config", "train.yaml", "--resume_from_checkpoint", "checkpoints/checkpoint-100"),
    ]


def test_what_was_spent_before_an_interruption_counts(catalog: Catalog, tmp_path: Path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "spent-seconds").write_text("1000000\n")
    assert run_with("trl", script_of(REQUEST, "trl", catalog), tmp_path, 60).returncode == 124


@pytest.mark.parametrize(
    ("method", "saved", "files", "resumes"),
    [
        ("qlora", None, "model-1-of-2.safetensors,model-2-of-2.safetensors", False),
        ("qlora", "epoch_0", "model-1-of-2.safetensors,model-2-of-2.safetensors", True),
        ("full", "epoch_1", "epoch_1/model-1-of-1.safetensors", True),
    ],
)
def test_torchtune_gets_the_files_there_are(method, saved, files, resumes, catalog: Catalog, tmp_path: Path):
    (tmp_path / "model").mkdir()
    for name in ("model-1-of-2", "model-2-of-2"):
        (tmp_path / "model" / f"{name}.safetensors").touch()
    if saved:
        for folder in ("recipe_state", "epoch_0", saved):
            (tmp_path / "checkpoints" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "checkpoints" / "recipe_state" / "recipe_state.pt").touch()
        (tmp_path / "checkpoints" / saved / "model-1-of-1.safetensors").touch()
    request = {"model": "llama-3.1-8b", "method": method, "gpu": "h100-sxm-80gb"}
    script = script_of(request, "torchtune", catalog)
    assert run_with("tune", script, tmp_path).returncode == 0
    recipe = "full_finetune_single_device" if method == "full" else "lora_finetune_single_device"
    assert (tmp_path / "called").read_text().split() == [
        *("run", recipe, "--config", "train.yaml"),
        *(f"resume_from_checkpoint={resumes}", f"checkpointer.checkpoint_files=[{files}]"),
    ]


@pytest.mark.parametrize(
    ("task", "columns", "ranking"),
    [
        ("sft", {"messages": "messages"}, None),
        ("dpo", {"messages": "prompt", "chosen": "chosen", "rejected": "rejected"}, True),
        ("kto", {"messages": "messages", "kto_tag": "label"}, None),
        ("pretrain", {"prompt": "text"}, None),
    ],
)
def test_llama_factory_is_told_about_the_data_unless_it_knows(task, columns, ranking, catalog: Catalog, tmp_path: Path):
    script = script_of({**REQUEST, "task": task}, "llama-factory", catalog)
    run_with("llamafactory-cli", script, tmp_path)
    told = tmp_path / "data" / "dataset_info.json"
    info = json.loads(told.read_text(encoding="utf-8"))["mine"]
    assert (info["file_name"], info["columns"], info.get("ranking")) == ("train.jsonl", columns, ranking)
    told.write_text("{}", encoding="utf-8")
    run_with("llamafactory-cli", script, tmp_path)
    assert told.read_text(encoding="utf-8") == "{}", "yours stays"


def test_several_machines_know_their_rank_and_the_first(catalog: Catalog):
    request = {
        "model": "llama-3.1-8b",
        "method": "full",
        "parallel": {"strategy": "fsdp2", "gpus_per_node": 8, "nodes": 2},
    }
    request |= {"filters": {"max_gpus": 16}}
    answer = estimate(request, catalog)
    words = '--nproc_per_node 8 --nnodes 2 --node_rank "$NODE_RANK" --master_addr "$MASTER_ADDR" --master_port 29500'
    for target, rank in (("skypilot", "$SKYPILOT_NODE_RANK"), ("dstack", "$DSTACK_NODE_RANK")):
        _, script, *_, launch = (file["text"] for file in run_files(answer, catalog, target)["files"])
        assert f"torchrun {words}" in script
        assert f'NODE_RANK="{rank}"' in str(yaml.safe_load(launch))


def test_half_precision_is_what_the_gpu_has(catalog: Catalog):
    """fp32 weights under autocast: bf16 wherever there is one, fp16 on a V100."""
    request = {"model": "qwen2.5-0.5b", "method": "lora", "base_dtype": "fp32", "autocast": True, "framework": "trl"}
    for gpu, half in (("a100-sxm-80gb", "bf16"), ("v100-sxm-16gb", "fp16")):
        answer = estimate({**request, "gpu": gpu}, catalog)
        config = yaml.safe_load(run_files(answer, catalog, "trl")["files"][0]["text"])
        assert [name for name in ("bf16", "fp16") if config.get(name)] == [half]
        launcher = yaml.safe_load(run_files(answer, catalog, "accelerate")["files"][0]["text"])
        assert launcher["mixed_precision"] == half


@pytest.mark.parametrize("tool", ["trl", "axolotl", "llama-factory"])
def test_fsdp_wraps_layer_by_layer(tool: str, catalog: Catalog):
    """accelerate's own default wraps the model whole, whose gathered weights no plan has counted."""
    request = {"model": "llama-3.1-8b", "method": "full", "parallel": {"strategy": "fsdp2", "gpus_per_node": 8}}
    train, *_ = run_files(estimate({**request, "framework": tool}, catalog), catalog, tool)["files"]
    config = yaml.safe_load(train["text"])["fsdp_config"]
    assert config["auto_wrap_policy"] == "TRANSFORMER_BASED_WRAP"
    assert config["cpu_ram_efficient_loading"] is True


def test_what_cannot_be_launched_is_refused(answer: dict, catalog: Catalog):
    with pytest.raises(RequestError, match="target"):
        run_files(answer, catalog, "kubernetes")
    with pytest.raises(RequestError, match="offer"):
        run_files(answer, catalog, "trl", offer=10_000)
    nothing = estimate({"model": "llama-3.1-405b", "method": "full", "filters": {"max_gpus": 1}}, catalog)
    with pytest.raises(RequestError, match="offer"):
        run_files(nothing, catalog, "trl")
    orpo = estimate({**REQUEST, "task": "orpo"}, catalog)
    with pytest.raises(RequestError) as refused:
        run_files(orpo, catalog, "trl")
    assert refused.value.suggestions == ("axolotl", "llama-factory")
    dpo = estimate({**REQUEST, "task": "dpo"}, catalog)
    with pytest.raises(RequestError, match="task"):
        run_files(dpo, catalog, "torchtune")
    phi = estimate({**REQUEST, "model": "qwen3-8b"}, catalog)
    with pytest.raises(RequestError) as refused:
        run_files(phi, catalog, "torchtune")
    assert "qwen3-8b" in refused.value.message["es"]


def test_several_gpus_are_launched_as_the_file_says(catalog: Catalog):
    request = {"model": "llama-3.1-8b", "method": "full", "parallel": {"strategy": "zero3", "gpus_per_node": 8}}
    for tool, command in (
        ("trl", "torchrun --nproc_per_node 8 -m trl.scripts.sft"),
        ("axolotl", "axolotl train train.yaml"),
        ("llama-factory", "FORCE_TORCHRUN=1 llamafactory-cli train"),
    ):
        made = run_files(estimate({**request, "framework": tool}, catalog), catalog, tool)["files"]
        train, script = made
        config = yaml.safe_load(train["text"])
        assert config["deepspeed"]["zero_optimization"]["stage"] == 3
        batch = config.get("micro_batch_size") or config["per_device_train_batch_size"]
        assert config["deepspeed"]["train_batch_size"] == 8 * batch * config["gradient_accumulation_steps"]
        assert command in script["text"]


def test_experts_over_several_gpus_bring_their_plugin(catalog: Catalog):
    request = {
        "model": "mixtral-8x7b",
        "method": "full",
        "framework": "axolotl",
        "loss": "fused",
        "parallel": {"strategy": "fsdp2", "gpus_per_node": 8, "ep": 2},
    }
    (train, _) = run_files(estimate(request, catalog), catalog, "axolotl")["files"]
    config = yaml.safe_load(train["text"])
    assert config["expert_parallel_size"] == 2
    assert [plugin.rsplit(".", 1)[-1] for plugin in config["plugins"]] == [
        "CutCrossEntropyPlugin",
        "ExpertParallelPlugin",
    ]
