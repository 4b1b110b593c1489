"""The command line: `ajuste estimate`, `fit`, `rank`, `invert`, `explain`, `models`, `gpus`, `prices`, `export`.

Tables for people, `--json` for programs (the contract's own bytes), exit codes for scripts. Everything works without
the network: the catalog comes with the package.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from typing import Any, NoReturn

from . import Catalog, RequestError, __version__, estimate, estimate_json, load_catalog, read_config
from .catalog import find_model
from .cli_text import Screen, packed_path, progress, system_language, usage_error
from .contract import DEEPEST, is_deep
from .errors import near_matches
from .sentences import LANGUAGES
from .tool_files import PARTIAL

FITS, FAULT, BAD_REQUEST, TIGHT, DOES_NOT_FIT = 0, 1, 2, 3, 4
EXIT = {"fits": FITS, "tight": TIGHT, "no": DOES_NOT_FIT}
ORDER = ("fits", "tight", "no")
COMMANDS = ("estimate", "fit", "rank", "invert", "explain", "models", "gpus", "prices", "export")


class UsageError(Exception):
    """What was typed cannot be done; the text says why, in the language of the screen."""


def main(words: list[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0 fits, 3 tight, 4 does not fit, 2 bad request, 1 our fault."""
    words = list(sys.argv[1:] if words is None else words)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="replace"
        )  # a terminal without our letters shows a question mark, not a traceback
    if words and (words[0] == "-" or words[0].lstrip().startswith("{")):
        words = ["estimate", "--json", *words]  # a request alone is answered as the contract says
    language = _language(words)
    screen = Screen(language)
    ours = parser(screen)
    options = ours.parse_args(words)
    if options.run is None:
        ours.print_help(sys.stderr)
        return BAD_REQUEST
    try:
        _take_models(options, screen)
        code: int = options.run(options, screen)
    except UsageError as error:
        print(error, file=sys.stderr)
        return BAD_REQUEST
    except RequestError as error:
        _complain(error.as_dict(), screen)
        return BAD_REQUEST
    except OSError:
        raise  # a pipe that closed, a full disk: not ours
    except Exception as error:  # as `estimate_json` does: a sentence, and whose fault it is
        _complain(RequestError("internal", detail=f"{type(error).__name__}, {_place(error)}").as_dict(), screen)
        return FAULT
    screen.show()
    return code


def _place(error: Exception) -> str:
    """The file and line that raised it, for whoever mends it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


def _language(words: list[str]) -> str:
    for index, word in enumerate(words):
        value = word.removeprefix("--lang=") if word.startswith("--lang=") else ""
        if word == "--lang" and index + 1 < len(words):
            value = words[index + 1]
        if value in LANGUAGES:
            return value
    return system_language()


def parser(screen: Screen) -> argparse.ArgumentParser:
    """All commands, with their help in the language of the screen."""
    say = screen.say

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            super().error(usage_error(message, screen.language))

    class Help(argparse.HelpFormatter):
        def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
            super().add_usage(usage, actions, groups, f"{say('usage')} " if prefix is None else prefix)

    def in_language(one: argparse.ArgumentParser) -> argparse.ArgumentParser:
        one._positionals.title, one._optionals.title = say("arguments"), say("options")
        one.add_argument("-h", "--help", action="help", help=say("help.help"))
        return one

    ours: dict[str, Any] = {"formatter_class": Help, "add_help": False}
    made = in_language(Parser(prog="ajuste", description=say("about"), epilog=say("epilog"), **ours))
    made.add_argument("--version", action="version", version=f"ajuste {__version__}", help=say("help.version"))
    made.set_defaults(run=None)
    commands = made.add_subparsers(metavar="COMMAND")

    def command(name: str, run: Any) -> argparse.ArgumentParser:
        added = in_language(
            commands.add_parser(name, help=say(name), description=say(name), epilog=say("epilog"), **ours)
        )
        added.set_defaults(run=run)
        added.add_argument("--lang", choices=LANGUAGES, help=say("help.lang"))
        added.add_argument("--catalog", metavar="FILE", help=say("help.catalog"))
        added.add_argument("--json", action="store_true", help=say("help.json"))
        return added

    def question(name: str, run: Any) -> argparse.ArgumentParser:
        added = command(name, run)
        added.add_argument("--config", action="append", default=[], metavar="FILE", help=say("help.config"))
        added.add_argument("--tool", help=say("help.tool"))
        added.add_argument("--model", help=say("help.model"))
        added.add_argument("--method", help=say("help.method"))
        added.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help=say("help.set"))
        return added

    for name, run in (("estimate", _estimate), ("rank", _rank)):
        added = question(name, run)
        added.add_argument("files", nargs="*", metavar="FILE", help=say("help.files"))
        added.add_argument("--gpu", help=say("help.gpu"))
        added.add_argument("--limit", type=int, default=12, help=say("help.limit"))
    added = question("fit", _fit)
    added.add_argument("gpu", help=say("help.gpu"))
    added.add_argument("files", nargs="*", metavar="FILE", help=say("help.files"))
    added = question("invert", _invert)
    added.add_argument("files", nargs="*", metavar="FILE", help=say("help.files"))
    added.add_argument("--gpu", help=say("help.gpu"))
    added.add_argument("--budget", type=float, required=True, help=say("help.budget"))
    added.add_argument("--deadline", type=float, default=168.0, help=say("help.deadline"))
    command("explain", _explain).add_argument("term", help=say("help.term"))
    for name, run in (("models", _models), ("gpus", _gpus), ("prices", _prices)):
        command(name, run).add_argument("filter", nargs="?", default="", help=say("help.filter"))
    added = question("export", _export)
    added.add_argument(
        "target",
        help=say("help.target")
        + ": trl, axolotl, llama-factory, torchtune, accelerate, skypilot, dstack, docker, smoke",
    )
    added.add_argument("files", nargs="*", metavar="FILE", help=say("help.files"))
    added.add_argument("--gpu", help=say("help.gpu"))
    added.add_argument("-o", "--output", metavar="DIR", help=say("help.output"))
    added.add_argument("--offer", type=int, help=say("help.offer"))
    return made


# ---------------------------------------------------------------------------------------------------- what was asked


def _catalog(options: argparse.Namespace, screen: Screen) -> Catalog:
    path = options.catalog or packed_path("catalog.json")
    if path is None:
        raise UsageError(screen.say("no-catalog"))
    catalog = load_catalog(_text(path, screen))
    if not catalog.models or not catalog.gpus:
        raise UsageError(screen.say("empty-catalog", name=path))
    return catalog


def _text(name: str, screen: Screen) -> str:
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


def _table(name: str, screen: Screen) -> dict[str, Any]:
    """A file as a table: JSON, else YAML."""
    text = name if name.lstrip().startswith("{") else _text(name, screen)
    try:
        table = json.loads(text)
    except RecursionError:
        raise UsageError(screen.say("unreadable", name=_short(name), why=screen.say("deep"))) from None
    except ValueError as broken:
        try:
            table = _yaml(text, screen)
        except ImportError:
            raise UsageError(screen.say("no-yaml", name=name)) from None
        except ValueError as error:
            why = broken if text.lstrip().startswith("{") else str(error).replace("\n", " ")
            raise UsageError(screen.say("unreadable", name=_short(name), why=why)) from None
    if not isinstance(table, dict):
        raise UsageError(screen.say("unreadable", name=name, why=type(table).__name__))
    if is_deep(table):
        raise UsageError(screen.say("unreadable", name=_short(name), why=screen.say("deep")))
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


def _take_models(options: argparse.Namespace, screen: Screen) -> None:
    """A word among the files that is none, but a model of the catalog, is the model."""
    files = []
    for name in getattr(options, "files", ()):
        if name == "-" or "://" in name or name.lstrip().startswith("{") or os.path.exists(name):
            files.append(name)
            continue
        try:
            options.model = options.model or find_model(_catalog(options, screen), name)["id"]
        except RequestError as error:
            near = f" {screen.say('try', near=', '.join(error.suggestions))}" if error.suggestions else ""
            raise UsageError(screen.say("neither", name=name) + near) from None
    if files != getattr(options, "files", []):
        options.files = files


def _request(options: argparse.Namespace, screen: Screen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
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
        _lay(request, reading["request"])
    _lay(request, said)
    return request, readings


def _file(name: str, options: argparse.Namespace, screen: Screen) -> tuple[dict[str, Any], str]:
    """A file as a table, and whose it is."""
    table = _table(name, screen)
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
        _lay(request, inner)
    return request


def _lay(under: dict[str, Any], over: dict[str, Any]) -> None:
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(name), dict) and name != "model":
            _lay(under[name], value)
        else:
            under[name] = value


def _complain(error: dict[str, Any], screen: Screen) -> None:
    print(error["message"][screen.language], file=sys.stderr)
    if error["suggestions"]:
        print(screen.say("try", near=", ".join(error["suggestions"])), file=sys.stderr)


def _answer(
    options: argparse.Namespace, screen: Screen, **more: Any
) -> tuple[dict[str, Any] | None, Catalog, list[dict[str, Any]]]:
    """Ask, and complain where the request cannot be answered. With `--json` the answer is printed here, as bytes."""
    request, readings = _request(options, screen)
    _lay(request, more)
    options.model = request.get("model")
    catalog = _catalog(options, screen)
    for row in (row for reading in readings for row in reading["ignored"] if row.get("unread")):
        said = screen.say("unread", key=row["key"], value=_short(row["value"]))
        print(f"{said} {row['reason'][screen.language]}", file=sys.stderr)
    if options.json:
        text = estimate_json(json.dumps(request), catalog)
        if readings:  # an answer to files says what became of their lines; the rest is the contract's, byte for byte
            text = f'{text[:-1]},"files":{json.dumps(readings, ensure_ascii=False, separators=(",", ":"))}}}'
        screen.line(text)
        answer: dict[str, Any] = json.loads(text)
        return (answer if answer["ok"] else None), catalog, readings
    with progress(screen.say("working")):
        answer = estimate(request, catalog)
    if not answer["ok"]:
        _complain(answer["error"], screen)
        return None, catalog, readings
    return answer, catalog, readings


def _cards(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The cards to show, the best first: verdict, then how many, then how large. The request's own GPU alone."""
    wanted = answer["plan"]["gpu"]
    cards = [row for row in answer["gpus"] if wanted in (None, row["id"])]
    return sorted(cards, key=lambda row: (ORDER.index(row["verdict"]), row["count"], row["usable_gib"] or 0))


def _verdict(answer: dict[str, Any]) -> str:
    """The best verdict there is: of the request's own GPU, in any number, else of any."""
    found = {row["verdict"] for row in _cards(answer)}
    if answer["plan"]["gpu"] is None:
        found |= {row["verdict"] for row in answer["offers"]}
    return next((verdict for verdict in ORDER if verdict in found), "no")


# ------------------------------------------------------------------------------------------------------- commands


def _estimate(options: argparse.Namespace, screen: Screen) -> int:
    answer, _, readings = _answer(options, screen)
    if answer is None:
        return BAD_REQUEST
    verdict = _verdict(answer)
    if not options.json:
        _show_answer(answer, screen, verdict)
        _show_cards(answer, screen, options.limit)
        for reading in readings:
            _show_reading(reading, screen)
        _show_foot(answer, screen)
    return EXIT[verdict]


def _band(screen: Screen, band: dict[str, float]) -> dict[str, str]:
    return {side: screen.number(band[side]) for side in ("low", "mid", "high")}


def _show_answer(answer: dict[str, Any], screen: Screen, verdict: str) -> None:
    plan, memory = answer["plan"], answer["memory"]
    model = answer["model"]["id"] or "config.json"
    title = f"{model} · {plan['method']} · {plan['framework']} · {plan['sequence_length']} tokens"
    best = _cards(answer)[:1] if answer["plan"]["gpu"] else []
    where = f" ({best[0]['count']} × {best[0]['id']})" if best else ""
    screen.line(f"{screen.paint(title, 'bold')}   {screen.verdict(verdict)}{where}")
    screen.line()
    moment = screen.page(f"moment.{memory['peak_moment']}")
    screen.pair(screen.say("memory"), screen.say("required", moment=moment, **_band(screen, memory["required_gib"])))
    whole = memory["whole_run"]
    if whole["peak_moment"] != memory["peak_moment"]:
        moment = screen.page(f"moment.{whole['peak_moment']}")
        screen.pair(screen.say("run"), screen.say("whole-run", moment=moment, **_band(screen, whole["required_gib"])))
    time = answer["time"]
    if time:
        hours = screen.say("hours", count=time["count"], gpu=time["gpu"], **_band(screen, time["hours"]))
        screen.pair(screen.say("time"), hours)
    cheapest = answer["picks"].get("cheapest")
    if cheapest is None:
        screen.pair(screen.say("cost"), screen.say("no-offer"))
    else:
        offer = answer["offers"][cheapest]
        said = screen.say("usd", provider=offer["provider"], purchase=offer["purchase"], **_band(screen, offer["usd"]))
        screen.pair(screen.say("cost"), said)
    ram, disk = screen.number(memory["host_ram_gib"]["mid"]), screen.number(memory["disk_gb"]["mid"])
    screen.pair(screen.say("host"), screen.say("host-values", ram=ram, disk=disk))
    screen.line()
    terms = [(screen.page(f"term.{row['id']}"), screen.number(row["gib"])) for row in memory["terms"]]
    screen.table(("term", "gib"), terms, right=(1,))


def _show_cards(answer: dict[str, Any], screen: Screen, limit: int) -> None:
    cards = _cards(answer)
    if not cards:
        return
    screen.line()
    rows = [
        (
            f"{row['count']} × {row['id']}" if row["count"] > 1 else row["id"],
            screen.number(row["usable_gib"]),
            f"{screen.number(row['required_gib']['low'])}–{screen.number(row['required_gib']['high'])}",
            screen.verdict(row["verdict"]),
            screen.number(row["max_micro_batch"]),
            screen.number(row["max_sequence_length"], 6),
        )
        for row in cards[:limit]
    ]
    screen.table(("gpu", "usable", "need", "verdict", "batch", "tokens"), rows, right=(1, 2, 4, 5))


def _show_reading(reading: dict[str, Any], screen: Screen) -> None:
    screen.line()
    screen.line(screen.paint(screen.say("drives"), "bold"))
    rows = [(row["key"], _short(row["value"]), ", ".join(row["fields"])) for row in reading["drivers"]]
    screen.table(("key", "value", "reason"), rows)
    if reading["ignored"]:
        screen.line()
        screen.line(screen.paint(screen.say("ignored"), "bold"))
        rows = [(row["key"], _short(row["value"]), row["reason"][screen.language]) for row in reading["ignored"]]
        screen.table(("key", "value", "reason"), rows)


def _short(value: object, limit: int = 40) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _show_foot(answer: dict[str, Any], screen: Screen) -> None:
    if answer["levers"]:
        screen.line()
        screen.line(screen.paint(screen.say("levers"), "bold"))
        for row in answer["levers"][:4]:
            change = ", ".join(f"{name} = {_short(value)}" for name, value in row["change"].items())
            saved = screen.say("saves", gib=screen.number(row["saves_gib"]), slowdown=screen.number(row["slowdown"]))
            screen.line(f"  {change}: {saved}")
    filled = {name: source for name, source in answer["plan"]["defaults"].items() if source in ("framework", "general")}
    if filled:
        screen.line()
        shown = [f"{name} = {_short(_value(answer['plan'], name))}" for name in filled if name in NOTABLE]
        screen.line(f"{screen.paint(screen.say('defaults'), 'bold')}  {' · '.join(shown)}")
    versions = answer["versions"]
    screen.line(screen.paint(screen.say("catalog", data=versions["data"], version=versions["estimator"]), "dim"))


NOTABLE = (
    *("framework", "sequence_length", "optimizer", "gradient_checkpointing", "attention", "loss", "padding"),
    *("dataset.examples", "dataset.mean_tokens", "dataset.epochs", "lora.rank", "lora.targets", "lora.dtype"),
)


def _value(plan: dict[str, Any], dotted: str) -> Any:
    value: Any = plan
    for step in dotted.split("."):
        value = value[step]
    return value


def _rank(options: argparse.Namespace, screen: Screen) -> int:
    answer, _, _ = _answer(options, screen)
    if answer is None:
        return BAD_REQUEST
    wanted = answer["plan"]["gpu"]
    offers = [row for row in answer["offers"] if wanted in (None, row["gpu"])]
    if not options.json:
        rows = [
            (
                str(answer["offers"].index(row) + 1),
                f"{row['gpus']} × {row['gpu']}",
                row["provider"],
                row["purchase"],
                screen.number(row["usd_per_hour"]),
                f"{screen.number(row['hours']['low'])}–{screen.number(row['hours']['high'])}",
                screen.paint(screen.number(row["usd"]["mid"]), "bold"),
                f"{screen.number(row['usd']['low'])}–{screen.number(row['usd']['high'])}",
                screen.verdict(row["verdict"]),
                row["checked"],
            )
            for row in offers[: options.limit]
        ]
        columns = ("offer", "gpu", "provider", "purchase", "usd-h", "hours", "usd", "usd", "verdict", "seen")
        if rows:
            screen.table(columns, rows, right=(0, 4, 5, 6, 7))
        else:
            screen.line(screen.say("no-offer"))
    return EXIT[_verdict(answer)]


def _fit(options: argparse.Namespace, screen: Screen) -> int:
    return _grid(options, screen, mode="have-gpu")


def _invert(options: argparse.Namespace, screen: Screen) -> int:
    job = {"budget_usd": options.budget, "deadline_h": options.deadline}
    return _grid(options, screen, mode="have-budget", job=job)


def _grid(options: argparse.Namespace, screen: Screen, **more: Any) -> int:
    """Models × methods. The request's own model and method only seed it, where none was given."""
    asked = bool(options.model or options.files or options.config)
    options.model = options.model or (None if options.files or options.config else "llama-3.1-8b")
    options.method = options.method or (None if options.files or options.config else "qlora")
    answer, catalog, _ = _answer(options, screen, **more)
    if answer is None:
        return BAD_REQUEST
    verdict = (
        _verdict(answer)
        if asked
        else next((verdict for verdict in ORDER if any(row["verdict"] == verdict for row in answer["grid"])), "no")
    )
    if options.json:
        return EXIT[verdict]
    if asked:
        _show_answer(answer, screen, verdict)
        screen.line()
    rows = [
        (
            row["model"],
            row["method"],
            screen.verdict(row["verdict"]),
            screen.number(row.get("max_micro_batch")),
            screen.number(row.get("max_sequence_length"), 6),
            screen.number((row.get("usd") or {}).get("mid")),
        )
        for row in sorted(answer["grid"], key=lambda row: -_parameters(catalog, row["model"]))
        if row["verdict"] != "no"
    ]
    if rows:
        screen.table(("model", "method", "verdict", "batch", "tokens", "usd"), rows, right=(3, 4, 5))
    else:
        screen.line(screen.say("nothing"))
    return EXIT[verdict]


def _parameters(catalog: Catalog, name: str) -> float:
    row = catalog.models.get(name, {})
    return float(row.get("published_parameters") or 0)


def _explain(options: argparse.Namespace, screen: Screen) -> int:
    import tomllib

    from .memory import TERMS

    path = packed_path("assumptions.toml")
    constants: dict[str, Any] = {}
    if path is not None:
        with open(path, "rb") as file:
            constants = tomllib.load(file)
    names = {screen.page(f"term.{term}").lower(): term for term in TERMS} | {term: term for term in TERMS}
    wanted = options.term.strip().lower()
    term = names.get(wanted, names.get(wanted.replace(" ", "_").replace("-", "_")))
    if term is None and wanted not in constants:
        near = near_matches(wanted, (*names, *constants))
        raise UsageError(screen.say("unknown-term", term=options.term, near=", ".join(near) or "…"))
    formulas, read = _seen(term) if term else ({}, [wanted])
    found = {name: constants[name] for name in read if name in constants}
    if options.json:
        screen.line(
            json.dumps({"term": term, "formulas": formulas, "constants": found}, ensure_ascii=False, default=str)
        )
        return FITS
    if term:
        screen.line(screen.paint(screen.page(f"term.{term}"), "bold"))
        for formula, where in formulas.items():
            screen.pair(screen.say("formula"), f"{formula}   ({', '.join(where)})")
    if found:
        screen.line()
        rows = [
            (
                row["label"][screen.language],
                *(screen.number(row[side], 4) for side in ("low", "mid", "high")),
                row["unit"],
                name,
            )
            for name, row in found.items()
        ]
        screen.table(("constant", "low", "mid", "high", "unit", "key"), rows, right=(1, 2, 3))
        for name, row in found.items():
            page = f" {row['url']}" if "url" in row else ""
            screen.pair(screen.say("source"), f"{name}: {row['source']}{page} ({screen.say('seen')} {row['checked']})")
    return FITS


def _seen(term: str) -> tuple[dict[str, list[str]], list[str]]:
    """A term's formulas, each with the methods where it was met, and the constants it read: over example plans."""
    from .case import Case
    from .constants import MID
    from .formulas import formula
    from .memory import fullest_table
    from .resolve import resolve

    formulas: dict[str, list[str]] = {}
    read: set[str] = set()
    for request in EXAMPLES:
        plan, arch = resolve({"model": EXAMPLE_MODEL, **request}, load_catalog("{}"))
        table = fullest_table(plan, arch)
        case = Case(plan, arch, MID, table.stage)
        for index in range(len(table.instants)):
            value = table.terms(index).get(term)
            if value:
                where = formulas.setdefault(formula(term, value, case), [])
                where += [plan.method] if plan.method not in where else []
                read.update(table.assumptions_of(term))
    return formulas, sorted(read)


EXAMPLES: tuple[dict[str, Any], ...] = (
    {"method": "qlora", "optimizer": "adamw-8bit", "loss": "default"},
    {"method": "lora", "task": "dpo", "reference": "copy"},
    {"method": "full", "framework": "deepspeed", "parallel": {"strategy": "zero3", "gpus_per_node": 8}},
    {"method": "full", "framework": "hf", "precision": "bf16-mixed", "gradient_checkpointing": "none"},
)
EXAMPLE_MODEL = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


def _rows(options: argparse.Namespace, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    wanted = options.filter.lower()
    return [row for row in rows if wanted in " ".join(str(value) for value in row.values()).lower()]


def _listing(options: argparse.Namespace, screen: Screen, rows: list[dict[str, Any]]) -> bool:
    """Print rows as JSON where asked. Returns whether that was all."""
    if options.json:
        screen.line(json.dumps(rows, ensure_ascii=False))
    return bool(options.json)


def _models(options: argparse.Namespace, screen: Screen) -> int:
    catalog = _catalog(options, screen)
    kept = ("id", "name", "family", "hf_id", "published_parameters")
    rows = _rows(options, [{name: row.get(name) for name in kept} for row in catalog.models.values()])
    if not _listing(options, screen, rows):
        shown = [
            (row["id"], row["hf_id"] or "", row["family"] or "", screen.number(row["published_parameters"], 12))
            for row in sorted(rows, key=lambda row: row["published_parameters"] or float("inf"))
        ]
        screen.table(("model", "key", "family", "parameters"), shown, right=(3,))
    return FITS


def _gpus(options: argparse.Namespace, screen: Screen) -> int:
    catalog = _catalog(options, screen)
    rows = _rows(options, [gpu._asdict() for gpu in catalog.gpus.values()])
    if not _listing(options, screen, rows):
        shown = [
            (
                row["id"],
                row["name"],
                screen.number(row["usable_gib"]),
                screen.number(row["memory_bandwidth_gb_per_s"], 4),
                screen.number(row["bf16_dense_tflops"]),
            )
            for row in sorted(rows, key=lambda row: (row["usable_gib"] or float("inf"), row["id"]))
        ]
        screen.table(("gpu", "key", "usable", "bandwidth", "tflops"), shown, right=(2, 3, 4))
    return FITS


def _prices(options: argparse.Namespace, screen: Screen) -> int:
    catalog = _catalog(options, screen)
    rows = _rows(options, [offer._asdict() for offer in catalog.offers])
    for row in rows:
        del row["day"]
    if not _listing(options, screen, rows):
        shown = [
            (
                f"{row['gpus']} × {row['gpu']}",
                row["provider"],
                row["purchase"],
                screen.number(row["usd_per_hour"]),
                row["region"] or "",
                row["checked"],
            )
            for row in sorted(rows, key=lambda row: (row["gpu"], row["usd_per_hour"] / row["gpus"]))
        ]
        screen.table(("gpu", "provider", "purchase", "usd-h", "region", "seen"), shown, right=(3,))
    return FITS


def _export(options: argparse.Namespace, screen: Screen) -> int:
    from .launch import TARGETS, run_files
    from .train_files import TRAINERS

    if options.target not in TARGETS:
        raise RequestError(
            "unknown-value", "target", options.target, " | ".join(TARGETS), near_matches(options.target, TARGETS)
        )
    as_json, options.json = options.json, False
    if options.target in TRAINERS and not any(word.startswith("framework=") for word in options.set):
        options.set = [f"framework={json.dumps(options.target)}", *options.set]
    answer, catalog, _ = _answer(options, screen)
    if answer is None:
        return BAD_REQUEST
    offer = None if options.offer is None else options.offer - 1
    made = run_files(answer, catalog, options.target, offer=offer, language=screen.language, model=options.model)
    script = packed_path("smoke.py")
    if options.target == "smoke" and script is not None:
        made["files"].append({"name": "smoke.py", "text": _text(script, screen)})
    if as_json:
        screen.line(json.dumps(made, ensure_ascii=False))
    elif options.output:
        os.makedirs(options.output, exist_ok=True)
        for file in made["files"]:
            path = os.path.join(options.output, file["name"])
            with open(path, "w", encoding="utf-8") as opened:
                opened.write(file["text"])
            screen.line(screen.say("wrote", path=path))
    else:
        for file in made["files"]:
            screen.line(screen.paint(f"# ---- {file['name']}", "cyan"))
            screen.line(file["text"])
    for row in made["refused"]:
        print(
            f"{screen.say('refused')} {row['field']} = {_short(row['asked'])}. {row['reason'][screen.language]}",
            file=sys.stderr,
        )
    return EXIT[_verdict(answer)]


if __name__ == "__main__":
    sys.exit(main())
