"""A small valid data folder that the tests break."""

import datetime
import re
from collections.abc import Callable

import pytest

from pipeline import schema
from pipeline.check import check
from pipeline.files import Data
from pipeline.form import Answer

TODAY = datetime.date(2026, 11, 30)

PRICE = "1x RTX 4090,rtx-4090-24gb,1,eu,on-demand,0.69,8,32,listed,A,,2026-11-09,https://acme.example/prices,"
GPU = (
    "rtx-4090-24gb,RTX 4090 24 GB,NVIDIA,Ada,8.9,24,24564,23.64,seen,GDDR6X,1008,165.2,165.2,82.6,660.6,330.3,,,pcie,"
    "32,4,450,yes,yes,yes,yes,2022,consumer,datasheet,https://acme.example/gpu,2026-11,"
)
MODEL = "tiny,Tiny,Tiny,acme/tiny,1000000,https://acme.example/tiny,mit,no,2026-01-01,2026-11-01,"
# 7,170 × 64 × 2 of the vocabulary, 64 of the last norm, 2 layers of 4 × 64² + 3 × 64 × 128 + 2 × 64: 1,000,000.
ARCHITECTURE = (
    '{"source_url": "https://acme.example/tiny", "checked": "2026-11-01", "config": {"model_type": "llama", '
    '"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, '
    '"vocab_size": 7170}}\n'
)
PROVIDER = """\
[acme]
name = "Acme"
url = "https://acme.example"
kind = "neocloud"
spot = true

[[acme.sources]]
url = "https://acme.example/docs"
checked = "2026-11-01"
facts = ["spot"]
"""
ASSUMPTION = """\
[slack]
low = 1
mid = 2
high = 3
unit = "GiB"
source = "measured"
checked = "2026-11-01"
label = { es = "Holgura", en = "Slack" }
"""


def sheet(table: schema.Table, *rows: str) -> str:
    """The rows under the table's header."""
    return "\n".join([",".join(table.names), *rows, ""])


FILES = {
    "data/prices/acme.csv": sheet(schema.PRICES, PRICE),
    "data/gpus.csv": sheet(schema.GPUS, GPU),
    "data/gpu_aliases.csv": sheet(schema.ALIASES, "RTX4090,rtx-4090-24gb,,"),
    "data/models.csv": sheet(schema.MODELS, MODEL),
    "data/models/tiny.json": ARCHITECTURE,
    "data/providers.toml": PROVIDER,
    "data/sources.toml": '[third]\nname = "Third"\nurl = "https://third.example/prices"\n',
    "data/assumptions.toml": ASSUMPTION,
    "data/links.csv": sheet(schema.LINKS, "https://acme.example/a,guide/index.md,2026-11-01,It works"),
}


@pytest.fixture
def files() -> dict[str, bytes]:
    """Return the valid folder, path by path."""
    return {path: text.encode() for path, text in FILES.items()}


@pytest.fixture
def price() -> str:
    """Return the valid row of prices."""
    return PRICE


@pytest.fixture
def with_prices(files: dict[str, bytes]) -> Callable[..., Data]:
    """Return a function that reads the valid folder with other rows of prices."""

    def read(*rows: str) -> Data:
        report = check({**files, "data/prices/acme.csv": sheet(schema.PRICES, *rows).encode()}, TODAY)
        assert report.red == []
        return report.data

    return read


@pytest.fixture
def today() -> datetime.date:
    """Return the day on which the folder is checked."""
    return TODAY


def is_only_text(said: Answer, path: str, files: dict[str, bytes]) -> None:
    """Hostile text in a form runs nowhere: not in the reply, not in the proposal, which touches its own file alone."""
    for line in said.reply.splitlines():
        assert not line.lstrip().startswith("::")
    assert "\x1b" not in said.reply
    assert "\u202e" not in said.reply
    outside = re.sub(r"`[^`]*`", "", said.reply)  # a code span is only text
    assert not re.search(r"<script|<!--|@everyone|(?<!\\)\[click", outside)
    if said.proposal:
        assert said.proposal.path == path
        assert re.fullmatch(r"[\w .+()/-]{1,80}", said.proposal.title)
        assert check({**files, path: said.proposal.text.encode()}, TODAY).red == []
