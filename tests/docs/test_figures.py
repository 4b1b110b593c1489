"""docs/presets.toml and the pages agree; a request reaches the calculator as its address keeps it."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from ajuste import load_catalog
from pipeline.figures import COLUMNS, KINDS, PRESETS, Figure, FigureError, Source, figures, fragment, merged
from pipeline.guide import LANGUAGES, ROOT, includes, pages

PRESET = tomllib.loads((ROOT / PRESETS).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Any:
    return load_catalog(catalog_text)


@pytest.mark.parametrize("name", PRESET)
def test_presets_are_whole(name: str) -> None:
    preset = PRESET[name]
    assert preset.get("kind", "rows") in KINDS
    assert set(preset.get("show", ())) <= set(COLUMNS)
    for row in (*preset.get("rows", ()), *preset.get("columns", ())):
        if "provider" not in row:
            assert row["es"]
            assert row["en"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_figure_is_shown_once(language: str) -> None:
    shown = [name for page in pages(language).values() for name in includes(page) if name.startswith("figure-")]
    assert sorted(shown) == sorted(f"figure-{name}.md" for name in PRESET)


def test_fragment() -> None:
    """The spelling of calculator/web/link.js: nested names with a point, values as JSON, texts bare."""
    request = {
        "model": "llama-3.1-8b",
        "lora": {"rank": 64},
        "eval": {"keep_logits": False},
        "filters": {"purchase": ["spot"]},
    }
    assert (
        fragment(request) == "model=llama-3.1-8b&lora.rank=64&eval.keep_logits=false&filters.purchase=%5B%22spot%22%5D"
    )


def test_merged_keeps_what_a_change_does_not_name() -> None:
    base = {"job": {"interruption_mtbf_h": 4}, "method": "lora"}
    changed = merged(base, {"job": {"checkpoint_minutes": 5}, "method": "qlora"})
    assert changed == {"job": {"interruption_mtbf_h": 4, "checkpoint_minutes": 5}, "method": "qlora"}
    assert base == {"job": {"interruption_mtbf_h": 4}, "method": "lora"}


def test_numbers_in_both_languages(catalog: Any) -> None:
    spanish, english = (Figure("x", {}, Source(catalog), language, "") for language in LANGUAGES)
    assert (spanish.gib(9.8123), english.gib(9.8123)) == ("9,8\u00a0GiB", "9.8\u00a0GiB")
    assert spanish.gib(0.0611572) == "63\u00a0MiB"
    assert (english.gib(122.6), english.duration(0.85), spanish.duration(60)) == (
        "123\u00a0GiB",
        "51\u00a0min",
        "2,5\u00a0días",
    )
    assert spanish.percent(-0.301, signed=True) == "−30,1\u00a0%"


def test_a_refused_request_ends_the_build(catalog: Any) -> None:
    row = {"es": "x", "en": "x", "change": {"method": "no-such-method"}}
    broken = {"methods": {"base": {"model": "llama-3.1-8b"}, "show": ["required"], "rows": [row]}}
    with pytest.raises(FigureError, match="no-such-method"):
        figures(broken, catalog)


def test_a_figure_that_no_page_shows_ends_the_build(catalog: Any) -> None:
    with pytest.raises(FigureError, match="no page"):
        figures({"orphan": {"kind": "bill", "base": {}}}, catalog)


@pytest.mark.slow
def test_every_preset_is_answered(catalog: Any) -> None:
    written = figures(PRESET, catalog)
    assert len(written) == len(PRESET) * len(LANGUAGES)
    assert all(text.strip() for text in written.values())


def test_the_ten_worst_are_the_worst_of_every_run(catalog: Any) -> None:
    source = Source(catalog)
    text = KINDS["worst"](Figure("worst", {}, source, "en", ""))
    worst = sorted(source.accuracy.points, key=lambda point: -abs(point.error))[:10]
    assert {point.kind for point in worst} == {"reserved", "unknown"}  # those whose tool nobody names are in
    assert all(point.id in line for point, line in zip(worst, text.splitlines()[2:], strict=True))
    assert text.count("(tool not named)") == sum(point.kind == "unknown" for point in worst)
