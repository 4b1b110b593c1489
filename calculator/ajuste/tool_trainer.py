"""Keys that every user of the HF Trainer shares: optimizers, attention, training arguments."""

from __future__ import annotations

from .tool_deepspeed import ZERO_RULES
from .tool_rules import ANY, SHARDED, ZEROED, Rows, Rule, Same, under

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


def optimizer_rule(key: str, extra: tuple[tuple[str, tuple[str, ...]], ...] = (), galore: bool = True) -> Rows:
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


def training_arguments() -> tuple[Rule, ...]:
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
        *under("deepspeed.", ZERO_RULES),
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
