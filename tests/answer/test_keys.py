"""Dense keys: the order the engine fills (row-major, ascending, NULL last), checked against a plain loop."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.answer import Answer, Value, dense_keys
from dither.answer.keys import sparse_keys
from dither.errors import PolicyError
from dither.policy.columns import Bool, Category, Coded, Column, Date, Fixed, Int, Text, Timestamp
from dither.policy.columns.key_domains import Listed, Periods, Unlisted

COLUMNS = st.sampled_from(
    [
        Int(-2, 3),
        Int(7, 9, nullable=False, default=7),
        Bool(),
        Bool(nullable=False, default=True),
        Date("1969-12-30", "1970-01-02"),
        Category(["b", "a"]),
        Category(["x"], nullable=False, default="x"),
        Listed(range(-30, 31, 10)),
        Listed((100, 5, -7), nullable=False),
        Listed((150, -1), shown_decimals=2),
        Listed((86_400_000_000, -1), "timestamp"),
        Listed((0, 19782), "date"),
        Periods("year", -171, -168),
        Periods("quarter", -2, 1),
        Periods("month", -14, -10, nullable=False),
        Periods("week", -1, 2),
        Periods("day", -1, 1, "timestamp"),
        Periods("month", 648, 650, "local"),
        Periods("hour", -2, 2, "timestamp"),
        Periods("minute", -2, 2, "local"),
    ]
)


@settings(deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=3))
def test_keys_are_every_combination_in_dense_order(columns: list[Coded]) -> None:
    shown = [
        [column.decode(code) for code in range(column.low, column.high + 1)] + [None] * column.nullable
        for column in columns
    ]
    keys = dense_keys([(f"k{place}", column) for place, column in enumerate(columns)])
    rows = list(zip(*(key.values.to_pylist() for key in keys), strict=True))
    assert rows == list(itertools.product(*shown))
    assert [key.name for key in keys] == [f"k{place}" for place in range(len(columns))]


@pytest.mark.parametrize("count", [127, 128, 129, 2**15 - 1, 2**15, 2**15 + 1])
@pytest.mark.parametrize("nullable", [True, False])
def test_labels_keep_their_place_where_the_index_type_grows(count: int, nullable: bool) -> None:
    labels = [f"label {number}" for number in range(count)]
    (key,) = dense_keys([("k", Category(labels, nullable=nullable, default=None if nullable else labels[0]))])
    assert key.values.to_pylist() == labels + [None] * nullable


def test_no_keys_make_no_columns() -> None:
    assert dense_keys([]) == ()


@pytest.mark.parametrize("column", [Fixed(0, 1), Timestamp("2020-01-01", "2020-01-02")])
def test_a_column_without_public_values_is_refused(column: Coded) -> None:
    with pytest.raises(PolicyError, match="no public list"):
        dense_keys([("k", column)])


INSTANT = datetime.datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=datetime.UTC)
SPARSE: list[tuple[Column, list[object], pa.DataType, list[object]]] = [
    (Text(), ["b", None, "", "😀"], pa.string(), ["b", None, "", "😀"]),
    (Int(-5, 5), [-5, None, 5], pa.int64(), [-5, None, 5]),
    (Bool(), [1, 0, None], pa.bool_(), [True, False, None]),
    (Fixed(-1, 1, decimals=2), [-100, None, 7], pa.decimal128(38, 2), [Decimal("-1.00"), None, Decimal("0.07")]),
    (
        Date("1960-01-01", "2030-12-31"),
        [-1, 19782],
        pa.date32(),
        [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)],
    ),
    (
        Timestamp("1960-01-01", "2030-12-31"),
        [1709209800000001, None],
        pa.timestamp("us", tz="UTC"),
        [INSTANT, None],
    ),
    (Category(["n", "s"]), [1, None, 0], pa.dictionary(pa.int8(), pa.string()), ["s", None, "n"]),
    (
        Unlisted(-(2**62), 2**62, shown_decimals=6),
        [-1, 2**62],
        pa.decimal128(38, 6),
        [Decimal("-0.000001"), Decimal("4611686018427.387904")],
    ),
    (Unlisted(0, 2**51, "local"), [1709209800000001], pa.timestamp("us"), [INSTANT.replace(tzinfo=None)]),
    (Listed(range(0, 10**9, 10)), [3, None], pa.int64(), [30, None]),
    (Int(0, 1), [], pa.int64(), []),
]


@pytest.mark.parametrize(("column", "codes", "type_", "values"), SPARSE)
def test_selected_keys_are_decoded_all_at_once(
    column: Column, codes: list[object], type_: pa.DataType, values: list[object]
) -> None:
    (key,) = sparse_keys([("k", column)], [codes])
    assert key.values.type == type_
    assert key.values.to_pylist() == values
    key.values.validate(full=True)


@pytest.mark.parametrize("column", [Int(0, 5), Category(["a"]), Listed((1, 2)), Periods("day", 0, 1)])
def test_a_selected_key_outside_its_declaration_is_refused(column: Coded) -> None:
    for code in (-1, column.high + 1):
        with pytest.raises(PolicyError, match="outside its declared values"):
            sparse_keys([("k", column)], [[0, code]])


@pytest.mark.parametrize(("column", "codes", "type_", "values"), SPARSE)
def test_answers_with_any_key_are_shown_and_stored(
    column: Column, codes: list[object], type_: pa.DataType, values: list[object]
) -> None:
    keys = sparse_keys([("k", column)], [codes])
    answer = Answer((*keys, Value("n", np.arange(len(codes)))), {}, "", Fraction("0.95"))
    assert str(answer)
    assert answer.to_arrow().column("k").to_pylist() == values
    assert len(answer.to_pandas()) == len(codes)
