"""The one description of every column of every data file.

Checks, JSON Schema, the documentation of columns in both languages, the catalog and the API all come from here:
a column is added, renamed or given another range here (measurements: `runs.py`; the TOML files: `toml_columns.py`) and
nowhere else.
"""

from __future__ import annotations

from typing import Any

from pipeline.columns import Column, Table, Text, checked, column
from pipeline.runs import BOUNDS, ERRORS, MEMORY, THROUGHPUT
from pipeline.toml_columns import ASSUMPTIONS, PROVIDERS, SOURCES


def _source_url(required: bool = True, inside: bool = False) -> Column:
    return column(
        "source_url",
        "url",
        "Dónde se lee el dato (https). En precios: una página del proveedor o un tercero de `data/sources.toml`.",
        "Where it can be read (https). For prices: a page of the provider or a third party in `data/sources.toml`.",
        "https://www.runpod.io/pricing",
        required=required,
        inside=inside,
    )


def _note() -> Column:
    return column(
        "note",
        "text",
        "Lo que quien lea la fila debe saber. Una nota también confirma un precio que se sale de lo normal.",
        "What a reader of the row must know. A note also confirms a price that is out of the ordinary.",
        "published floor price",
        inside=True,
    )


_GPU = column(
    "gpu",
    "id",
    "Id de la GPU en `data/gpus.csv`.",
    "Id of the GPU in `data/gpus.csv`.",
    "rtx-4090-24gb",
    required=True,
    refers="gpus",
)

PRICES = Table(
    "prices",
    "data/prices/*.csv",
    Text(
        "Un archivo por proveedor; una fila por oferta y tipo de compra, con el precio de la oferta entera.",
        "One file per provider; one row per offer and purchase type, with the price of the whole offer.",
    ),
    (
        column(
            "offer",
            "text",
            "Nombre de la oferta tal como lo escribe el proveedor.",
            "Name of the offer as the provider writes it.",
            "1x RTX 4090",
            required=True,
        ),
        _GPU,
        column(
            "gpus",
            "integer",
            "Cuántas GPU trae la oferta.",
            "How many GPUs the offer has.",
            "1",
            required=True,
            low=1,
            high=128,
        ),
        column(
            "region",
            "text",
            "Región con el nombre del proveedor; vacío si la fuente no la dice.",
            "Region as the provider names it; empty if the source does not say.",
            "eu-north1",
        ),
        column(
            "purchase",
            "choice",
            "Bajo demanda (`on-demand`) o interrumpible (`spot`).",
            "On demand, or interruptible (`spot`).",
            "on-demand",
            required=True,
            choices=("on-demand", "spot"),
        ),
        column(
            "usd_per_hour",
            "number",
            "Precio por hora de la oferta entera (no por GPU), sin impuestos.",
            "Price per hour of the whole offer (not per GPU), before tax.",
            "0.74",
            required=True,
            unit="USD/h",
            low=0.01,
            high=2000,
        ),
        column("vcpus", "integer", "CPU virtuales.", "Virtual CPUs.", "16", unit="vCPU", low=1, high=4096),
        column(
            "ram_gib", "number", "Memoria del equipo.", "Memory of the host.", "117", unit="GiB", low=0.5, high=65536
        ),
        column(
            "price_basis",
            "choice",
            "`listed`: la fuente publica esta oferta. `scaled`: se calculó de precios publicados (una GPU por "
            "cuántas, o un promedio).",
            "`listed`: the source publishes this offer. `scaled`: computed from published prices (one GPU times how "
            "many, or an average).",
            "listed",
            required=True,
            choices=("listed", "scaled"),
        ),
        column(
            "confidence",
            "choice",
            "`A`: leída en un día exacto de los últimos meses. `B`: día exacto más antiguo, promedio o lista "
            "llevada a mano. `C`: catálogo cuya fecha se estimó.",
            "`A`: read on an exact day of the last months. `B`: an older exact day, an average or a hand-kept list. "
            "`C`: a catalogue whose date was estimated.",
            "A",
            required=True,
            choices=("A", "B", "C"),
        ),
        column(
            "assumed",
            "words",
            "Lo que se da por supuesto: `form_factor`, la fuente no dice SXM, PCIe o NVL; `from_price`, es un precio "
            "«desde»; `host_extra`, CPU y memoria se cobran aparte; `average`, promedia varias ofertas.",
            "What is taken for granted: `form_factor`, the source does not say SXM, PCIe or NVL; `from_price`, it is a "
            "“from” price; `host_extra`, CPU and memory are billed apart; `average`, it averages several offers.",
            "form_factor",
            choices=("form_factor", "from_price", "host_extra", "average"),
        ),
        checked(),
        _source_url(),
        _note(),
    ),
    key=("offer", "region", "gpu", "gpus", "purchase"),
    order=("gpu", "gpus", "offer", "region", "purchase"),
)


PAST_PRICES = Table(
    "past_prices",
    "data/past_prices.csv",
    Text(
        "Precios leídos antes de que existiera este repositorio; los de después los guarda git.",
        "Prices read before this repository existed; git keeps the later ones.",
    ),
    (
        column(
            "provider",
            "id",
            "Id del proveedor.",
            "Id of the provider.",
            "runpod-secure",
            required=True,
            refers="providers",
        ),
        *(
            part
            for part in PRICES.columns
            if part.name
            in ("offer", "gpu", "gpus", "region", "purchase", "usd_per_hour", "checked", "source_url", "note")
        ),
    ),
    key=("provider", "offer", "region", "gpu", "gpus", "purchase", "checked"),
    order=("provider", "gpu", "gpus", "offer", "region", "purchase", "checked"),
)


def _speed(name: str, es: str, en: str, unit: str = "TFLOPS", high: float = 20000) -> Column:
    return column(name, "number", es, en, "312", unit=unit, low=1, high=high)


GPUS = Table(
    "gpus",
    "data/gpus.csv",
    Text("Las GPU y lo que de cada una se sabe.", "The GPUs and what is known of each."),
    (
        column(
            "id",
            "id",
            "Nombre y memoria: `<nombre>-<GB>gb`.",
            "Name and memory: `<name>-<GB>gb`.",
            "rtx-4090-24gb",
            required=True,
        ),
        column("name", "text", "Nombre que se muestra.", "Name that is shown.", "RTX 4090 24 GB", required=True),
        column(
            "vendor",
            "choice",
            "Fabricante.",
            "Maker.",
            "NVIDIA",
            required=True,
            choices=("NVIDIA", "AMD", "Intel", "Google", "AWS"),
        ),
        column("architecture", "text", "Arquitectura.", "Architecture.", "Ada", required=True),
        column(
            "compute_capability",
            "text",
            "Capacidad de cómputo CUDA, o el nombre gfx de AMD.",
            "CUDA compute capability, or AMD's gfx name.",
            "8.9",
        ),
        column(
            "memory_label_gb",
            "integer",
            "Memoria con la que se vende.",
            "Memory it is sold with.",
            "24",
            required=True,
            unit="GB",
            low=1,
            high=2048,
        ),
        column(
            "nvidia_smi_mib",
            "integer",
            "Total que muestra `nvidia-smi` (o `rocm-smi`).",
            "Total that `nvidia-smi` (or `rocm-smi`) shows.",
            "24564",
            unit="MiB",
            low=1024,
            high=2_000_000,
        ),
        column(
            "usable_gib",
            "number",
            "Memoria que CUDA ofrece a un programa, la que se compara con lo que pide el entrenamiento.",
            "Memory that CUDA offers to a program: what a training run's need is compared with.",
            "23.64",
            unit="GiB",
            low=1,
            high=2048,
        ),
        column(
            "usable_basis",
            "choice",
            "`seen`: la menor que se ha visto en mensajes públicos de memoria agotada. `estimated`: `nvidia_smi_mib` "
            "menos 512 MiB o el 1 %, lo que sea más.",
            "`seen`: the least seen in public out-of-memory messages. `estimated`: `nvidia_smi_mib` less 512 MiB or "
            "1 %, whichever is more.",
            "seen",
            choices=("seen", "estimated"),
        ),
        column("memory_type", "text", "Tipo de memoria.", "Kind of memory.", "GDDR6X"),
        column(
            "memory_bandwidth_gb_per_s",
            "number",
            "Ancho de banda de la memoria.",
            "Memory bandwidth.",
            "1008",
            unit="GB/s",
            low=50,
            high=50000,
        ),
        _speed(
            "bf16_dense_tflops",
            "Pico denso en BF16 con acumulación en FP32.",
            "Dense BF16 peak with FP32 accumulation.",
        ),
        _speed(
            "fp16_dense_tflops",
            "Pico denso en FP16 con acumulación en FP32.",
            "Dense FP16 peak with FP32 accumulation.",
        ),
        _speed("fp32_tflops", "Pico en FP32.", "FP32 peak."),
        _speed("int8_dense_tops", "Pico denso en INT8.", "Dense INT8 peak.", "TOPS"),
        _speed("fp8_dense_tflops", "Pico denso en FP8.", "Dense FP8 peak."),
        _speed("fp4_dense_tflops", "Pico denso en FP4.", "Dense FP4 peak."),
        _speed(
            "gemm_measured_tflops",
            "Mejor multiplicación de matrices en BF16 que alguien midió.",
            "Best BF16 matrix multiplication that someone measured.",
        ),
        column("interconnect", "text", "Enlace entre GPU.", "Link between GPUs.", "nvlink4"),
        column(
            "interconnect_gb_per_s",
            "number",
            "Ancho de banda del enlace, los dos sentidos juntos.",
            "Bandwidth of the link, both directions together.",
            "900",
            unit="GB/s",
            low=1,
            high=20000,
        ),
        column("pcie_generation", "integer", "Generación de PCIe.", "PCIe generation.", "4", low=1, high=8),
        column("tdp_w", "number", "Consumo de diseño.", "Design power.", "450", unit="W", low=10, high=5000),
        column("ecc", "yes-no", "Memoria con corrección de errores.", "Memory with error correction.", "yes"),
        column("supports_bf16", "yes-no", "Calcula en BF16 por hardware.", "Computes BF16 in hardware.", "yes"),
        column("supports_flash_attention_2", "yes-no", "Corre FlashAttention-2.", "Runs FlashAttention-2.", "yes"),
        column("supports_fp8", "yes-no", "Calcula en FP8 por hardware.", "Computes FP8 in hardware.", "yes"),
        column("release_year", "integer", "Año de salida.", "Year of release.", "2022", low=2010, high=2040),
        column(
            "class",
            "choice",
            "Gama.",
            "Tier.",
            "consumer",
            required=True,
            choices=("consumer", "workstation", "datacenter"),
        ),
        column(
            "source",
            "text",
            "De dónde salen las cifras y cuántas coinciden.",
            "Where the figures come from and how many agree.",
            "techpowerup (3)",
            required=True,
            inside=True,
        ),
        _source_url(inside=True),
        checked(),
        _note(),
    ),
    key=("id",),
    order=("vendor", "release_year", "id"),
)

ALIASES = Table(
    "gpu_aliases",
    "data/gpu_aliases.csv",
    Text(
        "Otros nombres de las GPU. Se comparan enteros, nunca por partes; los ambiguos se rechazan.",
        "Other spellings of the GPUs. Compared whole, never by parts; ambiguous ones are refused.",
    ),
    (
        column(
            "alias",
            "text",
            "Nombre tal como aparece en la fuente.",
            "Name as the source writes it.",
            "A100-80GB-SXM4",
            required=True,
        ),
        _GPU._replace(
            required=False,
            doc=Text("Id de la GPU; vacío si el nombre es ambiguo.", "Id of the GPU; empty if the name is ambiguous."),
        ),
        column(
            "context",
            "text",
            "Fuente en la que vale; vacío = en todas.",
            "Source it holds for; empty = all.",
            "skypilot",
        ),
        _note(),
    ),
    key=("alias", "context"),
    order=("alias", "context"),
)

INSTANCES = Table(
    "instances",
    "data/instances.csv",
    Text(
        "Tipos de instancia cuya fuente de precios no dice qué GPU llevan.",
        "Instance types whose source of prices does not say which GPU they have.",
    ),
    (
        column("provider", "id", "Id del proveedor.", "Id of the provider.", "aws", required=True, refers="providers"),
        column("offer", "text", "Nombre del tipo.", "Name of the type.", "g5.xlarge", required=True),
        *(part for part in PRICES.columns if part.name in ("gpu", "gpus", "vcpus", "ram_gib")),
    ),
    key=("provider", "offer"),
    order=("provider", "gpu", "gpus", "offer"),
)

MODELS = Table(
    "models",
    "data/models.csv",
    Text(
        "Índice de los modelos; la arquitectura está en `data/models/<id>.json`.",
        "Index of the models; the architecture is in `data/models/<id>.json`.",
    ),
    (
        column("id", "id", "Id del modelo.", "Id of the model.", "llama-3.1-8b", required=True),
        column("name", "text", "Nombre que se muestra.", "Name that is shown.", "Llama 3.1 8B", required=True),
        column("family", "text", "Familia.", "Family.", "Llama", required=True),
        column("hf_id", "text", "Repositorio en Hugging Face.", "Hugging Face repository.", "meta-llama/Llama-3.1-8B"),
        column(
            "published_parameters",
            "integer",
            "Parámetros que publica una fuente.",
            "Parameters a source publishes.",
            "8030261248",
            low=1_000_000,
            high=10**14,
        ),
        column(
            "published_parameters_source_url",
            "url",
            "Dónde se publica esa cifra.",
            "Where that figure is published.",
            "https://huggingface.co/meta-llama/Llama-3.1-8B",
            inside=True,
        ),
        column("license", "text", "Licencia.", "License.", "llama3.1", inside=True),
        column(
            "gated",
            "yes-no",
            "Hay que aceptar condiciones para descargarlo.",
            "Terms must be accepted to download it.",
            "yes",
            inside=True,
        ),
        column("released", "date", "Fecha de publicación.", "Release date.", "2024-07-23", inside=True),
        checked(),
        _note(),
    ),
    key=("id",),
    order=(),
)

# Of each data/models/<id>.json, beside `config`.
ARCHITECTURE: tuple[Column, ...] = (_source_url(), checked())

LINKS = Table(
    "links",
    "data/links.csv",
    Text("Enlaces externos de la guía y qué respalda cada uno.", "The guide's outside links and what each supports."),
    (
        column("url", "url", "Dirección.", "Address.", "https://arxiv.org/abs/2305.14314", required=True),
        column("seen_in", "text", "Página que lo cita.", "Page that cites it.", "guide/methods/qlora.md"),
        checked(),
        column(
            "claim",
            "text",
            "Lo que respalda.",
            "What it supports.",
            "QLoRA: NF4 and double quantization",
            required=True,
        ),
    ),
    key=("url", "seen_in"),
    order=(),
)

RUNS = (MEMORY, BOUNDS, THROUGHPUT, ERRORS)
TABLES: dict[str, Table] = {
    table.name: table
    for table in (PRICES, PAST_PRICES, INSTANCES, GPUS, ALIASES, PROVIDERS, SOURCES, MODELS, ASSUMPTIONS, LINKS, *RUNS)
}

_JSON_TYPES = {
    "integer": "integer",
    "number": "number",
    "yes-no": "boolean",
    "list": "array",
    "words": "array",
}


def json_schema(table: Table) -> dict[str, Any]:
    """JSON Schema 2020-12 of one row, typed as in the catalog and the API: unknown is null."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": table.name, "description": table.doc.en}
    return head | json_object(table.columns)


def json_object(columns: tuple[Column, ...]) -> dict[str, Any]:
    """The same for any columns, without the heading."""
    return {
        "type": "object",
        "properties": {part.name: _json_property(part) for part in columns},
        "required": [part.name for part in columns if part.required],
    }


def _json_property(part: Column) -> dict[str, Any]:
    kind = _JSON_TYPES.get(part.kind, "string")
    unit = f" [{part.unit}]" if part.unit else ""
    entry: dict[str, Any] = {
        "type": kind if part.required or part.kind == "words" else [kind, "null"],
        "description": part.doc.en + unit,
    }
    if kind == "array":
        entry["items"] = {"type": "string"} | ({"enum": list(part.choices)} if part.choices else {})
    elif part.choices:
        entry["enum"] = [*part.choices, *([] if part.required else [None])]
    if kind in ("integer", "number"):
        entry |= {name: limit for name, limit in (("minimum", part.low), ("maximum", part.high)) if limit is not None}
    pattern = {"url": "^https://", "date": r"^\d{4}(-\d{2}(-\d{2})?)?$"}.get(part.kind)
    return entry | ({"pattern": pattern} if pattern else {})
