"""A training tool's file as a request, and a plan as a tool's file.

`read_config` and `write_config` walk the same table (`ajuste.tool_tables`), so that what one writes the other reads.
Files are dicts here: YAML is parsed at the edge, by whoever has a library for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .contract import DEEPEST, REQUEST, Field, check_value, is_deep
from .errors import RequestError, near_matches, shorten
from .peft import named_by
from .plan import NESTED, Plan
from .tool_deepspeed import SHIPPED_DEEPSPEED
from .tool_modules import own_embeddings, with_own_names
from .tool_reasons import REASONS, reason_of
from .tool_rules import ANY, GIVEN, Also, Condition, Linked, Rows, Rule, Same
from .tool_tables import TABLES, TOOL_DEFAULTS

if TYPE_CHECKING:
    from .catalog import Catalog

TOOLS = tuple(TABLES)
# Presets of defaults that a file of the tool implies. A launcher's file says nothing of the trainer.
FRAMEWORK = {name: name for name in TOOLS if name != "accelerate"}
BY_NAME = ("axolotl", "llama-factory", "trl")  # whose files list modules by the model's names for them
PARTIAL = ("deepspeed", "accelerate")  # a launcher's file: the rest of the plan is in the training file
MOST_KEYS = 5000  # of a file, its tables unfolded: aliases of aliases multiply


# ---------------------------------------------------------------------------------------------------- dotted names


def flatten(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted names. Lists stay whole."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        dotted = f"{prefix}{name}"
        if isinstance(value, dict):
            flat.update(flatten(value, dotted + "."))
        else:
            flat[dotted] = value
        if len(flat) > MOST_KEYS:
            raise RequestError("out-of-range", "config", table, f"≤ {MOST_KEYS} keys")
    return flat


def nest(flat: dict[str, Any]) -> dict[str, Any]:
    """Dotted names as nested tables."""
    table: dict[str, Any] = {}
    for dotted, value in flat.items():
        *above, name = dotted.split(".")
        inner = table
        for step in above:
            inner = inner.setdefault(step, {})
        inner[name] = value
    return table


def request_field(dotted: str) -> Field:
    """The contract's description of a dotted field."""
    name, _, inner = dotted.partition(".")
    field = REQUEST[name]
    return field.fields[inner] if inner and field.fields else field


def plan_fields(plan: Plan) -> dict[str, Any]:
    """A plan as dotted fields, lists for tuples; where each came from is left out."""
    flat: dict[str, Any] = {}
    for name, value in plan._asdict().items():
        if name in NESTED:
            flat.update({f"{name}.{key}": _thaw(inner) for key, inner in value._asdict().items()})
        elif name != "defaults":
            flat[name] = _thaw(value)
    return flat


def _thaw(value: object) -> object:
    return [_thaw(item) for item in value] if isinstance(value, tuple) else value


# ----------------------------------------------------------------------------------------------------------- reading


class _Reading(NamedTuple):
    """What has been understood so far."""

    file: dict[str, Any]  # dotted key -> value, without nulls
    found: dict[str, Any]  # dotted request field -> value
    drivers: dict[str, dict[str, Any]]  # key -> what it decides
    faults: dict[str, dict[str, str]]  # key -> why its value was not understood
    unmatched: set[str]  # keys of a rule that applies and has no row for them


def read_config(config: dict[str, Any], tool: str, method: str | None = None) -> dict[str, Any]:
    """The request that a tool's file means.

    Args:
        config: the file, parsed: axolotl's, LLaMA-Factory's or TRL's YAML, DeepSpeed's JSON, accelerate's YAML.
        tool: `axolotl`, `llama-factory`, `trl`, `deepspeed` or `accelerate`.
        method: what a launcher's file launches, where that is known: `bf16` is the precision of full fine-tuning, and
            the dtype of a frozen base.

    Returns:
        `request`: the fields of the contract that the file decides; a launcher's file has no model and no method.
        `ignored`: keys that decide nothing, each `{"key", "value", "reason": {"es", "en"}}`; with `"unread": true`
            where the value was not understood, so that a default stands in its place.
        `drivers`: the lines that decide memory or time, each `{"key", "value", "fields"}`, in the table's order.

    Raises:
        RequestError: the tool is unknown, the file is no table or too deep, or it trains what is not counted.

    >>> read = read_config({"base_model": "Qwen/Qwen3-8B", "sequence_len": 4096, "wandb_project": "mine"}, "axolotl")
    >>> read["request"]["sequence_length"], read["ignored"][0]["key"]
    (4096, 'wandb_project')
    """
    if tool not in TABLES:
        raise RequestError("unknown-value", "tool", tool, " | ".join(TABLES))
    if not isinstance(config, dict):
        raise RequestError("wrong-type", "config", config, "{…}")
    if is_deep(config):
        raise RequestError("out-of-range", "config", config, f"≤ {DEEPEST} × {{…}}")
    prepared = _prepare(config)
    file = {str(key): value for key, value in flatten(prepared).items() if value is not None and value != ""}
    launched = {"method": method} if method and tool in PARTIAL else {}
    reading = _Reading(file, dict(launched), {}, {}, set())
    for rule in TABLES[tool]:
        if _holds(rule.when, reading.found):
            _read(rule, reading)
    _read_name(reading)
    _fill_in(tool, reading)
    request: dict[str, Any] = nest({field: value for field, value in reading.found.items() if field not in launched})
    if tool in FRAMEWORK:
        request["framework"] = FRAMEWORK[tool]
    return {"request": request, "ignored": _ignored(tool, reading), "drivers": list(reading.drivers.values())}


def _prepare(config: dict[str, Any]) -> dict[str, Any]:
    """Older and shorter shapes in full: a DeepSpeed file by name, a plugin's default, FSDP's prefixes and words."""
    prepared = dict(config)
    named = prepared.get("deepspeed")
    if isinstance(named, str):
        stem = named.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".json")
        if stem in SHIPPED_DEEPSPEED:
            prepared["deepspeed"] = SHIPPED_DEEPSPEED[stem]
    if "CutCrossEntropyPlugin" in str(prepared.get("plugins")):
        prepared.setdefault("cut_cross_entropy", True)  # what the plugin does unless told
    words = prepared.get("fsdp")
    if isinstance(words, list):
        prepared["fsdp"] = words = " ".join(str(word) for word in words)
    table = prepared.get("fsdp_config")
    if "base_model" in prepared and (words or isinstance(table, dict)):
        table = {str(key).removeprefix("fsdp_"): value for key, value in (table or {}).items()}
        version = prepared.get("fsdp_version", table.pop("version", 1 if words else None))
        if "offload" in str(words).split():
            table.setdefault("offload_params", True)
        prepared |= {"fsdp_config": table, "fsdp_version": version or 2}
        prepared.pop("fsdp", None)
    return prepared


def _holds(condition: Condition, found: dict[str, Any]) -> bool:
    return all(found.get(field) in values for field, values in condition)


def _read(rule: Rule, reading: _Reading) -> None:
    if isinstance(rule, Rows):
        _read_rows(rule, reading)
    elif rule.key in reading.file and not (rule.older and rule.field in reading.found):
        value = reading.file[rule.key]
        if rule.field in reading.found and isinstance(rule, Same) and rule.key in reading.drivers:
            return  # a row above has read it
        if isinstance(rule, Linked):
            value = _unlinked(rule, value, reading.found)
        _accept(reading, (rule.field,), (value,), (rule.key,))


def _read_rows(rule: Rows, reading: _Reading) -> None:
    values = [reading.file.get(key) for key in rule.keys]
    present = [key for key in rule.keys if key in reading.file]
    if rule.older and any(field in reading.found for field in rule.fields):
        return
    for fields, keys in rule.rows:
        if not present and not all(_silent(expected) for expected in keys):
            continue
        if all(_matches(expected, value) for expected, value in zip(keys, values, strict=True)):
            named = [(field, value) for field, value in zip(rule.fields, fields, strict=True) if value is not ANY]
            _accept(reading, tuple(field for field, _ in named), tuple(value for _, value in named), tuple(present))
            return
    if rule.fields[0] == "task" or rule.fields == ("method", "quantization"):
        _refuse_job(rule, reading.file)
    reading.unmatched.update(present)


def _refuse_job(rule: Rows, file: dict[str, Any]) -> None:
    """A task or a method by a name that is not counted: a default in its place would answer for another job."""
    said = file.get(rule.keys[0])
    columns = [row[0] if isinstance(row[0], tuple) else (row[0],) for _, row in rule.rows]
    names = sorted({name for column in columns for name in column if isinstance(name, str)})
    if isinstance(said, str) and names and not any(_matches(name, said) for name in names):
        raise RequestError("unknown-value", rule.keys[0], said, " | ".join(names), near_matches(said, names))


def _silent(expected: object) -> bool:
    """Whether a file that says nothing matches."""
    return _matches(expected, None)


QUANTIZED_NAMES = {"gptq": "gptq-int4", "awq": "gptq-int4", "bnb-4bit": "nf4", "bnb-nf4": "nf4"}


def _read_name(reading: _Reading) -> None:
    """Weights that were quantised before: only the repository's name says it."""
    name = reading.found.get("model")
    if isinstance(name, str) and reading.found.get("quantization") == "none" and reading.found["method"] != "full":
        for word, quantization in QUANTIZED_NAMES.items():
            if word in name.lower():
                reading.found["quantization"] = quantization
                next(row for row in reading.drivers.values() if row["fields"] == ["model"])["fields"].append(
                    "quantization"
                )
                return


def _matches(expected: object, value: object) -> bool:
    if expected is ANY or isinstance(expected, Also):
        return True
    if expected is GIVEN:
        return value is not None
    if isinstance(expected, tuple):
        return any(_matches(one, value) for one in expected)
    if expected is None:
        return value is None or value is False or value in ("none", "false", "None") or value == []
    if isinstance(expected, bool) or isinstance(value, bool):
        return expected is value
    if isinstance(expected, str) and isinstance(value, str):
        return expected.lower() == value.strip().lower()
    return expected == value


def _unlinked(rule: Linked, value: Any, found: dict[str, Any]) -> Any:
    """The field of a linked number, or the number itself where it cannot be divided: the contract then refuses it."""
    number = _number(value)
    for field in rule.over:
        number = number * found.get(field, 1) if isinstance(number, int) else number
    for field in rule.times:
        factor = found.get(field, 1)
        if not isinstance(number, int) or not factor or number % factor:
            return value if isinstance(value, str) else -1
        number //= factor
    return number


def _number(value: Any) -> Any:
    """A number written as text, as YAML reads `2e-4` or `"4"`; anything else as it is."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if number == number // 1 else number
    return value


def _accept(reading: _Reading, fields: tuple[str, ...], values: tuple[Any, ...], keys: tuple[str, ...]) -> None:
    """Take values as the contract allows them; what it refuses is told at the key."""
    taken = {}
    for field, value in zip(fields, values, strict=True):
        described = request_field(field)
        if "string" not in described.types:
            value = _number(value)
        if field == "lora.targets" and isinstance(value, str) and value not in described.choices:
            value = named_by(value) or [name.strip() for name in value.split(",") if name.strip()]
        try:
            taken[field] = check_value(described, value, field)
        except RequestError as error:
            for key in keys:
                reading.faults[key] = _fault(field, reading.file[key], error)
            return
    reading.found.update(taken)
    for key in keys:
        before = reading.drivers.get(key, {"fields": []})["fields"]
        reading.drivers[key] = {
            "key": key,
            "value": reading.file[key],
            "fields": before + [field for field in fields if field not in before],
        }


def _fault(field: str, said: Any, error: RequestError) -> dict[str, str]:
    if said == "auto":
        return REASONS["auto"]
    if field == "eval.examples" and isinstance(_number(said), float):
        return REASONS["fraction"]
    return error.message


def _fill_in(tool: str, reading: _Reading) -> None:
    """What the tool does when its file leaves a key out. A fault in the key is told and not papered over."""
    for field, (key, value) in TOOL_DEFAULTS.get(tool, {}).items():
        if field not in reading.found and key not in reading.file:
            reading.found[field] = value
            reading.drivers[key] = {"key": key, "value": value, "fields": [field], "default": True}


def _ignored(tool: str, reading: _Reading) -> list[dict[str, Any]]:
    rows = []
    known = {key for rule in TABLES[tool] for key in (rule.keys if isinstance(rule, Rows) else (rule.key,))}
    for key, value in reading.file.items():
        if key in reading.drivers:
            continue
        if key in reading.faults:
            reason = reading.faults[key]
        elif value == "auto":
            reason = REASONS["auto"]
        elif key in reading.unmatched:
            reason = REASONS["value"]
        elif key in known and value is not False:
            reason = REASONS["depends"]
        else:
            reason = reason_of(tool, key, value)
        row = {"key": key, "value": value if _is_plain(value) else shorten(value), "reason": reason}
        told = (REASONS["auto"], REASONS["fraction"])
        unread = (key in reading.faults or key in reading.unmatched) and reason not in told
        rows.append({**row, "unread": True} if unread else row)
    return rows


def _is_plain(value: object) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= 200)


# ----------------------------------------------------------------------------------------------------------- writing


def written_keys(tool: str) -> set[str]:
    """Every key that the tool's table may write, dotted."""
    keys: set[str] = set()
    for rule in TABLES[tool]:
        if not rule.older:
            keys.update(rule.keys if isinstance(rule, Rows) else (rule.key,))
    return keys


def write_config(plan: Plan, tool: str, catalog: Catalog) -> dict[str, Any]:
    """A plan in a tool's own keys, and what the tool cannot say.

    Returns:
        `config`: the file as nested tables, ready for a YAML or JSON writer.
        `decides`: key -> the fields of the plan that it says.
        `refused`: fields whose value the file cannot carry, each `{"field", "asked", "file", "reason": {"es", "en"}}`:
            the file was read back, and what came out differs.

    >>> from ajuste import load_catalog
    >>> from ajuste.resolve import resolve
    >>> catalog = load_catalog('{"models": [{"id": "tiny", "hf_id": "me/tiny", "config": {"model_type": "llama", '
    ...     '"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, '
    ...     '"vocab_size": 256}}]}')
    >>> plan, _ = resolve({"model": "tiny", "method": "lora", "framework": "axolotl", "micro_batch": 2}, catalog)
    >>> written = write_config(plan, "axolotl", catalog)
    >>> written["config"]["base_model"], written["config"]["micro_batch_size"], written["config"]["adapter"]
    ('me/tiny', 2, 'lora')
    >>> [refused["field"] for refused in written["refused"]]
    []
    """
    if tool in BY_NAME:
        plan = with_own_names(plan, catalog)
    fields = plan_fields(plan)
    if isinstance(plan.model, str):
        fields["model"] = catalog.models[plan.model].get("hf_id") or plan.model
    else:
        fields["model"] = None
    flat: dict[str, Any] = {}
    decides: dict[str, list[str]] = {}
    for rule in TABLES[tool]:
        if not rule.older and _holds(rule.when, fields):
            before = set(flat)
            _write(rule, fields, flat)
            for key in flat:
                if key not in before:
                    decides[key] = list(_fields_of(rule))
    config = nest(flat | own_embeddings(flat, plan, catalog))
    return {"config": config, "decides": decides, "refused": _refused(plan, tool, config, catalog)}


def _write(rule: Rule, fields: dict[str, Any], flat: dict[str, Any]) -> None:
    if isinstance(rule, Linked):
        value: Any = _linked(rule, fields)
    elif isinstance(rule, Same):
        value = fields[rule.field]
        if rule.key in flat or isinstance(value, dict) or (rule.unless is not None and value == rule.unless):
            return
        if rule.field == "lora.targets" and rule.key == "lora_target" and isinstance(value, list):
            value = ",".join(value)
        if rule.field == "lora.targets" and value in request_field(rule.field).choices:
            return  # a set of modules by our name: the row above has written it
    else:
        _write_row(rule, fields, flat)
        return
    if value is not None:
        flat[rule.key] = value


def _linked(rule: Linked, fields: dict[str, Any]) -> int | None:
    number = fields[rule.field]
    for field in rule.times:
        if fields[field] is None:
            return None
        number *= fields[field]
    for field in rule.over:
        if number % fields[field]:
            return None
        number //= fields[field]
    return int(number)


def _write_row(rule: Rows, fields: dict[str, Any], flat: dict[str, Any]) -> None:
    asked = [fields[field] for field in rule.fields]
    for row, keys in rule.rows:
        if all(value is ANY or value == wanted for value, wanted in zip(row, asked, strict=True)):
            for key, expected in zip(rule.keys, keys, strict=True):
                value = expected[0] if isinstance(expected, tuple) and not isinstance(expected, Also) else expected
                if isinstance(value, Also):
                    flat[key] = [*flat.get(key, []), *value.items]
                elif value not in (None, ANY, GIVEN):
                    flat[key] = value
            return


def _refused(plan: Plan, tool: str, known: dict[str, Any], catalog: Catalog) -> list[dict[str, Any]]:
    """Fields that come back different when the file is read and resolved as its tool would run it."""
    from .resolve import resolve

    asked = plan_fields(plan)
    launcher = tool in PARTIAL
    request = read_config(known, tool)["request"]
    # What a file does not hold, model, method and TRL's task among it, is said beside it.
    request = {"method": plan.method, **({"task": plan.task} if tool == "trl" else {}), **request, "as_of": plan.as_of}
    if launcher or tool == "torchtune" or isinstance(plan.model, dict):
        request["model"] = plan.model
    try:
        back = plan_fields(resolve(request, catalog)[0])
    except RequestError as error:
        return [{"field": error.field, "asked": asked.get(error.field), "file": None, "reason": error.message}]
    decided = {field for rule in TABLES[tool] for field in _fields_of(rule)} if launcher else set(asked)
    refused = []
    for field in sorted(decided):
        if field == "framework_version" or (field == "framework" and back[field] == FRAMEWORK.get(tool)):
            continue
        if asked[field] != back[field]:
            refused.append(
                {"field": field, "asked": asked[field], "file": back[field], "reason": _why(field, tool, back[field])}
            )
    if isinstance(plan.model, dict) and not launcher:
        refused.insert(0, {"field": "model", "asked": None, "file": None, "reason": REASONS["model"]})
    return refused


def _fields_of(rule: Rule) -> tuple[str, ...]:
    return rule.fields if isinstance(rule, Rows) else (rule.field,)


def _why(field: str, tool: str, runs_with: object) -> dict[str, str]:
    kind = "tool"
    if field in ("parallel.gpus_per_node", "parallel.nodes") or field.startswith("parallel.strategy"):
        kind = "launch"
    elif field.startswith("dataset."):
        kind = "data"
    elif field == "global_batch":
        kind = "batch"
    elif field.split(".")[0] in ("gpu", "mode", "job", "filters", "calibration"):
        kind = "market"
    shown = {"tool": tool, "value": shorten(runs_with)}
    return {language: text.format(**shown) for language, text in REASONS[f"refused-{kind}"].items()}
