"""What an interval does not cover, said in words: limits on rows and declared bounds can bias an answer."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dither.digits import counted
from dither.sql.aggregates.chosen import GREATEST, LEAST
from dither.sql.bound import plan
from dither.sql.plan import Aggregate, Choice, OwnerLimit, QuantileRows, Retruncate, SumRows
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
    chosen = [m for aggregate in aggregates for m in aggregate.measures if isinstance(m, Choice)]
    if chosen:
        said.append("A value that was chosen by its rank or frequency has no interval; its error is one of ranks.")
    ranks = {Fraction(m.numerator, m.denominator) for m in chosen if isinstance(m, QuantileRows)}
    if ranks & {LEAST, GREATEST}:
        said.append(
            "MIN and MAX are answered by the values at rank 1% and 99%: the very last could be one owner's own."
        )
    return (*said, *(question.after.notes() if question.after is not None else ()))


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
