"""From a request to a plan: defaults filled in, and the combinations that no framework can run refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .architecture import Architecture, read_architecture
from .catalog import Catalog, day_number, find_gpu, find_model
from .constants import PRESETS
from .contract import (
    FULL_METHODS,
    LORA_METHODS,
    PREFERENCE_TASKS,
    REQUEST,
    check_request,
)
from .errors import RequestError, near_matches, shorten
from .lengths import MOST_BINS, binned
from .peft import (
    TARGETED,
    fused_expert_parameters,
    half_named,
    layer_parameters,
    linear_names,
    passed_by,
    targets_head,
)
from .plan import NESTED, Parallel, Plan
from .wanted import REGION_GROUPS, in_region

# Keys of a preset's table that are conditions, not fields.
TASKS = ("sft", "pretrain", *PREFERENCE_TASKS, "grpo")
CONDITIONS = ("full", "peft", "low-rank", "quantized", "int8", "before", *TASKS)
FIRST_DAY, LAST_DAY = "2020-01-01", "2099-12-31"  # of `as_of`: before, none of these GPUs could be rented
WEIGHT_DTYPE = {
    "bf16": "bf16",
    "bf16-master": "bf16",
    "fp16": "fp16",
    "bf16-mixed": "fp32",
    "fp16-mixed": "fp32",
    "fp8-mixed": "fp32",
    "fp32": "fp32",
}


def resolve(request: dict[str, Any], catalog: Catalog) -> tuple[Plan, Architecture]:
    """The plan and the model's architecture. Raises `RequestError` only."""
    asked = check_request(request)
    model, architecture = _model(asked["model"], catalog, asked.get("assume_family"))
    values, origin = _with_presets(asked)
    values["model"] = model
    _derive(values, origin, asked, catalog, architecture)
    _refuse_inconsistent(values, asked)
    histogram = values["dataset"]["length_histogram"]
    if histogram and len(histogram) > MOST_BINS:  # the plan shows what was computed with
        values["dataset"]["length_histogram"] = binned(histogram)
    plan = _plan(values, origin)
    _refuse_as_peft(plan, architecture)
    _refuse_targets(plan, architecture)
    return plan, architecture


def _model(
    asked: str | dict[str, Any], catalog: Catalog, family: str | None
) -> tuple[str | dict[str, Any], Architecture]:
    if isinstance(asked, dict):
        return asked, read_architecture(asked, family)
    row = find_model(catalog, asked)
    return row["id"], read_architecture(row["config"], family)


# ------------------------------------------------------------------------------------------------- presets


def _with_presets(asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request over its framework's preset over the general one; and where each filled field came from."""
    general = PRESETS["general"]
    framework = asked.get("framework", general["framework"])
    preset = PRESETS["framework"][framework]
    conditions = _conditions(asked, general)
    values: dict[str, Any] = {}
    origin: dict[str, Any] = {}
    for name, field in REQUEST.items():
        values[name] = dict.fromkeys(field.fields) if field.fields else None
        origin.update(dict.fromkeys([f"{name}.{key}" for key in field.fields] if field.fields else [name], "general"))
    for source, table in (("general", general), ("framework", preset)):
        for layer in _layers(table, conditions, asked.get("framework_version")):
            _lay(values, origin, layer, source)
    for name, value in asked.items():
        if isinstance(value, dict) and REQUEST[name].fields:
            values[name] |= value
            for key in value:
                origin.pop(f"{name}.{key}", None)
        else:
            values[name] = value
            origin.pop(name, None)
    return values, origin


def _conditions(asked: dict[str, Any], general: dict[str, Any]) -> tuple[str, ...]:
    """Which conditional tables of a preset apply to this request."""
    task = asked.get("task", general["task"])
    if asked["method"] in FULL_METHODS:
        return ("full", task)
    quantization = asked.get("quantization", "nf4-nested" if asked["method"] == "qlora" else "none")
    return (
        "peft",
        *(("low-rank",) if asked["method"] in LORA_METHODS else ()),
        *(("quantized", quantization) if quantization != "none" else ()),
        task,
    )


def _layers(table: dict[str, Any], conditions: tuple[str, ...], version: str | None) -> list[dict[str, Any]]:
    """A preset's tables that apply, the later over the earlier."""
    layers = [table]
    layers += [table[condition] for condition in conditions if condition in table]
    for older in table.get("before", ()):
        if version is not None and _is_before(version, older):
            layers.append(older)
            layers += [older[condition] for condition in conditions if condition in older]
    return layers


def _lay(values: dict[str, Any], origin: dict[str, Any], layer: dict[str, Any], source: str) -> None:
    for name, value in layer.items():
        if name in CONDITIONS or name in ("version", "released"):
            continue
        if isinstance(value, dict) and REQUEST[name].fields:
            for key, inner in value.items():
                values[name][key] = inner
                origin[f"{name}.{key}"] = source
        else:
            values[name] = value
            origin[name] = source


def _is_before(version: str, older: dict[str, Any]) -> bool:
    """Whether a release, or a date written 2026-03 or 2026-03-15, comes before the one an entry names."""
    if version[:2] == "20" and version[4:5] == "-":
        try:
            return day_number(version) < day_number(older["released"])
        except ValueError:
            return False
    return _release(version) < _release(older["version"])


def _release(version: str) -> tuple[int, ...]:
    """`"4.48.1"` as (4, 48, 1); what is no number ends it, so that `5.0.dev0` reads as 5.0."""
    numbers = []
    for part in version.lstrip("v").split(".")[:4]:
        digits = ""
        for character in part[:9]:
            if not ("0" <= character <= "9"):
                break
            digits += character
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


# ------------------------------------------------------------------------------------------------- derived


def _derive(
    values: dict[str, Any],
    origin: dict[str, Any],
    asked: dict[str, Any],
    catalog: Catalog,
    architecture: Architecture,
) -> None:
    """Fields that follow from others. An asked value always stands (and may be refused afterwards)."""

    def fill(name: str, value: object, source: str) -> None:
        if name not in asked:
            values[name] = value
            origin[name] = source

    method = values["method"]
    if method in FULL_METHODS:
        precision = values["precision"]
        fill("quantization", "none", "method")
        fill("base_dtype", WEIGHT_DTYPE.get(precision, "bf16"), "precision")
        fill("autocast", precision is not None and precision.endswith("mixed"), "precision")
    else:
        fill("precision", None, "method")
        if method == "qlora":
            fill("quantization", "nf4-nested", "method")
    if values["quantization"] == "none":
        fill("kbit_upcast", False, "method")
    release = _release(values["transformers"])
    fill("logits_shift_copy", release[:2] <= (4, 48), "transformers")
    # Unsloth packs experts in every release: its copies of gpt-oss split them into linear modules, and since 2026.6.9
    # (unslothai/unsloth#4032) it packs fused ones too.
    packs = values["framework"] == "unsloth" and values["quantization"] != "none"
    if packs or any(y.expert_parameters for y in architecture.layers):
        fill("quantize_moe_experts", packs, "framework")
    else:
        fill("quantize_moe_experts", release[:1] < (5,), "transformers")
    fill("reference", _reference(values), "task")
    refused = passed_by(architecture, method, values["lora"]["targets"])
    if refused and "targets" not in asked.get("lora", {}):
        values["lora"]["targets"] = [name for name in linear_names(architecture) if name not in refused]
        origin["lora.targets"] = "model"
    _derive_parallel(values, origin, asked)
    _derive_batch(values, origin, asked)
    dataset = values["dataset"]
    given = asked.get("dataset", {})
    if "mean_tokens" not in given and dataset["mean_tokens"] > values["sequence_length"]:
        dataset["mean_tokens"] = values["sequence_length"]
        origin["dataset.mean_tokens"] = "sequence_length"
    if values["gpu"] is not None:
        values["gpu"] = find_gpu(catalog, values["gpu"]).id
    if values["as_of"] is None:
        values["as_of"] = catalog.as_of
        origin["as_of"] = "catalog"


def _reference(values: dict[str, Any]) -> str:
    """The reference model of a preference task: PEFT switches the adapter off, a full fine-tune needs a copy."""
    needs = values["task"] in ("dpo", "kto") or (values["task"] == "grpo" and values["rl"]["beta"] > 0)
    if not needs:
        return "none"
    return "copy" if values["method"] in FULL_METHODS else "adapter-off"


def _derive_parallel(values: dict[str, Any], origin: dict[str, Any], asked: dict[str, Any]) -> None:
    """Several GPUs asked for without a strategy: data parallel, unless tensors or pipelines already use them all."""
    parallel = values["parallel"]
    given = asked.get("parallel", {})
    world = parallel["gpus_per_node"] * parallel["nodes"]
    split = parallel["tp"] * parallel["pp"] * parallel["cp"] * parallel["sp"]
    if world == 1 and split > 1 and "gpus_per_node" not in given and "nodes" not in given:
        parallel["gpus_per_node"] = world = split
        origin["parallel.gpus_per_node"] = "parallel"
    if "strategy" not in given and world > parallel["tp"] * parallel["pp"]:
        parallel["strategy"] = "ddp"
        origin["parallel.strategy"] = "parallel"


def _derive_batch(values: dict[str, Any], origin: dict[str, Any], asked: dict[str, Any]) -> None:
    """Accumulation that comes nearest to the global batch, when one is asked for."""
    if values["optimizer_in_backward"] and "optimizer_in_backward" not in asked and values["grad_accum"] > 1:
        values["optimizer_in_backward"] = False
        origin["optimizer_in_backward"] = "grad_accum"
    if "global_batch" not in asked:
        # A micro-batch asked for makes its own; an automatic one needs a job that is the same on every GPU.
        if values["micro_batch"] is not None:
            values["global_batch"] = None
            origin["global_batch"] = "micro_batch"
    elif values["global_batch"] is not None and "grad_accum" not in asked and not values["optimizer_in_backward"]:
        values["grad_accum"] = accumulation(values["global_batch"], values["micro_batch"] or 1, _data_ranks(values))
        origin["grad_accum"] = "global_batch"


def _data_ranks(values: dict[str, Any]) -> int:
    return Parallel(**values["parallel"]).data_ranks


def accumulation(global_batch: int, micro_batch: int, ranks: int) -> int:
    """Micro-batches per optimizer step that come nearest to the global batch, at least 1."""
    return max(1, round(global_batch / (micro_batch * ranks)))


# -------------------------------------------------------------------------------------------- consistency


def inconsistent(field: str, es: str, en: str, *suggestions: str) -> RequestError:
    """The refusal of fields that cannot go together."""
    return RequestError("inconsistent", field, es=es, en=en, suggestions=suggestions)


def _refuse_inconsistent(values: dict[str, Any], asked: dict[str, Any]) -> None:
    """Combinations that no framework runs, or that would mean two things at once."""
    _refuse_numerics(values, asked)
    _refuse_parallel(values)
    _refuse_batch(values, asked)
    _refuse_dataset(values)
    _refuse_job(values, asked)


def _refuse_numerics(values: dict[str, Any], asked: dict[str, Any]) -> None:
    method, precision = values["method"], values["precision"]
    if method in FULL_METHODS:
        if precision is None:
            raise inconsistent(
                "precision",
                f"«{method}» necesita una precisión.",
                f"“{method}” needs a precision.",
                "bf16",
                "bf16-mixed",
            )
        if values["quantization"] != "none":
            raise inconsistent(
                "quantization",
                f"«{method}» entrena los pesos del modelo, que no pueden estar cuantizados: usa «qlora» o «none».",
                f"“{method}” trains the model's weights, which cannot be quantised: use “qlora” or “none”.",
                "none",
            )
        if precision.endswith("mixed") and not values["autocast"]:
            raise inconsistent(
                "autocast",
                f"«{precision}» es precisión mixta: el paso hacia delante corre con autocast. "
                "Quita «autocast» o usa una precisión pura.",
                f"“{precision}” is mixed precision: the forward pass runs under autocast. "
                "Leave “autocast” out or use a pure precision.",
                precision.removesuffix("-mixed"),
            )
        expected = WEIGHT_DTYPE[precision]
        if "base_dtype" in asked and values["base_dtype"] != expected:
            raise inconsistent(
                "base_dtype",
                f"Con «{precision}» los pesos son {expected}: «base_dtype» es de una base congelada.",
                f"With “{precision}” the weights are {expected}: “base_dtype” is for a frozen base.",
                expected,
            )
    else:
        if precision is not None:
            raise inconsistent(
                "precision",
                f"«precision» es del fine-tuning completo; con «{method}» di «base_dtype», «lora.dtype» y «autocast».",
                f"“precision” is for full fine-tuning; with “{method}” say “base_dtype”, “lora.dtype” and “autocast”.",
                "base_dtype",
                "lora.dtype",
                "autocast",
            )
        if method == "qlora" and values["quantization"] == "none":
            raise inconsistent(
                "quantization",
                "«qlora» es LoRA sobre una base cuantizada: usa «lora» o elige una cuantización.",
                "“qlora” is LoRA on a quantised base: use “lora” or choose a quantisation.",
                "nf4-nested",
                "nf4",
            )
    if values["kbit_upcast"] and values["quantization"] == "none":
        raise inconsistent(
            "kbit_upcast",
            "«kbit_upcast» es lo que hace prepare_model_for_kbit_training con una base cuantizada; esta no lo está.",
            "“kbit_upcast” is what prepare_model_for_kbit_training does to a quantised base; this one is not.",
            "false",
        )
    if values["reference"] == "adapter-off" and method in FULL_METHODS:
        raise inconsistent(
            "reference",
            "Sin adaptadores no hay nada que desactivar: la referencia es una copia o se calcula antes.",
            "Without adapters there is nothing to switch off: the reference is a copy or is computed beforehand.",
            "copy",
            "precomputed",
        )


def _refuse_parallel(values: dict[str, Any]) -> None:
    parallel = values["parallel"]
    world = parallel["gpus_per_node"] * parallel["nodes"]
    strategy = parallel["strategy"]
    split = parallel["tp"] * parallel["pp"] * parallel["cp"] * parallel["sp"]
    if world % split:
        raise inconsistent(
            "parallel",
            f"{world} GPU no se reparten entre tp × pp × cp × sp = {split}.",
            f"{world} GPUs cannot be divided by tp × pp × cp × sp = {split}.",
        )
    if strategy == "none" and world > parallel["tp"] * parallel["pp"]:
        raise inconsistent(
            "parallel.strategy",
            f"{world} GPU necesitan una estrategia.",
            f"{world} GPUs need a strategy.",
            "ddp",
            "fsdp2",
            "zero3",
        )
    ranks = world // (parallel["tp"] * parallel["pp"])
    if ranks % parallel["replicas"]:
        raise inconsistent(
            "parallel.replicas",
            f"{ranks} rangos no se reparten en {parallel['replicas']} réplicas.",
            f"{ranks} ranks cannot be divided into {parallel['replicas']} replicas.",
        )
    if world % parallel["ep"]:
        raise inconsistent(
            "parallel.ep",
            f"{world} GPU no se reparten entre ep = {parallel['ep']}.",
            f"{world} GPUs cannot be divided by ep = {parallel['ep']}.",
        )
    if parallel["offload"] in ("all", "nvme") and strategy in ("ddp", "zero1", "zero2"):
        raise inconsistent(
            "parallel.offload",
            f"«{strategy}» guarda los pesos enteros en cada GPU: solo descarga el optimizador.",
            f"“{strategy}” keeps whole weights on every GPU: it offloads the optimizer only.",
            "optimizer",
        )


def _refuse_batch(values: dict[str, Any], asked: dict[str, Any]) -> None:
    if values["optimizer_in_backward"] and values["grad_accum"] > 1:
        raise inconsistent(
            "optimizer_in_backward",
            "Si el optimizador actúa durante el paso hacia atrás no se pueden acumular gradientes.",
            "An optimizer that steps during the backward pass cannot accumulate gradients.",
            "false",
        )
    if values["global_batch"] is not None and values["micro_batch"] is not None:
        ranks = _data_ranks(values)
        if values["global_batch"] < values["micro_batch"] * ranks:
            raise inconsistent(
                "global_batch",
                f"{values['global_batch']} es menos que un micro-lote de {values['micro_batch']} en {ranks} rangos.",
                f"{values['global_batch']} is less than a micro-batch of {values['micro_batch']} on {ranks} ranks.",
                str(values["micro_batch"] * ranks),
            )


def _refuse_dataset(values: dict[str, Any]) -> None:
    dataset = values["dataset"]
    histogram = dataset["length_histogram"]
    if histogram is not None and (
        not histogram
        or any(len(pair) != 2 or pair[0] < 1 or pair[1] < 0 for pair in histogram)
        or sum(pair[1] for pair in histogram) <= 0
    ):
        raise inconsistent(
            "dataset.length_histogram",
            "El histograma es una lista de pares [tokens, ejemplos] con algún ejemplo.",
            "The histogram is a list of [tokens, examples] pairs with some example.",
        )
    longest = dataset["max_tokens"]
    if longest is not None and dataset["mean_tokens"] > longest:
        raise inconsistent(
            "dataset.mean_tokens",
            f"El ejemplo medio ({dataset['mean_tokens']:g}) no puede ser más largo que el mayor ({longest}).",
            f"The average example ({dataset['mean_tokens']:g}) cannot be longer than the longest ({longest}).",
            str(longest),
        )


def _refuse_job(values: dict[str, Any], asked: dict[str, Any]) -> None:
    if values["mode"] == "have-gpu" and values["gpu"] is None:
        raise RequestError("missing", "gpu", accepted='"a100-sxm-80gb"')
    if values["mode"] == "have-budget":
        limits = {
            "budget_usd": {"es": "0 USD o más", "en": "0 USD or more"},
            "deadline_h": {"es": "más de 0 horas", "en": "more than 0 hours"},
        }
        for name, accepted in limits.items():
            if values["job"][name] is None:
                raise RequestError("missing", f"job.{name}", accepted=accepted)
    _refuse_dates_and_releases(asked)


def _refuse_dates_and_releases(asked: dict[str, Any]) -> None:
    """A date that is none, or of a time without these GPUs; a release that no package could have."""
    if (day := asked.get("as_of")) is not None:
        if not _is_date(day) or len(day) != len(FIRST_DAY):
            raise RequestError("wrong-type", "as_of", day, '"2026-11-30"')
        if not FIRST_DAY <= day <= LAST_DAY:
            raise RequestError("out-of-range", "as_of", day, f"{FIRST_DAY} … {LAST_DAY}")
    if not _is_release(asked.get("transformers", "5")):
        raise RequestError("wrong-type", "transformers", asked["transformers"], '"4.48" | "5.0.1"')
    version = asked.get("framework_version")
    if version is not None and not _is_release(version) and not _is_date(version):
        raise RequestError("wrong-type", "framework_version", version, '"0.21.0" | "2026-03"')


def _is_date(text: str) -> bool:
    try:
        day_number(text)
    except ValueError:
        return False
    return text.isascii()


def _is_release(text: str) -> bool:
    """Whether a text can be a package's release: numbers between dots, whatever follows them (`v5.0.dev0`, `4.57+cu`).

    >>> [_is_release(text) for text in ("4.48", "v5.0.dev0", "banana", "-4", "4 or so", "2026-13")]
    [True, True, False, False, False, False]
    """
    first = text.removeprefix("v").split(".", 1)[0]
    known = all(c.isalnum() or c in ".+-_" for c in text)
    return text.isascii() and known and first.isdigit()


def _refuse_as_peft(plan: Plan, architecture: Architecture) -> None:
    """Adapters that PEFT refuses: where kernels would not call them, or on half of a parameter."""
    if refused := passed_by(architecture, plan.method, plan.lora.targets):
        rest = tuple(name for name in linear_names(architecture) if name not in refused)
        raise inconsistent(
            "lora.targets",
            f"PEFT no pone adaptadores en {', '.join(refused)} de «{architecture.family}»: sus núcleos de Mamba los "
            f"saltarían. Nombra los módulos sin él: {', '.join(rest)}.",
            f"PEFT puts no adapters on {', '.join(refused)} of “{architecture.family}”: its Mamba kernels would pass "
            f"them by. Name the modules without it: {', '.join(rest)}.",
            *rest,
        )
    if half := half_named(architecture, plan):
        raise inconsistent(
            "lora.targets",
            f"Los expertos tienen «{half[0]}» y «{half[1]}» en un solo parámetro: PEFT pide nombrar los dos o ninguno.",
            f"The experts hold “{half[0]}” and “{half[1]}” in one parameter: PEFT wants both named, or neither.",
            half[1],
        )


def _refuse_targets(plan: Plan, architecture: Architecture) -> None:
    """Adapters need a module to sit on: PEFT refuses targets that match none."""
    if plan.method not in TARGETED or targets_head(architecture, plan):
        return
    if any(layer_parameters(y, plan) + fused_expert_parameters(y, plan) for y in architecture.layers):
        return
    targets = plan.lora.targets
    modules = [m.name for y in architecture.layers for m in (*y.linears, *(() if y.expert_parameters else y.experts))]
    known = tuple(dict.fromkeys([*modules, architecture.traits.names["head"]]))
    words = (targets,) if isinstance(targets, str) else targets
    near = [name for word in words for name in near_matches(word, known)]
    shown = ", ".join([shorten(word) for word in words[:4]]) + ", …" * (len(words) > 4)
    raise inconsistent(
        "lora.targets",
        f"Los adaptadores no encuentran ningún módulo: [{shown}]. El modelo tiene {', '.join(known)}.",
        f"The adapters find no module: [{shown}]. The model has {', '.join(known)}.",
        *(dict.fromkeys(near) or known),
    )


def check_filters(plan: Plan, catalog: Catalog) -> None:
    """Providers, kinds and regions of the filters must exist: a misspelt one would silently leave no offer."""
    kinds = {row["kind"]: None for row in catalog.providers.values() if row.get("kind")}
    for name, words, known in (
        ("providers", plan.filters.providers, catalog.providers),
        ("kinds", plan.filters.kinds, kinds),
    ):
        for word in words:
            if known and word not in known:
                raise _unknown_filter(name, word, known)
    if not catalog.offers:
        return
    regions = {offer.region: None for offer in catalog.offers if offer.region}
    for region in plan.filters.regions:
        wanted = region.lower()
        if wanted not in REGION_GROUPS and not any(in_region(one, wanted) for one in regions):
            raise _unknown_filter("regions", region, [*REGION_GROUPS, *regions])


def _unknown_filter(name: str, word: str, known: Iterable[str]) -> RequestError:
    some = list(dict.fromkeys(known))
    accepted = " | ".join(some[:12]) + " …" * (len(some) > 12)
    return RequestError("unknown-value", f"filters.{name}", word, accepted, near_matches(word, some))


# --------------------------------------------------------------------------------------------------- plan


def _plan(values: dict[str, Any], origin: dict[str, Any]) -> Plan:
    fields: dict[str, Any] = {
        name: NESTED[name](**{key: _freeze(inner) for key, inner in value.items()})
        if name in NESTED
        else _freeze(value)
        for name, value in values.items()
    }
    return Plan(defaults=origin, **fields)


def _freeze(value: object) -> object:
    """Lists as tuples: a plan does not change. Objects (a config, a calibration request) stay as they are."""
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    return value


def as_request(plan: Plan) -> dict[str, Any]:
    """The plan as JSON-ready values under the request's names, `defaults` included."""
    shown = plan._asdict()
    for name in NESTED:
        shown[name] = shown[name]._asdict()
    return shown
