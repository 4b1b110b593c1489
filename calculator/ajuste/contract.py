"""The request, field by field: types, ranges, accepted values.

`REQUEST` is the one description. From it come the checks (`check_request`), the near matches in error messages and the
JSON Schema (`ajuste.schema`). Defaults are data (`data/presets.toml`), not code.
"""

from __future__ import annotations

from typing import Any

from .errors import RequestError, near_matches
from .records import NamedTuple

VERSION = 1

FULL_METHODS = ("full", "galore", "lomo", "freeze")
LORA_METHODS = ("lora", "qlora", "dora", "rslora", "adalora", "vera")
PEFT_METHODS = (
    *LORA_METHODS,
    "ia3",
    "prefix",
    "prompt",
    "p-tuning",
    "adapter",
    "llama-adapter",
    "ln-tuning",
)
METHODS = (
    "full",
    "lora",
    "qlora",
    "dora",
    "rslora",
    "adalora",
    "vera",
    "ia3",
    "prefix",
    "prompt",
    "p-tuning",
    "adapter",
    "llama-adapter",
    "ln-tuning",
    "galore",
    "lomo",
    "freeze",
)
FRAMEWORKS = (
    "hf",
    "trl",
    "axolotl",
    "llama-factory",
    "unsloth",
    "torchtune",
    "litgpt",
    "ms-swift",
    "deepspeed",
    "megatron",
)
PREFERENCE_TASKS = ("dpo", "orpo", "kto", "simpo", "reward")
STRATEGIES = ("none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "device-map")
STRATEGY_SPELLINGS = {"fsdp": "fsdp2"}


class Field(NamedTuple):
    """One field of the request."""

    types: tuple[str, ...]  # accepted JSON types: integer, number, boolean, string, array, object, null
    low: float = 0  # inclusive range of a number, or of the length of a string or array
    high: float = 0
    choices: tuple[str, ...] = ()  # the accepted strings; empty = any
    spellings: tuple[tuple[str, str], ...] = ()  # accepted spellings -> the choice they are read as
    items: Any = None  # a Field: each element of an array
    fields: dict[str, Field] | None = None  # of an object with fixed keys; None = free-form object


def integer(low: int, high: int, null: bool = False) -> Field:
    """A whole number from `low` to `high`."""
    return Field(("integer", "null") if null else ("integer",), low, high)


def number(low: float, high: float, null: bool = False) -> Field:
    """A number from `low` to `high`."""
    return Field(("number", "null") if null else ("number",), low, high)


def choice(*choices: str, null: bool = False, spellings: dict[str, str] | None = None) -> Field:
    """One of some words."""
    return Field(
        ("string", "null") if null else ("string",), choices=choices, spellings=tuple((spellings or {}).items())
    )


def text(longest: int, null: bool = False) -> Field:
    """Any text up to a length."""
    return Field(("string", "null") if null else ("string",), 1, longest)


def array(items: Field, longest: int, null: bool = False) -> Field:
    """A list of like items."""
    return Field(("array", "null") if null else ("array",), 0, longest, items=items)


def nested(**fields: Field) -> Field:
    """An object with fixed keys."""
    return Field(("object",), fields=fields)


BOOLEAN = Field(("boolean",))
STEPS = integer(1, 1_000_000_000, null=True)
HOURS = number(0, 1_000_000, null=True)

REQUEST: dict[str, Field] = {
    "model": Field(("string", "object"), 1, 200),
    "assume_family": text(60, null=True),
    "method": choice(*METHODS),
    "quantization": choice("none", "nf4", "nf4-nested", "int8", "gptq-int4", "fp8"),
    "precision": choice("bf16", "fp16", "bf16-mixed", "fp16-mixed", "bf16-master", "fp8-mixed", "fp32", null=True),
    "base_dtype": choice("bf16", "fp16", "fp32"),
    "autocast": BOOLEAN,
    "kbit_upcast": BOOLEAN,
    "lora": nested(
        rank=integer(1, 65_536),
        targets=Field(("string", "array"), 0, 200, choices=("all-linear", "attention", "qkv", "qv"), items=text(200)),
        dtype=choice("fp32", "bf16"),
        dropout=number(0, 0.99),
    ),
    "virtual_tokens": integer(1, 65_536),
    "bottleneck": integer(1, 65_536),
    "train_embeddings": BOOLEAN,
    "optimizer": choice(
        "adamw",
        "adamw-foreach",
        "adamw-8bit",
        "paged-adamw-8bit",
        "paged-adamw",
        "adamw-4bit",
        "adafactor",
        "lion",
        "sgd",
        "muon",
    ),
    "optimizer_in_backward": BOOLEAN,
    "micro_batch": integer(1, 65_536, null=True),
    "grad_accum": integer(1, 65_536),
    "sequence_length": integer(1, 16_777_216),
    "global_batch": integer(1, 16_777_216, null=True),
    "as_of": text(10, null=True),
    "mode": choice("find-gpu", "have-gpu", "have-budget"),
    "padding": choice("packed", "padded", "padding-free"),
    "gradient_checkpointing": choice("full", "none", "selective"),
    "activation_offload": BOOLEAN,
    "attention": choice("flash", "sdpa", "eager"),
    "loss": choice("default", "in-place", "chunked-kept", "chunked", "tiled", "fused"),
    "outputs_alive": BOOLEAN,
    "compile": BOOLEAN,
    "kernels": choice("none", "liger", "unsloth"),
    "allocator": choice("default", "expandable"),
    "framework": choice(*FRAMEWORKS),
    "framework_version": text(40, null=True),
    "transformers": text(40),
    "logits_shift_copy": BOOLEAN,
    "quantize_moe_experts": BOOLEAN,
    "task": choice("sft", "pretrain", *PREFERENCE_TASKS, "grpo"),
    "reference": choice("copy", "adapter-off", "precomputed", "none"),
    "rl": nested(
        generations=integer(1, 65_536),
        prompt_tokens=integer(0, 16_777_216),
        completion_tokens=integer(1, 16_777_216),
        beta=number(0, 1_000),
        engine=choice("none", "colocate", "server"),
        engine_share=number(0, 0.99),
    ),
    "parallel": nested(
        strategy=choice(*STRATEGIES, spellings=STRATEGY_SPELLINGS),
        gpus_per_node=integer(1, 1_024),
        nodes=integer(1, 65_536),
        network=choice("infiniband", "ethernet", null=True, spellings={"efa": "infiniband", "roce": "infiniband"}),
        replicas=integer(1, 65_536),
        tp=integer(1, 1_024),
        pp=integer(1, 1_024),
        cp=integer(1, 1_024),
        sp=integer(1, 1_024),
        ep=integer(1, 1_024),
        offload=choice("none", "optimizer", "all", "nvme"),
        library=choice("deepspeed", "colossalai", null=True),
        reshard_after_forward=BOOLEAN,
        sync_each_batch=BOOLEAN,
        bucket_elements=integer(1, 10**12, null=True),
        max_live_parameters=integer(0, 10**13, null=True),
        prefetch=integer(0, 10**12, null=True),
    ),
    "gpu": text(100, null=True),
    "dataset": nested(
        examples=integer(1, 10**12),
        mean_tokens=number(1, 16_777_216),
        max_tokens=integer(1, 16_777_216, null=True),
        epochs=number(0.001, 100_000),
        length_histogram=array(array(number(0, 10**12), 2), 10_000, null=True),
        pack_efficiency=number(0.01, 1, null=True),
        group_by_length=BOOLEAN,
        scored_fraction=number(0, 1),
        image_tokens=integer(0, 1_000_000),
        images_per_example=number(0, 10_000),
    ),
    "vision": choice("frozen", "trained", "absent"),
    "eval": nested(
        examples=integer(0, 10**9),
        batch=integer(1, 65_536),
        every_steps=STEPS,
        keep_logits=BOOLEAN,
        generate_tokens=integer(0, 16_777_216),
    ),
    "save": nested(
        every_steps=STEPS,
        keep=integer(0, 1_000_000),
        states=BOOLEAN,
        merge=BOOLEAN,
    ),
    "job": nested(
        experiments=integer(1, 100_000),
        idle_h_per_experiment=number(0, 100_000),
        deadline_h=number(0.001, 1_000_000, null=True),
        budget_usd=number(0, 10**9, null=True),
        checkpoint_minutes=number(0.01, 10**6, null=True),
        checkpoint_seconds=number(0, 10**6, null=True),
        restart_minutes=number(0, 10**6, null=True),
        interruption_mtbf_h=number(0.001, 10**7, null=True),
        availability=number(0.001, 1, null=True),
        fallback=choice("on-demand", "wait"),
        persistent_storage=BOOLEAN,
        keep_storage_days=number(0, 36_500),
        egress_gb=number(0, 10**7),
    ),
    "filters": nested(
        providers=array(text(100), 1_000),
        regions=array(text(100), 1_000),
        purchase=array(choice("on-demand", "spot"), 2),
        kinds=array(text(100), 100),
        max_age_days=number(0, 36_500, null=True),
        max_gpus=integer(1, 65_536),
        include_scaled=BOOLEAN,
        limit=integer(0, 100_000),
    ),
    "calibration": nested(
        measured_gib=number(0.001, 100_000, null=True),
        measured_tokens_per_second=number(0.001, 10**12, null=True),
        request=Field(("object",)),
    ),
}
REQUIRED = ("model", "method")


def check_request(request: object) -> dict[str, Any]:
    """A copy of the request with every value checked against `REQUEST` and spellings made one.

    Returns only the fields that were given. Raises `RequestError` at the first fault.
    """
    if not isinstance(request, dict):
        raise RequestError("wrong-type", "request", request, "{…}")
    checked = _check_object(REQUEST, request, "")
    for name in REQUIRED:
        if name not in checked:
            raise RequestError("missing", name, accepted=accepted_text(REQUEST[name]))
    return checked


def check_value(field: Field, value: Any, name: str) -> Any:
    """One value against its field. Raises `RequestError` naming `name`."""
    kind = json_type(value)
    if kind == "integer" and "integer" not in field.types and "number" in field.types:
        kind = "number"
    if kind == "number" and "number" not in field.types and value == value // 1 and abs(value) < 2**53:
        # 2048.0 is how some callers write 2048.
        value, kind = int(value), "integer"
    if kind == "not-finite" and value == value and {"integer", "number"} & set(field.types):
        raise RequestError("out-of-range", name, value, accepted_text(field))  # 1e999, or more digits than are read
    if kind not in field.types:
        raise RequestError("wrong-type", name, value, accepted_text(field))
    if kind in ("integer", "number"):
        if not field.low <= value <= field.high:
            raise RequestError("out-of-range", name, value, accepted_text(field))
        return value
    if kind == "string":
        if field.choices:
            spelled = dict(field.spellings).get(value, value)
            if spelled not in field.choices:
                near = near_matches(value, field.choices)
                raise RequestError("unknown-value", name, value, accepted_text(field), near)
            return spelled
        if not field.low <= len(value) <= field.high:
            raise RequestError("out-of-range", name, value, accepted_text(field))
        return value
    if kind == "array":
        if len(value) > field.high:
            raise RequestError("out-of-range", name, value, accepted_text(field))
        return [check_value(field.items, item, f"{name}[{i}]") for i, item in enumerate(value)]
    if kind == "object" and field.fields is not None:
        return _check_object(field.fields, value, name + ".")
    if kind == "object" and is_deep(value):
        raise RequestError("out-of-range", name, value, f"{DEEPEST} × {{…}}")
    return value


DEEPEST = 20  # objects inside objects; a model's config.json has three or four


def is_deep(value: object) -> bool:
    """Whether objects and lists lie in one another more than `DEEPEST` deep."""
    level = [value]
    for _ in range(DEEPEST):
        # Each object once: YAML's aliases put one into many places, and even into itself.
        level = list(
            {
                id(inner): inner
                for outer in level
                for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
                if isinstance(inner, (dict, list))
            }.values()
        )
        if not level:
            return False
    return True


def _check_object(fields: dict[str, Field], given: dict[str, Any], prefix: str) -> dict[str, Any]:
    checked = {}
    for name, value in given.items():
        if name not in fields:
            near = tuple(prefix + n for n in near_matches(str(name), fields))
            raise RequestError("unknown-field", prefix + str(name)[:80], suggestions=near)
        checked[name] = check_value(fields[name], value, prefix + name)
    return checked


def json_type(value: object) -> str:
    """The JSON type of a value; NaN and infinities are no JSON numbers and get their own name."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number" if value - value == 0 else "not-finite"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return "other"


def accepted_text(field: Field) -> str:
    """What a field accepts, in signs that both languages read: `1 … 1024`, `"a" | "b"`, `true | false`, `null`."""
    parts = []
    for kind in field.types:
        if kind in ("integer", "number"):
            dots = "…" if kind == "integer" else "–"
            parts.append(f"{field.low} {dots} {field.high}")
        elif kind == "string":
            parts.append(" | ".join(field.choices) if field.choices else f'"…" (1–{field.high})')
        elif kind == "boolean":
            parts.append("true | false")
        elif kind == "array":
            parts.append(f"[{accepted_text(field.items)}]")
        elif kind == "object":
            parts.append("{" + ", ".join(field.fields) + "}" if field.fields else "{…}")
        else:
            parts.append("null")
    return " | ".join(parts)
