"""What a visitor reads before any script or Python runs."""

import re

import pytest

LANGUAGES = ("es", "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_javascript_the_answer_is_on_the_page(visit, language):
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(f"{visitor.base}{language}/calculator/")
    verdict = {"es": r"^Cabe: bastan \d+ GB", "en": r"^Fits: \d+ GB is enough"}[language]
    assert re.match(verdict, visitor.text("#verdict h2"))
    memory, hours, bill = visitor.page.locator(".aj-numbers .aj-figure").all_inner_texts()
    assert "GiB" in memory
    assert re.search(r"min|h", hours)
    assert ("US$" if language == "es" else "$") in bill
    assert visitor.page.locator("#offers tbody tr").count() >= 10
    links = visitor.page.locator("#picks a").evaluate_all("links => links.map(link => link.href)")
    assert links
    assert all(link.startswith("https://") for link in links)


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_javascript_the_form_says_what_was_asked(visit, language):
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(f"{visitor.base}{language}/calculator/")
    assert visitor.page.locator("#aj-model").input_value() == "Llama 3.1 8B"
    assert visitor.page.locator("input[name=method]:checked").get_attribute("value") == "qlora"
    longest = visitor.page.locator("#aj-sequence_length").input_value()
    assert longest == {"es": "2\u202f048", "en": "2,048"}[language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_home_shows_the_default_answer(visit, language):
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(f"{visitor.base}{language}/")
    assert re.match(r"Cabe|Fits", visitor.text("#verdict h2"))
    visitor.page.locator(".aj-door .md-button").click()
    assert visitor.page.url == f"{visitor.base}{language}/calculator/"
