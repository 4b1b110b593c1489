"""Asking, with Python running in the page."""

import json
import re

import pytest


def figures(visitor):
    return [" ".join(text.split()) for text in visitor.page.locator(".aj-numbers .aj-figure").all_inner_texts()]


def lines(page):
    """The answer's text line by line, what is out of view included: that is styled only when it comes near."""
    page.evaluate("for (const e of document.querySelectorAll('#aj-answer *')) e.style.contentVisibility = 'visible'")
    return page.locator("#aj-answer").inner_text().split("\n")


@pytest.mark.parametrize("language", ["es", "en"])
def test_numbers_do_not_jump_when_python_takes_over(visit, language):
    visitor = visit()
    visitor.open(f"{language}/calculator/")
    built = lines(visitor.page)
    visitor.answered(lambda: visitor.page.locator("#aj-dataset-epochs").focus())
    live = lines(visitor.page)
    changed = [(old, new) for old, new in zip(built, live, strict=True) if old != new]
    assert len(changed) == 1, "only the line that says who computed it"
    assert re.search("navegador|browser", changed[0][1])


@pytest.mark.parametrize("language", ["es", "en"])
def test_each_question_changes_what_it_should(visit, language):
    visitor = visit()
    visitor.open(f"{language}/calculator/")
    page = visitor.page
    memory, _, bill = figures(visitor)

    visitor.answered(lambda: page.locator("#aj-dataset-examples").fill("100000"))
    more = figures(visitor)
    assert more[0] == memory, "examples do not change memory"
    assert more[2] != bill

    visitor.answered(lambda: page.locator("#aj-sequence_length").fill("16 384"))
    assert figures(visitor)[0] != memory

    visitor.answered(lambda: page.locator("label", has_text=re.compile("^(Completo|Full)$")).click())
    assert page.locator("#aj-precision").is_visible()
    assert page.locator("#aj-optimizer").is_visible()
    assert "GiB" in figures(visitor)[0]
    full = float(re.sub(r"[^\d.]", "", figures(visitor)[0].replace(",", ".")))
    assert full > 50, "a full fine-tune of 8 billion parameters"


def test_model_is_found_by_typing_and_chosen_by_keyboard(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-model").focus())
    page.keyboard.type("qwen3 4b")
    options = page.locator("#aj-models [role=option]")
    assert options.first.is_visible()
    page.keyboard.press("ArrowDown")
    assert page.locator("#aj-model").get_attribute("aria-activedescendant") == "aj-model-0"
    name = options.first.locator("span").inner_text()
    visitor.answered(lambda: page.keyboard.press("Enter"))
    assert page.locator("#aj-models").is_hidden()
    assert name in visitor.text("#verdict p")


def test_keyboard_alone_asks_a_whole_question(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    page.locator("#aj-model").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "method"
    visitor.answered(lambda: page.keyboard.press("ArrowRight"))
    assert page.locator("input[name=method]:checked").get_attribute("value") == "lora"
    for name in ("framework", "task", "sequence_length"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == name
    page.keyboard.press("Control+A")
    visitor.answered(lambda: page.keyboard.type("8"))
    assert page.evaluate("document.activeElement.name") == "sequence_length", "an answer takes nobody's focus"
    page.keyboard.type("192")
    page.keyboard.press("Tab")
    page.wait_for_function("() => location.hash.includes('sequence_length=8192')")


def test_changed_setting_is_marked_and_goes_back(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    page.locator("#aj-settings > summary").click()
    before = figures(visitor)
    visitor.answered(lambda: page.locator("#aj-lora-rank").fill("256"))
    assert "cambiado por ti" in visitor.text("[data-field='lora.rank']")
    assert figures(visitor) != before
    visitor.answered(lambda: page.locator("[data-field='lora.rank'] [data-reset]").click())
    assert "cambiado por ti" not in visitor.text("[data-field='lora.rank']")
    assert figures(visitor) == before


def test_lever_and_its_undo(visit):
    visitor = visit()
    visitor.open("es/calculator/#model=llama-3.1-8b&method=qlora&gpu=rtx-4090-24gb&mode=have-gpu&sequence_length=32768")
    page = visitor.page
    page.wait_for_selector("[data-answered]", timeout=120_000)
    before = figures(visitor)
    visitor.answered(lambda: page.locator("#levers button[data-change]").first.click())
    assert figures(visitor) != before
    visitor.answered(lambda: page.locator("#levers .aj-undo").click())
    assert figures(visitor) == before
    assert page.locator("#levers .aj-undo").count() == 0


def test_modes_keep_what_was_typed(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("label", has_text="Tengo GPU").click())
    assert "RTX 4090" in visitor.text("#verdict h2")
    visitor.answered(lambda: page.locator("#aj-gpu").select_option("a100-sxm-80gb"))
    assert "A100" in visitor.text("#verdict h2")
    visitor.answered(lambda: page.locator("label", has_text="Busco GPU").click())
    assert "A100" not in visitor.text("#verdict h2")
    visitor.answered(lambda: page.locator("label", has_text="Tengo GPU").click())
    assert page.locator("#aj-gpu").input_value() == "a100-sxm-80gb"


def test_pasted_config_is_computed_and_a_wrong_one_is_refused(visit, catalog_data):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    config = next(model["config"] for model in catalog_data["models"] if model["id"] == "llama-3.1-8b")
    before = figures(visitor)

    def paste(text):
        page.locator("#aj-model").focus()
        page.evaluate(
            """text => {
                const data = new DataTransfer();
                data.setData("text", text);
                document.activeElement.dispatchEvent(
                    new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
            }""",
            text,
        )

    visitor.answered(lambda: paste(json.dumps({**config, "num_hidden_layers": 16}, indent=2)))
    assert figures(visitor)[0] != before[0]
    assert page.locator("#aj-model").input_value() == "pasted config.json"

    visitor.answered(lambda: paste('{"model_type": "banana"}'))
    assert page.locator("[data-field=model] .aj-fault").is_visible()
    paste('{"hidden_size": ')
    assert "config.json" in visitor.text("[data-field=model] .aj-fault")


@pytest.mark.parametrize("language", ["es", "en"])
def test_an_emptied_budget_stays_what_it_was(visit, language):
    visitor = visit()
    visitor.open(f"{language}/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-mode-have-budget").check(force=True))
    visitor.answered(lambda: page.locator("#aj-job-budget_usd").fill("35"))
    before = visitor.text("#verdict h2")
    for name in ("budget_usd", "deadline_h"):
        field = page.locator(f"#aj-job-{name}")
        value = field.input_value()
        field.fill("")
        said = visitor.text(f"[data-field='job.{name}'] .aj-echo")
        assert value in said
        assert ("Find a GPU" if language == "en" else "Busco GPU") in said
        assert visitor.text("#verdict h2") == before
        assert page.locator(".aj-fault").count() == 0
        field.blur()
        page.wait_for_function(
            "([id, value]) => document.getElementById(id).value === value", arg=[f"aj-job-{name}", value]
        )
    visitor.answered(lambda: page.locator("#aj-job-budget_usd").fill("40"))
    assert page.locator("[data-field='job.budget_usd'] .aj-echo").count() == 0


def test_the_mode_of_a_card_has_one(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    visitor.answered(lambda: visitor.page.locator("#aj-mode-have-gpu").check(force=True))
    assert visitor.page.locator("#aj-gpu option[value='']").count() == 0


def test_a_budget_says_what_is_beyond_it(visit):
    visitor = visit()
    visitor.open("en/calculator/#mode=have-budget&job.budget_usd=5")
    page = visitor.page
    page.wait_for_selector("#grid", timeout=120_000)
    cells = page.locator("#grid tbody .aj-no").all_inner_texts()
    assert cells
    assert set(cells) == {"beyond budget or deadline"}
    assert page.locator("#aj-job-deadline_h").input_value() == "24", "what the link leaves open, as the mode starts"
