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

from . import Catalog, RequestError, __version__, estimate, estimate_json
from .cli_answer import BAD_REQUEST, EXIT, FAULT, ORDER, show_answer, show_cards, show_foot, show_reading, verdict_of
from .cli_input import UsageError, catalog_of, lay, request_of, short, take_models, text_of
from .cli_lists import explain, list_gpus, list_models, list_prices
from .cli_text import Screen, packed_path, progress, system_language, usage_error
from .errors import near_matches
from .sentences import LANGUAGES

COMMANDS = ("estimate", "fit", "rank", "invert", "explain", "models", "gpus", "prices", "export")


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
        take_models(options, screen)
        code: int = options.run(options, screen)
    except UsageError as error:
        print(error, file=sys.stderr)
        return BAD_REQUEST
    except RequestError as error:
        complain(error.as_dict(), screen)
        return BAD_REQUEST
    except OSError:
        raise  # a pipe that closed, a full disk: not ours
    except Exception as error:  # as `estimate_json` does: a sentence, and whose fault it is
        complain(RequestError("internal", detail=f"{type(error).__name__}, {place_of(error)}").as_dict(), screen)
        return FAULT
    screen.show()
    return code


def place_of(error: Exception) -> str:
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
    command("explain", explain).add_argument("term", help=say("help.term"))
    for name, run in (("models", list_models), ("gpus", list_gpus), ("prices", list_prices)):
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


# ------------------------------------------------------------------------------------------------------- commands


def complain(error: dict[str, Any], screen: Screen) -> None:
    """A refusal, and what was perhaps meant."""
    print(error["message"][screen.language], file=sys.stderr)
    if error["suggestions"]:
        print(screen.say("try", near=", ".join(error["suggestions"])), file=sys.stderr)


def answer_of(
    options: argparse.Namespace, screen: Screen, **more: Any
) -> tuple[dict[str, Any] | None, Catalog, list[dict[str, Any]]]:
    """Ask, and complain where the request cannot be answered. With `--json` the answer is printed here, as bytes."""
    request, readings = request_of(options, screen)
    lay(request, more)
    options.model = request.get("model")
    catalog = catalog_of(options, screen)
    for row in (row for reading in readings for row in reading["ignored"] if row.get("unread")):
        said = screen.say("unread", key=row["key"], value=short(row["value"]))
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
        complain(answer["error"], screen)
        return None, catalog, readings
    return answer, catalog, readings


def _estimate(options: argparse.Namespace, screen: Screen) -> int:
    answer, _, readings = answer_of(options, screen)
    if answer is None:
        return BAD_REQUEST
    verdict = verdict_of(answer)
    if not options.json:
        show_answer(answer, screen, verdict)
        show_cards(answer, screen, options.limit)
        for reading in readings:
            show_reading(reading, screen)
        show_foot(answer, screen)
    return EXIT[verdict]


def _rank(options: argparse.Namespace, screen: Screen) -> int:
    answer, _, _ = answer_of(options, screen)
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
    return EXIT[verdict_of(answer)]


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
    answer, catalog, _ = answer_of(options, screen, **more)
    if answer is None:
        return BAD_REQUEST
    verdict = (
        verdict_of(answer)
        if asked
        else next((verdict for verdict in ORDER if any(row["verdict"] == verdict for row in answer["grid"])), "no")
    )
    if options.json:
        return EXIT[verdict]
    if asked:
        show_answer(answer, screen, verdict)
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
    answer, catalog, _ = answer_of(options, screen)
    if answer is None:
        return BAD_REQUEST
    offer = None if options.offer is None else options.offer - 1
    made = run_files(answer, catalog, options.target, offer=offer, language=screen.language, model=options.model)
    script = packed_path("smoke.py")
    if options.target == "smoke" and script is not None:
        made["files"].append({"name": "smoke.py", "text": text_of(script, screen)})
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
            f"{screen.say('refused')} {row['field']} = {short(row['asked'])}. {row['reason'][screen.language]}",
            file=sys.stderr,
        )
    return EXIT[verdict_of(answer)]


if __name__ == "__main__":
    sys.exit(main())
