"""Two ways to the same value: the engine's SQL, and arrays in Python from which public lists of keys are made."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dither.errors import UnsupportedQuery
from dither.sql.expressions import Indicator, Numeric
from dither.sql.expressions.evaluator import NotEvaluated, Values, evaluate

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))

numbers = st.sampled_from(["x", "n", "money", "0", "3", "-7", "2.5", "CAST(sick AS INTEGER)", "LENGTH(region)"])
days = st.sampled_from(["day", "near", "DATE '2024-02-29'", "CAST(at AS DATE)"])
moments = st.one_of(days, st.sampled_from(["at", "at AT TIME ZONE 'Europe/Berlin'", "at AT TIME ZONE 'Pacific/Apia'"]))


def grown(depth: int) -> st.SearchStrategy[str]:
    """Numbers made of everything."""
    if depth == 0:
        return numbers
    inner, conditions = grown(depth - 1), truths(depth - 1)
    part = st.sampled_from(
        ["year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "isoyear", "hour", "minute"]
    )
    return st.one_of(
        numbers,
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner),
        st.builds("{}({})".format, st.sampled_from(["FLOOR", "CEIL", "ROUND", "TRUNC", "SIGN", "ABS", "-"]), inner),
        st.builds("ROUND({}, {})".format, inner, st.integers(-3, 3)),
        st.builds("WIDTH_BUCKET({}, -3.5, 10, {})".format, inner, st.integers(1, 9)),
        st.builds("{}({}, {})".format, st.sampled_from(["COALESCE", "GREATEST", "LEAST", "NULLIF"]), inner, inner),
        st.builds("CASE WHEN {} THEN {} WHEN {} THEN {} END".format, conditions, inner, conditions, inner),
        st.builds("EXTRACT({} FROM {})".format, part, dated(depth - 1)),
        st.builds("({} - {})".format, days, days),
        st.builds("CAST({} AS INTEGER)".format, conditions),
        st.builds("CAST({} AS NUMERIC(30, 1))".format, inner),
    )


def dated(depth: int) -> st.SearchStrategy[str]:
    if depth == 0:
        return moments
    inner = dated(depth - 1)
    unit = st.sampled_from(["year", "quarter", "month", "week", "day", "hour"])
    return st.one_of(
        moments,
        st.builds("DATE_TRUNC('{}', {})".format, unit, inner),
        st.builds("({} + INTERVAL '{} months {} days')".format, inner, st.integers(-30, 30), st.integers(-40, 40)),
        st.builds("({} - INTERVAL '{} hours')".format, inner, st.integers(-50, 50)),
        st.builds("({} + {})".format, days, st.sampled_from(["n", "x", "-3"])),
        st.builds("COALESCE({}, {})".format, inner, moments),
    )


def truths(depth: int) -> st.SearchStrategy[str]:
    inner = grown(max(0, depth - 1))
    simple = st.one_of(
        st.just("sick"),
        st.builds("({} {} {})".format, inner, st.sampled_from(["=", "<>", "<", ">="]), inner),
        st.builds("({} IN (0, 3, 10))".format, inner),
        st.builds("({} IS NULL)".format, inner),
        st.builds("({} < {})".format, dated(max(0, depth - 1)), moments),
    )
    if depth == 0:
        return simple
    deeper = truths(depth - 1)
    return st.one_of(
        simple,
        st.builds("({} {} {})".format, deeper, st.sampled_from(["AND", "OR", "=", "<>"]), deeper),
        st.builds("(NOT {})".format, deeper),
        st.builds("({} IS NOT TRUE)".format, deeper),
    )


REFUSED = (
    *("needed here", "beside each other", "cannot be compared", "cannot be cast", "is an interval", "takes a date"),
    *("too large", "decimals", "9999", "cannot hold", "every value here", "about"),
)


def in_python(bench, node: Numeric) -> list[int | None]:
    columns = {}
    for name in bench.table.columns:
        given_values = [row[name] for row in bench.rows]
        if not any(isinstance(value, str) for value in given_values):
            null = np.array([value is None for value in given_values])
            columns[name] = Values(np.array([value or 0 for value in given_values], np.int64), null)
    found = evaluate(node, columns)
    values = np.broadcast_to(found.of, len(bench.rows)), np.broadcast_to(found.null, len(bench.rows))
    return [None if null else int(value) for value, null in zip(*values, strict=True)]


@settings(max_examples=80 * CAMPAIGN, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(grown(3), truths(3)))
def test_engine_and_python_agree(bench, text):
    try:
        node = bench.bind(text).node
    except UnsupportedQuery as refused:
        # Types that do not fit each other, and values that could grow too large, are all that may be refused.
        assume(not any(said in str(refused) for said in REFUSED))
        raise
    node = node if isinstance(node, Numeric) else Indicator(node)
    found = bench.run(node)
    assert found == in_python(bench, node), text
    assert node.nullable or None not in found


def test_texts_are_not_evaluated(bench):
    with pytest.raises(NotEvaluated):
        in_python(bench, bench.bind("CASE WHEN name = 'a' THEN 1 ELSE 0 END").node)
    with pytest.raises(NotEvaluated):
        in_python(bench, bench.bind("LENGTH(name)").node)


def test_numbers_beyond_64_bits_are_exact(bench):
    node = bench.bind("x * 1000000000000000000 * 7 + money").node
    assert bench.run(node) == in_python(bench, node) or None in bench.run(node)
    wanted = [None if None in (row["x"], row["money"]) else row["x"] * 7 * 10**20 + row["money"] for row in bench.rows]
    assert bench.run(node) == wanted
