"""What is seen when a question cannot be answered, or Python cannot run."""

import pytest


@pytest.mark.parametrize(("language", "words"), [("es", "número entero"), ("en", "whole number")])
def test_letters_in_a_number_are_told_at_the_field(visit, language, words):
    visitor = visit()
    visitor.open(f"{language}/calculator/")
    visitor.page.locator("#aj-sequence_length").fill("dos mil")
    assert words in visitor.text("[data-field=sequence_length] .aj-fault")
    assert visitor.page.locator("#aj-sequence_length").get_attribute("aria-invalid") == "true"


def test_unknown_model_offers_the_near_one(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    page.locator("#aj-model").fill("llama-3.1-8c")
    visitor.answered(lambda: page.keyboard.press("Enter"))
    fault = page.locator("[data-field=model] .aj-fault")
    assert fault.is_visible()
    assert "aj-stale" in page.locator("#aj-answer").get_attribute("class")
    visitor.answered(lambda: fault.locator("button").first.click())
    assert fault.count() == 0
    assert "Llama" in page.locator("#aj-model").input_value()
    assert "aj-stale" not in page.locator("#aj-answer").get_attribute("class")


def test_out_of_range_is_told_in_the_pages_language(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    visitor.answered(lambda: visitor.page.locator("#aj-sequence_length").fill("99999999"))
    assert "out of range" in visitor.text("[data-field=sequence_length] .aj-fault")
    visitor.answered(lambda: visitor.page.locator("#aj-sequence_length").fill("4096"))
    assert visitor.page.locator(".aj-fault").count() == 0


def test_unknown_field_of_a_link_is_told(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    visitor.answered(
        lambda: visitor.page.goto(f"{visitor.base}es/calculator/#model=llama-3.1-8b&method=qlora&lora.ranc=8")
    )
    assert "lora.ranc" in visitor.text(".aj-others .aj-fault")
    visitor.answered(lambda: visitor.page.locator(".aj-others [data-reset]").click())
    assert visitor.page.locator(".aj-fault").count() == 0


@pytest.mark.parametrize(("language", "words"), [("es", "Python no arranca"), ("en", "Python does not start")])
def test_without_python_the_built_answer_stays(visit, language, words):
    visitor = visit(expect_failures=True)
    visitor.page.context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    visitor.open(f"{language}/calculator/")
    built = visitor.text(".aj-numbers")
    visitor.page.locator("#aj-dataset-examples").fill("52000")
    visitor.page.wait_for_function(
        "words => document.querySelector('#aj-status').innerText.includes(words)", arg=words, timeout=60_000
    )
    assert visitor.text(".aj-numbers") == built
    assert '"examples":52000' in visitor.text("#aj-status code")
    visitor.page.context.unroute("**/pyodide.asm.wasm")
    visitor.answered(lambda: visitor.page.locator("#aj-status button").click())
    assert visitor.text(".aj-numbers") != built


def test_slow_network_shows_what_arrives_and_keeps_the_fields_alive(visit):
    visitor = visit()
    page = visitor.page
    visitor.open("en/calculator/")
    held = []
    page.context.route("**/pyodide.asm.wasm", lambda route: held.append(route))
    page.locator("#aj-dataset-examples").fill("20000")
    page.wait_for_function("() => document.querySelector('#aj-status').innerText.includes('MB of')")
    assert "Previous answer" in visitor.text("#aj-status")
    page.locator("#aj-dataset-examples").fill("30000")
    assert page.locator("#aj-dataset-examples").input_value() == "30000"
    while not held:
        page.wait_for_timeout(50)  # the words come before Python is asked for
    visitor.answered(lambda: held.pop().fallback())
    assert page.locator("#aj-status").is_hidden()
