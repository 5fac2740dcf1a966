"""Declarations: exact bounds, stored codes, round trips, and refusals that say what to write instead."""

from __future__ import annotations

import datetime
from decimal import Decimal, localcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import DitherError, ParameterError, PolicyError
from dither.policy.columns import Bool, Category, Coded, Column, Date, Fixed, Int, Text, Timestamp, column_from

EXAMPLES: list[Column] = [
    Int(-5, 120),
    Int(0, 9, nullable=False, default=3),
    Fixed("-0.5", 100, decimals=3),
    Fixed(0, 10, decimals=0, nullable=False, default="7"),
    Bool(),
    Bool(nullable=False, default=True),
    Date("1999-12-31", datetime.date(2024, 2, 29)),
    Timestamp("2020-01-01", "2020-01-02T03:04:05.000006+02:00"),
    Category(["north", "south", "zürich"]),
    Category(["a"], nullable=False, default="a"),
    Text(),
    Text(max_length=5, nullable=False, default="?"),
]


@pytest.mark.parametrize("column", EXAMPLES, ids=str)
def test_declarations_survive_json(column: Column) -> None:
    assert column_from(column.declaration()) == column


@pytest.mark.parametrize("column", [c for c in EXAMPLES if isinstance(c, Coded)], ids=str)
def test_codes_round_trip_at_both_ends(column: Coded) -> None:
    for code in (column.low, column.high):
        assert column.encode(column.decode(code)) == code


@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_fixed_point_is_exact(units: int, decimals: int) -> None:
    column = Fixed(-(10**6), 10**6, decimals=decimals)
    assert column.encode(Decimal(units).scaleb(-decimals)) == units
    assert column.decode(units) == Decimal(units).scaleb(-decimals)


def test_storage_units() -> None:
    assert (Date("1970-01-02", "1970-01-03").low, Date("1969-12-31", "1970-01-03").low) == (1, -1)
    assert Timestamp("1970-01-01T00:00:00", "1970-01-01T01:00:01+01:00").high == 1_000_000
    assert Fixed(0, 100).high == 10_000


def test_key_counts_include_null_only_where_declared() -> None:
    assert Category(["a", "b"]).key_count == 3
    assert Category(["a", "b"], nullable=False, default="a").key_count == 2
    assert Int(0, 9).key_count == 11
    assert Bool(nullable=False, default=False).key_count == 2
    assert Date("2020-01-01", "2020-01-31").key_count == 32
    assert Text().key_count is None
    assert Fixed(0, 1).key_count is None


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Int(5, 1), "the lower bound 5 is above the upper bound 1; exchange them"),
        (lambda: Int(True, 5), "whole number"),
        (lambda: Int(0, 2**70), "between"),
        (lambda: Int("0", 5), "whole number"),  # type: ignore[arg-type]
        (lambda: Fixed("0.001", 1, decimals=2), "multiple"),
        (lambda: Fixed(0, float("nan")), "finite"),
        (lambda: Fixed(0, float("inf")), "finite"),
        (lambda: Fixed(0, 10**18, decimals=6), "62 bits"),
        (lambda: Date("2020-13-01", "2021-01-01"), "written like"),
        (lambda: Date("2021-01-01", "2020-01-01"), "lower bound 2021-01-01 is after the upper bound 2020-01-01"),
        (lambda: Timestamp("yesterday", "2020-01-01"), "written like"),
        (lambda: Category("north"), "list of labels"),  # type: ignore[arg-type]
        (lambda: Category([]), "between 1"),
        (lambda: Category(["a", "a"]), "differ"),
        (lambda: Category([1, 2]), "must be text"),  # type: ignore[list-item]
        (lambda: Int(0, 1, nullable=False), "needs default="),
        (lambda: Int(0, 1, default=1), "nullable=False"),
        (lambda: Int(0, 1, nullable=False, default=7), "outside"),
        (lambda: Category(["a"], nullable=False, default="b"), "not one of"),
        (lambda: Bool(nullable=False, default=1), "True or False"),
        (lambda: Text(max_length=2, nullable=False, default="long"), "at most 2"),
        (lambda: column_from({"kind": "float"}), "known are"),
        (lambda: column_from({"kind": "int", "lowest": 3}), "unexpected"),
    ],
)
def test_refusals_say_what_is_allowed(make: object, says: str) -> None:
    with pytest.raises(DitherError, match=says) as caught:
        make()  # type: ignore[operator]
    assert isinstance(caught.value, ParameterError | PolicyError)


def test_category_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("north\nsouth\n\n", encoding="utf-8")
    assert Category.read(path).values == ("north", "south")


def test_the_callers_decimal_context_does_not_round_bounds() -> None:
    with localcontext(prec=5):
        assert Fixed(0, "1234.5678", decimals=4).high == 12345678
