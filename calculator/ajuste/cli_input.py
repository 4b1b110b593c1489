"""What was typed on the command line, as a request: models, files of tools, options, the later over the earlier."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from . import Catalog, RequestError, load_catalog, read_config
from .catalog import find_model
from .cli_text import Screen, packed_path, progress
from .contract import DEEPEST, is_deep
from .tool_files import PARTIAL


class UsageError(Exception):
    """What was typed cannot be done; the text says why, in the language of the screen."""


def catalog_of(options: argparse.Namespace, screen: Screen) -> Catalog:
    """The catalog that was named, or the one that the package brings."""
    path = options.catalog or packed_path("catalog.json")
    if path is None:
        raise UsageError(screen.say("no-catalog"))
    catalog = load_catalog(text_of(path, screen))
    if not catalog.models or not catalog.gpus:
        raise UsageError(screen.say("empty-catalog", name=path))
    return catalog


def text_of(name: str, screen: Screen) -> str:
    """A file, an address, or standard input."""
    try:
        if name == "-":
            return sys.stdin.read()
        if name.startswith(("https://", "http://")):
            from urllib.request import urlopen

            with progress(screen.say("reading", name=name)), urlopen(name, timeout=30) as answer:
                text: str = answer.read().decode("utf-8")
                return text
        with open(name, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(screen.say("unreadable", name=name, why=_why(error, screen))) from None


def _why(error: Exception, screen: Screen) -> str:
    """What kept a file or an address from being read, in the language of the screen where it is a common fault."""
    if isinstance(error, FileNotFoundError):
        return screen.say("missing")
    if type(error).__name__ == "URLError":  # by name: urllib takes long to import, and most files are no addresses
        return screen.say("offline", why=getattr(error, "reason", error))
    if type(error).__name__ == "HTTPError":
        return screen.say("refused-address", code=getattr(error, "code", error))
    return str(error)


def table_of(name: str, screen: Screen) -> dict[str, Any]:
    """A file as a table: JSON, else YAML."""
    text = name if name.lstrip().startswith("{") else text_of(name, screen)
    try:
        table = json.loads(text)
    except RecursionError:
        raise UsageError(screen.say("unreadable", name=short(name), why=screen.say("deep"))) from None
    except ValueError as broken:
        try:
            table = _yaml(text, screen)
        except ImportError:
            raise UsageError(screen.say("no-yaml", name=name)) from None
        except ValueError as error:
            why = broken if text.lstrip().startswith("{") else str(error).replace("\n", " ")
            raise UsageError(screen.say("unreadable", name=short(name), why=why)) from None
    if not isinstance(table, dict):
        raise UsageError(screen.say("unreadable", name=name, why=type(table).__name__))
    if is_deep(table):
        raise UsageError(screen.say("unreadable", name=short(name), why=screen.say("deep")))
    return table


def _yaml(text: str, screen: Screen) -> Any:
    """A YAML text. Raises ValueError that says why it is none, as soon as it is too deep: the library would recurse."""
    import yaml

    class Shallow(yaml.SafeLoader):  # type: ignore[misc]
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            if self.depth > 2 * DEEPEST:
                raise ValueError(screen.say("deep"))
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    try:
        return yaml.load(text, Loader=Shallow)
    except yaml.YAMLError as error:
        raise ValueError(error) from None


def tool_of(table: dict[str, Any]) -> str | None:
    """Whose file a table is: a tool of `read_config`, `request` (the contract's), `model` (a config.json), or None."""
    if "method" in table and "model" in table:
        return "request"
    if "base_model" in table:
        return "axolotl"
    if "distributed_type" in table or "compute_environment" in table:
        return "accelerate"
    if "zero_optimization" in table or "train_micro_batch_size_per_gpu" in table:
        return "deepspeed"
    if "checkpointer" in table and "tokenizer" in table:
        return "torchtune"
    if "model_name_or_path" in table:
        theirs = ("finetuning_type", "cutoff_len", "stage", "lora_target", "template")
        return "llama-factory" if any(key in table for key in theirs) else "trl"
    if "hidden_size" in table or "text_config" in table or "architectures" in table or "model_type" in table:
        return "model"
    return None


def take_models(options: argparse.Namespace, screen: Screen) -> None:
    """A word among the files that is none, but a model of the catalog, is the model."""
    files = []
    for name in getattr(options, "files", ()):
        if name == "-" or "://" in name or name.lstrip().startswith("{") or os.path.exists(name):
            files.append(name)
            continue
        try:
            options.model = options.model or find_model(catalog_of(options, screen), name)["id"]
        except RequestError as error:
            near = f" {screen.say('try', near=', '.join(error.suggestions))}" if error.suggestions else ""
            raise UsageError(screen.say("neither", name=name) + near) from None
    if files != getattr(options, "files", []):
        options.files = files


def request_of(options: argparse.Namespace, screen: Screen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The request that files and options make together, the later over the earlier; and how each file was read."""
    request: dict[str, Any] = {}
    readings = []
    said = _said(options)
    files = [_file(name, options, screen) for name in (*options.files, *options.config)]
    # What a launcher's file says of precision depends on what it launches, wherever that is said.
    read = [None if tool in PARTIAL else _read(table, tool) for table, tool in files]
    methods = [one["request"].get("method") for one in (*filter(None, read), {"request": said})]
    method = next((one for one in reversed(methods) if isinstance(one, str)), None)
    for (table, tool), one in zip(files, read, strict=True):
        reading = one or read_config(table, tool, method)
        if "drivers" in reading:
            readings.append(reading)
        lay(request, reading["request"])
    lay(request, said)
    return request, readings


def _file(name: str, options: argparse.Namespace, screen: Screen) -> tuple[dict[str, Any], str]:
    """A file as a table, and whose it is."""
    table = table_of(name, screen)
    tool = options.tool or tool_of(table)
    if tool is None:
        raise UsageError(screen.say("whose", name=name))
    return table, tool


def _read(table: dict[str, Any], tool: str) -> dict[str, Any]:
    """What a file says: a request and a config.json as they are, a tool's as its reader says."""
    if tool == "request":
        return {"request": table}
    return {"request": {"model": table}} if tool == "model" else read_config(table, tool)


def _said(options: argparse.Namespace) -> dict[str, Any]:
    """The request's fields that options say."""
    request: dict[str, Any] = {}
    for name in ("model", "method", "gpu"):
        if getattr(options, name, None):
            request[name] = getattr(options, name)
    for word in options.set:
        field, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--set {word}: FIELD=VALUE")
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            parsed = value
        inner: Any = parsed
        for step in reversed(field.split(".")):
            inner = {step: inner}
        lay(request, inner)
    return request


def lay(under: dict[str, Any], over: dict[str, Any]) -> None:
    """Fields of a request over those of another, table by table."""
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(name), dict) and name != "model":
            lay(under[name], value)
        else:
            under[name] = value


def short(value: object, limit: int = 40) -> str:
    """A value, cut."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= limit else text[: limit - 1] + "…"
