"""Run files: what an answer becomes in the tool that trains and in the engine that rents.

The launch stops itself twice: at the hours that the budget buys, and when nothing runs any more.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from .catalog import Catalog
from .errors import RequestError
from .launch_run import Run, as_it_runs, header, run_on_offer
from .smoke_file import smoke_file
from .tool_files import write_config
from .train_files import TRAINERS, accelerate_file, packages, shutdown_lines, training_files, unsaid
from .yaml_text import yaml_text

ENGINES = ("skypilot", "dstack", "docker")
TARGETS = (*TRAINERS, "accelerate", *ENGINES, "smoke")

IMAGE = "pytorch/pytorch:2.9.0-cuda12.8-cudnn9-devel"  # for its CUDA compiler: PyTorch itself comes with the tool
PYTHON = "3.12"  # what every tool runs on; a rented machine's own may be older
IDLE_MINUTES = 10  # long enough to look at a run that ended, short enough to cost cents
PRICE_ROOM = 1.1  # prices move by a few per cent between the day they were seen and the launch

# Our providers, as SkyPilot 0.14.1 and dstack 0.22.5 name them.
SKYPILOT_CLOUDS = {
    "digitalocean": "do",
    "prime-intellect": "primeintellect",
    "runpod-community": "runpod",
    "runpod-secure": "runpod",
} | {
    name: name
    for name in (
        *("aws", "azure", "cudo", "fluidstack", "gcp", "hyperbolic", "lambda", "nebius", "oci", "paperspace"),
        *("seeweb", "shadeform", "vast", "verda", "yotta"),
    )
}
DSTACK_BACKENDS = {"runpod-community": "runpod", "runpod-secure": "runpod", "vast": "vastai"} | {
    name: name
    for name in (
        *("aws", "azure", "crusoe", "cudo", "digitalocean", "gcp", "jarvislabs", "lambda", "lium", "nebius", "oci"),
        *("seeweb", "tensordock", "verda", "vultr"),
    )
}
DSTACK_VOLUMES = ("aws", "gcp", "runpod")  # backends where dstack makes a network volume


def run_files(
    answer: dict[str, Any],
    catalog: Catalog,
    target: str,
    *,
    offer: int | None = None,
    language: str = "en",
    model: object = None,
) -> dict[str, Any]:
    """The files that start an answer's run.

    Args:
        answer: what `estimate` gave, `ok` true.
        catalog: the one it was asked with.
        target: a tool that trains (`trl`, `axolotl`, `llama-factory`, `torchtune`), `accelerate`, or an engine that
            rents (`skypilot`, `dstack`, `docker`), which brings the files of the plan's own tool along; or `smoke`:
            what smoke.py is to run on the host first.
        offer: index into `answer["offers"]`; the cheapest when left out.
        language: of the comments, `es` or `en`.
        model: the request's model as it was asked: a Hugging Face repository (`owner/name`) stays in the files, where
            the answer knows only the architecture of the catalog that it shares.

    Returns:
        `files`: `[{"name", "text"}]`, the one to start last; `refused`: fields of the plan that no file can carry,
        `[{"field", "asked", "file", "reason"}]`.

    Raises:
        RequestError: unknown target or offer, an answer without offers, a model that the tool does not have.
    """
    if target not in TARGETS:
        raise RequestError("unknown-value", "target", target, " | ".join(TARGETS))
    run = run_on_offer(answer, catalog, offer, language, model)
    tool = target if target in TRAINERS else run.plan.framework if run.plan.framework in TRAINERS else "trl"
    written = (
        write_config(run.plan.replace(framework=tool), tool, catalog) if target not in ("accelerate", "smoke") else {}
    )
    run = as_it_runs(run, unsaid(run, tool, written.get("refused", [])), catalog)
    if target in TRAINERS:
        return training_files(run, target, catalog)
    if target == "accelerate":
        return {"files": [accelerate_file(run, catalog)], "refused": []}
    if target == "smoke":
        return {"files": [smoke_file(run, catalog)], "refused": []}
    training = training_files(run, tool, catalog)
    own = {"skypilot": _skypilot, "dstack": _dstack, "docker": _docker}[target](run, tool, catalog)
    return {"files": [*training["files"], *own], "refused": training["refused"]}


def _job_name(run: Run) -> str:
    kept = "".join(c if c.isalnum() else "-" for c in f"{run.name}-{run.plan.method}".lower())
    return f"ajuste-{kept}".strip("-")[:40]


def gpu_words(gpu_id: str) -> tuple[list[str], str]:
    """An id of gpus.csv in words, without memory and form factor: `a100-sxm-80gb` -> (["a100"], "80")."""
    *words, memory = gpu_id.split("-")
    return [word for word in words if word not in ("sxm", "pcie", "maxq", "quadro")], memory.removesuffix("gb")


def skypilot_gpu(gpu_id: str) -> str:
    """SkyPilot's name of a GPU: RTX4090, RTX6000-Ada, RTXA6000, A100-80GB, V100-32GB, H100-NVL."""
    words, memory = gpu_words(gpu_id)
    name = words[0].upper()
    if name == "RTX":
        rest = words[1].upper() + words[2].upper() if words[1] == "pro" else words[1].upper()
        tail = [word.capitalize() for word in words[2:] if words[1] != "pro"]
        name = "-".join([name + rest, *tail])
    elif "nvl" in words:
        name += "-NVL"
    if (name, memory) in (("A100", "80"), ("V100", "32")):
        name += f"-{memory}GB"
    return name


def dstack_gpu(gpu_id: str) -> tuple[str, str]:
    """dstack's name and memory of a GPU: (A100, 80GB), (RTX6000Ada, 48GB), (A6000, 48GB), (H100NVL, 94GB)."""
    words, memory = gpu_words(gpu_id)
    name = words[0].upper()
    if name == "RTX":
        parts = [
            word.upper() if word in ("pro", "super") or (word[0] == "a" and word != "ada") else word.capitalize()
            for word in words[1:]
        ]
        name = parts[0] if parts[0][0] == "A" else "RTX" + "".join(parts)
    elif "nvl" in words:
        name += "NVL"
    return name, f"{memory}GB"


def _setup(run: Run, tool: str, catalog: Catalog) -> list[str]:
    """Shell lines: an environment with the release whose keys the file has; the weights where the tool fetches none."""
    lines = [
        "pip install -q uv",
        f"uv venv -q --allow-existing --python {PYTHON} ~/ajuste",
        ". ~/ajuste/bin/activate",
        f"uv pip install -q --torch-backend=auto {packages(run, tool)}",
    ]
    if run.plan.attention == "flash" and tool == "llama-factory":
        lines += ["uv pip install -q setuptools wheel ninja", "uv pip install -q --no-build-isolation flash-attn"]
    if tool == "torchtune" and isinstance(run.plan.model, str):
        name = run.weights or catalog.models[run.plan.model]["hf_id"]
        lines.append(f'tune download {name} --output-dir model --ignore-patterns "original/consolidated*"')
    return lines


def _nodes(rank: str, first: str) -> list[str]:
    return [f'export NODE_RANK="{rank}" MASTER_ADDR="{first}"']


def _skypilot(run: Run, tool: str, catalog: Catalog) -> list[dict[str, str]]:
    spot = run.offer["purchase"] == "spot"
    nodes = run.plan.parallel.nodes
    cloud = SKYPILOT_CLOUDS.get(run.offer["provider"])
    resources: dict[str, Any] = {} if cloud is None else {"infra": cloud}
    resources |= {
        "accelerators": f"{skypilot_gpu(run.gpu.id)}:{run.gpus // nodes}",
        "max_hourly_cost": _highest_price(run),
    }
    notes = {"resources.max_hourly_cost": run.say("price"), "secrets": run.say("token")}
    if spot:
        resources |= {"use_spot": True, "job_recovery": {"strategy": "EAGER_NEXT_REGION", "max_restarts_on_errors": 1}}
        notes["resources.use_spot"] = run.say("spot")
    resources |= {"disk_size": run.disk_gb, "autostop": {"idle_minutes": IDLE_MINUTES, "down": True}}
    notes["resources.disk_size"] = run.say("disk")
    notes["resources.autostop"] = run.say("autostop", minutes=IDLE_MINUTES)
    task: dict[str, Any] = {"name": _job_name(run)}
    if nodes > 1:
        task["num_nodes"] = nodes
    several = _nodes("$SKYPILOT_NODE_RANK", '$(echo "$SKYPILOT_NODE_IPS" | head -n 1)') if nodes > 1 else []
    start = [". ~/ajuste/bin/activate", *several, "ln -sfn ~/checkpoints checkpoints", "sh run.sh"]
    task |= {
        "resources": resources,
        "workdir": ".",
        "file_mounts": {"~/checkpoints": {"name": f"{_job_name(run)}-checkpoints", "mode": "MOUNT_CACHED"}},
        "envs": {"KEEP": "1"},
        "secrets": {"HF_TOKEN": None},
        "setup": "\n".join(_setup(run, tool, catalog)) + "\n",
        "run": "\n".join(start) + "\n",
    }
    notes["file_mounts.~/checkpoints"] = run.say("bucket")
    command = f"sky {'jobs ' if spot else ''}launch --secret HF_TOKEN task.yaml"
    elsewhere = [] if cloud else [run.say("any-cloud", engine="SkyPilot", provider=run.offer["provider"])]
    more = (run.say("launch", command=command), *elsewhere, run.say("budget", **run.stop))
    return [{"name": "task.yaml", "text": yaml_text(task, notes, header(run, [], *more))}]


def _highest_price(run: Run) -> float:
    """USD per hour and machine that the engine may pay."""
    return float(round(run.offer["usd_per_hour"] * PRICE_ROOM / run.plan.parallel.nodes, 4))


def _dstack(run: Run, tool: str, catalog: Catalog) -> list[dict[str, str]]:
    spot = run.offer["purchase"] == "spot"
    nodes = run.plan.parallel.nodes
    name, memory = dstack_gpu(run.gpu.id)
    minutes = max(5, ceil(run.limit_hours * 60))
    backend = DSTACK_BACKENDS.get(run.offer["provider"])
    volume = _volume(run, backend)
    kept = f"{_job_name(run)}-checkpoints"
    place: dict[str, Any] = {"name": kept} if volume else {"instance_path": f"/{kept}", "optional": True}
    task: dict[str, Any] = {"type": "task", "name": _job_name(run), "image": IMAGE, "working_dir": "/workflow"}
    if nodes > 1:
        task["nodes"] = nodes
    if backend:
        task["backends"] = [backend]
    if volume:
        task["regions"] = [run.offer["region"]]
    several = _nodes("$DSTACK_NODE_RANK", "$DSTACK_MASTER_NODE_IP") if nodes > 1 else []
    task |= {
        "files": ["train.yaml", "run.sh", "data"],
        "env": ["HF_TOKEN", "KEEP=1"],
        "commands": [*_setup(run, tool, catalog), *several, "sh run.sh"],
        "volumes": [place | {"path": "/workflow/checkpoints"}],
        "resources": {
            "gpu": {"name": [name], "memory": memory, "count": run.gpus // nodes},
            "disk": {"size": f"{run.disk_gb}GB.."},
            "shm_size": "16GB",
        },
        "spot_policy": "spot" if spot else "on-demand",
        "max_price": _highest_price(run),
        "max_duration": f"{minutes}m",
        "idle_duration": f"{IDLE_MINUTES}m",
        "utilization_policy": {"min_gpu_utilization": 5, "time_window": "30m"},
    }
    if spot:
        task["retry"] = {"on_events": ["no-capacity", "interruption"], "duration": f"{minutes}m"}
    notes = {
        "env": run.say("token"),
        "files": run.say("yours"),
        "volumes": run.say("bucket" if volume else "no-volume"),
        "resources.disk": run.say("disk"),
        "max_price": run.say("price"),
        "max_duration": run.say("budget", **run.stop),
        "idle_duration": run.say("autostop", minutes=IDLE_MINUTES),
        "utilization_policy": run.say("low-use"),
    }
    if spot:
        notes["spot_policy"] = run.say("spot")
    more = [run.say("launch", command="dstack apply -f ajuste.dstack.yml")]
    if not backend:
        more.append(run.say("any-cloud", engine="dstack", provider=run.offer["provider"]))
    if volume:
        more.insert(0, run.say("volume", file=VOLUME_FILE))
    files = [{"name": "ajuste.dstack.yml", "text": yaml_text(task, notes, header(run, [], *more))}]
    if volume:
        files.insert(0, {"name": VOLUME_FILE, "text": yaml_text(volume | {"name": kept}, {}, header(run, []))})
    return files


VOLUME_FILE = "checkpoints.dstack.yml"


def _volume(run: Run, backend: str | None) -> dict[str, Any] | None:
    """A network volume where the offer is; None where dstack makes none, or nobody says the region."""
    if backend not in DSTACK_VOLUMES or not run.offer["region"]:
        return None
    return {"type": "volume", "backend": backend, "region": run.offer["region"], "size": f"{run.disk_gb}GB"}


def _docker(run: Run, tool: str, catalog: Catalog) -> list[dict[str, str]]:
    setup = " && ".join(_setup(run, tool, catalog))
    several = "-e NODE_RANK -e MASTER_ADDR --network host " if run.plan.parallel.nodes > 1 else ""
    lines = [
        "#!/bin/sh",
        *(f"# {line}".rstrip() for line in header(run, [], run.say("budget", **run.stop))),
        "set -u",
        "mkdir -p data checkpoints cache",
        "docker run --rm --gpus all --ipc=host --ulimit memlock=-1 \\",
        f'  -e HF_TOKEN -e KEEP=1 -e HF_HOME=/job/cache {several}-v "$PWD":/job -w /job \\',
        f"  {IMAGE} \\",
        f"  bash -c '{setup} && sh run.sh'",
        "status=$?",
        "",
        *shutdown_lines(run),
    ]
    return [{"name": "docker.sh", "text": "\n".join(lines) + "\n"}]
