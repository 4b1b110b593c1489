"""Which offers a request wants: its filters, as a question to each offer."""

from __future__ import annotations

from .catalog import Catalog, Offer
from .plan import Plan

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


def rents(plan: Plan) -> bool:
    """Whether prices are a bill to pay. Who has a GPU, and asks nothing about prices, pays no rent for it."""
    asked, job = plan.filters, plan.job
    narrowed = asked.providers or asked.regions or asked.kinds or len(set(asked.purchase)) == 1
    about_prices = narrowed or asked.max_age_days is not None or job.budget_usd is not None
    return plan.mode != "have-gpu" or bool(about_prices)


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
