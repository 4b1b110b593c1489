"""Fit the constants of `ajuste.throughput` to published runs, and say how wrong they are on sources not seen.

    python -m pipeline.fit_throughput            print the fit and the errors
    python -m pipeline.fit_throughput --write    put the constants into data/assumptions.toml, the errors on sources not
                                                 seen into data/measurements/throughput_errors.csv

Least squares on the logarithm of tokens per second with a prior on every constant (what one would say before seeing
the rows), robust to outliers; sources weigh less than in proportion to their rows. The estimator's own functions are
evaluated: there is no second model here.
"""

from __future__ import annotations

import csv
import datetime
import json
import math
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ajuste.catalog import GPU_COLUMNS, Gpu, beside_siblings
from ajuste.constants import MID
from ajuste.lengths import mean_tokens, row_tokens
from ajuste.resolve import resolve
from ajuste.throughput import GATHERING, gpu_class, is_linked_by_pcie, rates_of, tokens_per_second, work_of

if TYPE_CHECKING:
    from ajuste.architecture import Architecture
    from ajuste.plan import Plan

DATA = Path(__file__).parents[2] / "data"
ERRORS = DATA / "measurements" / "throughput_errors.csv"
# Constant -> (prior middle, standard deviation of its logarithm).
PRIORS = {
    "matmul-efficiency": (0.8, 0.3),
    "matmul-ampere": (1, 0.02),
    "matmul-hopper": (1, 0.15),
    "matmul-blackwell": (1, 0.15),
    "matmul-cdna": (0.9, 0.3),
    "matmul-consumer": (1, 0.1),
    "matmul-workstation": (1, 0.04),
    "stack-vendor": (1.1, 0.1),
    "stack-compiled": (1, 0.02),
    "stack-fused": (1.15, 0.08),
    "stack-eager": (1, 0.06),
    "peft-efficiency": (0.95, 0.05),
    "model-parallel-efficiency": (0.75, 0.2),
    "attention-efficiency": (0.69, 0.04),
    "attention-hopper": (0.62, 0.07),
    "attention-cudnn": (1.13, 0.1),
    "attention-flash-1": (0.6, 0.15),
    "attention-tile-tokens": (400, 0.4),
    "elementwise-traffic": (100, 0.4),
    "elementwise-vendor": (0.9, 0.15),
    "elementwise-compiled": (1, 0.02),
    "elementwise-fused": (1.3, 0.2),
    "elementwise-eager": (2, 0.3),
    "elementwise-large-cache": (0.6, 0.2),
    "logits-traffic": (14, 0.4),
    "adapter-traffic": (10, 0.4),
    "launch-seconds": (0.0013, 0.5),
    "launch-compiled": (0.35, 0.3),
    "launch-quantised": (1.3, 0.2),
    "launch-exposed": (0.15, 0.5),
    "dequantisation-traffic-nf4": (15, 0.2),
    "dequantisation-traffic-gptq": (25, 0.5),
    "nvlink-efficiency": (0.5, 0.4),
    "pcie-efficiency": (0.5, 0.4),
    "network-gb-per-s": (50, 0.4),
    "transfer-exposed": (0.1, 0.5),
    "transfer-exposed-pcie": (0.3, 0.5),
    "gradient-exposed": (0.5, 0.4),
    "fp8-efficiency": (0.62, 0.3),
    "fp8-efficiency-vendor": (1, 0.2),
    "optimizer-bytes": (18, 0.3),
    "optimizer-foreach": (2.5, 0.3),
    "selective-recompute": (0.6, 0.15),
}
STACKS = {
    "vendor": {"framework": "megatron"},
    "compiled": {"framework": "torchtune", "compile": True},
    "fused": {"framework": "hf", "kernels": "liger"},
    "eager": {"framework": "hf"},
}
RESIDUALS = (*[k + s for k in ("full", "adapter", "quantised") for s in ("", "-sharded")], "gathered-pcie")
# Rows that no fit uses, since their board cannot be said, and that a band must hold, since nobody says theirs.
UNSAID = "slow PCIe lanes"
NOISE = 0.15  # standard deviation of the logarithm that a good row has around a good model
ROBUST = 1.0  # residuals beyond this many NOISE count linearly


class Run(NamedTuple):
    """One published row, ready to be predicted."""

    row: dict[str, str]
    plan: Plan
    architecture: Architecture
    gpu: Gpu
    measured: float  # tokens/s of the whole job, padding included


def config_of(row: dict[str, str]) -> dict:
    """A config.json with the row's dimensions."""
    gated = row["gated"] == "yes"
    config = {
        "model_type": "mixtral" if row["experts"] else "llama" if gated else "starcoder2",
        "hidden_size": int(row["hidden"]),
        "intermediate_size": int(row["ffn"]),
        "num_hidden_layers": int(row["layers"]),
        "num_attention_heads": int(row["heads"]),
        "num_key_value_heads": int(row["kv_heads"]),
        "head_dim": int(row["head_dim"]),
        "vocab_size": int(row["vocabulary"]),
        "tie_word_embeddings": row["tied"] == "yes",
    }
    if row["experts"]:
        config |= {"num_local_experts": int(row["experts"]), "num_experts_per_tok": int(row["experts_per_token"])}
    return config


def request_of(row: dict[str, str]) -> dict:
    """The request that a row states. The stack is a word of the row, set from the framework's name before fitting."""
    full = row["method"] == "full"
    parallel = {
        "strategy": row["strategy"],
        "gpus_per_node": int(row["gpus"]) // int(row["nodes"]),
        "nodes": int(row["nodes"]),
        "tp": int(row["tp"]),
        "pp": int(row["pp"]),
        "offload": row["offload"] or "none",
    }
    length = int(float(row["sequence_length"]))
    request = {
        "model": config_of(row),
        "method": row["method"],
        "gradient_checkpointing": row["checkpointing"],
        "attention": row["attention"] if row["attention"] in ("sdpa", "eager") else "flash",
        "padding": row["padding"],
        "micro_batch": int(row["micro_batch"]),
        "grad_accum": int(row["grad_accum"]),
        "sequence_length": length,
        "dataset": {"mean_tokens": float(row["mean_tokens"] or length), "pack_efficiency": 1},
        "optimizer": "adamw",
        "optimizer_in_backward": False,
        "activation_offload": False,
        "parallel": parallel,
        **STACKS[row["stack"]],
    }
    if full:
        request["precision"] = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8-mixed"}[row["compute"]]
    else:
        request |= {"quantization": row["quantization"], "base_dtype": row["compute"].replace("fp8", "bf16")}
        request |= {"autocast": True, "kbit_upcast": False}
        targets = row["lora_targets"]
        if targets:
            request["lora"] = {"targets": targets.split() if "_proj" in targets else targets}
            request["lora"]["rank"] = int(row["lora_rank"] or 16)
    return with_fields(request, json.loads(row["also"] or "{}"))


def with_fields(request: dict, more: dict) -> dict:
    """The request with further fields; those of an object join what it has."""
    for name, value in more.items():
        old = request.get(name)
        request = request | {name: old | value if isinstance(old, dict) else value}
    return request


@cache
def read_gpus() -> dict[str, Gpu]:
    """GPUs by id, from gpus.csv as the catalog types them."""

    def typed(text: str) -> object:
        if text in ("", "yes", "no"):
            return {"": None, "yes": True, "no": False}[text]
        try:
            return float(text)
        except ValueError:
            return text

    with (DATA / "gpus.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["id"]: Gpu(*[typed(row[name]) for name in GPU_COLUMNS]) for row in csv.DictReader(file)}
    return beside_siblings(rows)


def read_runs(*, everything: bool = False) -> list[Run]:
    """The rows that the fit uses (`left_out` empty), or all."""
    from ajuste.catalog import load_catalog

    gpus, catalog = read_gpus(), load_catalog("{}")
    runs = []
    with (DATA / "measurements" / "throughput.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["left_out"] and not everything:
                continue
            plan, architecture = resolve(request_of(row), catalog)
            measured = float(row["tokens_per_s_per_gpu"]) * int(row["gpus"])
            if "unpadded" in row["note"]:
                measured *= row_tokens(plan, plan.batch) / mean_tokens(plan)
            runs.append(Run(row, plan, architecture, gpus[row["gpu"]], measured))
    return runs


def predict(run: Run, constants: dict[str, float]) -> float:
    """Tokens per second of the whole job."""
    plan = run.plan
    if run.row["attention"] == "flash-1":
        slower = constants["attention-efficiency"] * constants["attention-flash-1"]
        constants = constants | {"attention-efficiency": slower}
    work = work_of(plan, run.architecture, constants, run.row["compute"])
    rates = rates_of(run.gpu, work.compute, plan, constants)
    return tokens_per_second(work, rates, plan, plan.batch, plan.grad_accum, constants)


# ---------------------------------------------------------------------------------------------------- the fit


def log_errors(runs: list[Run], x: np.ndarray) -> np.ndarray:
    """ln(estimated ÷ measured) of each run at the constants exp(x)."""
    constants = MID | dict(zip(PRIORS, np.exp(x).tolist(), strict=True))
    return np.array([math.log(predict(run, constants) / run.measured) for run in runs])


def jacobian(runs: list[Run], x: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Derivative of `log_errors` by each ln(constant), by forward differences."""
    step = 1e-4
    columns = []
    for index in range(len(x)):
        moved = x.copy()
        moved[index] += step
        columns.append((log_errors(runs, moved) - base) / step)
    return np.stack(columns, axis=1)


def source_weights(runs: list[Run]) -> np.ndarray:
    """Weight of each row: its source counts as n^(3/4) rows."""
    count = Counter(run.row["source"] for run in runs)
    weights = np.array([count[run.row["source"]] ** -0.25 for run in runs])
    return weights / weights.mean()


def cost_of(errors: np.ndarray, weights: np.ndarray, x: np.ndarray) -> float:
    """What the fit makes small: rows, linear beyond ROBUST, and the distance from the priors."""
    prior = np.log([middle for middle, _ in PRIORS.values()])
    spread = np.array([deviation for _, deviation in PRIORS.values()])
    scaled = errors * weights / NOISE / ROBUST
    return float(2 * ROBUST**2 * np.sum(np.sqrt(1 + scaled**2) - 1) + np.sum(((x - prior) / spread) ** 2))


def fit(
    runs: list[Run],
    start: np.ndarray | None = None,
    iterations: int = 10,
    known: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """ln of the constants: Gauss–Newton with priors, residuals reweighted so that outliers count linearly.

    `known` is `log_errors` and `jacobian` at `start`, where they have been computed.
    """
    prior = np.log([middle for middle, _ in PRIORS.values()])
    spread = np.array([deviation for _, deviation in PRIORS.values()])
    x = prior.copy() if start is None else start.copy()
    weights = source_weights(runs)
    errors, slope = known or (log_errors(runs, x), None)
    cost = cost_of(errors, weights, x)
    for _ in range(iterations):
        slope = jacobian(runs, x, errors) if slope is None else slope
        scaled = errors * weights / NOISE
        robust = weights / NOISE / np.sqrt(np.sqrt(1 + (scaled / ROBUST) ** 2))
        a = np.vstack([slope * robust[:, None], np.diag(1 / spread)])
        b = np.concatenate([-errors * robust, (prior - x) / spread])
        step = np.clip(np.linalg.lstsq(a, b, rcond=None)[0], -0.5, 0.5)
        before = cost
        for _ in range(5):  # the model has kinks (which of two activities is longer): never step uphill
            errors = log_errors(runs, x + step)
            cost = cost_of(errors, weights, x + step)
            if cost <= before:
                break
            step = step / 2
        x, slope = x + step, None
        if before - cost < 1e-3 * before:
            break
    return x


def held_out(runs: list[Run], x: np.ndarray, iterations: int = 2, beside: list[Run] | None = None) -> np.ndarray:
    """`log_errors` of each run by constants fitted without its source; then those of runs that no fit has seen."""
    beside = beside or []
    errors = np.concatenate([np.zeros(len(runs)), log_errors(beside, x)])
    start = log_errors(runs, x)
    slope = jacobian(runs, x, start)  # a run's row of it is its own: every fit starts from the same
    sources = np.array([run.row["source"] for run in runs])
    for source in sorted(set(sources)):
        inside, others = np.flatnonzero(sources == source), np.flatnonzero(sources != source)
        without = fit([runs[i] for i in others], x, iterations, (start[others], slope[others]))
        errors[inside] = log_errors([runs[i] for i in inside], without)
        like = [i for i, run in enumerate(beside) if run.row["source"] == source]
        errors[[len(runs) + i for i in like]] = log_errors([beside[i] for i in like], without)
    return errors


# -------------------------------------------------------------------------------------------------- the report


def residual_class(row: dict[str, str]) -> str:
    """Class of a row's band: method × sharding, as `ajuste.fit.residual_of` names it."""
    if row["strategy"] in GATHERING and is_linked_by_pcie(read_gpus()[row["gpu"]]):
        return "gathered-pcie"
    kind = "full" if row["method"] == "full" else "quantised" if row["quantization"] != "none" else "adapter"
    return kind + ("-sharded" if row["strategy"] not in ("none", "ddp") else "")


def is_judged(row: dict[str, str]) -> bool:
    """The rows of the accuracy bar: bf16 on at most 8 GPUs."""
    return row["compute"] == "bf16" and int(row["gpus"]) <= 8


def summary(errors: np.ndarray) -> str:
    """Median, quartile and tenth of |error| in percent, and the median error with its sign."""
    size = 100 * np.abs(np.expm1(errors))
    return (
        f"n {len(size):4d}   median {np.median(size):5.1f} %   p75 {np.quantile(size, 0.75):5.1f} %   "
        f"p90 {np.quantile(size, 0.9):5.1f} %   bias {100 * np.expm1(np.median(errors)):+5.1f} %"
    )


class Group(NamedTuple):
    """Rows that are judged together; the keys of data/measurements/throughput_errors.csv."""

    kind: str  # all | judged | method | gpu | stack | source
    value: str
    chosen: np.ndarray  # one truth value per run


def groups(runs: list[Run]) -> list[Group]:
    """By everything that a reader asks: method, class of GPU, software, source. Only `all` counts fp8 and > 8 GPUs."""
    small = np.array([int(run.row["gpus"]) <= 8 and run.row["compute"] != "fp8" for run in runs])
    found = [
        Group("all", "", np.ones(len(runs), bool)),
        Group("judged", "bf16-8-gpus", np.array([is_judged(run.row) for run in runs])),
    ]
    for kind in ("method", "gpu", "stack", "source"):
        values = [gpu_class(run.gpu) if kind == "gpu" else run.row[kind] for run in runs]
        for value in sorted(set(values)):
            chosen = small & np.array([other == value for other in values])
            if chosen.any():
                found.append(Group(kind, value, chosen))
    return found


def report(runs: list[Run], seen: np.ndarray, unseen: np.ndarray) -> list[str]:
    """The error table as text."""
    lines: list[str] = []
    for kind, value, chosen in groups(runs):
        lines.append(f"{f'{kind} {value}':42s} seen     {summary(seen[chosen])}")
        lines.append(f"{'':42s} held out {summary(unseen[chosen])}")
    return lines


def error_rows(runs: list[Run], unseen: np.ndarray) -> list[dict[str, str]]:
    """The held-out errors as rows of throughput_errors.csv."""
    rows = []
    for kind, value, chosen in groups(runs):
        size = np.abs(np.expm1(unseen[chosen]))
        figures = {
            "median_error": np.median(size),
            "p90_error": np.quantile(size, 0.9),
            "bias": np.expm1(np.median(unseen[chosen])),
        }
        rows.append(
            {"group": kind, "value": value, "rows": str(int(chosen.sum()))}
            | {name: f"{figure:.3f}" for name, figure in figures.items()}
        )
    return rows


def read_errors() -> list[dict[str, str]]:
    """The held-out errors as they stand in data/."""
    with ERRORS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_errors(rows: list[dict[str, str]], checked: str) -> None:
    """throughput_errors.csv, dated."""
    with ERRORS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, (*rows[0], "checked"), lineterminator="\n")
        writer.writeheader()
        writer.writerows([row | {"checked": checked} for row in rows])


def bands(runs: list[Run], unseen: np.ndarray) -> dict[str, tuple[float, float]]:
    """Measured ÷ estimated by class: quantiles 10 and 90 of rows whose source was held out, at most 8 GPUs.

    A class with few rows leans on all of them together: n rows weigh n / (n + 10).
    """
    small = np.array([int(run.row["gpus"]) <= 8 for run in runs])
    every = np.quantile(-unseen[small], (0.1, 0.9))
    found = {}
    for name in RESIDUALS:
        chosen = small & np.array([residual_class(run.row) == name for run in runs])
        own = np.quantile(-unseen[chosen], (0.1, 0.9))
        weight = chosen.sum() / (chosen.sum() + 10)
        low, high = np.exp(weight * own + (1 - weight) * every)
        found[name] = (float(low), float(high))
    return found


def coverage(runs: list[Run], errors: np.ndarray, residuals: dict[str, tuple[float, float]]) -> str:
    """Share of judged rows inside their band, and the band's median width."""
    inside, widths = [], []
    for run, error in zip(runs, errors, strict=True):
        if is_judged(run.row):
            low, high = residuals[residual_class(run.row)]
            inside.append(low <= math.exp(-error) <= high)
            widths.append(high / low)
    return f"inside the band {100 * np.mean(inside):.0f} %, median width ×{np.median(widths):.2f}"


def write(x: np.ndarray, spread: np.ndarray, residuals: dict[str, tuple[float, float]]) -> None:
    """Middle and ends of every fitted constant into assumptions.toml, in place."""
    path = DATA / "assumptions.toml"
    text = path.read_text(encoding="utf-8")
    values = {
        name: tuple(math.exp(middle + side * deviation) for side in (-1, 0, 1))
        for name, middle, deviation in zip(PRIORS, x, spread, strict=True)
    }
    values |= {f"throughput-residual-{name}": (low, 1.0, high) for name, (low, high) in residuals.items()}
    for name, (low, mid, high) in values.items():
        numbers = f"low = {low:.4g}\nmid = {mid:.4g}\nhigh = {high:.4g}\n"
        pattern = rf"(\[{re.escape(name)}\]\n)low = .*\nmid = .*\nhigh = .*\n"
        text, count = re.subn(pattern, lambda match, numbers=numbers: match[1] + numbers, text)
        if count != 1:
            raise SystemExit(f"assumptions.toml: [{name}] not found once")
    path.write_text(text, encoding="utf-8")


def uncertainty(runs: list[Run], x: np.ndarray) -> np.ndarray:
    """Standard deviation of each ln(constant): inverse of the curvature, prior included."""
    slope = jacobian(runs, x, log_errors(runs, x)) * (source_weights(runs) / NOISE)[:, None]
    prior = np.diag([1 / deviation**2 for _, deviation in PRIORS.values()])
    return np.sqrt(np.diag(np.linalg.inv(slope.T @ slope + prior)))


def main() -> None:
    """Fit, report, and write when asked."""
    runs = read_runs()
    x = fit(runs)
    boards = [run for run in read_runs(everything=True) if run.row["left_out"] == UNSAID]
    seen, unseen = log_errors(runs, x), held_out(runs, x, beside=boards)
    unseen, every = unseen[: len(runs)], unseen
    for name, value, (prior, _) in zip(PRIORS, np.exp(x), PRIORS.values(), strict=True):
        print(f"{name:32s} {value:10.4g}   prior {prior:g}")
    print("\n".join(report(runs, seen, unseen)))
    residuals = bands(runs + boards, every)
    print(
        "\n".join(f"{name:20s} measured ÷ estimated {low:.3f} – {high:.3f}" for name, (low, high) in residuals.items())
    )
    print(coverage(runs, seen, residuals))
    if "--write" in sys.argv[1:]:
        write(x, uncertainty(runs, x), residuals)
        write_errors(error_rows(runs, unseen), datetime.date.today().isoformat())


if __name__ == "__main__":
    main()
