"""Every key that we write exists in the pinned release of its tool: read from its source, which is not imported."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from ajuste import estimate, load_catalog
from ajuste.errors import RequestError
from ajuste.launch import run_files
from ajuste.tool_files import flatten, written_keys
from ajuste.torchtune_models import TORCHTUNE_MODELS

pytestmark = pytest.mark.slow

TRL_CONFIGS = {
    "sft": "SFTConfig",
    "pretrain": "SFTConfig",
    "dpo": "DPOConfig",
    "kto": "KTOConfig",
    "reward": "RewardConfig",
    "grpo": "GRPOConfig",
}


# ------------------------------------------------------------------------------------------------ reading sources


@cache
def trees(place: Path) -> tuple[ast.Module, ...]:
    """A file, or every file of a folder."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return tuple(ast.parse(path.read_text(encoding="utf-8")) for path in files)


@cache
def classes(folder: Path) -> dict[str, list[ast.ClassDef]]:
    found: dict[str, list[ast.ClassDef]] = {}
    for tree in trees(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


@cache
def arguments(folders: tuple[Path, ...], name: str) -> set[str]:
    """Annotated fields of a class and of every class it is made from."""
    fields: set[str] = set()
    for folder in folders:
        for node in classes(folder).get(name, ()):
            fields |= {
                n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            }
            for base in node.bases:
                parent = ast.unparse(base).split(".")[-1]
                if parent not in (name, "BaseModel", "object"):
                    fields |= arguments(folders, parent)
    return fields


@cache
def parameters(folder: Path, function: str) -> set[str]:
    """Parameters of a function, or of a class's constructor."""
    for tree in trees(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            if isinstance(node, ast.ClassDef) and node.name == function:
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                        return {argument.arg for argument in (*inner.args.args, *inner.args.kwonlyargs)}
    return set()


@cache
def words(folder: Path) -> set[str]:
    """Every string in a package's source: keys that are read by name."""
    return {
        node.value
        for tree in trees(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


# ------------------------------------------------------------------------------------------------ one check per tool


def deepspeed_faults(keys: set[str], packages: Path) -> set[str]:
    runtime = packages / "deepspeed" / "runtime"
    zero = arguments((runtime / "zero",), "DeepSpeedZeroConfig") | words(runtime / "zero")
    top = words(runtime)
    faults = set()
    for key in keys:
        first, *rest = key.split(".")
        if first not in top or any(step not in (zero if first == "zero_optimization" else top) for step in rest):
            faults.add(key)
    return faults


def nested_faults(keys: set[str], prefix: str, allowed: set[str]) -> set[str]:
    return {key for key in keys if key.startswith(prefix) and key.removeprefix(prefix).split(".")[0] not in allowed}


def axolotl_faults(keys: set[str], packages: Path, task: str) -> set[str]:
    schemas = packages / "axolotl" / "utils" / "schemas"
    plugins = packages / "axolotl" / "integrations"
    allowed = arguments((schemas,), "AxolotlInputConfig")
    for plugin in ("LigerArgs", "CutCrossEntropyArgs", "ExpertParallelArgs"):
        allowed |= arguments((plugins,), plugin)
    faults = {key for key in keys if key.split(".")[0] not in allowed}
    for prefix, name in (("trl.", "TRLConfig"), ("vllm.", "VllmConfig"), ("fsdp_config.", "FSDPConfig")):
        faults |= nested_faults(keys, prefix, arguments((schemas,), name))
    bits = parameters(packages / "transformers" / "utils" / "quantization_config.py", "BitsAndBytesConfig")
    faults |= nested_faults(keys, "bnb_config_kwargs.", bits)
    return faults | prefixed(deepspeed_faults, keys, packages)


def llama_factory_faults(keys: set[str], packages: Path, task: str) -> set[str]:
    folder = packages / "llamafactory" / "hparams"
    trainer = packages / "transformers" / "training_args.py"
    allowed = arguments((trainer,), "TrainingArguments")
    for name in ("ModelArguments", "DataArguments", "FinetuningArguments", "GeneratingArguments", "TrainingArguments"):
        allowed |= arguments((folder,), name)
    faults = {key for key in keys if key.split(".")[0] not in allowed}
    faults |= nested_faults(keys, "fsdp_config.", words(trainer))
    return faults | prefixed(deepspeed_faults, keys, packages)


def trl_faults(keys: set[str], packages: Path, task: str) -> set[str]:
    trainer = packages / "transformers" / "training_args.py"
    folders = (packages / "trl" / "trainer", packages / "trl" / "scripts", trainer)
    allowed = arguments(folders, TRL_CONFIGS[task]) | arguments(folders, "TrainingArguments")
    for name in ("ModelConfig", "ScriptArguments", "DatasetMixtureConfig"):
        allowed |= arguments(folders, name)
    faults = {key for key in keys if key.split(".")[0] not in allowed}
    faults |= nested_faults(keys, "fsdp_config.", words(trainer))
    return faults | prefixed(deepspeed_faults, keys, packages)


def prefixed(check, keys: set[str], packages: Path) -> set[str]:
    inner = {key.removeprefix("deepspeed.") for key in keys if key.startswith("deepspeed.")}
    return {f"deepspeed.{key}" for key in check(inner, packages)}


def accelerate_faults(keys: set[str], packages: Path, task: str) -> set[str]:
    folder = packages / "accelerate" / "commands"
    top = arguments((folder,), "ClusterConfig") | arguments((folder,), "BaseConfig")
    named = {word.removeprefix("--") for word in words(folder) | words(packages / "accelerate" / "utils")}
    faults = {key for key in keys if key.split(".")[0] not in top}
    for prefix in ("deepspeed_config.", "fsdp_config.", "parallelism_config."):
        faults |= nested_faults(keys, prefix, named)
    return faults


@cache
def shipped_keys(folder: Path) -> frozenset[str]:
    """Keys of the configurations that torchtune brings."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tables = [yaml.load(path.read_text(encoding="utf-8"), loader) for path in sorted(folder.rglob("*.yaml"))]
    return frozenset(key for table in tables for key in flatten(table or {}))


def torchtune_faults(keys: set[str], packages: Path, task: str) -> set[str]:
    recipes = packages / "recipes"
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(recipes.glob("*.py")))
    allowed = set(re.findall(r"cfg\.([a-z_]+)", text)) | set(re.findall(r"cfg\.get\(\s*\"([a-z_]+)\"", text))
    shipped = shipped_keys(recipes / "configs")
    tune = packages / "torchtune"
    inner = {
        "model.": parameters(tune / "models", "lora_llama3_1_8b") | {"use_dora"},
        "tokenizer.": parameters(tune / "models", "llama3_tokenizer")
        | parameters(tune / "models", "qwen2_5_tokenizer"),
        "checkpointer.": parameters(tune / "training", "FullModelHFCheckpointer"),
        # what the dataset's builder does not know goes to datasets.load_dataset
        "dataset.": parameters(tune / "datasets", "chat_dataset") | {"data_files"},
    }
    faults = set()
    for key in keys:
        first, _, rest = key.partition(".")
        known = inner.get(f"{first}.", set())
        if key in shipped or (first in allowed and (not rest or rest.split(".")[0] in known)):
            continue
        faults.add(key)
    return faults


CHECKS = {
    "axolotl": axolotl_faults,
    "llama-factory": llama_factory_faults,
    "trl": trl_faults,
    "torchtune": torchtune_faults,
    "accelerate": accelerate_faults,
}

# ------------------------------------------------------------------------------------------------------------- tests


@pytest.fixture(scope="module")
def catalog(catalog_text: str):
    return load_catalog(catalog_text)


REQUESTS = [
    {"method": "qlora"},
    {"method": "full", "parallel": {"strategy": "zero3", "gpus_per_node": 8}, "loss": "fused"},
    {"method": "full", "parallel": {"strategy": "fsdp2", "gpus_per_node": 8, "offload": "all"}, "padding": "packed"},
    {"method": "lora", "train_embeddings": True, "lora": {"targets": ["q_proj"]}, "eval": {"examples": 50}},
    {"method": "dora", "quantization": "nf4", "gradient_checkpointing": "full", "activation_offload": True},
    {"method": "lora", "quantization": "int8", "kernels": "liger", "loss": "fused"},
    {"method": "lora", "task": "dpo", "reference": "precomputed"},
    {"method": "qlora", "task": "grpo", "rl": {"engine": "colocate"}},
    {"method": "lora", "task": "kto"},
    {"method": "lora", "task": "reward"},
    {"method": "full", "task": "pretrain", "optimizer": "muon", "padding": "packed"},
    {"method": "lora", "task": "simpo"},
    {"method": "galore", "optimizer": "adamw-8bit"},
]


def documents(tool: str, catalog) -> list[tuple[str, dict]]:
    """What we write for many requests: (task, the file parsed)."""
    made = []
    for request in REQUESTS:
        framework = tool if tool != "accelerate" else "trl"
        answer = estimate({"model": "llama-3.1-8b", "framework": framework, **request}, catalog)
        assert answer["ok"], answer
        try:
            files = run_files(answer, catalog, tool)["files"]
        except RequestError:
            continue  # a task or a method that the tool does not have
        (text,) = (
            file["text"]
            for file in files
            if file["name"] == ("accelerate.yaml" if tool == "accelerate" else "train.yaml")
        )
        made.append((request.get("task", "sft"), yaml.safe_load(text)))
    return made


@pytest.mark.parametrize("tool", list(CHECKS))
def test_every_key_exists_in_the_pinned_release(tool: str, frameworks: Path, catalog):
    made = documents(tool, catalog)
    assert len(made) >= 3
    for task, document in made:
        assert CHECKS[tool](set(flatten(document)), frameworks, task) == set()


@pytest.mark.parametrize("tool", ["axolotl", "llama-factory", "accelerate", "torchtune"])
def test_every_key_of_the_table_exists(tool: str, frameworks: Path):
    assert CHECKS[tool](written_keys(tool), frameworks, "sft") == set()


def test_every_key_of_the_deepspeed_table_exists(frameworks: Path):
    assert deepspeed_faults(written_keys("deepspeed"), frameworks) == set()


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("axolotl", "lora_rank"),
        ("axolotl", "trl.num_generation"),
        ("axolotl", "deepspeed.zero_optimization.stage4"),
        ("llama-factory", "lora_r"),
        ("llama-factory", "deepspeed.zero_optimisation.stage"),
        ("trl", "max_seq_length"),
        ("trl", "evaluation_strategy"),
        ("torchtune", "model.lora_r"),
        ("torchtune", "grad_accum"),
        ("accelerate", "num_gpus"),
        ("accelerate", "fsdp_config.fsdp_offload"),
    ],
)
def test_a_wrong_key_is_found(tool: str, key: str, frameworks: Path):
    assert CHECKS[tool]({key}, frameworks, "sft") == {key}


def test_a_key_of_another_trainer_is_found(frameworks: Path):
    assert trl_faults({"packing"}, frameworks, "sft") == set()
    assert trl_faults({"packing"}, frameworks, "dpo") == {"packing"}


def test_torchtune_has_the_builders(frameworks: Path):
    for builder, (tokenizer, files, kind) in TORCHTUNE_MODELS.values():
        module, function = builder.split(".")
        folder = frameworks / "torchtune" / "models" / module
        assert parameters(folder, f"lora_{function}") or module == "llama3_3", builder
        assert set(files) <= parameters(frameworks / "torchtune" / "models", tokenizer.split(".")[-1])
        assert kind in (frameworks / "torchtune" / "training" / "checkpointing" / "_utils.py").read_text(
            encoding="utf-8"
        )
