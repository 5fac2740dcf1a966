"""What an interval does not cover, said in words: limits on rows and declared bounds can bias an answer."""

from __future__ import annotations

from collections.abc import Iterator

from dither.digits import counted
from dither.sql.bound import plan
from dither.sql.plan import Aggregate, OwnerLimit, Retruncate, SumRows
from dither.sql.question import Question


def notes(question: Question) -> tuple[str, ...]:
    """Sentences about the plan alone, the same whatever the data are."""
    aggregates = plan(question)
    said = [*dict.fromkeys(note for aggregate in aggregates for note in _limits(aggregate))]
    if not question.public:
        said.append("Groups with too few owners are not shown; which are shown was decided by a noisy count of owners.")
    if any(isinstance(measure, SumRows) for aggregate in aggregates for measure in aggregate.measures):
        said.append(
            "Values outside a column's declared bounds were moved to the nearest bound when the data were loaded."
        )
    return tuple(said)


def _limits(aggregate: Aggregate) -> Iterator[str]:
    limits = [node for node in aggregate.walk() if isinstance(node, OwnerLimit)]
    several = len({node.child.table.name for node in limits}) > 1
    for node in limits:
        of = f" in {node.child.table.name}" if several else ""
        yield f"At most {_rows(node.rows, of)} counted; further rows are left out."
    for cut in aggregate.walk():
        if isinstance(cut, Retruncate):
            yield f"After the last join or grouping at most {_rows(cut.rows)} kept."


def _rows(rows: int, of: str = "") -> str:
    return f"{counted(rows, 'row')} of each owner{of} {'is' if rows == 1 else 'are'}"
