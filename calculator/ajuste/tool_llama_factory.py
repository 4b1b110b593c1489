"""LLaMA-Factory 0.9.5: what its file says, key by key, against the request's fields (rules: `ajuste.tool_rules`)."""

from __future__ import annotations

from .tool_deepspeed import WHOLE_BATCH
from .tool_modules import LLAMA_TARGETS, embeddings_rule
from .tool_rules import ANY, FSDP, FULL, PEFT, WHOLE, ZERO, Rows, Rule, Same, sharded
from .tool_trainer import OPTIMIZERS, training_arguments

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
    *training_arguments(),
    *WHOLE_BATCH,
    Same("sequence_length", "cutoff_len"),
    Rows(
        ("precision", "autocast"),
        ("pure_bf16", "bf16", "fp16"),
        ((("bf16-master", False), (None, True, None)), (("fp16-mixed", True), (None, None, True))),
        when=sharded(FULL, *ZERO),
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
        when=sharded(FULL, *FSDP, *WHOLE),
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
            *(((word,), ((",".join(names), ", ".join(names)),)) for word, names in LLAMA_TARGETS),
        ),
        when=PEFT,
    ),
    Same("lora.targets", "lora_target", when=PEFT),
    embeddings_rule("additional_target", joined=True),
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
