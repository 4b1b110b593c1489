"""Files that people train with, reduced to the lines that matter: read as meant, the rest listed with a reason."""

from pathlib import Path

import pytest
import yaml

from ajuste import load_catalog
from ajuste.resolve import resolve
from ajuste.tool_files import flatten, read_config

CASES = yaml.safe_load(Path(__file__).with_name("public_files.yaml").read_text(encoding="utf-8"))
FILES = [pytest.param(tool, case, id=case["source"].split(": ")[1]) for tool, cases in CASES.items() for case in cases]


@pytest.fixture(scope="module")
def catalog(catalog_text: str):
    return load_catalog(catalog_text)


def test_there_are_twenty_of_each_tool():
    for tool in ("axolotl", "llama-factory"):
        assert len({case["source"] for case in CASES[tool]}) == len(CASES[tool]) >= 20
        assert len({str(case["file"]) for case in CASES[tool]}) == len(CASES[tool]), "no two are the same file"
        assert len({str(case["request"]) for case in CASES[tool]}) >= 15, "nor the same plan"


@pytest.mark.parametrize(("tool", "case"), FILES)
def test_a_public_file_is_read(tool: str, case: dict, catalog):
    read = read_config(case["file"], tool)
    found = flatten(read["request"])
    assert {field: found.get(field) for field in flatten(case["request"])} == flatten(case["request"])
    assert [row["key"] for row in read["ignored"]] == case["ignored"]
    assert all(row["reason"]["es"] and row["reason"]["en"] for row in read["ignored"])
    plan, _ = resolve(read["request"], catalog)
    assert plan.framework == tool
