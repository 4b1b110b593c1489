"""The checker: exact messages, no cascades, no crash, and files that come back as they were."""

import datetime
import random
import tomllib
from pathlib import Path

import pytest

from pipeline import schema
from pipeline.check import check, files_of, fix
from pipeline.defaults import named_by_code
from pipeline.files import read_csv, read_row, write_csv
from pipeline.rules import size_in_name

BROKEN = tomllib.loads((Path(__file__).parent / "broken.toml").read_text(encoding="utf-8"))["broken"]
PRICES = "data/prices/acme.csv"


def test_the_valid_folder_is_valid(files: dict[str, bytes], today: datetime.date) -> None:
    assert check(files, today).problems == []


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case["what"])
def test_a_broken_file_gives_exactly_its_message(
    case: dict[str, str], files: dict[str, bytes], today: datetime.date
) -> None:
    before = files.get(case["path"], b"").decode()
    after = before.replace(case["old"], case["new"]) if "old" in case else case["new"]
    encoding = case.get("encoding", "utf-8")
    assert after != before or encoding != "utf-8"
    files[case["path"]] = after.encode(encoding)
    assert "\n".join(map(str, check(files, today).problems)) == case["says"].strip("\n")


def test_there_is_a_broken_file_for_every_rule() -> None:
    assert len({case["what"] for case in BROKEN}) == len(BROKEN) >= 60


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",eu,", ", eu\u00a0,"),
        lambda text: text.rstrip("\n") + "\n\n",
        lambda text: "\n".join([text.split("\n")[0], *reversed(text.split("\n")[1:-1])]) + "\n",
        lambda text: "\n".join(",".join(reversed(line.split(","))) for line in text.split("\n")),
        lambda text: text.replace("1x RTX 4090", '"1x RTX 4090"'),
    ],
    ids=["BOM", "CRLF", "spaces", "blank line", "row order", "column order", "quotes"],
)
def test_dress_is_mended_and_never_red(dress, files: dict[str, bytes], today: datetime.date, tmp_path: Path) -> None:
    tidy = files[PRICES].decode()
    tidy += tidy.split("\n")[1].replace("1x RTX", "2x RTX").replace("gb,1,", "gb,2,").replace("0.69", "1.38") + "\n"
    files[PRICES] = dress(tidy).encode()
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    report = check(files_of(tmp_path), today)
    assert report.red == []
    assert [problem.path for problem in report.problems] == [PRICES]
    assert fix(tmp_path, report) == [PRICES]
    assert (tmp_path / PRICES).read_text(encoding="utf-8") == tidy


def test_a_note_settles_an_unusual_price(files: dict[str, bytes], today: datetime.date) -> None:
    header, row = files[PRICES].decode().splitlines()
    rows = [row.replace("1x", f"{n}x") for n in range(2, 7)] + [row.replace("0.69", "9.99") + "with a large host"]
    files[PRICES] = "\n".join([header, *rows, ""]).encode()
    assert check(files, today).red == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (",0.69,", ",0.74,", "el precio cambió (0.69 → 0.74) y la fecha no"),
        (",0.69,8,32,listed,A,,2026-11-09", ",1.69,8,32,listed,A,,2026-11-30", "cambia +145%, más de 40%"),
        ("https://acme.example/prices", "https://third.example/prices/a", "antes se leía en acme.example"),
    ],
)
def test_a_change_says_what_it_must(
    old: str, new: str, says: str, files: dict[str, bytes], today: datetime.date
) -> None:
    before = check(files, today).data
    files[PRICES] = files[PRICES].decode().replace(old, new).encode()
    (problem,) = check(files, today, before).red
    assert says in problem.es
    files[PRICES] = files[PRICES].decode().replace("2026-11-09", "2026-11-30").rstrip("\n").encode() + b"new plans\n"
    assert check(files, today, before).red == []


def test_our_own_files_come_back_as_they_were(root: Path) -> None:
    for path, data in files_of(root).items():
        for table in (schema.PRICES, schema.GPUS, schema.ALIASES):
            if Path(path).match(table.path):
                sheet = read_csv(table, path, data)
                assert write_csv(table, [row.values for row in sheet.rows]) == data.decode(), path


def test_our_own_data_is_valid(root: Path) -> None:
    assert check(files_of(root), datetime.date.today()).problems == []


# What people and programs put into cells.
JUNK = ["", " ", ",", ";", '"', "'", "\0", "\ufeff", "\u202e", "\n", "-", "-1", "0", "1e999", "nan", "inf", "9" * 400,
        "0,5", "1.234.567,8", "€", "$1", "yes", "sí", "2026-13-45", "0000-00-00", "9999-12-31", "https://",
        "https://[", "http://x", "https://a..b:99999/", "=1+1", "@x", "🦙",
        "a" * 5000, "rtx-4090-24gb", "spot", "A", "../../etc/passwd",
        "<script>", "%s%n", "{0}", "\\", "form_factor form_factor"]  # fmt: skip


def mutations(row: list[str], count: int, seed: int) -> list[list[str]]:
    """`count` versions of a row, each with one to three cells changed, dropped, added or scrambled."""
    chance = random.Random(seed)
    mutated = []
    for _ in range(count):
        cells = row.copy()
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(cells)) if cells else 0
            match chance.randrange(6):
                case 0 if cells:
                    del cells[place]
                case 1:
                    cells.insert(place, chance.choice(JUNK))
                case 2 if cells and cells[place]:
                    where = chance.randrange(len(cells[place]))
                    cells[place] = cells[place][:where] + chr(chance.randrange(0x110000)) + cells[place][where + 1 :]
                case 3 if cells:
                    cells[place] = cells[place][::-1]
                case _ if cells:
                    cells[place] = chance.choice(JUNK) + chance.choice(["", cells[place]])
        mutated.append(cells)
    return mutated


@pytest.mark.parametrize(
    "count", [3_000, pytest.param(100_000, marks=pytest.mark.slow)], ids=["sample", "hundred thousand"]
)
def test_no_mutation_of_a_valid_row_crashes_the_checker(count: int, files: dict[str, bytes]) -> None:
    header, row = (line.split(",") for line in files[PRICES].decode().splitlines())
    refused = 0
    for cells in mutations(row, count, seed=7):
        accepted, problems = read_row(schema.PRICES, PRICES, 2, header, cells)
        assert (accepted is None) == bool(problems)
        refused += accepted is None
        for problem in problems:
            assert "→" in problem.es
            assert "→" in problem.en
    assert refused > count / 2


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.slow)], ids=["sample", "many"])
def test_no_mutation_of_a_file_crashes_the_checker(count: int, files: dict[str, bytes], today: datetime.date) -> None:
    chance = random.Random(11)
    paths = sorted(files)
    for _ in range(count):
        path = chance.choice(paths)
        data = bytearray(files[path])
        for _ in range(chance.randint(1, 8)):
            place = chance.randrange(len(data))
            data[place : place + chance.randrange(3)] = chance.choice(JUNK).encode("utf-8", "surrogatepass")[:50]
        for problem in check({**files, path: bytes(data)}, today).problems:
            assert str(problem)


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ours() -> dict[str, bytes]:
    """Return the project's own data."""
    return files_of(ROOT)


LLAMA = "models/llama-3.1-8b.json"


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        ("assumptions.toml", "[length-variation]", "[lenght-variation]", "no formula uses it → length-variation?"),
        ("assumptions.toml", "[allocator-slack]", "[alocator-slack]", "no formula uses it"),
        ("presets.toml", "_length = 2048\nmode", "_length = 0\nmode", "“sequence_length” = 0 is out of range"),
        ("presets.toml", 'optimizer = "adamw"\nopt', "opt", "[general] optimizer: "),
        ("presets.toml", 'padding = "padded"\n', 'paddding = "padded"\n', "is no field of the request → padding?"),
        ("presets.toml", 'attention = "sdpa"\nloss', 'attention = "spda"\nloss', "“attention” does not take"),
        ("presets.toml", "[general.lora]\nrank = 16", '[general.lora]\nrank = "16"', "“lora.rank” cannot be"),
        ("presets.toml", "[framework.axolotl]", "[framework.axoltl]", "unknown framework → axolotl"),
        (LLAMA, '_layers": 32', '_layers": 320', "makes 70846517248"),
        (LLAMA, '_layers": 32', '_layers": "32"', "num_hidden_layers"),
        (LLAMA, '_layers": 32', '_layers": NaN', "NaN: no number"),
        (LLAMA, '_layers": 32', '_layers": 32, "num_hidden_layers": 33', "num_hidden_layers: twice"),
        ("models.csv", ",8030261248,", ",80302612480,", "makes 8030261248 (0.1×)"),
        ("gpus.csv", "GDDR6X,1008,", "GDDR6X,10080,", "the median of those with GDDR6X"),
        ("gpus.csv", "HBM3,3350,", "HBM3,335,", "the median of those with HBM3"),
        ("measurements/memory.csv", ",full,", ",fulll,", "is no method → full?"),
        ("sources.toml", "/skypilot-org/skypilot-catalog", "", "anybody publishes there"),
    ],
    ids=str,
)
def test_an_edit_that_breaks_answers_is_red(ours: dict[str, bytes], today, path: str, old: str, new: str, says: str):
    """Slips in what the estimator takes from data/: it would answer, and wrongly."""
    path = f"data/{path}"
    text = ours[path].decode()
    assert old in text
    named = named_by_code(ROOT / "calculator/ajuste", ROOT / "calculator/pipeline")
    red = check({**ours, path: text.replace(old, new, 1).encode()}, today, named=named).red
    told = [f"{problem.subject}: {problem.en}" for problem in red if problem.path in (path, "data/models.csv")]
    assert any(says in one for one in told), told
    assert all(problem.line > 0 for problem in red)


def test_our_own_data_names_what_the_formulas_ask_for(ours: dict[str, bytes], today: datetime.date) -> None:
    named = named_by_code(ROOT / "calculator/ajuste", ROOT / "calculator/pipeline")
    assert len(named.asked) >= 30
    assert check(ours, today, named=named).red == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2026-11-09", "1990-01-01", "is before 2016"),
        ("2026-11-09", "２０２６-11-09", "is not a YYYY-MM-DD date"),
        (",0.69,", ",０.69,", "is not a number"),
        ("1x RTX 4090", "1x RTX\u202e 4090", "invisible character (U+202E)"),
        (",eu,", ",e\u200bu,", "invisible character (U+200B)"),
        ("acme.example/prices", "acme.example/pri\u2066ces", "invisible character (U+2066)"),
        ("1x RTX 4090", "-2+3+cmd|x", "a spreadsheet would read it as a formula"),
        ("1x RTX 4090", "+1", "a spreadsheet would read it as a formula"),
        ("https://acme.example/prices", "https://third.example/prices-evil/a", "is neither the provider's nor"),
        ("https://acme.example/prices", "https://third.example/prices/../evil", "is neither the provider's nor"),
    ],
    ids=str,
)
def test_a_row_that_looks_right_and_is_not(files: dict[str, bytes], today, old: str, new: str, says: str):
    files[PRICES] = files[PRICES].decode().replace(old, new).encode()
    assert any(says in problem.en for problem in check(files, today).red)


def test_offers_that_differ_in_case_are_one(files: dict[str, bytes], today: datetime.date) -> None:
    files[PRICES] += files[PRICES].split(b"\n")[1].replace(b"1x RTX", b"1X rtx") + b"\n"
    assert ["is already on line 2" in problem.en for problem in check(files, today).red] == [True]


@pytest.mark.parametrize("name", ["~$acme.csv", ".~lock.acme.csv#"])
def test_a_spreadsheets_temporary_file_is_named_as_one(files: dict[str, bytes], today, tmp_path: Path, name: str):
    for path, data in {**files, f"data/prices/{name}": b"\x05me"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    assert ["temporary file" in problem.en for problem in check(files_of(tmp_path), today).red] == [True]


def test_a_new_price_makes_nobody_elses_row_fail(files: dict[str, bytes], today: datetime.date) -> None:
    """The median moves under a row that nobody touched: that is said, and stops nobody."""
    header, row = files[PRICES].decode().splitlines()
    prices = [0.5, 0.5, 0.9, 1.0, 2.6]
    rows = [row.replace("1x", f"{n}x").replace(",0.69,", f",{price},") for n, price in enumerate(prices, 2)]
    before = check({**files, PRICES: "\n".join([header, *rows, ""]).encode()}, today)
    assert before.problems == []
    cheap = row.replace("1x", "9x").replace(",0.69,", ",0.5,")
    after = check({**files, PRICES: "\n".join([header, *rows, cheap, ""]).encode()}, today, before.data)
    assert after.red == []
    assert [problem.subject for problem in after.problems] == ["usd_per_hour 2.6"]
    fewer = check({**files, PRICES: "\n".join([header, *rows[:2], *rows[3:], cheap, ""]).encode()}, today, before.data)
    assert fewer.red == []
    wrong = row.replace("1x", "9x").replace(",0.69,", ",9.9,")
    own = check({**files, PRICES: "\n".join([header, *rows, wrong, ""]).encode()}, today, before.data)
    assert [problem.subject for problem in own.red] == ["usd_per_hour 9.9"]


def test_a_model_that_nobody_counted_is_of_its_names_size(files: dict[str, bytes], today: datetime.date) -> None:
    index = files["data/models.csv"].decode().replace(",1000000,https://acme.example/tiny,", ",,,")
    files["data/models.csv"] = index.replace("tiny,Tiny,", "tiny,Tiny 1M,").encode()
    assert check(files, today).problems == []
    deep = files["data/models/tiny.json"].replace(b'_layers": 2', b'_layers": 20')
    assert [
        "1.74× its name" in problem.en for problem in check({**files, "data/models/tiny.json": deep}, today).red
    ] == [True]
    assert [size_in_name(name) for name in ("Mixtral 8x7B", "SmolLM2 135M", "GPT-2")] == [56e9, 135e6, None]
