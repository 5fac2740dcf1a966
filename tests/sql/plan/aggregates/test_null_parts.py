"""Aggregates that SQL makes NULL over too few rows: inside a formula the interval holds what comes of that too."""

from __future__ import annotations

from fractions import Fraction
from statistics import pstdev, pvariance, stdev, variance
from typing import Any

import numpy as np
import pytest

from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Aggregator, Average
from dither.sql.plan.aggregates.chosen_value import ChosenMode, ChosenQuantile
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.aggregates.variance import Variance
from dither.sql.postprocess.formulas.terms import Apply, Choice, Compare, IsNull, Number, Part, Term
from dither.sql.postprocess.measure_errors import MeasureError

X = Stored("x", 18, 65, 0, True)
ROWS = ([], [30], [18, 65], [20, 30, 40, 50])
NOISE = 2
PARTS: dict[str, tuple[Aggregator, int, Any]] = {  # with how many rows it takes, and what it is then
    "average": (Average(X), 1, lambda rows: sum(rows) / len(rows)),
    "variance": (Variance(X, sample=True, root=False), 2, variance),
    "deviation": (Variance(X, sample=True, root=True), 2, stdev),
    "variance of all": (Variance(X, sample=False, root=False), 1, pvariance),
    "deviation of all": (Variance(X, sample=False, root=True), 1, pstdev),
    "median": (ChosenQuantile(X, 1, 2), 1, lambda rows: sorted(rows)[len(rows) // 2]),
    "mode": (ChosenMode(X), 1, lambda rows: rows[0]),
}
FORMS: dict[str, tuple[Term, Any]] = {
    "coalesce": (Apply("coalesce", (Part(0), Number(-7))), lambda exact: -7 if exact is None else exact),
    "null": (Choice((IsNull(Part(0)),), (Number(0),), Number(1)), lambda exact: int(exact is not None)),
    "compared": (
        Choice((Compare(">=", Part(0), Number(0)),), (Number(1),), Number(0)),
        lambda exact: int(exact is not None),
    ),
    "greatest": (Apply("greatest", (Part(0), Number(-7))), lambda exact: -7 if exact is None else exact),
}


def check_parts(part: str, form: str) -> None:
    """With any noise within its bounds, on any of the few rows."""
    (aggregate, fewest, computed), (term, result) = PARTS[part], FORMS[form]
    for rows in ROWS:
        exact = computed(rows) if len(rows) >= fewest else None
        measures = _measures(aggregate, rows)
        for noise in range(-NOISE, NOISE + 1):
            noisy = [np.array([value + noise]) for value in measures]
            errors = [MeasureError(Fraction(NOISE)) for _ in measures]
            column = Formula(term, (aggregate,)).finish(noisy, errors)
            assert column.lower is not None
            assert column.upper is not None
            assert column.lower[0] <= result(exact) <= column.upper[0], f"missed: {rows}"


def _measures(aggregate: Aggregator, rows: list[int]) -> list[int]:
    if isinstance(aggregate, (Average, Variance)):
        distances = [value - aggregate.middle for value in rows]
        squares = [distance**2 for distance in distances]
        return [sum(distances), *([sum(squares)] if isinstance(aggregate, Variance) else []), len(rows)]
    return [rows[0] if rows else 40]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", PARTS)
def test_the_interval_holds_what_comes_of_null(part: str, form: str) -> None:
    check_parts(part, form)


@pytest.mark.parametrize("part", [name for name in PARTS if name not in ("median", "mode")])
def test_planted_bug_parts_that_are_never_null(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = type(PARTS[part][0]).finish

    def never_null(self: Any, *given: Any) -> Any:
        column = finish(self, *given)
        object.__setattr__(column, "maybe_null", None)
        return column

    monkeypatch.setattr(type(PARTS[part][0]), "finish", never_null)
    for form in FORMS:
        with pytest.raises(AssertionError, match="missed: "):
            check_parts(part, form)
