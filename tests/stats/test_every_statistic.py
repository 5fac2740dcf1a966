"""One suite over the statistics: prices, relations, hostile data and hostile parameters."""

from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dt
from dither import stats
from dither.errors import NotPublic, ParameterError, RelationMismatch

BOUNDS = {"lower": 0, "upper": 10}
NUMERIC = {
    "count": lambda x, **price: stats.count(x, **price),
    "sum": lambda x, **price: stats.sum(x, **BOUNDS, **price),
    "mean": lambda x, **price: stats.mean(x, **BOUNDS, **price),
    "variance": lambda x, **price: stats.variance(x, **BOUNDS, **price),
    "median": lambda x, **price: stats.median(x, **BOUNDS, **price),
    "median with interval": lambda x, **price: stats.median(x, interval=True, **BOUNDS, **price),
    "quantile": lambda x, **price: stats.quantile(x, "0.9", **BOUNDS, **price),
    "quantiles": lambda x, **price: stats.quantiles(x, ["0.1", "0.5", "0.9"], **BOUNDS, **price),
    "quantiles with intervals": lambda x, **price: stats.quantiles(x, ["0.2", "0.5"], interval=True, **BOUNDS, **price),
    "listed median": lambda x, **price: stats.median(x, candidates=[0, 2.5, 5, 10], **price),
    "listed median with interval": lambda x, **price: stats.median(x, interval=True, candidates=[2, 5], **price),
    "listed quantiles": lambda x, **price: stats.quantiles(x, ["0.1", "0.5"], candidates=[1, 5, 8], **price),
    "intervals": lambda x, **price: stats.histogram(x, edges=[0, 2, 5, 10], **price),
    "reciprocal": lambda x, **price: stats.reciprocal(x, **price),
    "ratio": lambda x, **price: stats.ratio(x, x, **price),
}
CATEGORICAL = {
    "histogram": lambda x, **price: stats.histogram(x, categories=["a", "b", 3], **price),
    "mode": lambda x, **price: stats.mode(x, categories=["a", "b", 3], **price),
    "top_k": lambda x, **price: stats.top_k(x, 2, categories=["a", "b", 3], **price),
    "model_selection": lambda x, **price: stats.model_selection(x, models=["a", "b", 3], **price),
}
PRICES = ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"})
EVERY = NUMERIC | CATEGORICAL
each = pytest.mark.parametrize("name", EVERY)
RELATIONS = ("add_remove", "replace")
GOOD = [1, 2, 3, 4, 5]
NASTY = {
    "one": [3],
    "equal": [7] * 50,
    "outside": [-5, 500, 10**400, -(10**400)],
    "infinite": [math.inf, -math.inf, 3.0],
    "missing": [math.nan, None, 2.0, math.nan],
    "strings": ["a", "b", "zzz", "1"],
    "mixed": ["a", 3, None, True, [1, 2], {"k": 1}, Decimal("NaN"), Decimal("1e999999"), Fraction(1, 3), b"x", 1j],
    "nested": [[1, 2], [3, 4]],
    "array with nan": np.array([1.0, np.nan, 4.0]),
    "only nan": np.array([np.nan, np.nan, np.nan]),
}


@each
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("price", PRICES, ids=str)
def test_the_price_is_the_guarantee(name, relation, price):
    found = EVERY[name](GOOD, relation=relation, **price).guarantee
    assert found.relation.value == relation
    if "rho" in price:
        assert found.zcdp().rho <= Fraction(1, 10)
    else:
        assert found.basic().epsilon == 1
        assert found.basic().delta <= Fraction(price.get("delta", 0))


# A variance of a public number of records needs two of them.
ACCEPTED = [
    (name, relation, data)
    for name, relation, data in itertools.product(EVERY, RELATIONS, NASTY)
    if not (relation == "replace" and name == "variance" and len(NASTY[data]) < 2)
]


@pytest.mark.parametrize(("name", "relation", "data"), ACCEPTED)
def test_no_data_raise(name, relation, data):
    estimate = EVERY[name](NASTY[data], relation=relation, epsilon=1)
    assert estimate.guarantee.basic().epsilon == 1
    if name in ("sum", "mean", "median", "quantile", "variance", "listed median", "listed median with interval"):
        assert math.isfinite(float(estimate))


@each
def test_empty_columns(name):
    EVERY[name]([], epsilon=1)
    EVERY[name](np.array([]), epsilon=1)
    needs_size = name in ("mean", "variance") or "with interval" in name
    if needs_size:
        with pytest.raises(ParameterError, match="0 records"):
            EVERY[name]([], epsilon=1, relation="replace")
    else:
        EVERY[name]([], epsilon=1, relation="replace")


@each
@pytest.mark.parametrize(
    "price",
    [
        {},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": True},
        {"epsilon": 10**400},
        {"epsilon": 1, "rho": 1},
        {"delta": "1e-6"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 0},
        {"rho": 0},
    ],
    ids=str,
)
def test_hostile_prices_are_refused(name, price):
    with pytest.raises(ParameterError):
        EVERY[name](GOOD, **price)


@each
def test_unknown_and_unsuitable_relations_are_refused(name):
    for relation in ("friends", "edge", "owner"):
        with pytest.raises(RelationMismatch):
            EVERY[name](GOOD, epsilon=1, relation=relation)


@pytest.mark.parametrize("function", [stats.sum, stats.mean, stats.variance, stats.median])
def test_without_bounds_it_is_said_what_to_declare(function):
    with pytest.raises(ParameterError, match="give lower and upper"):
        function(GOOD, epsilon=1)
    for lower, upper in ((10, 0), (0, 0), (0, math.inf), (math.nan, 1), (0, 10**400), ("a", 1)):
        with pytest.raises(ParameterError):
            function(GOOD, epsilon=1, lower=lower, upper=upper)


@pytest.mark.parametrize("name", NUMERIC)
def test_columns_of_no_numbers_are_refused_by_their_type(name):
    text = [] if name in ("count", "reciprocal") else [np.array(["a"])]
    for column in (*text, np.zeros((2, 2)), "text", 5, {"a": 1}):
        with pytest.raises(ParameterError):
            NUMERIC[name](column, epsilon=1)


def test_every_kind_of_column_says_the_same():
    values = [1.5, 2.5, 11.0, -4.0]
    strong = {"epsilon": 500, "lower": 0, "upper": 10, "grid": "0.5"}
    for column in (values, np.array(values), pa.array(values), pd.Series(values), pl.Series(values), tuple(values)):
        assert stats.sum(column, **strong).value == 14
        assert stats.count(column, epsilon=500).value == 4


def test_the_grid_follows_the_declared_type_and_never_the_records():
    """Threat 10: neighbours must have the same possible answers."""
    from dither.stats.columns import read_grid

    declared = [
        np.array([1, 2]),
        np.array([], np.uint8),
        np.ma.masked_array([1, 2], [True, False]),
        pl.Series([1, None]),
        pl.Series([1]),
        pa.array([None, 1]),
        pa.chunked_array([[1], [2]]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, 2], dtype="UInt8"),
        pd.Series([1, None], dtype="int64[pyarrow]"),
    ]
    for column in declared:
        assert read_grid(column, 0, 10, None, 30).step == 1
    other = ([1, 2], [], [1, None], [1.5], np.array([1.0]), ["a"], pl.Series([1.0]), pa.array([1.5]))
    # One missing record turns whole numbers of pandas into floats.
    pandas = [pd.Series(x) for x in ([1, 2], [1, None], [None, None], [1.5])] + [pd.Index([1, 2])]
    assert {read_grid(column, 0, 10, None, 30).step for column in (*other, *pandas)} == {Fraction(1, 2**27)}
    assert {read_grid(column, 0, 10, 1, 30).step for column in (*other, *pandas, *declared)} == {1}


def test_a_missing_record_of_pandas_does_not_show_in_the_answer():
    for column in (pd.Series([3] * 9), pd.Series([3] * 8 + [None])):
        answers = [stats.sum(column, epsilon=1, **BOUNDS).exact for _ in range(20)]
        assert any(answer.denominator > 1 for answer in answers)
        assert stats.median(column, epsilon=1, **BOUNDS).method == "Quantile"


def test_missing_values_are_left_out_or_are_the_lower_bound():
    column = [8.0, None, math.nan, 6.0]
    assert stats.mean(column, lower=2, upper=10, epsilon=500, grid="0.5").value == pytest.approx(7, abs=0.01)
    kept = stats.mean(column, lower=2, upper=10, epsilon=500, grid="0.5", relation="replace")
    assert kept.value == pytest.approx(4.5, abs=0.01)
    assert stats.count(column, epsilon=500).value == 2
    assert stats.count([True, False, None, True, 5], epsilon=500).value == 3
    assert stats.count(np.array([True, False, True]), epsilon=500).value == 2


PRESENT = {  # the records, and how many are neither missing nor False
    "text": (["a", "", None, "False", "nan"], 4),
    "booleans": ([True, False, None, True], 2),
    "numbers": ([1.5, 0.0, math.nan, None, -math.inf], 3),
    "whole numbers": ([0, 1, None, 5], 3),
    "dates": ([datetime.date(2020, 1, 1), None], 1),
    "times": ([datetime.datetime(2020, 1, 1, 5), None], 1),
    "decimals": ([Decimal("1.5"), None, Decimal(0)], 2),
}


@pytest.mark.parametrize("name", PRESENT)
def test_every_kind_of_column_counts_the_same(name):
    records, there = PRESENT[name]
    full = [record for record in records if record is not None]
    for kind in (
        list,
        tuple,
        lambda x: np.array(x, object),
        pd.Series,
        pl.Series,
        pa.array,
        lambda x: pa.chunked_array([x]),
    ):
        assert stats.count(kind(records), epsilon=500).value == there
        assert stats.count(kind(full), epsilon=500).value == there
    assert stats.count(np.array(full), epsilon=500).value == there
    assert stats.count(pd.Series(records, dtype=object), epsilon=500).value == there
    assert stats.count(pd.Series(records).convert_dtypes(), epsilon=500).value == there


def test_records_of_any_kind_are_counted_unless_they_are_missing_or_false():
    missing = [
        None,
        math.nan,
        np.nan,
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        complex("nan"),
        pd.NA,
        pd.NaT,
    ]
    missing += [False, np.bool_(False), np.datetime64("NaT"), np.timedelta64("NaT")]
    there = [True, np.bool_(True), 0, 0.0, np.int8(0), "", b"", [], {}, (), object(), 1j, Fraction(0), np.array([1, 2])]
    assert stats.count(missing, epsilon=500).value == 0
    assert stats.count(missing + there, epsilon=500).value == len(there)
    assert stats.count(np.array(["NaT", "2020-01-01"], "M8[D]"), epsilon=500).value == 1
    assert stats.count(np.ma.masked_array([1, 2, 3], [True, False, False]), epsilon=500).value == 2
    assert stats.count(pd.Series(["a", None, "a"], dtype="category"), epsilon=500).value == 2
    assert stats.reciprocal(["a", "b", None], epsilon=500).value == 0.5


def test_a_bought_interval_counts_the_records_that_have_a_rank():
    """Text has no rank, False has one."""
    data = [False] * 3000 + ["text"] * 6000 + [True] * 3000 + [5] * 3000
    found = [stats.quantile(data, "0.5", epsilon=5, interval=True, grid=1, **BOUNDS).interval() for _ in range(4)]
    assert found == [(1, 1)] * 4


def test_choices_have_no_interval_and_no_scale():
    for name in ("mode", "top_k", "model_selection", "median", "quantiles", "listed median", "listed quantiles"):
        estimate = EVERY[name](GOOD, epsilon=1)
        with pytest.raises(NotPublic):
            estimate.interval()
        with pytest.raises(NotPublic):
            estimate.scale  # noqa: B018
    with pytest.raises(NotPublic):
        stats.trimmed_mean(GOOD, "0.1", epsilon=1, **BOUNDS).interval()
    with pytest.raises(NotPublic):
        stats.reciprocal(GOOD, epsilon=1, at_least=2, method="smooth").interval()
    assert stats.trimmed_mean(GOOD, "0.1", rho=1, **BOUNDS).guarantee.zcdp().rho == 1


def test_a_bought_interval_is_not_shown_at_a_higher_confidence():
    options = {"interval": True, "confidence": "0.9", "epsilon": 1}
    for bought in (
        stats.median(GOOD, **options, **BOUNDS),
        stats.quantiles(GOOD, ["0.2", "0.5"], **options, **BOUNDS),
        stats.median(GOOD, candidates=[1, 3], **options),
        stats.trimmed_mean(GOOD, "0.1", **options, **BOUNDS),
        stats.reciprocal(GOOD, at_least=2, method="smooth", **options),
    ):
        assert bought.interval("0.5") == bought.interval("0.9")
        with pytest.raises(ParameterError):
            bought.interval("0.95")


def test_the_method_is_chosen_from_public_parameters_only():
    for data in (GOOD, [0] * 5, [math.nan] * 5):
        assert stats.median(data, epsilon=1, relation="replace", **BOUNDS).method == "Quantile"
        many = list(data) * 20
        assert stats.median(many, epsilon=14, relation="replace", **BOUNDS).method == "SmoothStudentT"
        assert stats.median(many, epsilon="13.9", relation="replace", **BOUNDS).method == "Quantile"
        assert stats.median(data, epsilon=14, relation="replace", **BOUNDS).method == "Quantile"
        assert stats.median(many, epsilon=14, **BOUNDS).method == "Quantile"
        assert stats.quantile(many, "0.99", epsilon=14, relation="replace", **BOUNDS).method == "Quantile"
        assert stats.median(data, epsilon=1, grid=1, **BOUNDS).method == "PermuteAndFlip"
        assert stats.median(data, rho=1, grid=1, **BOUNDS).method == "Quantile"
        assert stats.median(many, epsilon=14, relation="replace", candidates=[1, 2]).method == "ListedQuantile"
        assert stats.sum(data, epsilon=1, delta="1e-6", **BOUNDS).method == "Laplace"
        assert stats.histogram(data, categories=[1, 2], rho=1).method == "Gaussian"


def test_what_a_method_needs_is_said():
    with pytest.raises(ParameterError):
        stats.median(GOOD, method="smooth", epsilon=1, **BOUNDS)
    with pytest.raises(ParameterError):
        stats.median(GOOD, method="smooth", rho=1, relation="replace", **BOUNDS)
    with pytest.raises(ParameterError):
        stats.median(GOOD, method="other", epsilon=1, **BOUNDS)
    with pytest.raises(ParameterError, match="4096"):
        stats.median(GOOD, method="flip", epsilon=1, **BOUNDS)
    with pytest.raises(ParameterError):
        stats.median(GOOD, method="flip", epsilon=1, grid=1, interval=True, **BOUNDS)
    for either in ({"lower": 0}, {"upper": 9}, {"grid": 1}):
        with pytest.raises(ParameterError, match="takes the place"):
            stats.median(GOOD, candidates=[1, 2], epsilon=1, **either)
        with pytest.raises(ParameterError, match="takes the place"):
            stats.quantiles(GOOD, ["0.5"], candidates=[1, 2], epsilon=1, **either)
    for wrong in ([], [1, 1], [1, math.nan], ["a"], 5):
        with pytest.raises(ParameterError):
            stats.median(GOOD, candidates=wrong, epsilon=1)
    with pytest.raises(ParameterError, match="leave it out"):
        stats.median(GOOD, candidates=[1, 2], method="smooth", epsilon=1, relation="replace")
    with pytest.raises(ParameterError, match="delta"):
        stats.mode(GOOD, categories=[1, 2], method="stable", epsilon=1)
    with pytest.raises(ParameterError, match="at_least"):
        stats.reciprocal(GOOD, method="smooth", epsilon=1)
    with pytest.raises(ParameterError):
        stats.trimmed_mean(GOOD, "0.5", epsilon=1, **BOUNDS)
    with pytest.raises(RelationMismatch):
        stats.trimmed_mean(GOOD, "0.1", epsilon=1, relation="add_remove", **BOUNDS)
    with pytest.raises(ParameterError):
        stats.histogram(GOOD, epsilon=1)
    with pytest.raises(ParameterError):
        stats.histogram(GOOD, edges=[2, 1], epsilon=1)
    with pytest.raises(ParameterError):
        stats.histogram(GOOD, categories=[1, 1], epsilon=1)
    with pytest.raises(ParameterError):
        stats.ratio([True], [True, False], epsilon=1)
    with pytest.raises(ParameterError):
        stats.vote(np.array([[1, 0]]), candidates=["a"], epsilon=1)
    with pytest.raises(ParameterError):
        stats.mode(np.zeros((2, 2)), categories=[0], epsilon=1)


def test_ballots_are_read_row_by_row():
    rows = [[1, 0], [1, 0], [1], "ab", None, ["x", None], [True, False], [1, 0, 1], (1, 0)]
    for relation in RELATIONS:
        for price in PRICES:
            assert stats.vote(rows, candidates="ab", relation=relation, **price).value in "ab"
    assert stats.vote(rows, candidates="ab", epsilon=200).value == "a"
    assert stats.vote([], candidates="ab", epsilon=1).value in "ab"
    assert stats.vote(np.array([[0, 1]] * 9), candidates="ab", epsilon=200).value == "b"


def test_every_kind_of_ballots_says_the_same():
    table = [[0, 1, 0]] * 7 + [[1, 1, 0]] * 3 + [[0, 0, 1]] * 2
    frame = pd.DataFrame(table, columns=["x", "y", "z"])
    kinds = [
        table,
        [np.array(row) for row in table],
        [np.array(row, bool) for row in table] + [np.array([1, 0]), np.zeros((3, 1))],
        np.array(table),
        np.array(table, object),
        np.array(table, bool),
        frame,
        frame[["z", "y", "x"]],  # by name
        frame.astype(bool),
        frame.astype("Int64"),
        frame.set_axis([10, 11, 12], axis=1),  # in order
        pa.Table.from_pandas(frame),
        pl.DataFrame(table, schema=["x", "y", "z"], orient="row"),
        pl.DataFrame([[None, True, False]] * 5, schema=["x", "y", "z"], orient="row"),
    ]
    for ballots in kinds:
        assert stats.vote(ballots, candidates="xyz", epsilon=200).value == "y"
    skewed = frame[["y", "x", "z"]]
    assert stats.vote(skewed, candidates="xyz", epsilon=200).value == "y"
    for wrong in (
        frame[["x", "y"]],
        pa.table({"x": [1]}),
        np.zeros(3),
        frame["x"],
        "abc",
        5,
    ):
        with pytest.raises(ParameterError):
            stats.vote(wrong, candidates="xyz", epsilon=1)


def test_stable_choices():
    clear = ["a"] * 100 + ["b"] * 3
    chosen = stats.mode(clear, categories=["a", "b"], epsilon=1, delta="1e-6", method="stable")
    assert chosen.value == "a"
    assert stats.mode(["a"], categories=["a", "b"], epsilon=1, delta="1e-9", method="stable").value is dt.REFUSED
    top = stats.top_k(clear, 1, categories=["b", "a"], epsilon=1, delta="1e-6", method="stable")
    assert top.value == ["a"]
