"""The plan: a request with every field resolved.

`Plan` carries the fields of the contract under the contract's names; nested objects are NamedTuples (`plan.lora.rank`,
`plan.parallel.strategy`). Nothing is left to a formula to guess. `plan.replace(micro_batch=4)` is a changed copy.
"""

from __future__ import annotations

from typing import Any

from .contract import FULL_METHODS, LORA_METHODS
from .records import NamedTuple


class Lora(NamedTuple):
    """Adapters."""

    rank: int
    targets: str | tuple[str, ...]
    dtype: str
    dropout: float


class Rl(NamedTuple):
    """Generation of reinforcement learning."""

    generations: int
    prompt_tokens: int
    completion_tokens: int
    beta: float
    engine: str
    engine_share: float


class Parallel(NamedTuple):
    """How GPUs share the work."""

    strategy: str
    gpus_per_node: int
    nodes: int
    network: str | None  # between nodes; None = as the provider states it
    replicas: int
    tp: int
    pp: int
    cp: int
    sp: int
    ep: int
    offload: str
    library: str | None
    reshard_after_forward: bool
    sync_each_batch: bool
    bucket_elements: int | None
    max_live_parameters: int | None
    prefetch: int | None

    @property
    def world(self) -> int:
        """All GPUs of the job."""
        return self.gpus_per_node * self.nodes

    @property
    def data_ranks(self) -> int:
        """Ranks that see different examples: the world over what splits one example or one model."""
        if self.strategy in ("none", "device-map"):
            return 1
        return max(1, self.world // (self.tp * self.pp * self.cp * self.sp))

    @property
    def shards(self) -> int:
        """Ranks over which ZeRO and FSDP spread states: context- and sequence-parallel ranks share the same weights.

        `replicas` > 1 is hybrid sharding: the shards repeat.
        """
        if self.strategy in ("none", "device-map", "ddp"):
            return 1
        return max(1, self.world // (self.tp * self.pp * self.replicas))

    @property
    def expert_tp(self) -> int:
        """Ranks that cut one expert: as the rest of the layer, unless expert parallelism takes those ranks too."""
        return self.tp if self.tp * self.pp * self.ep <= self.world else 1

    @property
    def expert_shards(self) -> int:
        """Ranks that hold the same experts, over which ZeRO and FSDP spread their states."""
        if self.strategy in ("none", "device-map", "ddp"):
            return 1
        return max(1, self.world // (self.pp * self.ep * self.expert_tp * self.replicas))


class Dataset(NamedTuple):
    """How much data, how long."""

    examples: int
    mean_tokens: float
    max_tokens: int | None
    epochs: float
    length_histogram: tuple[tuple[float, float], ...] | None
    pack_efficiency: float | None
    group_by_length: bool
    scored_fraction: float
    image_tokens: int
    images_per_example: float


class Evaluation(NamedTuple):
    """Evaluation during and after training."""

    examples: int
    batch: int
    every_steps: int | None
    keep_logits: bool
    generate_tokens: int


class Save(NamedTuple):
    """Checkpoints and the final merge."""

    every_steps: int | None
    keep: int
    states: bool
    merge: bool


class Job(NamedTuple):
    """What surrounds the run: experiments, limits, interruptions, storage."""

    experiments: int
    idle_h_per_experiment: float
    deadline_h: float | None
    budget_usd: float | None
    checkpoint_minutes: float | None
    checkpoint_seconds: float | None
    restart_minutes: float | None
    interruption_mtbf_h: float | None
    availability: float | None
    fallback: str
    persistent_storage: bool
    keep_storage_days: float
    egress_gb: float


class Filters(NamedTuple):
    """Which offers are wanted."""

    providers: tuple[str, ...]
    regions: tuple[str, ...]
    purchase: tuple[str, ...]
    kinds: tuple[str, ...]
    max_age_days: float | None
    max_gpus: int
    include_scaled: bool
    limit: int


class Calibration(NamedTuple):
    """One measured run."""

    measured_gib: float | None
    measured_tokens_per_second: float | None
    request: dict[str, Any]


class Plan(NamedTuple):
    """A request with every field resolved. None only where the contract says null (and `precision` of PEFT methods)."""

    model: str | dict[str, Any]
    assume_family: str | None  # model_type that an architecture we do not know is counted as
    method: str
    quantization: str
    precision: str | None
    base_dtype: str  # with full methods: the dtype of the weights that `precision` implies
    autocast: bool
    kbit_upcast: bool
    lora: Lora
    virtual_tokens: int
    bottleneck: int
    train_embeddings: bool
    optimizer: str
    optimizer_in_backward: bool
    micro_batch: int | None
    grad_accum: int
    sequence_length: int
    global_batch: int | None
    as_of: str | None
    mode: str
    padding: str
    gradient_checkpointing: str
    activation_offload: bool
    attention: str
    loss: str
    outputs_alive: bool
    compile: bool
    kernels: str
    allocator: str
    framework: str
    framework_version: str | None
    transformers: str
    logits_shift_copy: bool
    quantize_moe_experts: bool
    task: str
    reference: str
    rl: Rl
    parallel: Parallel
    gpu: str | None
    dataset: Dataset
    vision: str
    eval: Evaluation
    save: Save
    job: Job
    filters: Filters
    calibration: Calibration
    defaults: dict[str, str]  # field that was filled -> where from: framework, general, method, transformers …

    @property
    def trains_base(self) -> bool:
        """The model's own weights are trained (full fine-tuning and its relatives)."""
        return self.method in FULL_METHODS

    @property
    def has_lora(self) -> bool:
        """Low-rank adapters of any kind."""
        return self.method in LORA_METHODS

    @property
    def is_quantized(self) -> bool:
        """The frozen base is packed."""
        return self.quantization != "none"

    @property
    def batch(self) -> int:
        """Micro-batch of the memory figures: the one asked for, else 1."""
        return self.micro_batch or 1

    def replace(self, **changes: Any) -> Plan:
        """A changed copy. Nested: `plan.replace(parallel=plan.parallel._replace(nodes=2))`."""
        return self._replace(**changes)


NESTED = {
    "lora": Lora,
    "rl": Rl,
    "parallel": Parallel,
    "dataset": Dataset,
    "eval": Evaluation,
    "save": Save,
    "job": Job,
    "filters": Filters,
    "calibration": Calibration,
}
