"""The smoke test: it runs to its end anywhere, says what it could not measure, and its line passes the data's check."""

import ast
import csv
import datetime
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

from ajuste import estimate, load_catalog
from ajuste.launch import run_files
from pipeline.check import check, files_of

PEAK = {"low": 15.5, "mid": 16.2, "high": 18.8}
SPEED = {"low": 1700, "mid": 2300, "high": 2800}


@pytest.fixture(scope="module")
def script(root: Path) -> Path:
    return root / "calculator" / "smoke" / "smoke.py"


@pytest.fixture(scope="module")
def smoke(script: Path) -> ModuleType:
    described = importlib.util.spec_from_file_location("smoke", script)
    assert described
    assert described.loader
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def ran(python: str, script: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, script, *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "en_US.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_it_is_one_file_of_the_standard_library(script: Path):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imported = {
        alias.name.split(".")[0]
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
    }
    assert imported <= set(sys.stdlib_module_names), "the rest is imported only where it is there"


@pytest.mark.parametrize(("language", "said"), [("en", "could not be measured"), ("es", "no se pudo medir")])
def test_without_torch_it_still_ends_and_says_so(script: Path, tmp_path: Path, language: str, said: str):
    done = ran(sys.executable, script, tmp_path, "--url", "", "--lang", language)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert ("is not installed" if language == "en" else "falta torch") in done.stdout
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_a_network_that_is_not_there_is_told(script: Path, tmp_path: Path):
    done = ran(sys.executable, script, tmp_path, "--url", "http://127.0.0.1:9/none")
    assert done.returncode == 0
    assert "network                  could not be measured: URLError" in done.stdout


@pytest.mark.parametrize("text", ["{", "[]", '{"modle": "x"}'])
def test_a_bad_file_is_refused(script: Path, tmp_path: Path, text: str):
    (tmp_path / "smoke.json").write_text(text)
    done = ran(sys.executable, script, tmp_path, "smoke.json", "--url", "")
    assert done.returncode == 2
    assert "smoke:" in done.stderr


@pytest.mark.slow
def test_it_trains_a_tiny_model_where_torch_is(script: Path, tmp_path: Path):
    """Optional: AJUSTE_TORCH_PYTHON names a Python with torch (with or without transformers and peft)."""
    python = os.environ.get("AJUSTE_TORCH_PYTHON")
    if not python:
        pytest.skip("set AJUSTE_TORCH_PYTHON to a Python that has torch (CPU will do) to run this one")
    done = ran(python, script, tmp_path, "--tiny", "--url", "", "--json", "measured.json")
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((tmp_path / "measured.json").read_text())
    assert said["failed"] == []
    assert said["measured"]["tokens_per_second"] > 0
    assert said["measured"]["checkpoint_gb"] > 0
    assert "the loss goes on where it was" in done.stdout
    assert "There is no measurement to contribute" in done.stdout


def test_what_it_runs_comes_from_the_answer(catalog_text: str, smoke: ModuleType, tmp_path: Path):
    catalog = load_catalog(catalog_text)
    answer = estimate({"model": "llama-3.1-8b", "method": "qlora", "gpu": "rtx-4090-24gb"}, catalog)
    (file,) = run_files(answer, catalog, "smoke")["files"]
    (tmp_path / file["name"]).write_text(file["text"])
    spec = smoke.read_spec(str(tmp_path / file["name"]))
    assert spec["model"] == "meta-llama/Llama-3.1-8B"
    assert spec["sequence_length"] == 2048
    assert spec["quantization"] == "nf4-nested"
    assert 0 < spec["expected"]["allocated_gib"]["low"] < spec["expected"]["allocated_gib"]["high"] < 24
    assert spec["expected"]["tokens_per_second"]["mid"] > 100


def report_with(smoke: ModuleType, monkeypatch, allocated: float):
    monkeypatch.setattr(smoke, "package", lambda _report, _name: SimpleNamespace(__version__="1.0"))
    report = smoke.Report("en")
    report.measured |= {
        "gpu": "NVIDIA GeForce RTX 4090",
        "driver": "570.86",
        "trainable_parameters": 41_943_040,
        "allocated_gib": allocated,
        "reserved_gib": allocated + 1,
        "tokens_per_second": 2000.0,
    }
    spec = {**smoke.DEFAULT, "model": "meta-llama/Llama-3.1-8B", "method": "qlora", "quantization": "nf4"}
    return report, {**spec, "expected": {"allocated_gib": PEAK, "tokens_per_second": SPEED}}


@pytest.mark.parametrize(("allocated", "verdict"), [(12.0, "below"), (16.0, "inside"), (30.0, "above")])
def test_the_measured_peak_is_compared(smoke: ModuleType, monkeypatch, capsys, allocated: float, verdict: str):
    report, spec = report_with(smoke, monkeypatch, allocated)
    smoke.compare(report, spec, tiny=False)
    out = capsys.readouterr().out
    assert f"{allocated:.4g} GiB; 15.5–18.8 GiB was computed: {verdict}" in out
    assert "2000 tokens/s; 1700–2800 tokens/s was computed: inside" in out


def test_its_line_is_a_row_of_the_measurements_and_passes_their_check(smoke: ModuleType, monkeypatch, root: Path):
    table = "data/measurements/memory.csv"
    monkeypatch.chdir(root)
    files = files_of(Path())
    header = files[table].decode("utf-8-sig").splitlines()[0]
    assert header == ",".join(smoke.COLUMNS), "the script knows the table's columns"
    report, spec = report_with(smoke, monkeypatch, 16.0)
    line = smoke.contribution(report, spec, False, "https://github.com/example/ajuste/issues/1")
    row = dict(zip(smoke.COLUMNS, next(csv.reader([line])), strict=True))
    assert row["peak_gib"] == "16.000"
    day = datetime.date(2026, 11, 30)
    text = files[table].decode("utf-8").rstrip("\n")
    good = {**files, table: f"{text}\n{line}\n".encode()}
    assert [str(problem) for problem in check(good, day).red if problem.path == table] == []
    broken = {**files, table: f"{text}\n{line.replace('16.000', '16 GiB', 1)}\n".encode()}
    assert any("peak_gib" in str(problem) for problem in check(broken, day).red)
    assert smoke.contribution(report, spec, True, "") is None, "a tiny model is no measurement"


def test_the_form_asks_for_the_line(root: Path, smoke: ModuleType):
    form = yaml.safe_load((root / ".github/ISSUE_TEMPLATE/measurement.yml").read_text(encoding="utf-8"))
    (line,) = (part for part in form["body"] if part.get("id") == "line")
    assert line["validations"]["required"] is True
    for language, sentence in smoke.SAY["contribute"].items():
        assert ("Medición" if language == "es" else "Measurement") in sentence
        assert ("Medición" if language == "es" else "Measurement") in form["name"]
