"""Changes of the data: what a pull request's report says, from a real git history, and what git remembers of prices."""

import datetime
import os
import subprocess
from pathlib import Path

import pytest

from pipeline.check import check, files_of
from pipeline.diff import Preset, changes, report
from pipeline.git import branch_point, files_at, past_rows
from pipeline.history import Reading, collect, history

PRICES = "data/prices/acme.csv"
IDENTITY = {f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *arguments], cwd=folder, env=clean | IDENTITY, check=True, capture_output=True)


@pytest.fixture
def repository(files: dict[str, bytes], tmp_path: Path) -> Path:
    """The valid folder, committed on `main`; the work happens on `work`."""
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "start")
    git(tmp_path, "checkout", "-q", "-b", "work")
    return tmp_path


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


def change(folder: Path, old: str, new: str) -> None:
    path = folder / PRICES
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def one_hour(_request: dict, data) -> float:
    """The bill of one hour of the cheapest offer."""
    return min(row.values["usd_per_hour"] for row in data.prices)


def told(folder: Path, today: datetime.date) -> str:
    before = check(files_at(folder, branch_point(folder, "main")), today).data
    after = check(files_of(folder), today, before)
    return report(before, after.data, after.problems, today, [Preset("QLoRA de 8B", "8B QLoRA", {})], one_hour)


def test_a_corrected_price_is_told_in_both_languages(repository: Path, today: datetime.date) -> None:
    change(repository, "0.69,8,32,listed,A,,2026-11-09", "0.74,8,32,listed,A,,2026-11-30")
    assert (
        told(repository, today)
        == """\
### Qué cambia en los datos

✅ Los datos están bien.

- `acme 1x RTX 4090 eu`: US$\u00a00,69 → US$\u00a00,74 por hora (+7\u00a0%), vista 2026-11-30

- La más barata de `RTX 4090 24 GB`: `Acme` US$\u00a00,69 (2026-11-09) → `Acme` US$\u00a00,74 (2026-11-30) \
por GPU y hora
- Factura de QLoRA de 8B: US$\u00a00,69 → US$\u00a00,74

Lo que sigue: una persona abre la fuente y, si coincide, acepta el cambio. No te queda nada por hacer.

### What changes in the data

✅ The data is right.

- `acme 1x RTX 4090 eu`: $0.69 → $0.74 per hour (+7%), seen 2026-11-30

- Cheapest `RTX 4090 24 GB`: `Acme` $0.69 (2026-11-09) → `Acme` $0.74 (2026-11-30) per GPU and hour
- Bill of 8B QLoRA: $0.69 → $0.74

What comes next: a person opens the source and, if it agrees, accepts the change. Nothing left for you to do.
"""
    )


def test_a_wrong_price_gets_its_error_instead(repository: Path, today: datetime.date) -> None:
    change(repository, ",0.69,", ',"0,74",')
    text = told(repository, today)
    assert '- ❌ `data/prices/acme.csv:2 usd_per_hour "0,74"` decimals take a point' in text
    assert "type 0.74" in text
    assert "Nothing left for you to do" not in text


def test_new_gone_and_renewed_offers(repository: Path, price: str, today: datetime.date) -> None:
    change(repository, "2026-11-09", "2026-11-30")
    two = price.replace("1x RTX", "2x RTX").replace("gb,1", "gb,2")
    (repository / PRICES).write_text((repository / PRICES).read_text() + two + "\n")
    text = told(repository, today)
    assert "- Price unchanged: 1 rows" in text
    assert "- New: `acme 2x RTX 4090 eu`, $0.69 per hour, seen 2026-11-09" in text
    commit(repository, "two")
    git(repository, "branch", "-f", "main")
    change(repository, "1x RTX 4090,", "One RTX 4090,")
    assert "- Gone: `acme 1x RTX 4090 eu`" in told(repository, today)


def test_what_was_computed_from_a_price_is_named_when_it_changes(repository: Path, today: datetime.date) -> None:
    path = repository / PRICES
    one = path.read_text(encoding="utf-8").splitlines()[1]
    two = one.replace("1x RTX 4090", "2x RTX 4090").replace("-24gb,1,", "-24gb,2,").replace(",0.69,", ",1.38,")
    path.write_text(path.read_text(encoding="utf-8") + two.replace("listed", "scaled") + "\n", encoding="utf-8")
    commit(repository, "two")
    git(repository, "branch", "-f", "main")
    change(repository, "0.69,8,32,listed,A,,2026-11-09", "0.74,8,32,listed,A,,2026-11-30")
    before = check(files_at(repository, branch_point(repository, "main")), today).data
    (said,) = [problem for problem in check(files_of(repository), today, before).problems if not problem.red]
    assert (said.line, said.subject) == (3, "usd_per_hour 1.38")
    assert said.en.endswith("if it still holds per GPU, 1.48")


def test_others_changes_are_not_told_as_ours(repository: Path, today: datetime.date) -> None:
    git(repository, "checkout", "-q", "main")
    change(repository, ",0.69,", ",0.99,")
    commit(repository, "somebody else's")
    git(repository, "checkout", "-q", "work")
    assert "No offer changes." in told(repository, today)


def test_a_strangers_text_does_not_act(repository: Path, today: datetime.date) -> None:
    change(repository, "1x RTX 4090", "`@team` <img src=x> [x](https://x.example)")
    text = told(repository, today)
    span = "`acme '@team' <img src=x> [x](https://x.example) eu`"
    assert span in text
    assert "@team" not in text.replace(span, "")
    assert "<img" not in text.replace(span, "")


def test_git_remembers_every_price(repository: Path, today: datetime.date) -> None:
    change(repository, "0.69,8,32,listed,A,,2026-11-09", "0.74,8,32,listed,A,,2026-11-20")
    commit(repository, "up")
    change(repository, "0.74,8,32,listed,A,,2026-11-20", "0.79,8,32,listed,A,,2026-11-30")
    data = check(files_of(repository), today).data
    (readings,) = history(repository, data).values()
    assert [(reading.day.isoformat(), reading.usd_per_hour) for reading in readings] == [
        ("2026-11-09", 0.69), ("2026-11-20", 0.74), ("2026-11-30", 0.79),
    ]  # fmt: skip


def test_a_folder_without_git_has_only_today(files: dict[str, bytes], tmp_path: Path, today: datetime.date) -> None:
    assert list(past_rows(tmp_path)) == []
    data = check(files, today).data
    assert [len(readings) for readings in history(tmp_path, data).values()] == [1]


def test_of_one_day_the_last_row_holds(with_prices, price: str) -> None:
    rows = [*with_prices(price).prices, *with_prices(price.replace("0.69", "0.70")).prices]
    (readings,) = collect(rows).values()
    assert readings == [Reading(datetime.date(2026, 11, 9), 0.70, "https://acme.example/prices")]


def test_an_unchanged_folder_has_no_changes(files: dict[str, bytes], today: datetime.date) -> None:
    data = check(files, today).data
    assert changes(data, data).total == 0
