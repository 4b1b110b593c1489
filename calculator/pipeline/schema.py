"""The one description of every column of every data file.

Checks, JSON Schema, the documentation of columns in both languages, the catalog and the API all come from here:
a column is added, renamed or given another range in this file and nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Value = str | int | float | bool | list[str] | None


class Text(NamedTuple):
    """A sentence in both languages."""

    es: str
    en: str


class Column(NamedTuple):
    """One column of a CSV file, or one key of a TOML table."""

    name: str
    kind: str  # text · id · integer · number · yes-no · choice · date · url · words · list
    doc: Text
    example: str
    required: bool = False
    unit: str = ""
    low: float | None = None
    high: float | None = None  # of a text: the most characters
    choices: tuple[str, ...] = ()
    refers: str = ""  # the table whose ids this value must name
    inside: bool = False  # provenance or housekeeping: stays out of the catalog that the page downloads


class Table(NamedTuple):
    """One data file, or one folder of files that share their columns."""

    name: str
    path: str  # "data/gpus.csv", or "data/prices/*.csv"
    doc: Text
    columns: tuple[Column, ...]
    key: tuple[str, ...]  # no two rows may share it
    order: tuple[str, ...]  # rows are kept in this order; mended, never red

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)


def _c(name: str, kind: str, es: str, en: str, example: str = "", **more: Any) -> Column:
    return Column(name, kind, Text(es, en), example, **more)


def _checked(required: bool = True) -> Column:
    return _c(
        "checked",
        "date",
        "Día en que alguien miró la fuente. Si solo se sabe el mes o el año: 2026-10 o 2026.",
        "The day someone looked at the source. When only the month or year is known: 2026-10 or 2026.",
        "2026-11-30",
        required=required,
    )


def _source_url(required: bool = True, inside: bool = False) -> Column:
    return _c(
        "source_url",
        "url",
        "Dónde se lee el dato (https). En precios: una página del proveedor o un tercero de `data/sources.toml`.",
        "Where it can be read (https). For prices: a page of the provider or a third party in `data/sources.toml`.",
        "https://www.runpod.io/pricing",
        required=required,
        inside=inside,
    )


def _note() -> Column:
    return _c(
        "note",
        "text",
        "Lo que quien lea la fila debe saber. Una nota también confirma un precio que se sale de lo normal.",
        "What a reader of the row must know. A note also confirms a price that is out of the ordinary.",
        "published floor price",
        inside=True,
    )


_GPU = _c(
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
        _c(
            "offer",
            "text",
            "Nombre de la oferta tal como lo escribe el proveedor.",
            "Name of the offer as the provider writes it.",
            "1x RTX 4090",
            required=True,
        ),
        _GPU,
        _c(
            "gpus",
            "integer",
            "Cuántas GPU trae la oferta.",
            "How many GPUs the offer has.",
            "1",
            required=True,
            low=1,
            high=128,
        ),
        _c(
            "region",
            "text",
            "Región con el nombre del proveedor; vacío si la fuente no la dice.",
            "Region as the provider names it; empty if the source does not say.",
            "eu-north1",
        ),
        _c(
            "purchase",
            "choice",
            "Bajo demanda (`on-demand`) o interrumpible (`spot`).",
            "On demand, or interruptible (`spot`).",
            "on-demand",
            required=True,
            choices=("on-demand", "spot"),
        ),
        _c(
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
        _c("vcpus", "integer", "CPU virtuales.", "Virtual CPUs.", "16", unit="vCPU", low=1, high=4096),
        _c("ram_gib", "number", "Memoria del equipo.", "Memory of the host.", "117", unit="GiB", low=0.5, high=65536),
        _c(
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
        _c(
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
        _c(
            "assumed",
            "words",
            "Lo que se da por supuesto: `form_factor`, la fuente no dice SXM, PCIe o NVL; `from_price`, es un precio "
            "«desde»; `host_extra`, CPU y memoria se cobran aparte; `average`, promedia varias ofertas.",
            "What is taken for granted: `form_factor`, the source does not say SXM, PCIe or NVL; `from_price`, it is a "
            "“from” price; `host_extra`, CPU and memory are billed apart; `average`, it averages several offers.",
            "form_factor",
            choices=("form_factor", "from_price", "host_extra", "average"),
        ),
        _checked(),
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
        _c("provider", "id", "Id del proveedor.", "Id of the provider.", "runpod-secure", required=True,
           refers="providers"),
        *(
            column
            for column in PRICES.columns
            if column.name
            in ("offer", "gpu", "gpus", "region", "purchase", "usd_per_hour", "checked", "source_url", "note")
        ),
    ),
    key=("provider", "offer", "region", "gpu", "gpus", "purchase", "checked"),
    order=("provider", "gpu", "gpus", "offer", "region", "purchase", "checked"),
)  # fmt: skip


def _speed(name: str, es: str, en: str, unit: str = "TFLOPS", high: float = 20000) -> Column:
    return _c(name, "number", es, en, "312", unit=unit, low=1, high=high)


GPUS = Table(
    "gpus",
    "data/gpus.csv",
    Text("Las GPU y lo que de cada una se sabe.", "The GPUs and what is known of each."),
    (
        _c(
            "id", "id", "Nombre y memoria: `<nombre>-<GB>gb`.", "Name and memory: `<name>-<GB>gb`.",
            "rtx-4090-24gb", required=True,
        ),
        _c("name", "text", "Nombre que se muestra.", "Name that is shown.", "RTX 4090 24 GB", required=True),
        _c(
            "vendor", "choice", "Fabricante.", "Maker.", "NVIDIA", required=True,
            choices=("NVIDIA", "AMD", "Intel", "Google", "AWS"),
        ),
        _c("architecture", "text", "Arquitectura.", "Architecture.", "Ada", required=True),
        _c("compute_capability", "text", "Capacidad de cómputo CUDA, o el nombre gfx de AMD.",
           "CUDA compute capability, or AMD's gfx name.", "8.9"),
        _c("memory_label_gb", "integer", "Memoria con la que se vende.", "Memory it is sold with.", "24",
           required=True, unit="GB", low=1, high=2048),
        _c("nvidia_smi_mib", "integer", "Total que muestra `nvidia-smi` (o `rocm-smi`).",
           "Total that `nvidia-smi` (or `rocm-smi`) shows.", "24564", unit="MiB", low=1024, high=2_000_000),
        _c(
            "usable_gib", "number",
            "Memoria que CUDA ofrece a un programa, la que se compara con lo que pide el entrenamiento.",
            "Memory that CUDA offers to a program: what a training run's need is compared with.",
            "23.64", unit="GiB", low=1, high=2048,
        ),
        _c(
            "usable_basis", "choice",
            "`seen`: la menor que se ha visto en mensajes públicos de memoria agotada. `estimated`: `nvidia_smi_mib` "
            "menos 512 MiB o el 1 %, lo que sea más.",
            "`seen`: the least seen in public out-of-memory messages. `estimated`: `nvidia_smi_mib` less 512 MiB or "
            "1 %, whichever is more.",
            "seen", choices=("seen", "estimated"),
        ),
        _c("memory_type", "text", "Tipo de memoria.", "Kind of memory.", "GDDR6X"),
        _c("memory_bandwidth_gb_per_s", "number", "Ancho de banda de la memoria.", "Memory bandwidth.", "1008",
           unit="GB/s", low=50, high=50000),
        _speed("bf16_dense_tflops", "Pico denso en BF16 con acumulación en FP32.",
               "Dense BF16 peak with FP32 accumulation."),
        _speed("fp16_dense_tflops", "Pico denso en FP16 con acumulación en FP32.",
               "Dense FP16 peak with FP32 accumulation."),
        _speed("fp32_tflops", "Pico en FP32.", "FP32 peak."),
        _speed("int8_dense_tops", "Pico denso en INT8.", "Dense INT8 peak.", "TOPS"),
        _speed("fp8_dense_tflops", "Pico denso en FP8.", "Dense FP8 peak."),
        _speed("fp4_dense_tflops", "Pico denso en FP4.", "Dense FP4 peak."),
        _speed("gemm_measured_tflops", "Mejor multiplicación de matrices en BF16 que alguien midió.",
               "Best BF16 matrix multiplication that someone measured."),
        _c("interconnect", "text", "Enlace entre GPU.", "Link between GPUs.", "nvlink4"),
        _c("interconnect_gb_per_s", "number", "Ancho de banda del enlace, los dos sentidos juntos.",
           "Bandwidth of the link, both directions together.", "900", unit="GB/s", low=1, high=20000),
        _c("pcie_generation", "integer", "Generación de PCIe.", "PCIe generation.", "4", low=1, high=8),
        _c("tdp_w", "number", "Consumo de diseño.", "Design power.", "450", unit="W", low=10, high=5000),
        _c("ecc", "yes-no", "Memoria con corrección de errores.", "Memory with error correction.", "yes"),
        _c("supports_bf16", "yes-no", "Calcula en BF16 por hardware.", "Computes BF16 in hardware.", "yes"),
        _c("supports_flash_attention_2", "yes-no", "Corre FlashAttention-2.", "Runs FlashAttention-2.", "yes"),
        _c("supports_fp8", "yes-no", "Calcula en FP8 por hardware.", "Computes FP8 in hardware.", "yes"),
        _c("release_year", "integer", "Año de salida.", "Year of release.", "2022", low=2010, high=2040),
        _c("class", "choice", "Gama.", "Tier.", "consumer", required=True,
           choices=("consumer", "workstation", "datacenter")),
        _c("source", "text", "De dónde salen las cifras y cuántas coinciden.",
           "Where the figures come from and how many agree.", "techpowerup (3)", required=True, inside=True),
        _source_url(inside=True),
        _checked(),
        _note(),
    ),
    key=("id",),
    order=("vendor", "release_year", "id"),
)  # fmt: skip

ALIASES = Table(
    "gpu_aliases",
    "data/gpu_aliases.csv",
    Text(
        "Otros nombres de las GPU. Se comparan enteros, nunca por partes; los ambiguos se rechazan.",
        "Other spellings of the GPUs. Compared whole, never by parts; ambiguous ones are refused.",
    ),
    (
        _c("alias", "text", "Nombre tal como aparece en la fuente.", "Name as the source writes it.", "A100-80GB-SXM4",
           required=True),
        _GPU._replace(
            required=False,
            doc=Text("Id de la GPU; vacío si el nombre es ambiguo.", "Id of the GPU; empty if the name is ambiguous."),
        ),
        _c("context", "text", "Fuente en la que vale; vacío = en todas.", "Source it holds for; empty = all.",
           "skypilot"),
        _note(),
    ),
    key=("alias", "context"),
    order=("alias", "context"),
)  # fmt: skip

INSTANCES = Table(
    "instances",
    "data/instances.csv",
    Text(
        "Tipos de instancia cuya fuente de precios no dice qué GPU llevan.",
        "Instance types whose source of prices does not say which GPU they have.",
    ),
    (
        _c("provider", "id", "Id del proveedor.", "Id of the provider.", "aws", required=True, refers="providers"),
        _c("offer", "text", "Nombre del tipo.", "Name of the type.", "g5.xlarge", required=True),
        *(column for column in PRICES.columns if column.name in ("gpu", "gpus", "vcpus", "ram_gib")),
    ),
    key=("provider", "offer"),
    order=("provider", "gpu", "gpus", "offer"),
)  # fmt: skip

MODELS = Table(
    "models",
    "data/models.csv",
    Text("Índice de los modelos; la arquitectura está en `data/models/<id>.json`.",
         "Index of the models; the architecture is in `data/models/<id>.json`."),
    (
        _c("id", "id", "Id del modelo.", "Id of the model.", "llama-3.1-8b", required=True),
        _c("name", "text", "Nombre que se muestra.", "Name that is shown.", "Llama 3.1 8B", required=True),
        _c("family", "text", "Familia.", "Family.", "Llama", required=True),
        _c("hf_id", "text", "Repositorio en Hugging Face.", "Hugging Face repository.", "meta-llama/Llama-3.1-8B"),
        _c("published_parameters", "integer", "Parámetros que publica una fuente.", "Parameters a source publishes.",
           "8030261248", low=1_000_000, high=10**14),
        _c("published_parameters_source_url", "url", "Dónde se publica esa cifra.", "Where that figure is published.",
           "https://huggingface.co/meta-llama/Llama-3.1-8B", inside=True),
        _c("license", "text", "Licencia.", "Licence.", "llama3.1", inside=True),
        _c("gated", "yes-no", "Hay que aceptar condiciones para descargarlo.", "Terms must be accepted to download it.",
           "yes", inside=True),
        _c("released", "date", "Fecha de publicación.", "Release date.", "2024-07-23", inside=True),
        _checked(),
        _note(),
    ),
    key=("id",),
    order=(),
)  # fmt: skip

# Of each data/models/<id>.json, beside `config`.
ARCHITECTURE: tuple[Column, ...] = (_source_url(), _checked())

MEMORY = Table(
    "memory",
    "data/measurements/memory.csv",
    Text("Picos de memoria que alguien midió y publicó.", "Memory peaks that someone measured and published."),
    (
        _c("id", "id", "Id de la medición.", "Id of the measurement.", "fms-001", required=True),
        _c("source", "text", "Quién la publicó.", "Who published it.", "huggingface/peft", required=True),
        _c("source_path", "text", "En qué archivo o página.", "In which file or page.", "README.md"),
        _c("source_version", "text", "Revisión o fecha de la fuente.", "Revision or date of the source.", "24bdadb"),
        _source_url(),
        _c("model", "text", "Modelo, como lo escribe la fuente.", "Model, as the source writes it.", "Llama-2-7B",
           required=True),
        _c("hf_id", "text", "Repositorio en Hugging Face.", "Hugging Face repository.", "meta-llama/Llama-2-7b-hf"),
        _c("method", "text", "Método.", "Method.", "qlora", required=True),
        _c("lora_rank", "text", "Rango de LoRA.", "LoRA rank.", "16"),
        _c("lora_targets", "text", "Módulos con LoRA.", "Modules with LoRA.", "q_proj v_proj"),
        _c("base_precision", "text", "Precisión de los pesos base.", "Precision of the base weights.", "bf16"),
        _c("trained_precision", "text", "Precisión de lo que se entrena.", "Precision of what is trained.", "fp32"),
        _c("optimizer", "text", "Optimizador.", "Optimizer.", "adamw"),
        _c("micro_batch", "text", "Microlote.", "Micro-batch.", "4"),
        _c("sequence_length", "text", "Longitud de la secuencia.", "Sequence length.", "2048", unit="tokens"),
        _c("packing", "text", "Empaquetado o relleno.", "Packed or padded.", "yes"),
        _c("gradient_checkpointing", "text", "Recálculo de activaciones.", "Activation recomputation.", "yes"),
        _c("attention", "text", "Implementación de la atención.", "Attention implementation.", "flash2"),
        _c("loss", "text", "Cálculo de la pérdida.", "How the loss is computed.", "none"),
        _c("framework", "text", "Programa.", "Software.", "TRL"),
        _c("gpu", "text", "GPU, como la escribe la fuente.", "GPU, as the source writes it.", "A100 80GB"),
        _c("gpus", "text", "Cuántas GPU.", "How many GPUs.", "1"),
        _c("parallelism", "text", "Reparto entre GPU.", "How it is spread over GPUs.", "fsdp"),
        _c("offload", "text", "Qué se lleva a la CPU.", "What is moved to the CPU.", "none"),
        _c("task", "text", "Tarea.", "Task.", "sft"),
        _c("trainable_parameters", "text", "Parámetros que se entrenan.", "Parameters that are trained.", "41943040"),
        _c("peak_gib", "number", "Pico medido, por GPU.", "Measured peak, per GPU.", "10.494", unit="GiB", low=0.01,
           high=4096),
        _c("peak_kind", "text", "Qué pico es.", "Which peak it is.", "allocated"),
        _c("printed", "text", "La cifra como la imprime la fuente.", "The figure as the source prints it.", "11.3 GB"),
        _c("unit", "text", "Cómo se leyó su unidad.", "How its unit was read.", "exact"),
        _c("scope", "text", "De una GPU o de todas.", "Of one GPU or of all.", "per_gpu"),
        _c("second_gib", "number", "Otra cifra de la misma ejecución.", "Another figure of the same run.", "14.762",
           unit="GiB", low=0.01, high=65536),
        _c("second_kind", "text", "Qué mide esa otra cifra.", "What that other figure measures.", "nvidia-smi"),
        _c("static_gib", "number", "Asignado fuera del paso.", "Allocated outside the step.", "6.305", unit="GiB",
           low=0.001, high=4096),
        _c("quality", "choice", "`A`: ajustes conocidos. `B`: casi todos.", "`A`: settings known. `B`: most.", "A",
           choices=("A", "B", "C")),
        _c("note", "text", "Lo que hay que saber.", "What is good to know.", "", high=4000),
    ),
    key=("id",),
    order=(),
)  # fmt: skip

LINKS = Table(
    "links",
    "data/links.csv",
    Text("Enlaces externos de la guía y qué respalda cada uno.", "The guide's outside links and what each supports."),
    (
        _c("url", "url", "Dirección.", "Address.", "https://arxiv.org/abs/2305.14314", required=True),
        _c("seen_in", "text", "Página que lo cita.", "Page that cites it.", "guide/methods/qlora.md"),
        _checked(),
        _c("claim", "text", "Lo que respalda.", "What it supports.", "QLoRA: NF4 and double quantisation",
           required=True),
    ),
    key=("url", "seen_in"),
    order=(),
)  # fmt: skip

# --- TOML ---

PROVIDER_FACTS: tuple[Column, ...] = (
    _c("billing_granularity_seconds", "number", "Cobra por tramos de este largo.", "Bills in steps of this length.",
          "60", unit="s", low=0.000001, high=2_678_400),
    _c("minimum_charge_seconds", "number", "Cobra al menos este tiempo.", "Bills at least this long.", "60",
          unit="s", low=0, high=2_678_400),
    _c("spot", "yes-no", "Vende instancias interrumpibles.", "Sells interruptible instances.", "true"),
    _c("spot_notice_seconds", "number", "Aviso antes de interrumpir.", "Notice before it interrupts.", "120",
          unit="s", low=0, high=604_800),
    _c("stop", "yes-no", "Una máquina se puede parar y retomar sin perder el disco.",
          "A machine can be stopped and resumed without losing its disk.", "true"),
    _c("persistent_storage", "yes-no", "El disco o volumen sobrevive a la máquina.",
          "A disk or volume outlives the machine.", "true"),
    _c("storage_billed_while_stopped", "yes-no", "El disco se cobra con la máquina parada.",
          "The disk is billed while the machine is stopped.", "true"),
    _c("block_storage_usd_per_gb_month", "number", "Disco de bloques.", "Block storage.", "0.1",
          unit="USD/GB·month", low=0, high=10),
    _c("network_storage_usd_per_gb_month", "number", "Disco de red o sistema de archivos compartido.",
          "Network volume or shared file system.", "0.07", unit="USD/GB·month", low=0, high=10),
    _c("stopped_storage_usd_per_gb_month", "number", "Disco con la máquina parada, si cuesta otra cosa.",
          "Disk while the machine is stopped, where it costs something else.", "0.2",
          unit="USD/GB·month", low=0, high=10),
    _c("egress_usd_per_gb", "number", "Datos que salen.", "Data going out.", "0.09", unit="USD/GB", low=0, high=10),
    _c("free_egress_gb_per_month", "number", "Salida gratis al mes.", "Free data out per month.", "100",
          unit="GB", low=0, high=10_000_000),
    _c("ssh", "yes-no", "Entrada por SSH.", "SSH access.", "true"),
    _c("docker", "yes-no", "Corre tu imagen de Docker.", "Runs your Docker image.", "true"),
    _c("jupyter", "yes-no", "Cuaderno Jupyter de serie.", "Jupyter notebook built in.", "true"),
    _c("api", "yes-no", "Interfaz para programas.", "Interface for programs.", "true"),
    _c("autostop", "yes-no", "Puede apagarse sola cuando no se usa.", "Can stop by itself when idle.", "true"),
    _c("budget_alerts", "yes-no", "Avisos o topes de gasto.", "Spending alerts or limits.", "true"),
    _c("multi_node_link", "text", "Red rápida entre máquinas.", "Fast network between machines.", "InfiniBand"),
    _c("regions_eu", "list", "Regiones en Europa.", "Regions in Europe.", '["eu-north1"]'),
    _c("regions_latam", "list", "Regiones en América Latina.", "Regions in Latin America.", '["sa-east-1"]'),
)  # fmt: skip

PROVIDERS = Table(
    "providers",
    "data/providers.toml",
    Text(
        "Lo que se sabe de cada proveedor. Una clave que falta es algo que nadie ha leído: no es un «no».",
        "What is known of each provider. A missing key is something nobody has read: it is not a “no”.",
    ),
    (
        _c("name", "text", "Nombre.", "Name.", "RunPod Secure Cloud", required=True),
        _c("url", "url", "Página del proveedor.", "The provider's page.", "https://www.runpod.io", required=True),
        _c("kind", "choice", "Tipo.", "Kind.", "neocloud", required=True,
           choices=("hyperscaler", "neocloud", "marketplace", "notebook", "serverless", "broker")),
        _c("domains", "list", "Otros dominios suyos que valen como fuente de un precio.",
           "Other domains of theirs that count as the source of a price.", '["docs.runpod.io"]', inside=True),
        _c("price_regions", "list", "Regiones cuyos precios guardan los robots; sin ellas, la más barata de cada una.",
           "Regions whose prices the robots keep; without them, the cheapest of each offer.", '["us-east-1"]',
           inside=True),
        _c("note", "text", "Lo que conviene saber.", "What is good to know.", "", inside=True),
        *PROVIDER_FACTS,
    ),
    key=("id",),
    order=(),
)  # fmt: skip

PROVIDER_SOURCE: tuple[Column, ...] = (
    _c("url", "url", "Página leída.", "Page that was read.", "https://docs.runpod.io/pods/pricing", required=True),
    _checked(),
    _c("facts", "list", "Las claves que esa página respalda.", "The keys that page supports.", '["spot", "stop"]',
       required=True),
)  # fmt: skip

SOURCES = Table(
    "sources",
    "data/sources.toml",
    Text("Terceros que valen como fuente de un precio.", "Third parties that count as the source of a price."),
    (
        _c("name", "text", "Nombre.", "Name.", "SkyPilot catalogue", required=True),
        _c("url", "url", "Toda dirección que empiece así vale.", "Every address that starts like this counts.",
           "https://github.com/skypilot-org/skypilot-catalog", required=True),
        _c("license", "text", "Licencia de los datos.", "Licence of the data.", "Apache-2.0"),
        _c("note", "text", "Qué es y qué trampas tiene.", "What it is and which traps it has.", "", inside=True),
    ),
    key=("id",),
    order=(),
)  # fmt: skip

ASSUMPTIONS = Table(
    "assumptions",
    "data/assumptions.toml",
    Text("Cada constante de una fórmula, con su rango y su fuente.",
         "Every constant of a formula, with its range and its source."),
    (
        _c("low", "number", "Valor bajo.", "Low value.", "0.9", required=True),
        _c("mid", "number", "Valor central.", "Middle value.", "1.0", required=True),
        _c("high", "number", "Valor alto.", "High value.", "1.2", required=True),
        _c("unit", "text", "Unidad.", "Unit.", "GiB", required=True),
        _c("source", "text", "De dónde sale.", "Where it comes from.", "fms-acceleration, 308 runs", required=True),
        _c("url", "url", "Dónde leerlo.", "Where to read it.", "https://github.com/huggingface/peft"),
        _checked(),
    ),
    key=("id",),
    order=(),
)  # fmt: skip

TABLES: dict[str, Table] = {
    table.name: table
    for table in (PRICES, PAST_PRICES, INSTANCES, GPUS, ALIASES, PROVIDERS, SOURCES, MODELS, MEMORY, ASSUMPTIONS, LINKS)
}

_JSON_TYPES = {
    "integer": "integer", "number": "number", "yes-no": "boolean", "list": "array", "words": "array",
}  # fmt: skip


def json_schema(table: Table) -> dict[str, Any]:
    """JSON Schema 2020-12 of one row, typed as in the catalog and the API: unknown is null."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": table.name, "description": table.doc.en}
    return head | json_object(table.columns)


def json_object(columns: tuple[Column, ...]) -> dict[str, Any]:
    """The same for any columns, without the heading."""
    return {
        "type": "object",
        "properties": {column.name: _json_property(column) for column in columns},
        "required": [column.name for column in columns if column.required],
    }


def _json_property(column: Column) -> dict[str, Any]:
    kind = _JSON_TYPES.get(column.kind, "string")
    unit = f" [{column.unit}]" if column.unit else ""
    entry: dict[str, Any] = {
        "type": kind if column.required or column.kind == "words" else [kind, "null"],
        "description": column.doc.en + unit,
    }
    if kind == "array":
        entry["items"] = {"type": "string"} | ({"enum": list(column.choices)} if column.choices else {})
    elif column.choices:
        entry["enum"] = [*column.choices, *([] if column.required else [None])]
    if kind in ("integer", "number"):
        entry |= {
            name: limit for name, limit in (("minimum", column.low), ("maximum", column.high)) if limit is not None
        }
    pattern = {"url": "^https://", "date": r"^\d{4}(-\d{2}(-\d{2})?)?$"}.get(column.kind)
    return entry | ({"pattern": pattern} if pattern else {})
