"""Results become dense arrays only if they are exactly what the statement declared."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dither.engines.protocol import EngineError
from dither.engines.result import dense, sealed
from dither.mechanisms.sealed_values import _unseal
from dither.sql.expressions import Stored
from dither.sql.lowering.statement import Statement
from dither.sql.plan.nodes import Key

COLOUR, SIZE = (
    Key(Stored("colour", 0, 2, 0, True), True, 0, 2, True),
    Key(Stored("size", -1, 1, 0, False), True, -1, 1, False),
)


def table(*columns: pa.Array) -> pa.Table:
    return pa.table(list(columns), names=[f"c{k}" for k in range(len(columns))])


def test_groups_in_row_major_order_with_null_last() -> None:
    result = table(
        pa.array([None, 2, 0, None], pa.int8()),
        pa.array([1, -1, 0, -1], pa.int16()),
        pa.array([10, 20, 30, 40], pa.int64()),
    )
    (counts,) = dense(result, (COLOUR, SIZE), 1)
    assert counts.dtype == np.int64
    assert counts.tolist() == [0, 30, 0, 0, 0, 0, 20, 0, 0, 40, 0, 10]


def test_wide_sums_are_exact() -> None:
    values = [2**126, -(2**126), 2**64 - 1, -1, 0]
    wide = pa.array([Decimal(value) for value in values], pa.decimal128(38, 0))
    key = Key(Stored("k", 0, 5, 0, False), True, 0, 5, False)
    (sums,) = dense(table(pa.array([0, 1, 2, 3, 5], pa.int8()), wide), (key,), 1)
    assert sums.tolist() == [2**126, -(2**126), 2**64 - 1, -1, 0, 0]
    assert all(isinstance(value, int) for value in sums.tolist())
    small = pa.array([Decimal(value) for value in (2**63 - 1, -(2**63), -1)], pa.decimal128(38, 0))
    (sums,) = dense(table(pa.array([0, 1, 2], pa.int8()), small), (key,), 1)
    assert sums.dtype == np.int64
    assert sums.tolist() == [2**63 - 1, -(2**63), -1, 0, 0, 0]


def test_keys_that_were_computed_in_double_words() -> None:
    codes = pa.array([None, Decimal(2)], pa.decimal128(38, 0))
    (counts,) = dense(table(codes, pa.array([5, 6], pa.int64())), (COLOUR,), 1)
    assert counts.tolist() == [0, 0, 6, 5]
    private = Statement((), "", (Key(Stored("big", 0, 2, 0, True), False),), 1)
    (groups,) = sealed(table(codes, pa.array([5, 6], pa.int64())), private)
    assert _unseal(groups).keys[0].to_pylist() == [None, 2], "whole numbers, as an answer stores them"


def test_groups_that_a_clamp_moved_together_are_added_up():
    codes, wide = pa.array([1, None, 1], pa.int8()), pa.array([2**70, 1, 5], pa.decimal128(38, 0))
    for measure, expected in ((pa.array([1, 2, 4]), [0, 5, 0, 2]), (wide, [0, 2**70 + 5, 0, 1])):
        (counts,) = dense(table(codes, measure), (COLOUR,), 1)
        assert counts.tolist() == expected


ONE = pa.array([7], pa.int64())


@pytest.mark.parametrize(
    ("result", "keys", "measures"),
    [
        (table(pa.array([7.0])), (), 1),
        (table(pa.array([7], pa.int32())), (), 1),
        (table(pa.array([7], pa.uint64())), (), 1),
        (table(pa.array(["7"])), (), 1),
        (table(pa.array([Decimal("7.00")], pa.decimal128(38, 2))), (), 1),
        (table(pa.array([None], pa.int64())), (), 1),
        (table(pa.array([1, 2])), (), 1),
        (table(pa.array([], pa.int64())), (), 1),
        (table(ONE, ONE), (), 1),
        (table(ONE), (), 2),
        (table(pa.array([3], pa.int8()), ONE), (COLOUR,), 1),
        (table(pa.array([-1], pa.int8()), ONE), (COLOUR,), 1),
        (table(pa.array([None], pa.int8()), ONE), (SIZE,), 1),
        (table(pa.array([0.0]), ONE), (COLOUR,), 1),
    ],
)
def test_anything_unexpected_is_refused(result: Any, keys: tuple[Key, ...], measures: int) -> None:
    with pytest.raises(EngineError):
        dense(result, keys, measures)
