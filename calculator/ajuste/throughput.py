"""Tokens per second: what a rank computes and moves, over what a GPU reaches.

`work_of` counts once per plan and strategy, before any GPU is named; `rates_of` says what one GPU reaches;
`tokens_per_second` puts them together for a micro-batch. Constants are fitted by `pipeline.fit_throughput` on published
runs and live in assumptions.toml; read them as a set, they trade against each other.
"""

from __future__ import annotations

from .activations import waiting_per_token
from .architecture import Architecture, Layer
from .case import Case
from .catalog import Gpu
from .constants import MID
from .lengths import attended_tokens, mean_tokens, row_tokens
from .peft import targeted
from .plan import Plan
from .records import NamedTuple

# Frameworks whose models are written with fused kernels of their own.
FUSED_FRAMEWORKS = ("torchtune", "axolotl")
# Bytes of a stored weight, as FSDP and ZeRO-3 gather it.
STORED_BYTES = {"none": 2.0, "nf4": 0.56, "nf4-nested": 0.52, "int8": 1.0, "gptq-int4": 0.55, "fp8": 1.0}
# Strategies whose ranks keep a part of the weights and gather the rest, layer by layer.
GATHERING = ("zero3", "fsdp1", "fsdp2")
PCIE_GB_PER_S = {3: 16.0, 4: 32.0, 5: 64.0, 6: 128.0}  # one way, 16 lanes


class Work(NamedTuple):
    """What one rank does. Per token, per micro-batch or per optimizer step; no GPU yet."""

    compute: str  # bf16 | fp16 | fp8 | fp32
    fp8: float  # share of its measured rate that fp8 reaches; 1 for other formats
    efficiency: float  # of matrix multiplications: software, PEFT, experts
    waiting: float  # share of the time that ranks of a split model do not wait for each other
    flops: float  # per token, matrix multiplications
    single_flops: float  # per token, those in fp32 that `flops` leaves out
    attention: tuple[tuple[float, float], ...]  # (FLOPs per token and attended token, window or 0)
    single_attention: bool  # attention of fp32 queries and keys
    elementwise_bytes: float  # per token: norms, activations, rotary
    bytes: float  # per token: logits, adapters
    attention_bytes: float  # per token and attended token: scores that eager attention writes
    batch_bytes: float  # per micro-batch: weights read, dequantised
    launch_seconds: float  # per micro-batch: the CPU launching kernels
    gather_bytes: float  # per micro-batch over the link: FSDP and ZeRO-3
    exchange_bytes: float  # per token over the link, nothing else runs: tensor and expert parallelism
    gradient_bytes: float  # per step over the link: reduction of gradients that are not gathered
    optimizer_bytes: float  # per step in GPU memory
    pcie_batch_bytes: float  # per micro-batch over PCIe: offloaded weights, activations per token apart
    pcie_token_bytes: float  # per token over PCIe: offloaded activations
    pcie_step_bytes: float  # per step over PCIe: offloaded optimizer
    host_step_bytes: float  # per step in host RAM: the optimizer runs there
    split: int  # ranks that share one example or one model
    data_ranks: int
    slowdown: float  # of the method and the task, against LoRA or supervised fine-tuning


class Rates(NamedTuple):
    """What one GPU reaches. FLOP/s and bytes/s."""

    matmul: float
    single: float  # fp32 matrix multiplications
    attention: float
    bandwidth: float
    elementwise: float  # share of elementwise traffic that leaves the cache
    link: float  # one way, as training reaches it
    fabric: float  # the same, between the GPUs that exchange activations
    exposed: float  # share of the shorter of computing and gathering that does not overlap
    pcie: float
    host: float


# --------------------------------------------------------------------------------------------------- the work


def stack_of(plan: Plan) -> str:
    """Software tier: vendor · compiled · fused · eager. From framework, compile and kernels only."""
    if plan.framework == "megatron":
        return "vendor"
    if plan.compile:
        return "compiled"
    if plan.kernels != "none" or plan.framework in FUSED_FRAMEWORKS:
        return "fused"
    return "eager"


def compute_of(plan: Plan) -> str:
    """Number format of the matrix multiplications."""
    if plan.trains_base:
        precision = plan.precision or "bf16"
        return "fp8" if precision == "fp8-mixed" else precision.split("-")[0]
    if plan.autocast:
        return "fp16" if plan.base_dtype == "fp16" else "bf16"
    return plan.base_dtype


def work_of(plan: Plan, arch: Architecture, a: dict[str, float] = MID, compute: str | None = None) -> Work:
    """Count a plan's work per rank.

    FLOPs per token (N weights of the layers that a token meets, H of the head): forward 2, gradient of activations 2,
    gradient of weights 2 only where weights are trained; recomputation repeats the layers' forward.
        linear = (6 | 4) (N + H) + 2 N g         attention = (3.5 + g) · 2 · q per attended token (causal, flash)
    with g the recomputed share: 1 full, `selective-recompute`, 0 none. Adapters of A weights add (6 + 2 g) A, a head
    that is trained beside them its 2 H. Bases upcast to fp32 without autocast compute head and attention in fp32.

    Gathers: each tensor-parallel rank and stage gathers its own part only, and experts are gathered among the ranks
    that hold the same ones.
    """
    stack, full, compute = stack_of(plan), plan.trains_base, compute or compute_of(plan)
    again = {"full": 1.0, "none": 0.0}.get(plan.gradient_checkpointing, a["selective-recompute"])
    passes = (3 if full else 2) + again
    met, stored, expert_flops_share = _layer_weights(arch)
    head = float(arch.embedding)
    every = stored + head
    parallel = plan.parallel
    split = parallel.tp * parallel.pp * parallel.cp * parallel.sp
    shards = parallel.shards
    single = has_fp32_stream(plan)
    head_flops = head * (6 if full or plan.train_embeddings else 4)
    case = Case(plan, arch, a)
    trained = float(case.trainable)
    reduced = 0.0
    if parallel.data_ranks > 1 and parallel.strategy not in GATHERING:
        reduced = 2 * 2.0 * trained * (parallel.data_ranks - 1) / parallel.data_ranks / (parallel.tp * parallel.pp)
    offload = parallel.offload
    states = max(1, shards if parallel.strategy != "ddp" else 1) * parallel.tp * parallel.pp
    optimizer = a["optimizer-bytes"] * (1.0 if stack in ("vendor", "compiled") else a["optimizer-foreach"])
    on_host = offload != "none"
    moe = 1 + expert_flops_share * (a["moe-matmul-slowdown"] - 1)
    widths = _adapted_widths(plan, arch)
    adapters = (6 + 2 * again) * plan.lora.rank * widths if plan.has_lora else 0.0
    waiting = a["model-parallel-efficiency"] if parallel.tp * parallel.pp > 1 else 1.0
    return Work(
        compute=compute,
        fp8=a["fp8-efficiency-vendor" if stack == "vendor" else "fp8-efficiency"] if compute == "fp8" else 1.0,
        efficiency=_efficiency(plan, stack, a) / moe,
        waiting=waiting,
        flops=(6 if full else 4) * met + 2 * met * again + adapters + (0.0 if single else head_flops),
        single_flops=head_flops if single else 0.0,
        attention=tuple(
            ((3.5 + again) * 2 * y.count * y.heads * (y.head_dim + y.value_dim) / 2, float(y.window))
            for y in arch.layers
        ),
        single_attention=single,
        elementwise_bytes=_elementwise_bytes(plan, arch, stack, passes, a) * (2 if single else 1),
        bytes=a["logits-traffic"] * arch.vocabulary + _adapter_bytes(plan, widths, stack, a) * passes / 3,
        attention_bytes=_eager_attention_bytes(plan, arch, a),
        batch_bytes=passes * 2.0 * every * (0.3 if plan.is_quantized else 1.0)
        + (2 + again) * stored * _dequantisation_bytes(plan, a),
        launch_seconds=_launch_seconds(plan, arch, stack, passes, a),
        gather_bytes=(3 if full else 2) * STORED_BYTES[plan.quantization] * _gathered_weights(plan, arch, every),
        exchange_bytes=_exchanged_bytes(plan, arch, 2 + again),
        gradient_bytes=reduced,
        optimizer_bytes=0.0 if on_host else optimizer * trained / states,
        pcie_batch_bytes=(2 + again) * STORED_BYTES[plan.quantization] * every / states
        if offload in ("all", "nvme")
        else 0.0,
        pcie_token_bytes=2 * saved_per_token(case) if plan.activation_offload else 0.0,
        pcie_step_bytes=4.0 * trained / states if on_host else 0.0,
        host_step_bytes=28.0 * trained / states if on_host else 0.0,
        split=split,
        data_ranks=parallel.data_ranks,
        slowdown=_method_slowdown(plan, a) * _task_slowdown(plan),
    )


def has_fp32_stream(plan: Plan) -> bool:
    """Whether activations between layers are fp32: norms and embeddings were upcast, and no autocast casts back.

    Source: PEFT's `prepare_model_for_kbit_training`; bitsandbytes layers compute in 16 bit and return their input's
    type, the head and attention stay in fp32.
    """
    return plan.kbit_upcast and not plan.autocast and not plan.trains_base and plan.base_dtype != "fp32"


def _gathered_weights(plan: Plan, arch: Architecture, every: float) -> float:
    """Weights that a rank receives when all layers are gathered once."""
    parallel = plan.parallel
    if parallel.strategy not in GATHERING:
        return 0.0
    experts = sum(y.count * y.expert_weights for y in arch.layers)
    shards, expert_shards = parallel.shards, parallel.expert_shards
    dense = (every - experts) / (parallel.tp * parallel.pp) * (shards - 1) / shards
    held = parallel.expert_tp * parallel.pp * parallel.ep
    return dense + experts / held * (expert_shards - 1) / expert_shards


def _exchanged_bytes(plan: Plan, arch: Architecture, passes: float) -> float:
    """What layers split over ranks send, with every pass and nothing to compute meanwhile. Unit: bytes per token.

    Formula: tensor parallelism sums the activations of attention and of the feed-forward over its ranks, which all see
    the token: 2 · 2 · 2h (tp−1) per layer; expert parallelism sends it to its experts and back, 2 · 2h · k (ep−1)/ep.
    """
    parallel, total = plan.parallel, 0.0
    if parallel.tp > 1:
        total += 2 * 2 * 2.0 * arch.hidden * arch.depth * (parallel.tp - 1)
    if parallel.ep > 1:
        routed = sum(y.count * y.experts_per_token for y in arch.layers if y.experts)
        total += 2 * 2.0 * arch.hidden * routed * (parallel.ep - 1) / parallel.ep
    return total * passes


def saved_per_token(c: Case) -> float:
    """What the layers save for backward, which activation offload sends to the host and back. Unit: bytes."""
    return sum([y.count * waiting_per_token(c, y) for y in c.arch.layers])


def on_more_ranks(work: Work, plan: Plan) -> Work:
    """The work of copies of the model on another number of ranks (two or more): only the reduction differs."""
    before, ranks = work.data_ranks, plan.parallel.data_ranks
    reduced = work.gradient_bytes * (1 - 1 / ranks) / (1 - 1 / before)
    return work._replace(data_ranks=ranks, gradient_bytes=reduced)


def _layer_weights(arch: Architecture) -> tuple[float, float, float]:
    """Weights of all layers that one token meets, that are stored, and the experts' share of the former."""
    met = stored = experts = 0.0
    for layer in arch.layers:
        active = layer.expert_weights * _active_share(layer)
        met += layer.count * (layer.linear_weights + active + layer.router)
        stored += layer.count * (layer.linear_weights + layer.expert_weights + layer.router)
        experts += layer.count * active
    return met, stored, experts / met


def _active_share(layer: Layer) -> float:
    if not layer.experts:
        return 0.0
    return min(1.0, layer.experts_per_token / layer.experts[0].copies)


def _efficiency(plan: Plan, stack: str, a: dict[str, float]) -> float:
    reached = a["matmul-efficiency"] * a[f"stack-{stack}"]
    return reached if plan.trains_base else reached * a["peft-efficiency"]


def _elementwise_bytes(plan: Plan, arch: Architecture, stack: str, passes: float, a: dict[str, float]) -> float:
    """Norms, rotary, activation functions, residuals: bytes moved per token. Formula: κ · L · 2h · passes / 3."""
    return a["elementwise-traffic"] * a[f"elementwise-{stack}"] * arch.depth * 2.0 * arch.hidden * passes / 3


def _adapted_widths(plan: Plan, arch: Architecture) -> float:
    """Inputs and outputs of the linears that carry an adapter, experts' apart."""
    return sum([y.count * (m.inputs + m.outputs) for y in arch.layers for m in targeted(y, plan) if m.copies == 1])


def _adapter_bytes(plan: Plan, widths: float, stack: str, a: dict[str, float]) -> float:
    """Casting, reading and adding beside each adapted linear. Unit: bytes per token.

    Formula: c · Σ (in + out), by the software like other element-wise work; adapters in 16 bit move half as much.
    """
    size = 1.0 if plan.lora.dtype == "fp32" else 0.5
    return a["adapter-traffic"] * a[f"elementwise-{stack}"] * size * widths


def _eager_attention_bytes(plan: Plan, arch: Architecture, a: dict[str, float]) -> float:
    """Scores, softmax in fp32, weights: written and read. Unit: bytes per token and attended token."""
    if plan.attention != "eager":
        return 0.0
    return a["eager-attention-traffic"] * sum(y.count * y.heads for y in arch.layers)


def _dequantisation_bytes(plan: Plan, a: dict[str, float]) -> float:
    """Bytes moved per weight and pass to make packed weights 16 bit."""
    if not plan.is_quantized:
        # fp32 weights under autocast are cast at each use: read 4, write 2.
        cast = plan.base_dtype == "fp32" and plan.autocast
        return 6.0 if cast and not plan.trains_base else 0.0
    name = {"gptq-int4": "gptq", "int8": "int8", "fp8": "fp8"}.get(plan.quantization, "nf4")
    return a[f"dequantisation-traffic-{name}"]


def _launch_seconds(plan: Plan, arch: Architecture, stack: str, passes: float, a: dict[str, float]) -> float:
    """Time the CPU needs to launch a micro-batch's kernels.

    Formula: Σ layers × passes × τ; quantised layers unpack their weights in kernels of their own; experts looped
    over in Python (transformers before 5) launch their own.
    """
    share = a["launch-compiled"] if stack in ("vendor", "compiled") else 1.0
    if plan.is_quantized:
        share *= a["launch-quantised"]
    layers = 0.0
    for y in arch.layers:
        looped = y.experts[0].copies if y.experts and plan.quantize_moe_experts else 0
        layers += y.count * (1 + looped * a["launch-expert"])
    return layers * passes * a["launch-seconds"] * share / plan.parallel.pp


def _method_slowdown(plan: Plan, a: dict[str, float]) -> float:
    return a.get(f"slowdown-{plan.method}", 1.0)


def _task_slowdown(plan: Plan) -> float:
    """Extra forward passes of a task, as a share of a training step (4 units of FLOPs for PEFT, 6 for full).

    A reference model scores every token once: 2 units. KTO scores mismatched pairs as well.
    """
    units = 6.0 if plan.trains_base else 4.0
    extra = 2.0 if plan.reference in ("copy", "adapter-off") else 0.0
    if plan.task == "kto":
        extra += 2.0
    if plan.task == "grpo":
        extra += 2.0
    return 1 + extra / units


# --------------------------------------------------------------------------------------------------- the GPU


def rates_of(gpu: Gpu, compute: str, plan: Plan, a: dict[str, float] = MID, network: str = "network-gb-per-s") -> Rates:
    """What a GPU reaches with this number format, and its links. Cards without bf16 compute in fp16.

    `network` is the constant of the link between nodes.
    """
    family = gpu_class(gpu)
    matmul = matmul_tflops(gpu, "fp16" if compute == "bf16" and gpu.supports_bf16 is False else compute, a)
    plain = matmul_tflops(gpu, "fp16" if gpu.supports_bf16 is False else "bf16", a)
    factor = a[f"matmul-{family}"]
    # No data sheet's peak is exceeded, but those of consumer cards, which are stated at clocks that games reach.
    most = float("inf") if family == "consumer" else peak_tflops(gpu, compute)
    attention = a["attention-efficiency"]
    if family in ("hopper", "blackwell"):
        # PyTorch's own attention has taken cuDNN's kernels there since 2.11; FlashAttention 2 does not use their units.
        attention *= a["attention-cudnn" if plan.attention == "sdpa" else "attention-hopper"]
    if gpu.supports_flash_attention_2 is False and plan.attention != "eager":
        attention *= a["attention-without-flash"]
    pcie = 1e9 * PCIE_GB_PER_S.get(int(gpu.pcie_generation or 4), 32.0)
    return Rates(
        matmul=1e12 * min(matmul * factor, most),
        single=1e12 * matmul_tflops(gpu, "fp32", a),
        attention=1e12 * min(plain * factor, matmul * factor, most) * attention,
        bandwidth=1e9 * (gpu.memory_bandwidth_gb_per_s or 300.0),
        elementwise=a["elementwise-large-cache"] if has_large_cache(gpu) else 1.0,
        link=link_bytes_per_second(gpu, plan.parallel.nodes, a, network),
        fabric=link_bytes_per_second(gpu, _nodes_of_exchange(plan), a, network),
        exposed=a["transfer-exposed-pcie" if is_linked_by_pcie(gpu) else "transfer-exposed"],
        pcie=pcie * a["pcie-copy-efficiency"],
        host=1e9 * a["host-optimizer-gb-per-s"],
    )


def gpu_class(gpu: Gpu) -> str:
    """Group of cards that reach a like share of what their matrix units measure."""
    if (gpu.architecture or "").startswith("CDNA"):
        return "cdna"
    if gpu.segment == "consumer":
        return "consumer"
    if not (gpu.memory_type or "").startswith("HBM"):
        return "workstation"
    if gpu.architecture == "Hopper":
        return "hopper"
    return "blackwell" if (gpu.architecture or "").startswith("Blackwell") else "ampere"


def has_large_cache(gpu: Gpu) -> bool:
    """Tens of MB of level 2 beside GDDR memory: Ada and Blackwell, not Ampere's 4 to 6 MB."""
    return gpu.architecture in ("Ada", "Blackwell") and not (gpu.memory_type or "").startswith("HBM")


def matmul_tflops(gpu: Gpu, compute: str, a: dict[str, float] = MID) -> float:
    """Large matrix multiplications, as measured; else a share of the peak, capped by the card's power.

    Where siblings were measured, it lies between them. Unit: TFLOP/s. fp8 keeps the share of its peak that bf16
    reaches.
    """
    if compute == "fp32":
        return (gpu.fp32_tflops or 10.0) * a["matmul-share-of-peak"]
    share = a["matmul-share-of-peak-consumer" if gpu.segment == "consumer" else "matmul-share-of-peak"]
    half = gpu.bf16_dense_tflops if compute != "fp16" else gpu.fp16_dense_tflops
    half = half or gpu.fp16_dense_tflops or 2 * (gpu.fp32_tflops or 5.0)
    least, most = gpu.sibling_tflops
    reached = gpu.gemm_measured_tflops or max(least, min(half * share, _power_cap(gpu, a), most))
    if compute == "fp8" and gpu.fp8_dense_tflops:
        return reached * gpu.fp8_dense_tflops / half
    return reached


def peak_tflops(gpu: Gpu, compute: str) -> float:
    """The dense peak of the data sheet; unlimited where there is none. Unit: TFLOP/s."""
    columns = {"fp32": gpu.fp32_tflops, "fp8": gpu.fp8_dense_tflops, "bf16": gpu.bf16_dense_tflops}
    return columns.get(compute) or gpu.bf16_dense_tflops or gpu.fp16_dense_tflops or float("inf")


def _power_cap(gpu: Gpu, a: dict[str, float]) -> float:
    """What a card's watts sustain; consumer cards and HBM cards are not held back. Unit: TFLOP/s."""
    per_watt = a.get(f"matmul-tflops-per-watt-{(gpu.architecture or '').lower()}")
    if gpu.segment == "consumer" or (gpu.memory_type or "").startswith("HBM") or not per_watt or not gpu.tdp_w:
        return float("inf")
    return per_watt * gpu.tdp_w


def _nodes_of_exchange(plan: Plan) -> int:
    """Machines over which tensor and expert parallelism reach: one, unless they need more GPUs than it has."""
    parallel = plan.parallel
    return 1 if max(parallel.tp, parallel.ep) <= parallel.gpus_per_node else parallel.nodes


def link_bytes_per_second(gpu: Gpu, nodes: int, a: dict[str, float] = MID, network: str = "network-gb-per-s") -> float:
    """One-way bytes per second between the job's GPUs, as training reaches them.

    NVLink and Infinity Fabric by half their two-way figure; a bridge joins two cards at most and rented machines
    rarely have it, so it counts as PCIe; beyond one node, the network.
    """
    if nodes > 1:
        return 1e9 * a[network]
    if not is_linked_by_pcie(gpu):
        return 0.5e9 * (gpu.interconnect_gb_per_s or 300.0) * a["nvlink-efficiency"]
    lanes = gpu.interconnect_gb_per_s if (gpu.interconnect or "pcie") == "pcie" else None
    return 1e9 * (lanes or PCIE_GB_PER_S.get(int(gpu.pcie_generation or 4), 32.0)) * a["pcie-efficiency"]


def is_linked_by_pcie(gpu: Gpu) -> bool:
    """Whether cards of one machine talk over PCIe; a bridge or the link to a CPU is no fabric between GPUs."""
    fabric = gpu.interconnect or "pcie"
    return not fabric.startswith(("nvlink", "infinity fabric")) or "bridge" in fabric or "c2c" in fabric


# --------------------------------------------------------------------------------------------------- the host


def loader_seconds(plan: Plan, a: dict[str, float] = MID) -> float:
    """Time of one vCPU to prepare a token of a batch. Unit: s.

    Formula: seconds per token + images per example × seconds per image ÷ tokens per example.
    """
    images = plan.dataset.images_per_example * a["loader-seconds-per-image"] / mean_tokens(plan)
    return a["loader-seconds-per-million-tokens"] / 1e6 + images


def fed_tokens_per_second(seconds: float, vcpus: float, gpus: int) -> float:
    """The most that a machine's processors feed to its GPUs. Unit: tokens/s of the whole job.

    Formula: workers ÷ seconds per token. Each GPU's own process takes a vCPU; where there are fewer than two each,
    loading gets half of what there is.
    """
    return max(vcpus - gpus, vcpus / 2) / seconds


# --------------------------------------------------------------------------------------------------- together


def overlapped(one: float, other: float, exposed: float) -> float:
    """Two activities that run side by side: the longer, and a share of the shorter."""
    return max(one, other) + exposed * min(one, other)


def micro_batch_seconds(work: Work, rates: Rates, tokens: float, attended: float, a: dict[str, float] = MID) -> float:
    """Forward and backward of one micro-batch of `tokens`, whose sequences are `attended` long. Unit: s."""
    extra, attention = a["attention-tile-tokens"], 0.0
    for flops, window in work.attention:
        attention += flops * ((min(attended, 2 * window) if window else attended) + extra)
    per_token = (
        work.flops / (rates.matmul * work.efficiency * work.fp8)
        + work.single_flops / rates.single
        + attention / (rates.single * a["attention-without-flash"] if work.single_attention else rates.attention)
    ) / work.waiting
    moved = work.elementwise_bytes * rates.elementwise + work.bytes + work.attention_bytes * attended
    busy = tokens * (per_token + moved / rates.bandwidth) + work.batch_bytes / rates.bandwidth
    busy = overlapped(busy / work.split, work.launch_seconds, a["launch-exposed"])
    busy += work.exchange_bytes * tokens / (work.split * rates.fabric)
    gathered = work.gather_bytes / rates.link
    copied = (work.pcie_batch_bytes + work.pcie_token_bytes * tokens) / rates.pcie
    if gathered + copied == 0:
        return busy * work.slowdown
    exposed = (rates.exposed * gathered + a["transfer-exposed"] * copied) / (gathered + copied)
    return overlapped(busy, gathered + copied, exposed) * work.slowdown


def step_seconds(work: Work, rates: Rates, a: dict[str, float] = MID) -> float:
    """Once per optimizer step: what is left of the gradients' reduction, the optimizer. Unit: s."""
    return (
        a["gradient-exposed"] * work.gradient_bytes / rates.link
        + work.optimizer_bytes / rates.bandwidth
        + work.pcie_step_bytes / rates.pcie
        + work.host_step_bytes / rates.host
    )


def tokens_per_second(
    work: Work, rates: Rates, plan: Plan, micro_batch: int, accumulation: int, a: dict[str, float] = MID
) -> float:
    """Tokens per second of the whole job, padding included."""
    tokens = micro_batch * row_tokens(plan, micro_batch)
    return speed(work, rates, tokens, attended_tokens(plan, micro_batch), accumulation, a)


def speed(
    work: Work, rates: Rates, tokens: float, attended: float, accumulation: int, a: dict[str, float] = MID
) -> float:
    """Tokens per second of the whole job, for micro-batches of `tokens` in sequences of `attended`."""
    seconds = accumulation * micro_batch_seconds(work, rates, tokens, attended, a) + step_seconds(work, rates, a)
    return work.data_ranks * accumulation * tokens / seconds
