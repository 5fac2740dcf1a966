"""What the engine says about a computation from answers: in the analyst's own names, where the fault stands."""

from __future__ import annotations

import re

from dither.errors import UnsupportedQuery
from dither.sql.over.over_question import OverQuestion

_NAMED = re.compile(r"""["']([^"'(]+)[(]?|source column (\w+)""")  # a column, or a function before its arguments
_HINT = "Check names and types: CAST changes a type, and QUALIFY holds conditions on windows."


def refusal(over: OverQuestion, why: str) -> UnsupportedQuery:
    """The error to raise; without a place where the words name nothing that stands once in the text."""
    what = f"this cannot be computed from the answer: {own_words(over, why)}"
    named = {(quoted or column).lower() for quoted, column in _NAMED.findall(own_words(over, why))}
    places = [int(token.start) for token in over.source.tokens if token.text.lower() in named]
    if len(places) != 1:
        return UnsupportedQuery(what, hint=_HINT)
    return over.source.refusal(places[0], what, _HINT)


def own_words(over: OverQuestion, why: str) -> str:
    """The engine's words, with the analyst's own names."""
    for part in over.parts:
        for name, label in part.labels:
            why = why.replace(name, label)
    return why
