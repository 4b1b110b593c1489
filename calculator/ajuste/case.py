"""One case ready for the formulas: the plan's choices turned into the bytes and counts that the terms multiply.

Letters used by every formula: h hidden size, f feed-forward width, q = heads × head size, k = key-value heads × head
size, n heads, V vocabulary, S sequence length, T = S × micro-batch (tokens in flight), L layers, r rank, N parameters,
A trained adapter parameters. All results are bytes unless a name says otherwise. With several GPUs everything is that
of one rank.
"""

from __future__ import annotations

from . import peft, sharding, weights
from .architecture import Architecture
from .plan import Plan

# Bytes per stored weight of each precision of a full fine-tune.
WEIGHT_BYTES = {"bf16": 2, "fp16": 2, "bf16-master": 2, "bf16-mixed": 4, "fp16-mixed": 4, "fp8-mixed": 4, "fp32": 4}
DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
# Sequences in one micro-batch of each task: a preference pair is two.
SEQUENCES = {"dpo": 2, "orpo": 2, "simpo": 2, "reward": 2}


def release(version: str) -> tuple[int, ...]:
    """`"4.48.1"` as (4, 48, 1); a part that is no number ends it."""
    numbers: list[int] = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _share(plan: Plan, experts: float, total: float) -> float:
    """The part that a rank keeps of numbers spread over the data ranks, where experts have fewer of these."""
    dense, expert = 1 / plan.parallel.shards, 1 / plan.parallel.expert_shards
    return dense if dense == expert or not total else (dense * (total - experts) + expert * experts) / total


class Case:
    """Everything the terms read. Built once per table."""

    arch: Architecture  # the part of it on this rank
    a: dict[str, float]  # assumptions
    autocast: bool
    depth: float
    hidden: float
    vocabulary: float
    tokens: float
    scored_tokens: float
    trainable: float
    kept_gradient: float  # bytes per trained parameter
    moment: float
    weight_share: float
    state_share: float

    def __init__(self, plan: Plan, arch: Architecture, a: dict[str, float], stage: str = "whole") -> None:
        self.plan, self.a, self.stage = plan, a, stage
        self.arch = arch = sharding.local(arch, plan, stage)
        self.layer = max(arch.layers, key=lambda y: y.parameters)
        self.depth, self.vocabulary = arch.depth, arch.vocabulary
        # Tensor-parallel ranks keep a part of the residual stream between their blocks (sequence parallelism).
        self.hidden = arch.hidden / plan.parallel.tp
        self.full, self.quantized = plan.trains_base, plan.is_quantized
        self.packed = weights.packed_weights(plan, arch)
        # Whose ZeRO it is: its name says what it casts, buffers and copies.
        zero = plan.parallel.strategy.startswith("zero")
        library = "megatron" if plan.framework == "megatron" else plan.parallel.library or "deepspeed"
        self.zero = library if zero else ""
        # DeepSpeed casts every weight to 16 bit, also what was prepared in fp32.
        self.casts_all = self.zero == "deepspeed" and not self.full and plan.base_dtype != "fp32"
        self.upcast = plan.kbit_upcast and not self.casts_all
        self.has_embedding = stage in ("whole", "first")
        self.has_head = stage in ("whole", "last")
        self.waiting_bytes: float | None = None  # see `moments.waiting`, which keeps it here
        self._tokens(plan)
        self._numerics(plan)
        self._kernels(plan)
        self._trainable(plan, arch)
        self._shares(plan)

    def _tokens(self, plan: Plan) -> None:
        """Sequences and tokens of one micro-batch on this rank."""
        sequence = plan.sequence_length
        if plan.task == "grpo":
            sequence = min(sequence, plan.rl.prompt_tokens + plan.rl.completion_tokens)
        if plan.method in ("prompt", "p-tuning"):
            sequence += plan.virtual_tokens
        self.sequence = sequence / (plan.parallel.cp * plan.parallel.sp)
        self.rows = plan.batch * SEQUENCES.get(plan.task, 1)
        self.tokens = self.sequence * self.rows
        scored = min(1.0, plan.rl.completion_tokens / sequence) if plan.task == "grpo" else 1.0
        self.scored_tokens = self.tokens * scored
        if plan.task == "reward":  # one number per sequence in place of a vocabulary
            self.vocabulary = 1
        # The gradients of Megatron, and of ZeRO-3's ranks, live in a buffer that is never given back.
        megatron = plan.framework == "megatron" and plan.precision == "bf16-master"
        self.keeps_gradients = megatron or (self.zero == "deepspeed" and plan.parallel.strategy == "zero3")
        self.accumulates = (plan.grad_accum > 1 or self.keeps_gradients) and not plan.optimizer_in_backward
        self.in_flight = sharding.micro_batches_in_flight(plan, self.stage)

    def _numerics(self, plan: Plan) -> None:
        """Bytes of weights, adapters, gradients and of the tensors that flow through a layer."""
        strategy = plan.parallel.strategy
        fsdp, zero = strategy.startswith("fsdp"), strategy.startswith("zero")
        precision = plan.precision or ""  # null with a frozen base
        mixed = self.full and (precision.endswith("mixed") or precision == "bf16-master")
        self.stored = WEIGHT_BYTES[precision] if self.full else DTYPE_BYTES[plan.base_dtype]
        self.master = 0
        self.autocast = plan.autocast
        self.adapter = 0 if self.full else DTYPE_BYTES[plan.lora.dtype]
        if fsdp and (mixed or plan.autocast):  # FSDP's own mixed precision: fp32 shards, gathered in 16 bit
            self.stored = 4 if self.full else self.stored
            self.weight, self.autocast = 2, False
        elif (zero and mixed) or plan.precision == "bf16-master":  # DeepSpeed and Megatron: an fp32 master copy
            self.stored = self.weight = 2
            self.master, self.autocast = 4, False
        elif self.casts_all:
            self.weight, self.adapter, self.master, self.autocast = 2, 2, 4, False
        else:
            self.weight = self.stored
        self.gathered_adapter = 2 if fsdp and plan.autocast else self.adapter
        self.gradient = self.weight if self.full else self.gathered_adapter
        self.kept_gradient = self.stored if self.full else self.adapter
        if self.master and plan.framework == "megatron":  # its gradient buffer accumulates in fp32
            self.kept_gradient = 4
        self.moment = 4 if self.master else self.kept_gradient
        # fp32 embeddings or norms make the residual stream fp32; without autocast everything then computes in fp32.
        self.residual = 4 if self.weight == 4 or self.upcast else 2
        self.attention_bytes = 4 if self.residual == 4 and not self.autocast else 2
        # A 4-bit linear answers in the dtype it was given: after an fp32 norm, fp32, even under autocast.
        self.mlp_bytes = 4 if self.upcast else self.attention_bytes
        # Autocast computes LayerNorm in fp32, so that bitsandbytes' linears, and the residual stream, become fp32 too.
        layer_norm = self.arch.traits.norm.startswith("layer") and plan.autocast and not self.casts_all
        if layer_norm and plan.quantization in ("nf4", "nf4-nested", "int8"):
            self.residual = self.mlp_bytes = 4
        # Input and adapter share one dtype: nothing is cast, neighbouring linears save the same tensor.
        self.one_copy = self.gathered_adapter == self.attention_bytes or (self.quantized and self.autocast)

    def _kernels(self, plan: Plan) -> None:
        self.checkpointed = plan.gradient_checkpointing == "full"
        self.selective = plan.gradient_checkpointing == "selective"
        self.eager = plan.attention == "eager"
        self.masked = plan.attention == "sdpa" and plan.padding == "padded"
        # transformers 4.54 and later leave grouped heads to PyTorch, whose only kernel for them in fp32 is the one
        # that writes out all scores.
        own_code = plan.framework in ("litgpt", "torchtune", "megatron")
        grouped = self.layer.mixer in ("full", "sliding") and self.layer.heads != self.layer.kv_heads
        unexpanded = plan.attention == "sdpa" and not self.masked and grouped and not own_code
        age = self.age = release(plan.transformers)
        newer = not plan.transformers or age >= (4, 54)
        self.scores_written = unexpanded and newer and self.attention_bytes == 4
        # Liger, Unsloth and torch.compile fuse norms and activation functions: only their inputs are saved. Of
        # Unsloth's, axolotl has those of LoRA alone.
        lora_only = plan.kernels == "unsloth" and plan.framework == "axolotl"
        self.fused_kernels = plan.compile or (plan.kernels != "none" and not lora_only)
        self.old_loss = plan.logits_shift_copy and age < (4, 46)
        self.dropout = plan.lora.dropout > 0 and plan.has_lora
        # litgpt has a model code of its own: query, key and value in one module, keys expanded to all heads.
        self.litgpt = plan.framework == "litgpt"
        self.fused_qkv = self.arch.traits.fused_qkv or self.litgpt
        # Bytes per number of the inputs that bitsandbytes' 4-bit linears kept, by the age of the stack: up to 0.43.1
        # held by hand, where only reentrant checkpointing, which ms-swift never used, does without them.
        swift = plan.framework == "ms-swift" and plan.quantization in ("nf4", "nf4-nested")
        kept = (swift or (self.litgpt and self.quantized)) and plan.transformers
        self.input_copies = 0 if not kept or age >= (4, 43) else 2 if swift or age < (4, 36) else 4

    def _trainable(self, plan: Plan, arch: Architecture) -> None:
        """What is trained on this rank, in parameters."""
        self.targets = peft.targeted(self.layer, plan)
        self.feeds_adapter = any(m.role.endswith(("gate", "up", "down")) for m in self.targets)
        # Unsloth's feed-forward kernel is part of its adapters; Liger's and the compiler's replace the module.
        self.fused_mlp = plan.kernels == "liger" or plan.compile or (plan.kernels == "unsloth" and self.feeds_adapter)
        # Its kernels cast adapters, not inputs, and compute the feed-forward's product again: without dropout only.
        self.adapter_kernels = plan.kernels == "unsloth" and self.feeds_adapter and not self.dropout and not self.full
        self.one_copy = self.one_copy or self.adapter_kernels
        self.layer_adapter = peft.layer_parameters(self.layer, plan)
        self.expert_adapter = peft.fused_expert_parameters(self.layer, plan)
        self.trained_layers = arch.depth
        if plan.method == "freeze":
            self.trained_layers = min(arch.depth, self.a["freeze-layers"])
        self.embeddings = self.has_embedding + (self.has_head and not (arch.tied and self.has_embedding))
        if not self.full:
            self.trainable = peft.parameters(arch, plan, self)
        elif plan.method == "freeze":
            self.trainable = self.trained_layers * self.layer.parameters
        else:
            self.trainable = arch.parameters + (arch.vision if plan.vision == "trained" else 0)
        # Embedding and head are trained with all weights, or as copies that PEFT makes in the base's own dtype.
        everything = plan.method in ("full", "galore", "lomo")
        self.trains_head = (everything or plan.train_embeddings) and self.has_head
        self.trains_embedding = (everything or plan.train_embeddings) and self.has_embedding
        self.copies = arch.embedding * self.embeddings if plan.train_embeddings and not self.full else 0
        self.head_gradient = self.gradient if self.full else 4 if self.upcast else self.weight
        if self.copies:
            mean = (self.adapter * (self.trainable - self.copies) + self.head_gradient * self.copies) / self.trainable
            self.kept_gradient = mean
            self.moment = 4 if self.master else mean

    def _shares(self, plan: Plan) -> None:
        """The part of weights, gradients and states that this rank keeps."""
        strategy = plan.parallel.strategy
        experts = sum([y.count * y.expert_weights for y in self.arch.layers])
        part = _share(plan, experts if self.full else 0.0, self.trainable)
        self.gathers = strategy in ("zero3", "fsdp1", "fsdp2") and plan.parallel.shards > 1
        self.weight_share = _share(plan, experts, self.arch.parameters) if self.gathers else 1.0
        self.gradient_share = part if self.gathers or strategy == "zero2" else 1.0
        # no_sync: whole gradients, as the backward pass computes them, wait for the last micro-step.
        fsdp = strategy.startswith("fsdp") and self.gathers
        self.unreduced = fsdp and self.accumulates and not plan.parallel.sync_each_batch
        # DeepSpeed copies gradients to the host as its buckets fill; others when the optimizer asks for them.
        offload = plan.parallel.offload
        self.gradients_on_host = self.zero == "deepspeed" and strategy in ("zero2", "zero3") and offload != "none"
        # FSDP brings weights and optimizer together: its gradients go there as they are reduced, or, FSDP1, when all
        # are. Whole ones that wait for the last micro-step stay.
        self.steps_on_host = fsdp and offload in ("all", "nvme")
        if self.gradients_on_host or (self.steps_on_host and strategy == "fsdp2"):
            self.gradient_share = 0.0
        # accelerate 1.14, a day older than transformers 5.12, makes FSDP2 units of the embedding and of norm and head;
        # before, and in axolotl, they are what is left for the outermost.
        trainer = plan.framework in ("hf", "trl", "llama-factory", "ms-swift")
        newer = not plan.transformers or self.age >= (5, 12)
        self.own_ends = strategy == "fsdp2" and self.gathers and trainer and newer and not self.arch.tied
        self.state_share = part if self.gathers or strategy in ("zero1", "zero2") else 1.0
        # FSDP1 hooks the inputs of frozen layers until backward ends: neither they nor their gradients are freed.
        frozen_units = strategy == "fsdp1" and not self.full and self.gathers
        self.keeps_inputs = frozen_units and self.checkpointed and not self.litgpt
        # litgpt lets FSDP1 flatten a layer's frozen weights and adapters together: the gradient has the whole size.
        self.flat_gradients = frozen_units and self.litgpt
        self.states_on_host = plan.parallel.offload != "none"
        self.weights_on_host = plan.parallel.offload in ("all", "nvme")
