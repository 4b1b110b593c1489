"""DeepSpeed: its own files, the table inside a trainer's, and the files that tools ship."""

from __future__ import annotations

from .contract import FULL_METHODS
from .tool_rules import PEFT, ZERO, ZEROED, Linked, Rows, Rule, Same

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
    # Of a frozen base it is the dtype alone. Not written: the engine stops where the trainer's file says another one.
    Rows(
        ("base_dtype",),
        ("bf16.enabled", "fp16.enabled"),
        ((("bf16",), (True, None)), (("fp16",), (None, True))),
        when=PEFT,
        older=True,
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
