"""The API reference says all that is public, in both languages, with the code's own signatures and examples."""

import inspect
import json
from pathlib import Path

import pytest

import ajuste
from pipeline.reference import api_reference, cli_reference, described


@pytest.fixture(scope="module")
def texts(root: Path) -> dict:
    return described(root)


def test_every_public_name_and_parameter_is_described(texts: dict):
    assert set(texts) == set(ajuste.__all__)
    for name, text in texts.items():
        assert text["es"].strip()
        assert text["en"].strip()
        thing = getattr(ajuste, name)
        if not inspect.isclass(thing):
            assert list(text["parameters"]) == list(inspect.signature(thing).parameters), name
            assert all(set(row) == {"es", "en"} for row in text["parameters"].values()), name


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_reference_shows_signatures_and_examples(texts: dict, language: str):
    page = api_reference(language, texts)
    assert "estimate_json(request: str, catalog: str | Catalog) -> str" in page
    assert page.count("{#api-") == len(texts)
    assert ">>> read_config(" in page or "read_config({" in page
    assert "run_files(" in page


def test_every_command_is_shown_in_its_language():
    spanish, english = cli_reference("es"), cli_reference("en")
    for name in ("estimate", "fit", "rank", "invert", "explain", "models", "gpus", "prices", "export"):
        assert f"`ajuste {name}`" in spanish
        assert f"`ajuste {name}`" in english
    assert "opciones:" in spanish
    assert "options:" in english
    assert "usage:" not in spanish


def test_the_door_for_the_page_gives_the_files(catalog_text: str):
    from ajuste.doors import call_json

    catalog = ajuste.load_catalog(catalog_text)
    asked = {"request": {"model": "llama-3.1-8b", "method": "qlora"}, "target": "axolotl", "language": "es"}
    answer = json.loads(call_json("files", json.dumps(asked), catalog))
    assert answer["ok"] is True
    assert [file["name"] for file in answer["files"]] == ["train.yaml", "run.sh"]
    assert "datos al" in answer["files"][0]["text"]
    refused = json.loads(call_json("files", json.dumps({**asked, "target": "slurm"}), catalog))
    assert refused["error"]["field"] == "target"
