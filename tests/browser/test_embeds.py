"""Small calculators inside the guide: printed at build, alive at the first touch, right without JavaScript."""

import json

import pytest

PAGES = {"es": ("es/guide/methods/qlora/", "Abrir en la calculadora"), "en": ("en/guide/methods/qlora/", "Open in")}


def embed(visitor, name):
    return visitor.page.locator(f'.aj-embed[data-embed*=\'"name":"{name}"\']')


@pytest.mark.parametrize("language", ["es", "en"])
def test_without_javascript_it_reads_and_leads_on(visit, language):
    path, words = PAGES[language]
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(visitor.base + path)
    one = embed(visitor, "qlora")
    assert "GiB" in one.locator(".aj-numbers").inner_text()
    assert one.locator("form").is_hidden()
    assert one.locator("noscript").inner_text().strip()
    link = one.get_by_text(words)
    assert link.get_attribute("href") == "../../../calculator/#model=llama-3.1-8b&method=qlora"
    link.click()
    assert visitor.page.url.startswith(f"{visitor.base}{language}/calculator/")


def test_it_loads_nothing_before_it_is_touched(visit):
    visitor = visit()
    seen = []
    visitor.page.on("request", lambda request: seen.append(request.url.rsplit("/", 1)[-1]))
    visitor.page.goto(visitor.base + PAGES["es"][0])
    visitor.page.wait_for_load_state("networkidle")
    assert "embed.js" in seen
    assert not [name for name in seen if name.startswith(("embedded", "chunk", "worker", "names.json", "pyodide"))]


def test_a_change_is_answered_as_the_calculator_answers(visit, catalog_text):
    from ajuste import estimate, load_catalog

    visitor = visit()
    page = visitor.page
    page.goto(visitor.base + PAGES["en"][0])
    one = embed(visitor, "qlora")
    before = one.locator(".aj-numbers").inner_text()
    one.locator("[name=sequence_length]").fill("8192")
    page.wait_for_function("() => document.querySelector('.aj-embed').dataset.answered", timeout=120_000)
    after = one.locator(".aj-numbers").inner_text()
    assert after != before
    request = {"model": "llama-3.1-8b", "method": "qlora", "sequence_length": 8192}
    need = estimate(request, load_catalog(catalog_text))["memory"]["whole_run"]["required_gib"]
    assert f"{need['mid']:.1f}" in after
    assert "sequence_length=8192" in one.get_by_text("Open in the calculator").get_attribute("href")


def test_two_levers_at_once_and_back(visit):
    visitor = visit()
    page = visitor.page
    page.goto(visitor.base + "es/guide/memory/reduce/")
    one = embed(visitor, "reduce")
    printed = one.locator(".aj-answer").inner_text()
    asked = json.loads(one.get_attribute("data-embed"))["request"]
    loss = one.locator("[name=loss] option[selected]").get_attribute("value")
    one.locator("[name=loss]").select_option("fused" if loss != "fused" else "default")
    one.locator("[name=micro_batch]").fill("1")
    page.wait_for_function("() => document.querySelector('.aj-embed .aj-answer').ariaBusy === 'false'", timeout=120_000)
    assert one.locator(".aj-answer").inner_text() != printed
    one.locator("[name=micro_batch]").fill(str(asked["micro_batch"]))
    one.locator("[name=loss]").select_option(loss)
    page.wait_for_function(
        "printed => document.querySelector('.aj-embed .aj-answer').innerText === printed", arg=printed, timeout=60_000
    )


def test_an_error_is_read_on_its_page(visit):
    visitor = visit()
    page = visitor.page
    page.goto(visitor.base + "es/guide/oom/")
    page.locator("#aj-paste-oom").fill(
        "loss.backward()\nRuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 14.73 GiB total "
        "capacity; 13.67 GiB already allocated; 15.88 MiB free; 13.72 GiB reserved in total by PyTorch)"
    )
    page.locator("[data-paste=oom]").click()
    page.wait_for_selector(".aj-moment", timeout=120_000)
    told = visitor.text("#aj-read-oom")
    assert "última gota" in told
    assert page.locator("#aj-read-oom a[href$='calculator/#oom']").count() == 1
    assert page.locator("#aj-read-oom .aj-moment a").get_attribute("href").endswith("reduce/#checkpointing")
