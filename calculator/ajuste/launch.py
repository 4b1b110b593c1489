"""Run files: what an answer becomes in the tool that trains and in the engine that rents.

A plan goes into the tool's file by its table (`ajuste.tool_tables`). What it does not decide (data, learning rate,
where things are kept) is added here, with a comment that says what it is. The launch stops itself twice: at the hours
that the budget buys, and when nothing runs any more.
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

from . import __version__
from .catalog import Catalog, Gpu, find_gpu
from .errors import RequestError
from .fit import in_fp16
from .plan import Parallel, Plan
from .resolve import accumulation, resolve
from .tool_files import nest, write_config
from .yaml_text import yaml_text

TRAINERS = ("trl", "axolotl", "llama-factory", "torchtune")
ENGINES = ("skypilot", "dstack", "docker")
TARGETS = (*TRAINERS, "accelerate", *ENGINES, "smoke")

PINS = {  # the releases whose keys the tables hold
    "trl": 'pip install -q "trl[peft,quantization]==1.16.0" "transformers==5.24.0"',
    "axolotl": 'pip install -q "axolotl==0.21.0"',
    "llama-factory": 'pip install -q "llamafactory[torch,metrics,bitsandbytes]==0.9.5"',
    "torchtune": 'pip install -q "torchtune==0.6.1" torchao bitsandbytes',
}
IMAGE = "pytorch/pytorch:2.9.0-cuda12.8-cudnn9-devel"
LEARNING_RATE = {True: 1e-5, False: 2e-4}  # by whether the model's own weights train; the guide's starting points
ON_DEMAND_CHECKPOINT_MINUTES = 30.0  # the guide: every 30 to 60 minutes
SPARE = 1.25  # the budget stop where no budget was said: a quarter beyond the high end of the hours
IDLE_MINUTES = 10
DISK_ROOM = 1.3  # room for packages and caches beside what the job writes

# Builders, tokenizers and checkpoint kinds of torchtune 0.6.1, by model of the catalog.
LLAMA_3 = ("torchtune.models.llama3.llama3_tokenizer", {"path": "original/tokenizer.model"}, "LLAMA3")
LLAMA_3_2 = (*LLAMA_3[:2], "LLAMA3_2")
LLAMA_2 = ("torchtune.models.llama2.llama2_tokenizer", {"path": "tokenizer.model"}, "LLAMA2")
MISTRAL = ("torchtune.models.mistral.mistral_tokenizer", {"path": "tokenizer.model"}, "MISTRAL")
GEMMA = ("torchtune.models.gemma.gemma_tokenizer", {"path": "tokenizer.model"}, "GEMMA")
GEMMA_2 = (*GEMMA[:2], "GEMMA2")
PHI_4 = ("torchtune.models.phi4.phi4_tokenizer", {"vocab_path": "vocab.json", "merges_path": "merges.txt"}, "PHI4")
QWEN_2 = ("torchtune.models.qwen2.qwen2_tokenizer", {"path": "vocab.json", "merges_file": "merges.txt"}, "QWEN2")
QWEN_25 = ("torchtune.models.qwen2_5.qwen2_5_tokenizer", QWEN_2[1], "QWEN2")
TORCHTUNE_MODELS: dict[str, tuple[str, tuple[str, dict[str, str], str]]] = {
    "llama-2-7b": ("llama2.llama2_7b", LLAMA_2),
    "llama-2-13b": ("llama2.llama2_13b", LLAMA_2),
    "llama-2-70b": ("llama2.llama2_70b", LLAMA_2),
    "llama-3-8b": ("llama3.llama3_8b", LLAMA_3),
    "llama-3-70b": ("llama3.llama3_70b", LLAMA_3),
    "llama-3.1-8b": ("llama3_1.llama3_1_8b", LLAMA_3),
    "llama-3.1-70b": ("llama3_1.llama3_1_70b", LLAMA_3),
    "llama-3.1-405b": ("llama3_1.llama3_1_405b", LLAMA_3),
    "llama-3.2-1b": ("llama3_2.llama3_2_1b", LLAMA_3_2),
    "llama-3.2-3b": ("llama3_2.llama3_2_3b", LLAMA_3_2),
    "mistral-7b-v0.1": ("mistral.mistral_7b", MISTRAL),
    "gemma-2b": ("gemma.gemma_2b", GEMMA),
    "gemma-7b": ("gemma.gemma_7b", GEMMA),
    "gemma-2-2b": ("gemma2.gemma2_2b", GEMMA_2),
    "gemma-2-9b": ("gemma2.gemma2_9b", GEMMA_2),
    "gemma-2-27b": ("gemma2.gemma2_27b", GEMMA_2),
    "phi-4": ("phi4.phi4_14b", PHI_4),
    "qwen2-0.5b": ("qwen2.qwen2_0_5b", QWEN_2),
    "qwen2-1.5b": ("qwen2.qwen2_1_5b", QWEN_2),
    "qwen2-7b": ("qwen2.qwen2_7b", QWEN_2),
    "qwen2.5-0.5b": ("qwen2_5.qwen2_5_0_5b", QWEN_25),
    "qwen2.5-1.5b": ("qwen2_5.qwen2_5_1_5b_base", QWEN_25),
    "qwen2.5-3b": ("qwen2_5.qwen2_5_3b", QWEN_25),
    "qwen2.5-7b": ("qwen2_5.qwen2_5_7b_base", QWEN_25),
    "qwen2.5-14b": ("qwen2_5.qwen2_5_14b_base", QWEN_25),
    "qwen2.5-32b": ("qwen2_5.qwen2_5_32b_base", QWEN_25),
    "qwen2.5-72b": ("qwen2_5.qwen2_5_72b_base", QWEN_25),
}

# ------------------------------------------------------------------------------------------------------- sentences

WORDS: dict[str, dict[str, str]] = {
    "title": {
        "es": "Ajuste {version}, datos al {data}: {model}, {method}, filas de hasta {tokens} tokens",
        "en": "Ajuste {version}, data as of {data}: {model}, {method}, rows of up to {tokens} tokens",
    },
    "assumes": {
        "es": "Supone {examples} ejemplos de {mean} tokens de media, {epochs} épocas, lote global {batch}.",
        "en": "Assumes {examples} examples of {mean} tokens on average, {epochs} epochs, global batch {batch}.",
    },
    "where": {
        "es": "En {gpus} × {gpu} ({provider}, {purchase}, {usd} USD/h, visto {checked}):",
        "en": "On {gpus} × {gpu} ({provider}, {purchase}, USD {usd}/h, seen {checked}):",
    },
    "expects": {
        "es": "{low}–{high} GiB de {usable} utilizables, {hours} h, {cost} USD.",
        "en": "{low}–{high} GiB of {usable} usable, {hours} h, USD {cost}.",
    },
    "refused": {
        "es": "Este archivo no lo dice: {field} = {asked}. {reason}",
        "en": "Not in this file: {field} = {asked}. {reason}",
    },
    "default": {"es": "supuesto: {source}", "en": "assumed: {source}"},
    "framework": {"es": "lo que hace {framework} si no se dice", "en": "what {framework} does unless told"},
    "general": {"es": "nuestro valor por defecto", "en": "our default"},
    "derived": {"es": "se deduce de {source}", "en": "follows from {source}"},
    "solved": {"es": "el mayor que cabe en esta GPU", "en": "the largest that fits this GPU"},
    "accumulation": {"es": "con este, lote global {batch}", "en": "makes the global batch {batch}"},
    "checkpoint": {
        "es": "cada {minutes} min, a {seconds} s por paso",
        "en": "every {minutes} min, at {seconds} s per step",
    },
    "no-memory": {"es": "no cambia la memoria", "en": "does not change memory"},
    "yours": {"es": "tuyo: cámbialo", "en": "yours: change it"},
    "resume": {
        "es": "tras una interrupción sigue desde el último checkpoint",
        "en": "goes on from the last checkpoint",
    },
    "evaluation": {"es": "la evaluación que se calculó", "en": "the evaluation that was counted"},
    "no-evaluation": {"es": "se calculó sin evaluación", "en": "counted without evaluation"},
    "budget": {
        "es": "Tope: {hours} h a {usd} USD/h son {cost} USD. Pasado ese tiempo se guarda y se para.",
        "en": "Stop: {hours} h at USD {usd}/h are USD {cost}. After that it is told to stop.",
    },
    "shutdown": {
        "es": "Al terminar, bien o mal, la máquina se apaga. KEEP=1 la deja encendida.",
        "en": "When it ends, well or not, the machine switches itself off. KEEP=1 leaves it on.",
    },
    "terminate": {
        "es": "Apagar no siempre es dejar de pagar: comprueba que el proveedor la termina.",
        "en": "Off is not always unpaid: check that the provider terminates it.",
    },
    "spot": {"es": "spot: puede interrumpirse; se recupera sola", "en": "spot: may be interrupted; recovers by itself"},
    "autostop": {
        "es": "sin nada que hacer durante {minutes} min, se borra",
        "en": "with nothing to do for {minutes} min, it is torn down",
    },
    "price": {"es": "el precio con que se calculó, más un 10 %", "en": "the price it was counted with, and 10 %"},
    "bucket": {"es": "los checkpoints viven fuera de la máquina", "en": "checkpoints live outside the machine"},
    "disk": {
        "es": "lo que el trabajo escribe, y sitio para paquetes",
        "en": "what the job writes, and room for packages",
    },
    "launch": {"es": "Se lanza con: {command}", "en": "Launch with: {command}"},
    "shards": {"es": "cuenta los archivos del modelo que bajaste", "en": "count the files of the model you downloaded"},
    "low-use": {"es": "una GPU parada durante 30 min detiene el trabajo", "en": "a GPU idle for 30 min stops the run"},
}


class Run(NamedTuple):
    """One run on one offer: everything that the files say."""

    plan: Plan
    name: str  # of the model
    offer: dict[str, Any]
    gpu: Gpu
    usable_gib: float | None
    steps: int
    step_seconds: float
    interval_minutes: float
    limit_hours: float  # the budget stop
    disk_gb: int
    data: str  # newest day of the data
    language: str

    def say(self, name: str, **values: object) -> str:
        """A sentence of the files' comments."""
        return WORDS[name][self.language].format(**values)

    @property
    def gpus(self) -> int:
        """All GPUs of the job."""
        return int(self.offer["gpus"])

    @property
    def global_batch(self) -> int:
        """Sequences per optimizer step."""
        return self.plan.batch * self.plan.grad_accum * self.plan.parallel.data_ranks


def run_files(
    answer: dict[str, Any], catalog: Catalog, target: str, *, offer: int | None = None, language: str = "en"
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

    Returns:
        `files`: `[{"name", "text"}]`, the one to start last; `refused`: fields of the plan that no file can carry,
        `[{"field", "asked", "file", "reason"}]`.

    Raises:
        RequestError: unknown target or offer, an answer without offers, a model that the tool does not have.
    """
    if target not in TARGETS:
        raise RequestError("unknown-value", "target", target, " | ".join(TARGETS))
    run = _run(answer, catalog, offer, language)
    tool = run.plan.framework if run.plan.framework in TRAINERS else "trl"
    if target in TRAINERS:
        return _training_files(run, target, catalog)
    if target == "accelerate":
        return {"files": [_accelerate_file(run, catalog)], "refused": []}
    if target == "smoke":
        return {"files": [_smoke_file(run, catalog)], "refused": []}
    training = _training_files(run, tool, catalog)
    own = {"skypilot": _skypilot, "dstack": _dstack, "docker": _docker}[target](
        run, [file["name"] for file in training["files"]]
    )
    return {"files": [*training["files"], own], "refused": training["refused"]}


# ------------------------------------------------------------------------------------------------------ the run


def _run(answer: dict[str, Any], catalog: Catalog, index: int | None, language: str) -> Run:
    if not answer.get("ok"):
        raise RequestError("wrong-type", "answer", answer.get("error"), '{"ok": true, …}')
    offers = answer["offers"]
    if index is None:
        index = answer["picks"].get("cheapest")
        index = 0 if index is None and offers else index
    if index is None or not 0 <= index < len(offers):
        raise RequestError(
            "inconsistent",
            "offer",
            es="No hay una oferta en la que quepa: sin ella no hay qué lanzar.",
            en="No offer that it fits: without one there is nothing to launch.",
        )
    offer = offers[index]
    gpu = find_gpu(catalog, offer["gpu"])
    plan = _plan_on(answer, offer, gpu, catalog)
    steps = _steps(plan)
    seconds = offer["hours"]["mid"] * 3600 / plan.job.experiments / steps
    spot = offer.get("spot") or {}
    interval = plan.job.checkpoint_minutes or spot.get("interval_minutes") or ON_DEMAND_CHECKPOINT_MINUTES
    if plan.save.every_steps is None:
        every = max(1, min(steps, round(interval * 60 / seconds)))
        plan = plan.replace(save=plan.save._replace(every_steps=every))
    if plan.eval.examples and plan.eval.every_steps is None:
        plan = plan.replace(eval=plan.eval._replace(every_steps=plan.save.every_steps))
    budget = plan.job.budget_usd
    limit = budget / offer["usd_per_hour"] if budget else offer["hours"]["high"] * SPARE
    name = answer["model"]["id"] or "config.json"
    disk = ceil(answer["memory"]["disk_gb"]["high"] * DISK_ROOM / 10) * 10 + 40
    data = str(answer["versions"]["data"])
    return Run(plan, name, offer, gpu, gpu.usable_gib, steps, seconds, interval, limit, disk, data, language)


def _plan_on(answer: dict[str, Any], offer: dict[str, Any], gpu: Gpu, catalog: Catalog) -> Plan:
    """The answer's plan on an offer: its micro-batch, GPUs and strategy, what the GPU cannot do left out."""
    request = {name: value for name, value in answer["plan"].items() if name != "defaults"}
    asked = {name: value for name, value in request.items() if value is not None}
    plan, _ = resolve(asked, catalog)
    plan = plan.replace(defaults=answer["plan"]["defaults"])
    nodes = plan.parallel.nodes
    parallel: Parallel = plan.parallel
    if parallel.world == 1:
        parallel = parallel._replace(strategy=offer["strategy"], gpus_per_node=offer["gpus"], nodes=1)
    elif offer["gpus"] != parallel.gpus_per_node:
        parallel = parallel._replace(gpus_per_node=max(1, offer["gpus"] // nodes))
    plan = plan.replace(parallel=parallel, micro_batch=offer["micro_batch"])
    if plan.global_batch is not None:
        plan = plan.replace(grad_accum=accumulation(plan.global_batch, plan.batch, plan.parallel.data_ranks))
    if gpu.supports_bf16 is False:
        plan = in_fp16(plan)
    if plan.attention == "flash" and gpu.supports_flash_attention_2 is False:
        plan = plan.replace(attention="sdpa")
    return plan


def _steps(plan: Plan) -> int:
    """Optimizer steps of the job: rows ÷ (micro-batch × accumulation × ranks), per epoch."""
    rows = plan.dataset.examples
    if plan.padding == "packed":
        filled = plan.dataset.pack_efficiency or 1.0
        rows = ceil(rows * plan.dataset.mean_tokens / (plan.sequence_length * filled))
    per_epoch = ceil(rows / (plan.batch * plan.grad_accum * plan.parallel.data_ranks))
    return max(1, ceil(per_epoch * plan.dataset.epochs))


def _header(run: Run, refused: list[dict[str, Any]], *more: str) -> tuple[str, ...]:
    offer, plan = run.offer, run.plan
    need, hours, cost = offer["required_gib"], offer["hours"], offer["usd"]
    usable = "?" if run.usable_gib is None else f"{run.usable_gib:g}"
    purchase = offer["purchase"]
    return (
        run.say(
            "title", version=__version__, data=run.data, model=run.name, method=plan.method, tokens=plan.sequence_length
        ),
        run.say(
            "assumes",
            examples=f"{plan.dataset.examples:,}".replace(",", "\u202f" if run.language == "es" else ","),
            mean=f"{plan.dataset.mean_tokens:g}",
            epochs=f"{plan.dataset.epochs:g}",
            batch=run.global_batch,
        ),
        run.say(
            "where",
            gpus=run.gpus,
            gpu=run.gpu.id,
            provider=offer["provider"],
            purchase=purchase,
            usd=f"{offer['usd_per_hour']:g}",
            checked=offer["checked"],
        ),
        "  "
        + run.say(
            "expects",
            low=f"{need['low']:.1f}",
            high=f"{need['high']:.1f}",
            usable=usable,
            hours=f"{hours['low']:.1f}–{hours['high']:.1f}",
            cost=f"{cost['low']:.2f}–{cost['high']:.2f}",
        ),
        *more,
        *(
            run.say("refused", field=row["field"], asked=_short(row["asked"]), reason=row["reason"][run.language])
            for row in refused
            if row["field"].split(".")[0]
            not in ("job", "filters", "gpu", "mode", "global_batch", "dataset", "calibration")
        ),
    )


def _short(value: object) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:60] + "…"


# ----------------------------------------------------------------------------------------------- training files


def _training_files(run: Run, tool: str, catalog: Catalog) -> dict[str, Any]:
    run = run._replace(plan=run.plan.replace(framework=tool))
    written = write_config(run.plan, tool, catalog)
    if not _sees_images(run, catalog):
        written["config"] = {key: value for key, value in written["config"].items() if key not in VISION_KEYS}
    refused = [row for row in written["refused"] if not _said_at_launch(run, tool, row["field"])]
    notes = _notes(run, written["decides"])
    extras = {"trl": _trl, "axolotl": _axolotl, "llama-factory": _llama_factory, "torchtune": _torchtune}[tool](run)
    config: dict[str, Any] = nest(_merged(written["config"], extras))
    notes |= {key: note for key, (_, note) in extras.items() if note}
    files = [{"name": "train.yaml", "text": yaml_text(config, notes, _header(run, refused))}]
    files.append({"name": "run.sh", "text": _shell(run, tool)})
    return {"files": files, "refused": refused}


VISION_KEYS = ("freeze_mm_modules", "freeze_vision_tower")


def _sees_images(run: Run, catalog: Catalog) -> bool:
    model = run.plan.model
    return "vision_config" in (model if isinstance(model, dict) else catalog.models[model]["config"])


def _said_at_launch(run: Run, tool: str, field: str) -> bool:
    """Whether the command beside the file says it: GPUs, recipe, trainer."""
    if field in ("parallel.strategy", "parallel.gpus_per_node", "parallel.nodes"):
        return run.plan.parallel.strategy in ("none", "ddp", "fsdp2") or tool == "trl"
    return (field in ("task", "eval.examples") and tool == "trl") or (field == "method" and tool == "torchtune")


def _notes(run: Run, decides: dict[str, list[str]]) -> dict[str, str]:
    """Key -> which assumption stands behind it: only where nobody asked for the value."""
    notes = {}
    for key, fields in decides.items():
        origins = [run.plan.defaults[field] for field in fields if field in run.plan.defaults]
        if "micro_batch" in fields:
            notes[key] = run.say("solved") if "micro_batch" in run.plan.defaults else ""
        elif "grad_accum" in fields:
            notes[key] = run.say("accumulation", batch=run.global_batch)
        elif "eval.every_steps" in fields:
            notes[key] = run.say("evaluation")
        elif "save.every_steps" in fields:
            minutes = (run.plan.save.every_steps or run.steps) * run.step_seconds / 60
            notes[key] = run.say("checkpoint", minutes=f"{minutes:.0f}", seconds=f"{run.step_seconds:.2g}")
        elif origins and len(origins) == len(fields):
            notes[key] = run.say("default", source=_source(run, origins[0]))
    return {key: note for key, note in notes.items() if note}


def _source(run: Run, origin: str) -> str:
    if origin in ("framework", "general"):
        return run.say(origin, framework=run.plan.framework)
    return run.say("derived", source=origin)


def _merged(config: dict[str, Any], extras: dict[str, tuple[Any, str]]) -> dict[str, Any]:
    from .tool_files import flatten

    merged = {**flatten(config), **{key: value for key, (value, _) in extras.items()}}
    if "plugins" in config and "plugins" in extras:
        merged["plugins"] = [*config["plugins"], *extras["plugins"][0]]
    return merged


def _learning_rate(run: Run) -> float:
    return LEARNING_RATE[run.plan.trains_base]


def _evaluates(run: Run) -> tuple[str, str]:
    return ("steps", run.say("evaluation")) if run.plan.eval.examples else ("no", run.say("no-evaluation"))


TRL_SCRIPTS = {"sft": "sft", "pretrain": "sft", "dpo": "dpo", "kto": "kto", "reward": "reward", "grpo": "grpo"}


def _trl(run: Run) -> dict[str, tuple[Any, str]]:
    if run.plan.task not in TRL_SCRIPTS:
        raise RequestError(
            "inconsistent",
            "task",
            es=f"TRL no trae un script para {run.plan.task}: usa axolotl o LLaMA-Factory.",
            en=f"TRL has no script for {run.plan.task}: use axolotl or LLaMA-Factory.",
            suggestions=("axolotl", "llama-factory"),
        )
    strategy, why = _evaluates(run)
    extras: dict[str, tuple[Any, str]] = {
        "datasets": ([{"path": "json", "data_files": "data/train.jsonl"}], run.say("yours")),
        "learning_rate": (_learning_rate(run), run.say("no-memory")),
        "lr_scheduler_type": ("cosine", ""),
        "warmup_steps": (0.03, ""),
        "eval_strategy": (strategy, why),
        "save_strategy": ("steps", ""),
        "logging_steps": (10, ""),
        "output_dir": ("checkpoints", ""),
    }
    if run.plan.eval.examples:
        share = run.plan.eval.examples / (run.plan.dataset.examples + run.plan.eval.examples)
        extras["test_split_size"] = (float(f"{share:.4g}"), run.say("evaluation"))
    if run.plan.has_lora:
        extras["lora_alpha"] = (2 * run.plan.lora.rank, run.say("no-memory"))
    return extras


def _axolotl(run: Run) -> dict[str, tuple[Any, str]]:
    kind = "chat_template" if run.plan.task in ("sft", "grpo") else "chat_template.default"
    extras: dict[str, tuple[Any, str]] = {
        "datasets": ([{"path": "data/train.jsonl", "ds_type": "json", "type": kind}], run.say("yours")),
        "learning_rate": (_learning_rate(run), run.say("no-memory")),
        "lr_scheduler": ("cosine", ""),
        "warmup_ratio": (0.03, ""),
        "logging_steps": (10, ""),
        "output_dir": ("checkpoints", ""),
        "auto_resume_from_checkpoints": (True, run.say("resume")),
    }
    if run.plan.task == "pretrain":
        extras["pretraining_dataset"] = ([{"path": "data/train.jsonl", "type": "pretrain"}], run.say("yours"))
        del extras["datasets"]
    if run.plan.has_lora:
        extras["lora_alpha"] = (2 * run.plan.lora.rank, run.say("no-memory"))
    if run.plan.parallel.ep > 1:
        extras["plugins"] = (["axolotl.integrations.expert_parallel.ExpertParallelPlugin"], "")
    return extras | _deepspeed_extras(run)


def _deepspeed_extras(run: Run) -> dict[str, tuple[Any, str]]:
    """What a DeepSpeed table inside a trainer's file needs beside the plan: the trainer fills in “auto”."""
    if not run.plan.parallel.strategy.startswith("zero"):
        return {}
    return {
        "deepspeed.bf16.enabled": ("auto", ""),
        "deepspeed.fp16.enabled": ("auto", ""),
        "deepspeed.train_micro_batch_size_per_gpu": ("auto", ""),
        "deepspeed.gradient_accumulation_steps": ("auto", ""),
        "deepspeed.gradient_clipping": ("auto", ""),
    }


def _llama_factory(run: Run) -> dict[str, tuple[Any, str]]:
    strategy, why = _evaluates(run)
    extras: dict[str, tuple[Any, str]] = {
        "do_train": (True, ""),
        "dataset": ("mine", run.say("yours")),
        "dataset_dir": ("data", ""),
        "template": ("default", run.say("yours")),
        "learning_rate": (_learning_rate(run), run.say("no-memory")),
        "lr_scheduler_type": ("cosine", ""),
        "warmup_steps": (0.03, ""),
        "eval_strategy": (strategy, why),
        "logging_steps": (10, ""),
        "output_dir": ("checkpoints", ""),
        "overwrite_output_dir": (False, run.say("resume")),
    }
    if run.plan.has_lora:
        extras["lora_alpha"] = (2 * run.plan.lora.rank, run.say("no-memory"))
    return extras | _deepspeed_extras(run)


def _torchtune(run: Run) -> dict[str, tuple[Any, str]]:
    if run.name not in TORCHTUNE_MODELS or run.plan.method not in ("full", "lora", "qlora", "dora"):
        raise RequestError(
            "inconsistent",
            "model" if run.name not in TORCHTUNE_MODELS else "method",
            es=f"torchtune no trae un constructor para {run.name} con {run.plan.method}.",
            en=f"torchtune has no builder for {run.name} with {run.plan.method}.",
            suggestions=tuple(TORCHTUNE_MODELS)[:3],
        )
    builder, (tokenizer, files, kind) = TORCHTUNE_MODELS[run.name]
    module, function = builder.split(".")
    prefix = {"full": "", "qlora": "qlora_"}.get(run.plan.method, "lora_")
    extras: dict[str, tuple[Any, str]] = {
        "output_dir": ("checkpoints", ""),
        "model._component_": (f"torchtune.models.{module}.{prefix}{function}", ""),
        "tokenizer._component_": (tokenizer, ""),
        **{f"tokenizer.{key}": (f"model/{name}", "") for key, name in files.items()},
        "checkpointer._component_": ("torchtune.training.FullModelHFCheckpointer", ""),
        "checkpointer.checkpoint_dir": ("model", ""),
        "checkpointer.checkpoint_files.filename_format": ("model-{}-of-{}.safetensors", ""),
        "checkpointer.checkpoint_files.max_filename": ("00004", run.say("shards")),
        "checkpointer.recipe_checkpoint": (None, ""),
        "checkpointer.output_dir": ("checkpoints", ""),
        "checkpointer.model_type": (kind, ""),
        "resume_from_checkpoint": (False, run.say("resume") + ": resume_from_checkpoint=True"),
        "dataset._component_": ("torchtune.datasets.chat_dataset", run.say("yours")),
        "dataset.source": ("json", ""),
        "dataset.data_files": ("data/train.jsonl", ""),
        "dataset.conversation_column": ("messages", ""),
        "dataset.conversation_style": ("openai", ""),
        "seed": (None, ""),
        "shuffle": (True, ""),
        "optimizer.lr": (_learning_rate(run), run.say("no-memory")),
        "max_steps_per_epoch": (None, ""),
        "metric_logger._component_": ("torchtune.training.metric_logging.DiskLogger", ""),
        "metric_logger.log_dir": ("checkpoints/logs", ""),
        "log_peak_memory_stats": (True, ""),
        "device": ("cuda", ""),
        "profiler._component_": ("torchtune.training.setup_torch_profiler", ""),
        "profiler.enabled": (False, ""),
    }
    if run.plan.has_lora:
        extras |= {
            "model.lora_alpha": (2 * run.plan.lora.rank, run.say("no-memory")),
            "model.apply_lora_to_output": (False, ""),
            "save_adapter_weights_only": (True, ""),
            "lr_scheduler._component_": ("torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup", ""),
            "lr_scheduler.num_warmup_steps": (max(1, round(0.03 * run.steps)), ""),
        }
        if run.plan.method == "dora":
            extras["model.use_dora"] = (True, "")
    return extras


def _accelerate_file(run: Run, catalog: Catalog) -> dict[str, str]:
    written = write_config(run.plan, "accelerate", catalog)
    extras: dict[str, tuple[Any, str]] = {
        "compute_environment": ("LOCAL_MACHINE", ""),
        "mixed_precision": (_mixed_precision(run.plan), ""),
        "machine_rank": (0, ""),
        "main_training_function": ("main", ""),
        "rdzv_backend": ("static", ""),
        "same_network": (True, ""),
        "use_cpu": (False, ""),
    }
    if run.plan.parallel.strategy.startswith("fsdp"):
        extras |= {
            "fsdp_config.fsdp_auto_wrap_policy": ("TRANSFORMER_BASED_WRAP", ""),
            "fsdp_config.fsdp_state_dict_type": ("SHARDED_STATE_DICT", ""),
            "fsdp_config.fsdp_cpu_ram_efficient_loading": (True, ""),
        }
    if run.plan.parallel.strategy == "zero3":
        extras["deepspeed_config.zero3_init_flag"] = (True, "")
        extras["deepspeed_config.zero3_save_16bit_model"] = (True, "")
    config = nest(_merged(written["config"], extras))
    return {"name": "accelerate.yaml", "text": yaml_text(config, {}, _header(run, written["refused"]))}


def _mixed_precision(plan: Plan) -> str:
    if plan.precision == "bf16-master" or (
        plan.autocast and "fp16" not in (plan.base_dtype, (plan.precision or "")[:4])
    ):
        return "bf16"
    return "fp16" if plan.autocast else "no"


# --------------------------------------------------------------------------------------------------- launching


def _command(run: Run, tool: str) -> str:
    """The command that trains, on all GPUs of the machine."""
    many = run.gpus > 1
    if tool == "axolotl":
        return "axolotl train train.yaml"
    if tool == "llama-factory":
        return f"{'FORCE_TORCHRUN=1 ' if many else ''}llamafactory-cli train train.yaml"
    if tool == "torchtune":
        kind = "full_finetune" if run.plan.trains_base else "lora_finetune"
        if many:
            return f"tune run --nproc_per_node {run.gpus} {kind}_distributed --config train.yaml"
        return f"tune run {kind}_single_device --config train.yaml"
    script = TRL_SCRIPTS[run.plan.task]
    resume = '${last:+--resume_from_checkpoint "$last"}'
    if many:
        # The file holds the sharding: a launcher with a configuration of its own could contradict it.
        return f"torchrun --nproc_per_node {run.gpus} -m trl.scripts.{script} --config train.yaml {resume}"
    return f"trl {script} --config train.yaml {resume}"


def _shell(run: Run, tool: str) -> str:
    seconds = round(run.limit_hours * 3600)
    usd = run.offer["usd_per_hour"]
    lines = [
        "#!/bin/sh",
        *(f"# {line}".rstrip() for line in _header(run, [])),
        "set -u",
        *(['export PYTORCH_ALLOC_CONF="expandable_segments:True"'] if run.plan.allocator == "expandable" else []),
        "",
        f"# {run.say('resume')}",
        "last=$(ls -d checkpoints/checkpoint-* 2>/dev/null | sort -V | tail -n 1)",
        "",
        f"# {run.say('budget', hours=f'{run.limit_hours:.1f}', usd=f'{usd:g}', cost=f'{run.limit_hours * usd:.2f}')}",
        f"limit={seconds}",
        f'timeout --signal=INT --kill-after=300 "$limit" sh -c \'{_command(run, tool)}\' train "$last"',
        "status=$?",
        "",
        f"# {run.say('shutdown')}",
        f"# {run.say('terminate')}",
        'if [ -z "${KEEP:-}" ]; then sudo -n shutdown -h +1 2>/dev/null || shutdown -h +1 2>/dev/null || true; fi',
        'exit "$status"',
    ]
    text = "\n".join(lines) + "\n"
    return text.replace("sh -c '", "sh -c 'last=$1; ") if tool == "trl" else text


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


def _setup(run: Run, tool: str) -> str:
    """Install the release whose keys the file has; fetch the weights where the tool does not."""
    lines = [PINS[tool]]
    if tool == "torchtune":
        lines.append(f"tune download {run.plan.model} --output-dir model --ignore-patterns 'original/consolidated*'")
    if run.plan.attention == "flash":
        lines.append("pip install -q flash-attn --no-build-isolation")
    if run.plan.kernels == "liger":
        lines.append("pip install -q liger-kernel")
    if run.plan.parallel.strategy.startswith("zero"):
        lines.append('pip install -q "deepspeed==0.19.8"')
    return "\n".join(lines) + "\n"


def _tool(run: Run) -> str:
    return run.plan.framework if run.plan.framework in TRAINERS else "trl"


def _skypilot(run: Run, names: list[str]) -> dict[str, str]:
    spot = run.offer["purchase"] == "spot"
    nodes = run.plan.parallel.nodes
    resources: dict[str, Any] = {"accelerators": f"{skypilot_gpu(run.gpu.id)}:{run.gpus // nodes}"}
    notes: dict[str, str] = {}
    if spot:
        resources |= {"use_spot": True, "job_recovery": {"strategy": "EAGER_NEXT_REGION", "max_restarts_on_errors": 1}}
        notes["resources.use_spot"] = run.say("spot")
    resources |= {"disk_size": run.disk_gb, "autostop": {"idle_minutes": IDLE_MINUTES, "down": True}}
    notes["resources.disk_size"] = run.say("disk")
    notes["resources.autostop"] = run.say("autostop", minutes=IDLE_MINUTES)
    task: dict[str, Any] = {"name": _job_name(run)}
    if nodes > 1:
        task["num_nodes"] = nodes
    task |= {
        "resources": resources,
        "workdir": ".",
        "file_mounts": {"~/checkpoints": {"name": f"{_job_name(run)}-checkpoints", "mode": "MOUNT_CACHED"}},
        "envs": {"HF_TOKEN": "", "KEEP": "1"},
        "setup": _setup(run, _tool(run)),
        "run": "ln -sfn ~/checkpoints checkpoints\nsh run.sh\n",
    }
    notes["file_mounts.~/checkpoints"] = run.say("bucket")
    command = "sky jobs launch task.yaml" if spot else "sky launch task.yaml"
    header = _header(run, [], run.say("launch", command=command), *_stop_line(run))
    return {"name": "task.yaml", "text": yaml_text(task, notes, header)}


def _stop_line(run: Run) -> tuple[str]:
    usd = run.offer["usd_per_hour"]
    return (run.say("budget", hours=f"{run.limit_hours:.1f}", usd=f"{usd:g}", cost=f"{run.limit_hours * usd:.2f}"),)


def _dstack(run: Run, names: list[str]) -> dict[str, str]:
    spot = run.offer["purchase"] == "spot"
    nodes = run.plan.parallel.nodes
    name, memory = dstack_gpu(run.gpu.id)
    minutes = max(5, ceil(run.limit_hours * 60))
    task: dict[str, Any] = {"type": "task", "name": _job_name(run), "image": IMAGE}
    if nodes > 1:
        task["nodes"] = nodes
    task |= {
        "files": names,
        "env": ["HF_TOKEN", "KEEP=1"],
        "commands": [*_setup(run, _tool(run)).splitlines(), "sh run.sh"],
        "volumes": [{"name": f"{_job_name(run)}-checkpoints", "path": "/workflow/checkpoints"}],
        "resources": {
            "gpu": {"name": [name], "memory": memory, "count": run.gpus // nodes},
            "disk": {"size": f"{run.disk_gb}GB.."},
            "shm_size": "16GB",
        },
        "spot_policy": "spot" if spot else "on-demand",
        "max_price": round(run.offer["usd_per_hour"] * 1.1 / nodes, 4),
        "max_duration": f"{minutes}m",
        "idle_duration": f"{IDLE_MINUTES}m",
        "utilization_policy": {"min_gpu_utilization": 5, "time_window": "30m"},
    }
    if spot:
        task["retry"] = {"on_events": ["no-capacity", "interruption"], "duration": f"{minutes}m"}
    notes = {
        "volumes": run.say("bucket"),
        "resources.disk": run.say("disk"),
        "max_price": run.say("price"),
        "max_duration": run.say("budget", **_stop_numbers(run)),
        "idle_duration": run.say("autostop", minutes=IDLE_MINUTES),
        "utilization_policy": run.say("low-use"),
    }
    if spot:
        notes["spot_policy"] = run.say("spot")
    header = _header(run, [], run.say("launch", command="dstack apply -f ajuste.dstack.yml"))
    return {"name": "ajuste.dstack.yml", "text": yaml_text(task, notes, header)}


def _stop_numbers(run: Run) -> dict[str, str]:
    usd = run.offer["usd_per_hour"]
    return {"hours": f"{run.limit_hours:.1f}", "usd": f"{usd:g}", "cost": f"{run.limit_hours * usd:.2f}"}


def _docker(run: Run, names: list[str]) -> dict[str, str]:
    setup = " && ".join(line for line in _setup(run, _tool(run)).splitlines())
    lines = [
        "#!/bin/sh",
        *(f"# {line}".rstrip() for line in _header(run, [], *_stop_line(run))),
        "set -u",
        "mkdir -p data checkpoints cache",
        "docker run --rm --gpus all --ipc=host --ulimit memlock=-1 \\",
        '  -e HF_TOKEN -e KEEP=1 -e HF_HOME=/job/cache -v "$PWD":/job -w /job \\',
        f"  {IMAGE} \\",
        f"  bash -c '{setup.replace(chr(39), chr(34))} && sh run.sh'",
        "status=$?",
        "",
        f"# {run.say('shutdown')}",
        f"# {run.say('terminate')}",
        'if [ -z "${KEEP:-}" ]; then sudo -n shutdown -h +1 2>/dev/null || shutdown -h +1 2>/dev/null || true; fi',
        'exit "$status"',
    ]
    return {"name": "docker.sh", "text": "\n".join(lines) + "\n"}


# --------------------------------------------------------------------------------------------------- smoke test

SMOKE_METHODS = ("full", "lora", "qlora", "dora", "rslora")


def _smoke_file(run: Run, catalog: Catalog) -> dict[str, str]:
    """What smoke.py runs, and what we compute for that: its own loop on one GPU, not the tool that trains later."""
    import json

    from .answer import estimate

    plan = run.plan
    if plan.method not in SMOKE_METHODS or plan.quantization not in ("none", "nf4", "nf4-nested", "int8"):
        raise RequestError(
            "inconsistent",
            "method" if plan.method not in SMOKE_METHODS else "quantization",
            es=f"La prueba de humo no hace {plan.method} con {plan.quantization}.",
            en=f"The smoke test does not do {plan.method} with {plan.quantization}.",
            suggestions=SMOKE_METHODS,
        )
    half = "fp16" if run.gpu.supports_bf16 is False else "bf16"
    targets = list(plan.lora.targets) if isinstance(plan.lora.targets, tuple) else plan.lora.targets
    optimizer = plan.optimizer if plan.optimizer in ("adamw", "adamw-8bit", "paged-adamw-8bit", "sgd") else "adamw"
    request: dict[str, Any] = {
        "model": plan.model,
        "method": plan.method,
        "framework": "hf",
        "quantization": plan.quantization,
        "sequence_length": plan.sequence_length,
        "optimizer": optimizer,
        "gradient_checkpointing": "none" if plan.gradient_checkpointing == "none" else "full",
        "attention": "sdpa",
        "padding": "packed",  # every row is of the longest length
        "loss": "default",
        "kbit_upcast": False,
        "gpu": run.gpu.id,
        "filters": {"max_gpus": 1},
        "dataset": {"mean_tokens": plan.sequence_length},
    }
    if plan.trains_base:
        request["precision"] = half
    else:
        request |= {
            "base_dtype": half,
            "autocast": True,
            "lora": {"rank": plan.lora.rank, "targets": targets, "dtype": "fp32"},
        }
    solved = estimate(request, catalog)
    batch = min(plan.batch, next((row["micro_batch"] for row in solved["gpus"] if row["count"] == 1), 1))
    answer = estimate({**request, "micro_batch": batch}, catalog)
    (card,) = (row for row in answer["gpus"] if row["count"] == 1)
    name = catalog.models[plan.model].get("hf_id") if isinstance(plan.model, str) else None
    spec = {
        "model": name,
        "method": plan.method,
        "sequence_length": plan.sequence_length,
        "micro_batch": batch,
        "lora_rank": plan.lora.rank,
        "lora_targets": targets,
        "optimizer": optimizer,
        "gradient_checkpointing": request["gradient_checkpointing"] == "full",
        "autocast": not plan.trains_base,
        "dtype": half,
        "quantization": plan.quantization,
        "eval_batch": plan.eval.batch,
        "expected": {
            "allocated_gib": answer["memory"]["allocated_gib"],
            "tokens_per_second": card["tokens_per_second"],
        },
    }
    return {"name": "smoke.json", "text": json.dumps(spec, ensure_ascii=False, indent=1) + "\n"}
