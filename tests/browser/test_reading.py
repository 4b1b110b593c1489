"""What a visitor reads before any script or Python runs."""

import csv
import gzip
import re
from urllib.parse import parse_qsl, urlsplit

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


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_doubtful_price_says_so_in_words(visit, language):
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(f"{visitor.base}{language}/calculator/")
    stale, ram = {"es": ("precio viejo", "RAM sin publicar"), "en": ("old price", "RAM not stated")}[language]
    rows = visitor.page.locator("#offers tbody tr").all()[:10]
    old = [row.locator(".aj-age.aj-old").count() > 0 for row in rows]
    said = [row.inner_text() for row in rows]
    assert True in old
    assert [stale in text or "“from”" in text or "«desde»" in text for text in said] == old, "not by colour alone"
    assert any(ram in text for text in said)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_form_to_correct_a_price_names_one_row(visit, root, language):
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(f"{visitor.base}{language}/calculator/")
    for link in visitor.page.locator("#picks a[href*='issues/new']").evaluate_all("links => links.map(a => a.href)"):
        asked = dict(parse_qsl(urlsplit(link).query))
        names = ("offer", "gpu", "gpus", "region", "purchase")
        with (root / "data" / "prices" / f"{asked['provider']}.csv").open(encoding="utf-8") as file:
            rows = [r for r in csv.DictReader(file) if all(r[name] == asked.get(name, "") for name in names)]
        assert [float(row["usd_per_hour"]) for row in rows] == [float(asked["price"].removesuffix(" USD"))]


START_BUDGET = 300_000  # bytes with gzip before anything is touched


@pytest.mark.parametrize("page", ["", "calculator/"])
def test_a_page_is_light_before_it_is_touched(visit, site, page):
    visitor = visit()
    seen = set()
    visitor.page.on("request", lambda request: seen.add(request.url.removeprefix(visitor.base)))
    visitor.page.goto(f"{visitor.base}es/{page}")
    visitor.page.wait_for_load_state("networkidle")
    paths = [site / urlsplit(url).path for url in seen if not url.startswith("data:")]
    files = [path / "index.html" if path.is_dir() else path for path in paths]
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in files}
    print(f"\n{page or 'home'}: {sum(sizes.values()) / 1e3:.0f} kB before a touch  {sizes}")
    assert len(sizes) > 8
    assert sum(sizes.values()) <= START_BUDGET
    assert "search_index.json" not in sizes


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_search_finds_once_somebody_turns_to_it(visit, language):
    visitor = visit()
    visitor.page.goto(f"{visitor.base}{language}/")
    field = visitor.page.locator(".md-search__input")
    field.click()
    field.press_sequentially("nvlink")
    found = visitor.page.locator(".md-search-result__link").first
    found.wait_for(timeout=60_000)
    assert f"/{language}/" in found.evaluate("link => link.href")
