"""What each tool's file says, key by key, against the request's fields. One table serves both directions.

Each table is a tuple of rules, applied in order by `ajuste.tool_files`:

- `Same`: a key whose value is the field's value.
- `Rows`: keys that decide fields together, one row per case. Reading takes the first row whose file side matches,
  writing the first whose request side does.
- `Linked`: a number that is a product with other fields, such as the GPUs of a whole job.

On the file side of a row `None` means absent or false, `False` said to be false, `ANY` whatever it is (not written),
`GIVEN` whatever it is, but said; a tuple holds spellings, the first of which is written. On the request side `ANY` is
left alone.

Read from the packages' sources on 2026-11-30: axolotl 0.21.0, llamafactory 0.9.5, trl 1.16.0, transformers 5.24.0,
deepspeed 0.19.8, accelerate 1.15.0. A test looks every key up there again.
"""

from __future__ import annotations

from typing import NamedTuple

from .contract import FULL_METHODS, PEFT_METHODS

ANY = object()
GIVEN = object()  # said at all, whatever it is (not written)
ZERO = ("zero1", "zero2", "zero3")
FSDP = ("fsdp1", "fsdp2")
WHOLE = (None, "none", "ddp", "device-map")
Condition = tuple[tuple[str, tuple[object, ...]], ...]


class Also(NamedTuple):
    """A list that a row needs beside it when written, such as the plugin that defines its keys. Not compared."""

    items: tuple[str, ...]


class Same(NamedTuple):
    """One key, one field, the same value."""

    field: str
    key: str
    older: bool = False  # a spelling that is read and no longer written
    when: Condition = ()
    unless: object = None  # the value that is said by saying nothing


class Rows(NamedTuple):
    """Keys that decide fields together."""

    fields: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[tuple[tuple[object, ...], tuple[object, ...]], ...]
    when: Condition = ()
    older: bool = False


class Linked(NamedTuple):
    """`key` = `field` × `times` ÷ `over`, all integers; a factor that is not said counts as 1."""

    field: str
    key: str
    times: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    when: Condition = ()
    older: bool = False


Rule = Same | Rows | Linked

FULL: Condition = (("method", FULL_METHODS),)
PEFT: Condition = (("method", PEFT_METHODS),)
ZEROED: Condition = (("parallel.strategy", ZERO),)
SHARDED: Condition = (("parallel.strategy", FSDP),)
GRPO: Condition = (("task", ("grpo",)),)


def _sharded(base: Condition, *strategies: object) -> Condition:
    return (*base, ("parallel.strategy", strategies))


def _under(prefix: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The same rules with their keys inside a table of the file."""
    moved: list[Rule] = []
    for rule in rules:
        if isinstance(rule, Rows):
            moved.append(rule._replace(keys=tuple(prefix + key for key in rule.keys)))
        else:
            moved.append(rule._replace(key=prefix + rule.key))
    return tuple(moved)


# ---------------------------------------------------------------------------------------------------- DeepSpeed

ZERO_RULES: tuple[Rule, ...] = (
    Rows(
        ("parallel.strategy", "parallel.offload"),
        (
            "zero_optimization.stage",
            "zero_optimization.offload_optimizer.device",
            "zero_optimization.offload_param.device",
        ),
        (
            (("zero1", "none"), (1, None, None)),
            (("zero1", "optimizer"), (1, "cpu", None)),
            (("zero2", "none"), (2, None, None)),
            (("zero2", "optimizer"), (2, "cpu", None)),
            (("zero3", "none"), (3, None, None)),
            (("zero3", "optimizer"), (3, "cpu", None)),
            (("zero3", "all"), (3, "cpu", "cpu")),
            (("zero3", "all"), (3, None, "cpu")),
            (("zero3", "nvme"), (3, "nvme", "nvme")),
            (("zero3", "nvme"), (3, ("nvme", "cpu"), ("nvme", "cpu"))),
        ),
    ),
    Rows(
        ("parallel.strategy", "parallel.offload"), ("zero_optimization.stage",), ((("ddp", "none"), (0,)),), older=True
    ),
    Same("parallel.bucket_elements", "zero_optimization.reduce_bucket_size", when=ZEROED),
    Same("parallel.max_live_parameters", "zero_optimization.stage3_max_live_parameters", when=ZEROED),
    Same("parallel.prefetch", "zero_optimization.stage3_prefetch_bucket_size", when=ZEROED),
)

# The whole batch names the number of GPUs: started on another number, the engine refuses to run.
BATCH_RULES: tuple[Rule, ...] = (
    Same("micro_batch", "train_micro_batch_size_per_gpu"),
    Same("grad_accum", "gradient_accumulation_steps"),
    Linked("parallel.gpus_per_node", "train_batch_size", times=("micro_batch", "grad_accum", "parallel.nodes")),
)
WHOLE_BATCH: tuple[Rule, ...] = (
    Linked(
        "parallel.gpus_per_node",
        "deepspeed.train_batch_size",
        times=("micro_batch", "grad_accum"),
        when=(("parallel.strategy", ZERO), ("parallel.nodes", (None, 1))),
    ),
)

DEEPSPEED: tuple[Rule, ...] = (
    *ZERO_RULES,
    *BATCH_RULES,
    Rows(
        ("precision",),
        ("bf16.enabled", "fp16.enabled"),
        ((("bf16-master",), (True, None)), (("fp16-mixed",), (None, True))),
        when=(("method", (*FULL_METHODS, None)),),
    ),
    Rows(
        ("optimizer",),
        ("optimizer.type",),
        (
            (("adamw",), (("AdamW", "Adam", "FusedAdam", "DeepSpeedCPUAdam"),)),
            (("lion",), (("Lion", "FusedLion", "DeepSpeedCPULion"),)),
            (("sgd",), ("SGD",)),
            (("muon",), ("Muon",)),
        ),
    ),
    Rows(
        ("activation_offload",),
        ("activation_checkpointing.cpu_checkpointing",),
        (((True,), (True,)), ((False,), (False,))),
    ),
    Same("parallel.tp", "tensor_parallel.autotp_size", unless=1),
)

# ---------------------------------------------------------------------------------- what the HF Trainer's users share

OPTIMIZERS = (
    ("adamw", ("adamw_torch_fused", "adamw_apex_fused")),
    ("adamw-foreach", ("adamw_torch", "adamw_hf", "adamw")),
    ("adamw-8bit", ("adamw_8bit", "adamw_bnb_8bit", "adamw_torch_8bit", "ao_adamw_8bit")),
    ("paged-adamw-8bit", ("paged_adamw_8bit",)),
    ("paged-adamw", ("paged_adamw_32bit", "paged_adamw")),
    ("adamw-4bit", ("adamw_torch_4bit", "ao_adamw_4bit")),
    ("adafactor", ("adafactor",)),
    ("lion", ("lion_32bit", "lion_pytorch")),
    ("sgd", ("sgd",)),
)


def _optimizer_rule(key: str, extra: tuple[tuple[str, tuple[str, ...]], ...] = (), galore: bool = True) -> Rows:
    """The optimizer, and the full methods that are one: GaLore, LOMO."""
    rows: list[tuple[tuple[object, ...], tuple[object, ...]]] = []
    if galore:
        rows += [
            (("galore", "adamw"), ("galore_adamw",)),
            (("galore", "adamw-8bit"), ("galore_adamw_8bit",)),
            (("galore", "adafactor"), ("galore_adafactor",)),
            (("lomo", ANY), (("lomo", "adalomo"),)),
        ]
    rows += [((ANY, name), (spellings,)) for name, spellings in (*extra, *OPTIMIZERS)]
    return Rows(("method", "optimizer"), (key,), tuple(rows))


ATTENTION = (
    (
        "flash",
        (
            "flash_attention_2",
            "flash_attention_3",
            "flash_attention_4",
            "flash_attention",
            "kernels-community/flash-attn2",
            "kernels-community/flash-attn3",
            "kernels-community/vllm-flash-attn3",
            "kernels-community/flash-attn",
            "xformers",
            "sage",
        ),
    ),
    ("sdpa", ("sdpa", "flex_attention")),
    ("eager", ("eager",)),
)
ATTENTION_ROWS = tuple(((name,), (spellings,)) for name, spellings in ATTENTION)


def _training_arguments() -> tuple[Rule, ...]:
    """transformers.TrainingArguments, which TRL and LLaMA-Factory extend."""
    return (
        Same("micro_batch", "per_device_train_batch_size"),
        Same("grad_accum", "gradient_accumulation_steps"),
        Same("dataset.epochs", "num_train_epochs"),
        Rows(
            ("dataset.group_by_length",),
            ("train_sampling_strategy",),
            (((True,), ("group_by_length",)), ((False,), (("random", "sequential"),))),
        ),
        Same("dataset.group_by_length", "group_by_length", older=True),
        Same("eval.batch", "per_device_eval_batch_size"),
        Same("eval.every_steps", "eval_steps"),
        Rows(("eval.keep_logits",), ("prediction_loss_only",), (((False,), (True,)), ((True,), (False,)))),
        Same("save.every_steps", "save_steps"),
        Same("save.keep", "save_total_limit"),
        Rows(("save.states",), ("save_only_model",), (((True,), (False,)), ((False,), (True,)))),
        Same("compile", "torch_compile"),
        *_under("deepspeed.", ZERO_RULES),
        Same("parallel.tp", "deepspeed.tensor_parallel.autotp_size", when=ZEROED, unless=1),
        Rows(
            ("parallel.strategy", "parallel.offload"),
            ("fsdp", "fsdp_config.version", "fsdp_config.reshard_after_forward"),
            (
                (("fsdp1", "all"), (("full_shard auto_wrap offload", "full_shard offload"), (1, "1"), ANY)),
                (("fsdp1", "none"), (("full_shard auto_wrap", "full_shard", True), (1, "1"), ANY)),
                (("fsdp2", "all"), (("full_shard auto_wrap offload", "full_shard offload"), (2, "2", None), ANY)),
                (("fsdp2", "none"), (("full_shard auto_wrap", "full_shard", True), (2, "2", None), ANY)),
            ),
        ),
        Same("parallel.reshard_after_forward", "fsdp_config.reshard_after_forward", when=SHARDED),
    )


# ------------------------------------------------------------------------------------------------------ axolotl


def _axolotl_methods() -> tuple[tuple[tuple[object, ...], tuple[object, ...]], ...]:
    """(method, quantization) against (adapter, load_in_4bit, load_in_8bit, gptq, double quantisation, DoRA, rsLoRA)."""
    rows: list[tuple[tuple[object, ...], tuple[object, ...]]] = []
    for method, dora, rslora in (("dora", True, None), ("rslora", None, True), ("qlora", None, None)):
        rows.append(((method, "nf4"), ("qlora", True, None, None, False, dora, rslora)))
        rows.append(((method, "nf4-nested"), ("qlora", True, None, None, ANY, dora, rslora)))
    for method, dora, rslora in (("dora", True, None), ("rslora", None, True), ("lora", None, None)):
        rows.append(((method, "int8"), ("lora", None, True, None, ANY, dora, rslora)))
        rows.append(((method, "gptq-int4"), (("lora", "qlora"), None, None, True, ANY, dora, rslora)))
        rows.append(((method, "none"), ("lora", None, None, None, ANY, dora, rslora)))
    rows.append(
        (("qlora", ANY), ("qlora", ANY, ANY, None, ANY, None, None))
    )  # a file that the tool itself would refuse
    rows.append((("llama-adapter", "none"), ("llama-adapter", None, None, None, ANY, None, None)))
    rows.append((("full", "none"), (None, None, None, None, ANY, None, None)))
    return tuple(rows)


HALF_KEYS = ("bfloat16", "float16", "fp16", "float32", "bf16")
BF16 = (True, "auto", "true", None)
LIGER = Also(("axolotl.integrations.liger.LigerPlugin",))
CUT = Also(("axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin",))


def _axolotl_numerics(fields: tuple[str, ...], when: Condition, *rows: tuple[tuple[object, ...], str]) -> Rows:
    """One row per dtype key, in the order in which the tool looks: `bf16` is on (“auto”) unless another one is said."""
    sides: dict[str, tuple[object, ...]] = {
        "bfloat16": (True, ANY, ANY, ANY, ANY),
        "float16": (None, True, ANY, ANY, ANY),
        "fp16": (None, None, True, ANY, ANY),
        "float32": (None, None, None, True, ANY),
        "no bf16": (None, None, None, None, False),
        "bf16": (None, None, None, None, BF16),
    }
    return Rows(fields, HALF_KEYS, tuple((values, sides[name]) for values, name in rows), when)


AXOLOTL: tuple[Rule, ...] = (
    Same("model", "base_model"),
    Rows(
        ("method", "quantization"),
        (
            *("adapter", "load_in_4bit", "load_in_8bit", "gptq", "bnb_config_kwargs.bnb_4bit_use_double_quant"),
            *("peft_use_dora", "peft_use_rslora"),
        ),
        _axolotl_methods(),
    ),
    _optimizer_rule("optimizer", (("adamw-4bit", ("ao_adamw_4bit", "adamw_torch_4bit")), ("muon", ("muon",)))),
    Rows(
        ("task", "reference"),
        ("rl", "reward_model", "precompute_ref_log_probs"),
        (
            (("reward", ANY), (ANY, True, ANY)),
            (("dpo", "precomputed"), (("dpo", "ipo"), None, True)),
            (("dpo", ANY), (("dpo", "ipo"), None, None)),
            (("kto", ANY), ("kto", None, ANY)),
            (("orpo", ANY), ("orpo", None, ANY)),
            (("simpo", ANY), ("simpo", None, ANY)),
            (("grpo", ANY), (("grpo", "gdpo"), None, ANY)),
        ),
    ),
    Rows(("task",), ("pretraining_dataset",), ((("pretrain",), (GIVEN,)),), older=True),
    Rows(
        ("parallel.strategy", "parallel.offload"),
        ("fsdp_version", "fsdp_config.offload_params"),
        (
            (("fsdp2", "all"), ((2, "2"), True)),
            (("fsdp2", "none"), ((2, "2"), (False, None))),
            (("fsdp1", "all"), ((1, "1"), True)),
            (("fsdp1", "none"), ((1, "1"), None)),
        ),
    ),
    Same("parallel.reshard_after_forward", "fsdp_config.reshard_after_forward", when=SHARDED),
    *_under("deepspeed.", ZERO_RULES),
    Same("parallel.tp", "tensor_parallel_size", unless=1),
    Same("parallel.cp", "context_parallel_size", when=(("parallel.strategy", (*FSDP, *WHOLE)),), unless=1),
    Same("parallel.sp", "context_parallel_size", when=ZEROED, unless=1),
    Same("parallel.cp", "sequence_parallel_degree", older=True),
    Same("parallel.replicas", "dp_replicate_size", unless=1),
    Same("parallel.ep", "expert_parallel_size", unless=1),
    Linked(
        "parallel.gpus_per_node",
        "dp_shard_size",
        over=("parallel.replicas", "parallel.tp", "parallel.cp"),
        when=(("parallel.strategy", ("fsdp2",)), ("parallel.nodes", (None, 1))),
    ),
    Same("micro_batch", "micro_batch_size"),
    Same("grad_accum", "gradient_accumulation_steps"),
    Linked("grad_accum", "batch_size", times=("micro_batch",), older=True),
    *WHOLE_BATCH,
    Same("quantize_moe_experts", "quantize_moe_experts", unless=False),
    Same("sequence_length", "sequence_len"),
    _axolotl_numerics(
        ("precision", "autocast"),
        _sharded(FULL, *ZERO),
        (("fp16-mixed", True), "fp16"),
        (("bf16-master", False), "bf16"),
    ),
    _axolotl_numerics(
        ("precision", "autocast"),
        _sharded(FULL, *FSDP),
        (("bf16", False), "bfloat16"),
        (("fp16-mixed", True), "fp16"),
        (("fp32", False), "float32"),
        (("fp32", False), "no bf16"),
        (("bf16-mixed", True), "bf16"),
    ),
    _axolotl_numerics(
        ("precision", "autocast"),
        _sharded(FULL, *WHOLE),
        (("bf16", False), "bfloat16"),
        (("fp16", False), "float16"),
        (("fp16", True), "fp16"),
        (("fp32", False), "float32"),
        (("fp32", False), "no bf16"),
        (("bf16", True), "bf16"),
    ),
    _axolotl_numerics(
        ("base_dtype", "autocast"),
        PEFT,
        (("bf16", False), "bfloat16"),
        (("fp16", False), "float16"),
        (("fp16", True), "fp16"),
        (("fp32", False), "float32"),
        (("fp32", False), "no bf16"),
        (("bf16", True), "bf16"),
    ),
    Same("lora.rank", "lora_r", when=PEFT),
    Same("lora.dropout", "lora_dropout", when=PEFT),
    Rows(
        ("lora.targets",),
        ("lora_target_linear", "lora_target_modules"),
        (
            (("all-linear",), (True, None)),
            (("all-linear",), (ANY, "all-linear")),
            (("qv",), (None, ["q_proj", "v_proj"])),
            (("qkv",), (None, ["q_proj", "k_proj", "v_proj"])),
            (("attention",), (None, ["q_proj", "k_proj", "v_proj", "o_proj"])),
        ),
        when=PEFT,
    ),
    Same("lora.targets", "lora_target_modules", when=PEFT),
    Rows(("lora.dtype",), ("peft_autocast_adapter_dtype",), ((("fp32",), (True,)), (("bf16",), (False,))), when=PEFT),
    Rows(
        ("train_embeddings",),
        ("lora_modules_to_save",),
        (((True,), (["embed_tokens", "lm_head"],)), ((True,), (["lm_head", "embed_tokens"],)), ((False,), (None,))),
        when=PEFT,
    ),
    Rows(
        ("gradient_checkpointing", "activation_offload"),
        ("gradient_checkpointing", "activation_offloading", "selective_checkpointing"),
        (
            (("selective", ANY), ((True, "true"), ANY, True)),
            (("full", True), (("offload", "unsloth", "offload_disk"), ANY, None)),
            (("full", True), ((True, "true"), (True, "legacy", "disk", "hidden_states"), None)),
            (("full", False), ((True, "true"), (False, None), None)),
            (("none", False), (False, None, None)),
        ),
    ),
    Rows(("attention",), ("attn_implementation",), ATTENTION_ROWS),
    Rows(
        ("attention",),
        (
            "flash_attention",
            "xformers_attention",
            "sage_attention",
            "sdp_attention",
            "flex_attention",
            "eager_attention",
        ),
        (
            (("flash",), (True, ANY, ANY, ANY, ANY, ANY)),
            (("flash",), (None, True, ANY, ANY, ANY, ANY)),
            (("flash",), (None, None, True, ANY, ANY, ANY)),
            (("sdpa",), (None, None, None, True, ANY, ANY)),
            (("sdpa",), (None, None, None, None, True, ANY)),
            (("eager",), (None, None, None, None, None, True)),
        ),
        older=True,
    ),
    Rows(
        ("padding",),
        ("sample_packing", "batch_flattening"),
        (
            (("packed",), (True, ANY)),
            (("padding-free",), (None, (True, "auto"))),
            (("padded",), (False, None)),
        ),
    ),
    Rows(
        ("loss", "kernels"),
        (
            *("liger_fused_linear_cross_entropy", "cut_cross_entropy", "chunked_cross_entropy", "liger_cross_entropy"),
            *("liger_rms_norm", "liger_glu_activation", "plugins"),
        ),
        (
            (("fused", "liger"), (True, None, None, None, True, True, LIGER)),
            (("fused", "none"), (None, True, None, None, None, None, CUT)),
            (("fused", "liger"), (ANY, True, None, None, True, ANY, ANY)),
            (("fused", "none"), (True, None, None, None, ANY, ANY, ANY)),
            (("chunked-kept", "none"), (None, None, True, None, None, None, None)),
            (("default", "liger"), (None, None, None, None, True, True, LIGER)),
            (("default", "none"), (None, None, None, None, ANY, ANY, ANY)),
        ),
    ),
    Same("compile", "torch_compile"),
    Same("dataset.epochs", "num_epochs"),
    Same("dataset.group_by_length", "group_by_length"),
    Same("eval.examples", "val_set_size"),
    Same("eval.batch", "eval_batch_size"),
    Same("eval.every_steps", "eval_steps"),
    Same("save.every_steps", "save_steps"),
    Same("save.keep", "save_total_limit"),
    Rows(("save.states",), ("save_only_model",), (((True,), (False,)), ((False,), (True,)))),
    Rows(
        ("rl.engine",),
        ("trl.use_vllm", "trl.vllm_mode"),
        ((("colocate",), (True, "colocate")), (("server",), (True, ("server", None))), (("none",), (False, ANY))),
        when=GRPO,
    ),
    Same("rl.generations", "trl.num_generations", when=GRPO),
    Same("rl.completion_tokens", "trl.max_completion_length", when=GRPO),
    Same("rl.beta", "trl.beta", when=GRPO),
    Same("rl.engine_share", "vllm.gpu_memory_utilization", when=(("task", ("grpo",)), ("rl.engine", ("colocate",)))),
    Rows(("vision",), ("freeze_mm_modules",), ((("frozen",), (True,)), (("trained",), (False,)))),
)

# ------------------------------------------------------------------------------------------------ LLaMA-Factory

LLAMA_FACTORY: tuple[Rule, ...] = (
    Same("model", "model_name_or_path"),
    Rows(
        ("method", "quantization"),
        ("finetuning_type", "quantization_bit", "double_quantization", "use_dora", "use_rslora", "use_galore"),
        (
            (("galore", "none"), ("full", None, ANY, ANY, ANY, True)),
            (("full", "none"), ("full", None, ANY, ANY, ANY, None)),
            (("freeze", "none"), ("freeze", None, ANY, ANY, ANY, None)),
            (("dora", "nf4"), ("lora", (4, "4"), False, True, ANY, None)),
            (("dora", "nf4-nested"), ("lora", (4, "4"), ANY, True, ANY, None)),
            (("rslora", "nf4"), ("lora", (4, "4"), False, None, True, None)),
            (("rslora", "nf4-nested"), ("lora", (4, "4"), ANY, None, True, None)),
            (("qlora", "nf4"), ("lora", (4, "4"), False, None, None, None)),
            (("qlora", "nf4-nested"), ("lora", (4, "4"), ANY, None, None, None)),
            (("dora", "int8"), ("lora", (8, "8"), ANY, True, ANY, None)),
            (("rslora", "int8"), ("lora", (8, "8"), ANY, None, True, None)),
            (("lora", "int8"), ("lora", (8, "8"), ANY, None, None, None)),
            (("dora", "none"), ("lora", None, ANY, True, ANY, None)),
            (("rslora", "none"), ("lora", None, ANY, None, True, None)),
            (("lora", "none"), (("lora", None), None, ANY, None, None, None)),
        ),
    ),
    Rows(
        ("method", "optimizer"),
        ("use_muon", "optim"),
        (
            ((ANY, "muon"), (True, ANY)),
            (("lomo", ANY), (None, ("lomo", "adalomo"))),
            *(((ANY, name), (None, spellings)) for name, spellings in OPTIMIZERS),
        ),
    ),
    Rows(
        ("task",),
        ("stage", "pref_loss"),
        (
            (("orpo",), ("dpo", "orpo")),
            (("simpo",), ("dpo", "simpo")),
            (("dpo",), ("dpo", ("sigmoid", "hinge", "ipo", "kto_pair", None))),
            (("kto",), ("kto", ANY)),
            (("reward",), ("rm", ANY)),
            (("pretrain",), ("pt", ANY)),
            (("sft",), ("sft", ANY)),
        ),
    ),
    *_training_arguments(),
    *WHOLE_BATCH,
    Same("sequence_length", "cutoff_len"),
    Rows(
        ("precision", "autocast"),
        ("pure_bf16", "bf16", "fp16"),
        ((("bf16-master", False), (None, True, None)), (("fp16-mixed", True), (None, None, True))),
        when=_sharded(FULL, *ZERO),
    ),
    Rows(
        ("precision", "autocast"),
        ("pure_bf16", "bf16", "fp16"),
        (
            (("bf16", False), (True, ANY, ANY)),
            (("bf16-mixed", True), (None, True, None)),
            (("fp16-mixed", True), (None, None, True)),
            (("fp32", False), (None, None, None)),
        ),
        when=_sharded(FULL, *FSDP, *WHOLE),
    ),
    Rows(
        ("base_dtype", "autocast", "lora.dtype"),
        ("pure_bf16", "bf16", "fp16"),
        (
            (("bf16", False, "bf16"), (True, ANY, ANY)),
            (("bf16", True, "fp32"), (None, True, None)),
            (("fp16", True, "fp32"), (None, None, True)),
            (("bf16", False, "fp32"), (None, None, None)),  # the checkpoint's own dtype
        ),
        when=PEFT,
    ),
    Same("lora.rank", "lora_rank", when=PEFT),
    Same("lora.rank", "galore_rank", when=(("method", ("galore",)),)),
    Same("lora.dropout", "lora_dropout", when=PEFT),
    Rows(
        ("lora.targets",),
        ("lora_target",),
        (
            (("all-linear",), (("all", None),)),
            (("qv",), (("q_proj,v_proj", "q_proj, v_proj"),)),
            (("qkv",), (("q_proj,k_proj,v_proj",),)),
            (("attention",), (("q_proj,k_proj,v_proj,o_proj",),)),
        ),
        when=PEFT,
    ),
    Same("lora.targets", "lora_target", when=PEFT),
    Rows(
        ("train_embeddings",),
        ("additional_target",),
        (((True,), (("embed_tokens,lm_head", "lm_head,embed_tokens"),)), ((False,), (None,))),
        when=PEFT,
    ),
    Rows(
        ("gradient_checkpointing", "activation_offload"),
        ("disable_gradient_checkpointing", "use_unsloth_gc"),
        (
            (("none", False), (True, ANY)),
            (("full", True), (None, True)),
            (("full", False), (None, None)),
        ),
    ),
    Rows(
        ("attention",),
        ("flash_attn",),
        (
            (("flash",), (("fa2", "fa3"),)),
            (("sdpa",), (("sdpa", "auto"),)),
            (("eager",), ("disabled",)),
        ),
    ),
    Rows(
        ("padding",),
        ("packing", "neat_packing"),
        ((("packed",), (True, ANY)), (("packed",), (ANY, True)), (("padded",), (False, None))),
    ),
    Rows(
        ("loss", "kernels"),
        ("enable_liger_kernel", "use_unsloth"),
        (
            (("fused", "unsloth"), (ANY, True)),
            (("fused", "liger"), (True, None)),
            (("default", "none"), (None, None)),
        ),
    ),
    Same("eval.examples", "val_size"),
    Same("dataset.examples", "max_samples", older=True),
    Rows(("vision",), ("freeze_vision_tower",), ((("frozen",), (True,)), (("trained",), (False,)))),
)

# ---------------------------------------------------------------------------------------------------------- TRL

HALF = {"bf16": ("bfloat16", "bf16"), "fp16": ("float16", "fp16")}
FP32 = ("float32", "fp32", None)

LONG_ROWS: Condition = (("task", (None, "sft", "pretrain", "dpo", "kto", "orpo", "simpo", "reward")),)

TRL: tuple[Rule, ...] = (
    Same("model", "model_name_or_path"),
    Rows(
        ("method", "quantization"),
        ("use_peft", "load_in_4bit", "load_in_8bit", "use_bnb_nested_quant", "use_dora", "use_rslora"),
        (
            (("full", "none"), (None, None, None, ANY, ANY, ANY)),
            (("dora", "nf4-nested"), (True, True, None, True, True, ANY)),
            (("dora", "nf4"), (True, True, None, None, True, ANY)),
            (("rslora", "nf4-nested"), (True, True, None, True, None, True)),
            (("rslora", "nf4"), (True, True, None, None, None, True)),
            (("qlora", "nf4-nested"), (True, True, None, True, None, None)),
            (("qlora", "nf4"), (True, True, None, None, None, None)),
            (("dora", "int8"), (True, None, True, ANY, True, ANY)),
            (("rslora", "int8"), (True, None, True, ANY, None, True)),
            (("lora", "int8"), (True, None, True, ANY, None, None)),
            (("dora", "none"), (True, None, None, ANY, True, ANY)),
            (("rslora", "none"), (True, None, None, ANY, None, True)),
            (("lora", "none"), (True, None, None, ANY, None, None)),
        ),
    ),
    _optimizer_rule("optim"),
    Rows(("task",), ("num_generations",), ((("grpo",), (GIVEN,)),), older=True),
    *_training_arguments(),
    *WHOLE_BATCH,
    Same("sequence_length", "max_length", when=LONG_ROWS),
    Rows(
        ("precision", "autocast"),
        ("bf16", "fp16", "dtype"),
        ((("bf16-master", False), ((True, None), None, HALF["bf16"])), (("fp16-mixed", True), (ANY, True, ANY))),
        when=_sharded(FULL, *ZERO),
    ),
    Rows(
        ("precision", "autocast"),
        ("bf16", "fp16", "dtype"),
        (
            (("bf16", False), (False, None, (*HALF["bf16"], "auto"))),
            (("fp32", False), (False, None, FP32)),
            (("fp16-mixed", True), (ANY, True, FP32)),
            (("bf16", True), ((True, None), None, (*HALF["bf16"], "auto"))),
            (("bf16-mixed", True), ((True, None), None, FP32)),
        ),
        when=_sharded(FULL, *FSDP, *WHOLE),
    ),
    Rows(
        ("base_dtype", "autocast"),
        ("bf16", "fp16", "dtype"),
        (
            (("bf16", False), (False, None, (*HALF["bf16"], "auto"))),
            (("fp16", False), (False, None, HALF["fp16"])),
            (("fp32", False), (False, None, FP32)),
            (("fp16", True), (ANY, True, HALF["fp16"])),
            (("bf16", True), ((True, None), None, (*HALF["bf16"], "auto"))),
            (("fp32", True), ((True, None), None, FP32)),
            (("fp32", True), (ANY, True, FP32)),
        ),
        when=PEFT,
    ),
    Same("lora.rank", "lora_r", when=PEFT),
    Same("lora.dropout", "lora_dropout", when=PEFT),
    Rows(
        ("lora.targets",),
        ("lora_target_modules",),
        (
            (("all-linear",), (("all-linear", ["all-linear"]),)),
            (("qv",), (["q_proj", "v_proj"],)),
            (("qkv",), (["q_proj", "k_proj", "v_proj"],)),
            (("attention",), (["q_proj", "k_proj", "v_proj", "o_proj"],)),
        ),
        when=PEFT,
    ),
    Same("lora.targets", "lora_target_modules", when=PEFT),
    Rows(
        ("train_embeddings",),
        ("lora_modules_to_save",),
        (((True,), (["embed_tokens", "lm_head"],)), ((True,), (["lm_head", "embed_tokens"],)), ((False,), (None,))),
        when=PEFT,
    ),
    Rows(
        ("gradient_checkpointing", "activation_offload"),
        ("gradient_checkpointing", "activation_offloading"),
        (
            (("none", False), (False, None)),
            (("none", True), (False, True)),
            (("full", True), ((True, None), True)),
            (("full", False), ((True, None), (False, None))),
        ),
        when=LONG_ROWS,
    ),
    Rows(
        ("gradient_checkpointing",),
        ("gradient_checkpointing",),
        ((("none",), (False,)), (("full",), (True,))),
        when=GRPO,
    ),
    Rows(("attention",), ("attn_implementation",), ATTENTION_ROWS),
    Rows(
        ("padding",),
        ("packing", "padding_free"),
        ((("packed",), (True, ANY)), (("padding-free",), (None, True)), (("padded",), (False, None))),
        when=(("task", (None, "sft", "pretrain")),),
    ),
    Rows(
        ("padding",),
        ("padding_free",),
        ((("padding-free",), (True,)), (("padded",), (False,))),
        when=(("task", ("dpo",)),),
    ),
    Rows(
        ("loss", "kernels"),
        ("use_liger_kernel",),
        ((("fused", "liger"), (True,)),),
    ),
    Rows(
        ("reference",),
        ("precompute_ref_log_probs",),
        ((("precomputed",), (True,)),),
        when=(("task", ("dpo", "kto")),),
    ),
    Rows(("reference",), ("precompute_ref_log_probs",), ((("precomputed",), (True,)),), older=True),
    Same("rl.generations", "num_generations", when=GRPO),
    Same("rl.completion_tokens", "max_completion_length", when=GRPO),
    Same("rl.beta", "beta", when=GRPO),
    Rows(
        ("rl.engine",),
        ("use_vllm", "vllm_mode"),
        ((("colocate",), (True, ("colocate", None))), (("server",), (True, "server")), (("none",), (False, ANY))),
        when=GRPO,
    ),
    Same("rl.engine_share", "vllm_gpu_memory_utilization", when=(*GRPO, ("rl.engine", ("colocate",)))),
)

# --------------------------------------------------------------------------------------------------- accelerate

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

# DeepSpeed files that tools ship, by name: a training file points at them.
_Z2: dict[str, object] = {"zero_optimization": {"stage": 2}}
_Z3: dict[str, object] = {"zero_optimization": {"stage": 3}}


def _offloaded(stage: int, *places: str) -> dict[str, object]:
    return {"zero_optimization": {"stage": stage, **{f"offload_{place}": {"device": "cpu"} for place in places}}}


SHIPPED_DEEPSPEED: dict[str, dict[str, object]] = {
    "zero1": {"zero_optimization": {"stage": 1}},
    "zero1_torch_compile": {"zero_optimization": {"stage": 1}},
    "zero2": _Z2,
    "zero2_torch_compile": _Z2,
    "zero3": _Z3,
    "zero3_bf16": _Z3,
    "zero3_bf16_cpuoffload_params": _offloaded(3, "param"),
    "zero3_bf16_cpuoffload_all": _offloaded(3, "optimizer", "param"),
    "ds_z0_config": {"zero_optimization": {"stage": 0}},
    "ds_z2_config": _Z2,
    "ds_z2_offload_config": _offloaded(2, "optimizer"),
    "ds_z2_autotp_config": _Z2,
    "ds_z3_config": _Z3,
    "ds_z3_offload_config": _offloaded(3, "optimizer", "param"),
    "ds_z3_fp8_config": _Z3,
}

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

TABLES: dict[str, tuple[Rule, ...]] = {
    "axolotl": AXOLOTL,
    "llama-factory": LLAMA_FACTORY,
    "trl": TRL,
    "deepspeed": DEEPSPEED,
    "accelerate": ACCELERATE,
    "torchtune": TORCHTUNE,
}
