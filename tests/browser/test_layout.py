"""Sizes: nothing overflows, the answer is in view on a phone, fingers hit what they aim at."""

import pytest

PAGES = ("", "calculator/", "prices/", "gpus/", "models/")


@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("width", [360, 390, 768])
def test_no_page_is_wider_than_the_screen(visit, language, width):
    visitor = visit(viewport={"width": width, "height": 700})
    for path in PAGES:
        visitor.open(f"{language}/{path}")
        visitor.page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        assert visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path


@pytest.mark.parametrize("language", ["es", "en"])
def test_phone_shows_verdict_numbers_and_bar_without_scrolling(visit, language):
    visitor = visit(viewport={"width": 390, "height": 664})
    visitor.open(f"{language}/calculator/")
    for part in ("#verdict", ".aj-numbers", ".aj-bar"):
        box = visitor.page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 664, part


def test_desk_keeps_the_form_in_view(visit):
    visitor = visit(viewport={"width": 1440, "height": 900})
    visitor.open("es/calculator/")
    assert visitor.page.locator("#picks").bounding_box()["y"] < 900
    visitor.page.locator("#offers").scroll_into_view_if_needed()
    box = visitor.page.locator(".aj-ask").bounding_box()
    assert 0 <= box["y"] < 200


def test_targets_are_large_enough_for_a_finger(visit):
    visitor = visit(viewport={"width": 390, "height": 664}, has_touch=True)
    visitor.open("es/calculator/")
    visitor.page.locator("#aj-settings > summary").click()
    small = visitor.page.evaluate(
        """() => [...document.querySelectorAll(
                '.aj-input > *:not(span), .aj-segments label, .aj-calc summary, :is(.aj-levers, .aj-share) button'
            )]
            .filter(e => e.offsetParent && e.getBoundingClientRect().height < 41.9)
            .map(e => `${e.id || e.textContent} ${e.getBoundingClientRect().height}`)"""
    )
    assert small == []


def test_strip_repeats_the_answer_when_it_is_out_of_sight(visit):
    visitor = visit(viewport={"width": 390, "height": 664})
    visitor.open("es/calculator/")
    strip = visitor.page.locator("#aj-strip")
    assert strip.is_hidden()
    visitor.page.locator("#excluded, .aj-closing").first.scroll_into_view_if_needed()
    strip.wait_for(state="visible")
    assert "GiB" in strip.inner_text()
    assert strip.bounding_box()["height"] == 56


def test_larger_text_does_not_break_the_page(visit):
    visitor = visit(viewport={"width": 720, "height": 450})  # 1440 × 900 at 200 %
    visitor.open("es/calculator/")
    assert visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("width", [390, 600, 768, 1024, 1440])
def test_the_three_doors_of_home_stand_in_one_line(visit, width):
    visitor = visit(viewport={"width": width, "height": 900})
    visitor.open("es/")
    boxes = [door.bounding_box() for door in visitor.page.locator(".grid.cards li").all()]
    assert len(boxes) == 3
    assert 1 in (len({round(box["y"]) for box in boxes}), len({round(box["x"]) for box in boxes}))


@pytest.mark.parametrize("width", [390, 768, 1440])
@pytest.mark.parametrize("fragment", ["", "#model=llama-3.1-8b&method=lora", "#model=qwen2.5-32b&method=full"])
def test_no_label_of_the_offers_chart_covers_another(visit, width, fragment):
    visitor = visit(viewport={"width": width, "height": 900})
    visitor.open(f"es/calculator/{fragment}")
    if fragment:
        visitor.page.wait_for_selector("[data-answered]")
    visitor.page.locator("#offers").scroll_into_view_if_needed()
    covered = visitor.page.evaluate(
        """() => {
            const labels = [...document.querySelectorAll("#offers .aj-label")]
                .map(label => [label.textContent, label.getBoundingClientRect()]);
            return labels.flatMap(([a, one], i) => labels.slice(i + 1)
                .filter(([, other]) => one.left < other.right && other.left < one.right
                    && one.top + 3 < other.bottom && other.top + 3 < one.bottom)
                .map(([b]) => `${a} / ${b}`));
        }"""
    )
    assert covered == []
    assert visitor.page.locator("#offers .aj-label").count() >= 2
