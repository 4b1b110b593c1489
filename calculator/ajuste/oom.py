"""PyTorch's out-of-memory messages, read: who had the memory, when it failed, what to change first.

The wording has changed over the years (`cached`, then `reserved in total`, then one sentence per process); the numbers
are the same. A pasted traceback tells the moment. Sentences for people live in the page's string files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .answer import estimate, significant
from .catalog import Catalog
from .constants import MID
from .errors import RequestError
from .levers import LEAST_SAVING_GIB, candidates
from .memory import GIB, memory_table
from .plan import Plan
from .resolve import resolve

UNITS = {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
LONGEST_MESSAGE = 400_000  # characters: a whole log of a few ranks

# From which share of the card, or GiB, a number means something.
# Guessed: this process's own CUDA context and NCCL are in there.
OTHERS_GIB, OTHERS_GUESSED_GIB = MID["oom-others-gib"], MID["oom-others-guessed-gib"]
FRAGMENTED_SHARE, LAST_DROP_SHARE = MID["oom-fragmented-share"], MID["oom-last-drop-share"]
SPILLED_SHARE = MID["oom-spilled-share"]
LIMIT_SHARE = MID["oom-limit-share"]  # a limit counts below this share of the card, and is reached from it of itself
LOGITS_TOLERANCE = MID["oom-size-tolerance"]
EVALUATED_EXAMPLES = int(MID["oom-evaluated-examples"])  # where the request names none: the run did evaluate
FIXES = 3
ALTERING = ("sequence_length", "method", "precision")  # these train something else; the others only run it otherwise


class Facts(NamedTuple):
    """What the message says, in GiB; None where this version of PyTorch does not say it."""

    device: str  # cuda, hip, xpu
    setting: str | None  # what the message itself proposes against fragmentation
    tried: float | None = None
    total: float | None = None
    free: float | None = None
    allowed: float | None = None  # a limit that the process set itself
    allocated: float | None = None
    unallocated: float | None = None  # reserved by PyTorch, in no tensor
    in_use: float | None = None  # by this process, CUDA context and NCCL included; None: `others` is a guess
    others: float | None = None  # by other processes; a guess is what remains, this process's context in it


# --------------------------------------------------------------------------------------------------- the message

_SIZE = r"([\d.]+ (?:bytes|[KMGT]iB))"
_PATTERNS = {
    "tried": (rf"Tried to allocate {_SIZE}",),
    "total": (rf"total capac(?:i)?ty of {_SIZE}", rf"{_SIZE} total capacity"),
    "free": (rf"of which {_SIZE} is free", rf"{_SIZE} free"),
    "allowed": (rf"{_SIZE} allowed",),
    "allocated": (rf"{_SIZE} is allocated by PyTorch", rf"{_SIZE} already allocated"),
    "unallocated": (rf"{_SIZE} is reserved by PyTorch but unallocated", rf"{_SIZE} cached"),
    "reserved": (rf"{_SIZE} reserved in total by PyTorch",),
    "in_use": (rf"this process has {_SIZE} memory in use",),
}
_PROCESS = re.compile(rf"Process \d+ has {_SIZE} memory in use")
_SETTING = re.compile(r"(PYTORCH_\w*ALLOC_CONF=\w+:\w+)|(max_split_size_mb)")
_OURS = re.compile(
    r"(CUDA|HIP|XPU) out of memory|(CUDA|HIP|XPU) error: out of memory|CU(BLAS|DNN)_STATUS_ALLOC_FAILED"
    r"|Cuda failure \d* ?'out of memory'"  # NCCL
    r"|Error out of memory at line \d+ in file (?!.*pythonInterface)"  # bitsandbytes; there it is managed RAM
)
_MARGIN = re.compile(r"^.*?\[rank\d+\]:|[│❱╭╰╮╯]|─{3,}", re.MULTILINE)  # ranks, and the frames of pretty tracebacks

# Messages that look alike and are none of ours.
_FOREIGN = (
    (
        r"MPS backend out of memory",
        "Es un mensaje de MPS (Apple): su memoria es la del sistema y no sabemos leerla. Sí CUDA, HIP y XPU.",
        "This is a message of MPS (Apple): its memory is the system's and we cannot read it. We read CUDA, HIP, XPU.",
    ),
    (
        r"No available memory for the cache blocks",
        (
            "Es vLLM: en su parte de la GPU caben los pesos, pero no la caché. Dale más "
            "(`vllm_gpu_memory_utilization`), acorta las respuestas o, si la GPU ya está llena, ponlo en otra."
        ),
        (
            "This is vLLM: its share of the GPU holds the weights, but not the cache. Give it more "
            "(`vllm_gpu_memory_utilization`), shorten the completions or, if the GPU is full already, use another."
        ),
    ),
    (
        r"Some modules are dispatched on the CPU or the disk",
        "Al cargar, los pesos cuantizados no caben en la GPU: mira qué más la ocupa (nvidia-smi) o usa una mayor.",
        (
            "While loading, the quantized weights do not fit in the GPU: see what else holds it (nvidia-smi), or "
            "take a larger one."
        ),
    ),
    (
        r"out of resource: shared memory",
        (
            "No es memoria de la GPU: a un kernel de Triton no le alcanza la memoria compartida de esta arquitectura. "
            "Cambia de versión o prescinde de ese kernel."
        ),
        (
            "It is not GPU memory: a Triton kernel wants more shared memory than this architecture has. Change its "
            "version, or do without that kernel."
        ),
    ),
    (
        r"Problem allocating RAM on host|out of memory at line \d+ in file .*pythonInterface",
        (
            "Es bitsandbytes: faltó RAM para los estados paginados del optimizador, no memoria de la GPU. Más RAM, o "
            "un optimizador sin paginar."
        ),
        (
            "This is bitsandbytes: it is RAM for the optimizer's paged states that ran out, not GPU memory. More RAM, "
            "or an optimizer that does not page."
        ),
    ),
    (
        r"RESOURCE_EXHAUSTED|ResourceExhaustedError",
        "Es un mensaje de JAX o TensorFlow: reservan la memoria de otro modo. Esto solo lee PyTorch.",
        "This is a message of JAX or TensorFlow: they reserve memory differently. Only PyTorch is read.",
    ),
    (
        (
            r"DefaultCPUAllocator|alloc_cpu|Cannot allocate memory|oom-kill|Out of memory: Killed|OOMKilled"
            r"|^\s*Killed\s*$|return code = -9|exit ?code:? *\(?-9|[Ss]ignal 9|SIGKILL|(code|status):? 137\b"
        ),
        "Faltó RAM, no memoria de la GPU: menos procesos de carga, menos en la RAM (offload), o una máquina con más.",
        "It is RAM that ran out, not GPU memory: fewer loading processes, less offload, or a machine with more.",
    ),
)


def read_message(text: str) -> Facts:
    """The facts of the first out-of-memory message in a text, which may be a whole log.

    Raises:
        RequestError: there is none, or it is another device's (MPS), another library's, or the host's.
    """
    found = _OURS.search(text)
    if found is None:
        raise _refusal(text)
    device = next((name for name in ("hip", "xpu") if found[0].startswith(name.upper())), "cuda")
    message = _MARGIN.sub(" ", text[found.start() :])
    again = _OURS.search(message, len(found[0]))
    message = message[: again.start()] if again else message
    # Terminals wrap lines between words or inside them: what one reading misses the other finds.
    spaced, joined = " ".join(message.split()), " ".join(re.sub(r"\n\s*", "", message).split())
    sizes = {name: _first(patterns, spaced, joined) for name, patterns in _PATTERNS.items()}
    reserved = sizes.pop("reserved")
    if reserved is not None and sizes["allocated"] is not None:
        sizes["unallocated"] = max(0.0, reserved - sizes["allocated"])
    processes = max((_PROCESS.findall(line) for line in (spaced, joined)), key=len)
    setting = _SETTING.search(spaced) or _SETTING.search(joined)
    words = None if setting is None else setting[1] or "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"
    return _with_others(Facts(device, words, **sizes), [_gib(size) for size in processes])


def _refusal(text: str) -> RequestError:
    for pattern, es, en in _FOREIGN:
        if re.search(pattern, text, re.MULTILINE):
            return RequestError("inconsistent", "message", es=es, en=en)
    return RequestError(
        "inconsistent",
        "message",
        es="Aquí no hay un mensaje de memoria agotada de PyTorch. Pega desde «Traceback» hasta el final del error.",
        en="There is no out-of-memory message of PyTorch here. Paste from “Traceback” to the end of the error.",
    )


def _first(patterns: tuple[str, ...], *lines: str) -> float | None:
    for line in lines:
        for pattern in patterns:
            if found := re.search(pattern, line):
                return _gib(found[1])
    return None


def _gib(size: str) -> float:
    number, unit = size.split()
    return float(number.rstrip(".") or 0) * UNITS[unit] / GIB


def _with_others(facts: Facts, processes: list[float]) -> Facts:
    """Who else holds the card: the processes that the message lists, or what remains of it.

    Inside a container a process does not know its own number and lists itself: it is the one that can hold what
    PyTorch has reserved.
    """
    total, free = facts.total, facts.free
    own = (facts.allocated or 0.0) + (facts.unallocated or 0.0)
    if facts.in_use:
        others = sum(processes)
        if not processes and total is not None and free is not None:
            others = max(0.0, total - free - facts.in_use)
        return facts._replace(others=others)
    holders = sorted(size for size in processes if size >= 0.99 * own)
    if holders and own:
        return facts._replace(in_use=holders[0], others=sum(processes) - holders[0])
    if total is None or free is None or facts.allocated is None:
        return facts._replace(in_use=None)
    return facts._replace(in_use=None, others=max(0.0, total - free - own))


# ---------------------------------------------------------------------------------------------------- the moment

# Frames that name a moment; the first that matches anywhere wins: an evaluation computes a loss too.
_FRAMES = {
    "evaluation": (r"(?<!\w)evaluat\w*\(", "evaluation_loop", "prediction_loop", "prediction_step"),
    "merge": ("merge_and_unload", "export_model", "get_delta_weight"),
    "save": (
        *("_save_checkpoint", "save_model", "save_pretrained", "save_ckpt", "_save_to_state_dict"),
        *(r"(?<!load_)(?<!_)state_dict\(", r"to clone\(\) tensor"),
    ),
    "generation": (r"\.generate\(", "llm_engine", "vllm/"),
    "optimizer_step": (r"optimizer\.step\(", "_multi_tensor_", r"\['exp_avg", r"torch/optim/adam\w*\.py"),
    "backward": (r"\.backward\(", "run_backward", "torch/autograd/"),
    "load": (
        *(r"from_pretrained\(", "_load_pretrained", "load_state_dict", r"load_model\w*\(", "set_module_tensor_"),
        *("_move_model_to_device", "prepare_model", r"(model|return t)\.to\(", r"checkpoint shards: +\d{1,2}%"),
    ),
    "loss": ("log_softmax", "cross_entropy", r"loss_function\(", r"logits\.float\(\)", "CausalLMLoss"),
    "forward": (r"forward_call\(", r"in forward\b", r"\bforward\(", r"training_step\("),
}


def moment_of(text: str) -> str | None:
    """The moment that a traceback tells: before the message where it stands there, else anywhere in the text."""
    found = _OURS.search(text)
    before = text[: found.start()] if found else text
    for part in (before, text):
        for moment, frames in _FRAMES.items():
            if re.search("|".join(frames), part):
                return moment
    return None


def is_logits(facts: Facts, plan: Plan, vocabulary: float) -> bool:
    """Whether the allocation that failed is the logits of one micro-batch.

    Formula: rows × tokens × vocabulary × 2 or 4 bytes.
    """
    if facts.tried is None:
        return False
    whole = plan.batch * plan.sequence_length * vocabulary / GIB
    return any(abs(facts.tried / (whole * size) - 1) <= LOGITS_TOLERANCE for size in (2, 4))


# ---------------------------------------------------------------------------------------------------- the causes


def causes(facts: Facts) -> Iterator[str]:
    """Why there was no room, the weightiest first.

    `one-tensor`: one tensor larger than the card. `shared-memory`: the driver lent RAM as GPU memory (Windows).
    `limit`: a limit that the process set itself. `free-but-refused`: there was room and the driver said no.
    `other-process`: others hold part of the card. `fragmentation`: reserved, in no tensor, in pieces too small.
    `last-drop`: the card was full, the tensor small. `no-room`: none of these. `driver`: outside PyTorch's allocator.
    """
    total, tried = facts.total, facts.tried
    if total is None or tried is None:
        yield "driver"
        return
    own = (facts.allocated or 0.0) + (facts.unallocated or 0.0)
    free, others, allowed = facts.free or 0.0, facts.others or 0.0, facts.allowed or total
    limited = allowed < LIMIT_SHARE * total and own + tried >= LIMIT_SHARE * allowed
    guilty = OTHERS_GUESSED_GIB if facts.in_use is None else OTHERS_GIB
    found = False
    for cause, holds in (
        ("one-tensor", tried > total),
        ("shared-memory", own > SPILLED_SHARE * total),
        ("limit", limited),
        ("free-but-refused", free >= tried and not limited),
        ("other-process", free < tried <= free + others and others >= guilty),
        ("fragmentation", _fragmented(facts, total, tried)),
    ):
        if holds:
            found = True
            yield cause
    if not found:
        yield "last-drop" if tried <= LAST_DROP_SHARE * total else "no-room"


def _fragmented(facts: Facts, total: float, tried: float) -> bool:
    gap = facts.unallocated or 0.0
    return gap >= FRAGMENTED_SHARE * total and gap + (facts.free or 0.0) >= tried


# Where the guide explains a moment or a cause.
PAGES = {
    "load": "guide/memory/moments/#load",
    "forward": "guide/memory/reduce/#checkpointing",
    "loss": "guide/memory/reduce/#loss",
    "backward": "guide/memory/reduce/#checkpointing",
    "optimizer_step": "guide/memory/moments/#first-step",
    "evaluation": "guide/memory/moments/#evaluation",
    "save": "guide/memory/moments/#save",
    "merge": "guide/memory/moments/#resume-merge",
    "generation": "guide/methods/preference-rl/",
    "one-tensor": "guide/memory/reduce/#length",
    "shared-memory": "guide/oom/#when",
    "limit": "guide/oom/#message",
    "free-but-refused": "guide/oom/#message",
    "other-process": "guide/oom/#message",
    "fragmentation": "guide/memory/reduce/#allocator",
    "last-drop": "guide/oom/#fixes",
    "no-room": "guide/oom/#fixes",
    "driver": "guide/oom/#measure",
}


# ------------------------------------------------------------------------------------------------- the diagnosis


def diagnose(message: str, request: dict[str, Any] | None, catalog: Catalog) -> dict[str, Any]:
    """Read a message, and what to change in the request that failed.

    Args:
        message: the error, best with its traceback; a whole log will do.
        request: the run that failed, as the contract has it; None to read only the message.
        catalog: what `load_catalog` returned.

    Returns:
        `facts` in GiB, `moment` (None: unknown) and where it was read, `causes`, `pages` of the guide for both,
        `expected_gib` (what the request needs, a range) and `fixes`: up to three changes to the request, each
        with what it saves at that moment and how much slower it is, the cheapest in time that suffices first.

    Raises:
        RequestError: nothing that can be read, or a request that cannot be answered.
    """
    if not isinstance(message, str):
        raise RequestError("wrong-type", "message", message, "“CUDA out of memory. Tried to allocate …”")
    text = message[-LONGEST_MESSAGE:]
    facts, moment = read_message(text), moment_of(text)
    told_by = "traceback" if moment else None
    why = list(causes(facts))
    expected, fixes = None, []
    if request is not None:
        plan, arch = resolve(_with_evaluation(request, moment), catalog)
        if moment is None and is_logits(facts, plan, arch.vocabulary):
            moment, told_by = "loss", "size"
        answer = estimate(_with_evaluation(request, moment), catalog)
        expected = answer["memory"]["whole_run"]["required_gib"]
        fixes = _fixes(facts, moment, why, answer["levers"], plan, arch)
    pages = {name: PAGES[name] for name in (*([moment] if moment else []), *why)}
    sizes = {f"{name}_gib" if isinstance(value, float) else name: value for name, value in facts._asdict().items()}
    diagnosis: dict[str, Any] = significant(
        {
            "ok": True,
            "facts": {name: value for name, value in sizes.items() if value is not None},
            "moment": moment,
            "moment_from": told_by,
            "causes": why,
            "pages": pages,
            "expected_gib": expected,
            "fixes": fixes,
        }
    )
    return diagnosis


def _with_evaluation(request: dict[str, Any], moment: str | None) -> dict[str, Any]:
    """The request, with an evaluation where the run failed in one and the request has none."""
    asked = request.get("eval") or {}
    if moment != "evaluation" or not isinstance(asked, dict) or asked.get("examples"):
        return request
    return {**request, "eval": {**asked, "examples": EVALUATED_EXAMPLES, "keep_logits": True}}


def _fixes(
    facts: Facts, moment: str | None, why: list[str], levers: list[dict[str, Any]], plan: Plan, arch: Any
) -> list[dict[str, Any]]:
    """The levers that lower the moment that failed; among those that suffice, the one that costs least time first."""
    short = max(0.0, (facts.tried or 0.0) - (facts.free or 0.0))
    now = _at(moment, plan, arch)
    found = []
    for change, changed in candidates(plan):
        lever = next((lever for lever in levers if lever["change"] == change), None)
        saved = (now - _at(moment, changed, arch)) / GIB
        if lever is not None and saved >= LEAST_SAVING_GIB:
            found.append({"change": change, "saves_gib": saved, "slowdown": lever["slowdown"]})

    def cost(fix: dict[str, Any]) -> tuple[bool, bool, float, float]:
        altering = any(field in fix["change"] for field in ALTERING)
        return fix["saves_gib"] < short, altering, round(fix["slowdown"], 2), -fix["saves_gib"]

    found.sort(key=cost)
    if "fragmentation" in why and plan.allocator == "default" and "expandable" in (facts.setting or ""):
        found.insert(0, {"change": {"allocator": "expandable"}, "saves_gib": facts.unallocated, "slowdown": 1.0})
    return found[:FIXES]


def _at(moment: str | None, plan: Plan, arch: Any) -> float:
    """The largest instant of a moment, of the whole run where the moment is unknown or has none. Unit: bytes."""
    table = memory_table(plan, arch)
    index = table.moments().get(moment or "")
    return max(table.totals) if index is None else table.totals[index]
