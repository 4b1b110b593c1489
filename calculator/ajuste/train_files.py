"""The files of the tools that train: TRL, axolotl, LLaMA-Factory, torchtune, and accelerate's beside them.

A plan goes into the tool's file by its table (`ajuste.tool_tables`). What it does not decide (data, learning rate,
where things are kept) is added here, with a comment that says what it is. `run.sh` starts it, and stops it.
"""

from __future__ import annotations

import json
from typing import Any

from .catalog import Catalog, is_tuned
from .constants import PRESETS
from .errors import RequestError
from .launch_run import Run, header
from .tool_files import nest, write_config
from .torchtune_models import TORCHTUNE_MODELS
from .yaml_text import yaml_text

TRAINERS = ("trl", "axolotl", "llama-factory", "torchtune")

PACKAGES = {  # the releases whose keys the tables hold
    "trl": '"trl[peft,quantization]==1.16.0" "transformers==5.24.0"',
    "axolotl": '"axolotl==0.21.0"',
    "llama-factory": '"llamafactory[torch,metrics,bitsandbytes]==0.9.5"',
    # The newest torchao no longer has what torchtune imports (torchao.dtypes.nf4tensor).
    "torchtune": '"torchtune==0.6.1" "torch==2.7.1" "torchao==0.10.0" bitsandbytes',
}


def training_files(run: Run, tool: str, catalog: Catalog) -> dict[str, Any]:
    """train.yaml and run.sh of a tool, and the fields of the plan that they cannot carry. Raises RequestError."""
    run = run._replace(plan=run.plan.replace(framework=tool))
    written = write_config(run.plan, tool, catalog)
    if not _sees_images(run, catalog):
        written["config"] = {key: value for key, value in written["config"].items() if key not in VISION_KEYS}
    for key in MODEL_KEYS:
        if run.weights and key in written["config"]:
            written["config"][key] = run.weights
    refused = unsaid(run, tool, written["refused"])
    notes = _notes(run, written["decides"])
    extras = {"trl": _trl, "axolotl": _axolotl, "llama-factory": _llama_factory, "torchtune": _torchtune}[tool](run)
    extras |= _chat(run, tool)
    if written["config"].get("bf16") and run.gpu.supports_bf16 is False:
        extras |= {"bf16": (False, ""), "fp16": (True, notes.pop("bf16", ""))}
    config: dict[str, Any] = nest(_merged(written["config"], extras))
    notes |= {key: note for key, (_, note) in extras.items() if note}
    if run.weights and run.plan.task != "pretrain" and not is_tuned(run.weights):
        path = tool == "trl" and run.plan.task in TEMPLATE_TASKS and "chat_template_path" not in extras
        notes |= dict.fromkeys(MODEL_KEYS, run.say("base", or_else=run.say("or-template") if path else ""))
    files = [{"name": "train.yaml", "text": yaml_text(config, notes, header(run, refused, *_licence(run)))}]
    files.append({"name": "run.sh", "text": _shell(run, tool)})
    return {"files": files, "refused": refused}


def unsaid(run: Run, tool: str, refused: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the fields that a file cannot carry, those that the command beside it does not say either."""
    return [row for row in refused if not _said_at_launch(run, tool, row["field"])]


MODEL_KEYS = ("model_name_or_path", "base_model")
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


def _learning_rate(run: Run) -> tuple[float, str]:
    """Peak learning rate of the task's recipe, and the range that recipes use."""
    rate = PRESETS["recipe"][run.plan.task]["full" if run.plan.trains_base else "peft"]
    task, low, high = run.plan.task, f"{rate['low']:g}", f"{rate['high']:g}"
    return rate["rate"], run.say("rate", task=task, method=run.plan.method, low=low, high=high)


def _preference(run: Run, beta: str) -> dict[str, tuple[Any, str]]:
    """What a loss on preferences needs beside its data, under the tool's key for it."""
    recipe = PRESETS["recipe"][run.plan.task]
    asked = {beta: recipe.get("beta"), "simpo_gamma": recipe.get("gamma")}
    return {key: (value, run.say("no-memory")) for key, value in asked.items() if value is not None}


# Base models whose chat template is in a sibling with the same vocabulary: start of the repository's name -> ending of
# the sibling's, and what axolotl and LLaMA-Factory call the template.
SIBLINGS = {"meta-llama/Llama-3": ("-Instruct", "llama3"), "meta-llama/Meta-Llama-3": ("-Instruct", "llama3")}
TEMPLATE_TASKS = ("sft", "reward")  # whose TRL trainers take a template; the others start from a tuned model
FALLBACK = "chatml"  # turns in plain words, which any tokenizer can write


def _chat(run: Run, tool: str) -> dict[str, tuple[Any, str]]:
    """The chat template that conversations are written with, where the model's own may be missing: a base has none."""
    repository = run.weights or ""
    tuned = not repository or is_tuned(repository)
    ending, name = next((found for start, found in SIBLINGS.items() if repository.startswith(start)), ("", ""))
    if run.plan.task == "pretrain":
        return {}
    if tool == "llama-factory":
        return {"template": (name or "default", run.say("template"))}
    if tool == "axolotl":
        return {"chat_template": (f"tokenizer_default_fallback_{name or FALLBACK}", run.say("fallback"))}
    if tool != "trl" or tuned:
        return {}
    if ending and run.plan.task in TEMPLATE_TASKS:
        return {"chat_template_path": (repository + ending, run.say("sibling"))}
    return {}


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
        "learning_rate": _learning_rate(run),
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
    if run.plan.parallel.strategy.startswith("fsdp"):
        extras |= _sharding_extras(run)
    return extras | _preference(run, "beta")


def _axolotl(run: Run) -> dict[str, tuple[Any, str]]:
    kind = "chat_template" if run.plan.task in ("sft", "grpo") else "chat_template.default"
    extras: dict[str, tuple[Any, str]] = {
        "datasets": ([{"path": "data/train.jsonl", "ds_type": "json", "type": kind}], run.say("yours")),
        "learning_rate": _learning_rate(run),
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
    return extras | _preference(run, "rl_beta") | _sharding_extras(run)


def _sharding_extras(run: Run) -> dict[str, tuple[Any, str]]:
    """What a trainer's file needs beside the plan to shard as planned.

    FSDP: layer by layer (a launcher that is told nothing may wrap the model whole), read from disk once per node.
    DeepSpeed: the trainer fills in “auto”.
    """
    if run.plan.parallel.strategy.startswith("fsdp"):
        return {
            "fsdp_config.auto_wrap_policy": ("TRANSFORMER_BASED_WRAP", ""),
            "fsdp_config.state_dict_type": ("SHARDED_STATE_DICT", ""),
            "fsdp_config.cpu_ram_efficient_loading": (True, ""),
        }
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
        "learning_rate": _learning_rate(run),
        "lr_scheduler_type": ("cosine", ""),
        "warmup_steps": (0.03, ""),
        "eval_strategy": (strategy, why),
        "logging_steps": (10, ""),
        "output_dir": ("checkpoints", ""),
        "overwrite_output_dir": (False, run.say("resume")),
    }
    if run.plan.has_lora:
        extras["lora_alpha"] = (2 * run.plan.lora.rank, run.say("no-memory"))
    return extras | _preference(run, "pref_beta") | _sharding_extras(run)


def _torchtune(run: Run) -> dict[str, tuple[Any, str]]:
    if run.name not in TORCHTUNE_MODELS or run.plan.method not in ("full", "lora", "qlora", "dora"):
        raise RequestError(
            "inconsistent",
            "model" if run.name not in TORCHTUNE_MODELS else "method",
            es=f"torchtune no trae un constructor para {run.name} con {run.plan.method}.",
            en=f"torchtune has no builder for {run.name} with {run.plan.method}.",
            suggestions=tuple(TORCHTUNE_MODELS)[:3],
        )
    if run.plan.task != "sft":
        raise RequestError(
            "inconsistent",
            "task",
            es=f"Para torchtune solo escribimos sft, no {run.plan.task}: usa TRL, axolotl o LLaMA-Factory.",
            en=f"For torchtune we write sft only, not {run.plan.task}: use TRL, axolotl or LLaMA-Factory.",
            suggestions=("trl", "axolotl", "llama-factory"),
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
        "checkpointer.checkpoint_files": ([], run.say("shards")),
        "checkpointer.recipe_checkpoint": (None, ""),
        "checkpointer.output_dir": ("checkpoints", ""),
        "checkpointer.model_type": (kind, ""),
        "resume_from_checkpoint": (False, run.say("decided")),
        "dataset._component_": ("torchtune.datasets.chat_dataset", run.say("yours")),
        "dataset.source": ("json", ""),
        "dataset.data_files": ("data/train.jsonl", ""),
        "dataset.conversation_column": ("messages", ""),
        "dataset.conversation_style": ("openai", ""),
        "seed": (None, ""),
        "shuffle": (True, ""),
        "optimizer.lr": _learning_rate(run),
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


def accelerate_file(run: Run, catalog: Catalog) -> dict[str, str]:
    """accelerate.yaml: the launcher's own file, for a script of yours."""
    written = write_config(run.plan, "accelerate", catalog)
    extras: dict[str, tuple[Any, str]] = {
        "compute_environment": ("LOCAL_MACHINE", ""),
        "mixed_precision": (_mixed_precision(run), ""),
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
    return {"name": "accelerate.yaml", "text": yaml_text(config, {}, header(run, written["refused"]))}


def _mixed_precision(run: Run) -> str:
    plan = run.plan
    if not (plan.autocast or plan.precision == "bf16-master"):
        return "no"
    half = plan.base_dtype == "fp16" or (plan.precision or "").startswith("fp16") or run.gpu.supports_bf16 is False
    return "fp16" if half else "bf16"


# --------------------------------------------------------------------------------------------------------- run.sh


def _torchrun(run: Run) -> str:
    """How many processes, and where the first node is; the engine that rents says which one this is."""
    nodes = run.plan.parallel.nodes
    words = f"--nproc_per_node {run.gpus // nodes}"
    if nodes > 1:
        words += f' --nnodes {nodes} --node_rank "$NODE_RANK" --master_addr "$MASTER_ADDR" --master_port 29500'
    return words


def _command(run: Run, tool: str) -> list[str]:
    """Lines that leave the command that trains, on all GPUs, in "$@"."""
    many = run.gpus > 1
    if tool == "axolotl":
        nodes = run.plan.parallel.nodes > 1
        return [f"set -- axolotl train train.yaml{f' --launcher torchrun -- {_torchrun(run)}' if nodes else ''}"]
    if tool == "llama-factory":
        several = f" NNODES={run.plan.parallel.nodes} MASTER_PORT=29500" if run.plan.parallel.nodes > 1 else ""
        return [
            "mkdir -p data",
            "[ -e data/dataset_info.json ] || cat > data/dataset_info.json << 'JSON'",
            json.dumps({"mine": _dataset_info(run.plan.task)}),
            "JSON",
            f"set --{f' env FORCE_TORCHRUN=1{several}' if many else ''} llamafactory-cli train train.yaml",
        ]
    if tool == "torchtune":
        kind = "full_finetune" if run.plan.trains_base else "lora_finetune"
        recipe = f"{_torchrun(run)} {kind}_distributed" if many else f"{kind}_single_device"
        # A full fine-tune goes on from its own weights, an adapter from the model's.
        own = [
            "  files=$(cd checkpoints && ls -d epoch_* | sort -V | tail -n 1 | xargs -I{} sh -c 'ls {}/*.safetensors')"
        ]
        return [
            "resume=False files=$(cd model && ls *.safetensors)",
            "if [ -e checkpoints/recipe_state/recipe_state.pt ]; then",
            "  resume=True",
            *(own if run.plan.trains_base else []),
            "fi",
            f"set -- tune run {recipe} --config train.yaml resume_from_checkpoint=$resume \\",
            "  \"checkpointer.checkpoint_files=[$(echo $files | tr ' ' ,)]\"",
        ]
    script = TRL_SCRIPTS[run.plan.task]
    # The file holds the sharding: a launcher with a configuration of its own could contradict it.
    words = f"torchrun {_torchrun(run)} -m trl.scripts.{script}" if many else f"trl {script}"
    return [
        "last=$(ls -d checkpoints/checkpoint-* 2> /dev/null | sort -V | tail -n 1)",
        f'set -- {words} --config train.yaml ${{last:+--resume_from_checkpoint "$last"}}',
    ]


def _dataset_info(task: str) -> dict[str, Any]:
    """What LLaMA-Factory asks about data/train.jsonl: the columns that the other tools expect too."""
    if task == "pretrain":
        return {"file_name": "train.jsonl", "columns": {"prompt": "text"}}
    tags = {"role_tag": "role", "content_tag": "content"} | {
        f"{role}_tag": role for role in ("user", "assistant", "system")
    }
    info: dict[str, Any] = {"file_name": "train.jsonl", "formatting": "sharegpt", "tags": tags}
    if task in ("dpo", "orpo", "simpo", "reward"):
        columns = {"messages": "prompt", "chosen": "chosen", "rejected": "rejected"}
        return info | {"ranking": True, "columns": columns}
    return info | {"columns": {"messages": "messages"} | ({"kto_tag": "label"} if task == "kto" else {})}


def _licence(run: Run) -> tuple[str, ...]:
    return (run.say("gated", model=run.weights),) if run.gated else ()


def _shell(run: Run, tool: str) -> str:
    lines = [
        "#!/bin/sh",
        *(f"# {line}".rstrip() for line in header(run, [])),
        *(f"# {line}" for line in _licence(run)),
        f"# {run.say('install', command='pip install ' + packages(run, tool))}",
        "set -u",
        "mkdir -p checkpoints",
        *(['export PYTORCH_ALLOC_CONF="expandable_segments:True"'] if run.plan.allocator == "expandable" else []),
        "",
        f"# {run.say('resume')}",
        *_command(run, tool),
        "",
        f"# {run.say('budget', **run.stop)}",
        f"# {run.say('spent')}",
        f"limit={round(run.limit_hours * 3600)}",
        "spent=$(cat checkpoints/spent-seconds 2> /dev/null || echo 0)",
        "while sleep 60; do",
        '  spent=$((spent + 60)); echo "$spent" > checkpoints/spent-seconds',
        "done > /dev/null 2>&1 &",
        "clock=$!",
        "left=$((limit > spent ? limit - spent : 1))",
        'timeout --signal=INT --kill-after=300 "$left" "$@"',
        "status=$?",
        'kill "$clock"',
        "",
        *shutdown_lines(run),
    ]
    return "\n".join(lines) + "\n"


def shutdown_lines(run: Run) -> list[str]:
    """The end of a script: the machine off, whatever happened, and the status of what ran."""
    return [
        f"# {run.say('shutdown')}",
        f"# {run.say('terminate')}",
        'if [ -z "${KEEP:-}" ]; then sudo -n shutdown -h +1 2> /dev/null || shutdown -h +1 2> /dev/null || true; fi',
        'exit "$status"',
    ]


def packages(run: Run, tool: str) -> str:
    """What to install for the file: the release whose keys it has, and what its values need."""
    also = []
    if run.plan.attention == "flash" and tool == "trl":
        also.append("kernels")  # transformers loads a built FlashAttention through it: nothing to compile
    if run.plan.kernels == "liger":
        also.append("liger-kernel")
    if run.plan.parallel.strategy.startswith("zero"):
        also.append('"deepspeed==0.19.8"')
    return " ".join([PACKAGES[tool], *also])
