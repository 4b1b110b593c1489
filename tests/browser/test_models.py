"""A model's name means the same to the page and to the estimator."""

import json

import pytest

import ajuste
from ajuste.catalog import TUNING_WORDS, find_model
from ajuste.errors import RequestError

NAMES = [
    "Qwen/Qwen2.5-14B-Instruct",
    "https://huggingface.co/Qwen/Qwen2.5-14B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
    "unsloth/Qwen2.5-7B-Instruct-bnb-4bit",
    "Qwen/Qwen3-4B-Instruct-2507",
    "llama-3.1-8b",
    "nobody/Qwen2.5-15B-Instruct",
    "instruct",
    "",
]


@pytest.fixture(scope="module")
def models(catalog_text):
    return {m["id"]: {"name": m["name"], "hf_id": m["hf_id"]} for m in json.loads(catalog_text)["models"]}


def test_the_page_finds_what_the_estimator_finds(catalog_text, models, run_node):
    catalog = ajuste.load_catalog(catalog_text)

    def found(name):
        try:
            return find_model(catalog, name.removeprefix("https://huggingface.co/"))["id"]
        except RequestError:
            return None

    said = run_node(
        f"""
        import {{ modelNamed, TUNING_WORDS }} from "./models.js";
        const models = {json.dumps(models)};
        const found = {json.dumps(NAMES)}.map((name) => modelNamed(name, models) ?? null);
        console.log(JSON.stringify([found, [...TUNING_WORDS]]));
        """
    )
    assert said[0] == [found(name) for name in NAMES]
    assert said[0][0] == said[0][1] == "qwen2.5-14b"
    assert said[0][-3:] == [None, None, None]
    assert set(said[1]) == TUNING_WORDS
