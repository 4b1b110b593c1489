"""Sentences of the command line alone. What the page also says (moments, terms, advice) comes from its own files."""

from __future__ import annotations

from .sentences import Sentences, sentences

WORDS: Sentences = sentences("""
about
  es ¿Cabe tu fine-tuning? ¿Cuánto tarda, cuánto cuesta y dónde alquilar la GPU?
  en Will your fine-tune fit? How long, how much, and where to rent the GPU?
epilog
  es Termina con 0 si cabe, 3 si va justo, 4 si no cabe, 2 si la solicitud está mal, 1 si fallamos nosotros.
  en Ends with 0 when it fits, 3 when tight, 4 when it does not fit, 2 for a bad request, 1 for our fault.
usage
  es uso:
  en usage:
arguments
  es argumentos
  en arguments
options
  es opciones
  en options
help.help
  es esta ayuda
  en this help
help.version
  es la versión
  en the version
estimate
  es memoria, tiempo y costo de un fine-tuning
  en memory, time and cost of a fine-tune
fit
  es qué cabe en una GPU
  en what fits a GPU
rank
  es ofertas, de la más barata a la más cara
  en offers, the cheapest first
invert
  es qué cabe en un presupuesto y un plazo
  en what a budget and a deadline buy
explain
  es un término o una constante: fórmula, valores, fuente
  en a term or a constant: formula, values, source
models
  es los modelos del catálogo
  en the catalog's models
gpus
  es las GPU del catálogo
  en the catalog's GPUs
prices
  es los precios del catálogo
  en the catalog's prices
export
  es los archivos que lanzan el trabajo
  en the files that start the job
help.files
  es archivos o direcciones (axolotl, LLaMA-Factory, TRL, torchtune, DeepSpeed, accelerate), un modelo o su config.json,
     o una solicitud en JSON; «-» es la entrada estándar
  en files or addresses (axolotl, LLaMA-Factory, TRL, torchtune, DeepSpeed, accelerate), a model or its config.json, or
     a request in JSON; “-” is standard input
help.config
  es otro archivo o dirección, leído igual; puede repetirse
  en another file or address, read alike; may be repeated
help.tool
  es de qué herramienta son los archivos, si no se adivina
  en whose files they are, where it cannot be told
help.model
  es id del catálogo o de Hugging Face
  en id of the catalog or of Hugging Face
help.method
  es full, lora, qlora, …
  en full, lora, qlora, …
help.gpu
  es solo en esta GPU: su id o su nombre (RTX 4090)
  en on this GPU only: its id or name (RTX 4090)
help.set
  es cualquier campo de la solicitud: --set lora.rank=64 --set 'dataset.examples=5000'
  en any field of the request: --set lora.rank=64 --set 'dataset.examples=5000'
help.json
  es la respuesta del contrato, en JSON
  en the contract's answer, as JSON
help.lang
  es idioma; por defecto el del sistema
  en language; the system's by default
help.catalog
  es otro catalog.json; por defecto el que trae el paquete
  en another catalog.json; the package's by default
help.limit
  es cuántas filas
  en how many rows
help.budget
  es presupuesto en USD
  en budget in USD
help.deadline
  es plazo en horas
  en deadline in hours
help.filter
  es solo filas que contengan esto
  en only rows that contain this
help.term
  es un término de la memoria o una constante
  en a term of memory or a constant
help.target
  es para qué herramienta o motor
  en for which tool or engine
help.output
  es carpeta; sin ella se imprimen
  en folder; without it they are printed
help.offer
  es qué oferta de «rank», desde 1; por defecto la más barata
  en which offer of “rank”, from 1; the cheapest by default
catalog
  es Datos al {data}. Estimador {version}.
  en Data as of {data}. Estimator {version}.
memory
  es Memoria
  en Memory
required
  es {mid} GiB ({low}–{high}), pico en {moment}
  en {mid} GiB ({low}–{high}), peak in {moment}
whole-run
  es {mid} GiB ({low}–{high}) con {moment}
  en {mid} GiB ({low}–{high}) with {moment}
time
  es Tiempo
  en Time
hours
  es {mid} h ({low}–{high}) en {count} × {gpu}
  en {mid} h ({low}–{high}) on {count} × {gpu}
cost
  es Costo
  en Cost
usd
  es {mid} USD ({low}–{high}) en {provider}, {purchase}
  en USD {mid} ({low}–{high}) at {provider}, {purchase}
no-offer
  es ninguna oferta
  en no offer
run
  es Toda la ejecución
  en Whole run
host
  es Además
  en Besides
host-values
  es {ram} GiB de RAM, {disk} GB de disco
  en {ram} GiB of RAM, {disk} GB of disk
defaults
  es Supuestos
  en Assumed
drives
  es Del archivo
  en From the file
ignored
  es No cuentan
  en Not counted
advice
  es Consejos
  en Advice
levers
  es Para que ocupe menos
  en To take less
saves
  es −{gib} GiB, tiempo × {slowdown}
  en −{gib} GiB, time × {slowdown}
wrote
  es escrito: {path}
  en written: {path}
refused
  es Ningún archivo lo dice:
  en No file says it:
nothing
  es Nada.
  en Nothing.
working
  es calculando…
  en working…
reading
  es leyendo {name}…
  en reading {name}…
formula
  es Fórmula
  en Formula
constants
  es Constantes
  en Constants
source
  es Fuente
  en Source
seen
  es visto
  en seen
unknown-term
  es No conozco «{term}». ¿Querías decir {near}?
  en “{term}” is not known. Did you mean {near}?
unreadable
  es {name}: no se puede leer ({why}).
  en {name}: cannot be read ({why}).
neither
  es {name}: no es un archivo que exista ni un modelo del catálogo. Se acepta un archivo, una dirección, «-», una
     solicitud en JSON o un modelo (`ajuste models`).
  en {name}: neither a file that exists nor a model of the catalog. Accepted: a file, an address, “-”, a request in
     JSON, or a model (`ajuste models`).
missing
  es no existe
  en there is none
offline
  es no hay red, o no existe esa dirección: {why}
  en there is no network, or no such address: {why}
refused-address
  es el servidor contestó {code}
  en the server answered {code}
no-yaml
  es {name} es YAML: instala pyyaml.
  en {name} is YAML: install pyyaml.
deep
  es hay tablas o listas demasiado metidas unas en otras, o una dentro de sí misma
  en tables or lists lie too deep in one another, or one in itself
unread
  es No se entendió «{key}: {value}»; va lo de fábrica.
  en “{key}: {value}” was not understood; a default stands in its place.
no-catalog
  es Falta el catálogo: en un clon del repositorio lo hace «make build»; si no, reinstala ajuste (el paquete lo trae) o
     dilo con --catalog.
  en There is no catalog: in a clone of the repository “make build” makes it; else reinstall ajuste (the package brings
     it) or say --catalog.
empty-catalog
  es El catálogo {name} no tiene modelos o GPU: dile otro a --catalog, o déjalo fuera.
  en The catalog {name} has no models or no GPUs: give --catalog another one, or leave it out.
whose
  es {name}: no sé de qué herramienta es; di --tool.
  en {name}: cannot tell whose file it is; say --tool.
try
  es Quizá: {near}
  en Perhaps: {near}
col.term
  es Qué ocupa
  en What takes it
col.gib
  es GiB
  en GiB
col.gpu
  es GPU
  en GPU
col.usable
  es útil
  en usable
col.need
  es necesita
  en needs
col.verdict
  es
  en
col.batch
  es micro-lote
  en micro-batch
col.tokens
  es tokens
  en tokens
col.hours
  es horas
  en hours
col.usd
  es USD
  en USD
col.usd-h
  es USD/h
  en USD/h
col.provider
  es proveedor
  en provider
col.purchase
  es compra
  en purchase
col.seen
  es visto
  en seen
col.model
  es modelo
  en model
col.method
  es método
  en method
col.parameters
  es parámetros
  en parameters
col.family
  es familia
  en family
col.bandwidth
  es GB/s
  en GB/s
col.tflops
  es TFLOPS bf16
  en bf16 TFLOPS
col.region
  es región
  en region
col.offer
  es oferta
  en offer
col.constant
  es constante
  en constant
col.low
  es bajo
  en low
col.mid
  es medio
  en mid
col.high
  es alto
  en high
col.unit
  es unidad
  en unit
col.key
  es clave
  en key
col.value
  es valor
  en value
col.reason
  es por qué
  en why
""")
