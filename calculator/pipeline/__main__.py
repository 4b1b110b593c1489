"""The commands: `python -m pipeline <command>`, from the repository's root with PYTHONPATH=calculator."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.check import Report, check, files_of, fix
from pipeline.defaults import named_by_code

if TYPE_CHECKING:
    pass

ROOT = Path()


def main() -> int:
    """Runs one command; 1 means that the data is wrong."""
    arguments = _parser().parse_args()
    return int(arguments.run(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run: object, about: str, out: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        added.add_argument(
            "--as-of",
            type=datetime.date.fromisoformat,
            default=datetime.date.today(),
            metavar="DATE",
            help="the day to count from; default today",
        )
        if out:
            added.add_argument("--out", type=Path, default=Path(out), help=f"default {out}")
        return added

    checking = command("check", _check, "checks all of data/ and says what to type")
    checking.add_argument("--fix", action="store_true", help="also mends order, spaces, BOM and quotes")
    checking.add_argument("--against", metavar="REF", help="also checks the changes since this commit or branch")
    telling = command("diff", _diff, "tells in both languages what the data changes since a commit or branch")
    telling.add_argument("--against", metavar="REF", default="origin/main", help="default origin/main")
    telling.add_argument("--only", metavar="PATH", help="as if this file alone had changed")
    command("bundle", _bundle, "writes the catalog that the calculator reads", "build/app/catalog.json")
    comparing = command("accuracy", _accuracy, "compares the estimates with published runs", "build/accuracy.json")
    comparing.add_argument(
        "--write-residuals", action="store_true", help="rewrites the residual-… entries of data/assumptions.toml"
    )
    command("tables", _tables, "writes the tables of both languages", "build/includes")
    command("api", _api, "writes the data as static JSON files", "build/api")
    reading = command("form", _form, "turns a form of the issue tracker into a change of data", "build/form")
    reading.add_argument("--event", type=Path, required=True, help="the event as GitHub writes it into a file")
    collecting = command("refresh", _refresh, "reads prices at their sources and rewrites data/prices")
    collecting.add_argument("--source", action="append", metavar="NAME", help="only this one; may be repeated")
    ageing = command("stale", _stale, "tells which prices nobody has looked at for a while")
    ageing.add_argument("--links", action="store_true", help="also opens every link, to name those that are gone")
    return parser


def _check(arguments: argparse.Namespace) -> int:
    before = check(_files_at(arguments.against), arguments.as_of).data if arguments.against else None
    named = named_by_code(ROOT / "calculator/ajuste", ROOT / "calculator/pipeline")
    report = check(files_of(ROOT), arguments.as_of, before, named if named.asked else None)
    mended = fix(ROOT, report) if arguments.fix else []
    for problem in report.problems:
        if problem.red or problem.path not in mended:
            print(problem, file=sys.stderr if problem.red else sys.stdout)
    for path in mended:
        print(f"✏️  {path}")
    print(_summary(report), file=sys.stderr if report.red else sys.stdout)
    return 1 if report.red else 0


def _summary(report: Report) -> str:
    data = report.data
    counts = (
        f"{len(data.prices)} ofertas/offers · {len(data.providers)} proveedores/providers · {len(data.gpus)} GPU · "
        f"{len(data.models)} modelos/models"
    )
    wrong = len(report.red)
    return f"❌ {wrong} por corregir / to correct · {counts}" if wrong else f"✅ {counts}"


def _diff(arguments: argparse.Namespace) -> int:
    from pipeline.diff import presets, report
    from pipeline.estimates import cheapest_bill

    old = _files_at(arguments.against)
    new = files_of(ROOT)
    before = check(old, arguments.as_of).data
    after = check({**old, arguments.only: new[arguments.only]} if arguments.only else new, arguments.as_of, before)
    print(report(before, after.data, after.problems, arguments.as_of, presets(ROOT), cheapest_bill(arguments.as_of)))
    return 1 if after.red else 0


def _files_at(reference: str) -> dict[str, bytes]:
    from pipeline.git import branch_point, files_at

    return files_at(ROOT, branch_point(ROOT, reference))


def _loaded(arguments: argparse.Namespace) -> Report:
    """The data, or the end: nothing is built from data that does not pass."""
    report = check(files_of(ROOT), arguments.as_of)
    if report.red:
        for problem in report.red:
            print(problem, file=sys.stderr)
        raise SystemExit(1)
    return report


def _bundle(arguments: argparse.Namespace) -> int:
    from pipeline.bundle import bundle

    text = bundle(_loaded(arguments).data, arguments.as_of)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {len(text.encode()) / 1000:.0f} kB")
    return 0


def _accuracy(arguments: argparse.Namespace) -> int:
    from ajuste.catalog import load_catalog
    from pipeline import accuracy
    from pipeline.bundle import bundle

    catalog = load_catalog(bundle(_loaded(arguments).data, arguments.as_of))
    measured = accuracy.measure(ROOT / "data/measurements", catalog)
    print(accuracy.report(measured))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(accuracy.as_json(measured), encoding="utf-8")
    if arguments.write_residuals:
        accuracy.write_residuals(ROOT / "data/assumptions.toml", accuracy.residuals(measured.points))
    return 0


def _tables(arguments: argparse.Namespace) -> int:
    from pipeline.history import history
    from pipeline.tables import tables

    arguments.out.mkdir(parents=True, exist_ok=True)
    data = _loaded(arguments).data
    written = tables(data, arguments.as_of, history(ROOT, data))
    for name, text in written.items():
        (arguments.out / name).write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {len(written)} tables")
    return 0


def _api(arguments: argparse.Namespace) -> int:
    from pipeline.api import api
    from pipeline.history import history

    data = _loaded(arguments).data
    written = api(data, history(ROOT, data))
    for name, text in written.items():
        (arguments.out / name).parent.mkdir(parents=True, exist_ok=True)
        (arguments.out / name).write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {len(written)} files")
    return 0


def _form(arguments: argparse.Namespace) -> int:
    """Writes reply.md, and file.csv with proposal.json when there is something to propose."""
    from pipeline import form, form_measurement
    from pipeline.diff import presets
    from pipeline.estimates import allocated_peak, cheapest_bill

    issue = json.loads(arguments.event.read_text(encoding="utf-8"))["issue"]
    body, files, day = issue["body"] or "", files_of(ROOT), arguments.as_of
    if form_measurement.is_measurement(body):
        said = form_measurement.answer(body, issue["html_url"], files, day, allocated_peak(day))
    else:
        said = form.answer(body, files, day, presets(ROOT), cheapest_bill(day))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "reply.md").write_text(said.reply, encoding="utf-8")
    if said.proposal:
        (arguments.out / "file.csv").write_text(said.proposal.text, encoding="utf-8")
        named = {"path": said.proposal.path, "title": said.proposal.title}
        (arguments.out / "proposal.json").write_text(json.dumps(named), encoding="utf-8")
    print(said.reply)
    return 0


def _refresh(arguments: argparse.Namespace) -> int:
    from pipeline.refresh.fetch import Network
    from pipeline.refresh.run import refresh, sources, tell

    known = sources()
    wanted = arguments.source or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"{', '.join(unknown)}: ¿{', '.join(known)}?", file=sys.stderr)
        return 2
    outcomes = refresh(ROOT, _loaded(arguments).data, Network(), arguments.as_of, wanted)
    print(tell(outcomes), end="")
    return 1 if all(outcome.failure for outcome in outcomes) else 0


def _stale(arguments: argparse.Namespace) -> int:
    from pipeline.stale import dead_links, links, stale

    data = _loaded(arguments).data
    print(stale(data, arguments.as_of, dead_links(links(data)) if arguments.links else []), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
