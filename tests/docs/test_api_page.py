"""What the page about the data's files shows runs on those files, as they are published."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.guide import FENCE, ROOT, pages

PAGE = pages("en")["api.md"]
BLOCKS = [(block[2], block[3]) for block in FENCE.findall(PAGE.text)]
PROGRAMS = [code for language, code in BLOCKS if language == "python"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the API alone; its catalog is copied in by the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pipeline", "api", "--out", str(folder / "api/v1")]
    subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": "calculator"}, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_programs_print_offers(number: int, site: Path) -> None:
    # Prices in the checkout grow old; the page's 60 days are counted from a day on which there were young ones.
    newest = json.loads((site / "api/v1/offers.json").read_text(encoding="utf-8"))["data"]
    today = "datetime.date.today()"
    program = PROGRAMS[number].replace(today, f'datetime.date.fromisoformat("{newest}")')
    printed = subprocess.run(
        [sys.executable, "-c", program], env={"AJUSTE_SITE": site.as_uri()}, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert len(printed) >= 3


def test_every_file_named_exists(site: Path) -> None:
    named = set(re.findall(r"`([\w/<>-]+\.json)`", PAGE.text)) - {"config.json", "catalog.json"}
    named |= {path for _, code in BLOCKS for path in re.findall(r"\$AJUSTE_SITE/api/v1/([\w./-]+)", code)}
    there = {path.relative_to(site / "api/v1").as_posix() for path in (site / "api/v1").rglob("*.json")}
    examples = {"<id>": "lambda" if "providers/<id>.json" in named else "", "<name>": "offers"}
    for path in named:
        whole = path.replace("gpus/<id>", "gpus/l4-24gb").replace("<id>", examples["<id>"])
        assert whole.replace("<name>", examples["<name>"]) in there, path
