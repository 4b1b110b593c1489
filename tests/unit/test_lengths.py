"""Rows, padding, packing: arithmetic by hand."""

import random

import pytest

import ajuste
from ajuste.constants import MID
from ajuste.lengths import MOST_BINS, attended_tokens, binned, epoch_tokens, harmonic, mean_tokens, row_tokens
from ajuste.resolve import resolve

from .conftest import TINY

EMPTY = ajuste.load_catalog("{}")


def plan(padding: str = "padded", **dataset: object):
    request = {"model": TINY, "method": "lora", "padding": padding, "sequence_length": 1000, "dataset": dataset}
    return resolve(request, EMPTY)[0]


def test_packed_rows_are_full():
    p = plan("packed", mean_tokens=250, examples=100, pack_efficiency=0.8)
    assert row_tokens(p, 4) == 1000
    # 100 × 250 useful tokens in rows four fifths full: 31,250.
    assert epoch_tokens(p, 4) == pytest.approx(31_250)


def test_padding_free_wastes_nothing():
    p = plan("padding-free", mean_tokens=250, examples=100)
    assert row_tokens(p, 8) == 250
    assert epoch_tokens(p, 8) == 25_000


def test_padding_grows_with_the_micro_batch():
    p = plan(mean_tokens=200, examples=100)
    v = MID["length-variation"]
    # H_4 = 1 + 1/2 + 1/3 + 1/4 = 2.08333
    assert row_tokens(p, 1) == 200
    assert row_tokens(p, 4) == pytest.approx(200 * (1 + v * (25 / 12 - 1)))
    assert row_tokens(p, 60_000) == 1000  # never beyond the longest row


def test_padding_from_a_histogram_is_exact():
    # Half of the examples 100 tokens, half 300: two draws are both short a quarter of the time: 0.25·100 + 0.75·300.
    p = plan(length_histogram=[[100, 5], [300, 5]])
    assert mean_tokens(p) == 200
    assert row_tokens(p, 1) == 200
    assert row_tokens(p, 2) == pytest.approx(250)


def test_a_histogram_is_what_drawing_from_it_gives():
    rng, lengths = random.Random(1), [50, 120, 400, 900]
    p = plan(length_histogram=[[50, 4], [120, 3], [400, 2], [900, 1]])
    draws = [max(rng.choices(lengths, [4, 3, 2, 1], k=6)) for _ in range(20_000)]
    assert row_tokens(p, 6) == pytest.approx(sum(draws) / len(draws), rel=0.01)


def test_longer_rows_are_cut():
    p = plan(length_histogram=[[500, 1], [3000, 1]])
    assert mean_tokens(p) == 750  # (500 + 1000) / 2


def test_grouping_leaves_little_padding():
    assert row_tokens(plan(mean_tokens=200, group_by_length=True), 8) == pytest.approx(200 * MID["grouped-padding"])


def test_attention_sees_examples_not_packed_rows():
    p = plan("packed", length_histogram=[[100, 1], [300, 1]])
    # Σ l² / Σ l = (10,000 + 90,000) / 400 = 250
    assert attended_tokens(p, 4) == 250


def test_images_count():
    assert mean_tokens(plan(mean_tokens=100, image_tokens=200, images_per_example=2)) == 500


def test_harmonic_numbers():
    for n in (1, 2, 8, 9, 20, 1000):
        assert harmonic(n) == pytest.approx(sum(1 / i for i in range(1, n + 1)), rel=1e-5)


def test_many_lengths_are_binned_without_losing_a_token():
    rng = random.Random(5)
    histogram = [[length, rng.randint(0, 40)] for length in range(1, 5001)]
    few = binned(histogram)
    assert len(few) <= MOST_BINS
    for power in (0, 1):  # examples, tokens
        before, after = (sum(count * length**power for length, count in rows) for rows in (histogram, few))
        assert after == pytest.approx(before, rel=1e-12)
    assert few[-1] == max([row for row in histogram if row[1]])
    assert binned([[2, 5], [1, 3]]) == [[1, 3], [2, 5]]


def test_a_plan_of_ten_thousand_lengths_answers_like_its_bins(real):
    rng = random.Random(6)
    histogram = [[length, rng.randint(1, 40)] for length in range(1, 10_001)]
    request = {"model": "llama-3.1-8b", "method": "qlora", "sequence_length": 16384, "gpu": "h100-sxm-80gb"}
    answers = [
        ajuste.estimate(request | {"dataset": {"length_histogram": rows}}, real)
        for rows in (histogram, binned(histogram))
    ]
    assert answers[0] == answers[1]
    assert len(answers[0]["plan"]["dataset"]["length_histogram"]) <= MOST_BINS
