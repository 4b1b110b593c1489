"""`NamedTuple` as the estimator needs it.

typing's own looks at every annotation, and compiles each that is text: two thirds of the time that a class takes to
make, and importing the estimator makes fifty. Type checkers see typing's.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # as in `ajuste`
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            """A tuple with a field for each annotation of the body, and the body's methods."""
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """A tuple whose fields have names."""
