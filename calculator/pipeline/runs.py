"""The columns of published runs: memory peaks, what fitted and what did not, tokens per second.

Words of a source (`method`, `gpu`, `optimizer`, …) are kept as it writes them; a number stands alone in its column.
"""

from __future__ import annotations

from typing import Any

from ajuste.contract import REQUEST
from pipeline.columns import Column, Table, Text, column

_WORDS = {
    "source": ("Quién la publicó.", "Who published it.", "huggingface/peft"),
    "source_path": ("En qué archivo o página.", "In which file or page.", "README.md"),
    "source_version": ("Revisión o fecha de la fuente.", "Revision or date of the source.", "24bdadb"),
    "model": ("Modelo, como lo escribe la fuente.", "Model, as the source writes it.", "Llama-2-7B"),
    "hf_id": ("Repositorio en Hugging Face.", "Hugging Face repository.", "meta-llama/Llama-2-7b-hf"),
    "method": ("Método.", "Method.", "qlora"),
    "quantization": ("Cuantización de la base.", "Quantisation of the base.", "nf4"),
    "lora_rank": ("Rango de LoRA.", "LoRA rank.", "16"),
    "lora_targets": ("Módulos con LoRA.", "Modules with LoRA.", "q_proj v_proj"),
    "base_precision": ("Precisión de los pesos base.", "Precision of the base weights.", "bf16"),
    "trained_precision": ("Precisión de lo que se entrena.", "Precision of what is trained.", "fp32"),
    "compute": ("Precisión del cálculo.", "Precision of the computation.", "bf16"),
    "optimizer": ("Optimizador.", "Optimizer.", "adamw"),
    "micro_batch": ("Micro-lote.", "Micro-batch.", "4"),
    "grad_accum": ("Pasos acumulados.", "Accumulated steps.", "8"),
    "sequence_length": ("Longitud de la secuencia, en tokens.", "Sequence length, in tokens.", "2048"),
    "packing": ("Empaquetado (`yes`) o con relleno.", "Packed (`yes`) or padded.", "yes"),
    "padding": ("Empaquetado o con relleno.", "Packed or padded.", "packed"),
    "gradient_checkpointing": ("Recálculo de activaciones.", "Activation recomputation.", "yes"),
    "checkpointing": ("Recálculo de activaciones.", "Activation recomputation.", "full"),
    "attention": ("Implementación de la atención.", "Attention implementation.", "flash2"),
    "loss": ("Cálculo de la pérdida.", "How the loss is computed.", "liger"),
    "framework": ("Programa.", "Software.", "TRL"),
    "stack": ("Lo afinado que está el programa.", "How tuned the software is.", "compiled"),
    "gpu": ("GPU, como la escribe la fuente.", "GPU, as the source writes it.", "A100 80GB"),
    "gpus": ("Cuántas GPU.", "How many GPUs.", "1"),
    "parallelism": ("Reparto entre GPU.", "How it is spread over GPUs.", "fsdp"),
    "strategy": ("Reparto entre GPU.", "How it is spread over GPUs.", "zero3"),
    "offload": ("Qué se lleva a la CPU.", "What is moved to the CPU.", "optimizer"),
    "task": ("Tarea.", "Task.", "sft"),
    "trainable_parameters": ("Parámetros que se entrenan.", "Parameters that are trained.", "41943040"),
    "peak_kind": ("Qué pico es.", "Which peak it is.", "allocated"),
    "printed": ("La cifra como la imprime la fuente.", "The figure as the source prints it.", "11.3 GB"),
    "unit": ("Cómo se leyó su unidad.", "How its unit was read.", "exact"),
    "scope": ("De una GPU o de todas.", "Of one GPU or of all.", "per_gpu"),
    "second_kind": ("Qué mide la otra cifra.", "What the other figure measures.", "nvidia-smi"),
    "outcome": ("Qué pasó.", "What happened.", "oom"),
    "cause": ("Por qué no cupo.", "Why it did not fit.", "activations_logits"),
    "also": (
        "Otros campos de la petición, en JSON.",
        "Further fields of the request, in JSON.",
        '{"parallel":{"sp":8}}',
    ),
    "left_out": ("Por qué no entra en el ajuste.", "Why it is left out of the fit.", "offload"),
}
_WHOLE = {
    "layers": ("Capas.", "Layers.", "32"),
    "hidden": ("Ancho del modelo.", "Width of the model.", "4096"),
    "ffn": ("Ancho de la red densa.", "Width of the feed-forward network.", "14336"),
    "heads": ("Cabezas de atención.", "Attention heads.", "32"),
    "kv_heads": ("Cabezas de claves y valores.", "Key and value heads.", "8"),
    "head_dim": ("Tamaño de una cabeza.", "Size of a head.", "128"),
    "vocabulary": ("Tokens del vocabulario.", "Tokens of the vocabulary.", "128256"),
    "experts": ("Expertos.", "Experts.", "8"),
    "experts_per_token": ("Expertos por token.", "Experts per token.", "2"),
    "nodes": ("Máquinas.", "Machines.", "1"),
    "tp": ("Paralelismo de tensores.", "Tensor parallelism.", "1"),
    "pp": ("Paralelismo de etapas.", "Pipeline parallelism.", "1"),
}
_AMOUNTS: dict[str, tuple[str, str, str, str, float]] = {
    "peak_gib": ("Pico medido, por GPU.", "Measured peak, per GPU.", "10.494", "GiB", 4096),
    "second_gib": ("Otra cifra de la misma ejecución.", "Another figure of the same run.", "14.762", "GiB", 65536),
    "static_gib": ("Asignado fuera del paso.", "Allocated outside the step.", "6.305", "GiB", 4096),
    "mean_tokens": ("Longitud media de una fila.", "Mean length of a row.", "209.9", "tokens", 16_777_216),
    "tokens_per_s_per_gpu": ("Velocidad, por GPU.", "Speed, per GPU.", "4357", "tokens/s", 10_000_000),
    "value": ("Cifra que acompaña a lo que pasó.", "Figure that goes with what happened.", "81166", "", 10_000_000),
}


def _columns(names: str) -> tuple[Column, ...]:
    return tuple(_column(name) for name in names.split())


def _column(name: str) -> Column:
    required: dict[str, Any] = {"required": name in ("source", "model", "method")}
    if name in _WORDS:
        return column(name, "text", *_WORDS[name], **required)
    if name in _WHOLE:
        return column(name, "integer", *_WHOLE[name], low=1, high=10_000_000)
    if name in _AMOUNTS:
        es, en, example, unit, high = _AMOUNTS[name]
        return column(name, "number", es, en, example, unit=unit, low=0.001, high=high)
    return _OTHERS[name]


_OTHERS = {
    part.name: part
    for part in (
        column("id", "text", "Id de la ejecución.", "Id of the run.", "fms-001", required=True),
        column(
            "source_url",
            "url",
            "Dónde se lee.",
            "Where it can be read.",
            "https://github.com/huggingface/peft",
            required=True,
        ),
        column(
            "url", "url", "Dónde se lee.", "Where it can be read.", "https://github.com/huggingface/peft", required=True
        ),
        column(
            "gpu_id",
            "id",
            "Id de la GPU en `data/gpus.csv`.",
            "Id of the GPU in `data/gpus.csv`.",
            "a100-sxm-80gb",
            refers="gpus",
        ),
        column("gated", "yes-no", "Red densa con compuerta.", "Gated feed-forward network.", "yes"),
        column("tied", "yes-no", "Comparte pesos de entrada y salida.", "Input and output weights are shared.", "no"),
        column(
            "quality",
            "choice",
            "`A`: ajustes conocidos. `B`: casi todos.",
            "`A`: settings known. `B`: most.",
            "A",
            choices=("A", "B", "C"),
        ),
        column("note", "text", "Lo que hay que saber.", "What is good to know.", "", high=4000),
    )
}

# How a run trained: the contract's methods, and those that somebody measured and the contract does not have.
METHODS = (
    *REQUEST["method"].choices,
    *("adapter", "adapter_v2", "adaption_prompt", "adamss", "beft", "c3a", "deft", "delora", "fourierft", "frod"),
    *(
        "glora",
        "gralora",
        "lily",
        "lisa",
        "llamapro",
        "ln_tuning",
        "miss",
        "oft",
        "peanut",
        "prefix",
        "prompt",
        "psoft",
    ),
    *("ptuning", "pvera", "road", "tinylora", "trainable_tokens"),
)

MEMORY = Table(
    "memory",
    "data/measurements/memory.csv",
    Text("Picos de memoria que alguien midió y publicó.", "Memory peaks that someone measured and published."),
    _columns(
        "id source source_path source_version source_url model hf_id method lora_rank lora_targets base_precision "
        "trained_precision optimizer micro_batch sequence_length packing gradient_checkpointing attention loss "
        "framework gpu gpus parallelism offload task trainable_parameters peak_gib peak_kind printed unit scope "
        "second_gib second_kind static_gib quality note"
    ),
    key=("id",),
    order=(),
)
BOUNDS = Table(
    "bounds",
    "data/measurements/bounds.csv",
    Text("Lo que cupo y lo que no, en tarjetas de memoria conocida.", "What fitted and what did not, on known cards."),
    _columns(
        "id source source_url model hf_id method lora_rank lora_targets base_precision optimizer micro_batch "
        "grad_accum sequence_length packing gradient_checkpointing attention loss framework gpu gpu_id gpus "
        "parallelism offload outcome value cause note"
    ),
    key=("id",),
    order=(),
)
THROUGHPUT = Table(
    "throughput",
    "data/measurements/throughput.csv",
    Text("Tokens por segundo que alguien midió y publicó.", "Tokens per second that someone measured and published."),
    _columns(
        "id source url framework model layers hidden ffn heads kv_heads head_dim vocabulary gated tied experts "
        "experts_per_token method quantization compute stack lora_targets lora_rank checkpointing padding "
        "micro_batch sequence_length mean_tokens grad_accum gpu gpus nodes strategy tp pp offload "
        "attention also tokens_per_s_per_gpu quality left_out note"
    ),
    key=("id",),
    order=(),
)
ERRORS = Table(
    "throughput_errors",
    "data/measurements/throughput_errors.csv",
    Text(
        "Error de nuestro ritmo con cada fuente dejada fuera del ajuste; lo escribe `pipeline.fit_throughput --write`.",
        "Error of our pace with each source left out of the fit; `pipeline.fit_throughput --write` writes it.",
    ),
    (
        column(
            "group",
            "choice",
            "Cómo se agrupan las filas.",
            "How rows are grouped.",
            "method",
            required=True,
            choices=("all", "judged", "method", "gpu", "stack", "source"),
        ),
        column("value", "text", "El grupo.", "The group.", "qlora"),
        column("rows", "integer", "Ejecuciones.", "Runs.", "89", required=True, low=1, high=10_000_000),
        *(
            column(name, "number", es, en, "0.1", required=True, low=low, high=1000)
            for name, es, en, low in (
                ("median_error", "Mediana del error, sin signo.", "Median error, without sign.", 0),
                ("p90_error", "Error que 9 de cada 10 no pasan.", "Error that 9 in 10 do not exceed.", 0),
                ("bias", "Mediana con signo.", "Median with its sign.", -1),
            )
        ),
        column("checked", "date", "Día del cálculo.", "Day it was computed.", "2026-11-30", required=True),
    ),
    key=("group", "value"),
    order=(),
)
