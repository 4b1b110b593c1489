"""Peak memory against published runs: the table of errors, ranges and verdicts, and what must hold of it."""

import copy
import re
from pathlib import Path

import pytest

from ajuste.catalog import Catalog, load_catalog
from ajuste.constants import ASSUMPTIONS
from pipeline import accuracy, accuracy_figures, measurements
from pipeline.accuracy import Accuracy, Point
from pipeline.figures import Figure, Source

MEASUREMENTS = Path(__file__).parents[2] / "data/measurements"
ROWS = accuracy.rows(MEASUREMENTS / "memory.csv")
BOUNDS = accuracy.rows(MEASUREMENTS / "bounds.csv")


@pytest.fixture(scope="module")
def catalog(catalog_text: str) -> Catalog:
    return load_catalog(catalog_text)


@pytest.fixture(scope="module")
def measured(catalog: Catalog) -> Accuracy:
    result = accuracy.measure(MEASUREMENTS, catalog)
    print(accuracy.report(result))
    return result


@pytest.fixture(scope="module")
def groups(measured: Accuracy) -> dict[str, list[Point]]:
    return accuracy.selections(measured.points)


# ------------------------------------------------------------------------------------------------------- the data


def test_every_row_is_estimated_or_says_why_not(measured: Accuracy):
    told = [p.id for p in measured.points] + [v.id for v in measured.verdicts]
    told += [name for names in measured.left_out.values() for name in names]
    assert sorted(told) == sorted(row["id"] for row in ROWS + BOUNDS)
    assert all(len(reason) > 10 for reason in measured.left_out)


def test_few_rows_with_a_whole_configuration_are_left_out(measured: Accuracy):
    left = {name for names in measured.left_out.values() for name in names}
    whole = [row["id"] for row in ROWS if row["quality"] == "A"]
    assert len(whole) > 200
    missing = [name for name in whole if name in left]
    assert len(missing) <= 0.1 * len(whole), missing


def test_every_column_is_explained():
    told = (MEASUREMENTS / "README.md").read_text(encoding="utf-8")
    assert all(f"`{column}`" in told for column in {*ROWS[0], *BOUNDS[0]})


def test_a_row_has_a_source():
    for row in ROWS + BOUNDS:
        assert row["source_url"].startswith("https://"), row["id"]
    assert len({row["id"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", [row for row in ROWS if row["printed"]], ids=lambda row: row["id"])
def test_a_figure_is_the_printed_one(row: dict[str, str]):
    """Bytes and decimal GB are converted, GiB and GB of unknown size taken as they are; of several GPUs the fullest."""
    found = re.match(r"([\d.]+(?:\+[\d.]+)*) ?(\w+)", row["printed"])
    assert found, row["printed"]
    largest = max(float(number) for number in found[1].split("+"))
    unit = {"bytes": 1, "MiB": 2**20, "GiB": 2**30, "GB": 10**9 if row["unit"] == "decimal" else 2**30}[found[2]]
    assert float(row["peak_gib"]) == pytest.approx(largest * unit / 2**30, rel=0.001)


def test_reading_a_row_changes_nothing(catalog: Catalog):
    models = {model["hf_id"]: name for name, model in catalog.models.items() if model["hf_id"]}
    for row in ROWS[::7]:
        before = copy.deepcopy(row)
        first, second = measurements.read(row, models), measurements.read(row, models)
        assert row == before
        assert first == second
        assert (first.request is None) == bool(first.reason)


# ---------------------------------------------------------------------------------------------------------- errors

AIMS = {  # median, 90th percentile and mean of the error
    "allocated · Hugging Face": (0.015, 0.05, 0.01),
    "allocated · all": (0.03, 0.10, 0.03),
    "allocated · sharded": (0.06, 0.10, 0.03),
    "reserved · all": (0.06, 0.25, 0.05),
}


@pytest.mark.parametrize("by_source", [False, True], ids=["by row", "by source"])
@pytest.mark.parametrize("name", AIMS)
def test_error(groups: dict[str, list[Point]], name: str, by_source: bool):
    found = accuracy.figures(groups[name], by_source)
    median, p90, bias = AIMS[name]
    assert found.median <= median
    assert found.p90 <= p90
    assert abs(found.bias) <= bias


@pytest.mark.parametrize("group", ["method", "framework"])
def test_no_method_and_no_framework_is_far_off(groups: dict[str, list[Point]], group: str):
    """Where ten rows or more tell."""
    key = accuracy.GROUPS[group]
    for kind in ("allocated · all", "reserved · all"):
        points = groups[kind]
        for name in {key(p) for p in points}:
            chosen = [p for p in points if key(p) == name]
            if len(chosen) >= 10:
                assert accuracy.figures(chosen).median <= (0.05 if kind == "allocated · all" else 0.09), (kind, name)


# ---------------------------------------------------------------------------------------------------------- ranges

RANGES = {"allocated · all": (0.90, 0.15), "reserved · all": (0.90, 0.35)}  # held, median width


@pytest.mark.parametrize("by_source", [False, True], ids=["by row", "by source"])
@pytest.mark.parametrize("name", RANGES)
def test_ranges_hold_what_was_measured(groups: dict[str, list[Point]], name: str, by_source: bool):
    found = accuracy.figures(groups[name], by_source)
    coverage, width = RANGES[name]
    assert found.coverage >= coverage
    assert found.width <= width


def test_ranges_hold_a_source_that_they_have_not_seen(groups: dict[str, list[Point]]):
    assert accuracy.figures(accuracy.held_out(groups["allocated · all"])).coverage >= 0.85


def test_residuals_are_those_of_these_rows(measured: Accuracy):
    """`python -m pipeline accuracy --write-residuals` writes them."""
    for name, (low, high) in accuracy.residuals(measured.points).items():
        written = ASSUMPTIONS[f"residual-{name}"]
        assert written.mid == 0
        assert written.low == pytest.approx(low, abs=0.0101), name
        assert written.high == pytest.approx(high, abs=0.0101), name


# -------------------------------------------------------------------------------------------------------- verdicts


def test_a_run_that_died_is_not_told_that_it_fits(measured: Accuracy):
    died = [v for v in measured.verdicts if v.outcome == "oom"]
    assert len(died) >= 33
    assert sum(v.verdict == "fits" for v in died) <= 2


def test_a_run_that_fitted_is_not_told_that_it_does_not(measured: Accuracy):
    ran = [v for v in measured.verdicts if v.outcome == "fits"]
    assert len(ran) >= 100
    assert sum(v.verdict == "no" for v in ran) <= 0.05 * len(ran)


def test_few_answers_are_undecided(measured: Accuracy):
    assert sum(v.verdict == "tight" for v in measured.verdicts) <= 0.25 * len(measured.verdicts)


# ------------------------------------------------------------------------------------------- the statistics themselves


def point(source: str, measured: float, low: float = 95.0, mid: float = 100.0, high: float = 105.0) -> Point:
    return Point("row", source, "full", "hf", "none", "allocated", "full", measured, low, mid, high, low, high, mid)


def test_quantiles_are_weighted():
    assert accuracy.quantile([1.0, 2.0, 3.0], 0.5) == 2
    assert accuracy.quantile([1.0, 2.0, 3.0], 0.5, [1, 1, 4]) == 3
    assert accuracy.quantile([4.0], 0.9) == 4


def test_a_source_of_many_rows_does_not_decide_alone():
    points = [point("many", 100.0)] * 99 + [point("one", 50.0)]
    assert accuracy.figures(points).bias == pytest.approx(0.01)
    assert accuracy.figures(points, by_source=True).bias == pytest.approx(0.5)


def test_a_residual_is_what_lies_outside_the_range():
    rows = [point("a", 100.0)] * 9 + [point("b", 110.0), point("b", 85.0)]
    margins = accuracy.residuals(rows)
    assert margins["full"] == (-0.1, 0.05)
    assert margins["quantised-sharded"] == margins["full"]  # without rows of its own: of all
    assert accuracy.residuals(rows, without="b")["full"] == (-accuracy.LEAST, accuracy.LEAST)
    assert all(p.covered for p in accuracy.with_residuals(rows, margins))
    assert not all(p.covered for p in accuracy.held_out(rows))


def test_writing_residuals_changes_nothing_else(tmp_path: Path):
    path = tmp_path / "assumptions.toml"
    tables = [f"[residual-{name}]\nlow = -0.5\nmid = 0.0\nhigh = 0.5\n" for name in accuracy.CLASSES]
    path.write_text("[other]\nlow = -0.5\nmid = 0.0\nhigh = 0.5\n" + "".join(tables))
    accuracy.write_residuals(path, dict.fromkeys(accuracy.CLASSES, (-0.03, 0.04)))
    text = path.read_text()
    assert text.startswith("[other]\nlow = -0.5\nmid = 0.0\nhigh = 0.5\n[residual-full]\nlow = -0.03\n")
    assert text.count("high = 0.04") == len(accuracy.CLASSES)
    with pytest.raises(KeyError, match="residual-new"):
        accuracy.write_residuals(path, {"new": (-0.03, 0.04)})


# ------------------------------------------------------------------------------------------------------- the page


def test_every_reason_has_its_spanish(measured: Accuracy):
    for text in measured.left_out:
        assert accuracy_figures.reason(text, "en") == text
        assert accuracy_figures.reason(text, "es") != text
    with pytest.raises(KeyError, match="no Spanish"):
        accuracy_figures.reason("something new", "es")


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_drawing_has_every_run_once(language: str, measured: Accuracy, catalog: Catalog):
    source = Source(catalog)
    source.accuracy = measured
    drawing = accuracy_figures.scatter_figure(Figure("x", {}, source, language, ""))
    assert drawing.count("<title>") == len(measured.points)
    assert drawing.count("<figure>") == len({p.source for p in measured.points})
    assert "\n\n" not in drawing  # a blank line would end the HTML block
    assert not re.search(r"style=|nan|\d{4,}\.\d", drawing)


@pytest.mark.parametrize("by", ["source", "method", "framework", "sharding"])
def test_a_table_counts_every_run_once(by: str, measured: Accuracy, catalog: Catalog):
    source = Source(catalog)
    source.accuracy = measured
    table = accuracy_figures.errors_figure(Figure("x", {"by": by}, source, "en", ""))
    runs = [int(line.split(" | ")[1]) for line in table.splitlines()[2:]]
    assert sum(runs) == len(measured.points)
