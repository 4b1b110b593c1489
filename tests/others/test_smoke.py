"""Ten steps in Firefox and WebKitGTK; the whole suite runs in Chromium."""

import pytest

FILE = "base_model: Qwen/Qwen2.5-7B\nadapter: lora\nlora_r: 8\nsequence_len: 1024\n"
ERROR = """
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 23.64 GiB of which
1.12 GiB is free. Including non-PyTorch memory, this process has 22.40 GiB memory in use. Of the allocated memory
20.87 GiB is allocated by PyTorch, and 934.12 MiB is reserved by PyTorch but unallocated.
"""
TYPE = """const box = document.querySelector(arguments[0]); box.focus(); box.value = arguments[1];
box.dispatchEvent(new Event("input", { bubbles: true })); box.dispatchEvent(new Event("change", { bubbles: true }));"""
CLICK = "document.activeElement?.blur(); document.querySelector(arguments[0]).click()"
READY = "return document.querySelector('.aj-calc')?.dataset.ready"
SETTLED = """const { answered, busy } = document.querySelector('.aj-calc').dataset;
return Number(answered ?? 0) > arguments[0] && busy === 'false'"""


@pytest.mark.full
@pytest.mark.site
def test_ten_steps(driver, base, wait, text):
    def answers():
        return int(driver.run("return document.querySelector('.aj-calc').dataset.answered ?? 0"))

    def answered(script, *values):
        before = answers()
        driver.run(script, *values)
        wait(SETTLED, before)

    # 1 the page holds an answer before Python
    driver.go(f"{base}es/calculator/")
    wait(READY)
    built = text(".aj-numbers")
    assert "GiB" in built

    # 2 a number is changed: a live answer
    answered(TYPE, "#aj-dataset-examples", "52000")
    assert text(".aj-numbers") != built

    # 3 another method needs more
    qlora = text(".aj-numbers dd")
    answered(CLICK, "#aj-method-lora")
    assert text(".aj-numbers dd") != qlora
    live = text(".aj-numbers")

    # 4 the address holds the question, and opens it again
    address = driver.run("return location.href")
    assert "dataset.examples=52000" in address
    driver.go("about:blank")
    driver.go(address)
    wait("return document.querySelector('.aj-calc')?.dataset.answered")
    assert text(".aj-numbers") == live

    # 5 a wrong number is told at its field
    driver.run(TYPE, "#aj-sequence_length", "dos mil")
    wait("return document.querySelector('[data-field=sequence_length] .aj-fault')")
    driver.run(TYPE, "#aj-sequence_length", "2048")

    # 6 an unknown model offers the near one
    answered(TYPE, "#aj-model", "llama-3.1-8c")
    assert text("[data-field=model] .aj-fault")
    answered(CLICK, "[data-field=model] .aj-fault button")
    assert "Llama" in driver.run("return document.querySelector('#aj-model').value")

    # 7 the other language keeps the question
    driver.run(CLICK, "a.ajuste-language")
    wait("return location.pathname.includes('/en/') && document.querySelector('.aj-calc')?.dataset.answered")
    assert "Memory" in text(".aj-numbers")
    assert driver.run("return document.querySelector('#aj-method-lora').checked")

    # 8 a tool's file becomes the question
    driver.run("document.querySelector('#config').open = true")
    driver.run(TYPE, "#aj-paste-config", FILE)
    answered(CLICK, "[data-paste=config]")
    assert driver.run("return document.querySelector('#aj-lora-rank').value") == "8"

    # 9 an error is read
    driver.run("document.querySelector('#oom').open = true")
    driver.run(TYPE, "#aj-paste-oom", ERROR)
    driver.run(CLICK, "[data-paste=oom]")
    wait("return document.querySelector('#aj-read-oom .aj-fixes button')")
    assert "backward" in text("#aj-read-oom .aj-moment")

    # 10 the guide's small calculator answers
    driver.go(f"{base}en/guide/methods/qlora/")
    printed = text(".aj-embed .aj-numbers")
    driver.run(TYPE, ".aj-embed [name=sequence_length]", "8192")
    wait("return document.querySelector('.aj-embed').dataset.answered")
    assert text(".aj-embed .aj-numbers") != printed
