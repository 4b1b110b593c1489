"""Where to run it: every offer that fits, its bill, the picks, and what was left out and why.

Offers of one placement share hours and spells on spot, worked out once (`Stay`); an offer itself costs a few
multiplications, and its whole bill is only written for those that are shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from .architecture import Architecture
from .card import Range
from .catalog import Catalog, Offer, day_number
from .constants import ASSUMPTIONS, MID
from .cost import Bill, Extras, Rental, Terms, bill, billing_terms, kept_and_sent, side, with_host
from .fit import Fitter, Placement, Site, verdict
from .host import disk, host_ram, server_gpus
from .hours import (
    SIDES,
    VALUES,
    JobHours,
    Parts,
    checkpoints_saved,
    evaluation_tokens,
    fixed_parts,
    generation_hours,
    job_hours,
    training_tokens,
)
from .memory import GB, GIB
from .plan import Plan
from .spot import Market, Spot, best, every, expected, market, outage_hours, probability_by, quantile
from .throughput import fed_tokens_per_second, loader_seconds
from .wanted import Wanted

# Which price leads.
FRESH_DAYS, AGEING_DAYS = int(MID["price-fresh-days"]), int(MID["price-ageing-days"])
CHEAPER_SHARE, FASTEST_WITHIN = MID["maybe-cheaper-share"], MID["fastest-within"]
NEVER_HOURS = 1e7  # a thousand years of expected restarts: it does not end
REASONS = (
    "does-not-fit",
    "too-little-ram",
    "misses-deadline",
    "over-budget",
    "price-too-old",
    "unsupported",
    # What the filters drop.
    "gpu",
    "max-gpus",
    "region",
    "provider",
    "kind",
    "purchase",
    "scaled",
)

LOW, MIDDLE, HIGH = range(3)  # indexes of SIDES
OTHER_END = {"low": "high", "mid": "mid", "high": "low"}  # of an assumption whose high end makes a bill low


class Stay:
    """One placement on storage of one kind, with its hours and its spells on spot: what offers share."""

    def __init__(self, ranker: Ranker, placement: Placement, persistent: bool) -> None:
        """`persistent`: storage outlives the machine. Nothing is worked out yet."""
        self.ranker, self.placement, self.persistent = ranker, placement, persistent
        self._hours: list[JobHours | None] = [None, None, None]
        self._spots: dict[tuple[int, bool], Spot] = {}
        self._rentals: dict[tuple[int, bool, bool], Rental] = {}
        self._by_deadline: dict[tuple[bool, bool], float] = {}
        self._ends: dict[tuple[float, bool], float] = {}
        self._evaluated: float | None = None

    @property
    def server_gpus(self) -> int:
        """GPUs beside the trainer's that only generate: GRPO with a server."""
        return server_gpus(self.ranker.plan, self.ranker.arch, self.placement.gpu)

    @property
    def hours(self) -> tuple[JobHours, JobHours, JobHours]:
        """Hours of the whole job at the low, mid and high side."""
        return self.at(LOW), self.at(MIDDLE), self.at(HIGH)

    def at(self, index: int) -> JobHours:
        """Hours of the whole job at one side."""
        found = self._hours[index]
        if found is None:
            found = self._hours[index] = self._job(index)
        return found

    def _job(self, index: int) -> JobHours:
        ranker, placement = self.ranker, self.placement
        plan, name = placement.site.plan, SIDES[index]
        if self._evaluated is None:
            self._evaluated = evaluation_tokens(plan, placement.micro_batch, placement.accumulation)
        per_hour = 3600 * placement.tokens_per_second[HIGH - index]
        train, evaluate = ranker.training_tokens(placement.micro_batch) / per_hour, self._evaluated / per_hour
        bandwidth = 1e9 * (placement.gpu.memory_bandwidth_gb_per_s or 300.0)
        generating = generation_hours(plan, ranker.arch, bandwidth, name, self.server_gpus)
        if plan.task == "grpo":
            train += generating
        else:
            evaluate += generating
        return job_hours(ranker.fixed(index), train, evaluate, plan.job.experiments, self.persistent)

    @cached_property
    def host_ram_gib(self) -> Range:
        """RAM that all the machines of the placement need together."""
        low, mid, high = self.ranker.host_ram(self.placement)
        return Range(low / GIB, mid / GIB, high / GIB)

    def spot(self, index: int, *, bridged: bool) -> Spot:
        """Expected hours of one experiment on spot, with the market at its good, middle or bad end.

        The number of checkpoints is that of the middle. `bridged` by on-demand capacity: no waiting.
        """
        found = self._spots.get((index, bridged))
        if found is None:
            count = None if index == MIDDLE else self.spot(MIDDLE, bridged=bridged).checkpoints
            found = self.ranker.spot(self.at(index), SIDES[index], self.persistent, count, bridged=bridged)
            self._spots[index, bridged] = found
        return found

    def rental(self, index: int, *, on_spot: bool, bridged: bool) -> Rental:
        """What a bill asks of a stay."""
        found = self._rentals.get((index, on_spot, bridged))
        if found is None:
            spot = self.spot(index, bridged=bridged) if on_spot else None
            share = 1 - self.ranker.availability(SIDES[index]) if bridged else 0.0
            nodes = self.placement.site.plan.parallel.nodes  # of these GPUs, whatever else was asked for
            servers = ceil(self.server_gpus / (self.placement.count // nodes)) / nodes
            found = Rental(self.at(index), self.ranker.plan.job.experiments, spot, share, servers)
            self._rentals[index, on_spot, bridged] = found
        return found

    def wall(self, index: int, *, on_spot: bool, bridged: bool) -> float:
        """Hours from start to end, waiting included."""
        hours = self.at(index)
        if not on_spot:
            return hours.total
        spot = self.spot(index, bridged=bridged)
        n = self.ranker.plan.job.experiments
        return n * spot.billed + hours.parts.idle + n * spot.waiting

    def ends_by(self, share: float, *, bridged: bool) -> float:
        """Hours within which one experiment on spot ends with a probability."""
        found = self._ends.get((share, bridged))
        if found is None:
            found = self._ends[share, bridged] = quantile(self.spot(MIDDLE, bridged=bridged), share)
        return found

    def by_deadline(self, deadline: float, *, on_spot: bool, bridged: bool) -> float:
        """Probability of finishing by the deadline.

        On demand the range of the hours decides (its ends are the quantiles 10 and 90); spot adds its own spread.
        """
        found = self._by_deadline.get((on_spot, bridged))
        if found is None:
            walls = Range(*[self.wall(i, on_spot=on_spot, bridged=bridged) for i in (LOW, MIDDLE, HIGH)])
            found = _between(walls, deadline)
            if on_spot:
                each = (deadline - self.at(MIDDLE).parts.idle) / self.ranker.plan.job.experiments
                by_then = probability_by(self.spot(MIDDLE, bridged=bridged), each)
                found = min(found if deadline < walls.low else 1.0, by_then)
            self._by_deadline[on_spot, bridged] = found
        return found


class Billing(NamedTuple):
    """What a provider's offers have in common."""

    facts: dict[str, Any]
    terms: Terms
    more: Extras  # host meters apart
    persistent: bool
    fast_network: bool


class Ranked:
    """An offer with what was worked out for it."""

    __slots__ = (
        *("offer", "age_days", "stay", "placement", "billing", "fallback", "on_spot", "bridged"),
        *("usd", "order", "finish_by_deadline", "_more", "_bill"),
    )

    def __init__(self, offer: Offer, age_days: int | None, stay: Stay, billing: Billing, fallback: float) -> None:
        """`fallback`: USD per hour of on-demand capacity that bridges the gaps of spot; 0 = none."""
        self.offer, self.age_days, self.stay, self.billing, self.fallback = offer, age_days, stay, billing, fallback
        self.placement = stay.placement
        self.on_spot = offer.purchase == "spot"  # interruptible capacity
        self.bridged = fallback > 0  # on-demand capacity works through spot's outages
        self.finish_by_deadline: float | None = None
        self._more = with_host(billing.more, offer, billing.facts)
        self._bill: Bill | None = None
        rental = stay.rental(MIDDLE, on_spot=self.on_spot, bridged=self.bridged)
        self.usd = side(offer.usd_per_hour, billing.terms, self._more, rental, fallback, MIDDLE).usd
        self.order = self.usd, offer.provider, offer.offer, offer.gpus, offer.region or "", offer.purchase

    @property
    def spot(self) -> Spot | None:
        """Expected hours of one experiment on spot."""
        return self.stay.spot(MIDDLE, bridged=self.bridged) if self.on_spot else None

    @property
    def ram_verdict(self) -> str | None:
        """Whether the machines' RAM does, judged as a GPU's memory is; None where nobody says how much they have."""
        if self.offer.ram_gib is None:
            return None
        return verdict(self.stay.host_ram_gib, self.offer.ram_gib)

    @property
    def wall(self) -> float:
        """Hours from start to end."""
        return self.stay.wall(MIDDLE, on_spot=self.on_spot, bridged=self.bridged)

    @property
    def bill(self) -> Bill:
        """The whole bill, with its ends and its lines."""
        if self._bill is None:
            on_spot, bridged = self.on_spot, self.bridged
            low, mid, high = [self.stay.rental(i, on_spot=on_spot, bridged=bridged) for i in (LOW, MIDDLE, HIGH)]
            self._bill = bill(self.offer, self.billing.terms, self._more, (low, mid, high), self.fallback)
        return self._bill


class Ranking(NamedTuple):
    """All offers in order, and what stands out."""

    ranked: list[Ranked]  # by usd
    picks: dict[str, Ranked | None]
    excluded: list[dict[str, Any]]


class Ranker:
    """Bills of one plan over a catalog's offers."""

    def __init__(self, fitter: Fitter, catalog: Catalog) -> None:
        self.fitter, self.catalog = fitter, catalog
        self.plan: Plan = fitter.plan
        self.arch: Architecture = fitter.arch
        self.disk_gb = disk(self.plan, self.arch, MID).mid / GB
        self.today = day_number(self.plan.as_of) if self.plan.as_of else None
        self._fixed: list[Parts | None] = [None, None, None]
        self._loading = Range(*[loader_seconds(self.plan, VALUES[name]) for name in SIDES])
        self._billing: dict[str, Billing] = {}
        self._stays: dict[tuple[str, int, bool, bool, float | None], Stay] = {}
        self._least: dict[tuple[str, int], float] = {}
        self._tokens: dict[int, float] = {}
        self._ram: dict[tuple[Site, int], Range] = {}

    # ------------------------------------------------------------------------------------------------- one offer

    def fixed(self, index: int) -> Parts:
        """Hours that no GPU shortens, at one side."""
        found = self._fixed[index]
        if found is None:
            found = self._fixed[index] = fixed_parts(self.plan, self.arch, SIDES[index])
        return found

    def training_tokens(self, micro_batch: int) -> float:
        """Tokens of one experiment at a micro-batch: the same on every placement."""
        found = self._tokens.get(micro_batch)
        if found is None:
            found = self._tokens[micro_batch] = training_tokens(self.plan, micro_batch)
        return found

    def rank(self, offer: Offer) -> Ranked | None:
        """An offer's placement and bill; None when the plan does not fit on it."""
        billing = self._billing.get(offer.provider) or self.billing(offer.provider)
        stay = self.stay(offer, billing)
        if stay is None:
            return None
        fallback = 0.0
        if offer.purchase == "spot" and self.plan.job.fallback == "on-demand":
            on_demand = self.catalog.on_demand.get((offer.provider, offer.offer, offer.region), 0.0)
            fallback = self.plan.parallel.nodes * on_demand
        row = Ranked(offer, None if self.today is None else self.today - offer.day, stay, billing, fallback)
        if self.plan.job.deadline_h is not None:
            row.finish_by_deadline = stay.by_deadline(
                self.plan.job.deadline_h, on_spot=row.on_spot, bridged=row.bridged
            )
        return row

    def billing(self, name: str) -> Billing:
        """How a provider bills."""
        facts = self.catalog.providers.get(name, {})
        found = self._billing[name] = Billing(
            facts,
            billing_terms(facts),
            kept_and_sent(facts, self.plan.job, self.disk_gb),
            self.plan.job.persistent_storage and facts.get("persistent_storage") is not False,
            self.plan.parallel.nodes > 1 and facts.get("multi_node_link") is not None,
        )
        return found

    def stay(self, offer: Offer, billing: Billing) -> Stay | None:
        """The job on an offer's GPUs; None when it does not fit there."""
        gpu = self.catalog.gpus.get(offer.gpu)
        if gpu is None or not gpu.is_ranked:
            return None
        placement = self.fitter.place(gpu, offer.gpus, billing.fast_network)
        if placement.verdict == "no":
            return None
        starved = offer.vcpus if self.starves(placement, offer.vcpus) else None
        key = (offer.gpu, offer.gpus, billing.fast_network, billing.persistent, starved)
        found = self._stays.get(key)
        if found is None:
            fed = placement if starved is None else self.fed(placement, starved)
            found = self._stays[key] = Stay(self, fed, billing.persistent)
        return found

    def host_ram(self, placement: Placement) -> Range:
        """RAM of all the machines of a placement. Unit: bytes. Formula: the fullest one's × machines."""
        site = placement.site
        # Only activations kept there depend on the micro-batch.
        batch = placement.micro_batch if site.plan.activation_offload else 1
        found = self._ram.get((site, batch))
        if found is None:
            low, mid, high = host_ram(site.plan.replace(micro_batch=batch), self.arch, MID)
            n = site.plan.parallel.nodes
            found = self._ram[site, batch] = Range(n * low, n * mid, n * high)
        return found

    def starves(self, placement: Placement, vcpus: float | None) -> bool:
        """Whether a machine's processors may prepare batches more slowly than it computes."""
        if vcpus is None:
            return False
        return fed_tokens_per_second(self._loading.high, vcpus, placement.count) < placement.tokens_per_second.high

    def fed(self, placement: Placement, vcpus: float) -> Placement:
        """The placement, slowed to what the machine's processors prepare."""
        # The low speed goes with slow loading.
        ends = zip(placement.tokens_per_second, reversed(self._loading), strict=True)
        fed = [min(speed, fed_tokens_per_second(seconds, vcpus, placement.count)) for speed, seconds in ends]
        return placement._replace(tokens_per_second=Range(*fed))

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
        end = OTHER_END[side]
        return self.plan.job.availability or getattr(ASSUMPTIONS["spot-availability"], end)

    def market(self, hours: JobHours, side: str, persistent: bool) -> Market:
        """The market asked for, or the assumptions' (its good end for the low side of the bill).

        A restart gets a machine and loads the model; where storage does not persist, all set-up is done again.
        """
        job, end = self.plan.job, OTHER_END[side]
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
        return max(self.fixed(MIDDLE).save / checkpoints_saved(self.plan), 5 / 3600)

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
                reason = self._unfit(offer) if row is None else self._misses(row)
            if reason is not None:
                cost = offer.usd_per_hour if row is None else row.usd
                excluded.setdefault(reason, []).append((cost, offer, row))
            elif row is not None:
                ranked.append(row)
        ranked.sort(key=_order)
        return Ranking(ranked, picks(ranked), [_excluded(r, excluded[r]) for r in REASONS if r in excluded])

    def cheapest(self) -> Ranked | None:
        """The cheapest pick alone, without ranking what cannot lead.

        Youngest prices first; among them in the order of what they cost at least, until that is more than one found.
        """
        wanted = Wanted(self.plan, self.catalog, self.today)
        leading = [
            offer
            for offer in self.offers()
            if offer.purchase == "on-demand" and offer.price_basis == "listed" and wanted.dropped_by(offer) is None
        ]
        tried: list[Ranked] = []
        for floors in (False, True):
            self._try([offer for offer in leading if is_floor(offer) == floors], tried)
            if any(row.placement.verdict == "fits" for row in tried):
                break
        tried.sort(key=_order)
        return picks(tried)["cheapest"]

    def _try(self, leading: list[Offer], tried: list[Ranked]) -> None:
        """Rank what may be the cheapest of some offers, into `tried`."""
        for youngest, oldest in ((0, FRESH_DAYS), (FRESH_DAYS + 1, AGEING_DAYS), (AGEING_DAYS + 1, 10**9)):
            young = [
                (offer.usd_per_hour * self.least_hours(offer), index, offer)
                for index, offer in enumerate(leading)
                if youngest <= (0 if self.today is None else max(0, self.today - offer.day)) <= oldest
            ]
            found = limit = self.plan.job.budget_usd or float("inf")
            for least, _, offer in sorted(young):
                if least > limit:
                    break
                row = self.rank(offer)
                if row is not None and self._misses(row) is None:
                    tried.append(row)
                    if row.placement.verdict == "fits":
                        limit = min(limit, row.usd)
            if limit < found or any(row.placement.verdict == "fits" for row in tried):
                break

    def least_hours(self, offer: Offer) -> float:
        """Hours that a job takes at least: set-up, and its tokens at the rate of the matrix units, without padding."""
        found = self._least.get((offer.gpu, offer.gpus))
        if found is None:
            gpu = self.catalog.gpus.get(offer.gpu)
            most = self.fitter.fastest(gpu) * offer.gpus if gpu else 0.0
            fixed = self.fixed(MIDDLE)
            train = training_tokens(self.plan, 1) / most / 3600 if most else 0.0
            setup = fixed.provision + fixed.load + fixed.compile + fixed.save + fixed.merge + fixed.idle
            found = self._least[offer.gpu, offer.gpus] = self.plan.job.experiments * (setup + train)
        return found

    def _unfit(self, offer: Offer) -> str:
        """Why an offer has no placement: its accelerator is none that the frameworks run on, or too small."""
        gpu = self.catalog.gpus.get(offer.gpu)
        return "does-not-fit" if gpu is not None and gpu.is_ranked else "unsupported"

    def _misses(self, row: Ranked) -> str | None:
        job = self.plan.job
        if row.ram_verdict == "no":
            return "too-little-ram"
        if row.finish_by_deadline is not None and row.finish_by_deadline < 0.5:
            return "misses-deadline"
        if row.spot is not None and row.spot.wall > NEVER_HOURS:
            return "misses-deadline"
        if job.budget_usd is not None and row.usd > job.budget_usd:
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
        cheapest |= {"usd": row.usd, "hours": row.wall, "ram_gib": offer.ram_gib}
    return {"reason": reason, "count": len(rows), "cheapest": cheapest}


def _order(row: Ranked) -> tuple[Any, ...]:
    return row.order


# --------------------------------------------------------------------------------------------------------- picks


def picks(ranked: list[Ranked]) -> dict[str, Ranked | None]:
    """Cheapest, fastest, spot, and what is maybe cheaper.

    Rows that fit come before rows that may fail. A floor ("from 0.79") leads only where nobody states a price, and a
    stale price never does: listed on-demand rows up to 60 days old; failing those up to 120; failing those, older. What
    is maybe cheaper is a floor or an older row that would cost at least a fifth less (`price_doubt` says which); of
    those up to 120 days old if there are any.
    """
    led = [r for r in ranked if r.offer.price_basis == "listed"]
    on_demand = [r for r in led if r.offer.purchase == "on-demand"]
    pool = _youngest(on_demand)
    cheapest = pool[0] if pool else None
    fastest = maybe = None
    if cheapest is not None:
        within = [r for r in pool if r.usd <= FASTEST_WITHIN * cheapest.usd]
        fastest = min(within, key=lambda r: (r.wall, r.usd))
        limit = CHEAPER_SHARE * cheapest.usd
        older = [r for r in on_demand if r.usd <= limit and r.placement.verdict == "fits" and _is_doubtful(r, cheapest)]
        # The likeliest hint: of a few months ago before one of last year.
        maybe = next(iter(_youngest(older)), None)
    spot = _youngest([r for r in led if r.on_spot])
    return {"cheapest": cheapest, "fastest": fastest, "spot": spot[0] if spot else None, "maybe_cheaper": maybe}


def is_floor(offer: Offer) -> bool:
    """Whether a price is only where a provider's prices begin: what one pays is that or more."""
    return "from_price" in offer.assumed


def price_doubt(row: Ranked) -> str | None:
    """Why a price is less than certain, the gravest reason: the code that pages explain."""
    if row.offer.price_basis == "scaled":
        return "scaled"
    if is_floor(row.offer):
        return "floor"
    return "stale" if (row.age_days or 0) > FRESH_DAYS else None


def _youngest(rows: list[Ranked]) -> list[Ranked]:
    """The rows that may lead: those that fit if any does, prices before floors, of the youngest age class with one."""
    fitting = [r for r in rows if r.placement.verdict == "fits"] or rows
    fitting = [r for r in fitting if not is_floor(r.offer)] or fitting
    for limit in (FRESH_DAYS, AGEING_DAYS):
        young = [r for r in fitting if r.age_days is not None and r.age_days <= limit]
        if young:
            return young
    return fitting


def _is_doubtful(row: Ranked, than: Ranked) -> bool:
    if is_floor(row.offer) and not is_floor(than.offer):
        return True
    return (row.age_days or 0) > max(FRESH_DAYS, than.age_days or 0)
