"""A price form of the issue tracker, turned into a change of data/prices. Its text is a stranger's: never a command.

What comes in is the event that GitHub writes into a file, read here and passed to no shell. What goes out is a file of
prices that passed the same check as everybody's, the id of its provider, a title made of checked values, and an answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ajuste.catalog import gpus_named
from pipeline import schema
from pipeline.cells import CellError, nearest, number_meant, parse
from pipeline.check import check
from pipeline.diff import plain, report
from pipeline.files import write_csv
from pipeline.text import LANGUAGES, word

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Mapping

    from pipeline.diff import Preset
    from pipeline.files import Data

LIMIT = 20_000  # characters of a form
# The labels of .github/ISSUE_TEMPLATE/price.yml, which is how GitHub names the answers; a test holds them together.
LABELS = {
    "Proveedor / Provider": "provider",
    "Oferta / Offer": "offer",
    "¿Qué pasó? / What happened?": "what",
    "Precio como está impreso / Price as printed": "price",
    "Compra / Purchase": "purchase",
    "GPU": "gpu",
    "Cuántas GPU / How many GPUs": "gpus",
    "Región / Region": "region",
    "Enlace donde se ve / Link where it shows": "source_url",
    "Día en que lo viste / Day you saw it": "checked",
    "Nota / Note": "note",
}
WHAT = {
    "Cambió / Changed": "changed",
    "Sigue igual / Still the same": "same",
    "Ya no existe / Gone": "gone",
    "Es nueva / It is new": "new",
}
_NO_ANSWER = "_No response_"
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")


class FormError(Exception):
    """What the form lacks, in both languages."""

    def __init__(self, field: str, es: str, en: str) -> None:
        super().__init__(en)
        self.field, self.es, self.en = field, es, en


class Proposal(NamedTuple):
    """A change that a form asks for."""

    path: str
    text: str  # the whole file
    title: str  # of a pull request


class Answer(NamedTuple):
    """What to say in the issue, and what to propose."""

    reply: str
    proposal: Proposal | None


def propose(body: str, data: Data, today: datetime.date) -> Proposal:
    """The change a form asks for. Raises FormError."""
    answers = read_form(body)
    provider = _provider(answers, data)
    offers = [row.values for row in data.prices if row.values["provider"] == provider]
    named = gpus_named(answers["gpu"], [row.values["id"] for row in data.gpus])
    if len(named) == 1:  # “RTX 4090”, as its seller writes it
        answers["gpu"] = named[0]
    what = WHAT.get(answers["what"])
    if what is None:
        raise FormError("what", "elige una de las opciones", "choose one of the options")
    if what == "new":
        after = [*offers, _new(answers, today)]
        subject = after[-1]
    else:
        subject = _find(answers, offers)
        others = [offer for offer in offers if offer is not subject]
        after = others if what == "gone" else [*others, _renewed(subject, answers, today, with_price=what == "changed")]
    title = re.sub(r"[^\w .+()/-]", "", f"{provider} {subject['offer']} {what}")[:80]
    return Proposal(f"data/prices/{provider}.csv", write_csv(schema.PRICES, after), title)


def answer(
    body: str,
    files: Mapping[str, bytes],
    today: datetime.date,
    presets: list[Preset],
    bill: Callable[[dict[str, Any], Data], float | None],
) -> Answer:
    """What the robot says to a form, and the file it proposes, if any."""
    data = check(files, today).data
    try:
        proposal = propose(body, data, today)
    except FormError as error:
        return Answer(refusal(error), None)
    after = check({**files, proposal.path: proposal.text.encode()}, today, data)
    told = report(data, after.data, after.problems, today, presets, bill)
    return Answer(told, None if after.red else proposal)


def read_form(body: str, labels: Mapping[str, str] = LABELS) -> dict[str, str]:
    """The answers by field. Headings that are not ours, and a second answer to the same question, are left out."""
    answers = dict.fromkeys(labels.values(), "")
    sections = re.split(r"^### (.*)$", body[:LIMIT].replace("\r\n", "\n"), flags=re.MULTILINE)
    for label, text in zip(sections[1::2], sections[2::2], strict=True):
        field = labels.get(label.strip())
        if field and not answers[field]:
            plain = _INVISIBLE.sub(" ", text).strip()
            answers[field] = "" if plain == _NO_ANSWER else re.sub(r" {2,}", " ", plain)
    return answers


def refusal(error: FormError, labels: Mapping[str, str] = LABELS) -> str:
    """The answer to a form that lacks something, in both languages."""
    field = next(label for label, name in labels.items() if name == error.field)
    spanish, english = field.split(" / ") if " / " in field else (field, field)
    says = {"es": f"**{spanish}**: {plain(error.es)}", "en": f"**{english}**: {plain(error.en)}"}
    return "\n\n".join(f"❌ {says[language]}\n\n{word('form_edit', language)}" for language in LANGUAGES) + "\n"


def _provider(answers: Mapping[str, str], data: Data) -> str:
    wanted = answers["provider"]
    names = {row.values["id"]: row.values["id"] for row in data.providers}
    names |= {row.values["name"].casefold(): row.values["id"] for row in data.providers}
    if wanted.casefold() not in names:
        meant = nearest(wanted.casefold(), names)
        raise FormError(
            "provider",
            f"no está en data/providers.toml{f' → ¿{names[meant]}?' if meant else ''}",
            f"is not in data/providers.toml{f' → {names[meant]}?' if meant else ''}",
        )
    return str(names[wanted.casefold()])


def _find(answers: Mapping[str, str], offers: list[dict[str, Any]]) -> dict[str, Any]:
    """The one row the form speaks of."""
    named = [offer for offer in offers if offer["offer"].casefold() == answers["offer"].casefold()]
    found = [offer for offer in named if all(_agrees(answers[name], offer[name]) for name in schema.PRICES.key[1:])]
    if len(found) == 1:
        return found[0]
    if found:
        raise FormError(
            "gpu",
            "hay varias filas así → escribe también GPU, cuántas y región",
            "several rows are like that → also type GPU, how many and region",
        )
    if named:
        raise FormError(
            "purchase",
            "la oferta existe, pero no con esa compra, GPU o región",
            "the offer exists, but not with that purchase, GPU or region",
        )
    meant = nearest(answers["offer"], [offer["offer"] for offer in offers])
    raise FormError(
        "offer",
        f"ese proveedor no tiene esa oferta{f' → ¿{meant}?' if meant else ''}; si es nueva, elige «Es nueva»",
        f"that provider has no such offer{f' → {meant}?' if meant else ''}; if it is new, choose “It is new”",
    )


def _agrees(answer: str, value: object) -> bool:
    return not answer or answer.casefold() == str(value if value is not None else "").casefold()


def _renewed(
    offer: dict[str, Any], answers: Mapping[str, str], today: datetime.date, with_price: bool
) -> dict[str, Any]:
    seen = {
        "checked": _cell("checked", answers["checked"] or today.isoformat()),
        "source_url": _cell("source_url", answers["source_url"] or offer["source_url"]),
        "note": _cell("note", answers["note"]) or offer["note"],
        "confidence": "A",
    }
    if not with_price:
        return offer | seen
    # Somebody saw this very offer: it is no longer computed from another.
    assumed = [mark for mark in offer["assumed"] if mark != "average"]
    return offer | seen | {"usd_per_hour": _price(answers), "price_basis": "listed", "assumed": assumed}


def _new(answers: Mapping[str, str], today: datetime.date) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(schema.PRICES.names) | {"assumed": []}
    typed = {name: _cell(name, answers[name]) for name in ("offer", "gpu", "gpus", "region", "purchase", "note")}
    return (
        empty
        | typed
        | {
            "usd_per_hour": _price(answers),
            "checked": _cell("checked", answers["checked"] or today.isoformat()),
            "source_url": _cell("source_url", answers["source_url"]),
            "price_basis": "listed",
            "confidence": "A",
        }
    )


def _price(answers: Mapping[str, str]) -> Any:
    """The price as printed: with its currency, with a decimal comma, but with one reading only."""
    column = schema.PRICES.column("usd_per_hour")
    assert column is not None
    text = number_meant(answers["price"]) or answers["price"]
    return _parsed(column, "price", text)


def _cell(name: str, text: str) -> Any:
    column = schema.PRICES.column(name)
    assert column is not None
    return _parsed(column, name, text)


def _parsed(column: schema.Column, field: str, text: str) -> Any:
    try:
        return parse(column, text)
    except CellError as error:
        raise FormError(field, *error.text) from None
