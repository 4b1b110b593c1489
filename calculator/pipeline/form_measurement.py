"""A measurement form of the issue tracker, turned into a row of data/measurements/memory.csv.

The line is a stranger's, as all text of a form (`pipeline.form`): it is read as one row of our own script's, gets the
issue as its source, and must pass the check that every row passes. The answer sets it beside what we compute for it.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from pipeline import schema
from pipeline.check import check
from pipeline.diff import heading, plain, problem_lines
from pipeline.form import Answer, FormError, Proposal, read_form, refusal
from pipeline.measurements import read
from pipeline.text import LANGUAGES, number, word

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Mapping

    from pipeline.files import Data

PATH = "data/measurements/memory.csv"
SOURCE = "smoke test"
# The labels of .github/ISSUE_TEMPLATE/measurement.yml; a test holds them together.
LABELS = {
    "La línea / The line": "line",
    "¿Dónde cayó el pico? / Where did the peak fall?": "verdict",
    "El resto de lo que imprimió / The rest of what it printed": "output",
    "Nota / Note": "note",
}
_ID = re.compile(r"smoke-\d{4}-\d\d-\d\d-\d{6}")
_FENCE = re.compile(r"^`{3,}\w*\s*|\s*`{3,}$")  # GitHub puts a box of text between fences


def is_measurement(body: str) -> bool:
    """Whether a form is this one: its own first question, as a heading."""
    return f"### {next(iter(LABELS))}" in body


def row_of(body: str, address: str) -> dict[str, str]:
    """The row that the form's line is, with the form as its source. Raises FormError."""
    line = _FENCE.sub("", read_form(body, LABELS)["line"])
    cells = next(csv.reader([line]), [])
    names = schema.MEMORY.names
    if len(cells) != len(names):
        raise FormError(
            "line",
            f"tiene {len(cells)} valores y no {len(names)} → pega entera la última línea de smoke.py",
            f"has {len(cells)} values, not {len(names)} → paste the whole last line of smoke.py",
        )
    row = dict(zip(names, cells, strict=True))
    if row["source"] != SOURCE or not _ID.fullmatch(row["id"]):
        raise FormError(
            "line",
            "no es de smoke.py; una medición de otra fuente va en un pull request, con su enlace",
            "is not smoke.py's; a measurement from elsewhere goes into a pull request, with its link",
        )
    for name in ("peak_gib", "micro_batch", "sequence_length"):
        if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", row[name]):
            raise FormError("line", f"{name} no es un número: {row[name]!r}", f"{name} is not a number: {row[name]!r}")
    return row | {"source_url": address}


def answer(
    body: str,
    address: str,
    files: Mapping[str, bytes],
    today: datetime.date,
    computed: Callable[[dict[str, Any], Data], tuple[float, float, float] | None],
) -> Answer:
    """What the robot says to a form, and the file it proposes, if any.

    `computed` is the allocated peak of a request: low, mid, high in GiB.
    """
    try:
        row = row_of(body, address)
    except FormError as error:
        return Answer(refusal(error, LABELS), None)
    before = check(files, today)
    text = files[PATH].decode("utf-8").rstrip("\n") + "\n" + _line(row) + "\n"
    after = check({**files, PATH: text.encode()}, today, before.data)
    new = [problem for problem in after.red if problem not in before.red]
    if new:
        return Answer(
            "\n".join(line for name in LANGUAGES for line in [*heading(name), *problem_lines(new, name)]), None
        )
    models = {one.values["hf_id"]: one.values["id"] for one in after.data.models if one.values["hf_id"]}
    reading = read(row, models)
    ours = computed(reading.request, after.data) if reading.request else None
    lines = [line for name in LANGUAGES for line in _said(row, ours, name)]
    title = re.sub(r"[^\w .+()/-]", "", f"measurement {row['model']} {row['method']} on {row['gpu']}")[:80]
    return Answer("\n".join(lines), Proposal(PATH, text, title))


def _line(row: dict[str, str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(row.values())
    return line.getvalue()


def _said(row: dict[str, str], ours: tuple[float, float, float] | None, language: str) -> list[str]:
    """The measured peak beside the computed one, in one language."""
    told = {
        "name": plain(f"{row['model']}, {row['method']}, {row['gpu']}"),
        "peak": number(float(row["peak_gib"]), language, 1),
    }
    if ours is None:
        compared = word("form_not_compared", language)
    else:
        low, mid, high = (number(value, language, 1) for value in ours)
        compared = word("form_compared", language, low=low, mid=mid, high=high)
    return [
        *heading(language),
        f"✅ {word('diff_valid', language)}",
        "",
        f"- {word('form_measured', language, **told)} {compared}",  # never the first of a line: it is a stranger's
        "",
        word("form_measured_next", language),
        "",
    ]
