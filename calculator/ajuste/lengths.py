"""How long rows are: padding, packing, grouping, and what attention sees of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log

from .constants import MID
from .plan import Dataset, Plan


def mean_tokens(plan: Plan) -> float:
    """Tokens of the average example after truncation, images included.

    Unit: tokens. Formula: Σ min(length, longest) · share, or the mean given; + image tokens × images per example.
    """
    dataset, longest = plan.dataset, float(plan.sequence_length)
    images = dataset.image_tokens * dataset.images_per_example
    if dataset.length_histogram:
        total = sum(count for _, count in dataset.length_histogram)
        text = sum(min(length, longest) * count for length, count in dataset.length_histogram) / total
    else:
        text = min(dataset.mean_tokens, longest)
    return min(text + images, max(longest, images))


def row_tokens(plan: Plan, micro_batch: int) -> float:
    """Tokens of one row as it is processed, padding included.

    Packed rows are full. Padded rows are as long as the longest of their micro-batch: exact from a histogram, else a
    shifted exponential whose expected maximum of B draws is mean × (1 + v (H_B − 1)), with v the coefficient of
    variation and H_B the harmonic number, never beyond the longest row.
    Unit: tokens.
    """
    if plan.padding == "packed":
        return float(plan.sequence_length)
    mean = mean_tokens(plan)
    if plan.padding == "padding-free" or micro_batch == 1:
        return mean
    dataset = plan.dataset
    if dataset.group_by_length:
        return min(mean * MID["grouped-padding"], max(mean, float(plan.sequence_length)))
    if dataset.length_histogram:
        return expected_longest(dataset, float(plan.sequence_length), micro_batch)
    grown = mean * (1 + MID["length-variation"] * (harmonic(micro_batch) - 1))
    return max(mean, min(grown, float(dataset.max_tokens or plan.sequence_length), float(plan.sequence_length)))


MOST_BINS = 256


def binned(histogram: Sequence[Sequence[float]]) -> list[list[float]]:
    """A histogram of at most `MOST_BINS` lengths: neighbours become one, at the mean length of their examples.

    Examples and tokens stay what they were, and so does the longest length; groups hold like numbers of lengths.
    """
    rows = sorted([list(row) for row in histogram if row[1] > 0])
    if len(rows) <= MOST_BINS:
        return rows
    *rest, longest = rows
    size = ceil(len(rest) / (MOST_BINS - 1))
    groups = [rest[start : start + size] for start in range(0, len(rest), size)]
    counts = [sum([count for _, count in group]) for group in groups]
    tokens = [sum([length * count for length, count in group]) for group in groups]
    return [*[[total / count, count] for total, count in zip(tokens, counts, strict=True)], longest]


def rows_per_epoch(plan: Plan) -> int:
    """Rows of one epoch: examples, completions of GRPO, or packed rows. Unit: rows."""
    dataset = plan.dataset
    if plan.task == "grpo":
        return dataset.examples * plan.rl.generations
    if plan.padding == "packed":
        return max(1, ceil(dataset.examples * mean_tokens(plan) / plan.sequence_length))
    return dataset.examples


def expected_longest(dataset: Dataset, longest: float, draws: int) -> float:
    """Expected longest of `draws` examples of the histogram. Formula: Σ length · (F(length)ᵈ − F(shorter)ᵈ)."""
    histogram = sorted(dataset.length_histogram or ())
    total = sum(count for _, count in histogram)
    expected = seen = below = 0.0
    for length, count in histogram:
        seen += count
        share = (seen / total) ** draws
        expected += min(length, longest) * (share - below)
        below = share
    return expected


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + … + 1/n; beyond 8 terms ln n + γ + 1/2n − 1/12n² (error under 2e-6)."""
    if n <= 8:
        return sum([1 / i for i in range(1, n + 1)])
    return log(n) + 0.5772156649 + 0.5 / n - 1 / (12 * n * n)


def attended_tokens(plan: Plan, micro_batch: int) -> float:
    """Length of the sequences that attention works on: rows when padded, the examples inside a packed row.

    Unit: tokens. In a packed row an example of length l costs l²: Σl²/Σl = mean × (1 + v²).
    """
    if plan.padding == "padded":
        return row_tokens(plan, micro_batch)
    mean, spread = mean_tokens(plan), MID["length-variation"]
    if plan.dataset.length_histogram:
        longest = float(plan.sequence_length)
        cut = [(min(length, longest), count) for length, count in plan.dataset.length_histogram]
        return sum(length * length * count for length, count in cut) / sum(length * count for length, count in cut)
    return min(mean * (1 + spread * spread), max(mean, float(plan.sequence_length)))


def epoch_tokens(plan: Plan, micro_batch: int) -> float:
    """Tokens processed in one epoch, padding included. Unit: tokens.

    Packed: examples × mean ÷ how full rows get. Else examples × tokens of a row.
    """
    examples = plan.dataset.examples
    if plan.padding == "packed":
        return examples * mean_tokens(plan) / (plan.dataset.pack_efficiency or MID["pack-efficiency"])
    return examples * row_tokens(plan, micro_batch)
