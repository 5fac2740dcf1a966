"""Guard and planner bound every expression by code of their own, and to the same ends: what one accepts, both accept.

Were the guard wider, a question that was bound would be called a fault; were it narrower, it would prove too much.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from dither.sql import expressions as e
from dither.sql.guard.ranges import LARGEST, NUMBERS, UnsafePlan, interval, longest, verify

X, N = e.Stored("x", -100, 100, 0, True), e.Stored("n", 0, 6, 0, False)
DAY, NEAR = e.Stored("day", -25598, 47571, 0, True), e.Stored("near", 19737, 19792, 0, True)
NAME = e.StoredText("name", True, 40)


class Trees:
    """Expressions of every kind, drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, depth: int) -> e.Numeric:
        if depth == 0:
            return self.random.choice(
                [X, N, DAY, NEAR, e.Constant(self.random.choice([0, 1, -7, 30, 10**6])), e.Null()]
            )
        return self.random.choice(self.KINDS)(self, depth - 1)

    def text(self, depth: int) -> e.Textual:
        if depth == 0:
            return self.random.choice([NAME, e.TextConstant("àbc "), e.TextConstant(""), e.TextNull()])
        one, other = self.text(depth - 1), self.text(depth - 1)
        start, length = self.random.choice([(1, 3), (2, 100), (50, 7), (3, 0)])
        return self.random.choice(
            [
                e.Joined((one, other, one)),
                e.TextCase((self.truth(depth - 1),), (one,), other),
                e.TextCoalesce((one, other)),
                e.Substring(one, start, length),
                e.Trim(one, True, False),
            ]
        )

    def truth(self, depth: int) -> e.Boolean:
        if self.random.random() < 0.3:
            return e.Like(self.text(depth), "a%")
        return e.Compare(self.random.choice(["=", "<", "<="]), self.number(depth), self.number(depth))

    def clamp(self, depth: int) -> e.Numeric:
        ends = sorted((self.random.randrange(-50, 50), self.random.randrange(-50, 50)))
        return e.Clamp(self.number(depth), *ends)

    def steps(self, depth: int, kind: type[e.Steps]) -> e.Numeric:
        return kind(self.number(depth), (-3, 5, 19_750), (7, -9, 0, 40))

    KINDS: tuple[Callable[[Trees, int], e.Numeric], ...] = (
        *(
            (lambda self, depth, kind=kind: kind(self.number(depth), self.number(depth)))
            for kind in (e.Add, e.Subtract, e.Multiply, e.Divide, e.Modulo)
        ),
        *((lambda self, depth, kind=kind: kind(self.number(depth))) for kind in (e.Negate, e.Absolute, e.MonthStart)),
        *(
            (lambda self, depth, kind=kind: kind((self.number(depth), self.number(depth))))
            for kind in (e.Coalesce, e.Least, e.Greatest)
        ),
        *(
            (lambda self, depth, part=part: e.DatePart(part, self.number(depth)))
            for part in ("year", "month", "day", "doy", "week", "isoyear")
        ),
        *(
            (lambda self, depth, period=period: e.FirstDay(period, self.number(depth)))
            for period in ("year", "quarter", "month")
        ),
        lambda self, depth: e.AddMonths(self.number(depth), self.random.choice([-13, 1, 24])),
        lambda self, depth: e.Case((self.truth(depth),), (self.number(depth),), self.number(depth)),
        lambda self, depth: e.Rescale(value := self.number(depth), value.scale + 2),
        lambda self, depth: e.Indicator(self.truth(depth)),
        lambda self, depth: e.Length(self.text(depth)),
        lambda self, depth: self.clamp(depth),
        lambda self, depth: self.steps(depth, e.Steps),
        lambda self, depth: self.steps(depth, e.Shifted),
    )


def bindable(node: e.Expression) -> bool:
    """Whether the planner would accept all parts: none beyond the calendar, 126 bits or the length of texts."""
    try:
        return all(
            part.reach < LARGEST if isinstance(part, e.Numeric) else part.longest <= e.LONGEST
            for part in node.walk()
            if isinstance(part, (e.Numeric, e.Textual))
        )
    except OverflowError:
        return False


@pytest.mark.parametrize("part", range(6))
def test_both_find_the_same_bounds_and_rows_keep_them(bench, part):
    passed: set[type] = set()
    for seed in range(part * 300, part * 300 + 300):
        node = Trees(seed).number(1 + seed % 3)
        if not bindable(node):
            with pytest.raises(UnsafePlan):
                interval(node, bench.schema)
            continue
        assert interval(node, bench.schema) == node.bounds
        if seed % 4 == 0:
            bench.run(node)  # which asks that all values lie there, and that nothing raises
        passed |= {type(inner) for inner in node.walk()}
    assert len(passed & set(NUMBERS)) > 18


@pytest.mark.parametrize("part", range(3))
def test_both_find_the_same_lengths_and_rows_keep_them(bench, part):
    for seed in range(part * 60, part * 60 + 60):
        node = Trees(seed).text(1 + seed % 3)
        if not bindable(node):
            with pytest.raises(UnsafePlan):
                verify(node, bench.schema)
            continue
        most = longest(node, bench.schema)
        assert most == node.longest
        assert all(found is None or len(found) <= most for found in bench.run(node))


def test_a_type_narrower_than_its_value_is_refused(bench):
    class Claiming(e.Add):
        reach = 1

    node = Claiming(X, X)
    NUMBERS[Claiming] = NUMBERS[e.Add]
    try:
        with pytest.raises(UnsafePlan, match="exceed the type"):
            interval(node, bench.schema)
    finally:
        del NUMBERS[Claiming]


def test_numbers_in_the_statement_itself_fit_a_double_word(bench):
    for node in (e.Steps(X, (2**127,), (0, 1)), e.Indicator(e.Among(X, ((0, 2**127),)))):
        with pytest.raises(UnsafePlan, match="126 bits"):
            interval(node, bench.schema)
