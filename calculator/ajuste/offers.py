"""Where to run it: every offer that fits, its bill, the picks, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from .architecture import Architecture
from .card import Range
from .catalog import Catalog, Offer, day_number
from .constants import ASSUMPTIONS, MID
from .cost import Bill, Extras, Rental, Terms, bill, billing_terms, extras
from .fit import Fitter, Placement
from .host import disk
from .hours import (
    SIDES,
    VALUES,
    JobHours,
    checkpoints_saved,
    evaluation_tokens,
    fixed_parts,
    generation_hours,
    job_hours,
    training_tokens,
)
from .memory import GB
from .plan import Plan
from .spot import Market, Spot, best, every, expected, market, outage_hours, probability_by
from .throughput import fed_tokens_per_second, loader_seconds

FRESH_DAYS, AGEING_DAYS = 60, 120  # ux: which price leads
CHEAPER_SHARE = 0.8  # an older price this much lower deserves a line
FASTEST_WITHIN = 3.0  # the fastest pick costs at most this many times the cheapest
NEVER_HOURS = 1e7  # a thousand years of expected restarts: it does not end
REASONS = (
    "does-not-fit",
    "misses-deadline",
    "over-budget",
    "price-too-old",
    # What the filters drop.
    "gpu",
    "max-gpus",
    "region",
    "provider",
    "kind",
    "purchase",
    "scaled",
)
# Groups of regions, as words that occur in the providers' own names of them.
REGION_GROUPS = {
    "eu": frozenset((
        "eu", "europe", "westeurope", "northeurope", "at", "austria", "be", "belgium", "bg", "bulgaria", "ch", "hr",
        "croatia", "cz", "de", "germany", "bavaria", "dk", "es", "spain", "fi", "finland", "fr", "france", "gb",
        "uk", "gr", "greece", "ie", "ireland", "is", "iceland", "it", "italy", "nl", "netherlands", "no", "norway",
        "pl", "poland", "pt", "portugal", "ro", "romania", "se", "sweden", "si", "slovenia", "sofia"
    )),
    "latam": frozenset((
        "sa", "southamerica", "br", "brazil", "brazilsouth", "cl", "chile", "mx", "mexico", "co", "colombia", "ar",
        "latam"
    )),
}  # fmt: skip


class Ranked(NamedTuple):
    """An offer with everything that was worked out for it."""

    offer: Offer
    age_days: int | None
    placement: Placement
    bill: Bill
    hours: tuple[JobHours, JobHours, JobHours]
    spot: Spot | None
    persistent: bool  # storage outlives the machine
    bridged: bool  # on-demand capacity works through spot's outages
    finish_by_deadline: float | None


class Ranking(NamedTuple):
    """All offers in order, and what stands out."""

    ranked: list[Ranked]  # by usd.mid
    picks: dict[str, Ranked | None]
    excluded: list[dict[str, Any]]


class Ranker:
    """Bills of one plan over a catalog's offers."""

    def __init__(self, fitter: Fitter, catalog: Catalog) -> None:
        self.fitter, self.catalog = fitter, catalog
        self.plan: Plan = fitter.plan
        self.arch: Architecture = fitter.arch
        self.fixed = {side: fixed_parts(self.plan, self.arch, side) for side in SIDES}
        self.disk_gb = disk(self.plan, self.arch, MID).mid / GB
        self.today = day_number(self.plan.as_of) if self.plan.as_of else None
        self._terms: dict[str, Terms] = {}
        self._loading = Range(*[loader_seconds(self.plan, VALUES[side]) for side in SIDES])
        self._hours: dict[tuple[str, int, bool, Range], tuple[JobHours, JobHours, JobHours]] = {}
        self._spots: dict[tuple[str, int, bool, Range, bool], tuple[Spot, Spot, Spot]] = {}
        self._extras: dict[tuple[str, float | None, float | None, tuple[str, ...]], Extras] = {}

    # ------------------------------------------------------------------------------------------------- one offer

    def rank(self, offer: Offer) -> Ranked | None:
        """An offer's placement and bill; None when the plan does not fit on it."""
        gpu = self.catalog.gpus.get(offer.gpu)
        if gpu is None or not gpu.is_ranked:
            return None
        provider = self.catalog.providers.get(offer.provider, {})
        machines = self.plan.parallel.nodes
        if machines > 1:
            placement = self.fitter.place(gpu, offer.gpus, provider.get("multi_node_link") is not None)
        else:
            placement = self.fitter.place(gpu, offer.gpus)
        if placement.verdict == "no":
            return None
        placement = self.fed(placement, offer.vcpus)
        persistent = self.plan.job.persistent_storage and provider.get("persistent_storage") is not False
        hours = self.hours(placement, persistent)
        terms = self._terms.get(offer.provider)
        if terms is None:
            terms = self._terms[offer.provider] = billing_terms(provider)
        key = (offer.provider, offer.vcpus, offer.ram_gib, offer.assumed)
        more = self._extras.get(key)
        if more is None:
            more = self._extras[key] = extras(offer, provider, self.plan.job, self.disk_gb)
        experiments = self.plan.job.experiments
        fallback = 0.0
        if offer.purchase == "spot":
            if self.plan.job.fallback == "on-demand":
                fallback = machines * self.catalog.on_demand.get((offer.provider, offer.offer, offer.region), 0.0)
            spots = self.spots(placement, persistent, bridged=bool(fallback))
            low, mid, high = (
                Rental(hours[i], experiments, spots[i], 1 - self.availability(side) if fallback else 0.0)
                for i, side in enumerate(SIDES)
            )
        else:
            low, mid, high = [Rental(side, experiments, None) for side in hours]
        total = bill(offer, terms, more, (low, mid, high), fallback)
        age = None if self.today is None else self.today - offer.day
        by_deadline = self._by_deadline(total, mid.spot, hours[1])
        return Ranked(offer, age, placement, total, hours, mid.spot, persistent, bool(fallback), by_deadline)

    def fed(self, placement: Placement, vcpus: float | None) -> Placement:
        """The placement, slowed where the machine's processors cannot prepare batches as fast as it computes."""
        if vcpus is None:
            return placement
        speeds, gpus = placement.tokens_per_second, placement.count
        if fed_tokens_per_second(self._loading.high, vcpus, gpus) >= speeds.high:
            return placement
        # The low speed goes with slow loading.
        ends = zip(speeds, reversed(self._loading), strict=True)
        fed = Range(*[min(speed, fed_tokens_per_second(seconds, vcpus, gpus)) for speed, seconds in ends])
        return placement._replace(tokens_per_second=fed)

    def hours(self, placement: Placement, persistent: bool) -> tuple[JobHours, JobHours, JobHours]:
        """Hours of the whole job at the low, mid and high side."""
        key = (placement.gpu.id, placement.count, persistent, placement.tokens_per_second)
        found = self._hours.get(key)
        if found is None:
            plan = placement.site.plan
            tokens = training_tokens(plan, placement.micro_batch)
            evaluated = evaluation_tokens(plan, placement.micro_batch, placement.accumulation)
            bandwidth = 1e9 * (placement.gpu.memory_bandwidth_gb_per_s or 300.0)
            speeds = placement.tokens_per_second
            low, mid, high = (
                self._job(plan, side, tokens / speed / 3600, evaluated / speed / 3600, bandwidth, persistent)
                for side, speed in zip(SIDES, (speeds.high, speeds.mid, speeds.low), strict=True)
            )
            found = low, mid, high
            self._hours[key] = found
        return found

    def _job(
        self, plan: Plan, side: str, train: float, evaluate: float, bandwidth: float, persistent: bool
    ) -> JobHours:
        generating = generation_hours(plan, self.arch, bandwidth, side)
        if self.plan.task == "grpo":
            train += generating
        else:
            evaluate += generating
        return job_hours(self.fixed[side], train, evaluate, self.plan.job.experiments, persistent)

    def spots(self, placement: Placement, persistent: bool, *, bridged: bool) -> tuple[Spot, Spot, Spot]:
        """Expected hours of one experiment on spot, with the market at its good, middle and bad end."""
        key = (placement.gpu.id, placement.count, persistent, placement.tokens_per_second, bridged)
        found = self._spots.get(key)
        if found is None:
            low, mid, high = self.hours(placement, persistent)
            middle = self.spot(mid, "mid", persistent, bridged=bridged)
            n = middle.checkpoints
            found = (
                self.spot(low, "low", persistent, n, bridged=bridged),
                middle,
                self.spot(high, "high", persistent, n, bridged=bridged),
            )
            self._spots[key] = found
        return found

    def spot(
        self, hours: JobHours, side: str, persistent: bool, checkpoints: int | None = None, *, bridged: bool = False
    ) -> Spot:
        """One experiment on spot; `checkpoints` overrides the best number; `bridged` by on-demand: no waiting."""
        n = self.plan.job.experiments
        m, checkpoint = self.market(hours, side, persistent), self.checkpoint_hours()
        # What a restart need not repeat (a download, tokenised data on a disk that stays) is kept like work done.
        first = m.restart if persistent else hours.setup / n
        work = max(0.0, (hours.work + hours.setup) / n - first)
        if bridged:
            m = m._replace(wait=0.0)
        if checkpoints is not None:
            return expected(work, first, checkpoint, checkpoints, m)
        if self.plan.job.checkpoint_minutes is not None:
            return every(work, first, checkpoint, self.plan.job.checkpoint_minutes, m)
        return best(work, first, checkpoint, m)

    def availability(self, side: str) -> float:
        """Share of time with spot capacity: as asked, or the assumption's end for a side of the bill."""
        end = {"low": "high", "mid": "mid", "high": "low"}[side]
        return self.plan.job.availability or getattr(ASSUMPTIONS["spot-availability"], end)

    def market(self, hours: JobHours, side: str, persistent: bool) -> Market:
        """The market asked for, or the assumptions' (its good end for the low side of the bill).

        A restart gets a machine and loads the model; where storage does not persist, all set-up is done again.
        """
        job, end = self.plan.job, {"low": "high", "mid": "mid", "high": "low"}[side]
        row = ASSUMPTIONS["spot-mtbf-h"]
        mtbf = job.interruption_mtbf_h or getattr(row, end)
        # How long an outage lasts does not depend on how rare they are: the middle of one sets the other.
        outage = outage_hours(job.interruption_mtbf_h or row.mid, self.availability(side))
        parts = hours.parts
        again = parts.provision + parts.load + parts.compile if persistent else hours.setup
        restart = again / job.experiments
        if job.restart_minutes is not None:
            restart = job.restart_minutes / 60
        return market(mtbf, outage, self.plan.parallel.nodes, restart)

    def checkpoint_hours(self) -> float:
        """Hours to write one checkpoint: as asked, else its bytes and a few seconds for the pause."""
        if self.plan.job.checkpoint_seconds is not None:
            return self.plan.job.checkpoint_seconds / 3600
        return max(self.fixed["mid"].save / checkpoints_saved(self.plan), 5 / 3600)

    def _by_deadline(self, total: Bill, spot: Spot | None, hours: JobHours) -> float | None:
        """Probability of finishing by the deadline.

        On demand the range of the hours decides (its ends are the quantiles 10 and 90); spot adds its own spread.
        """
        deadline = self.plan.job.deadline_h
        if deadline is None:
            return None
        steady = _between(total.hours, deadline)
        if spot is None:
            return steady
        n = self.plan.job.experiments
        by_then = probability_by(spot, (deadline - hours.parts.idle) / n)
        return min(steady if deadline < total.hours.low else 1.0, by_then)

    # ---------------------------------------------------------------------------------------------- all offers

    def offers(self) -> Iterable[Offer]:
        """The catalog's offers; where the request named its GPUs, those that have as many, times the machines."""
        if not self.fitter.fixed_gpus:
            return self.catalog.offers
        parallel = self.plan.parallel
        same = [offer for offer in self.catalog.offers if offer.gpus == parallel.gpus_per_node]
        return same if parallel.nodes == 1 else [times(offer, parallel.nodes) for offer in same]

    def ranking(self) -> Ranking:
        """All offers: ranked, picked, excluded."""
        wanted = Wanted(self.plan, self.catalog, self.today)
        ranked: list[Ranked] = []
        excluded: dict[str, list[Any]] = {}
        for offer in self.offers():
            row = None
            reason = wanted.dropped_by(offer)
            if reason is None:
                row = self.rank(offer)
                reason = "does-not-fit" if row is None else self._misses(row)
            if reason is not None:
                cost = offer.usd_per_hour if row is None else row.bill.usd.mid
                excluded.setdefault(reason, []).append((cost, offer, row))
            elif row is not None:
                ranked.append(row)
        ranked.sort(key=_order)
        return Ranking(ranked, picks(ranked), [_excluded(r, excluded[r]) for r in REASONS if r in excluded])

    def cheapest(self) -> Ranked | None:
        """The cheapest pick alone, without ranking what cannot lead: youngest prices first."""
        wanted = Wanted(self.plan, self.catalog, self.today)
        leading = [
            offer
            for offer in self.offers()
            if offer.purchase == "on-demand" and offer.price_basis == "listed" and wanted.dropped_by(offer) is None
        ]
        tried: list[Ranked] = []
        for youngest, oldest in ((0, FRESH_DAYS), (FRESH_DAYS + 1, AGEING_DAYS), (AGEING_DAYS + 1, 10**9)):
            for offer in leading:
                age = 0 if self.today is None else max(0, self.today - offer.day)
                if youngest <= age <= oldest:
                    row = self.rank(offer)
                    if row is not None and self._misses(row) is None:
                        tried.append(row)
            if any(row.placement.verdict == "fits" for row in tried):
                break
        tried.sort(key=_order)
        return picks(tried)["cheapest"]

    def _misses(self, row: Ranked) -> str | None:
        job = self.plan.job
        if row.finish_by_deadline is not None and row.finish_by_deadline < 0.5:
            return "misses-deadline"
        if row.spot is not None and row.spot.wall > NEVER_HOURS:
            return "misses-deadline"
        if job.budget_usd is not None and row.bill.usd.mid > job.budget_usd:
            return "over-budget"
        return None


def times(offer: Offer, machines: int) -> Offer:
    """Several machines of one offer, rented together."""
    return offer._replace(
        gpus=machines * offer.gpus,
        usd_per_hour=machines * offer.usd_per_hour,
        vcpus=None if offer.vcpus is None else machines * offer.vcpus,
        ram_gib=None if offer.ram_gib is None else machines * offer.ram_gib,
    )


def _between(hours: Range, limit: float) -> float:
    """Probability that a quantity with quantiles 10, 50, 90 = low, mid, high is at most `limit`; straight between."""
    points = [
        (2 * hours.low - hours.mid, 0.0),
        (hours.low, 0.1),
        (hours.mid, 0.5),
        (hours.high, 0.9),
        (2 * hours.high - hours.mid, 1.0),
    ]
    if limit <= points[0][0]:
        return 0.0
    for (x0, p0), (x1, p1) in pairwise(points):
        if limit <= x1:
            return p0 + (p1 - p0) * (limit - x0) / (x1 - x0) if x1 > x0 else p1
    return 1.0


def _excluded(reason: str, rows: list[Any]) -> dict[str, Any]:
    _, offer, row = min(rows, key=lambda r: (r[0], r[1].provider, r[1].offer))
    cheapest = {
        "provider": offer.provider,
        "offer": offer.offer,
        "gpu": offer.gpu,
        "gpus": offer.gpus,
        "purchase": offer.purchase,
        "usd_per_hour": offer.usd_per_hour,
        "checked": offer.checked,
    }
    if row is not None:
        cheapest |= {"usd": row.bill.usd.mid, "hours": row.bill.hours.mid}
    return {"reason": reason, "count": len(rows), "cheapest": cheapest}


def _order(row: Ranked) -> tuple[Any, ...]:
    offer = row.offer
    return row.bill.usd.mid, offer.provider, offer.offer, offer.gpus, offer.region or "", offer.purchase


class Wanted:
    """The filters of a request, as a question to each offer."""

    def __init__(self, plan: Plan, catalog: Catalog, today: int | None) -> None:
        """`today` is the day from which ages count."""
        self.filters, self.gpu, self.providers, self.today = plan.filters, plan.gpu, catalog.providers, today
        # GPUs that the request names are wanted, however many.
        self.max_gpus = max(plan.filters.max_gpus, plan.parallel.world)
        self.regions = [region.lower() for region in plan.filters.regions]

    def dropped_by(self, offer: Offer) -> str | None:
        """The first reason for which an offer is not wanted; None when it is."""
        wanted = self.filters
        if self.gpu is not None and offer.gpu != self.gpu:
            return "gpu"
        if offer.gpus > self.max_gpus:
            return "max-gpus"
        if not wanted.include_scaled and offer.price_basis == "scaled":
            return "scaled"
        if wanted.purchase and offer.purchase not in wanted.purchase:
            return "purchase"
        if wanted.providers and offer.provider not in wanted.providers:
            return "provider"
        if wanted.kinds and self.providers.get(offer.provider, {}).get("kind") not in wanted.kinds:
            return "kind"
        if self.regions and not any(in_region(offer.region, region) for region in self.regions):
            return "region"
        limit = wanted.max_age_days
        if limit is not None and self.today is not None and self.today - offer.day > limit:
            return "price-too-old"
        return None


def in_region(region: str | None, wanted: str) -> bool:
    """Whether an offer's region is the one wanted: how its name begins, or one of a group's words (`eu`, `latam`)."""
    if region is None:
        return False
    region = region.lower()
    if wanted in REGION_GROUPS:
        words = "".join(c if c.isalpha() else " " for c in region).split()
        return not REGION_GROUPS[wanted].isdisjoint(words)
    return region.startswith(wanted)


# --------------------------------------------------------------------------------------------------------- picks


def picks(ranked: list[Ranked]) -> dict[str, Ranked | None]:
    """Cheapest, fastest, spot, and what is maybe cheaper.

    A stale price never leads: listed on-demand rows up to 60 days old; failing those up to 120; failing those, older.
    Rows that fit come before rows that may fail. What is maybe cheaper is an older row that would cost at least a fifth
    less; of those up to 120 days old if there are any.
    """
    led = [r for r in ranked if r.offer.price_basis == "listed"]
    pool = _youngest([r for r in led if r.offer.purchase == "on-demand"])
    cheapest = pool[0] if pool else None
    fastest = maybe = None
    if cheapest is not None:
        within = [r for r in pool if r.bill.usd.mid <= FASTEST_WITHIN * cheapest.bill.usd.mid]
        fastest = min(within, key=lambda r: (r.bill.hours.mid, r.bill.usd.mid))
        limit = CHEAPER_SHARE * cheapest.bill.usd.mid
        older = [
            r
            for r in led
            if r.offer.purchase == "on-demand"
            and r.placement.verdict == "fits"
            and _older(r, cheapest)
            and r.bill.usd.mid <= limit
        ]
        # The likeliest hint: of a few months ago before one of last year.
        maybe = next(iter(_youngest(older)), None)
    spot = _youngest([r for r in led if r.offer.purchase == "spot"])
    return {"cheapest": cheapest, "fastest": fastest, "spot": spot[0] if spot else None, "maybe_cheaper": maybe}


def _youngest(rows: list[Ranked]) -> list[Ranked]:
    """The rows that may lead: those that fit if any does, then of the youngest age class that has one."""
    fitting = [r for r in rows if r.placement.verdict == "fits"] or rows
    for limit in (FRESH_DAYS, AGEING_DAYS):
        young = [r for r in fitting if r.age_days is not None and r.age_days <= limit]
        if young:
            return young
    return fitting


def _older(row: Ranked, than: Ranked) -> bool:
    return (row.age_days or 0) > max(FRESH_DAYS, than.age_days or 0)
