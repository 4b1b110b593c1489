"""The price form: what it changes, what it answers, and that its text does nothing else."""

import datetime
import json
from pathlib import Path

import pytest
import yaml

from pipeline.check import check
from pipeline.form import LABELS, WHAT, FormError, answer, propose, read_form

from .conftest import is_only_text

PRICES = "data/prices/acme.csv"
FORM = {
    "provider": "acme", "offer": "1x RTX 4090", "what": "Cambió / Changed", "price": "0,74 USD",
    "purchase": "on-demand", "gpu": "", "gpus": "", "region": "", "source_url": "https://acme.example/prices",
    "checked": "2026-11-30", "note": "",
}  # fmt: skip


def body(**changes: str) -> str:
    answers = FORM | changes
    return "\n\n".join(f"### {label}\n\n{answers[field] or '_No response_'}" for label, field in LABELS.items()) + "\n"


def asked(files: dict[str, bytes], today: datetime.date, **changes: str) -> list[str]:
    return propose(body(**changes), check(files, today).data, today).text.splitlines()[1:]


def refused(files: dict[str, bytes], today: datetime.date, **changes: str) -> FormError:
    with pytest.raises(FormError) as error:
        propose(body(**changes), check(files, today).data, today)
    return error.value


def hours(_request: dict, data) -> float:
    return sum(row.values["usd_per_hour"] for row in data.prices)


def test_labels_and_options_are_those_of_the_form(root: Path) -> None:
    form = yaml.safe_load((root / ".github/ISSUE_TEMPLATE/price.yml").read_text(encoding="utf-8"))
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert {part["attributes"]["label"]: part["id"] for part in fields} == LABELS
    assert next(part for part in fields if part["id"] == "what")["attributes"]["options"] == list(WHAT)


def test_a_changed_price_changes_its_row_alone(files: dict[str, bytes], price: str, today: datetime.date) -> None:
    files[PRICES] += price.replace("1x RTX", "2x RTX").encode() + b"\n"
    rows = asked(files, today)
    assert rows == [
        price.replace(",0.69,", ",0.74,").replace("2026-11-09", "2026-11-30"),
        price.replace("1x RTX", "2x RTX"),
    ]


def test_still_the_same_renews_only_the_date(files: dict[str, bytes], price: str, today: datetime.date) -> None:
    rows = asked(files, today, what="Sigue igual / Still the same", price="", checked="")
    assert rows == [price.replace("2026-11-09", "2026-11-30")]


def test_gone_removes_the_row(files: dict[str, bytes], today: datetime.date) -> None:
    assert asked(files, today, what="Ya no existe / Gone") == []


def test_new_adds_a_row(files: dict[str, bytes], price: str, today: datetime.date) -> None:
    rows = asked(
        files, today, what="Es nueva / It is new", offer="4x RTX 4090", gpu="rtx-4090-24gb", gpus="4", price="2.76"
    )
    assert rows[0] == price
    assert rows[1] == (
        "4x RTX 4090,rtx-4090-24gb,4,,on-demand,2.76,,,listed,A,,2026-11-30,https://acme.example/prices,"
    )


@pytest.mark.parametrize("printed", ["0.74", "0,74", "$0.74", "US$ 0,74", "0.74 USD/h", "0.74/hr"])
def test_a_price_is_read_as_printed(printed: str, files: dict[str, bytes], today: datetime.date) -> None:
    assert ",0.74," in asked(files, today, price=printed)[0]


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"provider": "acmee"}, "provider", "acme?"),
        ({"provider": "zzzzzz"}, "provider", "is not in data/providers.toml"),
        ({"offer": "1x RTX 4091"}, "offer", "1x RTX 4090?"),
        ({"purchase": "spot"}, "purchase", "not with that purchase"),
        ({"what": "Drop everything"}, "what", "choose one"),
        ({"price": "0.74 €"}, "price", "euros"),
        ({"price": "0.74 GBP"}, "price", "is not a number"),
        ({"price": "1,234"}, "price", "1234 | 1.234"),
        ({"price": ""}, "price", "cannot be empty"),
        ({"price": "0"}, "price", "never 0"),
        ({"price": "1e3"}, "price", "is not a number"),
        ({"checked": "30/11/26"}, "checked", "YYYY-MM-DD"),
        ({"source_url": "javascript:alert(1)"}, "source_url", "is not an address"),
        ({"source_url": "http://acme.example/x"}, "source_url", "must be https"),
        ({"note": "=cmd|' /C calc'!A0"}, "note", "formula"),
        ({"note": "x" * 500}, "note", "shorten it"),
        ({"what": "Es nueva / It is new", "gpus": "", "gpu": "rtx-4090-24gb"}, "gpus", "cannot be empty"),
    ],
)
def test_a_form_that_lacks_something_is_told_what(
    changes: dict[str, str], field: str, says: str, files: dict[str, bytes], today: datetime.date
) -> None:
    error = refused(files, today, **changes)
    assert error.field == field
    assert says in error.en


def test_two_rows_alike_need_more_words(files: dict[str, bytes], price: str, today: datetime.date) -> None:
    files[PRICES] += price.replace(",eu,", ",us,").encode() + b"\n"
    assert refused(files, today).field == "gpu"
    assert ",us,on-demand,0.74," in asked(files, today, region="us")[1]


def test_the_answer_tells_the_change_and_proposes_the_file(files: dict[str, bytes], today: datetime.date) -> None:
    said = answer(body(), files, today, [], hours)
    assert "`acme 1x RTX 4090 eu`: $0.69 → $0.74 per hour (+7%), seen 2026-11-30" in said.reply
    assert said.proposal is not None
    assert (said.proposal.path, said.proposal.title) == (PRICES, "acme 1x RTX 4090 changed")


def test_the_answer_to_what_the_check_refuses_is_its_message(files: dict[str, bytes], today: datetime.date) -> None:
    said = answer(body(price="7.40"), files, today, [], hours)  # more than 40 %, without a note
    assert said.proposal is None
    assert "cambia +972%" in said.reply
    said = answer(body(source_url="https://elsewhere.example/x"), files, today, [], hours)
    assert said.proposal is None
    assert "third party" in said.reply


# --- hostile forms ---

INJECTIONS = [
    "$(touch /tmp/pwned)", "`id`", "'; rm -rf / #", "${{ secrets.GITHUB_TOKEN }}", "::set-output name=ok::true",
    "a\n::add-mask::x", "../../.github/workflows/ci", "acme\n### Oferta / Offer\n\nother",
    "<!-- hidden --><script>alert(1)</script>", "@everyone", "[click](https://evil.example)", "\u202eesrever",
    "\x00\x1b[31mred", "%0A::error::x", "=1+1", "--upload-pack=x", "{{7*7}}", "x" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("field", [*LABELS.values()])
@pytest.mark.parametrize("text", INJECTIONS)
def test_hostile_text_is_refused_or_only_text(
    text: str, field: str, files: dict[str, bytes], today: datetime.date
) -> None:
    is_only_text(answer(body(**{field: text}), files, today, [], hours), PRICES, files)


def test_a_second_answer_to_a_question_does_not_count(files: dict[str, bytes], today: datetime.date) -> None:
    text = (
        body() + "\n### Precio como está impreso / Price as printed\n\n9.99\n\n### path\n\n.github/workflows/ci.yml\n"
    )
    assert read_form(text)["price"] == "0,74 USD"
    assert ",0.74," in propose(text, check(files, today).data, today).text


def test_an_empty_or_endless_form_is_answered(files: dict[str, bytes], today: datetime.date) -> None:
    for text in ("", "###", "### ", "x" * 10**6, "### GPU\n" * 10**5):
        assert answer(text, files, today, [], hours).proposal is None


def test_the_command_writes_what_the_workflow_reads(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline import __main__ as command

    event = tmp_path / "event.json"
    event.write_text(json.dumps({"issue": {"number": 7, "body": body(provider="nobody")}}), encoding="utf-8")
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.argv", ["pipeline", "form", "--event", str(event), "--out", str(tmp_path / "out")])
    assert command.main() == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["reply.md"]
    assert "is not in data/providers.toml" in (tmp_path / "out/reply.md").read_text(encoding="utf-8")
