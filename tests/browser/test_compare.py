"""Questions side by side: pinned, changed, shared."""

import pytest

from ajuste import estimate, load_catalog

PHONE = {"width": 390, "height": 844}


def pin(visitor):
    count = visitor.page.locator(".aj-compare thead th").count()
    visitor.page.locator("[data-share=pin]").click()
    visitor.page.wait_for_function(
        "count => document.querySelectorAll('.aj-compare thead th').length > count", arg=count
    )


def test_two_stacks_name_the_default_that_differs(visit, catalog_text):
    visitor = visit()
    visitor.open("en/calculator/")
    page = visitor.page
    visitor.answered(lambda: page.locator("#aj-framework").select_option("hf"))
    pin(visitor)
    visitor.answered(lambda: page.locator("#aj-framework").select_option("unsloth"))
    pin(visitor)
    rows = page.locator(".aj-compare tbody tr")
    told = {row.locator("th").inner_text(): row.locator("td").last.inner_text() for row in rows.all()}
    assert "Unsloth" in told["Question"]
    assert told["Also changes, by default"].strip()
    catalog = load_catalog(catalog_text)
    first, second = (
        estimate({"model": "llama-3.1-8b", "method": "qlora", "framework": name}, catalog)["memory"]["whole_run"][
            "required_gib"
        ]["mid"]
        for name in ("hf", "unsloth")
    )
    assert f"{second:.1f}" in told["Memory"]
    assert f"{'−' if second < first else '+'}{abs(second - first):.1f}" in told["Memory"]


def test_four_at_most_and_the_link_brings_them_back(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    for rank in ("8", "32", "64", "128"):
        visitor.answered(
            lambda rank=rank: page.locator("#aj-lora-rank").evaluate(
                "(box, rank) => { box.value = rank; box.dispatchEvent(new Event('input', { bubbles: true })); }", rank
            )
        )
        pin(visitor)
    page.locator("[data-share=pin]").click()
    assert "Ya hay cuatro" in visitor.text("#aj-status")
    page.locator("[data-unpin='1']").click()
    told = page.locator(".aj-compare table").inner_text()
    assert "Rango de LoRA: 32" not in told
    assert "Rango de LoRA: 64" in told

    second = visit()
    second.page.goto(page.url)
    second.page.wait_for_selector(".aj-compare thead th:nth-of-type(3)", timeout=120_000)
    assert second.page.locator(".aj-compare table").inner_text() == told


@pytest.mark.parametrize("which", [1, 2])
def test_a_phone_shows_two(visit, which):
    visitor = visit(viewport=PHONE)
    visitor.open("es/calculator/#model=llama-3.1-8b&method=qlora")
    page = visitor.page
    for method in ("lora", "full", "qlora"):
        visitor.answered(lambda method=method: page.locator(f"#aj-method-{method}").evaluate("box => box.click()"))
        pin(visitor)
    page.locator(f"[data-compare='{which}']").click()
    shown = [cell for cell in page.locator(".aj-compare thead th").all() if cell.is_visible()]
    assert len(shown) == 2
    assert shown[1].inner_text().startswith("ABCD"[which])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
