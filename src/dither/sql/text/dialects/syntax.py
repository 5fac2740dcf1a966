"""The syntax tree of a text in which no function has a meaning yet: its name and its arguments stand as written."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.postgres import PostgresParser

from dither.sql.text.called import placed

_FORMS = ("CAST", "EXTRACT", "SUBSTRING", "TRIM")  # functions whose arguments are parted by words


class NamesOnly(PostgresParser):
    """PostgreSQL's grammar without its functions."""

    FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = placed({name: PostgresParser.FUNCTION_PARSERS[name] for name in _FORMS})
    NO_PAREN_FUNCTION_PARSERS = {"CASE": PostgresParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}  # noqa: RUF012

    def _parse_ordered(self, *given: Any, **named: Any) -> exp.Ordered | None:
        """Remember whether NULLS FIRST or NULLS LAST was written: dialects differ about what goes without saying."""
        node = super()._parse_ordered(*given, **named)
        if node is not None:
            node.meta["nulls_written"] = str(self._prev.text).upper() in ("FIRST", "LAST")
        return node
