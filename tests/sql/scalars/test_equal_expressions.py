"""The same expression in other words is the same node; another one never is."""

from __future__ import annotations

import itertools

import pytest

SAME = [
    ("EXTRACT(year FROM day) > 2000", "2000 < DATE_PART('year', day)"),
    ("extract('YEAR' from day)", "EXTRACT(year FROM day)"),
    ("DATE_TRUNC('month', day) = '2024-01-01'", "DATE '2024-01-01' = date_trunc('Month', day)"),
    ("day + INTERVAL '1 month'", "INTERVAL '1' MONTH + day"),
    ("day + INTERVAL '12 months'", "day + INTERVAL '1 year'"),
    ("day + INTERVAL '1 week'", "day + 7"),
    ("day - INTERVAL '7 days'", "day + INTERVAL '-1 week'"),
    ("day > DATE '2024-01-31' + INTERVAL '1 month'", "day > DATE '2024-02-29'"),
    ("at AT TIME ZONE 'europe/berlin'", "at AT TIME ZONE 'Europe/Berlin'"),
    ("CAST(money AS INTEGER)", "ROUND(money)"),
    ("money::int", "ROUND(money, 0)"),
    ("CAST(x AS BOOLEAN)", "x <> 0"),
    ("CASE WHEN x > 5 THEN TRUE ELSE FALSE END", "CASE WHEN NOT x <= 5 THEN TRUE ELSE FALSE END"),
    ("COALESCE(x, 0) BETWEEN 1 AND 2", "COALESCE(x, 0) >= 1 AND 2 >= COALESCE(x, 0)"),
    ("FLOOR(x)", "x"),
    ("CHAR_LENGTH(name)", "LENGTH(name)"),
    ("SUBSTR(name, 1, 2)", "SUBSTRING(name FROM 1 FOR 2)"),
    ("SUBSTRING(name, 1, 2)", "LEFT(name, 2)"),
    ("TRIM(name)", "TRIM(BOTH ' ' FROM name)"),
    ("UPPER(region) = 'SOUTH'", "region = 'South'"),
    ("region ILIKE 'NORTH'", "region = 'north'"),
    ("sick = (x > 5)", "(5 < x) = sick"),
    ("MOD(x, 3)", "x % 3"),
    ("LENGTH('abc') + n", "n + 3"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same(bench, one, other):
    first, second = bench.bind(one), bench.bind(other)
    assert first.node == second.node
    assert first.node.text == second.node.text


DIFFERENT = [
    *("EXTRACT(year FROM day)", "EXTRACT(year FROM at)", "EXTRACT(isoyear FROM day)", "EXTRACT(month FROM day)"),
    *("DATE_TRUNC('month', day)", "DATE_TRUNC('year', day)", "day + INTERVAL '1 month'", "day + INTERVAL '2 months'"),
    *("day + 30", "at AT TIME ZONE 'Europe/Berlin'", "at AT TIME ZONE 'Europe/London'", "at", "day"),
    *("ROUND(money)", "FLOOR(money)", "CEIL(money)", "TRUNC(money)", "ROUND(money, 1)", "SIGN(money)"),
    *(
        "LENGTH(name)",
        "LENGTH(TRIM(name))",
        "TRIM(name)",
        "LTRIM(name)",
        "RTRIM(name)",
        "LEFT(name, 1)",
        "LEFT(name, 2)",
    ),
    *("name || 'a'", "'a' || name", "name ILIKE 'a'", "name LIKE 'a'", "name ILIKE 'a_'", "name = 'a'"),
    *("COALESCE(x, 0)", "COALESCE(x, 1)", "NULLIF(x, 0)", "WIDTH_BUCKET(x, 0, 10, 5)", "WIDTH_BUCKET(x, 0, 10, 4)"),
]


def test_different(bench):
    texts = {text: bench.bind(text).node.text for text in DIFFERENT}
    for one, other in itertools.combinations(DIFFERENT, 2):
        assert texts[one] != texts[other], (one, other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("now()", "NOW changes from one moment to the next. Write the date or time itself: DATE '2024-12-31'."),
        ("current_date", "CURRENT_DATE changes from one moment to the next."),
        ("current_timestamp", "CURRENT_TIMESTAMP changes from one moment to the next."),
        ("localtimestamp", "LOCALTIMESTAMP changes from one moment to the next."),
        ("clock_timestamp()", "CLOCK_TIMESTAMP changes from one moment to the next."),
        ("statement_timestamp()", "STATEMENT_TIMESTAMP changes from one moment to the next."),
        ("age(at)", "AGE is not supported."),
        ("random()", "RANDOM gives another value at each call."),
        ("gen_random_uuid()", "GEN_RANDOM_UUID gives another value at each call."),
        ("nextval('s')", "NEXTVAL gives another value at each call."),
        ("currval('s')", "CURRVAL gives another value at each call."),
        ("cbrt(x)", "CBRT fails or overflows for some values."),
        ("asin(x)", "ASIN fails or overflows for some values."),
        ("nosuch(x)", "the function NOSUCH is not supported. Supported are ABS"),
        ("pg_sleep(10)", "the function PG_SLEEP is not supported."),
        ("x & 1", "operators on bits are not supported."),
    ],
)
def test_volatile_unknown_and_partial_functions_are_refused(bench, text, said):
    from dither.errors import UnsupportedQuery

    with pytest.raises(UnsupportedQuery) as caught:
        bench.bind(text)
    assert said in str(caught.value)
    assert caught.value.hint
    assert (caught.value.line, caught.value.column) == (1, 14)


def test_an_array_is_refused_where_ranks_are_not_listed(bench):
    from dither.errors import UnsupportedQuery

    with pytest.raises(UnsupportedQuery, match="arrays are not supported here") as caught:
        bench.bind("ARRAY[x]")
    assert (caught.value.line, caught.value.column) == (1, 20)
