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
from ajuste.launch import TARGETS, dstack_gpu, run_files, skypilot_gpu

REQUEST = {"model": "llama-3.1-8b", "method": "qlora", "job": {"budget_usd": 40}, "eval": {"examples": 20}}


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Catalog:
    return load_catalog(catalog_text)


@pytest.fixture(scope="module")
def answer(catalog: Catalog) -> dict:
    return estimate(REQUEST, catalog)


def offers_of(answer: dict, catalog: Catalog, most: int) -> list[int]:
    """Offers that differ in GPU and purchase."""
    kinds: dict[tuple, int] = {}
    for index, offer in enumerate(answer["offers"]):
        kinds.setdefault((offer["gpu"], offer["purchase"], offer["gpus"] > 1), index)
    return list(kinds.values())[:most]


@pytest.mark.slow
def test_the_engines_read_what_we_write(answer: dict, catalog: Catalog, engines: Path, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    files = tmp_path / "files"
    files.mkdir()
    wanted = {}
    for index in offers_of(answer, catalog, 12):
        sky = run_files(answer, catalog, "skypilot", offer=index)["files"][-1]["text"]
        stack = run_files(answer, catalog, "dstack", offer=index)["files"][-1]["text"]
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
    assert len(said) == 2 * len(wanted) >= 8
    for index, offer in wanted.items():
        sky, stack = said[f"{index}.sky.yaml"], said[f"{index}.dstack.yml"]
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


def test_the_budget_stop_stops_and_a_checkpoint_is_resumed(answer: dict, catalog: Catalog, tmp_path: Path):
    """The script as written, with a `trl` that says how it was called and never ends."""
    (script,) = (file["text"] for file in run_files(answer, catalog, "trl")["files"] if file["name"] == "run.sh")
    (tmp_path / "run.sh").write_text(script.replace("limit=", "limit=1 # "), encoding="utf-8")
    tool = tmp_path / "bin" / "trl"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$@" >> called\nexec sleep 60\n', encoding="utf-8")
    tool.chmod(0o755)
    for step in (100, 20):
        (tmp_path / "checkpoints" / f"checkpoint-{step}").mkdir(parents=True)
    done = subprocess.run(
        ["sh", "run.sh"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}", "KEEP": "1"},
        check=False,
        timeout=30,
    )
    assert done.returncode == 124, "timeout says so"
    assert (tmp_path / "called").read_text().split() == [
        *("sft", "--config", "train.yaml", "--resume_from_checkpoint", "checkpoints/checkpoint-100"),
    ]


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
