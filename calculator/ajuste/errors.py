"""What goes wrong with a request, said in both languages.

Every refusal is one `RequestError`: a stable code, the field, what would be accepted, and the nearest matches.
Nothing else leaves the estimator: `estimate_json` turns it into the answer's `error` object.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MESSAGES = {
    "bad-json": {
        "es": "La solicitud no es JSON válido: {detail}.",
        "en": "The request is not valid JSON: {detail}.",
    },
    "bad-catalog": {
        "es": "El catálogo no se puede leer: {detail}.",
        "en": "The catalog cannot be read: {detail}.",
    },
    "missing": {
        "es": "Falta «{field}». Se acepta: {accepted}.",
        "en": "“{field}” is missing. Accepted: {accepted}.",
    },
    "unknown-field": {
        "es": "«{field}» no es un campo de la solicitud.",
        "en": "“{field}” is not a field of the request.",
    },
    "wrong-type": {
        "es": "«{field}» no puede ser {value}. Se acepta: {accepted}.",
        "en": "“{field}” cannot be {value}. Accepted: {accepted}.",
    },
    "out-of-range": {
        "es": "«{field}» = {value} está fuera de rango. Se acepta: {accepted}.",
        "en": "“{field}” = {value} is out of range. Accepted: {accepted}.",
    },
    "unknown-value": {
        "es": "«{field}» no admite {value}. Se acepta: {accepted}.",
        "en": "“{field}” does not take {value}. Accepted: {accepted}.",
    },
    "unknown-model": {
        "es": "El modelo {value} no está en el catálogo: usa uno de los suyos o pega el config.json.",
        "en": "The model {value} is not in the catalog: use one of its own or paste the config.json.",
    },
    "unknown-gpu": {
        "es": "La GPU {value} no está en el catálogo{es}.",
        "en": "The GPU {value} is not in the catalog{en}.",
    },
    "inconsistent": {"es": "{es}", "en": "{en}"},
    "unknown-architecture": {
        "es": "No sé calcular la arquitectura {value}. Si se parece a una conocida, dilo en «assume_family»: el margen "
        "será mucho más ancho.",
        "en": "The architecture {value} cannot be computed. If it is like a known one, say so in “assume_family”: the "
        "range will be much wider.",
    },
    "bad-config": {
        "es": "El config.json no es coherente: {es}",
        "en": "The config.json is not consistent: {en}",
    },
    "internal": {
        "es": "Error del estimador ({detail}). Es un fallo nuestro: envíanos esta solicitud.",
        "en": "Estimator error ({detail}). The fault is ours: please send us this request.",
    },
}


class RequestError(Exception):
    """A request that cannot be answered.

    Args:
        code: stable identifier, a key of `MESSAGES`.
        field: the request field, dotted when nested (`lora.rank`, `model.hidden_size`).
        value: what was given; shortened before it is shown.
        accepted: what would be accepted, written so that both languages can show it (`1 … 1024`, `a | b`), or by
            language.
        suggestions: near matches, best first.
        es, en: the sentence, for the codes whose template is only that (`inconsistent`, `bad-config`).
        detail: technical remainder, not translated.
    """

    def __init__(
        self,
        code: str,
        field: str = "",
        value: object = None,
        accepted: str | dict[str, str] = "",
        suggestions: tuple[str, ...] = (),
        es: str = "",
        en: str = "",
        detail: str = "",
    ) -> None:
        super().__init__(code, field, value)
        self.code = code
        self.field = field
        self.suggestions = suggestions
        shown = {"field": field, "value": shorten(value), "detail": detail, "es": es, "en": en}
        self.message = {
            language: template.format(**shown, accepted=accepted if isinstance(accepted, str) else accepted[language])
            for language, template in MESSAGES[code].items()
        }

    def as_dict(self) -> dict[str, Any]:
        """The answer's `error` object."""
        return {
            "code": self.code,
            "field": self.field,
            "message": self.message,
            "suggestions": list(self.suggestions),
        }


def shorten(value: object, limit: int = 60) -> str:
    """A value as the message shows it: JSON-like, never longer than `limit`, never walking a deep structure."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= limit else f'"{value[:limit]}…"'
    if isinstance(value, int):
        # str() of an integer of more than 4,300 digits raises: such a number is named by its size.
        return str(value) if value.bit_length() <= 256 else f"2^{value.bit_length() - 1}…"
    if isinstance(value, float):
        return repr(value).replace("inf", "∞")
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, (list, tuple)):
        return "[…]"
    return type(value).__name__


def near_matches(word: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The known words most like `word`, best first: shared letter pairs (Dice), without importing difflib.

    Only the first 80 characters are compared, so that a giant string costs nothing.
    """
    pairs = _letter_pairs(word)
    scored = []
    for candidate in known:
        other = _letter_pairs(candidate)
        shared = len(pairs & other)
        if shared:
            scored.append((-2 * shared / (len(pairs) + len(other)), candidate))
    return tuple(candidate for score, candidate in sorted(scored)[:limit] if score <= -0.4)


def _letter_pairs(word: str) -> set[str]:
    letters = "^" + "".join(c for c in word[:80].lower() if c.isalnum()) + "$"
    return {letters[i : i + 2] for i in range(len(letters) - 1)}
