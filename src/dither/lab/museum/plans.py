"""Query plans whose bound per owner is lost on the way to the aggregate. The guard recomputes it from the plan."""

from __future__ import annotations

import numpy as np

from dither.lab.museum.exhibit import Finding, Reckoning
from dither.policy.catalog import Table
from dither.policy.columns import Int
from dither.sql import expressions as e
from dither.sql.expressions.evaluator import Values, evaluate
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.plan.nodes import (
    Aggregate,
    CountRows,
    JoinOwner,
    Key,
    OwnerAggregate,
    OwnerLimit,
    Retruncate,
    Scan,
    SumRows,
    Total,
)

ROWS = 4
COLUMNS = {"amount": Int(-100, 100), "ward": Int(0, 3, nullable=False, default=0)}
VISITS = Table("visits", "patients", "patient", ROWS, COLUMNS)
AMOUNT = e.Stored("amount", -100, 100, 0, True)


def _scan(prefix: str = "") -> Scan:
    return Scan(VISITS, tuple((name, prefix + name) for name in COLUMNS))


def _proven(plan: Aggregate) -> float:
    """The L1 sensitivity that the guard proves; nothing can be claimed of a plan that it refuses."""
    try:
        return float(check((plan,))[0][0].l1)
    except UnsafePlan:
        return 0.0


def _sum_of_owner(value: e.Numeric) -> int:
    """What one owner adds to the sum who has as many rows as allowed, all of 100."""
    amounts = Values(np.full(ROWS, 100), np.zeros(ROWS, dtype=bool))
    return int(evaluate(value, {"amount": amounts}).of.sum())


def clamp_before_the_expression() -> Finding:
    value = e.Multiply(e.Clamp(AMOUNT, 0, 1), e.Constant(10**6))
    refused = _proven(Aggregate(OwnerLimit(_scan(), ROWS), (), (SumRows(value),))) == 0
    return Finding(claimed=ROWS * 1, found=_sum_of_owner(value) if refused else 0)


def clamp_after_the_expression() -> Finding:
    value = e.Clamp(e.Multiply(AMOUNT, e.Constant(10**6)), 0, 5_000_000)
    proven = _proven(Aggregate(OwnerLimit(_scan(), ROWS), (), (SumRows(value),)))
    return Finding(claimed=proven, found=_sum_of_owner(value))


def _rows_of_owner_after_the_join() -> int:
    return len([(one, other) for one in range(ROWS) for other in range(ROWS)])


def bound_from_before_the_join() -> Finding:
    alone = Aggregate(OwnerLimit(_scan(), ROWS), (), (CountRows(),))
    return Finding(claimed=_proven(alone), found=_rows_of_owner_after_the_join())


def bound_from_after_the_join() -> Finding:
    joined = JoinOwner(OwnerLimit(_scan("one_"), ROWS), OwnerLimit(_scan("other_"), ROWS))
    proven = _proven(Aggregate(joined, (), (CountRows(),)))
    return Finding(claimed=proven, found=_rows_of_owner_after_the_join())


# Each owner's total per ward, clamped to 9, in at most three wards: added up by ward, then all in one group.
_PER_WARD = Retruncate(
    OwnerAggregate(
        OwnerLimit(_scan(), ROWS),
        (("w", e.Stored("ward", 0, 3, 0, False)),),
        (("x", Total("sum", AMOUNT, None, -9, 9, True)),),
    ),
    3,
)
_TOTAL = SumRows(e.Stored("x", -9, 9, 0, True))
_WARD = Key(e.Stored("w", 0, 3, 0, False), True, 0, 3, False)
_REGROUPED = Key(e.Clamp(e.Multiply(_WARD.code, e.Constant(0)), 0, 0), True, 0, 0, False)  # type: ignore[arg-type]


def _proven_in_a_group(plan: Aggregate) -> float:
    return float(check((plan,))[0][0].linf)


def _total_of_owner_in_one_group() -> int:
    amounts = {0: 100, 1: 50, 2: 9}  # by ward
    return sum(min(9, amount) for amount in amounts.values())


def bound_from_before_the_regrouping() -> Finding:
    proven = _proven_in_a_group(Aggregate(_PER_WARD, (_WARD,), (_TOTAL,)))
    return Finding(claimed=proven, found=_total_of_owner_in_one_group())


def bound_from_after_the_regrouping() -> Finding:
    proven = _proven_in_a_group(Aggregate(_PER_WARD, (_REGROUPED,), (_TOTAL,)))
    return Finding(claimed=proven, found=_total_of_owner_in_one_group())


EXHIBITS = (
    Reckoning(
        "a clamp before the expression",
        "The column was clamped when it was read and multiplied afterwards: SUM(clamp(amount, 0, 1) * 1000000). "
        "The clamp must be the last operation before the sum. dither's guard refuses the plan.",
        "written for the museum; threat 7 of docs/evidence/threats.md",
        "what one owner adds",
        clamp_before_the_expression,
        clamp_after_the_expression,
    ),
    Reckoning(
        "join fan-out",
        "At most four rows of an owner were let in, and then joined with the owner's other rows: sixteen come out.",
        "written for the museum; threat 8 of docs/evidence/threats.md",
        "what one owner adds",
        bound_from_before_the_join,
        bound_from_after_the_join,
    ),
    Reckoning(
        "a bound lost by regrouping",
        "Totals were bounded to 9 for each ward of an owner, and then grouped by ward * 0: all three of an "
        "owner's totals meet in one group.",
        "written for the museum; threat 9 of docs/evidence/threats.md",
        "what one owner adds to a group",
        bound_from_before_the_regrouping,
        bound_from_after_the_regrouping,
    ),
)
