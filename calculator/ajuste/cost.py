"""The bill: hours × price, rounded as the provider bills, and everything else that a bill contains.

A bill has three versions, low, mid and high. What is not known widens it and is listed: it is never zero in the high
version, and its line in the breakdown is null. Taxes are not included.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from .card import Range
from .catalog import Offer
from .constants import ASSUMPTIONS
from .hours import JobHours
from .plan import Job
from .records import NamedTuple
from .spot import Spot

HOURS_PER_MONTH = 730.0


class Bill(NamedTuple):
    """What a job costs on one offer."""

    usd: Range
    hours: Range  # wall
    billed: Range
    breakdown: dict[str, float | None]  # of usd.mid
    unknown: tuple[str, ...]


class Rental(NamedTuple):
    """Hours of one offer at one side of the ranges."""

    hours: JobHours
    experiments: int
    spot: Spot | None  # of one experiment
    bridged: float = 0.0  # share of the running hours that on-demand capacity works through spot's outages
    servers: float = 0.0  # machines that only generate (GRPO), for each offer that trains


def billed_hours(hours: float, granularity: float, minimum: float) -> float:
    """Hours as billed: at least the minimum, rounded up to whole steps.

    Formula: ceil(max(hours, minimum) ÷ step) × step; step 0 bills by the second's fraction.
    """
    hours = max(hours, minimum)
    if granularity <= 0:
        return hours
    # A step exceeded by less than a millionth is floating-point dust, not a step.
    return ceil(hours / granularity - 1e-6) * granularity


class Terms(NamedTuple):
    """How a provider bills, at each side; in hours and USD."""

    granularity: Range
    minimum: Range
    unknown: tuple[str, ...]


def billing_terms(provider: dict[str, Any]) -> Terms:
    """Billing step and minimum charge of a provider; unknown ones widen the bill."""
    unknown = []
    step, least = provider.get("billing_granularity_seconds"), provider.get("minimum_charge_seconds")
    if step is None:
        unknown.append("billing_granularity")
        row = ASSUMPTIONS["unknown-granularity-hours"]
        granularity = Range(row.low, row.mid, row.high)
    else:
        granularity = Range(*[step / 3600] * 3)
    if least is None:
        unknown.append("minimum_charge")
        row = ASSUMPTIONS["unknown-granularity-hours"]
        minimum = Range(row.low, row.mid, row.high)
    else:
        minimum = Range(*[least / 3600] * 3)
    return Terms(granularity, minimum, tuple(unknown))


class Extras(NamedTuple):
    """USD that do not depend on the hours rounded: per hour of wall time, and once."""

    storage_per_hour: Range
    storage_kept: Range
    egress: Range
    host_per_hour: Range
    unknown: tuple[str, ...]

    @property
    def storage_unknown(self) -> bool:
        """The price of disk is not known, running or stopped."""
        return "storage" in self.unknown or "storage_stopped" in self.unknown


NONE = Range(0.0, 0.0, 0.0)


def extras(offer: Offer, provider: dict[str, Any], job: Job, disk_gb: float) -> Extras:
    """Storage while running and while stopped, egress, host meters."""
    return with_host(kept_and_sent(provider, job, disk_gb), offer, provider)


def with_host(more: Extras, offer: Offer, provider: dict[str, Any]) -> Extras:
    """Extras of a provider, with an offer's host meters where it has them."""
    if "host_extra" not in offer.assumed:
        return more
    unknown = list(more.unknown)
    host = _host(offer, provider, unknown)
    return more._replace(host_per_hour=host, unknown=tuple(unknown))


def kept_and_sent(provider: dict[str, Any], job: Job, disk_gb: float) -> Extras:
    """What a provider asks for storage and egress, whatever the machine.

    Storage = (disk − what the machine includes) × price per GB and month ÷ 730 h. Egress beyond the free volume.
    """
    unknown = []
    included = ASSUMPTIONS["storage-free-gb"]
    price = provider.get("block_storage_usd_per_gb_month")
    if price is None:
        price = provider.get("network_storage_usd_per_gb_month")
    stopped = provider.get("stopped_storage_usd_per_gb_month")
    if stopped is None:  # a catalog holds every fact, the unknown as null: a disk that stays costs what it does running
        stopped = price
    generic = ASSUMPTIONS["storage-usd-per-gb-month"]
    if price is None:
        excess = max(0.0, disk_gb - included.low)
        running = Range(0.0, 0.0, excess * generic.high / HOURS_PER_MONTH)
        unknown.append("storage")
    else:
        # Low: the machine includes a lot; high: it includes nothing.
        rooms = (included.high, included.mid, included.low)
        running = Range(*[max(0.0, disk_gb - room) * price / HOURS_PER_MONTH for room in rooms])
    kept = NONE
    if job.keep_storage_days:
        months = job.keep_storage_days * 24 / HOURS_PER_MONTH
        if stopped is None:
            kept = Range(0.0, 0.0, disk_gb * generic.high * months)
            unknown.append("storage_stopped")
        else:
            kept = Range(*[disk_gb * stopped * months] * 3)
    out = NONE
    if job.egress_gb:
        rate = provider.get("egress_usd_per_gb")
        if rate is None:
            out = Range(0.0, 0.0, job.egress_gb * ASSUMPTIONS["egress-usd-per-gb"].high)
            unknown.append("egress")
        else:
            paid = max(0.0, job.egress_gb - (provider.get("free_egress_gb_per_month") or 0.0))
            out = Range(*[paid * rate] * 3)
    return Extras(running, kept, out, NONE, tuple(unknown))


def _host(offer: Offer, provider: dict[str, Any], unknown: list[str]) -> Range:
    """CPU and RAM where they are metered apart (the offer's row says `host_extra`). Unit: USD per hour."""
    per_vcpu, per_gib = provider.get("host_usd_per_vcpu_hour"), provider.get("host_usd_per_gib_hour")
    vcpus = _host_size(offer.vcpus, "host-vcpus-per-gpu", offer.gpus)
    ram = _host_size(offer.ram_gib, "host-gib-per-gpu", offer.gpus)
    if per_vcpu is None or per_gib is None:
        unknown.append("host")
    cores, memory = _metered(vcpus, per_vcpu, "host-usd-per-vcpu-hour"), _metered(ram, per_gib, "host-usd-per-gib-hour")
    return Range(*[one + other for one, other in zip(cores, memory, strict=True)])


def _metered(amount: Range, price: float | None, name: str) -> Range:
    """Amount × price; a price that nobody states only raises the high side, to what others ask."""
    if price is None:
        return Range(0.0, 0.0, amount.high * ASSUMPTIONS[name].high)
    return Range(amount.low * price, amount.mid * price, amount.high * price)


def _host_size(stated: float | None, name: str, gpus: int) -> Range:
    """vCPUs or RAM of an offer: as it says, else what one would ask for."""
    if stated is not None:
        return Range(stated, stated, stated)
    row = ASSUMPTIONS[name]
    return Range(gpus * row.low, gpus * row.mid, gpus * row.high)


class Side(NamedTuple):
    """One of a bill's three versions."""

    usd: float
    running: float  # hours of machine, before rounding
    waiting: float  # hours without capacity
    rounded: float  # hours as billed
    bridged: float  # of the running hours, on on-demand capacity


def side(price: float, terms: Terms, more: Extras, rental: Rental, fallback: float, index: int) -> Side:
    """The bill at one side: 0 low, 1 middle, 2 high. Arguments as `bill`."""
    hours, n, spot, share, servers = rental
    running, interruptions, waiting, bridged = hours.total, 0.0, 0.0, 0.0
    if spot is not None:
        running = n * spot.billed + hours.parts.idle
        interruptions = n * spot.interruptions
        waiting = n * spot.waiting
        bridged = share * running
    step, least = terms.granularity[index], terms.minimum[index]
    rounded = n * billed_hours(running / n, step, least) + interruptions * step / 2
    storage = more.storage_per_hour[index] * (running + waiting) + more.storage_kept[index]
    machines = price * rounded + bridged * (fallback - price) + more.host_per_hour[index] * running
    usd = machines * (1 + servers) + storage + more.egress[index]
    return Side(usd, running, waiting, rounded, bridged)


def bill(offer: Offer, terms: Terms, more: Extras, rentals: tuple[Rental, Rental, Rental], fallback: float) -> Bill:
    """The bill of a job on an offer.

    Args:
        offer: price of the whole offer per hour.
        terms: how its provider bills.
        more: what is paid beside the machine.
        rentals: hours at the low, mid and high side.
        fallback: USD per hour of on-demand capacity that bridges the gaps of spot; 0 = wait for spot.
    """
    price = offer.usd_per_hour

    def line(usd: float) -> float:
        # Less than a billionth of the bill is what floating point leaves of a difference.
        return usd if abs(usd) > 1e-9 * sides[1].usd else 0.0

    sides = [side(price, terms, more, rental, fallback, index) for index, rental in enumerate(rentals)]
    middle, hours = sides[1], rentals[1].hours
    host = more.host_per_hour.mid * middle.running
    servers = rentals[1].servers
    serving = servers * (price * middle.rounded + middle.bridged * (fallback - price) + host)
    storage = more.storage_per_hour.mid * (middle.running + middle.waiting) + more.storage_kept.mid
    breakdown = {
        "compute": price * hours.work,
        "setup": price * hours.setup,
        "rounding": line(price * (middle.rounded - middle.running)),
        "interruptions": line(price * (middle.running - hours.total) + middle.bridged * (fallback - price)),
        "idle": price * hours.parts.idle,
        **({"server": serving} if servers else {}),
        # Null when nothing of it is known.
        "host": host if host or "host" not in more.unknown else None,
        "storage": storage if storage or not more.storage_unknown else None,
        "egress": more.egress.mid if more.egress.mid or "egress" not in more.unknown else None,
    }
    return Bill(
        Range(*[one.usd for one in sides]),
        Range(*[one.running + one.waiting for one in sides]),
        Range(*[one.rounded for one in sides]),
        breakdown,
        (*terms.unknown, *more.unknown),
    )
