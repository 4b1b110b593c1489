"""One run on one offer, as the files that start it need it: the plan there, how often it saves, when it must stop.

With the sentences of the files' comments, and the header that every file has.
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

from . import __version__
from .answer import estimate
from .catalog import Catalog, Gpu, find_gpu
from .errors import RequestError
from .fit import in_fp16
from .plan import Parallel, Plan
from .resolve import accumulation, resolve
from .sentences import Sentences, sentences
from .tool_files import nest, plan_fields

# Choices of the files, none of which changes an estimate; each is written into the file, to be changed there.
ON_DEMAND_CHECKPOINT_MINUTES = 30.0  # nothing interrupts, so only a crash is to be outlived: the guide's 30 to 60
SPARE = 1.25  # the stop where no budget was said: a quarter beyond the slow end, so that only a run gone wrong meets it
DISK_ROOM = 1.3  # a full disk ends a run: room for caches that datasets and checkpoints leave behind
PACKAGES_GB = 40  # CUDA's and PyTorch's packages, once in the image and once in an environment

# ------------------------------------------------------------------------------------------------------- sentences

WORDS: Sentences = sentences("""
title
  es Ajuste {version}, datos al {data}: {model}, {method}, filas de hasta {tokens} tokens
  en Ajuste {version}, data as of {data}: {model}, {method}, rows of up to {tokens} tokens
assumes
  es Supone {examples} ejemplos de {mean} tokens de media, épocas: {epochs}, lote global: {batch}.
  en Assumes {examples} examples of {mean} tokens on average, epochs: {epochs}, global batch: {batch}.
where
  es En {gpus} × {gpu} ({provider}, {purchase}, {usd} USD/h, visto {checked}):
  en On {gpus} × {gpu} ({provider}, {purchase}, USD {usd}/h, seen {checked}):
expects
  es {low}–{high} GiB de {usable} utilizables, {hours} h, {cost} USD.
  en {low}–{high} GiB of {usable} usable, {hours} h, USD {cost}.
refused
  es Este archivo no lo dice: {field} = {asked}. {reason}
  en Not in this file: {field} = {asked}. {reason}
default
  es supuesto: {source}
  en assumed: {source}
framework
  es lo que hace {framework} si no se dice
  en what {framework} does unless told
general
  es nuestro valor por defecto
  en our default
derived
  es se deduce de {source}
  en follows from {source}
solved
  es el mayor que cabe en esta GPU
  en the largest that fits this GPU
accumulation
  es con este, lote global {batch}
  en makes the global batch {batch}
checkpoint
  es cada {minutes} min, a {seconds} s por paso
  en every {minutes} min, at {seconds} s per step
rate
  es lo usual en {task} con {method}: de {low} a {high}
  en usual in {task} with {method}: {low} to {high}
base
  es si es un modelo base puede no traer plantilla de chat: usa su versión Instruct{or_else}
  en a base model may have no chat template: use its Instruct version{or_else}
or-template
  es  o escribe chat_template_path
  en , or write chat_template_path
gated
  es Antes: acepta la licencia en https://huggingface.co/{model} y exporta HF_TOKEN.
  en First: accept the license at https://huggingface.co/{model} and export HF_TOKEN.
sibling
  es de su versión Instruct, con el mismo vocabulario
  en of its Instruct version, which has the same vocabulary
fallback
  es la del modelo; si no trae, la que se nombra aquí
  en the model's own; where it has none, the one named here
template
  es la plantilla de chat del modelo: LLaMA-Factory la pide por su nombre
  en the model's chat template: LLaMA-Factory wants its name
one-of
  es Uno de {count} experimentos, cada uno en su carpeta; entre todos: {hours} h, {cost} USD.
  en One experiment of {count}, each in its own folder; all of them: {hours} h, USD {cost}.
as-written
  es Las cifras son de lo que este archivo ejecuta, no de lo que se pidió.
  en The figures are of what this file runs, not of what was asked.
differs
  es Ojo: las cifras son de lo que se pidió; tal como corre puede que no quepa.
  en Mind: the figures are of what was asked; as it runs it may not fit.
no-memory
  es no cambia la memoria
  en does not change memory
yours
  es tuyo: cámbialo
  en yours: change it
resume
  es tras una interrupción sigue desde el último punto de control
  en goes on from the last checkpoint
evaluation
  es la evaluación que se calculó
  en the evaluation that was counted
no-evaluation
  es se calculó sin evaluación
  en counted without evaluation
budget
  es Tope: {hours} h a {usd} USD/h son {cost} USD. Pasado ese tiempo se le pide que pare.
  en Stop: {hours} h at USD {usd}/h are USD {cost}. After that it is told to stop.
spent
  es Lo gastado se anota junto a los puntos de control: también cuenta tras una interrupción.
  en What is spent is noted beside the checkpoints: it also counts after an interruption.
install
  es Antes: {command}
  en First: {command}
shutdown
  es Al terminar, bien o mal, la máquina se apaga. KEEP=1 la deja encendida.
  en When it ends, well or not, the machine switches itself off. KEEP=1 leaves it on.
terminate
  es Apagar no siempre es dejar de pagar: comprueba que el proveedor la termina.
  en Off is not always unpaid: check that the provider terminates it.
spot
  es spot: puede interrumpirse; se recupera sola
  en spot: may be interrupted; recovers by itself
autostop
  es sin nada que hacer durante {minutes} min, se borra
  en with nothing to do for {minutes} min, it is torn down
price
  es el precio con que se calculó, más un 10 %
  en the price it was counted with, and 10 %
bucket
  es los puntos de control viven fuera de la máquina
  en checkpoints live outside the machine
disk
  es lo que el trabajo escribe, y sitio para paquetes
  en what the job writes, and room for packages
any-cloud
  es {engine} no alquila en {provider}: elige entre los tuyos, sin pasar de ese precio.
  en {engine} does not rent from {provider}: it takes one of yours, not beyond that price.
volume
  es Antes, una vez: dstack apply -f {file}
  en First, once: dstack apply -f {file}
no-volume
  es duran lo que la máquina: cópialos, o monta un volumen de red tuyo
  en they last as long as the machine: copy them, or mount a network volume of yours
token
  es de Hugging Face, de quien lanza
  en of Hugging Face, from whoever launches
launch
  es Se lanza con: {command}
  en Launch with: {command}
shards
  es run.sh pone los archivos que se bajaron
  en run.sh puts in the files that were downloaded
decided
  es lo decide run.sh
  en run.sh decides
low-use
  es una GPU parada durante 30 min detiene el trabajo
  en a GPU idle for 30 min stops the run
""")


class Run(NamedTuple):
    """One run on one offer: everything that the files say."""

    plan: Plan
    name: str  # of the model
    offer: dict[str, Any]
    gpu: Gpu
    usable_gib: float | None
    steps: int
    step_seconds: float
    interval_minutes: float
    limit_hours: float  # the budget stop
    disk_gb: int
    data: str  # newest day of the data
    language: str
    weights: str | None = None  # repository on Hugging Face
    gated: bool = False  # whether its license has to be accepted first
    whole: dict[str, Any] | None = None  # the offer with all experiments, where there are several
    changed: str = ""  # "as-written" or "differs", where the file cannot say all of the plan

    def say(self, name: str, **values: object) -> str:
        """A sentence of the files' comments."""
        return WORDS[name][self.language].format(**values)

    @property
    def gpus(self) -> int:
        """All GPUs of the job."""
        return int(self.offer["gpus"])

    @property
    def stop(self) -> dict[str, str]:
        """The budget stop's numbers, for sentences."""
        usd = self.offer["usd_per_hour"]
        return {"hours": f"{self.limit_hours:.1f}", "usd": f"{usd:g}", "cost": f"{self.limit_hours * usd:.2f}"}

    @property
    def global_batch(self) -> int:
        """Sequences per optimizer step."""
        return self.plan.batch * self.plan.grad_accum * self.plan.parallel.data_ranks


def run_on_offer(
    answer: dict[str, Any], catalog: Catalog, index: int | None, language: str, asked_model: object = None
) -> Run:
    """An answer's run on one of its offers; the cheapest when `index` is None. Raises RequestError."""
    if not answer.get("ok"):
        raise RequestError("wrong-type", "answer", answer.get("error"), '{"ok": true, …}')
    offers = answer["offers"]
    if index is None:
        index = answer["picks"].get("cheapest")
        index = 0 if index is None and offers else index
    if index is None or not 0 <= index < len(offers):
        raise RequestError(
            "inconsistent",
            "offer",
            es="No hay una oferta en la que quepa: sin ella no hay qué lanzar.",
            en="No offer that it fits: without one there is nothing to launch.",
        )
    offer = offers[index]
    gpu = find_gpu(catalog, offer["gpu"])
    plan = _plan_on(answer, offer, gpu, catalog)
    steps = _steps(plan)
    seconds = offer["hours"]["mid"] * 3600 / plan.job.experiments / steps
    spot = offer.get("spot") or {}
    interval = plan.job.checkpoint_minutes or spot.get("interval_minutes") or ON_DEMAND_CHECKPOINT_MINUTES
    if plan.save.every_steps is None:
        every = max(1, min(steps, round(interval * 60 / seconds)))
        plan = plan.replace(save=plan.save._replace(every_steps=every))
    if plan.eval.examples and plan.eval.every_steps is None:
        plan = plan.replace(eval=plan.eval._replace(every_steps=plan.save.every_steps))
    name = answer["model"]["id"] or "config.json"
    disk = ceil(answer["memory"]["disk_gb"]["high"] * DISK_ROOM / 10) * 10 + PACKAGES_GB
    data = str(answer["versions"]["data"])
    run = Run(plan, name, offer, gpu, gpu.usable_gib, steps, seconds, interval, 0.0, disk, data, language)
    row = catalog.models.get(answer["model"]["id"], {})
    named = isinstance(asked_model, str) and "/" in asked_model
    published = row.get("hf_id")
    weights = str(asked_model).strip() if named else published
    gated = bool(row.get("gated")) and _owner(weights) == _owner(published)  # a copy elsewhere asks for nothing
    return run._replace(limit_hours=_limit(run), weights=weights, gated=gated)


def _owner(repository: str | None) -> str:
    return (repository or "").lower().partition("/")[0]


def _limit(run: Run) -> float:
    """Hours after which one experiment is stopped: its share of the budget, or somewhat beyond its slow end."""
    job = run.plan.job
    if job.budget_usd:
        return float(job.budget_usd / run.offer["usd_per_hour"] / job.experiments)
    return float(run.offer["hours"]["high"] * SPARE)


NO_FIGURES = ("model", "framework", "job", "filters", "gpu", "mode", "global_batch", "dataset", "calibration", "save")


def as_it_runs(run: Run, refused: list[dict[str, Any]], catalog: Catalog) -> Run:
    """The run with the figures of what its file does: one experiment, and the tool's way where it has no option.

    Where that no longer fits, the figures stay and the header says so.
    """
    changes = {
        row["field"]: row["file"]
        for row in refused
        if row["field"].split(".")[0] not in (*NO_FIGURES, "parallel") and row["field"] != "eval.examples"
    }
    several = run.plan.job.experiments > 1
    if not changes and not several:
        return run
    found = _again(run, changes, catalog) if changes else None
    changed = "" if not changes else "as-written" if found else "differs"
    whole = run.offer if several else None
    offer = found or (_again(run, {}, catalog) if several else None) or run.offer
    run = run._replace(offer=offer, changed=changed, whole=whole)
    return run._replace(limit_hours=_limit(run))


def _again(run: Run, changes: dict[str, Any], catalog: Catalog) -> dict[str, Any] | None:
    """One experiment of the run, with some fields changed, on the same offer; None where it does not fit."""
    fields = plan_fields(run.plan) | changes
    fields |= {"job.experiments": 1, "job.idle_h_per_experiment": 0, "job.budget_usd": None, "job.deadline_h": None}
    fields |= {"gpu": run.gpu.id, "mode": "find-gpu", "filters.providers": [run.offer["provider"]]}
    fields["filters.limit"] = 1000
    answer = estimate(nest({field: value for field, value in fields.items() if value is not None}), catalog)
    same = ("offer", "purchase", "region", "gpus")
    fitting = (row for row in answer.get("offers", ()) if row["verdict"] != "no")
    return next((row for row in fitting if all(row[name] == run.offer[name] for name in same)), None)


def _plan_on(answer: dict[str, Any], offer: dict[str, Any], gpu: Gpu, catalog: Catalog) -> Plan:
    """The answer's plan on an offer: its micro-batch, GPUs and strategy, what the GPU cannot do left out."""
    request = {name: value for name, value in answer["plan"].items() if name != "defaults"}
    asked = {name: value for name, value in request.items() if value is not None}
    plan, _ = resolve(asked, catalog)
    plan = plan.replace(defaults=answer["plan"]["defaults"])
    nodes = plan.parallel.nodes
    parallel: Parallel = plan.parallel
    if parallel.world == 1:
        parallel = parallel._replace(strategy=offer["strategy"], gpus_per_node=offer["gpus"], nodes=1)
    elif offer["gpus"] != parallel.gpus_per_node:
        parallel = parallel._replace(gpus_per_node=max(1, offer["gpus"] // nodes))
    plan = plan.replace(parallel=parallel, micro_batch=offer["micro_batch"])
    if plan.global_batch is not None:
        plan = plan.replace(grad_accum=accumulation(plan.global_batch, plan.batch, plan.parallel.data_ranks))
    if gpu.supports_bf16 is False:
        plan = in_fp16(plan)
    if plan.attention == "flash" and gpu.supports_flash_attention_2 is False:
        plan = plan.replace(attention="sdpa")
    return plan


def _steps(plan: Plan) -> int:
    """Optimizer steps of the job: rows ÷ (micro-batch × accumulation × ranks), per epoch."""
    rows = plan.dataset.examples
    if plan.padding == "packed":
        filled = plan.dataset.pack_efficiency or 1.0
        rows = ceil(rows * plan.dataset.mean_tokens / (plan.sequence_length * filled))
    per_epoch = ceil(rows / (plan.batch * plan.grad_accum * plan.parallel.data_ranks))
    return max(1, ceil(per_epoch * plan.dataset.epochs))


def header(run: Run, refused: list[dict[str, Any]], *more: str) -> tuple[str, ...]:
    """Comment lines: what runs, on what, what is expected of it, what the file cannot say."""
    offer, plan = run.offer, run.plan
    need, hours, cost = offer["required_gib"], offer["hours"], offer["usd"]
    usable = "?" if run.usable_gib is None else f"{run.usable_gib:g}"
    purchase = offer["purchase"]
    return (
        run.say(
            "title", version=__version__, data=run.data, model=run.name, method=plan.method, tokens=plan.sequence_length
        ),
        run.say(
            "assumes",
            examples=f"{plan.dataset.examples:,}".replace(",", "\u202f" if run.language == "es" else ","),
            mean=f"{plan.dataset.mean_tokens:g}",
            epochs=f"{plan.dataset.epochs:g}",
            batch=run.global_batch,
        ),
        run.say(
            "where",
            gpus=run.gpus,
            gpu=run.gpu.id,
            provider=offer["provider"],
            purchase=purchase,
            usd=f"{offer['usd_per_hour']:g}",
            checked=offer["checked"],
        ),
        "  "
        + run.say(
            "expects",
            low=f"{need['low']:.1f}",
            high=f"{need['high']:.1f}",
            usable=usable,
            hours=f"{hours['low']:.1f}–{hours['high']:.1f}",
            cost=f"{cost['low']:.2f}–{cost['high']:.2f}",
        ),
        *_all_experiments(run),
        *more,
        *([run.say(run.changed)] if run.changed else []),
        *(
            run.say("refused", field=row["field"], asked=short(row["asked"]), reason=row["reason"][run.language])
            for row in refused
            if row["field"].split(".")[0]
            not in ("job", "filters", "gpu", "mode", "global_batch", "dataset", "calibration")
        ),
    )


def _all_experiments(run: Run) -> tuple[str, ...]:
    if run.whole is None:
        return ()
    hours, cost = (f"{side['low']:.{digits}f}–{side['high']:.{digits}f}" for side, digits in _sides(run.whole))
    return (run.say("one-of", count=run.plan.job.experiments, hours=hours, cost=cost),)


def _sides(offer: dict[str, Any]) -> tuple[tuple[dict[str, float], int], ...]:
    return (offer["hours"], 1), (offer["usd"], 2)


def short(value: object) -> str:
    """A value in a comment: as JSON would say it, cut at 60 characters."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:60] + "…"
