"""Rounding, buckets, casts and choices equal exact decimal arithmetic in Python on every row."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest

from dither.errors import UnsupportedQuery


def amount(value: int | None, scale: int = 2) -> Decimal | None:
    return None if value is None else Decimal(value).scaleb(-scale)


def rounded(value: Decimal, decimals: int, how: str = ROUND_HALF_UP) -> Decimal:
    return (
        value.quantize(Decimal(1).scaleb(-decimals), how)
        if decimals >= 0
        else (value.scaleb(decimals).quantize(Decimal(1), how).scaleb(-decimals))
    )


FUNCTIONS: dict[str, tuple[Callable[[Decimal], Any], int]] = {
    "FLOOR(money)": (math.floor, 0),
    "CEIL(money)": (math.ceil, 0),
    "CEILING(money)": (math.ceil, 0),
    "ROUND(money)": (lambda v: rounded(v, 0), 0),
    "ROUND(money, 0)": (lambda v: rounded(v, 0), 0),
    "ROUND(money, 1)": (lambda v: rounded(v, 1), 1),
    "ROUND(money, 2)": (lambda v: v, 2),
    "ROUND(money, 5)": (lambda v: v, 2),
    "ROUND(money, -1)": (lambda v: rounded(v, -1), 0),
    "ROUND(money, -2)": (lambda v: rounded(v, -2), 0),
    "TRUNC(money)": (lambda v: rounded(v, 0, ROUND_DOWN), 0),
    "TRUNC(money, 1)": (lambda v: rounded(v, 1, ROUND_DOWN), 1),
    "TRUNC(money, -1)": (lambda v: rounded(v, -1, ROUND_DOWN), 0),
    "SIGN(money)": (lambda v: (v > 0) - (v < 0), 0),
    "ABS(money)": (abs, 2),
    "CAST(money AS INTEGER)": (lambda v: rounded(v, 0), 0),
    "money::smallint": (lambda v: rounded(v, 0), 0),
    "CAST(money AS BIGINT)": (lambda v: rounded(v, 0), 0),
    "CAST(money AS NUMERIC(10, 1))": (lambda v: rounded(v, 1), 1),
    "money::numeric(6,3)": (lambda v: v, 3),
    "CAST(money AS NUMERIC)": (lambda v: v, 2),
    "CAST(money AS DECIMAL(5))": (lambda v: rounded(v, 0), 0),
    "MOD(money, 7)": (lambda v: v - 7 * int(v / 7), 2),
    "WIDTH_BUCKET(money, -10, 10, 4)": (lambda v: min(max(math.floor((v + 10) / 5), -1), 4) + 1, 0),
    "WIDTH_BUCKET(money, 0.5, 1.25, 3)": (
        lambda v: min(max(math.floor((Fraction(v) - Fraction(1, 2)) * 4), -1), 3) + 1,
        0,
    ),
    "FLOOR(money / 10) * 10": (lambda v: math.floor(v / 10) * 10, 0),
    "FLOOR(- money)": (lambda v: math.floor(-v), 0),
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_decimals(bench, text):
    function, scale = FUNCTIONS[text]
    node = bench.bind(text).node
    assert node.scale == scale
    values = [amount(row["money"]) for row in bench.rows]
    wanted = [None if value is None else Fraction(function(value)) * 10**scale for value in values]
    assert bench.run(node) == wanted


WHOLE: dict[str, Callable[[int], Any]] = {
    "FLOOR(x)": lambda v: v,
    "ROUND(x)": lambda v: v,
    "ROUND(x, -1)": lambda v: rounded(Decimal(v), -1),
    "ROUND(x, -3)": lambda v: 0,
    "TRUNC(x, -1)": lambda v: rounded(Decimal(v), -1, ROUND_DOWN),
    "SIGN(x)": lambda v: (v > 0) - (v < 0),
    "MOD(x, 7)": lambda v: int(math.fmod(v, 7)),
    "WIDTH_BUCKET(x, -50, 50, 10)": lambda v: min(max((v + 50) // 10, -1), 10) + 1,
    "WIDTH_BUCKET(x, 0, 7, 3)": lambda v: min(max(v * 3 // 7, -1), 3) + 1,
    "x::numeric(4, 1)": lambda v: v * 10,
    "CAST(x > 5 AS INTEGER)": lambda v: int(v > 5),
    "GREATEST(x, 0, NULL)": lambda v: max(v, 0),
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole_numbers(bench, text):
    values = [row["x"] for row in bench.rows]
    wanted = [None if v is None else WHOLE[text](v) for v in values]
    if "NULL" in text:
        wanted = [0 if v is None else value for v, value in zip(values, wanted, strict=True)]
    assert bench.values(text) == wanted


def test_booleans_are_values(bench):
    truths = [None if row["sick"] is None else bool(row["sick"]) for row in bench.rows]
    numbers = [None if row["x"] is None else row["x"] for row in bench.rows]
    assert bench.values("CAST(sick AS INTEGER)") == truths
    assert bench.values("CAST(x AS BOOLEAN)") == [None if v is None else v != 0 for v in numbers]
    assert bench.values("COALESCE(sick, FALSE)") == [bool(t) for t in truths]
    assert bench.values("CASE WHEN n > 2 THEN sick ELSE x > 0 END") == [
        t if row["n"] > 2 else (None if v is None else v > 0)
        for row, t, v in zip(bench.rows, truths, numbers, strict=True)
    ]
    signs = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, ">=": operator.ge}
    for sign, holds in signs.items():
        assert bench.values(f"sick {sign} (x > 0)") == [
            None if None in (t, v) else holds(t, v > 0) for t, v in zip(truths, numbers, strict=True)
        ]
    assert bench.values("NULLIF(sick, TRUE)") == [None if t else t for t in truths]
    assert bench.values("TRUE = sick") == bench.values("sick") == truths


def test_choices_of_days(bench):
    days = [row["day"] for row in bench.rows]
    limit = 10957
    assert bench.values("GREATEST(day, DATE '2000-01-01')") == [limit if d is None else max(d, limit) for d in days]
    assert bench.values("LEAST('2000-01-01', day)") == [limit if d is None else min(d, limit) for d in days]
    assert bench.values("COALESCE(day, near)") == [
        row["near"] if row["day"] is None else row["day"] for row in bench.rows
    ]
    micro = 86_400_000_000
    assert bench.values("COALESCE(at, day)") == [
        row["at"] if row["at"] is not None else None if row["day"] is None else row["day"] * micro for row in bench.rows
    ]
    assert bench.bind("COALESCE(at, day)").kind == "timestamp"
    assert bench.values("NULLIF(day, '2024-02-29')") == [None if d == 19782 else d for d in days]
    assert bench.values("CASE WHEN n = 1 THEN day WHEN n = 2 THEN DATE '2000-01-01' END") == [
        {1: row["day"], 2: limit}.get(row["n"]) for row in bench.rows
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CAST(name AS INTEGER)", "text cannot be cast to INTEGER"),
        ("'5'::int", "text cannot be cast to INTEGER"),
        ("CAST(region AS NUMERIC)", "text cannot be cast to NUMERIC"),
        ("CAST(name AS DATE)", "text cannot be cast to DATE"),
        ("CAST(day AS DOUBLE PRECISION)", "a date cannot be cast to DOUBLE PRECISION"),
        ("region::real", "text cannot be cast to"),
        ("CAST(x AS TEXT)", "cannot be cast to text"),
        ("CAST(day AS INTEGER)", "a date cannot be cast to INTEGER"),
        ("CAST(x AS DATE)", "a number cannot be cast to DATE"),
        ("CAST(money AS BOOLEAN)", "a number cannot be cast to BOOLEAN"),
        ("CAST(x * 1000 AS SMALLINT)", "values that SMALLINT cannot hold"),
        ("CAST(x AS NUMERIC(2, 1))", "values that NUMERIC cannot hold"),
        ("CAST(x AS NUMERIC(2, 5))", "no more than it has digits"),
        ("CAST(name AS UUID)", "a cast to UUID is not supported"),
        ("CAST(x AS JSON)", "a cast to JSON is not supported"),
        ("ROUND(money, n)", "a whole number from -18 to 18"),
        ("ROUND(money, 100)", "a whole number from -18 to 18"),
        ("WIDTH_BUCKET(x, 10, 0, 5)", "the lower bound of WIDTH_BUCKET comes first"),
        ("WIDTH_BUCKET(x, n, 10, 5)", "takes a value, two bounds"),
        ("WIDTH_BUCKET(x, 0, 10, 0)", "a whole number from 1"),
        ("WIDTH_BUCKET(x, 0, 10)", "takes a value, two bounds"),
        ("CASE WHEN sick THEN 1 ELSE 'a' END", "cannot stand beside each other"),
        ("COALESCE(x, day)", "cannot stand beside each other"),
        ("CASE WHEN sick THEN NULL END", "every value here is NULL"),
        ("GREATEST(name, 'a')", "texts have no order"),
        ("x + sick", "Write CAST(condition AS INTEGER)"),
    ],
)
def test_refused(bench, text, said):
    with pytest.raises(UnsupportedQuery) as caught:
        bench.bind(text)
    assert said in str(caught.value)
    assert (caught.value.line, caught.value.column >= 14) == (1, True)
