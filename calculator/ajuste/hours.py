"""Hours of a job: everything between pressing the button and holding the result.

What does not depend on the GPU (`fixed_parts`) is worked out once per plan; training and evaluation follow from a
placement's tokens per second.
"""

from __future__ import annotations

from .architecture import Architecture, parameters
from .case import Case
from .constants import ASSUMPTIONS, MID
from .host import checkpoint_bytes, download_bytes, merged_bytes
from .lengths import epoch_tokens, mean_tokens, row_tokens
from .plan import Plan
from .records import NamedTuple
from .resolve import accumulation

SIDES = ("low", "mid", "high")
VALUES = {side: {name: getattr(row, side) for name, row in ASSUMPTIONS.items()} for side in SIDES}


class Parts(NamedTuple):
    """Wall hours of one experiment, by what the time goes to. `breakdown_h` of the answer, plus idle time."""

    provision: float = 0.0
    download: float = 0.0
    tokenize: float = 0.0
    load: float = 0.0
    compile: float = 0.0
    train: float = 0.0
    evaluate: float = 0.0
    save: float = 0.0
    merge: float = 0.0
    idle: float = 0.0


def fixed_parts(plan: Plan, arch: Architecture, side: str) -> Parts:
    """Hours that no GPU shortens, with every assumption at one side (low = quick).

    Formulas: download and load = published bytes × seconds per GB; tokenise = tokens × seconds per million; save =
    checkpoints × their bytes; merge = (the published bytes, read, + 2 N, written) × the disk's seconds per GB.
    """
    a = VALUES[side]
    case = Case(plan.replace(micro_batch=plan.batch), arch, MID)
    checkpoint = checkpoint_bytes(case) / 1e9 * a["disk-write-seconds-per-gb"]
    published = download_bytes(arch) / 1e9
    images = 0.0
    if plan.dataset.images_per_example:
        images = plan.dataset.examples * plan.dataset.images_per_example * a["image-preparation-seconds"]
    tokens = plan.dataset.examples * mean_tokens(plan)
    return Parts(
        provision=a["provision-minutes"] / 60 * (1 + a["failed-start-share"]),
        download=published * a["download-seconds-per-gb"] / 3600,
        tokenize=(tokens * a["tokenize-seconds-per-million"] / 1e6 + images) / 3600,
        load=(a["load-seconds"] + published * a["load-seconds-per-gb"]) / 3600,
        compile=a["compile-minutes" if plan.compile else "warm-up-minutes"] / 60,
        save=(checkpoints_saved(plan) * checkpoint) / 3600,
        merge=(published + merged_bytes(arch) / 1e9) * a["disk-write-seconds-per-gb"] / 3600
        if plan.save.merge
        else 0.0,
        idle=plan.job.idle_h_per_experiment,
    )


def optimizer_steps(plan: Plan, micro_batch: int, accumulation: int) -> float:
    """Optimizer steps of one experiment. Formula: examples × epochs ÷ examples per step (packed: tokens ÷ tokens)."""
    ranks = plan.parallel.data_ranks
    per_step = micro_batch * accumulation * ranks * row_tokens(plan, micro_batch)
    return plan.dataset.epochs * epoch_tokens(plan, micro_batch) / per_step


def checkpoints_saved(plan: Plan) -> float:
    """Checkpoints written in one experiment: one per epoch, or every so many steps. At least the last one.

    Steps are those of the global batch, which every GPU and count keeps whatever its own micro-batch.
    """
    if plan.save.every_steps is None:
        return max(1.0, float(int(plan.dataset.epochs)))
    accumulate = plan.grad_accum
    if plan.global_batch is not None:
        accumulate = accumulation(plan.global_batch, plan.batch, plan.parallel.data_ranks)
    steps = optimizer_steps(plan, plan.batch, accumulate)
    return max(1.0, float(int(steps / plan.save.every_steps)))


def training_tokens(plan: Plan, micro_batch: int) -> float:
    """Tokens processed in one experiment, padding included. Unit: tokens. DPO, ORPO and the like hold pairs."""
    rows = {"dpo": 2, "orpo": 2, "simpo": 2, "reward": 2}.get(plan.task, 1)
    if plan.task == "grpo":
        length = plan.rl.prompt_tokens + plan.rl.completion_tokens
        return float(plan.dataset.epochs * plan.dataset.examples * plan.rl.generations * length)
    return plan.dataset.epochs * rows * epoch_tokens(plan, micro_batch)


def evaluation_share(plan: Plan) -> float:
    """A forward pass against a training pass over the same tokens. Formula: 2 ÷ (6 | 4, + 2 recomputed)."""
    again = {"full": 2.0, "none": 0.0}.get(plan.gradient_checkpointing, 1.0)
    return 2 / ((6.0 if plan.trains_base else 4.0) + again)


def evaluation_tokens(plan: Plan, micro_batch: int, accumulation: int) -> float:
    """Training-equivalent tokens of all evaluations of one experiment: once per `every_steps`, or per epoch."""
    if not plan.eval.examples:
        return 0.0
    times = max(1.0, plan.dataset.epochs)
    if plan.eval.every_steps:
        times = max(1.0, optimizer_steps(plan, micro_batch, accumulation) / plan.eval.every_steps)
    return times * plan.eval.examples * row_tokens(plan, plan.eval.batch) * evaluation_share(plan)


def generation_hours(plan: Plan, arch: Architecture, bandwidth: float, side: str, server: int = 0) -> float:
    """Hours that generating text takes: GRPO's completions, or evaluation that generates.

    Each decoding step reads the weights once for the sequences in flight. Formula: steps × 2 N bytes ÷ bandwidth ×
    slowdown. An engine (vLLM) keeps more sequences in flight than plain `generate`. With a server of its own, its GPUs
    decode for all of the trainer's, each reading its part of the weights; the trainer waits.
    """
    if plan.task != "grpo" and not (plan.eval.examples and plan.eval.generate_tokens):
        return 0.0
    a, ranks = VALUES[side], max(1, plan.parallel.world)
    seconds = 0.0
    weights = 2.0 * parameters(arch)
    if plan.task == "grpo":
        flight = MID["generation-in-flight-engine" if plan.rl.engine != "none" else "generation-in-flight"]
        sequences = plan.dataset.epochs * plan.dataset.examples * plan.rl.generations / (server or ranks)
        seconds += max(1.0, sequences / flight) * plan.rl.completion_tokens * weights / bandwidth * a["decode-slowdown"]
    if plan.eval.examples and plan.eval.generate_tokens:
        rounds = max(1.0, plan.eval.examples / plan.eval.batch / ranks)
        seconds += rounds * plan.eval.generate_tokens * weights / bandwidth * a["decode-slowdown"]
    return seconds / 3600


class JobHours(NamedTuple):
    """Wall hours of the whole job at one side of the ranges."""

    parts: Parts  # all experiments together
    setup: float  # before the first step, all experiments
    work: float  # training, evaluation, saving: what an interruption can lose
    total: float


def job_hours(fixed: Parts, train: float, evaluate: float, experiments: int, persistent: bool) -> JobHours:
    """All experiments of a job.

    Every experiment is started anew and loads the model; download and tokenising are repeated only where storage does
    not persist.
    """
    repeats = 1 if persistent else experiments
    parts = Parts(
        provision=experiments * fixed.provision,
        download=repeats * fixed.download,
        tokenize=repeats * fixed.tokenize,
        load=experiments * fixed.load,
        compile=experiments * fixed.compile,
        train=experiments * train,
        evaluate=experiments * evaluate,
        save=experiments * fixed.save,
        merge=experiments * fixed.merge,
        idle=experiments * fixed.idle,
    )
    setup = parts.provision + parts.download + parts.tokenize + parts.load + parts.compile
    work = parts.train + parts.evaluate + parts.save + parts.merge
    return JobHours(parts, setup, work, setup + work + parts.idle)
