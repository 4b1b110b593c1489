"""The measurement form: its line becomes a row that the accuracy figures can read, and its text does nothing else."""

import csv
import datetime
import json
import re
from pathlib import Path

import pytest
import yaml

from pipeline import schema
from pipeline.check import check, files_of
from pipeline.estimates import allocated_peak
from pipeline.form import FormError
from pipeline.form_measurement import LABELS, PATH, answer, is_measurement, row_of
from pipeline.measurements import read

from .conftest import is_only_text

ADDRESS = "https://github.com/example/ajuste/issues/7"
CELLS = {
    "id": "smoke-2026-11-30-123456", "source": "smoke test", "source_path": "smoke.py", "source_version": "2026-11-30",
    "source_url": "", "model": "Llama-3.1-8B", "hf_id": "meta-llama/Llama-3.1-8B", "method": "qlora",
    "lora_rank": "16", "lora_targets": "all-linear", "base_precision": "nf4-nested", "trained_precision": "fp32",
    "optimizer": "adamw", "micro_batch": "4", "sequence_length": "2048", "packing": "no",
    "gradient_checkpointing": "yes", "attention": "sdpa", "loss": "none", "framework": "transformers 5.24, torch 2.9",
    "gpu": "NVIDIA GeForce RTX 4090", "gpus": "1", "parallelism": "none", "offload": "no", "task": "sft",
    "trainable_parameters": "41943040", "peak_gib": "16.000", "peak_kind": "allocated", "printed": "16.000 GiB",
    "unit": "exact", "scope": "per_gpu", "second_gib": "17.000", "second_kind": "max_memory_reserved",
    "static_gib": "", "quality": "A", "note": "2000 tokens/s; autocast on; driver 570.86",
}  # fmt: skip


def line(**changes: str) -> str:
    cells = CELLS | changes
    return ",".join(f'"{cells[name]}"' if "," in cells[name] else cells[name] for name in schema.MEMORY.names)


def body(text: str = "", **others: str) -> str:
    given = {"line": f"```text\n{text or line()}\n```", "verdict": "Dentro / Inside"} | others
    return "\n\n".join(f"### {label}\n\n{given.get(field, '_No response_')}" for label, field in LABELS.items()) + "\n"


def computed(request: dict, data) -> tuple[float, float, float]:
    assert data.models
    return 14.0, 15.5, 17.25


@pytest.fixture
def files(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, PATH: (",".join(schema.MEMORY.names) + "\n").encode()}


def test_labels_are_those_of_the_form(root: Path) -> None:
    form = yaml.safe_load((root / ".github/ISSUE_TEMPLATE/measurement.yml").read_text(encoding="utf-8"))
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert {part["attributes"]["label"]: part["id"] for part in fields} == LABELS
    price = (root / ".github/ISSUE_TEMPLATE/price.yml").read_text(encoding="utf-8")
    assert is_measurement(body())
    assert not is_measurement(price)


def test_the_line_becomes_a_row_with_the_issue_as_its_source(files: dict[str, bytes], today: datetime.date) -> None:
    said = answer(body(), ADDRESS, files, today, computed)
    assert said.proposal is not None
    assert (said.proposal.path, said.proposal.title) == (
        PATH,
        "measurement Llama-3.1-8B qlora on NVIDIA GeForce RTX 4090",
    )
    (row,) = csv.DictReader(said.proposal.text.splitlines())
    assert row == CELLS | {"source_url": ADDRESS}
    assert check({**files, PATH: said.proposal.text.encode()}, today).red == []
    assert "16.0 GiB measured. " in said.reply
    assert "16,0 GiB medidos. " in said.reply


def test_the_figures_of_accuracy_read_it(root: Path) -> None:
    """A row that was merged must not end the build: it is compared with what we compute for that very configuration."""
    files = files_of(root)
    day = datetime.date(2026, 11, 30)
    said = answer(body(), ADDRESS, files, day, allocated_peak(day))
    assert said.proposal is not None
    found = re.search(r"We compute ([0-9.]+) GiB \(([0-9.]+) to ([0-9.]+)\)", said.reply)
    assert found, said.reply
    mid, low, high = map(float, found.groups())
    assert 8 < low < mid < high < 24
    reading = read(row_of(body(), ADDRESS), {"meta-llama/Llama-3.1-8B": "llama-3.1-8b"})
    assert reading.request is not None
    assert (reading.request["quantization"], reading.request["autocast"]) == ("nf4-nested", True)
    full = row_of(body(line(method="full", lora_rank="", lora_targets="", base_precision="bf16")), ADDRESS)
    reading = read(full, {"meta-llama/Llama-3.1-8B": "llama-3.1-8b"})
    assert reading.request is not None
    assert (reading.request["precision"], reading.request["quantization"]) == ("bf16", "none")
    assert "not described" in read(full | {"source": "somebody"}, {}).reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("smoke-2026-11-30-123456,smoke test", "has 2 values, not 36"),
        (line(source="huggingface/peft"), "is not smoke.py's"),
        (line(id="fms-001"), "is not smoke.py's"),
    ],
)
def test_what_is_no_line_of_ours_is_told(text: str, says: str) -> None:
    with pytest.raises(FormError, match=re.escape(says)) as refused:
        row_of(body(text), ADDRESS)
    assert refused.value.field == "line"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"peak_gib": "16 GiB"}, "peak_gib is not a number"),
        ({"peak_gib": ""}, "peak_gib is not a number"),
        ({"micro_batch": "four"}, "micro_batch is not a number"),
        ({"hf_id": "x" * 999}, "hf_id"),
    ],
)
def test_what_the_check_refuses_is_its_message(change, says, files: dict[str, bytes], today: datetime.date) -> None:
    said = answer(body(line(**change)), ADDRESS, files, today, computed)
    assert said.proposal is None
    assert says in said.reply.replace("\\_", "_")
    assert said.reply.count("❌") == 2, "in both languages"


def test_the_same_line_twice_is_refused(files: dict[str, bytes], today: datetime.date) -> None:
    first = answer(body(), ADDRESS, files, today, computed)
    assert first.proposal is not None
    again = answer(body(), ADDRESS, {**files, PATH: first.proposal.text.encode()}, today, computed)
    assert again.proposal is None


HOSTILE = [
    "$(touch /tmp/pwned)", "`id`", "'; rm -rf / #", "${{ secrets.GITHUB_TOKEN }}", "::set-output name=ok::true",
    "<!-- hidden --><script>alert(1)</script>", "@everyone", "[click](https://evil.example)", "=1+1", "x" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("field", ["model", "hf_id", "gpu", "method", "note", "optimizer"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_cells_are_refused_or_only_text(text, field, files: dict[str, bytes], today: datetime.date) -> None:
    is_only_text(answer(body(line(**{field: text})), ADDRESS, files, today, computed), PATH, files)


def test_an_empty_or_endless_form_is_answered(files: dict[str, bytes], today: datetime.date) -> None:
    for text in ("", "x" * 10**5, "," * 10**5, '"' * 999):
        assert answer(body(text or " "), ADDRESS, files, today, computed).proposal is None


def test_the_command_knows_which_form_it_is(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline import __main__ as command

    event = tmp_path / "event.json"
    issue = {"number": 7, "html_url": ADDRESS, "body": body()}
    event.write_text(json.dumps({"issue": issue}), encoding="utf-8")
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.argv", ["pipeline", "form", "--event", str(event), "--out", str(tmp_path / "out")])
    assert command.main() == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["file.csv", "proposal.json", "reply.md"]
    assert json.loads((tmp_path / "out/proposal.json").read_text(encoding="utf-8"))["path"] == PATH
