"""What an analyst should know beside the numbers, said in words: limits, clamps, ranks and keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from dither.exact.digits import counted, decimal
from dither.mechanisms import KeySelection, Quantile
from dither.sql.bounding.aggregations import plan
from dither.sql.bounding.limit_order import path_to_table
from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Average, Sum
from dither.sql.plan.aggregates.chosen_value import GREATEST, LEAST
from dither.sql.plan.measures import shown
from dither.sql.plan.nodes import (
    Aggregate,
    Choice,
    CountRows,
    Filter,
    JoinFull,
    JoinOwner,
    Node,
    OwnerAggregate,
    OwnerLimit,
    QuantileRows,
    Retruncate,
    Scan,
    SemiJoin,
    SumRows,
    Total,
)
from dither.sql.plan.question import Question
from dither.sql.postprocess.left_out import LeftOut
from dither.sql.postprocess.recorded_mechanisms import Mechanism


def limits(aggregates: Iterable[Aggregate]) -> tuple[str, ...]:
    """What a plan leaves out of the data: sentences that are kept with its answer."""
    parts = tuple(aggregates)
    limited = [node for part in parts for node in part.walk() if isinstance(node, OwnerLimit)]
    least = {node.child.table.name: node.rows for node in sorted(limited, key=lambda node: -node.rows)}
    return tuple(dict.fromkeys(note for part in parts for note in _limits(part, least)))


def notes(question: Question, limited: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Sentences about the plan alone, the same whatever the data are; `limited` are those that `limits` made of it."""
    aggregates = plan(question)
    said = [*(limits(aggregates) if limited is None else limited)]
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


def adjusted(factors: Iterable[Fraction]) -> tuple[str, ...]:
    """That counts and sums were scaled up, if they were."""
    return tuple(
        f"Counts and sums were multiplied by {float(factor):.6g} for what was left out, by the profile's estimate of "
        "its share, which ± does not cover."
        for factor in dict.fromkeys(factors)
        if factor != 1
    )


def narrowed(question: Question, bounds: Iterable[tuple[str, int, int]], *, covered: bool = True) -> Iterator[str]:
    """That values were clamped to tighter bounds than declared, if they were; whether intervals have room for that."""
    rest = "intervals have room for it" if covered else "which ± does not cover"
    values = {leaf.text: leaf for leaf in _values(question)}
    for text, *ends in bounds:
        low, high = (decimal(Fraction(end, 10 ** values[text].scale)) for end in ends)
        yield (
            f"Values of {values[text].name} were moved into [{low}, {high}] before they were added or averaged, as the "
            f"profile suggests; {rest}."
        )


def ranks(
    question: Question, mechanisms: Mapping[str, Mechanism], left_out: LeftOut, missed: Fraction
) -> Iterator[str]:
    """Where exact quantiles stand, in ranks, with the probability that an interval holds.

    Of R rows left out, B below the value shown, the exact rank p (n + R) is p R - B from that of the value among all
    rows, which is between -(1 - p) R and p R; the mechanism's own error of ranks comes to it.
    """
    for output in question.outputs:
        for measure in output.aggregate.measures():
            mechanism = mechanisms.get(measure.text)
            if not isinstance(measure, QuantileRows) or not isinstance(mechanism, Quantile):
                continue
            told, rest = left_out.split([measure.text], missed)
            rows = left_out.bounds(measure.text, told)[1]
            p, own = Fraction(measure.numerator, measure.denominator), mechanism.rank_error(1 - rest)
            if rows is None:
                yield f"{output.name}: any number of rows was left out, so nothing is known about its rank among all."
                continue
            below, above = (math.ceil(own + float(share * rows)) for share in (1 - p, p))
            sure = f"with probability {float(1 - missed) * 100:.10g}%"
            yield f"{output.name}: the exact value stands from {below:,} ranks below to {above:,} above, {sure}."


def no_keys(selection: KeySelection) -> str:
    """Why no group is shown, and what finding that out cost."""
    name, amount = ("rho", selection.rho) if selection.epsilon is None else ("epsilon", selection.epsilon)
    return (
        f"No key is shown: a noisy count of at least {counted(selection.threshold, 'owner')} is needed for one, which "
        f"cost {name} {float(amount or 0):.6g} and delta {float(selection.delta):.6g}. A key of fewer owners needs a "
        "larger price or delta, or fewer rows of each owner."
    )


def _values(question: Question) -> Iterator[Stored]:
    """Columns that are added or averaged as they are."""
    for output in question.outputs:
        for leaf in output.aggregate.leaves():
            if isinstance(leaf, (Sum, Average)) and isinstance(leaf.value, Stored):
                yield leaf.value


def _limits(aggregate: Aggregate, least: Mapping[str, int]) -> Iterator[str]:
    """What one aggregation leaves out; of the limits on a table the least is told, which some numbers have."""
    limits = [node for node in aggregate.walk() if isinstance(node, OwnerLimit)]
    several = len({node.child.table.name for node in limits}) > 1
    for node in (limit for limit in limits if limit.rows == least[limit.child.table.name]):
        of = f" in {node.child.table.name}" if several else ""
        lowered = node.rows < node.child.table.max_rows_per_owner and chooses(aggregate.child)
        yield f"At most {_rows(node.rows, of)} counted{', whichever WHERE keeps of them' if lowered else ''}."
    yield from _clamps(aggregate)
    for cut in aggregate.walk():
        if isinstance(cut, Retruncate) and not isinstance(cut.child, OwnerAggregate):
            *_, scan = path_to_table(cut.child)
            of = f" in {scan.table.name}" if several and isinstance(scan, Scan) else ""
            if _joins(aggregate.child) > _joins(cut):
                yield f"Of those that conditions on them alone keep, at most {_rows(cut.rows, of)} joined."
            else:
                yield f"Of those that WHERE keeps, at most {_rows(cut.rows, of)} counted."
        elif isinstance(cut, Retruncate):
            yield f"After WHERE, joins and grouping at most {_rows(cut.rows)} kept."


def _joins(node: Node) -> int:
    """How often rows of one owner meet each other."""
    return sum(isinstance(inner, (JoinOwner, JoinFull)) for inner in node.walk())


def chooses(node: Node) -> bool:
    """Whether conditions choose among rows."""
    return any(isinstance(inner, (Filter, SemiJoin)) for inner in node.walk())


def _clamps(aggregate: Aggregate) -> Iterator[str]:
    """Of sums that were asked for as such and are answered by owners' totals."""
    for asked in aggregate.asked:
        if isinstance(asked, (SumRows, CountRows)):
            total = _total(aggregate, aggregate.asked.index(asked))
            low, high = (decimal(shown(asked, end)) for end in (total.least, total.most))
            each = "total in each group" if aggregate.keys else "total"
            yield f"Each owner's {each} was moved into [{low}, {high}] before it was added."


def _total(aggregate: Aggregate, place: int) -> Total:
    (node,) = [inner for inner in aggregate.walk() if isinstance(inner, OwnerAggregate)][:1]
    return node.totals[place][1]


def _rows(rows: int, of: str = "") -> str:
    return f"{counted(rows, 'row')} of each owner{of} {'is' if rows == 1 else 'are'}"
