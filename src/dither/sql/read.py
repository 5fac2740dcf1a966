"""From text to a question, once for each asker who asks it again."""

from __future__ import annotations

from dither.errors import UnsupportedQuery
from dither.lazy import importing
from dither.sql.catalog import Catalog
from dither.sql.question import Question


def read(text: str, catalog: Catalog, *, dialect: str | None = None) -> Question:
    """What the text asks, or `UnsupportedQuery` (where, and what to write instead), or `PolicyError` (no such table).

    Text and declarations are all it looks at: nothing raised here can tell anything about data.
    """
    with importing():  # the parser is not needed before the first question
        from dither.sql import bind, faithful, limits, parse

    if dialect is not None:
        from dither.sql.dialects import in_postgres

        text = in_postgres(text, dialect)
    try:
        parsed = parse.parse(limits.tokens(text), catalog)
        question = bind.bind(parsed, catalog)
        faithful.faithful(parsed)  # last, because it costs as much as the parsing
        return question
    except RecursionError:
        raise UnsupportedQuery("the query is nested too deeply.", line=1, column=1, hint="Split it.") from None


class Readings:
    """Reads questions, and remembers the last ones of each asker.

    Askers share neither them nor the room for them: how long an answer takes must not tell anybody what somebody else
    has asked, or how much. A question belongs to the declarations that it was read with, and is read anew as soon as
    they are others.
    """

    MOST = 256

    def __init__(self) -> None:
        self._known: dict[str | None, dict[tuple[str, str | None], tuple[Catalog, Question]]] = {}

    def read(self, asker: str | None, text: str, catalog: Catalog, *, dialect: str | None = None) -> Question:
        """What `read` says."""
        if not isinstance(text, str):
            return read(text, catalog, dialect=dialect)
        known = self._known.setdefault(asker, {})
        found = known.get((text, dialect))
        if found is not None and found[0] == catalog:
            return found[1]
        question = read(text, catalog, dialect=dialect)
        if len(known) >= self.MOST:
            known.clear()
        known[text, dialect] = (catalog, question)
        return question
