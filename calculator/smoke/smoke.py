#!/usr/bin/env python3
"""Smoke test of a rented host: let it fail in a minute, not in six hours.

    python smoke.py smoke.json          the host, then the job that smoke.json describes, then our numbers against it
    python smoke.py                     the host, then a tiny model
    python smoke.py smoke.json --tiny   the same job on a tiny model made on the spot

One file, standard library only; torch, transformers, peft and bitsandbytes are used where they are installed. It
brings forward what fails late: the longest row, the first optimizer step, the first evaluation, the save, the resume.
What could not be measured is said. `ajuste export smoke …` writes smoke.json.
Exit codes: 0 passed, 1 something failed, 2 bad file.
"""

from __future__ import annotations

import argparse
import csv
import gc
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Callable
from typing import Any

GIB = 2**30
DOWNLOAD = "https://huggingface.co/openai-community/gpt2/resolve/main/model.safetensors"
STEPS = 4  # the first two warm up
TINY = {
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
DEFAULT: dict[str, Any] = {
    "model": None,
    "method": "lora",
    "sequence_length": 256,
    "micro_batch": 1,
    "lora_rank": 8,
    "lora_targets": "all-linear",
    "optimizer": "adamw",
    "gradient_checkpointing": True,
    "autocast": True,
    "dtype": "bf16",
    "quantization": "none",
    "eval_batch": 1,
    "expected": None,
}

SAY = {
    "host": {"es": "La máquina", "en": "The host"},
    "job": {"es": "El trabajo", "en": "The job"},
    "result": {"es": "Resultado", "en": "Result"},
    "system": {"es": "sistema", "en": "system"},
    "gpu": {"es": "GPU", "en": "GPU"},
    "driver": {"es": "controlador", "en": "driver"},
    "usable": {"es": "memoria utilizable", "en": "usable memory"},
    "topology": {"es": "enlaces", "en": "links"},
    "compute": {"es": "cálculo", "en": "compute"},
    "bandwidth": {"es": "memoria de la GPU", "en": "GPU memory"},
    "disk": {"es": "disco", "en": "disk"},
    "network": {"es": "red", "en": "network"},
    "model": {"es": "modelo", "en": "model"},
    "longest": {"es": "fila más larga y un paso", "en": "longest row and a step"},
    "speed": {"es": "ritmo", "en": "pace"},
    "evaluation": {"es": "evaluación", "en": "evaluation"},
    "save": {"es": "guardado", "en": "save"},
    "resume": {"es": "reanudación", "en": "resume"},
    "peak": {"es": "pico de memoria", "en": "memory peak"},
    "expected": {
        "es": "se calculó {low}–{high} {unit}: {verdict}",
        "en": "{low}–{high} {unit} was computed: {verdict}",
    },
    "inside": {"es": "dentro", "en": "inside"},
    "below": {"es": "por debajo", "en": "below"},
    "above": {"es": "por encima", "en": "above"},
    "missing": {"es": "no se pudo medir: {why}", "en": "could not be measured: {why}"},
    "no-gpu": {"es": "no hay GPU", "en": "there is no GPU"},
    "no-package": {"es": "falta {name}", "en": "{name} is not installed"},
    "one-gpu": {"es": "hay una sola GPU", "en": "there is one GPU only"},
    "tiny": {"es": "uno diminuto, hecho aquí mismo ({why})", "en": "a tiny one, made on the spot ({why})"},
    "asked": {"es": "así se pidió", "en": "as asked"},
    "not-compared": {"es": "con un modelo diminuto no se compara", "en": "not compared with a tiny model"},
    "no-prediction": {
        "es": "sin smoke.json no hay con qué comparar",
        "en": "without smoke.json there is nothing to compare with",
    },
    "failed": {"es": "FALLÓ: {why}", "en": "FAILED: {why}"},
    "same-loss": {"es": "la pérdida sigue donde estaba", "en": "the loss goes on where it was"},
    "other-loss": {
        "es": "la pérdida no sigue donde estaba: {a} y {b}",
        "en": "the loss does not go on where it was: {a} and {b}",
    },
    "passed": {"es": "Pasó todo lo que se pudo medir.", "en": "All that could be measured passed."},
    "not-passed": {
        "es": "Algo falló: no lances el trabajo largo todavía.",
        "en": "Something failed: do not launch the long run yet.",
    },
    "left": {"es": "No se midió: {names}.", "en": "Not measured: {names}."},
    "contribute": {
        "es": "Si quieres aportar esta medición, pega esta línea en el formulario «Medición» del proyecto:",
        "en": "To contribute this measurement, paste this line into the project's “Measurement” form:",
    },
    "nothing-to-contribute": {
        "es": "No hay una medición que aportar: hace falta una GPU y el modelo de verdad.",
        "en": "There is no measurement to contribute: it takes a GPU and the real model.",
    },
}

# The columns of data/measurements/memory.csv.
COLUMNS = (
    *("id", "source", "source_path", "source_version", "source_url", "model", "hf_id", "method", "lora_rank"),
    *("lora_targets", "base_precision", "trained_precision", "optimizer", "micro_batch", "sequence_length", "packing"),
    *("gradient_checkpointing", "attention", "loss", "framework", "gpu", "gpus", "parallelism", "offload", "task"),
    *("trainable_parameters", "peak_gib", "peak_kind", "printed", "unit", "scope", "second_gib", "second_kind"),
    *("static_gib", "quality", "note"),
)


class CannotMeasureError(Exception):
    """A part cannot be measured here; the text says why."""


class Report:
    """What was measured, what failed, what could not be measured."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.measured: dict[str, Any] = {}
        self.missing: list[str] = []
        self.failed: list[str] = []

    def say(self, sentence: str, /, **values: object) -> str:
        """A sentence in the report's language."""
        return SAY[sentence][self.language].format(**values)

    def title(self, name: str) -> None:
        """A heading."""
        print(f"\n== {self.say(name)}", flush=True)

    def line(self, name: str, text: str) -> None:
        """One result."""
        print(f"  {self.say(name):<24} {text}", flush=True)

    def part(self, name: str, measure: Callable[[Report], str]) -> bool:
        """Measure a part. What stops it is told and does not stop the rest."""
        try:
            self.line(name, measure(self))
        except CannotMeasureError as why:
            self.missing.append(name)
            self.line(name, self.say("missing", why=why))
        except Exception as error:  # the whole point: what fails is told, and the next part still runs
            self.failed.append(name)
            self.line(
                name,
                self.say(
                    "failed", why=f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
                ),
            )
        return name not in self.failed and name not in self.missing


# ------------------------------------------------------------------------------------------------------- the host


def printed(*command: str, seconds: float = 30) -> str:
    """What a program prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotMeasureError(f"{command[0]}: {type(error).__name__}") from None
    if done.returncode:
        raise CannotMeasureError(f"{command[0]}: {(done.stderr or done.stdout).strip().splitlines()[:1]}")
    return done.stdout.strip()


def torch_with_gpu(report: Report) -> Any:
    """The torch module, where it sees a GPU."""
    torch = package(report, "torch")
    if not torch.cuda.is_available():
        raise CannotMeasureError(report.say("no-gpu"))
    return torch


def package(report: Report, name: str) -> Any:
    """An installed package."""
    try:
        return __import__(name)
    except ImportError:
        raise CannotMeasureError(report.say("no-package", name=name)) from None


def system(report: Report) -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB if hasattr(os, "sysconf") else 0
    software = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    text = f"{software}, {os.cpu_count()} CPU, {memory:.0f} GiB RAM"
    report.measured["system"] = text
    return text


def gpu(report: Report) -> str:
    fields = "name,memory.total,pcie.link.gen.current,pcie.link.width.current,power.limit"
    rows = printed("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits").splitlines()
    if not rows:
        raise CannotMeasureError(report.say("no-gpu"))
    name, mib, generation, width, watts = (cell.strip() for cell in rows[0].split(","))
    report.measured |= {"gpu": name, "gpus": len(rows), "nvidia_smi_mib": mib}
    return f"{len(rows)} × {name}, {mib} MiB, PCIe {generation} ×{width}, {watts} W"


def driver(report: Report) -> str:
    version = printed("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").splitlines()[0]
    report.measured["driver"] = version
    return version


def usable(report: Report) -> str:
    torch = torch_with_gpu(report)
    free, total = torch.cuda.mem_get_info()
    report.measured |= {"usable_gib": total / GIB, "free_gib": free / GIB}
    return f"{total / GIB:.2f} GiB, {free / GIB:.2f} GiB free, CUDA {torch.version.cuda}, torch {torch.__version__}"


def topology(report: Report) -> str:
    if report.measured.get("gpus", 0) == 1:
        raise CannotMeasureError(report.say("one-gpu"))
    lines = printed("nvidia-smi", "topo", "-m").splitlines()
    return "\n" + "\n".join("    " + line for line in lines if line.strip().startswith("GPU"))


def compute(report: Report) -> str:
    """Dense matrix product in bf16 (fp16 where there is none): what the card reaches, not its label."""
    torch = torch_with_gpu(report)
    dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
    seconds = timed(torch, lambda: a @ b, 10)
    tflops = 2 * n**3 / seconds / 1e12
    report.measured["matmul_tflops"] = tflops
    return f"{tflops:.0f} TFLOPS ({str(dtype).removeprefix('torch.')}, {n}³)"


def bandwidth(report: Report) -> str:
    torch = torch_with_gpu(report)
    source = torch.empty(GIB // 4, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    seconds = timed(torch, lambda: target.copy_(source), 10)
    rate = 2 * source.numel() * 4 / seconds / 1e9
    report.measured["copy_gb_per_s"] = rate
    return f"{rate:.0f} GB/s"


def timed(torch: Any, work: Callable[[], object], times: int) -> float:
    """Seconds of one piece of work on the GPU."""
    work()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(times):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / times


def disk(report: Report) -> str:
    """Write and read back a file where the job would write."""
    size, block = 256 * 2**20, os.urandom(2**20)
    free = shutil.disk_usage(".").free
    if free < 2 * size:
        raise CannotMeasureError(f"{free / 1e9:.1f} GB free")
    path = f".smoke-{os.getpid()}"
    try:
        started = time.perf_counter()
        with open(path, "wb") as file:
            for _ in range(size // len(block)):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        wrote = size / (time.perf_counter() - started)
    finally:
        if os.path.exists(path):
            os.remove(path)
    report.measured |= {"disk_write_mb_per_s": wrote / 1e6, "disk_free_gb": free / 1e9}
    return f"{wrote / 1e6:.0f} MB/s, {free / 1e9:.0f} GB free"


def network(address: str) -> Callable[[Report], str]:
    def measure(report: Report) -> str:
        started, received = time.perf_counter(), 0
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                while received < 64 * 2**20 and time.perf_counter() - started < 8:
                    block = answer.read(2**20)
                    if not block:
                        break
                    received += len(block)
        except (OSError, ValueError) as error:
            raise CannotMeasureError(f"{type(error).__name__}: {error}") from None
        rate = received / (time.perf_counter() - started) / 1e6
        report.measured["download_mb_per_s"] = rate
        return f"{rate:.1f} MB/s"

    return measure


# -------------------------------------------------------------------------------------------------------- the job


class Job:
    """One model, one optimizer, and the parts of a run in the order in which they fail."""

    def __init__(self, report: Report, spec: dict[str, Any], tiny: str) -> None:
        """`tiny`: why a tiny model stands in for the real one; empty when it does not."""
        self.report, self.spec, self.tiny = report, spec, tiny
        self.torch = package(report, "torch")
        self.cuda = self.torch.cuda.is_available()
        self.device = "cuda" if self.cuda else "cpu"
        self.length = min(spec["sequence_length"], 256) if tiny else spec["sequence_length"]
        self.batch = 1 if tiny else spec["micro_batch"]
        half = {"bf16": self.torch.bfloat16, "fp16": self.torch.float16}
        self.dtype = self.torch.float32 if not self.cuda else half.get(spec["dtype"], self.torch.float32)
        self.losses: list[float] = []
        self.folder = tempfile.mkdtemp(prefix="smoke-", dir=".")

    def make(self, _: Report) -> str:
        """Load or make the model, add adapters, make the optimizer."""
        self.torch.manual_seed(0)
        name = self.report.say("tiny", why=self.tiny) if self.tiny else str(self.spec["model"])
        self.model = self.adapt(self.build()).to(self.device)
        self.model.train()
        self.vocabulary = self.model.get_input_embeddings().weight.shape[0]
        self.trained = [weight for weight in self.model.parameters() if weight.requires_grad]
        count = sum(weight.numel() for weight in self.trained)
        self.report.measured["trainable_parameters"] = count
        self.optimizer = self.make_optimizer()
        return f"{name}; {count:,} trained parameters"

    def build(self) -> Any:
        """The model: the real one, a tiny one of transformers, or a tiny one of torch alone."""
        try:
            import transformers
        except ImportError:
            if not self.tiny:
                raise
            return tiny_decoder(self.torch)
        if self.tiny:
            settings = {key: value for key, value in TINY.items() if key != "model_type"}
            return transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model("llama", **settings))
        more: dict[str, Any] = {}
        if self.spec["quantization"] != "none":
            more["quantization_config"] = self.quantization(transformers)
            more["device_map"] = {"": 0}
        model = transformers.AutoModelForCausalLM.from_pretrained(self.spec["model"], dtype=self.dtype, **more)
        model.config.use_cache = False
        if self.spec["gradient_checkpointing"]:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.enable_input_require_grads()
        return model

    def quantization(self, transformers: Any) -> Any:
        kind = self.spec["quantization"]
        if kind == "int8":
            return transformers.BitsAndBytesConfig(load_in_8bit=True)
        if not kind.startswith("nf4"):
            raise CannotMeasureError(kind)
        return transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=kind == "nf4-nested",
            bnb_4bit_compute_dtype=self.dtype,
        )

    def adapt(self, model: Any) -> Any:
        """LoRA around the model, by peft; without peft a tiny model trains whole."""
        if self.spec["method"] == "full":
            return model
        try:
            import peft
        except ImportError:
            if self.tiny:
                return model
            raise
        if not hasattr(model, "config"):
            return model
        return peft.get_peft_model(
            model,
            peft.LoraConfig(
                r=self.spec["lora_rank"],
                lora_alpha=2 * self.spec["lora_rank"],
                target_modules=self.spec["lora_targets"],
                task_type="CAUSAL_LM",
                use_dora=self.spec["method"] == "dora",
                use_rslora=self.spec["method"] == "rslora",
            ),
        )

    def make_optimizer(self) -> Any:
        kind = self.spec["optimizer"]
        if "8bit" in kind and self.cuda:
            import bitsandbytes

            return (bitsandbytes.optim.PagedAdamW8bit if "paged" in kind else bitsandbytes.optim.AdamW8bit)(
                self.trained, lr=1e-5
            )
        if kind == "sgd":
            return self.torch.optim.SGD(self.trained, lr=1e-5)
        return self.torch.optim.AdamW(self.trained, lr=1e-5, fused=True if self.cuda and kind == "adamw" else None)

    def rows(self, batch: int, seed: int) -> Any:
        """Rows of the longest length, each token drawn: nothing is padded away."""
        chance = self.torch.Generator().manual_seed(seed)
        return self.torch.randint(0, self.vocabulary, (batch, self.length), generator=chance).to(self.device)

    def loss(self, rows: Any) -> Any:
        autocast = self.spec["autocast"] and self.cuda and self.dtype is not self.torch.float32
        with self.torch.autocast(self.device, dtype=self.dtype if autocast else None, enabled=autocast):
            return self.model(input_ids=rows, labels=rows).loss

    def step(self, seed: int) -> float:
        """One micro-batch, backward, optimizer step."""
        loss = self.loss(self.rows(self.batch, seed))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def train(self, _: Report) -> str:
        """The longest row, forward, backward, the optimizer's first step."""
        if self.cuda:
            self.torch.cuda.reset_peak_memory_stats()
        self.losses.append(self.step(0))
        if not self.losses[0] < 1e4:
            raise ArithmeticError(f"loss {self.losses[0]}")
        return f"{self.batch} × {self.length} tokens, loss {self.losses[0]:.3f}"

    def pace(self, _: Report) -> str:
        """Tokens per second after warming up."""
        for seed in (1, 2):
            self.losses.append(self.step(seed))
        self.synchronize()
        started = time.perf_counter()
        for seed in range(3, 3 + STEPS):
            self.losses.append(self.step(seed))
        self.synchronize()
        rate = STEPS * self.batch * self.length / (time.perf_counter() - started)
        self.report.measured["tokens_per_second"] = rate
        return f"{rate:,.0f} tokens/s"

    def synchronize(self) -> None:
        if self.cuda:
            self.torch.cuda.synchronize()

    def peak(self, report: Report) -> str:
        """The peak so far: training alone, as torch counts it."""
        if not self.cuda:
            raise CannotMeasureError(report.say("no-gpu"))
        allocated = self.torch.cuda.max_memory_allocated() / GIB
        reserved = self.torch.cuda.max_memory_reserved() / GIB
        report.measured |= {"allocated_gib": allocated, "reserved_gib": reserved}
        return f"{allocated:.3f} GiB allocated, {reserved:.3f} GiB reserved"

    def evaluate(self, _: Report) -> str:
        self.model.eval()
        with self.torch.no_grad():
            loss = float(self.loss(self.rows(1 if self.tiny else self.spec["eval_batch"], 99)))
        self.model.train()
        if self.cuda:
            self.report.measured["whole_run_gib"] = self.torch.cuda.max_memory_allocated() / GIB
        return f"loss {loss:.3f}"

    def save(self, _: Report) -> str:
        """Trained weights and optimizer states, as a checkpoint keeps them."""
        started = time.perf_counter()
        kept = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        path = os.path.join(self.folder, "checkpoint.pt")
        self.torch.save({"model": kept, "optimizer": self.optimizer.state_dict()}, path)
        seconds, size = time.perf_counter() - started, os.path.getsize(path)
        self.report.measured |= {"save_seconds": seconds, "checkpoint_gb": size / 1e9}
        return f"{size / 1e6:.1f} MB, {seconds:.1f} s"

    def resume(self, report: Report) -> str:
        """Spoil the weights, load the checkpoint, and see that the next step is the one that would have come."""
        expected = self.next_loss()
        with self.torch.no_grad():
            for weight in self.trained:
                weight.normal_()
        self.optimizer = None
        gc.collect()
        kept = self.torch.load(os.path.join(self.folder, "checkpoint.pt"), map_location="cpu", weights_only=True)
        with self.torch.no_grad():
            for name, weight in self.model.named_parameters():
                if name in kept["model"]:
                    weight.copy_(kept["model"][name])
        self.optimizer = self.make_optimizer()
        self.optimizer.load_state_dict(kept["optimizer"])
        found = self.next_loss()
        if abs(found - expected) > 0.02 * max(1.0, abs(expected)):
            raise ArithmeticError(report.say("other-loss", a=f"{expected:.3f}", b=f"{found:.3f}"))
        self.step(100)
        return report.say("same-loss")

    def next_loss(self) -> float:
        """Loss of a fixed row. In evaluation mode: dropout would make it another each time."""
        self.model.eval()
        with self.torch.no_grad():
            loss = float(self.loss(self.rows(1, 100)))
        self.model.train()
        return loss

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def tiny_decoder(torch: Any) -> Any:
    """A decoder of two layers, of torch alone, with the few methods of a transformers model that are used here."""
    nn, width, vocabulary = torch.nn, TINY["hidden_size"], TINY["vocab_size"]

    class Output:
        def __init__(self, loss: Any) -> None:
            self.loss = loss

    class Decoder(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def get_input_embeddings(self) -> Any:
            return self.embedding

        def forward(self, input_ids: Any, labels: Any) -> Output:
            mask = nn.Transformer.generate_square_subsequent_mask(input_ids.shape[1], device=input_ids.device)
            logits = self.head(self.layers(self.embedding(input_ids), mask=mask, is_causal=True))
            flat = logits[:, :-1].reshape(-1, vocabulary)
            return Output(nn.functional.cross_entropy(flat.float(), labels[:, 1:].reshape(-1)))

    return Decoder()


def run_job(report: Report, spec: dict[str, Any], force_tiny: bool) -> bool:
    """Run the parts in order; a part that fails ends the job, as it would end the run. Returns whether it was tiny."""
    report.title("job")
    tiny = ""
    try:
        torch = package(report, "torch")
    except CannotMeasureError as why:
        report.missing += ["model", "longest", "speed", "peak", "evaluation", "save", "resume"]
        report.line("model", report.say("missing", why=why))
        return True
    if force_tiny or not spec["model"]:
        tiny = report.say("asked" if force_tiny else "no-prediction")
    elif not torch.cuda.is_available():
        tiny = report.say("no-gpu")
    else:
        try:
            package(report, "transformers")
        except CannotMeasureError as why:
            tiny = str(why)
    job = Job(report, spec, tiny)
    parts: tuple[tuple[str, Callable[[Report], str]], ...] = (
        ("model", job.make),
        ("longest", job.train),
        ("speed", job.pace),
        ("peak", job.peak),
        ("evaluation", job.evaluate),
        ("save", job.save),
        ("resume", job.resume),
    )
    try:
        for name, part in parts:
            if not report.part(name, part) and name in report.failed:
                break
    finally:
        job.close()
    return bool(tiny)


# ------------------------------------------------------------------------------------------------------ the result


def compare(report: Report, spec: dict[str, Any], tiny: bool) -> None:
    """What was measured against what was computed."""
    report.title("result")
    expected = spec["expected"]
    for name, key, unit in (("peak", "allocated_gib", "GiB"), ("speed", "tokens_per_second", "tokens/s")):
        if tiny or not expected:
            report.line(name, report.say("not-compared" if spec["model"] else "no-prediction"))
            continue
        found = report.measured.get(key)
        if found is None:
            continue
        band = expected[key]
        verdict = "below" if found < band["low"] else "above" if found > band["high"] else "inside"
        said = report.say(
            "expected", low=f"{band['low']:.4g}", high=f"{band['high']:.4g}", unit=unit, verdict=report.say(verdict)
        )
        report.measured[f"{key}_verdict"] = verdict
        report.line(name, f"{found:.4g} {unit}; {said}")
    if report.missing:
        print("  " + report.say("left", names=", ".join(report.say(name) for name in report.missing)))
    print("  " + report.say("not-passed" if report.failed else "passed"))


def contribution(report: Report, spec: dict[str, Any], tiny: bool, address: str) -> str | None:
    """One row of data/measurements/memory.csv; None without a real measurement."""
    found = report.measured
    if tiny or "allocated_gib" not in found:
        return None
    name = str(spec["model"])
    software = [f"{used} {package(report, used).__version__}" for used in ("transformers", "torch")]
    autocast = "on" if spec["autocast"] else "off"
    speed = found.get("tokens_per_second", 0)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    values = {
        "id": f"smoke-{day}-{abs(hash((name, found['allocated_gib']))) % 10**6:06d}",
        "source": "smoke test",
        "source_path": "smoke.py",
        "source_version": day,
        "source_url": address,
        "model": name.rsplit("/", 1)[-1],
        "hf_id": name,
        "method": spec["method"],
        "lora_rank": "" if spec["method"] == "full" else spec["lora_rank"],
        "lora_targets": "" if spec["method"] == "full" else targets_text(spec["lora_targets"]),
        "base_precision": spec["quantization"] if spec["quantization"] != "none" else spec["dtype"],
        "trained_precision": spec["dtype"] if spec["method"] == "full" else "fp32",
        "optimizer": spec["optimizer"],
        "micro_batch": spec["micro_batch"],
        "sequence_length": spec["sequence_length"],
        "packing": "no",
        "gradient_checkpointing": "yes" if spec["gradient_checkpointing"] else "no",
        "attention": "sdpa",
        "loss": "none",
        "framework": ", ".join(software),
        "gpu": found.get("gpu", ""),
        "gpus": 1,
        "parallelism": "none",
        "offload": "no",
        "task": "sft",
        "trainable_parameters": found["trainable_parameters"],
        "peak_gib": f"{found['allocated_gib']:.3f}",
        "peak_kind": "allocated",
        "printed": f"{found['allocated_gib']:.3f} GiB",
        "unit": "exact",
        "scope": "per_gpu",
        "second_gib": f"{found['reserved_gib']:.3f}",
        "second_kind": "max_memory_reserved",
        "static_gib": "",
        "quality": "A",
        "note": f"{speed:.0f} tokens/s; autocast {autocast}; driver {found.get('driver', '?')}",
    }
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([values[column] for column in COLUMNS])
    return line.getvalue()


def targets_text(targets: object) -> str:
    return " ".join(targets) if isinstance(targets, list) else str(targets)


def read_spec(path: str | None) -> dict[str, Any]:
    """smoke.json over what is assumed without it. ValueError when it is none."""
    if path is None:
        return dict(DEFAULT)
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
    if not isinstance(given, dict) or set(given) - set(DEFAULT):
        raise ValueError(
            f"{path}: {', '.join(sorted(set(given) - set(DEFAULT))) if isinstance(given, dict) else 'no table'}"
        )
    return {**DEFAULT, **given}


def main() -> int:
    """Measure the host, run the job, compare."""
    spanish = any(os.environ.get(name, "").lower().startswith("es") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="?", metavar="smoke.json", help="what `ajuste export smoke` wrote")
    parser.add_argument("--tiny", action="store_true", help="a tiny model instead of the real one")
    parser.add_argument("--lang", choices=("es", "en"), default="es" if spanish else "en")
    parser.add_argument("--url", default=DOWNLOAD, help="what to download to measure the network; empty: nothing")
    parser.add_argument("--issue", default="https://ajuste.example/", help="where the measurement will be told")
    parser.add_argument("--json", metavar="FILE", help="also write everything measured to a file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of the packages: what fails here is told in the report
    try:
        spec = read_spec(options.spec)
    except (OSError, ValueError) as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 2
    report = Report(options.lang)
    report.title("host")
    parts: list[tuple[str, Callable[[Report], str]]] = [
        *(("system", system), ("gpu", gpu), ("driver", driver), ("usable", usable), ("topology", topology)),
        *(("compute", compute), ("bandwidth", bandwidth), ("disk", disk)),
    ]
    if options.url:
        parts.append(("network", network(options.url)))
    for name, part in parts:
        report.part(name, part)
    tiny = run_job(report, spec, options.tiny)
    compare(report, spec, tiny)
    line = contribution(report, spec, tiny, options.issue)
    print("\n" + report.say("contribute" if line else "nothing-to-contribute"))
    if line:
        print(line)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"measured": report.measured, "failed": report.failed, "missing": report.missing}, file, indent=1)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
