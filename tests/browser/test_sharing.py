"""What a reader takes along, and what a page says while its answer is another question's."""

import json

import pytest

LINK = "#model=qwen2.5-7b&method=lora&lora.rank=64&~v=0.1.0&~d=2026-11-09&~m=34.9,4.56,9.08"


@pytest.mark.parametrize(
    ("language", "figures"), [("es", ("34,9 GiB", "4,6 h", "US$ 9,08")), ("en", ("34.9 GiB", "4.6 h", "$9.08"))]
)
def test_a_link_shows_its_own_figures_until_its_answer_is_here(visit, language, figures):
    visitor = visit()
    page = visitor.page
    held = []
    page.context.route("**/pyodide.asm.wasm", lambda route: held.append(route))
    visitor.open(f"{language}/calculator/{LINK}")
    page.wait_for_selector("#aj-status .aj-quoted")
    said = visitor.text("#aj-status").replace("\u00a0", " ")
    assert all(figure in said for figure in figures)
    assert page.locator("#aj-answer").is_hidden()
    page.wait_for_function("() => document.querySelector('#aj-status progress')")
    assert page.locator("#aj-status .aj-quoted").is_visible()
    visitor.answered(lambda: held.pop().fallback())
    assert page.locator("#aj-answer").is_visible()
    assert page.locator(".aj-quoted").count() == 0


def test_a_wrong_field_says_that_the_answer_is_the_one_before(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    field = page.locator("#aj-dataset-examples")
    field.fill("20 thousand")
    assert "Previous answer" in visitor.text("#aj-status")
    assert "aj-stale" in page.locator("#aj-answer").get_attribute("class")
    field.fill("10000")
    page.wait_for_selector("#aj-answer:not(.aj-stale)")
    assert page.locator("#aj-status").is_hidden()


def test_a_number_beyond_all_numbers_is_refused_as_it_was_written(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    visitor.answered(
        lambda: visitor.page.goto(f"{visitor.base}en/calculator/#model=llama-3.1-8b&method=qlora&sequence_length=1e400")
    )
    assert visitor.page.locator("[data-field=sequence_length] .aj-fault").is_visible()
    assert "Infinity" not in visitor.text("body")


def test_summary_is_four_lines_and_the_link(visit):
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    visitor.open("en/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-dataset-examples").fill("52000"))
    page.locator("[data-share=summary]").click()
    page.wait_for_function("() => document.querySelector('[data-share=summary]').textContent === 'Summary copied'")
    lines = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert lines[0].startswith("Fits")
    assert "Llama 3.1 8B" in lines[1]
    assert "GiB" in lines[2]
    assert "$" in lines[3]
    assert "#model=llama-3.1-8b&method=qlora&dataset.examples=52000" in lines[4]
    assert len(lines) == 5


def test_show_all_lists_every_offer(visit):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-dataset-examples").fill("20000"))
    total = int(visitor.text("#offers > p").split()[0])
    assert total > 50
    visitor.answered(lambda: page.locator("#offers button", has_text="Show all").click())
    assert page.locator("#offers button", has_text="Show all").count() == 0
    page.locator("#more-offers > summary").click()
    page.wait_for_function("total => document.querySelectorAll('#offers tbody tr').length === total", arg=total)


def test_offers_of_one_kind_of_provider(visit, site):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-filters-kinds").select_option("hyperscaler"))
    providers = json.loads((site / "api/v1/providers.json").read_text())["providers"]
    large = {row["name"] for row in providers if row["kind"] == "hyperscaler"}
    shown = {
        text.strip() for text in page.locator("#offers .aj-who").evaluate_all("all => all.map(e => e.firstChild.data)")
    }
    assert shown
    assert shown <= large


def test_files_of_a_run_are_copied(visit):
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    visitor.open("en/calculator/")
    page = visitor.page
    page.locator("#fold-takeaway > summary").click()
    page.locator("#fold-takeaway [data-take=write]").click()
    page.wait_for_selector("#fold-takeaway [data-copy='0']", timeout=120_000)
    page.locator("#fold-takeaway [data-copy='0']").click()
    page.wait_for_function("() => document.querySelector('[data-copy=\"0\"]').textContent === 'Copied'")
    text = page.locator("#fold-takeaway pre code").first.text_content()
    assert page.evaluate("navigator.clipboard.readText()") == text


def test_times_and_charges_add_up_as_written(run_node):
    said = run_node(
        """
        import { Format } from "./format.js";
        const es = new Format("es");
        console.log(JSON.stringify([
            es.durationParts([0.103, 0.0223063, 0.00388889, 0.0127946, 0.00833333, 1.03479, 0.000209715]),
            es.usdParts([1.863, 0.270582, 0.000418743]),
            es.gibParts([9.12867, 0.68257]),
            es.durationRange({ low: 0.4645, mid: 0.6595, high: 1.2285 }),
        ]));
        """
    )
    time, money, memory, span = said
    # 71.1 minutes: 6.18 + 1.34 + 0.23 + 0.77 + 0.50 + 62.09 + 0.01; one more minute goes to 0.77, cut most
    assert time == [
        "6\u00a0min",
        "1\u00a0min",
        "<\u00a01\u00a0min",
        "1\u00a0min",
        "1\u00a0min",
        "62\u00a0min",
        "<\u00a01\u00a0min",
        "71\u00a0min",
    ]
    assert money == ["US$\u00a01,86", "US$\u00a00,27", "<\u00a0US$\u00a00,01", "US$\u00a02,13"]
    assert memory == ["9,1", "0,7", "9,8"]
    assert span == "28–74\u00a0min"  # one unit: that of the middle, 40 min


def test_the_theme_follows_the_system_and_then_the_button_in_both_languages(visit):
    visitor = visit(color_scheme="dark")
    page = visitor.page
    scheme = "document.body.dataset.mdColorScheme"
    visitor.open("es/")
    assert page.evaluate(scheme) == "slate"
    page.get_by_role("button", name="Cambiar a modo claro").click()
    assert page.evaluate(scheme) == "default"
    page.locator("a[hreflang=en]").first.click()
    page.wait_for_url("**/en/**")
    assert page.evaluate(scheme) == "default"
    assert page.get_by_role("button", name="Switch to dark mode").is_visible()
