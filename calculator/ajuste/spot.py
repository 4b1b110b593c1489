"""Spot: the exact expectation for a finite job, its spread, and the best number of checkpoints.

Interruptions come as a Poisson process of rate λ per hour of running (MTBF = 1/λ, × nodes). A job of `work` hours is
cut into n equal segments, each closed by a checkpoint of c hours; an interruption loses the segment, waits for capacity
and restarts (R hours) before it goes on, and a restart can be interrupted too. Nothing is asymptotic: the first start,
whole checkpoints and the last segment are counted. `tests/unit/test_spot.py` replays traces whose up-times are not
exponential.

Up-times of real markets are more variable than exponential (Weibull, shape near 0.5). Replayed with the same mean, paid
hours stay within a few per cent of what is said here; waiting grows by up to a third, since bursts of short up-times
bring more outages.
"""

from __future__ import annotations

from math import ceil, exp, expm1, lgamma, log, sqrt

from .records import NamedTuple

LONGEST_EXPONENT = 300.0  # e³⁰⁰ hours: the job never ends
MOST_CHECKPOINTS = 10**12


class Market(NamedTuple):
    """How spot capacity comes and goes."""

    rate: float  # interruptions per hour of running, all nodes
    wait: float  # mean hours until capacity is back
    restart: float  # hours from capacity to the first new step


class Spot(NamedTuple):
    """Expected hours of a job on spot capacity."""

    checkpoints: int
    billed: float  # hours of running, paid
    waiting: float  # hours without capacity, not paid
    interruptions: float
    variance: float  # of wall hours, h²
    shortest: float  # wall hours without any interruption
    undisturbed: float  # probability of that

    @property
    def wall(self) -> float:
        """Hours from start to end, waiting included."""
        return self.billed + self.waiting


def market(mtbf_h: float, outage_h: float, nodes: int, restart: float) -> Market:
    """Market from the mean time between interruptions of one node and the mean length of an outage."""
    return Market(nodes / mtbf_h, outage_h, restart)


def outage_hours(mtbf_h: float, availability: float) -> float:
    """Mean outage: up- and down-times alternate. Formula: mtbf × (1 − availability) ÷ availability."""
    return mtbf_h * (1 - availability) / availability


def expected(work: float, first: float, checkpoint: float, checkpoints: int, m: Market) -> Spot:
    """Expected hours with a given number of checkpoints.

    Args:
        work: hours of useful work.
        first: hours from the first capacity to the first step; interrupted, they start again.
        checkpoint: hours to write one.
        checkpoints: how many, the last one at the end.
    """
    segment = work / checkpoints + checkpoint
    down = _share_down(m)
    running, failures, variance = _start(first, down, m)
    each_running, each_failures = _segment(segment, m.restart + segment, m)
    return Spot(
        checkpoints=checkpoints,
        billed=running + checkpoints * each_running,
        waiting=down * m.wait + m.wait * failures + checkpoints * m.wait * each_failures,
        interruptions=failures + checkpoints * each_failures,
        variance=variance + checkpoints * _variance(segment, m.restart + segment, m),
        shortest=first + checkpoints * segment,
        undisturbed=exp(-min(LONGEST_EXPONENT, m.rate * (first + checkpoints * segment))) * (1 - down),
    )


def _start(first: float, down: float, m: Market) -> tuple[float, float, float]:
    """From asking for capacity to the first step: running hours, failures, variance of the wall hours."""
    variance = 2 * down * m.wait**2 - (down * m.wait) ** 2 + _variance(first, first, m)
    return *_segment(first, first, m), variance


def _share_down(m: Market) -> float:
    """Chance that there is no capacity at the moment one asks: down-time ÷ (up-time + down-time)."""
    return m.wait / (m.wait + 1 / m.rate) if m.rate else 0.0


def _segment(first: float, again: float, m: Market) -> tuple[float, float]:
    """Running hours and failures until a segment is done: `first` hours undisturbed, `again` after a failure.

    With f the chance that `first` is interrupted, q that `again` (restart + segment) survives: failures = f / q,
    running = (1 − e^(−λ first)) / λ + f (e^(λ again) − 1) / λ.
    """
    rate = m.rate
    if rate == 0:
        return first, 0.0
    again_exponent = min(LONGEST_EXPONENT, rate * again)
    fails = -expm1(-min(LONGEST_EXPONENT, rate * first))
    return fails / rate + fails * expm1(again_exponent) / rate, fails / exp(-again_exponent)


def _variance(first: float, again: float, m: Market) -> float:
    """Variance of a segment's wall hours.

    Extra hours of a disturbed one: lost + wait + (again − first) + Σ over J further failures of (lost + wait).
    """
    rate = m.rate
    if rate == 0:
        return 0.0
    fails = -expm1(-min(LONGEST_EXPONENT, rate * first))
    survives = exp(-min(LONGEST_EXPONENT, rate * again))
    lost, lost_2 = _truncated(rate, first)
    lost_again, lost_again_2 = _truncated(rate, again)
    wait_2 = 2 * m.wait * m.wait
    each = lost_again + m.wait
    each_2 = lost_again_2 + 2 * lost_again * m.wait + wait_2
    more = (1 - survives) / survives
    more_variance = (1 - survives) / (survives * survives)
    mean = lost + m.wait + (again - first) + more * each
    variance = (lost_2 - lost * lost) + (wait_2 - m.wait * m.wait) + more * (each_2 - each * each)
    variance += more_variance * each * each
    second = variance + mean * mean
    return fails * second - (fails * mean) ** 2


def _truncated(rate: float, length: float) -> tuple[float, float]:
    """First and second moment of an exponential up-time, given that it ends before `length`."""
    x = rate * length
    if x < 1e-6:
        return length / 2, length * length / 3
    if x > LONGEST_EXPONENT:
        return 1 / rate, 2 / rate**2
    tail = exp(-x) / -expm1(-x)
    mean = 1 / rate - length * tail
    return mean, 2 / rate**2 - tail * (length * length + 2 * length / rate)


def best(work: float, first: float, checkpoint: float, m: Market) -> Spot:
    """The number of checkpoints with the least expected wall hours."""
    return expected(work, first, checkpoint, best_count(work, checkpoint, m), m)


def best_count(work: float, checkpoint: float, m: Market) -> int:
    """How many checkpoints make the wall hours least.

    Starts at Young's √(2 c / λ) and walks downhill over whole numbers, faster while it leads down: the expectation is
    convex in their number. The start of the job does not depend on it and is left out.
    """
    if m.rate == 0 or work <= 0:
        return 1

    def wall(count: int) -> float:
        segment = work / count + checkpoint
        running, failures = _segment(segment, m.restart + segment, m)
        return count * (running + m.wait * failures)

    interval = sqrt(2 * max(checkpoint, 1e-6) / m.rate)
    count = min(MOST_CHECKPOINTS, max(1, round(work / interval)))
    least, step = wall(count), max(1, count // 8)
    while True:
        moved = False
        for candidate in (count - step, count + step):
            if 1 <= candidate <= MOST_CHECKPOINTS:
                other = wall(candidate)
                if other < least:
                    count, least, moved = candidate, other, True
                    break
        if moved:
            step *= 2  # where checkpoints cost nothing the least lies far away
        elif step == 1:
            return count
        else:
            step = max(1, step // 4)


def every(work: float, first: float, checkpoint: float, minutes: float, m: Market) -> Spot:
    """Checkpoints at a given interval."""
    count = min(MOST_CHECKPOINTS, max(1, ceil(work * 60 / minutes)))
    return expected(work, first, checkpoint, count, m)


# ---------------------------------------------------------------------------------------------------- the spread


def probability_by(spot: Spot, hours: float) -> float:
    """Probability that the job ends within `hours` of wall time.

    With probability `undisturbed` it takes the shortest time; else that plus a gamma-distributed delay with the exact
    mean and variance of the disturbed case.
    """
    if hours < spot.shortest:
        return 0.0
    p0 = spot.undisturbed
    mean = spot.wall - spot.shortest
    if p0 > 1 - 1e-9 or mean <= 1e-9:
        return 1.0
    mean_disturbed = mean / (1 - p0)
    second = (spot.variance + mean * mean) / (1 - p0)
    variance = max(second - mean_disturbed**2, 1e-12 * mean_disturbed**2)
    shape = mean_disturbed**2 / variance
    return p0 + (1 - p0) * gamma_cdf(shape, (hours - spot.shortest) * shape / mean_disturbed)


def quantile(spot: Spot, share: float) -> float:
    """Wall hours within which the job ends with probability `share`. Bisection of `probability_by`, to 1 in 10⁷."""
    low, high = spot.shortest, spot.shortest + 1.0
    if probability_by(spot, low) >= share:
        return low
    while probability_by(spot, high) < share and high < 1e9:
        low, high = high, 2 * high
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        if probability_by(spot, middle) < share:
            low = middle
        else:
            high = middle
    return high


def gamma_cdf(shape: float, x: float) -> float:
    """Regularised lower incomplete gamma function: series below shape + 1, continued fraction above."""
    if x <= 0:
        return 0.0
    scale = exp(shape * log(x) - x - lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        n = shape
        for _ in range(500):
            n += 1
            term *= x / n
            total += term
            if term < total * 1e-12:
                break
        return min(1.0, total * scale)
    b = x + 1 - shape
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 500):
        an = -i * (i - shape)
        b += 2
        d = 1 / (an * d + b or 1e-300)
        c = b + an / c or 1e-300
        fraction *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return max(0.0, 1 - scale * fraction)
