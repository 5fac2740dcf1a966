"""What an interval does not cover, said in words: limits on rows and declared bounds can bias an answer."""

from __future__ import annotations

from dither.digits import counted
from dither.sql.bound import plan
from dither.sql.plan import OwnerLimit, SumRows
from dither.sql.question import Question


def notes(question: Question) -> tuple[str, ...]:
    """Sentences about the plan alone, the same whatever the data are."""
    aggregates = plan(question)
    limits = {node.rows for aggregate in aggregates for node in aggregate.walk() if isinstance(node, OwnerLimit)}
    said = [_limit(rows) for rows in sorted(limits)]
    if any(isinstance(measure, SumRows) for aggregate in aggregates for measure in aggregate.measures):
        said.append(
            "Values outside a column's declared bounds were moved to the nearest bound when the data were loaded."
        )
    return tuple(said)


def _limit(rows: int) -> str:
    verb = "is" if rows == 1 else "are"
    return f"At most {counted(rows, 'row')} of each owner {verb} counted; further rows are left out."
