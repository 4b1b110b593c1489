"""The request lives in the address: sharing, going back, changing language."""

import re

QUESTION = "#model=qwen2.5-7b&method=lora&lora.rank=64&dataset.examples=52000&sequence_length=4096"


def test_shared_link_gives_the_same_answer(visit):
    first = visit(permissions=["clipboard-read", "clipboard-write"])
    first.open(f"es/calculator/{QUESTION}")
    first.page.wait_for_selector("[data-answered]", timeout=120_000)
    numbers = first.text(".aj-numbers")
    assert first.page.locator("#aj-lora-rank").input_value() == "64"
    first.page.locator("[data-share=link]").click()
    first.page.wait_for_function("() => document.querySelector('[data-share=link]').textContent === 'Enlace copiado'")
    link = first.page.evaluate("navigator.clipboard.readText()")
    assert "~v=" in link
    assert "~m=" in link
    assert "?" not in link

    second = visit(viewport={"width": 390, "height": 664})
    held = []
    second.page.context.route("**/pyodide.asm.wasm", lambda route: held.append(route))
    second.page.goto(link)
    second.page.wait_for_selector(".aj-quoted")
    figure = "#aj-status .aj-quoted .aj-figure"
    quoted = [" ".join(text.split()) for text in second.page.locator(figure).all_inner_texts()]
    assert all(text in numbers for text in quoted), "the figures that were seen, not cut twice"
    assert second.page.locator("#aj-strip").is_hidden(), "it would repeat another question's answer"
    while not held:
        second.page.wait_for_timeout(50)
    held.pop().fallback()
    second.page.wait_for_selector("[data-answered]", timeout=120_000)
    assert second.text(".aj-numbers") == numbers
    assert "nada ha cambiado" in second.text("#aj-status")


def test_a_link_from_another_day_says_what_moved(visit):
    visitor = visit()
    visitor.open(f"en/calculator/{QUESTION}&~v=0.0.1&~d=2026-01-31&~m=1.0,2.0,3.0")
    visitor.page.wait_for_selector("[data-answered]", timeout=120_000)
    said = visitor.text("#aj-status")
    assert said.startswith("Then 1.0 GiB · 2.0 h · $3.00; now ")


def test_back_and_forward_walk_through_the_questions(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("label", has_text=re.compile("^LoRA$")).click())
    lora = visitor.text(".aj-numbers")
    visitor.answered(lambda: page.locator("label", has_text=re.compile("^Completo$")).click())
    assert visitor.text(".aj-numbers") != lora
    visitor.answered(page.go_back)
    assert page.locator("input[name=method]:checked").get_attribute("value") == "lora"
    assert visitor.text(".aj-numbers") == lora
    visitor.answered(page.go_back)
    assert page.locator("input[name=method]:checked").get_attribute("value") == "qlora"
    visitor.answered(page.go_forward)
    assert visitor.text(".aj-numbers") == lora


def test_language_switch_keeps_the_question(visit):
    visitor = visit()
    visitor.open(f"es/calculator/{QUESTION}")
    page = visitor.page
    page.wait_for_selector("[data-answered]", timeout=120_000)
    page.locator("a[hreflang=en]").first.click()
    page.wait_for_url("**/en/calculator/#**")
    page.wait_for_selector("[data-answered]", timeout=120_000)
    assert page.locator("#aj-lora-rank").input_value() == "64"
    assert "before tax" in visitor.text(".aj-numbers")
