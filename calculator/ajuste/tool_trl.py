"""TRL 1.16.0: what its file says, key by key, against the request's fields (rules: `ajuste.tool_rules`)."""

from __future__ import annotations

from .tool_deepspeed import WHOLE_BATCH
from .tool_modules import LLAMA_TARGETS, embeddings_rule
from .tool_rules import ANY, FSDP, FULL, GIVEN, GRPO, PEFT, WHOLE, ZERO, Condition, Rows, Rule, Same, sharded
from .tool_trainer import ATTENTION_ROWS, optimizer_rule, training_arguments

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
    optimizer_rule("optim"),
    Rows(("task",), ("num_generations",), ((("grpo",), (GIVEN,)),), older=True),
    *training_arguments(),
    *WHOLE_BATCH,
    Same("sequence_length", "max_length", when=LONG_ROWS),
    Rows(
        ("precision", "autocast"),
        ("bf16", "fp16", "dtype"),
        ((("bf16-master", False), ((True, None), None, HALF["bf16"])), (("fp16-mixed", True), (ANY, True, ANY))),
        when=sharded(FULL, *ZERO),
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
        when=sharded(FULL, *FSDP, *WHOLE),
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
            *(((word,), (names,)) for word, names in LLAMA_TARGETS),
        ),
        when=PEFT,
    ),
    Same("lora.targets", "lora_target_modules", when=PEFT),
    embeddings_rule("lora_modules_to_save"),
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
    # Of Liger, its trainers take the layers' kernels alone, and keep their own chunked loss.
    Rows(("kernels",), ("use_liger_kernel",), ((("liger",), (True,)), (("none",), (None,)))),
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
