"""Intervals hold the exact number whatever was left out or clamped, whenever the noise is within its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dither.sql.expressions import Clamp, Stored
from dither.sql.plan.aggregates import Average, Count, CountDistinctOwner, Sum, Variance, means
from dither.sql.plan.aggregates.aggregator import Aggregator
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.measures import left_out_words
from dither.sql.postprocess.formulas import Estimate, arithmetic
from dither.sql.postprocess.formulas.terms import FUNCTIONS, Apply, Part
from dither.sql.postprocess.measure_errors import MeasureError

X = Stored("x", -3, 9, 0, False)
READ = ([0, 0, 1], [-3, 9], [-3, -3, -2, 9, 9, 9], [4] * 7, [9] * 5)
DROPPED = ([], [-3], [9], [9, 9, 9], [-3, -3, -3], [-3, 9], [0, 1, 2])
MOST = 3  # rows that may have been left out
NOISE = (0, 2, -2)  # of a sum
FEW = (0, 1, -1)  # of a count

Case = tuple[list[int], list[int]]


def each_case() -> list[Case]:
    return [(read, dropped) for read in READ for dropped in DROPPED]


def holds(column: Any, truth: Fraction | float) -> bool:
    slack = 1e-12 * max(1.0, abs(float(truth)))
    return bool(column.lower[0] <= float(truth) + slack and float(truth) - slack <= column.upper[0])


def error(noise: int, rows: tuple[int, int] = (0, 0), clamped: tuple[int, int] = (0, 0)) -> MeasureError:
    return MeasureError(Fraction(noise), rows, clamped)


ROWS = error(1, (0, MOST))


def check_average(clamp: tuple[int, int] | None = None) -> None:
    """Of all rows, from noisy sums and counts of those that were read, which may have been clamped."""
    value = X if clamp is None else Clamp(X, *clamp)
    average = Average(value, declared=None if clamp is None else X.bounds)
    for read, dropped in each_case():
        inside = [min(max(x, clamp[0]), clamp[1]) for x in read] if clamp else read
        moved = sum(read) - sum(inside)
        ends = (-6 if clamp else 0, 12 if clamp else 0)
        if not ends[0] <= moved <= ends[1]:
            continue
        errors = [error(2, (-99, 99), ends), ROWS]
        truth = Fraction(sum(read) + sum(dropped), len(read) + len(dropped))
        for of_sum, of_count in product(NOISE, FEW):
            total = sum(x - average.middle for x in inside) + of_sum
            column = average.finish([np.array([total]), np.array([len(read) + of_count])], errors)
            assert holds(column, truth), (read, dropped, of_sum, of_count)


def check_variance() -> None:
    for sample, root in product((False, True), (False, True)):
        variance = Variance(X, sample, root)
        for read, dropped in each_case():
            values = [*read, *dropped]
            mean = Fraction(sum(values), len(values))
            found = sum((x - mean) ** 2 for x in values) / (len(values) - sample) if len(values) > 1 else Fraction(0)
            truth = math.sqrt(found) if root else found
            distances = [x - variance.middle for x in read]
            for first, second, third in product(NOISE, NOISE, FEW):
                noisy = [sum(distances) + first, sum(d * d for d in distances) + second, len(read) + third]
                column = variance.finish([np.array([number]) for number in noisy], [error(2), error(2), ROWS])
                assert holds(column, truth), (read, dropped, first, second, third)


def check_formula() -> None:
    """SUM(x) * SUM(x): a square, whose least is inside; SUM(x) / COUNT(*): a quotient."""
    by_row = error(2, (-3 * MOST, 9 * MOST))
    square = Formula(Apply("multiply", (Part(0), Part(0))), (Sum(X),))
    ratio = Formula(Apply("divide", (Part(0), Part(1))), (Sum(X), Count()))
    for read, dropped in each_case():
        total, count = sum(read) + sum(dropped), len(read) + len(dropped)
        for of_sum, of_count in product(NOISE, FEW):
            noisy = [np.array([sum(read) + of_sum]), np.array([len(read) + of_count])]
            assert holds(square.finish(noisy[:1], [by_row]), total**2)
            assert holds(ratio.finish(noisy, [by_row, ROWS]), Fraction(total, count))


def check_sums() -> None:
    for read, dropped in each_case():
        truth = sum(read) + sum(dropped)
        for aggregate in (Sum(X), CentredSum(X)):
            for of_sum, of_count in product(NOISE, FEW):
                if isinstance(aggregate, Sum):
                    errors, noisy = [error(2, (-3 * MOST, 9 * MOST))], [sum(read) + of_sum]
                else:
                    errors = [error(2), ROWS]
                    noisy = [sum(x - aggregate.middle for x in read) + of_sum, len(read) + of_count]
                column = aggregate.finish([np.array([number]) for number in noisy], errors)
                assert holds(column, truth), (read, dropped, of_sum, of_count)


CHECKS: list[Callable[[], None]] = [check_average, check_variance, check_formula, check_sums]


@pytest.mark.parametrize("check", CHECKS)
def test_every_small_case_is_covered(check: Callable[[], None]) -> None:
    check()


def test_clamped_values_are_covered() -> None:
    check_average((-1, 5))


@pytest.mark.parametrize("check", [check_average, check_variance])
def test_planted_bug_rows_left_out_are_ignored(check: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    original = means._end
    none = MeasureError(Fraction(1))
    monkeypatch.setattr(means, "_end", lambda *given: original(*given[:4], none, given[5]))
    with pytest.raises(AssertionError):
        check()


def test_planted_bug_clamps_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    original = means._end
    monkeypatch.setattr(means, "_end", lambda *given: original(*given[:3], MeasureError(given[3].noise), *given[4:]))
    with pytest.raises(AssertionError):
        check_average((-1, 5))


def test_planted_bug_corners_of_a_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The square of the mean at the ends of the mean alone: its least, in between, is forgotten."""
    where = np.where
    monkeypatch.setattr(
        np, "where", lambda condition, a, b: b if isinstance(a, float) and a == 0.0 else where(condition, a, b)
    )
    with pytest.raises(AssertionError):
        check_variance()


def test_planted_bug_corners_of_a_square(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_the_corners(left: Estimate, right: Estimate) -> Estimate:
        ends = left.lower * right.lower, left.upper * right.upper
        return replace(arithmetic.multiply(left, right), lower=np.minimum(*ends), upper=np.maximum(*ends))

    monkeypatch.setitem(FUNCTIONS, "multiply", at_the_corners)
    with pytest.raises(AssertionError):
        check_formula()


def test_an_average_is_joint_over_the_rows_left_out() -> None:
    """10,000 rows of mean 40, up to 500 more between 0 and 120: not what numerator and denominator allow apart."""
    age = Stored("age", 0, 120, 0, False)
    average = Average(age)
    noisy = [np.array([10_000 * (40 - average.middle)]), np.array([10_000])]
    column = average.finish(noisy, [error(0), error(0, (0, 500))])
    assert column.lower[0] == pytest.approx(400_000 / 10_500)
    assert column.upper[0] == pytest.approx(460_000 / 10_500)
    assert (round(column.lower[0], 1), round(column.upper[0], 1)) == (38.1, 43.8)
    assert 460_000 / 10_000 == 46.0


def test_one_side_is_longer_where_rows_may_be_missing() -> None:
    for aggregate in (Count(), CountDistinctOwner(), Sum(Stored("x", 0, 9, 0, False))):
        column = aggregate.finish([np.array([50, -4])], [error(7, (0, 30))])
        assert column.half_width is None
        assert (column.lower.tolist(), column.upper.tolist()) == ([43, -11], [87, 33])
        assert aggregate.finish([np.array([50])], [error(7)]).half_width == 7


def test_an_open_side_is_infinite_and_an_average_then_knows_nothing() -> None:
    open_above = MeasureError(Fraction(7), (0, None))
    column = Count().finish([np.array([50])], [open_above])
    assert (column.lower.tolist(), column.upper.tolist()) == ([43], [math.inf])
    share = Formula(Apply("divide", (Part(0), Part(0))), (Count(),)).finish([np.array([50])], [open_above])
    assert share.upper[0] == math.inf
    nothing = Average(X).finish([np.array([5]), np.array([50])], [error(1), open_above])
    assert (nothing.lower.tolist(), nothing.upper.tolist()) == ([-3], [9])
    centred = CentredSum(Stored("y", 0, 10, 0, False)).finish([np.array([5]), np.array([50])], [error(1), open_above])
    assert (centred.lower.tolist(), centred.upper.tolist()) == ([219], [math.inf])


def test_what_was_left_out_is_said() -> None:
    def said(aggregate: Aggregator, *errors: MeasureError) -> str:
        return left_out_words(aggregate.losses(errors))

    price = Stored("price", 0, 10_000, 2, False)
    assert said(Count(), error(1)) == ""
    assert said(Count(), error(1, (0, 4500))) == "up to 4,500 rows left out"
    assert said(Count(), MeasureError(Fraction(1), (0, None))) == "any number of rows left out"
    assert said(CountDistinctOwner(), error(1, (0, 1))) == "up to 1 owner left out"
    assert said(Sum(price), error(1, (0, 123456))) == "up to 1234.56 left out"
    assert said(Sum(X), error(1, (-3000, 9000))) == "from -3,000 to 9,000 left out"
    assert said(Average(X), error(1, (-9, 9)), error(1, (0, 2))) == "up to 2 rows left out"
    assert said(Average(X), error(1, (-9, 9), (0, 4)), error(1, (0, 2))) == "up to 4 left out, up to 2 rows left out"
    ratio = Formula(Apply("divide", (Part(0), Part(1))), (Count(), Average(X)))
    assert said(ratio, error(1, (0, 2)), error(1)) == "up to 2 rows left out"
