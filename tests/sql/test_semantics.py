"""Every operator on every nasty value equals plain Python, through text, plan and a real engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dither.errors import UnsupportedQuery

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
Row = dict[str, Any]


@dataclass(frozen=True)
class Number:
    """SQL text, the number of decimals its value has, and the same computed by Python."""

    sql: str
    scale: int
    of: Callable[[Row], Fraction | None]


@dataclass(frozen=True)
class Truth:
    sql: str
    of: Callable[[Row], bool | None]


def column(name: str, scale: int = 0) -> Number:
    return Number(name, scale, lambda row: None if row[name] is None else Fraction(row[name], 10**scale))


def literal(text: str) -> Number:
    scale = len(text.partition(".")[2])
    return Number(text, scale, lambda row: Fraction(text))


def toward_zero(value: Fraction, scale: int) -> Fraction:
    size = abs(value) * 10**scale
    return Fraction(size.numerator // size.denominator, 10**scale) * (1 if value >= 0 else -1)


def lifted(function: Callable[..., Any], *parts: Number | Truth) -> Callable[[Row], Any]:
    def of(row: Row) -> Any:
        values = [part.of(row) for part in parts]
        return None if None in values else function(*values)

    return of


def divided(a: Number, b: Number) -> Number:
    scale = 0 if a.scale == b.scale == 0 else max(a.scale, b.scale, 6)
    return Number(
        f"({a.sql} / {b.sql})", scale, lifted(lambda x, y: None if y == 0 else toward_zero(x / y, scale), a, b)
    )


def remainder(a: Number, b: Number) -> Number:
    def left(x: Fraction, y: Fraction) -> Fraction | None:
        return None if y == 0 else x - y * toward_zero(x / y, 0)

    return Number(f"({a.sql} % {b.sql})", max(a.scale, b.scale), lifted(left, a, b))


def present(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def several(name: str, parts: list[Number], pick: Callable[[list[Any]], Any]) -> Number:
    def of(row: Row) -> Any:
        found = present([part.of(row) for part in parts])
        return pick(found) if found else None

    return Number(f"{name}({', '.join(part.sql for part in parts)})", max(part.scale for part in parts), of)


def chosen(condition: Truth, a: Number, b: Number | None) -> Number:
    otherwise = "" if b is None else f" ELSE {b.sql}"
    scale = max(a.scale, 0 if b is None else b.scale)
    return Number(
        f"CASE WHEN {condition.sql} THEN {a.sql}{otherwise} END",
        scale,
        lambda row: a.of(row) if condition.of(row) else None if b is None else b.of(row),
    )


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def both(values: list[bool | None], decisive: bool) -> bool | None:
    return decisive if decisive in values else None if None in values else not decisive


def connected(word: str, parts: list[Truth]) -> Truth:
    decisive = word == "OR"
    return Truth(
        f"({f' {word} '.join(part.sql for part in parts)})",
        lambda row: both([part.of(row) for part in parts], decisive),
    )


leaves = st.sampled_from(
    [column("small"), column("big"), column("few"), column("id"), column("money", 2)]
    + [literal(text) for text in ("0", "1", "2", "7", "127", "1000", "0.5", "2.25", "3.0", "4611686018427387904")]
)
texts = st.sampled_from(["", "a", "A", "été", "100%", "a_b", "x😀y", "'; --", "zz", "\uffff"])
bools = st.sampled_from([Truth("sick", lambda row: None if row["sick"] is None else bool(row["sick"]))])


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def numbers(depth: int) -> st.SearchStrategy[Number]:
    if depth == 0:
        return leaves
    inner, conditions = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        leaves,
        st.builds(
            lambda a, b: Number(f"({a.sql} + {b.sql})", max(a.scale, b.scale), lifted(lambda x, y: x + y, a, b)),
            inner,
            inner,
        ),
        st.builds(
            lambda a, b: Number(f"({a.sql} - {b.sql})", max(a.scale, b.scale), lifted(lambda x, y: x - y, a, b)),
            inner,
            inner,
        ),
        st.builds(
            lambda a, b: Number(f"({a.sql} * {b.sql})", a.scale + b.scale, lifted(lambda x, y: x * y, a, b)),
            inner,
            inner,
        ),
        st.builds(divided, inner, inner),
        st.builds(remainder, inner, inner),
        st.builds(lambda a: Number(f"(- {a.sql})", a.scale, lifted(lambda x: -x, a)), inner),
        st.builds(lambda a: Number(f"ABS({a.sql})", a.scale, lifted(abs, a)), inner),
        st.builds(chosen, conditions, inner, st.one_of(st.none(), inner)),
        st.builds(lambda a, b: several("COALESCE", [a, b], lambda found: found[0]), inner, inner),
        st.builds(lambda a, b: several("LEAST", [a, b], min), inner, inner),
        st.builds(lambda a, b: several("GREATEST", [a, b], max), inner, inner),
        st.builds(
            lambda a, b: Number(
                f"NULLIF({a.sql}, {b.sql})", a.scale, lambda row: None if a.of(row) == b.of(row) else a.of(row)
            ),
            inner,
            inner,
        ),
    )


def truths(depth: int) -> st.SearchStrategy[Truth]:
    inner = numbers(max(0, depth - 1))
    compared = st.builds(
        lambda op, a, b: Truth(f"{a.sql} {op} {b.sql}", lifted(COMPARE[op], a, b)),
        st.sampled_from(list(COMPARE)),
        inner,
        inner,
    )
    simple = st.one_of(
        bools,
        compared,
        st.builds(
            lambda op, text: Truth(
                f"name {op} {quoted(text)}",
                lambda row: None if row["name"] is None else COMPARE[op](row["name"].encode(), text.encode()),
            ),
            st.sampled_from(list(COMPARE)),
            texts,
        ),
        st.builds(
            lambda a, b, c: Truth(
                f"{a.sql} BETWEEN {b.sql} AND {c.sql}",
                lambda row: both([lifted(COMPARE[">="], a, b)(row), lifted(COMPARE["<="], a, c)(row)], False),
            ),
            inner,
            inner,
            inner,
        ),
        st.builds(
            lambda a, options: Truth(f"{a.sql} IN ({', '.join(map(str, options))})", lifted(lambda x: x in options, a)),
            inner,
            st.lists(st.integers(-130, 130), min_size=1, max_size=6),
        ),
        st.builds(lambda a: Truth(f"{a.sql} IS NULL", lambda row: a.of(row) is None), inner),
        st.builds(lambda a: Truth(f"{a.sql} IS NOT NULL", lambda row: a.of(row) is not None), inner),
    )
    if depth == 0:
        return simple
    deeper = truths(depth - 1)
    return st.one_of(
        simple,
        st.builds(connected, st.sampled_from(["AND", "OR"]), st.lists(deeper, min_size=2, max_size=3)),
        st.builds(lambda a: Truth(f"(NOT {a.sql})", lifted(lambda x: not x, a)), deeper),
        st.builds(lambda a: Truth(f"(({a.sql}) IS TRUE)", lambda row: a.of(row) is True), deeper),
        st.builds(lambda a: Truth(f"(({a.sql}) IS NOT FALSE)", lambda row: a.of(row) is not False), deeper),
    )


slow = settings(
    max_examples=150 * CAMPAIGN,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@slow
@given(numbers(3))
def test_arithmetic_equals_python_on_every_row(snapshot, number):
    try:
        found = snapshot.by_row(number.sql)
    except UnsupportedQuery as refused:
        assume(
            "too large" not in str(refused) and "decimals" not in str(refused) and "could exceed" not in str(refused)
        )
        raise
    for row in snapshot.rows:
        expected = number.of(row)
        units = None if expected is None else expected * 10**number.scale
        assert found[row["id"]] == units, (number.sql, row)


@slow
@given(truths(3))
def test_conditions_equal_three_valued_python_on_every_row(snapshot, truth):
    try:
        found = snapshot.where(truth.sql)
    except UnsupportedQuery as refused:
        assume("too large" not in str(refused) and "decimals" not in str(refused))
        raise
    assert found == {row["id"] for row in snapshot.rows if truth.of(row) is True}, truth.sql


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3),
        ("(-7) / 2", -3),
        ("7 / -2", -3),
        ("(-7) % 3", -1),
        ("7 % -3", 1),
        ("7.5 % 2", 15),  # 1.5, in tenths
        ("7 / 2.0", 3_500_000),
        ("1 / 3.0", 333_333),
        ("-1 / 3.0", -333_333),
        ("1e2 + few * 0", 1000),
        ("2 - 3 - 4", -5),
        ("2 + 3 * 4", 14),
        ("- 2 - -3", 1),
        ("100 / 10 / 5", 2),
        ("CASE few WHEN 9 THEN 1 ELSE 2 END", 2),
    ],
)
def test_arithmetic_has_postgresql_meaning(snapshot, expression, value):
    assert set(snapshot.by_row(f"({expression}) + few * 0").values()) == {value}


def test_division_and_modulo_by_zero_are_null(snapshot):
    assert set(snapshot.by_row("small / (few - few)").values()) == {None}
    assert set(snapshot.by_row("big % (few * 0)").values()) == {None}
    assert snapshot.where("1 / (id - 17) > 100") == set()


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("text", ["2024-02-29", "1960-01-01", "1900-01-01", "2999-01-01"])
def test_dates_compare_with_literals_inside_and_outside_their_bounds(snapshot, operator, text):
    import datetime

    wanted = (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days
    expected = {r["id"] for r in snapshot.rows if r["day"] is not None and COMPARE[operator](r["day"], wanted)}
    turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
    for condition in (f"day {operator} '{text}'", f"day {operator} DATE '{text}'", f"'{text}'::date {turned} day"):
        assert snapshot.where(condition) == expected


def test_a_date_beside_a_timestamp_is_its_midnight(snapshot):
    micro = 86_400_000_000
    pairs = [r for r in snapshot.rows if r["day"] is not None and r["at"] is not None]
    assert snapshot.where("day <= at") == {r["id"] for r in pairs if r["day"] * micro <= r["at"]}
    at = {r["id"] for r in snapshot.rows if r["at"] is not None and r["at"] < 0}
    assert snapshot.where("at < '1970-01-01'") == at
    assert snapshot.where("at < TIMESTAMPTZ '1970-01-01 02:00:00+02:00'") == at
    assert snapshot.where("at < DATE '1970-01-01'") == at


def test_category_labels_are_compared_as_text(snapshot):
    labels = ["north", "south", "été", "100%", "a_b", "a\\b"]
    for operator, holds in COMPARE.items():
        found = snapshot.where(f"region {operator} 'north'")
        expected = {r["id"] for r in snapshot.rows if r["region"] is not None and holds(labels[r["region"]], "north")}
        assert found == expected
    assert snapshot.where("region NOT IN ('north', 'south')") == {
        r["id"] for r in snapshot.rows if r["region"] is not None and r["region"] > 1
    }
    nulls = {r["id"] for r in snapshot.rows if r["region"] is None}
    assert snapshot.where("region IS NULL") == nulls
    assert snapshot.where("region LIKE 'nowhere%'") == set()
    assert snapshot.where("(region LIKE 'nowhere%') IS NULL") == nulls


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("LIKE 'a%'", {"a", "a_b", "a\\b", "a\nb", "aXb"}),
        ("LIKE 'a_b'", {"a_b", "a\\b", "a\nb", "aXb"}),
        (r"LIKE 'a\_b'", {"a_b"}),
        (r"LIKE 'a\\b'", {"a\\b"}),
        ("LIKE 'a!_b' ESCAPE '!'", {"a_b"}),
        (r"LIKE 'a\b' ESCAPE ''", {"a\\b"}),
        ("LIKE '_'", {"a", "A", "😀", "\uffff"}),
        ("LIKE '%😀%'", {"😀", "x😀y"}),
        ("LIKE 'x_y'", {"x😀y"}),
        (r"LIKE '%\%'", {"100%"}),
        ("LIKE ''", {""}),
        ("LIKE '''; --'", {"'; --"}),
        ("LIKE 'ét_'", {"été"}),
        ("LIKE '.*'", set()),
        ("LIKE '_.*'", set()),
    ],
)
def test_like_on_text(snapshot, pattern, matched):
    assert snapshot.where(f"name {pattern}") == {r["id"] for r in snapshot.rows if r["name"] in matched}
    unmatched = {r["id"] for r in snapshot.rows if r["name"] is not None and r["name"] not in matched}
    assert snapshot.where(f"name NOT {pattern}") == unmatched


def test_booleans(snapshot):
    true = {r["id"] for r in snapshot.rows if r["sick"] == 1}
    false = {r["id"] for r in snapshot.rows if r["sick"] == 0}
    null = {r["id"] for r in snapshot.rows if r["sick"] is None}
    assert snapshot.where("sick") == snapshot.where("sick = TRUE") == snapshot.where("sick IS TRUE") == true
    assert snapshot.where("NOT sick") == snapshot.where("sick <> TRUE") == snapshot.where("sick IS FALSE") == false
    assert snapshot.where("sick IS NOT TRUE") == false | null
    assert snapshot.where("sick IS NULL") == null


def test_counts_sums_and_averages_of_groups(snapshot):
    found = snapshot.exact(
        "SELECT few, COUNT(*), COUNT(money), SUM(money), AVG(small) FROM t GROUP BY few", rows_per_owner=3
    )
    kept = [r for r in snapshot.rows if r["_rank"] <= 3]
    assert len(found) == 4
    for key, rows, present_, total, centred, counted in found:
        group = [r for r in kept if r["few"] == key]
        assert rows == len(group)
        assert present_ == sum(r["money"] is not None for r in group)
        assert total == sum(r["money"] or 0 for r in group)
        assert centred == sum(r["small"] + 1 for r in group if r["small"] is not None)  # the middle of -128..127 is -1
        assert counted == sum(r["small"] is not None for r in group)


def test_owners_are_counted_over_all_their_rows(snapshot):
    assert snapshot.exact("SELECT COUNT(DISTINCT owner_id) FROM t") == [(18,)]
    assert snapshot.exact("SELECT COUNT(DISTINCT owner_id), COUNT(*) FROM t WHERE id % 4 = 3", rows_per_owner=1) == [
        (0,),
        (18,),
    ]
    assert snapshot.exact("SELECT COUNT(DISTINCT owner_id) FROM t WHERE id = 5") == [(1,)]


def test_a_sum_over_no_rows_is_zero(snapshot):
    assert snapshot.exact("SELECT SUM(big), SUM(big * 2), AVG(big), COUNT(*) FROM t WHERE id < 0") == [(0, 0, 0, 0, 0)]


@pytest.mark.parametrize("constant", [2**62, -(2**62), 2**31, 10**18])
@pytest.mark.parametrize(
    "expression",
    [
        "(small / {c}) / {c}",
        "(small / {c}) * 1000",
        "(small * {c}) / {c}",
        "{c} - (small - {c})",
        "(small % {c}) * 1000 % {c}",
        "ABS(small - {c}) - {c}",
        "(few - {c}) * 10 - {c} * 10",
    ],
)
def test_constants_that_an_optimiser_may_merge_never_overflow(snapshot, expression, constant):
    text = expression.format(c=f"({constant})")
    found = snapshot.by_row(text)
    for row in snapshot.rows:
        values = {name: row[name] for name in ("small", "few")}
        assert found[row["id"]] == (None if values["small"] is None and "small" in text else python_value(text, values))
    for operator in ("<", ">=", "="):
        snapshot.where(f"{text} {operator} {constant}")
        snapshot.where(f"small * {constant} + {constant} {operator} -{2**62}")


class Whole(int):
    """Python integers with SQL's division and remainder."""

    def __truediv__(self, other: int) -> Whole:
        size = abs(int(self)) // abs(int(other))
        return Whole(size if (self < 0) == (other < 0) else -size)

    def __mod__(self, other: int) -> Whole:
        return Whole(int(self) - int(other) * int(self / other))

    def __add__(self, other: int) -> Whole:
        return Whole(int(self) + int(other))

    def __sub__(self, other: int) -> Whole:
        return Whole(int(self) - int(other))

    def __mul__(self, other: int) -> Whole:
        return Whole(int(self) * int(other))

    def __abs__(self) -> Whole:
        return Whole(abs(int(self)))


def python_value(text: str, values: dict[str, Any]) -> int:
    import re

    names = {name: None if value is None else Whole(value) for name, value in values.items()}
    python = re.sub(r"(\d+)", r"W(\1)", text.replace("(-", "(W(0)-")).replace("ABS", "abs")
    return int(eval(python, {"__builtins__": {}}, {"W": Whole, "abs": abs, **names}))
