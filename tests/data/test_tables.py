"""The generated tables and the catalog: what they say, in both languages, and that they stay inside Markdown."""

import datetime
import json
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline import schema
from pipeline.bundle import bundle
from pipeline.check import check, files_of
from pipeline.files import Data
from pipeline.history import collect
from pipeline.tables import frame, leaders, tables
from pipeline.text import age, duration, number, usd

TODAY = datetime.date(2026, 11, 30)
THIN = "\u202f"


class Outline(HTMLParser):
    """Counts open tags, collects ids and links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def data(root: Path) -> Data:
    return check(files_of(root), TODAY).data


@pytest.fixture(scope="module")
def written(data: Data) -> dict[str, str]:
    return tables(data, TODAY, collect([*data.past_prices, *data.prices]))


def test_every_include_exists_in_both_languages(written: dict[str, str]) -> None:
    names = [
        "prices-cheapest",
        "prices-all",
        "gpus",
        "models",
        "providers",
        "data-freshness",
        "assumptions",
        "data-columns",
    ]
    assert set(written) >= {f"{name}.{language}.md" for name in names for language in ("es", "en")}


def test_html_is_balanced_without_blank_lines_and_with_unique_ids(written: dict[str, str]) -> None:
    for name, text in written.items():
        if text.startswith("<"):
            outline = Outline(text)
            assert outline.open == [], name
            assert len(outline.ids) == len(set(outline.ids)), name
            assert "\n\n" not in text, name


def test_both_languages_have_the_same_rows_and_links(written: dict[str, str]) -> None:
    for name in {name.split(".")[0] for name in written}:
        spanish, english = (Outline(written[f"{name}.{language}.md"]) for language in ("es", "en"))
        assert spanish.ids == english.ids, name
        assert spanish.links == english.links, name


def test_every_offer_has_its_source_its_form_and_its_file(data: Data, written: dict[str, str]) -> None:
    links = Outline(written["prices-all.en.md"]).links
    assert sum("/issues/new?template=price.yml" in link for link in links) == len(data.prices)
    assert sum("/edit/main/data/prices/" in link for link in links) == len(data.prices)
    assert {row.values["source_url"] for row in data.prices} <= set(links)


def test_numbers_are_of_the_language() -> None:
    assert number(1234567.5, "es", 1) == f"1{THIN}234{THIN}567,5"
    assert number(1234567.5, "en", 1) == "1,234,567.5"
    assert usd(0.74, "es") == "US$\u00a00,74"
    assert usd(0.74, "en") == "$0.74"
    assert usd(0.0712, "en") == "$0.071"
    assert (age(1, "es"), age(21, "en")) == ("1\u00a0día", "21\u00a0days")
    assert (duration(60, "es"), duration(600, "en"), duration(0.000001, "en")) == ("minuto", "10 min", "microsecond")


def test_a_fresh_published_price_leads_and_an_older_cheaper_one_is_only_mentioned(price: str, with_prices) -> None:
    old = price.replace("1x RTX", "old RTX").replace("0.69", "0.30").replace("2026-11-09", "2026-08-01")
    computed = price.replace("1x RTX", "scaled RTX").replace("0.69", "0.50").replace("listed", "scaled")
    data = with_prices(price, computed, old)
    leading = leaders(frame(data, TODAY))["on-demand"].loc["rtx-4090-24gb"]
    assert leading["offer"] == "1x RTX 4090"
    shown = tables(data, TODAY, {})["prices-cheapest.en.md"]
    assert "$0.69" in shown
    assert "$0.30 <small>Acme · 121\u00a0days</small>" in shown


def test_prices_over_sixty_days_are_greyed(price: str, with_prices) -> None:
    rows = [price, price.replace("1x", "2x").replace("2026-11-09", "2026-09-30")]
    text = tables(with_prices(*rows), TODAY, {})["prices-all.es.md"]
    assert re.findall(r'<tr id="acme-(\dx)-rtx[^"]*" class="old">', text) == ["2x"]
    assert "61\u00a0días" in text


def test_text_of_the_data_is_escaped(price: str, with_prices) -> None:
    data = with_prices(price.replace("1x RTX 4090", "<img src=x onerror=alert(1)> & co"))
    text = tables(data, TODAY, {})["prices-all.en.md"]
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; co" in text


def test_the_catalog_is_typed_and_the_same_every_time(price: str, with_prices) -> None:
    data = with_prices(price.replace(",eu,", ",,"))
    text = bundle(data, TODAY)
    assert text == bundle(with_prices(price.replace(",eu,", ",,")), TODAY)
    catalog = json.loads(text)
    assert {key: catalog[key] for key in ("format", "data", "as_of")} == {
        "format": 1, "data": "2026-11-09", "as_of": "2026-11-30",
    }  # fmt: skip
    assert catalog["offers"] == [{
        "provider": "acme", "offer": "1x RTX 4090", "gpu": "rtx-4090-24gb", "gpus": 1, "region": None,
        "purchase": "on-demand", "usd_per_hour": 0.69, "vcpus": 8, "ram_gib": 32, "price_basis": "listed",
        "confidence": "A", "assumed": [], "checked": "2026-11-09", "source_url": "https://acme.example/prices",
    }]  # fmt: skip
    gpu = catalog["gpus"][0]
    assert (gpu["usable_gib"], gpu["ecc"], gpu["fp4_dense_tflops"], gpu["compute_capability"]) == (
        23.64,
        True,
        None,
        "8.9",
    )
    assert catalog["models"][0]["config"] == {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 7170,
    }
    assert (catalog["providers"][0]["spot"], catalog["providers"][0]["stop"]) == (True, None)


def test_the_documentation_names_every_column(written: dict[str, str]) -> None:
    for language in ("es", "en"):
        text = written[f"data-columns.{language}.md"]
        for table in schema.TABLES.values():
            for column in table.columns:
                assert f"| `{column.name}` |" in text


@pytest.mark.slow
def test_five_thousand_offers_take_seconds_and_fold(root: Path) -> None:
    data = check(files_of(root), TODAY).data
    rows = [data.prices[number % len(data.prices)] for number in range(5_000)]
    copies = [
        row._replace(values=row.values | {"offer": f"{row.values['offer']} {number}"})
        for number, row in enumerate(rows)
    ]
    start = time.process_time()
    text = tables(data._replace(prices=copies), TODAY, {})["prices-all.en.md"]
    assert time.process_time() - start < 10
    outline = Outline(text)
    assert len(set(outline.ids)) == len(outline.ids) > 5_000
    # A reader sees one line per GPU; inside, the cheapest twelve and a fold with the rest.
    assert text.count('<details class="offers"') == len({row.values["gpu"] for row in data.prices})
    assert re.search(r"<summary>\d+ more offers</summary>", text)


def test_one_rule_names_the_price_that_leads_and_rows_go_by_price(price: str, with_prices) -> None:
    cheaper_but_old = price.replace("1x RTX", "old RTX").replace("0.69", "0.30").replace("2026-11-09", "2026-07-01")
    written = tables(with_prices(price, cheaper_but_old), TODAY, {})
    text = written["prices-all.en.md"]
    assert "the best supported, $0.69 per GPU and hour" in text
    assert re.findall(r"<td>(old|1x) RTX 4090", text) == ["old", "1x"]
    for name in ("prices-by-tier", "prices-by-provider", "prices-cheapest"):
        assert re.search(r'data-sort="0\.69">\$0\.69', written[f"{name}.en.md"]), name
    assert 'data-sort="0.3">$0.30' not in written["prices-by-tier.en.md"]
    # What corrects a price stands beside it: on a phone the later columns are off the screen.
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]+)", text)
    assert heads.index("Correct") == heads.index("Per GPU and hour") + 1 == 2


@pytest.mark.slow
def test_the_same_data_give_the_same_bytes(root: Path, tmp_path: Path) -> None:
    """Whatever order Python's sets happen to have: offers at one price stand in the same place in every build."""
    made = []
    for seed in ("1", "2", "3"):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-m", "pipeline", "tables", "--out", str(folder)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root / "calculator"), "PYTHONHASHSEED": seed},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        made.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert made[0] == made[1] == made[2]
