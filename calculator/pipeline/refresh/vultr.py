"""Vultr: cloud GPU plans and bare metal, two lists of JSON. Parts of a GPU are left out: one does not train on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.refresh.fetch import SourceError, parse_json
from pipeline.refresh.offer import Collected, Instance, Names, instances

if TYPE_CHECKING:
    import datetime

    from pipeline.files import Data
    from pipeline.refresh.fetch import Fetch

ROOT = "https://api.vultr.com/v2"
LISTS = {"plans": f"{ROOT}/plans?type=vcg&per_page=500", "plans_metal": f"{ROOT}/plans-metal?per_page=500"}


def collect(fetch: Fetch, data: Data, today: datetime.date) -> Collected:
    """Plans whose GPU we know: by data/instances.csv, else by type and memory."""
    collected = Collected(ROOT)
    names, known = Names(data, "vultr"), instances(data, "vultr")
    for name, url in LISTS.items():
        answer = parse_json(url, fetch.get(url))
        plans = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(plans, list):
            raise SourceError(f"{url}: no {name} in the answer")
        for plan in (plan for plan in plans if isinstance(plan, dict)):
            instance = known.get(str(plan.get("id"))) or _whole(plan, names)
            if instance:
                _add(collected, plan, instance, url, today)
            elif plan.get("gpu_type"):
                collected.refuse(f"unknown GPU or a part of one: {_described(plan)!r}")
    return collected.finish()


def _add(collected: Collected, plan: dict[str, Any], instance: Instance, url: str, today: datetime.date) -> None:
    common = {
        "offer": plan["id"],
        "gpu": instance.gpu,
        "gpus": instance.gpus,
        "vcpus": plan.get("vcpu_count") or plan.get("cpu_threads"),
        "ram_gib": _gib(plan.get("ram")),
        "price_basis": "listed",
        "confidence": "A",
        "checked": today.isoformat(),
        "source_url": url,
    }
    collected.add("vultr", purchase="on-demand", usd_per_hour=plan.get("hourly_cost"), **common)
    if plan.get("hourly_cost_preemptible"):
        collected.add("vultr", purchase="spot", usd_per_hour=plan["hourly_cost_preemptible"], **common)


def _whole(plan: dict[str, Any], names: Names) -> Instance | None:
    """A plan of exactly one whole GPU: its memory is in the alias."""
    gpu = names.gpu(_described(plan))
    return Instance(gpu, 1, None, None) if gpu else None


def _described(plan: dict[str, Any]) -> str:
    return f"{plan.get('gpu_type')} {plan.get('gpu_vram_gb')}GB"


def _gib(mebibytes: Any) -> float | None:
    return mebibytes / 1024 if isinstance(mebibytes, int | float) and mebibytes > 0 else None
