"""Roots, logarithms and powers by whole numbers equal certified real arithmetic, for every value of small domains."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest

from dither.errors import UnsupportedQuery
from dither.exact.balls import Ball, ball, floor_of
from dither.sql.expressions import Constant, Let, Local, Multiply, Numeric, Stored
from dither.sql.expressions.evaluator import Values, evaluate
from dither.sql.guard.ranges import UnsafePlan, interval
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.writer import Writer
from dither.sql.scalars import fixed_point

UNIT = 10**fixed_point.DECIMALS
DOMAINS = [(-3, 2_000, 0), (-150, 1_500, 2), (10**12, 10**12 + 300, 6), (2**61 - 200, 2**61 + 200, 0), (0, 400, 18)]


def nearest(number: Callable[[], Ball]) -> int:
    """Half away from zero; nothing here is a half."""
    return floor_of(lambda: number() * UNIT + ball(Fraction(1, 2)))


def everywhere(node: Numeric, column: Stored) -> list[int | None]:
    """The expression for every value of its one column and NULL: by the engine, and by arrays in Python."""
    assert interval(node, {column.name: column}) == node.bounds
    values = [*range(column.least, column.most + 1), None]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (i INTEGER, v BIGINT)")
    connection.execute(
        f"INSERT INTO t SELECT range, range + {column.least} FROM range({len(values) - 1}) "
        f"UNION ALL SELECT {len(values) - 1}, NULL"
    )
    sql = Writer(DUCKDB, {column.name: "t.v"}, {column.name: column}).number(node)
    found = [value for (value,) in connection.execute(f"SELECT {sql} FROM t ORDER BY i").fetchall()]
    null = np.array([value is None for value in values])
    inside = Values(np.array([value if value is not None else column.least for value in values], dtype=object), null)
    arrays = evaluate(node, {column.name: inside})
    assert found == [None if gone else int(one) for one, gone in zip(arrays.of, arrays.null, strict=True)]
    assert all(value is None or node.low <= value <= node.high for value in found)
    assert found[-1] is None
    return found[:-1]


def column(domain: tuple[int, int, int]) -> tuple[Stored, list[Fraction]]:
    low, high, decimals = domain
    return Stored("v", low, high, decimals, True), [Fraction(v, 10**decimals) for v in range(low, high + 1)]


@pytest.mark.parametrize("domain", DOMAINS)
def test_roots(domain):
    v, values = column(domain)
    expected = [None if x < 0 else nearest(lambda x=x: ball(x).sqrt()) for x in values]
    assert everywhere(fixed_point.root(v), v) == expected


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("base", [None, Fraction(10), Fraction(1, 2)])
def test_logarithms(domain, base):
    v, values = column(domain)

    def real(x: Fraction) -> Ball:
        return ball(x).log() / (ball(1) if base is None else ball(base).log())

    expected = [None if x <= 0 else nearest(lambda x=x: real(x)) for x in values]
    assert everywhere(fixed_point.logarithm(v, base), v) == expected


@pytest.mark.parametrize("factor", [2**60, 2**70, 2**110])
def test_logarithms_of_large_numbers(factor):
    """What reaches beyond 73 bits cannot be multiplied as it is."""
    v, values = column((-2, 300, 0))
    expected = [None if x <= 0 else nearest(lambda x=x: ball(x * factor).log()) for x in values]
    assert everywhere(fixed_point.logarithm(Multiply(v, Constant(factor)), None), v) == expected


def test_planted_numbers_of_any_reach_are_multiplied(monkeypatch):
    monkeypatch.setattr(fixed_point, "_ROOM", 2**200)
    with pytest.raises(UnsafePlan):
        test_logarithms_of_large_numbers(2**110)


@pytest.mark.parametrize("domain", [(-40, 40, 0), (-2_000, 1_500, 2), (-300, 300, 18), (-3_000_000, -2_999_700, 5)])
def test_exponentials(domain):
    v, values = column(domain)
    expected = [nearest(lambda x=x: ball(x).exp()) for x in values]
    found = everywhere(fixed_point.exponential(v), v)
    assert all(abs(one - other) * 2**40 <= max(one, 2**40 - 1) for one, other in zip(found, expected, strict=True))


def test_powers():
    v, values = column((1, 900, 2))
    for exponent in (Constant(-33, 1), Constant(5, 1), Constant(1234, 3)):
        found = everywhere(fixed_point.binary_power(fixed_point.power_logarithm(v, exponent)), v)
        power = Fraction(exponent.value, 10**exponent.decimals)
        expected = [nearest(lambda x=x, power=power: (ball(x).log() * ball(power)).exp()) for x in values]
        pairs = zip(found, expected, strict=True)
        assert all(abs(one - other) * 2**40 <= max(one, 2**40 - 1) for one, other in pairs)
    years, _ = column((0, 40, 0))
    found = everywhere(fixed_point.binary_power(fixed_point.power_logarithm(Constant(105, 2), years)), years)
    assert found == [nearest(lambda n=n: ball(Fraction(21, 20)) ** n) for n in range(41)]


SAME: dict[str, Callable[[dict[str, Any]], Fraction | None]] = {
    "POWER(x, 2)": lambda row: row["x"] ** 2,
    "x ^ 3": lambda row: row["x"] ** 3,
    "POWER(money, 2)": lambda row: row["money"] ** 2,
    "POWER(x, 0)": lambda row: row["x"] * 0 + 1,
    "POWER(x, -1)": lambda row: None if row["x"] == 0 else 1 / row["x"],
    "POWER(n, CASE WHEN x < 9 THEN LEAST(x, 9) END)": lambda row: (
        row["n"] ** int(row["x"]) if row["x"] < 9 and (row["n"] or row["x"] >= 0) else None
    ),
    "POWER(0.5, n)": lambda row: Fraction(1, 2 ** int(row["n"])),
    "POWER(n, 1.0 * n)": lambda row: row["n"] ** int(row["n"]),
    "SQRT(x * x)": lambda row: abs(row["x"]),
    "SQRT(6.25)": lambda row: Fraction(5, 2),
    "LN(EXP(n))": lambda row: row["n"],
    "LOG(2, POWER(2, n))": lambda row: row["n"],
    "LOG(100)": lambda row: Fraction(2),
    "LOG10(CASE WHEN x > 0 THEN 1000 WHEN x < 0 THEN 0.001 ELSE -1 END)": lambda row: (
        None if row["x"] == 0 else 3 * (1 if row["x"] > 0 else -1)
    ),
    "CAST(x AS DOUBLE PRECISION) / 4": lambda row: row["x"] / 4,
    "x::float / 0": lambda row: None,
    "CAST(x AS REAL) * 2": lambda row: row["x"] * 2,
    "POWER(n, 2) / 4": lambda row: row["n"] ** 2 / 4,
}


@pytest.mark.parametrize("text", SAME)
def test_what_has_few_decimals_is_exact(bench, text):
    bound = bench.bind(text).node
    for row, found in zip(bench.rows, bench.run(bound), strict=True):
        money = None if row["money"] is None else Fraction(row["money"], 100)
        whole = {name: None if row[name] is None else Fraction(row[name]) for name in ("x", "n")}
        try:
            exact = SAME[text]({**whole, "money": money})
        except TypeError:  # of NULL
            exact = None
        if exact is None or found is None:
            assert exact == found
        else:
            assert abs(Fraction(found, 10**bound.scale) - exact) <= Fraction(1, 2 * UNIT), (row, found, exact)


REFUSED = {
    "EXP(x)": "too large",
    "POWER(x, 0.5)": "below zero",
    "POWER(n + 1, x)": "too large",
    "POWER(x, 40)": "too large",
    "SQRT(-1 - n)": "below zero",
    "LN(-n)": "never above zero",
    "LN(n - 6)": "never above zero",
    "LOG(n, 2)": "base",
    "LOG(1, n)": "base",
    "LOG(1.0000001, n)": "too large",
    "ROUND(CAST(money AS FLOAT))": "half to even",
    "ROUND(POWER(n + 1, -1))": "half to even",
    "CAST(name AS FLOAT)": "text cannot be cast",
    "SQRT(name)": "number is needed",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_could_grow_too_large_or_has_no_value_is_refused(bench, text):
    with pytest.raises(UnsupportedQuery, match=REFUSED[text]):
        bench.bind(text)


@pytest.mark.parametrize("power", range(79, 87))
def test_a_root_is_refused_where_it_is_written_or_proven_by_the_guard(bench, power):
    """At the largest number that has a root here, nothing is left for the guard alone to refuse."""
    text = f"SQRT(CASE WHEN n = 1 THEN {2**power} ELSE 0 END)"
    if power > 82:
        with pytest.raises(UnsupportedQuery, match="too large"):
            bench.bind(text)
        return
    node = bench.bind(text).node
    columns = {part.name: part for part in node.walk() if isinstance(part, Stored)}
    assert interval(node, columns)[1] >= 2 ** (power // 2)


@pytest.mark.parametrize("power", [60, 70, 76, 82, 90, 110, 120, 124, 125])
@pytest.mark.parametrize(
    "form", ["SQRT({})", "LN({})", "LOG(2, {})", "EXP({})", "POWER({}, 2)", "POWER(GREATEST({}, 0), 0.5)"]
)
@pytest.mark.parametrize(
    "far",
    [
        "LEAST(CASE WHEN n = 1 THEN -{} ELSE n END, 3)",
        "LEAST(CAST(CASE WHEN n = 1 THEN -{} ELSE n END AS DECIMAL(38, 2)), 3)",
        "CASE WHEN n = 1 THEN {} ELSE n END",
        "CASE WHEN n = 1 THEN 1.9 * {} ELSE n END",
    ],
)
def test_what_reaches_far_is_refused_where_it_is_written_or_proven_by_the_guard(bench, far, form, power):
    """Bounded above, it has a root and a power, however far down it reaches; and all numbers have a logarithm."""
    text = form.format(far.format(2**power))
    try:
        node = bench.bind(text).node
    except UnsupportedQuery:
        assert power > 60 or form in ("POWER({}, 2)", "EXP({})")
        return
    interval(node, {part.name: part for part in node.walk() if isinstance(part, Stored)})


def test_the_guard_proves_what_is_stated_of_a_local_number():
    x = Stored("x", -100, 100, 0, True)
    schema = {"x": x}
    told = Local("y", -100, 100, True)
    assert interval(Let(told, x, told), schema) == (-100, 100)
    for wrong in (Local("y", -99, 100, True), Local("y", -100, 99, True), Local("y", -100, 100, False)):
        with pytest.raises(UnsafePlan, match="misstates"):
            interval(Let(wrong, x, wrong), schema)
    for alone in (told, Let(told, x, Local("y", -5, 5, True)), Let(told, told, told)):
        with pytest.raises(UnsafePlan, match="no local number"):
            interval(alone, schema)


def test_planted_a_step_too_few_is_caught(monkeypatch):
    """Newton's method stopped early, and a logarithm with too few bits, differ from certified values."""
    monkeypatch.setattr(fixed_point, "_newton", lambda square, guess, most: guess)
    few = (-3, 30, 0)
    with pytest.raises(AssertionError):
        test_roots(few)
    monkeypatch.undo()
    monkeypatch.setattr(fixed_point, "_TWO", Fraction(2_000_001, 1_000_000))
    with pytest.raises(AssertionError):
        test_logarithms(few, None)
