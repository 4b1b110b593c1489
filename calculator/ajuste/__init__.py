"""Ajuste: memory, time and cost of fine-tuning a language model, in pure Python.

>>> import ajuste
>>> catalog = ajuste.load_catalog(text)             # the bundle's JSON, or "{}" for memory only
>>> ajuste.estimate({"model": "llama-3.1-8b", "method": "qlora"}, catalog)["memory"]["peak_moment"]
'backward'
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # typing's own name without importing typing: type checkers take it for true
if TYPE_CHECKING:
    from typing import Any

    from .answer import estimate, estimate_json
    from .catalog import Catalog, load_catalog
    from .errors import RequestError

__all__ = ["Catalog", "RequestError", "estimate", "estimate_json", "load_catalog", "read_config", "run_files"]

_HOMES = {
    "Catalog": "catalog",
    "RequestError": "errors",
    "estimate": "answer",
    "estimate_json": "answer",
    "load_catalog": "catalog",
}


def __getattr__(name: str) -> object:
    """A public name, from its module when it is first asked for: importing the package costs nothing before that."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ajuste' has no attribute '{name}'")
    found: object = getattr(__import__(f"ajuste.{home}", fromlist=[name]), name)
    globals()[name] = found
    return found


def read_config(config: dict[str, Any], tool: str, method: str | None = None) -> dict[str, Any]:
    """The request that a tool's file means; see `ajuste.tool_files.read_config`."""
    # Imported when asked for: the page's first answer does not wait for the tools' tables.
    from .tool_files import read_config as read

    return read(config, tool, method)


def run_files(
    answer: dict[str, Any],
    catalog: Catalog,
    target: str,
    *,
    offer: int | None = None,
    language: str = "en",
    model: object = None,
) -> dict[str, Any]:
    """The files that start an answer's run; see `ajuste.launch.run_files`."""
    from .launch import run_files as files

    return files(answer, catalog, target, offer=offer, language=language, model=model)
