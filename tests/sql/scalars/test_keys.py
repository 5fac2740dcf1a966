"""Group keys: every row has a code in the public range that decodes to its value; no listed group is impossible."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.columns import Bool, Category, Date, Int, Text, Timestamp
from dither.policy.columns.key_domains import Listed, Periods, Unlisted

EPOCH = datetime.datetime(1970, 1, 1)


def listed(declaration: Any) -> list[Any]:
    """Every public value, NULL last."""
    values = [declaration.decode(code) for code in range(declaration.low, declaration.high + 1)]
    return values + [None] * declaration.nullable


def shown(kind: str, value: Any, scale: int) -> Any:
    if value is None or kind in ("boolean", "text"):
        return value
    if kind == "date":
        return EPOCH.date() + datetime.timedelta(days=value)
    if kind in ("timestamp", "local"):
        moment = EPOCH + datetime.timedelta(microseconds=value)
        return moment.replace(tzinfo=datetime.UTC) if kind == "timestamp" else moment
    return Decimal(value).scaleb(-scale) if scale else value


tens = [*range(-100, 101, 10), None]
LISTS: dict[str, list[Any]] = {
    "x": [*range(-100, 101), None],
    "n": [0, 1, 2, 3, 4, 5, 6],
    "(n)": [0, 1, 2, 3, 4, 5, 6],
    "level": ["low", "high"],
    "region": ["north", "South", "ÉTÉ", "a b ", None],
    "sick": [False, True, None],
    "near": [*(datetime.date(2024, 1, 15) + datetime.timedelta(days=i) for i in range(56)), None],
    "x / 10": [*range(-10, 11), None],
    "x / 10 * 10": tens,
    "FLOOR(x / 10) * 10": tens,
    "x - x % 10": tens,
    "ROUND(x, -1)": tens,
    "x * 10": [*range(-1000, 1001, 10), None],
    "n * 0": [0],
    "x * 0": [0, None],
    "n * n": [0, 1, 4, 9, 16, 25, 36],
    "n * n + CAST(sick AS INTEGER)": [0, 1, 2, 4, 5, 9, 10, 16, 17, 25, 26, 36, 37, None],
    "n - 3": [-3, -2, -1, 0, 1, 2, 3],
    "ABS(n - 3)": [0, 1, 2, 3],
    "- n": [-6, -5, -4, -3, -2, -1, 0],
    "n % 3": [0, 1, 2],
    "10 / n": [1, 2, 3, 5, 10, None],
    "10 / (n + 1)": [1, 2, 3, 5, 10],
    "n / 2.0": [*(Decimal(i).scaleb(-1) for i in range(0, 35, 5))],
    "x > 5": [False, True, None],
    "n > 5": [False, True],
    "x IS NULL": [False, True],
    "NOT sick": [False, True, None],
    "COALESCE(sick, FALSE)": [False, True],
    "COALESCE(region, 'none')": ["north", "South", "ÉTÉ", "a b ", "none"],
    "LOWER(level)": ["low", "high"],
    "SUBSTRING(region, 1, 0)": ["", None],
    "LENGTH(region)": [3, 4, 5, None],
    "SIGN(x)": [-1, 0, 1, None],
    "WIDTH_BUCKET(n, 1, 5, 2)": [0, 1, 2, 3],
    "CASE WHEN n < 2 THEN 'few' WHEN n < 5 THEN 'some' ELSE 'many' END": ["few", "some", "many"],
    "CASE WHEN n < 2 THEN 'few' WHEN n >= 2 THEN 'many' END": ["few", "many"],
    "CASE WHEN x < 0 THEN 'below' WHEN x >= 0 THEN 'above' END": ["below", "above", None],
    "CASE WHEN sick THEN 'b' WHEN n > 2 THEN 'a' ELSE 'b' END": ["b", "a"],
    "CASE n WHEN 0 THEN 'none' ELSE level END": ["none", "low", "high"],
    "CASE WHEN n < 2 THEN 100 WHEN n < 5 THEN 5 ELSE 5.5 END": [Decimal("100.0"), Decimal("5.0"), Decimal("5.5")],
    "CASE WHEN n < 2 THEN 7 WHEN n < 5 THEN -7 END": [7, -7, None],
    "CASE WHEN n < 2 THEN 1 ELSE n END": [1, 2, 3, 4, 5, 6],
    "CASE WHEN name LIKE 'a%' THEN 'a' ELSE 'other' END": ["a", "other"],
    "CASE WHEN LENGTH(name) > 3 THEN 2 ELSE 1 END": [2, 1],
    "CASE WHEN n = 0 THEN DATE '2024-01-01' WHEN n = 1 THEN DATE '2020-02-29' END": [
        datetime.date(2024, 1, 1),
        datetime.date(2020, 2, 29),
        None,
    ],
    "NULLIF(n, 3)": [0, 1, 2, 4, 5, 6, None],
    "GREATEST(n, 4)": [4, 5, 6],
    "EXTRACT(year FROM near)": [2024, None],
    "EXTRACT(month FROM near)": [1, 2, 3, None],
    "EXTRACT(day FROM near)": [*range(1, 32), None],
    "EXTRACT(week FROM near)": [*range(3, 11), None],
    "EXTRACT(dow FROM near)": [*range(7), None],
    "EXTRACT(month FROM day)": [*range(1, 13), None],
    "EXTRACT(year FROM at)": [*range(1899, 2101), None],
    "EXTRACT(hour FROM at)": [*range(24), None],
    "EXTRACT(hour FROM at AT TIME ZONE 'Europe/Berlin')": [*range(24), None],
    "EXTRACT(isodow FROM at AT TIME ZONE 'Asia/Kolkata')": [*range(1, 8), None],
    "FLOOR(EXTRACT(hour FROM at) / 6)": [0, 1, 2, 3, None],
    "EXTRACT(minute FROM at)": [*range(60), None],
    "DATE_TRUNC('month', near)": [*(datetime.date(2024, month, 1) for month in (1, 2, 3)), None],
    "DATE_TRUNC('quarter', near)": [datetime.date(2024, 1, 1), None],
    "DATE_TRUNC('week', near)": [*(datetime.date(2024, 1, 15) + datetime.timedelta(weeks=i) for i in range(8)), None],
    "DATE_TRUNC('year', at)": [
        *(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in range(1899, 2101)),
        None,
    ],
    "DATE_TRUNC('hour', near)": [*(datetime.date(2024, 1, 15) + datetime.timedelta(days=i) for i in range(56)), None],
    "near + 7": [*(datetime.date(2024, 1, 22) + datetime.timedelta(days=i) for i in range(56)), None],
    "CAST(near AS TIMESTAMPTZ)": [
        *(datetime.datetime(2024, 1, 15, tzinfo=datetime.UTC) + datetime.timedelta(days=i) for i in range(56)),
        None,
    ],
    "ROUND(money)": [*range(-50, 51), None],
    "FLOOR(money / 10) * 10": [*range(-50, 51, 10), None],
    "ROUND(money, 1) > 0": [False, True, None],
}


@pytest.mark.parametrize("text", LISTS)
def test_public_lists(bench, text):
    code, declaration = bench.key(text)
    assert declaration.key_count == len(LISTS[text])
    assert listed(declaration) == LISTS[text]
    assert [type(value) for value in listed(declaration)] == [type(value) for value in LISTS[text]]
    check_codes(bench, text, code, declaration)


def check_codes(bench: Any, text: str, code: Any, declaration: Any) -> None:
    """Each row's code lies in the range and decodes to the row's value."""
    value = bench.bind(text)
    found = bench.run(code)
    assert all(c is None or declaration.low <= c <= declaration.high for c in found)
    assert declaration.nullable or None not in found
    assert declaration.nullable or not code.nullable
    decoded = [None if c is None else declaration.decode(c) for c in found]
    if value.category is not None:
        wanted = [None if c is None else value.category.decode(c) for c in bench.run(value.node)]
    else:
        wanted = [shown(value.kind, v, getattr(value.node, "scale", 0)) for v in bench.run(value.node)]
    assert decoded == wanted


WIDE = {
    "EXTRACT(doy FROM day)": Int,
    "day": Date,
    "day + 5": Date,
    "DATE_TRUNC('month', day)": Periods,
    "DATE_TRUNC('week', at)": Periods,
    "DATE_TRUNC('hour', at)": Periods,
    "DATE_TRUNC('minute', at AT TIME ZONE 'America/New_York')": Periods,
    "DATE_TRUNC('quarter', at AT TIME ZONE 'Europe/Berlin')": Periods,
    "CAST(at AT TIME ZONE 'Europe/Berlin' AS DATE)": Date,
    "ROUND(money, 1)": Listed,
    "LENGTH(name)": Int,
    "x * n": Listed,
    "x + n": Int,
}


@pytest.mark.parametrize("text", WIDE)
def test_public_ranges(bench, text):
    code, declaration = bench.key(text)
    assert isinstance(declaration, WIDE[text])
    assert declaration.key_count is not None
    check_codes(bench, text, code, declaration)


PRIVATE = {
    "money * 2 - money": Unlisted,
    "at": Timestamp,
    "at + INTERVAL '1 day'": Timestamp,
    "at AT TIME ZONE 'Europe/Berlin'": Unlisted,
    "EXTRACT(second FROM at)": Unlisted,
    "day + INTERVAL '1 month'": Unlisted,
    "EXTRACT(epoch FROM at)": Unlisted,
}


@pytest.mark.parametrize("text", PRIVATE)
def test_keys_without_a_public_list(bench, text):
    code, declaration = bench.key(text)
    if text != "money * 2 - money":  # small enough to be tried
        assert isinstance(declaration, PRIVATE[text])
        assert declaration.key_count is None
    check_codes(bench, text, code, declaration)


@pytest.mark.parametrize("text", ["name", "name || 'x'", "SUBSTRING(name, 1, 1)", "COALESCE(name, 'none')"])
def test_texts_are_private(bench, text):
    code, declaration = bench.key(text)
    assert isinstance(declaration, Text)
    assert declaration.key_count is None
    assert declaration.nullable == ("COALESCE" not in text)
    assert bench.run(code) == bench.values(text)


@pytest.mark.parametrize(
    "text", ["1", "'a'", "NULL", "DATE '2024-01-01'", "1 + 1", "DATE_TRUNC('day', DATE '2024-01-01') - 5"]
)
def test_keys_that_are_the_same_on_every_row_are_refused(bench, text):
    with pytest.raises(UnsupportedQuery, match="the same on every row"):
        bench.key(text)


def test_a_key_that_can_grow_too_large_is_refused(bench):
    factor = 10**17
    with pytest.raises(UnsupportedQuery, match="too large to group by"):
        bench.key(f"x * {factor}")


def test_a_huge_range_has_no_public_list(bench):
    _, declaration = bench.key("x * 100000000 + n * 1000000 + 1")
    assert declaration.key_count is None or declaration.key_count <= 10_000_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("date_trunc('MONTH', day)", "DATE_TRUNC('month', DAY)"),
        ("EXTRACT(month FROM day)", "date_part('month', day)"),
        ("5 < x", "x > 5"),
        ("x + n", "n + x"),
        ("CASE WHEN x > 5 THEN 'a' ELSE 'b' END", "CASE WHEN 5 < x THEN 'c' ELSE 'd' END"),
        ("x % 10", "MOD(x, 10)"),
        ("CEIL(money)", "CEILING(money)"),
        ("CAST(x AS INTEGER)", "x::int4"),
    ],
)
def test_equal_keys_have_equal_codes(bench, one, other):
    assert bench.key(one)[0] == bench.key(other)[0]
    assert bench.key(one)[0].text == bench.key(other)[0].text


def test_declared_columns_keep_their_declarations(bench):
    for name, column in bench.table.columns.items():
        code, declaration = bench.key(name)
        assert declaration is column
        assert code.name == name


def test_keys_of_truths_and_categories(bench):
    assert isinstance(bench.key("x > 0")[1], Bool)
    assert isinstance(bench.key("UPPER(region)")[1], Category)
