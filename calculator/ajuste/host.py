"""Host RAM and disk of a run."""

from __future__ import annotations

from . import activations
from .architecture import Architecture, parameters
from .card import Range, engine_bytes
from .case import Case
from .catalog import Gpu
from .constants import ASSUMPTIONS
from .memory import GB, GIB
from .optimizer import paged_states, state_bytes
from .plan import Plan
from .weights import base_bytes


def host_ram(plan: Plan, arch: Architecture, values: dict[str, float]) -> Range:
    """RAM of the fullest node while the job runs.

    Unit: bytes. Formula: per process the Python and CUDA libraries + what is offloaded, with its buffers; the model
    while it is read (0 to 1 copies × `model_readers`; packed weights go tensor by tensor to the GPU); tokenised dataset
    once per node.
    """
    c = Case(plan, arch, values)
    processes = 1 if plan.parallel.strategy in ("none", "device-map") else plan.parallel.gpus_per_node
    process = _assumption("host-process-gib", GIB)
    copies = _assumption("host-load-copies", 0.0 if plan.is_quantized else c.stored * parameters(arch))
    buffers = _assumption("host-offload-buffers", offloaded_bytes(c))
    fixed = processes * (paged_states(c) + offloaded_activations(c)) + dataset_bytes(plan)
    return Range(
        *(
            processes * (libraries + moved) + readers * copy + fixed
            for libraries, copy, moved, readers in zip(process, copies, buffers, model_readers(c), strict=True)
        )
    )


def model_readers(c: Case) -> Range:
    """Processes of a node that hold the model in RAM while it loads, each its own copy.

    Unit: processes. Formula: one where FSDP or ZeRO-3 shards it (accelerate's `fsdp_cpu_ram_efficient_loading` reads on
    rank 0 only, DeepSpeed's `zero.Init` partitions each weight as it is made); else all, but at least and, as a rule,
    one while nothing is converted: tensors are then views of the file mapped into memory, which processes share.
    Conversions copy: to another type, and of experts into one tensor.
    Source: transformers 5, `core_model_loading.py`; safetensors, which maps files.
    """
    parallel = c.plan.parallel
    processes = 1 if parallel.strategy in ("none", "device-map") else parallel.gpus_per_node
    if parallel.strategy in ("zero3", "fsdp1", "fsdp2"):
        processes = 1
    converted = c.stored != 2 or c.arch.is_moe or c.arch.stored_bytes != 2 * parameters(c.arch)
    return Range(1, processes if converted else 1, processes)


def offloaded_bytes(c: Case) -> float:
    """What one rank keeps in host RAM instead of on its GPU.

    Unit: bytes. Formula: trained × (4 for an fp32 copy + the moments + 4 for fp32 gradients) ÷ ranks; with weights
    offloaded, + their bytes ÷ ranks. FSDP makes no copy: its weights, and gradients of their type. On NVMe both lie
    on disk.
    """
    kind = c.plan.parallel.offload
    if kind in ("none", "nvme"):
        return 0.0
    beside = c.kept_gradient * (1 if c.full else 2) if c.steps_on_host else 8.0
    states = (beside * c.trainable + state_bytes(c)) * c.state_share
    return states + (base_bytes(c) * c.weight_share if kind == "all" else 0.0)


def offloaded_activations(c: Case) -> float:
    """Saved activations of one rank while they live in host RAM. Unit: bytes. Formula: T × Σ layers."""
    if not c.plan.activation_offload:
        return 0.0
    per_token = sum(y.count * activations.waiting_per_token(c, y) for y in c.arch.layers)
    return per_token * c.tokens


def dataset_bytes(plan: Plan) -> float:
    """Tokenised examples: 64-bit ids, mask and labels. Unit: bytes. Formula: 24 B × tokens of one epoch."""
    return 24.0 * plan.dataset.examples * plan.dataset.mean_tokens


def disk(plan: Plan, arch: Architecture, values: dict[str, float]) -> Range:
    """Disk of the whole run.

    Unit: bytes. Formula: system and packages + the downloaded checkpoint + dataset
    + (kept checkpoints + the one being written) × checkpoint + merged model.
    """
    whole = plan.replace(parallel=plan.parallel._replace(tp=1, pp=1, ep=1))
    c = Case(whole, arch, values)
    system = _assumption("disk-system-gb", GB)
    download = download_bytes(arch)
    fixed = download + 2 * dataset_bytes(plan) + (plan.save.keep + 1) * checkpoint_bytes(c)
    if plan.save.merge:
        fixed += merged_bytes(arch)
    return Range(*(value + fixed for value in system))


def download_bytes(arch: Architecture) -> float:
    """The checkpoint as published. Unit: bytes. Formula: 2 × N, or as `architecture.stored_bytes`."""
    return arch.stored_bytes


def merged_bytes(arch: Architecture) -> float:
    """The model with its adapters merged, in 16 bits however it was published. Unit: bytes. Formula: 2 N."""
    return 2.0 * parameters(arch)


def checkpoint_bytes(c: Case) -> float:
    """One training checkpoint.

    Unit: bytes. Formula: trained parameters × their bytes, + optimizer states when they are saved.
    """
    trained = c.trainable * (c.weight if c.full else c.kept_gradient)
    return trained + (state_bytes(c) if c.plan.save.states else 0.0)


def server_gpus(plan: Plan, arch: Architecture, gpu: Gpu) -> int:
    """GPUs that a generation server of GRPO takes for itself, of the trainer's kind; 0 without one.

    Formula: the fewest, a power of two, whose share for the engine holds 16-bit weights and the cache of its
    sequences. Source: trl's vllm-serve, whose tensor parallelism and share of the memory are options of its own.
    """
    if plan.task != "grpo" or plan.rl.engine != "server":
        return 0
    whole = plan.replace(parallel=plan.parallel._replace(strategy="none", gpus_per_node=1, nodes=1, tp=1))
    room = ASSUMPTIONS["engine-server-share"].mid * (gpu.usable_gib or gpu.memory_label_gb * GB / GIB) * GIB
    needed, count = engine_bytes(whole, arch).mid, 1
    while count * room < needed:
        count *= 2
    return count


def _assumption(name: str, unit: float) -> Range:
    row = ASSUMPTIONS[name]
    return Range(row.low * unit, row.mid * unit, row.high * unit)
