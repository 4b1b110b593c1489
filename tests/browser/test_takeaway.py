"""The files that start the run, below a live answer."""

import json


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
