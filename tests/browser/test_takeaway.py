"""The files that start the run, below a live answer."""

import json

import pytest


def test_the_files_of_a_run_are_shown_and_saved(visit):
    visitor = visit()
    visitor.open("es/calculator/#model=llama-3.1-8b&method=qlora&lora.rank=32")
    page = visitor.page
    page.locator("#fold-takeaway > summary").click()
    page.locator("#aj-take-target").select_option("smoke")
    page.locator("[data-take=write]").click()
    page.locator("#fold-takeaway pre").wait_for()
    assert json.loads(page.locator("#fold-takeaway pre").inner_text())["lora_rank"] == 32
    with page.expect_download() as saved:
        page.locator("#fold-takeaway [data-take='0']").click()
    assert saved.value.suggested_filename == "smoke.json"
    # Another question: these files are not its own.
    visitor.answered(lambda: page.locator("#aj-method-lora").check(force=True))
    assert page.locator("#fold-takeaway pre").count() == 0


@pytest.mark.parametrize(
    "typed", ["unsloth/Llama-3.1-8B-Instruct", "https://huggingface.co/unsloth/Llama-3.1-8B-Instruct"]
)
def test_the_files_load_the_weights_that_were_typed(visit, typed):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-model").focus())
    before = visitor.text(".aj-numbers")
    page.locator("#aj-model").fill(typed)
    assert "Llama 3.1 8B" in visitor.text("#aj-models [role=option]")
    visitor.answered(lambda: page.keyboard.press("Enter"))
    assert page.locator("#aj-model").input_value() == "unsloth/Llama-3.1-8B-Instruct"
    assert visitor.text(".aj-numbers") == before, "the same architecture"
    page.locator("#fold-takeaway > summary").click()
    page.locator("[data-take=write]").click()
    page.locator("#fold-takeaway pre").first.wait_for()
    files = "".join(page.locator("#fold-takeaway pre").all_inner_texts())
    assert "unsloth/Llama-3.1-8B-Instruct" in files
    assert "meta-llama/Llama-3.1-8B" not in files
    page.reload()
    page.wait_for_selector(".aj-calc[data-ready]")
    assert page.locator("#aj-model").input_value() == "unsloth/Llama-3.1-8B-Instruct", "the link keeps it"
