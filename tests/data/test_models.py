"""Every model of the catalog: its architecture is readable and adds up to the published parameter count."""

import csv
import json
from pathlib import Path

import pytest

from ajuste.architecture import parameters, read_architecture

DATA = Path(__file__).parents[2] / "data"
with (DATA / "models.csv").open(encoding="utf-8", newline="") as file:
    MODELS = {row["id"]: row for row in csv.DictReader(file)}
COUNTED = [name for name, row in MODELS.items() if row["published_parameters"]]


def _config(name: str) -> dict:
    return json.loads((DATA / "models" / f"{name}.json").read_text(encoding="utf-8"))["config"]


@pytest.mark.parametrize("name", MODELS)
def test_architecture_is_read(name: str) -> None:
    """No model of the index is refused, and its count is of the size that its layers and vocabulary make."""
    architecture = read_architecture(_config(name))
    assert parameters(architecture) > architecture.depth * architecture.hidden**2


@pytest.mark.parametrize("name", COUNTED)
def test_count_equals_the_published_one(name: str) -> None:
    """Within 0.5 %: files add a few buffers, or leave a rotary table in."""
    published = int(MODELS[name]["published_parameters"])
    assert parameters(read_architecture(_config(name))) == pytest.approx(published, rel=0.005)


def test_enough_models_have_a_published_count() -> None:
    """The count is a check of the architecture only where someone else counted."""
    assert len(COUNTED) >= 120
    missing = [name for name in COUNTED if not MODELS[name]["published_parameters_source_url"]]
    assert not missing


def test_default_model_is_exact() -> None:
    """Llama 3.1 8B: 32 layers of 218,112,000, embedding and head of 128,256 x 4,096 each, final norm 4,096."""
    # attention 4096*4096*2 + 4096*1024*2 = 41,943,040; MLP 3*4096*14336 = 176,160,768; norms 2*4096 = 8,192
    layer = 41_943_040 + 176_160_768 + 8_192
    assert parameters(read_architecture(_config("llama-3.1-8b"))) == 32 * layer + 2 * 128_256 * 4_096 + 4_096
    assert 32 * layer + 2 * 128_256 * 4_096 + 4_096 == 8_030_261_248
