"""Queries in other dialects: put into PostgreSQL's words first, then read as any other query.

Nothing is trusted of a translation: what comes out is text, and goes through every limit and check that text does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dither.errors import DitherError, ParameterError
from dither.policy.names import meant
from dither.sql.text import limits

if TYPE_CHECKING:
    from dither.sql.text.source import Source

DEFAULT = "postgres"


def in_postgres(text: str, dialect: str) -> str:
    """The text in PostgreSQL's dialect. Positions in later messages are those of that text."""
    from sqlglot.dialects.dialect import Dialect, Dialects
    from sqlglot.errors import ErrorLevel

    known = sorted(name.value for name in Dialects if name.value)
    name = dialect.lower() if isinstance(dialect, str) else ""
    if name == "postgresql" or name == DEFAULT:
        return text
    if name not in known:
        raise ParameterError(
            f"there is no SQL dialect {dialect!r}; known are: {', '.join(known)}. {meant(str(dialect), known)}".rstrip()
        )
    source = limits.readable(text, limits.MOST_TRANSLATED)
    try:
        chosen = Dialect.get_or_raise(name)
        trees = [tree for tree in chosen.parse(text) if tree is not None]
        if len(trees) != 1:
            raise source.refusal(0, "one query holds one statement.", "Send one SELECT.")
        _nothing_dropped(trees[0], source)
        return str(trees[0].sql(dialect=DEFAULT, comments=False, unsupported_level=ErrorLevel.RAISE))
    except DitherError:
        raise
    except Exception:  # noqa: BLE001 - a translator has slips of its own, and has seen nothing but the text
        hint = "Check its spelling, or write it in PostgreSQL's dialect."
        raise source.refusal(0, f"the query cannot be understood as {name}.", hint) from None


def _nothing_dropped(tree: Any, source: Source) -> None:
    """Refuse clauses that PostgreSQL lacks: in its words they would be left out, as would the condition of PREWHERE."""
    from sqlglot import exp

    from dither.sql.text import grammar

    for select in tree.find_all(exp.Select):
        for name, value in select.args.items():
            if value and name not in grammar.ALLOWED[exp.Select]:
                raise source.refusal(0, f"a query cannot have {name.strip('_').upper()}.", "Leave it out.")
