"""Our package in Pyodide, under node: the same answers as here, from bytecode made either way."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import assemble
from ajuste import estimate_json, load_catalog

pytestmark = [pytest.mark.site, pytest.mark.slow]

METHODS = ("full", "lora", "qlora")
REQUESTS = 60
LIBRARY = "python_stdlib.zip"


@pytest.fixture(scope="module")
def catalog_path(root: Path, site: Path) -> Path:
    """Return the catalog that the site was built with."""
    return root / "build" / "app" / "catalog.json"


@pytest.fixture(scope="module")
def requests(catalog_path: Path) -> list[object]:
    """A fixed draw over models, methods, lengths, GPUs; then what cannot be answered."""
    catalog = json.loads(catalog_path.read_text(encoding="utf-8"))
    draw = random.Random(20261130)
    drawn: list[object] = [
        {
            "model": draw.choice(catalog["models"])["id"],
            "method": draw.choice(METHODS),
            "sequence_length": draw.choice((128, 1000, 2048, 8192)),
            "gpu": draw.choice([None, draw.choice(catalog["gpus"])["id"]]),
            "dataset": {"examples": draw.randrange(1, 10**6), "mean_tokens": draw.randrange(1, 2048)},
        }
        for _ in range(REQUESTS)
    ]
    return [*assemble.requests().values(), *drawn, *assemble.probe_requests()]


def answers_in_pyodide(library: Path, wheel: Path, catalog: Path, requests: list[object], tmp_path: Path) -> list[str]:
    listed = tmp_path / "requests.json"
    listed.write_text(json.dumps(requests))
    return assemble.run("node", assemble.NODE_TOOL, "answers", library, wheel, catalog, listed).splitlines()


def answers_here(catalog_path: Path, requests: list[object]) -> list[str]:
    catalog = load_catalog(catalog_path.read_text(encoding="utf-8"))
    return [estimate_json(one if isinstance(one, str) else json.dumps(one), catalog) for one in requests]


def test_the_page_and_cpython_answer_with_the_same_bytes(
    root: Path, catalog_path: Path, requests: list[object], tmp_path: Path
) -> None:
    here = answers_here(catalog_path, requests)
    there = answers_in_pyodide(
        root / "build/pyodide" / LIBRARY, root / "build/app/ajuste.whl", catalog_path, requests, tmp_path
    )
    assert there == here
    answered = sum(json.loads(answer)["ok"] for answer in here)
    assert REQUESTS / 2 <= answered < len(here)  # most can be answered, and refusals are compared too


def test_every_module_of_ours_imports_from_the_pruned_library(root: Path, catalog_path: Path, tmp_path: Path) -> None:
    listed = tmp_path / "requests.json"
    listed.write_text("[]")
    tool = (
        assemble.NODE_TOOL,
        "modules",
        root / "build/pyodide" / LIBRARY,
        root / "build/app/ajuste.whl",
        catalog_path,
        listed,
    )
    used = json.loads(assemble.run("node", *tool).splitlines()[-1])
    assert used
    assert all(name.endswith(".pyc") for name in used)  # nothing is compiled in the reader's browser


WAYS = {"pyodide-build": assemble.compile_with_pyodide_build, "inside Pyodide": assemble.compile_inside_pyodide}


@pytest.mark.parametrize("way", WAYS)
def test_bytecode_made_either_way_gives_the_same_answers(
    way: str, catalog_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "pyodide-build" and not assemble.same_python():
        pytest.skip("this Python makes other bytecode than Pyodide's reads: the build used the other way")
    monkeypatch.setattr(assemble, "WORK", tmp_path / "work")
    compile_archive: Callable[[Path, Path], None] = WAYS[way]
    wheel, pyodide = tmp_path / "ajuste.whl", tmp_path / "pyodide"
    assemble.make_bytecode(compile_archive, wheel, pyodide)
    asked = list(assemble.requests().values())
    assert answers_in_pyodide(pyodide / LIBRARY, wheel, catalog_path, asked, tmp_path) == answers_here(
        catalog_path, asked
    )


def test_a_broken_wheel_is_reported_in_a_sentence(root: Path, catalog_path: Path, tmp_path: Path) -> None:
    """Node prints the failing line of Pyodide, a megabyte, unless the tool catches the error."""
    listed = tmp_path / "requests.json"
    listed.write_text("[]")
    (tmp_path / "broken.whl").write_bytes(b"no zip")
    done = subprocess.run(
        [
            "node",
            assemble.NODE_TOOL,
            "answers",
            root / "build/pyodide" / LIBRARY,
            tmp_path / "broken.whl",
            catalog_path,
            listed,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr) < 4000
