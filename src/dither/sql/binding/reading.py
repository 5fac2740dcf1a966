"""From text to a question, once for each asker who asks it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.errors import ParameterError, UnsupportedQuery
from dither.lazy import importing
from dither.policy.catalog import Catalog
from dither.policy.names import meant
from dither.sql.plan.question import Question

if TYPE_CHECKING:
    from dither.sql.text.dialects.vocabulary import Vocabulary


def read(text: str, catalog: Catalog, *, dialect: str | None = None) -> Question:
    """What the text asks, or `UnsupportedQuery` (where, and what to write instead), or `PolicyError` (no such table).

    Text and declarations are all it looks at: nothing raised here can tell anything about data.
    """
    with importing():  # the parser is not needed before the first question
        from dither.sql.binding import selects
        from dither.sql.text import faithfulness, limits, parse

    try:
        if dialect is not None and (vocabulary := vocabulary_of(dialect)) is not None:
            from dither.sql.text.dialects.interpreter import interpreted

            return selects.bind(interpreted(text, vocabulary, catalog), catalog)
        parsed = parse.parse(limits.tokens(text), catalog)
        question = selects.bind(parsed, catalog)
        faithfulness.faithful(parsed)  # last, because it costs as much as the parsing
        return question
    except RecursionError:
        raise UnsupportedQuery("the query is nested too deeply.", line=1, column=1, hint="Split it.") from None


def vocabulary_of(dialect: str) -> Vocabulary | None:
    """What the dialect means; None for PostgreSQL's own."""
    with importing():
        from dither.sql.text.dialects.vocabularies import VOCABULARIES

    name = dialect.lower() if isinstance(dialect, str) else ""
    if name in ("postgres", "postgresql"):
        return None
    if name not in VOCABULARIES:
        known = ["postgres", *VOCABULARIES]
        what = f"there is no SQL dialect {dialect!r} here; known are: {', '.join(known)}."
        raise ParameterError(f"{what} {meant(str(dialect), known)}".rstrip())
    return VOCABULARIES[name]


# A question with all that is computed for it takes at most about this much memory, for each byte of its text and each
# value of a key that is computed (measured: 170 and 40).
_PER_BYTE, _PER_VALUE = 200, 64


class Readings:
    """Reads questions, and remembers the last ones of each asker, so many and so many bytes of them.

    Askers share neither them nor the room for them: how long an answer takes must not tell anybody what somebody else
    has asked, or how much. So the whole is bounded by how many analysts the curator made. A question belongs to the
    declarations that it was read with, and is read anew as soon as they are others.
    """

    MOST, MOST_BYTES = 256, 32 << 20  # of one asker

    def __init__(self) -> None:
        self._known: dict[str | None, dict[tuple[str, str | None], tuple[Catalog, Question]]] = {}
        self._bytes: dict[str | None, int] = {}

    def read(self, asker: str | None, text: str, catalog: Catalog, *, dialect: str | None = None) -> Question:
        """What `read` says."""
        if not isinstance(text, str):
            return read(text, catalog, dialect=dialect)
        known = self._known.setdefault(asker, {})
        found = known.get((text, dialect))
        if found is not None and found[0] == catalog:
            return found[1]
        question = read(text, catalog, dialect=dialect)
        taken = self._bytes.get(asker, 0) + weight(text, question)
        if len(known) >= self.MOST or taken > self.MOST_BYTES:
            known.clear()
            taken = weight(text, question)
        known[text, dialect], self._bytes[asker] = (catalog, question), taken
        return question


def weight(text: str, question: Question) -> int:
    """About how many bytes it takes to remember a question."""
    computed = sum(key.declaration.key_count or 0 for key in question.keys)
    return _PER_BYTE * len(text.encode()) + _PER_VALUE * computed
