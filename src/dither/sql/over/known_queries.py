"""The queries that WITH has named: rows of people, which questions read, and answers, which are computed with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp


@dataclass(frozen=True)
class Known:
    """The queries that WITH has named so far: those of rows as they are written, those of answers by name."""

    rows: Mapping[str, exp.CTE] = field(default_factory=dict)
    answers: frozenset[str] = frozenset()

    def with_rows(self, query: exp.CTE) -> Known:
        name = query.alias.lower()
        return Known({**self.rows, name: query}, self.answers - {name})

    def with_answer(self, name: str) -> Known:
        rows = {known: query for known, query in self.rows.items() if known != name.lower()}
        return Known(rows, self.answers | {name.lower()})


def with_rows(select: exp.Select, known: Known) -> exp.Select:
    """The SELECT with the queries of rows that WITH names."""
    if known.rows:
        own = select.args.get("with_")
        queries = [query.copy() for query in known.rows.values()]
        select.set("with_", exp.With(expressions=[*queries, *(own.expressions if own is not None else ())]))
    return select
