"""The page's ways in, beside the estimate: a door's name and JSON in, JSON out. Never raises.

A door's modules are imported when it is first opened: most visits never do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .answer import as_json, estimate, parse, significant
from .catalog import Catalog
from .errors import RequestError

# Keys that only one tool's file has, the surest first. TRL's are the Trainer's own: what remains is taken for it.
_SIGNATURES = (
    ("axolotl", ("base_model", "sequence_len", "micro_batch_size")),
    ("llama-factory", ("finetuning_type", "cutoff_len", "stage", "template", "lora_target")),
    ("deepspeed", ("zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "gradient_clipping")),
    ("accelerate", ("compute_environment", "distributed_type", "num_machines", "fsdp_config")),
    ("trl", ("model_name_or_path", "per_device_train_batch_size", "max_length", "use_peft", "learning_rate")),
)


def call_json(door: str, text: str, catalog: Catalog) -> str:
    """Open a door with a JSON object; the answer, or its error, as JSON."""
    try:
        answer = DOORS[door](parse(text), catalog)
    except RequestError as error:
        answer = {"ok": False, "error": error.as_dict()}
    except Exception as error:  # whatever was pasted, a structured error comes back
        answer = {"ok": False, "error": RequestError("internal", detail=type(error).__name__).as_dict()}
    return as_json(answer)


def tool_of(config: dict[str, Any]) -> str:
    """The tool whose file this is, by its own keys.

    >>> tool_of({"base_model": "Qwen/Qwen3-8B", "adapter": "qlora"})
    'axolotl'
    """
    for tool, keys in _SIGNATURES:
        if any(key in config for key in keys):
            return tool
    raise RequestError(
        "inconsistent",
        "config",
        es="No parece un archivo de axolotl, LLaMA-Factory, TRL, DeepSpeed ni accelerate: ninguna de sus claves está.",
        en="This does not look like a file of axolotl, LLaMA-Factory, TRL, DeepSpeed or accelerate: it has none of "
        "their keys.",
    )


def _config(asked: dict[str, Any], _catalog: Catalog) -> dict[str, Any]:
    """`{"config": …, "tool": …, "method": …, the last two or null}` → the file's request, and what became of its lines.

    `method` is the question's own: what a launcher's file says of precision depends on it.
    """
    from .tool_files import PARTIAL, read_config

    config = asked.get("config")
    if not isinstance(config, dict):
        raise RequestError("wrong-type", "config", config, "{…}")
    tool = asked.get("tool") or tool_of(config)
    read: dict[str, Any] = significant(read_config(config, tool, asked.get("method")))
    return {"ok": True, "tool": tool, "partial": tool in PARTIAL, **read}


def _oom(asked: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """`{"message": …, "request": … or null}` → the diagnosis."""
    from .oom import diagnose

    return diagnose(asked.get("message", ""), asked.get("request"), catalog)


def _files(asked: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """`{"request": …, "target": …, "offer": index or null, "language": …}` → the files that start the run."""
    from .launch import run_files

    request = asked.get("request") or {}
    answer = estimate(request, catalog)
    if not answer["ok"]:
        return answer
    target, offer = asked.get("target", ""), asked.get("offer")
    language = "es" if asked.get("language") == "es" else "en"
    return {
        "ok": True,
        **run_files(answer, catalog, target, offer=offer, language=language, model=request["model"]),
    }


DOORS: dict[str, Callable[[dict[str, Any], Catalog], dict[str, Any]]] = {
    "config": _config,
    "estimate": estimate,  # a question beside the one that is asked
    "files": _files,
    "oom": _oom,
}
