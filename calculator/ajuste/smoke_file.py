"""smoke.json: what `smoke.py` runs on a rented host first, and what we compute for that."""

from __future__ import annotations

import json
from typing import Any

from .answer import estimate
from .catalog import Catalog
from .errors import RequestError
from .launch_run import Run
from .peft import TARGETS
from .tool_modules import architecture_of, module_names

SMOKE_METHODS = ("full", "lora", "qlora", "dora", "rslora")


def smoke_file(run: Run, catalog: Catalog) -> dict[str, str]:
    """What smoke.py runs, and what we compute for that: its own loop on one GPU, not the tool that trains later."""
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
    named = (
        module_names(targets, architecture_of(plan, catalog))
        if isinstance(targets, str) and targets in TARGETS
        else targets
    )
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
        "lora_targets": named,
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
