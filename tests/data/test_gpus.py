"""Names of GPUs, as sellers and tools write them, against the ids they mean."""

import csv
from pathlib import Path

import pytest

from ajuste import RequestError, load_catalog
from ajuste.catalog import find_gpu, gpus_named

DATA = Path(__file__).parents[2] / "data"


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


IDS = [row["id"] for row in _rows("gpus.csv")]
ALIASES = [row for row in _rows("gpu_aliases.csv") if not row["context"]]


def test_a_name_never_means_another_card() -> None:
    """Against the table that people filled in: the same card, or a question; nine in ten names are understood."""
    understood = 0
    for row in ALIASES:
        found = gpus_named(row["alias"], IDS)
        assert not row["gpu"] or not found or row["gpu"] in found, row["alias"]
        understood += found == (row["gpu"],)
    assert understood > 0.9 * sum(1 for row in ALIASES if row["gpu"])


@pytest.mark.parametrize("name", IDS)
def test_an_id_means_itself(name: str) -> None:
    assert gpus_named(name, IDS) == gpus_named(name.upper(), IDS) == (name,)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("RTX 4090", ("rtx-4090-24gb",)),
        ("4090", ("rtx-4090-24gb",)),
        ("3090", ("rtx-3090-24gb",)),  # and not the Ti
        ("3090 Ti", ("rtx-3090-ti-24gb",)),
        ("L40", ("l40-48gb",)),
        ("H100 SXM5", ("h100-sxm-80gb",)),
        ("NVIDIA A100-SXM4-80GB", ("a100-sxm-80gb",)),
        ("A100 80 GB", ("a100-pcie-80gb", "a100-sxm-80gb")),
        ("RTX 6000", ("quadro-rtx-6000-24gb", "rtx-6000-ada-48gb", "rtx-pro-6000-96gb", "rtx-pro-6000-maxq-96gb")),
        ("NVIDIA", ()),
        ("", ()),
        ("\u0664\u0660\u0669\u0660", ()),
    ],
)
def test_names(name: str, found: tuple[str, ...]) -> None:
    assert gpus_named(name, sorted(IDS)) == found


def test_several_cards_are_a_question(catalog_text: str) -> None:
    with pytest.raises(RequestError) as refused:
        find_gpu(load_catalog(catalog_text), "A100")
    assert refused.value.code == "unknown-gpu"
    assert len(refused.value.suggestions) == 4
    assert "hay varias" in refused.value.message["es"]
    with pytest.raises(RequestError) as refused:
        find_gpu(load_catalog(catalog_text), "RTX 4091")
    assert "rtx-4090-24gb" in refused.value.suggestions
    assert refused.value.message["en"] == 'The GPU "RTX 4091" is not in the catalog.'
