"""axolotl 0.21.0: what its file says, key by key, against the request's fields (rules: `ajuste.tool_rules`)."""

from __future__ import annotations

from .contract import LORA_METHODS
from .tool_deepspeed import WHOLE_BATCH, ZERO_RULES
from .tool_modules import LLAMA_TARGETS, embeddings_rule
from .tool_rules import (
    ANY,
    FSDP,
    FULL,
    GIVEN,
    GRPO,
    PEFT,
    SHARDED,
    WHOLE,
    ZERO,
    ZEROED,
    Also,
    Condition,
    Linked,
    Rows,
    Rule,
    Same,
    sharded,
    under,
)
from .tool_trainer import ATTENTION_ROWS, optimizer_rule


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


def _lora_kernels() -> tuple[Rule, ...]:
    """Its LoRA kernels, which are Unsloth's: on by themselves, with the conditions of its `lora_kernels_auto_enable`.

    A flag that is said, or code from a repository, and none turns itself on. The feed-forward's decides memory. With
    them Liger keeps only the norms.
    """
    flags = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")
    said = (True, False)
    on, off = (True, True, True), (False, False, False)
    alone = (
        ("method", LORA_METHODS),
        ("task", (None, "sft", "pretrain", "reward")),
        ("quantization", (None, "none", "nf4", "nf4-nested", "gptq-int4")),
    )
    return (
        Rows(("kernels",), flags, ((("unsloth",), on), (("unsloth",), (True, ANY, ANY))), when=PEFT),
        Rows(
            ("kernels",),
            (*flags, "trust_remote_code"),
            (
                (("unsloth",), (True, ANY, ANY, ANY)),
                ((ANY,), (*off, ANY)),
                ((ANY,), (said, ANY, ANY, ANY)),
                ((ANY,), (ANY, said, ANY, ANY)),
                ((ANY,), (ANY, ANY, said, ANY)),
                ((ANY,), (ANY, ANY, ANY, True)),
                (("unsloth",), (None, None, None, None)),
            ),
            when=alone,
        ),
    )


HALF_KEYS = ("bfloat16", "float16", "fp16", "float32", "bf16")
BF16 = (True, "auto", "true", None)
LIGER = Also(("axolotl.integrations.liger.LigerPlugin",))
CUT = Also(("axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin",))

LOSS_KEYS = (
    "liger_fused_linear_cross_entropy",
    "cut_cross_entropy",
    "chunked_cross_entropy",
    "liger_cross_entropy",
)
LOSSES = (
    (("fused",), (ANY, True, None, None)),
    (("fused",), (True, None, None, None)),
    (("chunked-kept",), (None, None, True, None)),
    (("default",), (None, None, None, None)),
)


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


# A request's dtype and autocast, against the key that says so.
DTYPES = (
    (("bf16", False), "bfloat16"),
    (("fp16", False), "float16"),
    (("fp16", True), "fp16"),
    (("fp32", False), "float32"),
    (("fp32", False), "no bf16"),
    (("bf16", True), "bf16"),
)

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
    optimizer_rule("optimizer", (("adamw-4bit", ("ao_adamw_4bit", "adamw_torch_4bit")), ("muon", ("muon",)))),
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
    *under("deepspeed.", ZERO_RULES),
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
    Rows(("quantize_moe_experts",), ("llama4_linearized_experts",), (((True,), (True,)),), older=True),
    Same("sequence_length", "sequence_len"),
    _axolotl_numerics(
        ("precision", "autocast"),
        sharded(FULL, *ZERO),
        (("fp16-mixed", True), "fp16"),
        (("bf16-master", False), "bf16"),
    ),
    _axolotl_numerics(  # its own preparation for FSDP2 leaves the weights as they were loaded
        ("precision", "autocast"),
        sharded(FULL, "fsdp2"),
        (("bf16", False), "bf16"),
        (("bf16", False), "bfloat16"),
        (("fp16", False), "fp16"),
        (("fp32", False), "float32"),
        (("fp32", False), "no bf16"),
    ),
    _axolotl_numerics(  # accelerate trains fp32 copies of the shards
        ("precision", "autocast"),
        sharded(FULL, "fsdp1"),
        (("bf16", False), "bfloat16"),
        (("fp16-mixed", True), "fp16"),
        (("fp32", False), "float32"),
        (("fp32", False), "no bf16"),
        (("bf16-mixed", True), "bf16"),
    ),
    _axolotl_numerics(
        ("precision", "autocast"),
        sharded(FULL, *WHOLE),
        *DTYPES,
    ),
    _axolotl_numerics(
        ("base_dtype", "autocast"),
        PEFT,
        *DTYPES,
    ),
    Same("lora.rank", "lora_r", when=PEFT),
    Same("lora.dropout", "lora_dropout", when=PEFT),
    Rows(
        ("lora.targets",),
        ("lora_target_linear", "lora_target_modules"),
        (
            (("all-linear",), (True, None)),
            (("all-linear",), (ANY, "all-linear")),
            *(((word,), (None, names)) for word, names in LLAMA_TARGETS),
        ),
        when=PEFT,
    ),
    Same("lora.targets", "lora_target_modules", when=PEFT),
    Rows(("lora.dtype",), ("peft_autocast_adapter_dtype",), ((("fp32",), (True,)), (("bf16",), (False,))), when=PEFT),
    embeddings_rule("lora_modules_to_save"),
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
        ("kernels",),
        ("liger_rms_norm", "liger_glu_activation", "plugins"),
        ((("liger",), (True, True, LIGER)), (("none",), (ANY, ANY, ANY))),
    ),
    *_lora_kernels(),
    Rows(
        ("loss",),
        LOSS_KEYS,
        ((("fused",), (True, None, None, None)), *LOSSES),
        when=(("kernels", ("liger",)),),
    ),
    Rows(
        ("loss",),
        (*LOSS_KEYS, "plugins"),
        (
            (("fused",), (None, True, None, None, CUT)),
            *((fields, (*keys, ANY)) for fields, keys in LOSSES),
        ),
        when=(("kernels", ("none", "unsloth")),),
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
