"""What goes in and out as files: a dataset, a config, the answer; and the one look-up elsewhere, after a click."""

import csv
import json
import random

import pytest


def dataset(folder, rows):
    """A chat dataset whose lengths are known: 100 characters a row, one of 4,000."""
    path = folder / "train.jsonl"
    shuffled = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for row in range(rows):
            length = 4000 if row == rows // 2 else 100
            words = "".join(shuffled.choice("abcdefgh") for _ in range(10)) * (length // 10)
            file.write(json.dumps({"messages": [{"role": "user", "content": words}]}) + "\n")
        file.write("not json\n")
    return path


def test_a_dataset_of_a_hundred_thousand_rows_is_measured_here(visit, tmp_path):
    visitor = visit()
    visitor.open("es/calculator/")
    path = dataset(tmp_path, 100_000)
    visitor.answered(lambda: visitor.page.locator("#aj-file").set_input_files(path))
    said = visitor.text("[data-field=file]")
    assert (
        "100 000 ejemplos. Contando caracteres, unos 25 tokens de media, mediana 25, p99 25, el más largo 1 000."
        in said
    )
    assert "1 línea no se pudo leer" in said
    assert visitor.page.locator("#aj-sequence_length").input_value().replace("\u202f", "") == "1000"
    visitor.answered(lambda: visitor.page.locator("[data-field=file] [data-change]").click())
    assert visitor.page.locator("#aj-sequence_length").input_value() == "25"


def test_another_ratio_counts_again(visit, tmp_path):
    visitor = visit()
    visitor.open("en/calculator/")
    visitor.answered(lambda: visitor.page.locator("#aj-file").set_input_files(dataset(tmp_path, 100)))
    visitor.page.locator("#aj-ratio").fill("2")
    visitor.answered(lambda: visitor.page.keyboard.press("Tab"))
    assert "longest 2,000." in visitor.text("[data-field=file]")


def test_csv_is_measured_and_an_empty_file_is_told(visit, tmp_path):
    visitor = visit()
    visitor.open("en/calculator/")
    table = tmp_path / "rows.csv"
    table.write_text(
        'prompt,answer\n"a ""quoted"",\nbroken line",' + "x" * 381 + "\n" + "y" * 40 + ",\n", encoding="utf-8"
    )
    visitor.answered(lambda: visitor.page.locator("#aj-file").set_input_files(table))
    assert "2 examples" in visitor.text("[data-field=file]")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n", encoding="utf-8")
    visitor.page.locator("#aj-file").set_input_files(empty)
    visitor.page.locator("[data-field=file]", has_text="no example that can be read").wait_for()


def test_a_config_file_becomes_the_model(visit, tmp_path, catalog_data):
    visitor = visit()
    visitor.open("es/calculator/")
    config = next(model["config"] for model in catalog_data["models"] if model["id"] == "qwen2.5-7b")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    visitor.answered(lambda: visitor.page.locator("#aj-file").set_input_files(path))
    assert visitor.page.locator("#aj-model").input_value() == "config.json pegado"


def test_answer_is_downloaded_as_json_and_csv(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-dataset-epochs").fill("2"))
    with page.expect_download() as download:
        page.locator("[data-share=json]").click()
    saved = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert saved["request"]["dataset"] == {"epochs": 2}
    assert saved["answer"]["ok"]
    with page.expect_download() as download:
        page.locator("[data-share=csv]").click()
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8").splitlines()))
    assert len(rows) == len(saved["answer"]["offers"])
    assert float(rows[0]["usd.mid"]) == saved["answer"]["offers"][0]["usd"]["mid"]


def test_paper_takes_one_page(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    pdf = visitor.page.pdf(format="A4")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") == 1


CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
}


@pytest.mark.parametrize(
    ("status", "words"),
    [(200, None), (401, "asks for permission"), (404, "has no config.json"), (429, "too many requests")],
)
def test_the_hub_is_asked_only_after_a_click_that_names_it(visit, status, words):
    visitor = visit(expect_failures=True)
    page = visitor.page
    asked = []

    def hub(route):
        asked.append(route.request.url)
        route.fulfill(status=status, json=CONFIG if status == 200 else {}, headers={"Access-Control-Allow-Origin": "*"})

    page.context.route("https://huggingface.co/**", hub)
    visitor.open("en/calculator/")
    page.locator("#aj-model").fill("someone/a-new-model")
    visitor.answered(lambda: page.keyboard.press("Enter"))
    assert asked == []
    button = page.locator("[data-hub]")
    assert "huggingface.co" in button.inner_text()
    if status == 200:
        visitor.answered(button.click)
        assert page.locator(".aj-fault").count() == 0
        assert page.locator("#aj-model").input_value() == "pasted config.json"
    else:
        button.click()
        page.locator(".aj-fault", has_text=words).wait_for()
    assert asked == ["https://huggingface.co/someone/a-new-model/resolve/main/config.json"]


def test_presets_answer_before_python_and_equal_it(visit):
    visitor = visit()
    page = visitor.page
    held = []
    page.context.route("**/pyodide.asm.wasm", lambda route: held.append(route))
    visitor.open("es/calculator/#model=qwen2.5-7b&method=lora")
    page.wait_for_function("() => document.querySelector('#verdict p').textContent.includes('Qwen2.5 7B')")
    assert "Calculado al publicar" in visitor.text(".aj-closing")
    built = visitor.text(".aj-numbers"), visitor.text("#picks")
    visitor.answered(lambda: held.pop().fallback())
    assert "en tu navegador" in visitor.text(".aj-closing")
    assert (visitor.text(".aj-numbers"), visitor.text("#picks")) == built
