"""From text to a question."""

from __future__ import annotations

from dither.errors import UnsupportedQuery
from dither.sql.catalog import Catalog
from dither.sql.question import Question


def read(text: str, catalog: Catalog, *, dialect: str | None = None) -> Question:
    """What the text asks, or `UnsupportedQuery` (where, and what to write instead), or `PolicyError` (no such table).

    Text and declarations are all it looks at: nothing raised here can tell anything about data.
    """
    # The parser is slow to import and not needed before the first question.
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
