"""The defaults in data/presets.toml are those of the frameworks' pinned releases: read from their source, not imported.

When a new release is pinned and changes one, the test that fails names the framework, the field and both values.
"""

import ast
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import pytest
import yaml

from ajuste import load_catalog
from ajuste.constants import PRESETS
from ajuste.resolve import resolve

pytestmark = pytest.mark.slow

MODEL = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4} | {
    "intermediate_size": 128,
    "vocab_size": 256,
}


class Fact(NamedTuple):
    """One default as a package writes it, and what it must be in a plan."""

    framework: str
    field: str  # of the plan; dots into its parts
    place: str  # file of the package
    name: str  # Class.field, function(parameter, or a recipe's key
    means: dict[Any, Any]  # published value → the plan's
    asked: dict[str, Any] | None = None


LORA, FULL, QLORA = {"method": "lora"}, {"method": "full"}, {"method": "qlora"}
OFF_ON = {False: "none", True: "full"}
UNSET = {None: "none"}  # the Trainer then leaves the model as it is
OPTIMIZERS = {"adamw_torch_fused": "adamw", "adamw_torch": "adamw-foreach", "AdamW": "adamw-foreach"}
PADDING = {False: "padded", None: "padded", True: "packed"}
AS_IT_IS = {value: value for value in (0.0, 0.05, 8, 16, 512, 50_000_000, 500_000_000, 1_000_000_000)}
ALL = {"all": "all-linear", ("all-linear",): "all-linear"}
DTYPES = {"float32": "fp32", "bf16": "bf16"}
TRAINING = "transformers/training_args.py"
LLAMA_FACTORY = "llamafactory/hparams/finetuning_args.py"
ZERO = "deepspeed/runtime/zero/config.py"
RECIPE = "recipes/configs/llama3_1/8B_lora_single_device.yaml"
FULL_RECIPE = "recipes/configs/llama3_1/8B_full_single_device.yaml"
CHUNKED = {"torchtune.modules.loss.CEWithChunkedOutputLoss": "chunked-kept"}
PAGED = {"bitsandbytes.optim.PagedAdamW8bit": "paged-adamw-8bit"}
MEGATRON = "swift/megatron/arguments/megatron_args.py"

FACTS = [
    Fact("hf", "gradient_checkpointing", TRAINING, "TrainingArguments.activation_checkpointing", UNSET, LORA),
    Fact("hf", "autocast", TRAINING, "TrainingArguments.bf16", {False: False, True: True}, LORA),
    Fact("hf", "optimizer", TRAINING, "TrainingArguments.default_optim", OPTIMIZERS, LORA),
    Fact("hf", "lora.dropout", "peft/tuners/lora/config.py", "LoraConfig.lora_dropout", AS_IT_IS, LORA),
    Fact("hf", "lora.dtype", "peft/mapping_func.py", "get_peft_model(autocast_adapter_dtype", {True: "fp32"}, LORA),
    Fact("trl", "gradient_checkpointing", "trl/trainer/base_config.py", "_BaseConfig.gradient_checkpointing", OFF_ON),
    Fact("trl", "base_dtype", "trl/trainer/model_config.py", "ModelConfig.dtype", DTYPES, LORA),
    Fact("trl", "lora.rank", "trl/trainer/model_config.py", "ModelConfig.lora_r", AS_IT_IS, LORA),
    Fact("trl", "loss", "trl/trainer/sft_config.py", "SFTConfig.loss_type", {"nll": "tiled"}),
    Fact("trl", "padding", "trl/trainer/sft_config.py", "SFTConfig.packing", PADDING),
    Fact("trl", "rl.generations", "trl/trainer/grpo_config.py", "GRPOConfig.num_generations", AS_IT_IS),
    Fact("trl", "rl.completion_tokens", "trl/trainer/grpo_config.py", "GRPOConfig.max_completion_length", AS_IT_IS),
    Fact("trl", "rl.beta", "trl/trainer/grpo_config.py", "GRPOConfig.beta", AS_IT_IS),
    Fact(
        "axolotl",
        "gradient_checkpointing",
        "axolotl/utils/schemas/config.py",
        "AxolotlInputConfig.gradient_checkpointing",
        OFF_ON,
    ),
    Fact("axolotl", "autocast", "axolotl/utils/schemas/config.py", "AxolotlInputConfig.bf16", {"auto": True}, LORA),
    Fact("axolotl", "padding", "axolotl/utils/schemas/config.py", "AxolotlInputConfig.sample_packing", PADDING),
    Fact(
        "axolotl",
        "optimizer",
        "axolotl/utils/schemas/training.py",
        "HyperparametersConfig.optimizer",
        OPTIMIZERS,
        LORA,
    ),
    Fact("axolotl", "lora.dropout", "axolotl/utils/schemas/peft.py", "LoraConfig.lora_dropout", AS_IT_IS, LORA),
    Fact("llama-factory", "lora.rank", LLAMA_FACTORY, "LoraArguments.lora_rank", AS_IT_IS, LORA),
    Fact("llama-factory", "lora.dropout", LLAMA_FACTORY, "LoraArguments.lora_dropout", AS_IT_IS, LORA),
    Fact("llama-factory", "lora.targets", LLAMA_FACTORY, "LoraArguments.lora_target", ALL, LORA),
    Fact("llama-factory", "precision", LLAMA_FACTORY, "FinetuningArguments.pure_bf16", {False: "bf16-mixed"}, FULL),
    Fact(
        "llama-factory",
        "gradient_checkpointing",
        "llamafactory/hparams/model_args.py",
        "BaseModelArguments.disable_gradient_checkpointing",
        {False: "full", True: "none"},
    ),
    Fact("llama-factory", "padding", "llamafactory/hparams/data_args.py", "DataArguments.packing", PADDING),
    Fact("unsloth", "lora.rank", "unsloth/models/llama.py", "get_peft_model(r", AS_IT_IS, LORA),
    Fact("unsloth", "lora.dropout", "unsloth/models/llama.py", "get_peft_model(lora_dropout", AS_IT_IS, LORA),
    Fact(
        "unsloth",
        "activation_offload",
        "unsloth/models/llama.py",
        "get_peft_model(use_gradient_checkpointing",
        {"unsloth": True, True: False},
    ),
    Fact("torchtune", "base_dtype", RECIPE, "dtype", DTYPES, LORA),
    Fact("torchtune", "lora.dtype", RECIPE, "dtype", DTYPES, LORA),
    Fact("torchtune", "lora.rank", RECIPE, "model.lora_rank", AS_IT_IS, LORA),
    Fact("torchtune", "lora.dropout", RECIPE, "model.lora_dropout", AS_IT_IS, LORA),
    Fact("torchtune", "loss", RECIPE, "loss._component_", CHUNKED, LORA),
    Fact("torchtune", "optimizer", RECIPE, "optimizer.fused", {True: "adamw"}, LORA),
    Fact("torchtune", "gradient_checkpointing", RECIPE, "enable_activation_checkpointing", OFF_ON, LORA),
    Fact("torchtune", "activation_offload", RECIPE, "enable_activation_offloading", {False: False}, LORA),
    Fact("torchtune", "compile", RECIPE, "compile", {False: False}, LORA),
    Fact("torchtune", "padding", RECIPE, "dataset.packed", PADDING, LORA),
    Fact("torchtune", "optimizer", FULL_RECIPE, "optimizer._component_", PAGED, FULL),
    Fact("torchtune", "optimizer_in_backward", FULL_RECIPE, "optimizer_in_bwd", {True: True}, FULL),
    Fact("litgpt", "lora.rank", "litgpt/finetune/lora.py", "setup(lora_r", AS_IT_IS, LORA),
    Fact("litgpt", "lora.dropout", "litgpt/finetune/lora.py", "setup(lora_dropout", AS_IT_IS, LORA),
    Fact("litgpt", "optimizer", "litgpt/finetune/lora.py", "setup(optimizer", OPTIMIZERS, LORA),
    Fact("ms-swift", "lora.rank", "swift/arguments/tuner_args.py", "TunerArguments.lora_rank", AS_IT_IS, LORA),
    Fact("ms-swift", "lora.dropout", "swift/arguments/tuner_args.py", "TunerArguments.lora_dropout", AS_IT_IS, LORA),
    Fact("ms-swift", "lora.targets", "swift/arguments/tuner_args.py", "TunerArguments.target_modules", ALL, LORA),
    Fact(
        "ms-swift",
        "gradient_checkpointing",
        "swift/trainers/arguments.py",
        "TrainArgumentsMixin.gradient_checkpointing",
        OFF_ON,
    ),
    Fact("deepspeed", "parallel.bucket_elements", ZERO, "DeepSpeedZeroConfig.reduce_bucket_size", AS_IT_IS),
    Fact("deepspeed", "parallel.max_live_parameters", ZERO, "DeepSpeedZeroConfig.max_live_parameters", AS_IT_IS),
    Fact("deepspeed", "parallel.prefetch", ZERO, "DeepSpeedZeroConfig.prefetch_bucket_size", AS_IT_IS),
    Fact(
        "deepspeed",
        "precision",
        "deepspeed/runtime/precision_config.py",
        "DeepSpeedBF16Config.bf16_master_weights_and_grads",
        {False: "bf16-master"},
        FULL,
    ),
    # Megatron-LM's own arguments are in no package; ms-swift's Megatron repeats them.
    Fact(
        "megatron",
        "gradient_checkpointing",
        MEGATRON,
        "MegatronArguments.recompute_granularity",
        {"selective": "selective"},
    ),
    Fact("megatron", "attention", MEGATRON, "MegatronArguments.attention_backend", {"flash": "flash"}),
    Fact("megatron", "precision", MEGATRON, "MegatronArguments.main_params_dtype", {"fp32": "bf16-master"}, FULL),
    Fact("megatron", "padding", MEGATRON, "MegatronArguments.padding_free", {True: "packed"}),
]


# ------------------------------------------------------------------------------------------------ reading sources


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def published(fact: Fact, packages: Path) -> Any:
    """The default as the package writes it."""
    path = packages / fact.place
    if path.suffix == ".yaml":
        value: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        for key in fact.name.split("."):
            value = value[key]
        return value
    owner, _, name = fact.name.partition("(" if "(" in fact.name else ".")
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef) and node.name == owner and "(" in fact.name:
            given = dict(zip(reversed(node.args.args), reversed(node.args.defaults), strict=False))
            found = {argument.arg: default for argument, default in given.items()}
            if name in found:
                return value_of(found[name])
        if isinstance(node, ast.ClassDef) and node.name == owner:
            # The last one stands: in a condition, those before it are for older releases of what it needs.
            body = [part for part in node.body if not isinstance(part, ast.FunctionDef)]
            fields = [inner for part in body for inner in ast.walk(part) if assigns(inner, name)]
            if fields:
                return value_of(fields[-1].value)
    raise LookupError(f"{fact.place}: {fact.name} is not there any more")


def assigns(statement: ast.AST, name: str) -> TypeGuard[ast.AnnAssign | ast.Assign]:
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name) and statement.target.id == name and statement.value is not None
    return isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == [name]


def value_of(node: ast.AST | None) -> Any:
    """A constant; the default inside field(…) or Field(…), by name, first, or as a factory; a list as a tuple."""
    if isinstance(node, ast.Call):
        words = {word.arg: word.value for word in node.keywords}
        if "default_factory" in words:
            return value_of(words["default_factory"].body)
        return value_of(words["default"] if "default" in words else node.args[0])
    value = ast.literal_eval(node)
    return tuple(value) if isinstance(value, list) else value


# ---------------------------------------------------------------------------------------------------------- tests


def planned(fact: Fact) -> Any:
    """The same field of a plan that asks for nothing else."""
    asked = {"model": MODEL, "framework": fact.framework, "method": "lora"} | (fact.asked or {})
    value: Any = resolve(asked, load_catalog("{}"))[0]
    for part in fact.field.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.framework}-{fact.field}-{fact.name}")
def test_a_default_is_the_published_one(fact: Fact, frameworks: Path):
    said = published(fact, frameworks)
    assert said in fact.means, f"{fact.framework} now says {said!r} for {fact.name}"
    assert planned(fact) == fact.means[said], f"{fact.framework}: {fact.name} = {said!r}"


def test_litgpt_mixes_precision_where_the_card_can(frameworks: Path):
    source = (frameworks / "litgpt/utils.py").read_text(encoding="utf-8")
    assert 'return "bf16-mixed" if training else "bf16-true"' in source
    assert planned(Fact("litgpt", "base_dtype", "", "", {}, LORA)) == "fp32"
    assert planned(Fact("litgpt", "precision", "", "", {}, FULL)) == "bf16-mixed"


def test_litgpt_adapts_queries_and_values(frameworks: Path):
    on = ["query", "value"]
    for part in ("query", "key", "value", "projection", "mlp", "head"):
        fact = Fact("litgpt", "", "litgpt/finetune/lora.py", f"setup(lora_{part}", {})
        assert published(fact, frameworks) is (part in on), part
    assert planned(Fact("litgpt", "lora.targets", "", "", {}, LORA)) == "qv"


def test_trl_turns_the_adapters_of_a_quantised_model_to_bf16(frameworks: Path):
    source = (frameworks / "trl/trainer/sft_trainer.py").read_text(encoding="utf-8")
    assert "param.data = param.data.to(torch.bfloat16)" in source
    assert planned(Fact("trl", "lora.dtype", "", "", {}, QLORA)) == "bf16"


def test_axolotl_turns_its_lora_kernels_on(frameworks: Path):
    source = (frameworks / "axolotl/utils/schemas/validation.py").read_text(encoding="utf-8")
    conditions = ast.unparse(
        next(n for n in ast.parse(source).body if getattr(n, "name", "") == "lora_kernels_auto_enable")
    )
    for condition in (
        "get('rl')",
        "adapter not in ('lora', 'qlora')",
        "adapter == 'lora' and get('load_in_8bit')",
        "get('trust_remote_code')",
    ):
        assert condition in conditions, f"axolotl's own condition is not {condition} any more"

    def kernels(**asked: object) -> str:
        return planned(Fact("axolotl", "kernels", "", "", {}, {"method": "lora", **asked}))

    assert kernels() == kernels(method="qlora") == kernels(task="reward") == "unsloth"
    assert kernels(task="dpo") == kernels(quantization="int8") == kernels(method="full") == "none"
    assert kernels(kernels="liger") == "liger"


def test_every_framework_is_compared():
    assert {fact.framework for fact in FACTS} == set(PRESETS["framework"])


def test_a_default_that_is_gone_is_an_error(frameworks: Path):
    with pytest.raises(LookupError, match="not there any more"):
        published(Fact("hf", "", TRAINING, "TrainingArguments.no_such_field", {}), frameworks)
