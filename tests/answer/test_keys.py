"""Dense keys: the order the engine fills (row-major, ascending, NULL last), checked against a plain loop."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.answer import dense_keys
from dither.columns import Bool, Category, Coded, Date, Fixed, Int, Timestamp
from dither.errors import PolicyError

COLUMNS = st.sampled_from(
    [
        Int(-2, 3),
        Int(7, 9, nullable=False, default=7),
        Bool(),
        Bool(nullable=False, default=True),
        Date("1969-12-30", "1970-01-02"),
        Category(["b", "a"]),
        Category(["x"], nullable=False, default="x"),
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
