"""Errors that a server names, as the very classes that are raised at home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dither.errors import DitherError, ParameterError
from dither.ledger.officer import refusals  # noqa: F401 - so that these classes are known


def error_from(body: bytes) -> DitherError:
    """The error of an answer's body; one whose code is not known here is a plain DitherError with that code."""
    try:
        found = json.loads(body)["error"]
        code, message, fields = str(found["code"]), str(found["message"]), dict(found["fields"])
    except (ValueError, KeyError, TypeError):
        found, code, message, fields = {}, "internal", "the server gave no answer that can be read.", {}
    kind = next((known for known in _kinds(DitherError) if known.code == code), None)
    made: Any = (kind or DitherError).__new__(kind or DitherError)
    DitherError.__init__(made, message)
    made.what, made.hint = str(found.get("what", message)), str(found.get("hint", ""))
    for name, value in fields.items():
        setattr(made, name, value)
    if isinstance(made, ParameterError) and made.name is not None:
        made.rule = made.what.removeprefix(f"{made.name} ")
    if kind is None:
        made.code = code
    return made  # type: ignore[no-any-return]


def _kinds(kind: type[DitherError]) -> Iterator[type[DitherError]]:
    """All classes of errors, those nearer to the root first."""
    for below in kind.__subclasses__():
        yield below
    for below in kind.__subclasses__():
        yield from _kinds(below)
