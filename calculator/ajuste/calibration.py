"""One run of the user's moves the middle and narrows the ranges."""

from __future__ import annotations

from typing import Any

from .card import Memory, Range, estimate_memory
from .catalog import Catalog, find_gpu
from .constants import ASSUMPTIONS
from .errors import RequestError
from .memory import GIB
from .plan import Plan
from .records import NamedTuple
from .resolve import as_request, resolve
from .throughput import compute_of, rates_of, tokens_per_second, work_of

# What of a run says nothing about another: who asks, where, at what price.
NOT_OF_THE_RUN = ("defaults", "calibration", "filters", "job", "mode", "as_of", "global_batch")


class Calibrated(NamedTuple):
    """Factors from one measured run; 1 and 1 when there is none."""

    memory: float = 1.0  # measured ÷ estimated, as far as it is believed
    memory_width: float = 1.0  # what is left of the range
    speed: float = 1.0
    speed_width: float = 1.0

    def required(self, value: Range) -> Range:
        """A range of memory after calibration, any unit."""
        return value if self.memory_width == 1.0 else _moved(value, self.memory, self.memory_width)

    def rate(self, value: Range) -> Range:
        """A range of tokens per second after calibration."""
        return value if self.speed_width == 1.0 else _moved(value, self.speed, self.speed_width)

    def of(self, memory: Memory) -> Memory:
        """All ranges of a memory estimate after calibration."""
        return memory._replace(
            allocated=self.required(memory.allocated),
            reserved=self.required(memory.reserved),
            required=self.required(memory.required),
            whole_run=self.required(memory.whole_run),
        )


def calibrate(plan: Plan, catalog: Catalog) -> Calibrated:
    """Factors of the run that `plan.calibration` states: its request over the plan's own.

    How far the measurement is believed: the estimate's own uncertainty against how much one run differs from another,
    weight = σ² / (σ² + noise²).
    """
    given = plan.calibration
    if given.measured_gib is None and given.measured_tokens_per_second is None:
        return Calibrated()
    base = {name: value for name, value in as_request(plan).items() if name not in NOT_OF_THE_RUN}
    base = {name: value for name, value in base.items() if value is not None}
    if not isinstance(given.request, dict):
        raise RequestError("wrong-type", "calibration.request", given.request, "{…}")
    if "calibration" in given.request:
        raise RequestError("unknown-field", "calibration.request.calibration")
    merged = _merged(_listed(base), given.request)
    merged["micro_batch"] = merged.get("micro_batch") or 1
    try:
        run, arch = resolve(merged, catalog)
    except RequestError as error:
        error.field = f"calibration.request.{error.field}"
        raise
    found = Calibrated()
    if given.measured_gib is not None:
        allocated = estimate_memory(run, arch).allocated
        noise = ASSUMPTIONS["run-to-run-memory"].mid
        factor, width = _believed(given.measured_gib * GIB, allocated, noise)
        found = found._replace(memory=factor, memory_width=width)
    if given.measured_tokens_per_second is not None:
        if run.gpu is None:
            raise RequestError("missing", "calibration.request.gpu", accepted='"a100-sxm-80gb"')
        from .fit import residual_of

        gpu = find_gpu(catalog, run.gpu)
        rates = rates_of(gpu, compute_of(run), run)
        speed = tokens_per_second(work_of(run, arch), rates, run, run.batch, run.grad_accum)
        low, mid, high = residual_of(run, gpu)
        noise = ASSUMPTIONS["run-to-run-speed"].mid
        band = Range(low * speed, mid * speed, high * speed)
        factor, width = _believed(given.measured_tokens_per_second, band, noise)
        found = found._replace(speed=factor, speed_width=width)
    return found


def _believed(measured: float, estimated: Range, noise: float) -> tuple[float, float]:
    """Factor on the middle and on the width. σ of the estimate: half of (high − low) ÷ mid, about 1.28 σ each side."""
    sigma = (estimated.high - estimated.low) / (2 * 1.28 * estimated.mid)
    weight = sigma**2 / (sigma**2 + noise**2)
    return (measured / estimated.mid) ** weight, (1 - weight) ** 0.5


def _moved(value: Range, factor: float, width: float) -> Range:
    middle = value.mid * factor
    return Range(
        middle - (value.mid - value.low) * factor * width, middle, middle + (value.high - value.mid) * factor * width
    )


def _listed(value: object) -> dict[str, Any]:
    """Tuples as lists and nulls left out, as a request writes them."""

    def plain(inner: object) -> object:
        if isinstance(inner, dict):
            return {key: plain(item) for key, item in inner.items() if item is not None}
        if isinstance(inner, tuple):
            return [plain(item) for item in inner]
        return inner

    return plain(value)  # type: ignore[return-value]


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        inner = merged.get(name)
        merged[name] = (
            inner | value if isinstance(inner, dict) and isinstance(value, dict) and name != "model" else value
        )
    return merged
