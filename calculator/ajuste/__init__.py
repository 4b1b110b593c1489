"""Ajuste: memory, time and cost of fine-tuning a language model, in pure Python.

>>> import ajuste
>>> catalog = ajuste.load_catalog(text)             # the bundle's JSON, or "{}" for memory only
>>> ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"}, catalog)["memory"]["peak_moment"]
'loss'
"""

__version__ = "0.1.0"

from typing import Any

from .answer import estimate, estimate_json
from .catalog import Catalog, load_catalog
from .errors import RequestError

__all__ = ["Catalog", "RequestError", "estimate", "estimate_json", "load_catalog", "read_config", "run_files"]


def read_config(config: dict[str, Any], tool: str) -> dict[str, Any]:
    """The request that a tool's file means; see `ajuste.tool_files.read_config`."""
    # Imported when asked for: the page's first answer does not wait for the tools' tables.
    from .tool_files import read_config as read

    return read(config, tool)


def run_files(
    answer: dict[str, Any], catalog: Catalog, target: str, *, offer: int | None = None, language: str = "en"
) -> dict[str, Any]:
    """The files that start an answer's run; see `ajuste.launch.run_files`."""
    from .launch import run_files as files

    return files(answer, catalog, target, offer=offer, language=language)
