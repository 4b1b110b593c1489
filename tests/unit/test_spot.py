"""Spot: closed forms against arithmetic by hand, against simulation, and against traces that are not exponential."""

import math
import random
from collections.abc import Callable

import pytest

from ajuste.spot import (
    Market,
    best,
    every,
    expected,
    gamma_cdf,
    market,
    outage_hours,
    probability_by,
    quantile,
)

MEAN_UP, MEAN_DOWN = 3.0, 1.0
WORK, FIRST, CHECKPOINT, RESTART = 8.0, 0.3, 0.02, 0.15


def replay(count: int, up: Callable[[], float], down: Callable[[], float], m: Market) -> tuple[float, float, int]:
    """One job, step by step, on alternating up- and down-times: wall hours, hours running, interruptions."""
    wall = running = 0.0
    interruptions = 0
    left = up()
    segment = WORK / count + CHECKPOINT
    todo = [(FIRST, FIRST)] + [(segment, m.restart + segment)] * count
    for first, again in todo:
        need = first
        while left < need:
            running += left
            wall += left + down()
            interruptions += 1
            left, need = up(), again
        left -= need
        running += need
        wall += need
    return wall, running, interruptions


def test_without_interruptions_it_takes_what_it_takes():
    # 0.3 h set-up + 8 h + 1 checkpoint of 0.02 h = 8.32 h
    spot = best(WORK, FIRST, CHECKPOINT, Market(0.0, 0.0, RESTART))
    assert (spot.checkpoints, spot.billed, spot.waiting, spot.interruptions) == (1, pytest.approx(8.32), 0.0, 0.0)


def test_one_segment_by_hand():
    # One segment of 2 h (work 2, checkpoint 0), set-up 0, restart 0, one interruption an hour on average:
    # expected running time until 2 h pass undisturbed = (e^2 − 1) / 1 = 6.389 h, with e^2 − 1 = 6.389 interruptions.
    spot = expected(2.0, 0.0, 0.0, 1, Market(1.0, 0.0, 0.0))
    assert spot.billed == pytest.approx(math.e**2 - 1)
    assert spot.interruptions == pytest.approx(math.e**2 - 1)


def test_two_segments_by_hand():
    # Two segments of 1 h: 2 (e − 1) = 3.437 h instead of 6.389: the checkpoint halves the loss.
    spot = expected(2.0, 0.0, 0.0, 2, Market(1.0, 0.0, 0.0))
    assert spot.billed == pytest.approx(2 * (math.e - 1))


def test_waiting_is_not_billed():
    # Availability 0.75 at 3 h between interruptions: outages of 3 · 0.25 / 0.75 = 1 h, one for each interruption.
    m = market(3.0, outage_hours(3.0, 0.75), 1, RESTART)
    assert m.wait == pytest.approx(1.0)
    spot = expected(WORK, FIRST, CHECKPOINT, 10, m)
    first_wait = 1.0 * 1.0 / (1.0 + 3.0)  # no capacity at the first moment, with probability 1/4
    assert spot.waiting == pytest.approx(spot.interruptions * 1.0 + first_wait)


def test_more_nodes_are_interrupted_more_often():
    assert market(6.0, 1.0, 4, 0.1).rate == pytest.approx(4 / 6)


@pytest.mark.parametrize("count", [1, 4, 24])
def test_the_expectation_is_what_a_simulation_gives(count: int):
    rng = random.Random(count)
    m = Market(1 / MEAN_UP, MEAN_DOWN, RESTART)
    runs = [
        replay(count, lambda: rng.expovariate(1 / MEAN_UP), lambda: rng.expovariate(1 / MEAN_DOWN), m)
        for _ in range(8_000)
    ]
    walls = [wall for wall, _, _ in runs]
    spot = expected(WORK, FIRST, CHECKPOINT, count, m)
    # The replay starts with capacity; the closed form adds the chance of starting without.
    start = MEAN_DOWN * MEAN_DOWN / (MEAN_DOWN + MEAN_UP)
    assert sum(walls) / len(walls) == pytest.approx(spot.wall - start, rel=0.02)
    assert sum(running for _, running, _ in runs) / len(runs) == pytest.approx(spot.billed, rel=0.02)
    assert sum(n for _, _, n in runs) / len(runs) == pytest.approx(spot.interruptions, rel=0.03)


def test_quantiles_and_deadline_are_what_a_simulation_gives():
    rng = random.Random(5)
    m = Market(1 / MEAN_UP, MEAN_DOWN, RESTART)
    spot = best(WORK, FIRST, CHECKPOINT, m)

    def run() -> float:
        away = rng.random() < MEAN_DOWN / (MEAN_DOWN + MEAN_UP)
        wait = rng.expovariate(1 / MEAN_DOWN) if away else 0.0
        return (
            wait
            + replay(spot.checkpoints, lambda: rng.expovariate(1 / MEAN_UP), lambda: rng.expovariate(1 / MEAN_DOWN), m)[
                0
            ]
        )

    walls = sorted(run() for _ in range(8_000))
    for share in (0.5, 0.9):
        assert quantile(spot, share) == pytest.approx(walls[int(share * len(walls))], rel=0.04)
    for hours in (10.0, 13.0, 18.0, 25.0):
        simulated = sum(wall <= hours for wall in walls) / len(walls)
        assert probability_by(spot, hours) == pytest.approx(simulated, abs=0.03)


@pytest.mark.parametrize("shape", [0.5, 0.7])
def test_bursty_markets_cost_no_more_than_said(shape: float):
    """Weibull up-times with shape < 1 and the same mean: many short ones, some very long.

    What is paid follows the mean: within an eighth.
    """
    rng = random.Random(3)
    scale = MEAN_UP / math.gamma(1 + 1 / shape)
    m = Market(1 / MEAN_UP, MEAN_DOWN, RESTART)
    spot = best(WORK, FIRST, CHECKPOINT, m)
    runs = [
        replay(spot.checkpoints, lambda: rng.weibullvariate(scale, shape), lambda: rng.expovariate(1 / MEAN_DOWN), m)
        for _ in range(4_000)
    ]
    running = sum(r for _, r, _ in runs) / len(runs)
    assert running == pytest.approx(spot.billed, rel=0.12)


# Up- and down-times with the statistics of public traces: availability, mean up-run (h), median up-run (h).
# Source: skypilot-org/spot-traces, availability of one node, AWS 2022-10-26 and 2023-02-15.
PUBLIC = [
    ("us-west-2a v100", 0.883, 6.06, 1.03),
    ("us-west-2b v100", 0.905, 10.4, 1.41),
    ("us-east-2a v100", 0.759, 5.68, 0.87),
    ("us-east-1f v100", 0.591, 2.26, 0.54),
    ("us-west-2b 8×v100", 0.466, 0.76, 0.33),
]


@pytest.mark.parametrize(("name", "availability", "mean", "median"), PUBLIC, ids=[p[0] for p in PUBLIC])
def test_replaying_public_statistics(name: str, availability: float, mean: float, median: float):
    """Weibull up-times with a trace's mean and median, exponential outages with its availability.

    Median ÷ mean = (ln 2)^(1/k) / Γ(1 + 1/k) gives the shape k, between 0.35 and 0.75 here: bursty. What we say of an
    8 h job (MTBF = mean up-run): paid hours within a tenth. Bursts wait more often: wall hours up to a third longer.
    """
    shape = weibull_shape(median / mean)
    scale = mean / math.gamma(1 + 1 / shape)
    down = mean * (1 - availability) / availability
    rng = random.Random(17)
    m = market(mean, outage_hours(mean, availability), 1, RESTART)
    spot = expected(WORK, FIRST, CHECKPOINT, best(WORK, FIRST, CHECKPOINT, m).checkpoints, m)
    runs = []
    for _ in range(3_000):
        away = rng.random() < 1 - availability
        wait = rng.expovariate(1 / down) if away else 0.0
        up = lambda: rng.weibullvariate(scale, shape)  # noqa: E731
        wall, running, _ = replay(spot.checkpoints, up, lambda: rng.expovariate(1 / down), m)
        runs.append((wall + wait, running))
    wall = sum(w for w, _ in runs) / len(runs)
    running = sum(r for _, r in runs) / len(runs)
    print(f"{name:18s} shape {shape:.2f}: wall said {spot.wall:5.1f} replayed {wall:5.1f} h, "
          f"paid said {spot.billed:5.1f} replayed {running:5.1f} h")  # fmt: skip
    assert running == pytest.approx(spot.billed, rel=0.1)
    assert 0.9 * spot.wall < wall < 1.35 * spot.wall


def weibull_shape(ratio: float) -> float:
    """Shape k of a Weibull distribution whose median ÷ mean is `ratio`, by bisection."""
    low, high = 0.2, 3.0
    for _ in range(60):
        k = (low + high) / 2
        if math.log(2) ** (1 / k) / math.gamma(1 + 1 / k) < ratio:
            low = k
        else:
            high = k
    return low


def test_the_best_count_is_the_best_whole_number():
    m = Market(1 / 3, 0.5, 0.15)
    for work, checkpoint in ((8, 0.02), (1, 0.05), (40, 0.001), (0.2, 0.1)):
        found = best(work, 0.3, checkpoint, m)
        walls = [expected(work, 0.3, checkpoint, n, m).wall for n in range(1, 1500)]
        assert found.wall == pytest.approx(min(walls))


def test_free_checkpoints_have_an_end():
    # Each more is a little better for ever: the search must stop, at about the work without any loss but the restarts.
    m = Market(1 / 3, 0.5, 0.15)
    found = best(8.0, 0.3, 0.0, m)
    assert found.wall == pytest.approx(expected(8.0, 0.3, 0.0, 10**9, m).wall, rel=1e-6)


def test_an_interval_given_is_kept():
    # 8 h at one checkpoint each 30 minutes: 16.
    assert every(8.0, 0.3, 0.01, 30.0, Market(0.2, 0.0, 0.1)).checkpoints == 16


def test_without_checkpoints_it_may_never_end():
    spot = expected(200.0, 0.3, 0.01, 1, Market(1.0, 0.0, 0.1))
    assert spot.wall > 1e80
    assert best(200.0, 0.3, 0.01, Market(1.0, 0.0, 0.1)).wall < 300


def test_rarer_interruptions_never_cost_more():
    walls = [best(8.0, 0.3, 0.02, Market(1 / mtbf, 0.5, 0.1)).wall for mtbf in (0.5, 1, 2, 6, 24, 1000)]
    assert walls == sorted(walls, reverse=True)


def test_the_gamma_function_at_known_points():
    # Shape 1 is exponential; shape 1/2 at x is erf(√x); at the median of shape 2 (1.67835) it is 1/2.
    assert gamma_cdf(1.0, 2.0) == pytest.approx(1 - math.exp(-2))
    assert gamma_cdf(0.5, 0.3) == pytest.approx(math.erf(math.sqrt(0.3)))
    assert gamma_cdf(2.0, 1.6783469900166605) == pytest.approx(0.5)
    assert gamma_cdf(30.0, 60.0) == pytest.approx(0.99999, abs=1e-4)
