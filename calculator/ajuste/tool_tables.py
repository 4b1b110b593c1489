"""The table of each tool, by name; accelerate's and torchtune's, which are short, stand here."""

from __future__ import annotations

from .tool_axolotl import AXOLOTL
from .tool_deepspeed import DEEPSPEED
from .tool_llama_factory import LLAMA_FACTORY
from .tool_rules import ANY, FULL, PEFT, SHARDED, ZERO, Linked, Rows, Rule, Same
from .tool_trl import TRL

ACCELERATE: tuple[Rule, ...] = (
    Same("parallel.nodes", "num_machines"),
    Rows(
        ("parallel.strategy", "parallel.offload"),
        (
            *("distributed_type", "deepspeed_config.zero_stage", "deepspeed_config.offload_optimizer_device"),
            *("deepspeed_config.offload_param_device", "fsdp_config.fsdp_version", "fsdp_config.fsdp_offload_params"),
        ),
        (
            (("ddp", "none"), ("MULTI_GPU", ANY, ANY, ANY, ANY, ANY)),
            (("none", "none"), ("NO", ANY, ANY, ANY, ANY, ANY)),
            (("zero1", "none"), ("DEEPSPEED", 1, None, None, ANY, ANY)),
            (("zero1", "optimizer"), ("DEEPSPEED", 1, "cpu", None, ANY, ANY)),
            (("zero2", "none"), ("DEEPSPEED", 2, None, None, ANY, ANY)),
            (("zero2", "optimizer"), ("DEEPSPEED", 2, "cpu", None, ANY, ANY)),
            (("zero3", "none"), ("DEEPSPEED", 3, None, None, ANY, ANY)),
            (("zero3", "optimizer"), ("DEEPSPEED", 3, "cpu", None, ANY, ANY)),
            (("zero3", "all"), ("DEEPSPEED", 3, ("cpu", None), "cpu", ANY, ANY)),
            (("zero3", "nvme"), ("DEEPSPEED", 3, "nvme", "nvme", ANY, ANY)),
            (("fsdp2", "all"), ("FSDP", ANY, ANY, ANY, (2, "2"), True)),
            (("fsdp2", "none"), ("FSDP", ANY, ANY, ANY, (2, "2"), (False, None))),
            (("fsdp1", "all"), ("FSDP", ANY, ANY, ANY, (1, "1", None), True)),
            (("fsdp1", "none"), ("FSDP", ANY, ANY, ANY, (1, "1", None), (False, None))),
        ),
    ),
    Rows(
        ("parallel.reshard_after_forward",),
        ("fsdp_config.fsdp_reshard_after_forward",),
        (((True,), ((True, "FULL_SHARD", "HYBRID_SHARD"),)), ((False,), ((False, "SHARD_GRAD_OP", "NO_SHARD"),))),
        when=SHARDED,
    ),
    Rows(
        ("gradient_checkpointing",),
        ("fsdp_config.fsdp_activation_checkpointing",),
        ((("full",), (True,)),),
        when=SHARDED,
        older=True,
    ),
    Same("grad_accum", "deepspeed_config.gradient_accumulation_steps", when=(("parallel.strategy", ZERO),)),
    Linked("parallel.gpus_per_node", "num_processes", times=("parallel.nodes",)),
    Same("parallel.tp", "parallelism_config.parallelism_config_tp_size", unless=1),
    Same("parallel.cp", "parallelism_config.parallelism_config_cp_size", unless=1),
    Same("parallel.replicas", "parallelism_config.parallelism_config_dp_replicate_size", unless=1),
)

# ---------------------------------------------------------------------------------------------------- torchtune

# Its model and method are a builder's name, chosen in `ajuste.train_files`.
TORCHTUNE: tuple[Rule, ...] = (
    Same("micro_batch", "batch_size"),
    Same("grad_accum", "gradient_accumulation_steps"),
    Same("sequence_length", "tokenizer.max_seq_len"),
    Same("dataset.epochs", "epochs"),
    Rows(("padding",), ("dataset.packed",), ((("packed",), (True,)), (("padded",), (False,)))),
    Rows(
        ("lora.targets",),
        ("model.lora_attn_modules", "model.apply_lora_to_mlp"),
        (
            (("all-linear",), (["q_proj", "k_proj", "v_proj", "output_proj"], True)),
            (("attention",), (["q_proj", "k_proj", "v_proj", "output_proj"], False)),
            (("qkv",), (["q_proj", "k_proj", "v_proj"], False)),
            (("qv",), (["q_proj", "v_proj"], False)),
        ),
        when=PEFT,
    ),
    Same("lora.rank", "model.lora_rank", when=PEFT),
    Same("lora.dropout", "model.lora_dropout", when=PEFT),
    Rows(
        ("optimizer",),
        ("optimizer._component_", "optimizer.fused"),
        (
            (("adamw",), ("torch.optim.AdamW", True)),
            (("adamw-foreach",), ("torch.optim.AdamW", None)),
            (("adamw-8bit",), ("bitsandbytes.optim.AdamW8bit", None)),
            (("paged-adamw-8bit",), ("bitsandbytes.optim.PagedAdamW8bit", None)),
            (("paged-adamw",), ("bitsandbytes.optim.PagedAdamW", None)),
            (("adamw-4bit",), ("torchao.optim.AdamW4bit", None)),
            (("sgd",), ("torch.optim.SGD", None)),
        ),
    ),
    Same("optimizer_in_backward", "optimizer_in_bwd", when=FULL),
    Rows(
        ("loss",),
        ("loss._component_",),
        (
            (("chunked-kept",), ("torchtune.modules.loss.CEWithChunkedOutputLoss",)),
            (("default",), ("torch.nn.CrossEntropyLoss",)),
        ),
    ),
    Rows(
        ("gradient_checkpointing", "activation_offload"),
        ("enable_activation_checkpointing", "enable_activation_offloading"),
        (
            (("full", True), (True, True)),
            (("full", False), (True, False)),
            (("none", True), (False, True)),
            (("none", False), (False, False)),
        ),
    ),
    Rows(("precision",), ("dtype",), ((("bf16",), ("bf16",)), (("fp32",), ("fp32",))), when=FULL),
    Rows(("base_dtype",), ("dtype",), ((("bf16",), ("bf16",)), (("fp32",), ("fp32",))), when=PEFT),
    Same("compile", "compile"),
    Rows(("parallel.offload",), ("fsdp_cpu_offload",), ((("all",), (True,)),), when=SHARDED),
    Same("parallel.reshard_after_forward", "fsdp_reshard_after_forward", when=SHARDED),
    Same("parallel.tp", "tensor_parallel_dim", unless=1),
)

# ---------------------------------------------------------------------------------------------------- all of them

# What a file that leaves a key out gets from the tool, where our presets do not hold it: field -> (key, value).
TOOL_DEFAULTS: dict[str, dict[str, tuple[str, object]]] = {
    "axolotl": {
        "micro_batch": ("micro_batch_size", 1),
        "sequence_length": ("sequence_len", 512),
        "dataset.epochs": ("num_epochs", 1),
    },
    "llama-factory": {
        "micro_batch": ("per_device_train_batch_size", 8),
        "sequence_length": ("cutoff_len", 2048),
        "dataset.epochs": ("num_train_epochs", 3),
    },
    "trl": {
        "micro_batch": ("per_device_train_batch_size", 8),
        "sequence_length": ("max_length", 1024),
        "dataset.epochs": ("num_train_epochs", 3),
    },
}

TABLES: dict[str, tuple[Rule, ...]] = {
    "axolotl": AXOLOTL,
    "llama-factory": LLAMA_FACTORY,
    "trl": TRL,
    "deepspeed": DEEPSPEED,
    "accelerate": ACCELERATE,
    "torchtune": TORCHTUNE,
}
