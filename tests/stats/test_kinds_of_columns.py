"""The type of a column is public: text and tables are refused by it, and ballots are understood by it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dt
from dither.errors import ParameterError

BOUNDS = {"lower": 0, "upper": 10, "epsilon": 1}
OF_NUMBERS = {
    "sum": lambda x: dt.stats.sum(x, **BOUNDS),
    "mean": lambda x: dt.stats.mean(x, **BOUNDS),
    "variance": lambda x: dt.stats.variance(x, **BOUNDS),
    "std": lambda x: dt.stats.std(x, **BOUNDS),
    "median": lambda x: dt.stats.median(x, **BOUNDS),
    "quantiles": lambda x: dt.stats.quantiles(x, ["0.5"], **BOUNDS),
    "trimmed_mean": lambda x: dt.stats.trimmed_mean(x, "0.1", **BOUNDS),
    "histogram": lambda x: dt.stats.histogram(x, edges=[0, 5, 10], epsilon=1),
    "ratio": lambda x: dt.stats.ratio(x, x, epsilon=1),
    "linear_regression": lambda x: dt.stats.linear_regression(
        [x], x, x_bounds=[(0, 10)], y_bounds=(0, 10), epsilon=1, delta="1e-6"
    ),
}
WORDS = ["1", "2", None]
OF_TEXT = {
    "numpy": np.array(["1", "2"]),
    "pandas": pd.Series(WORDS, dtype="str"),
    "pandas string": pd.Series(WORDS, dtype="string"),
    "pandas arrow": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": pd.Series(WORDS, dtype="category"),
    "polars": pl.Series(WORDS),
    "polars without nulls": pl.Series(["1", "2"]),
    "arrow": pa.array(WORDS),
    "arrow without nulls": pa.chunked_array([["1", "2"]]),
    "arrow labels": pa.array(WORDS).dictionary_encode(),
    "dates": pa.array([None], pa.date32()),
}
ACCEPTED = {
    "pandas objects": pd.Series(["1", 2, None], dtype=object),
    "pandas nullable": pd.Series([1, None], dtype="Int64"),
    "pandas bool": pd.Series([True, None], dtype="boolean"),
    "pandas arrow": pd.Series([1.5, None], dtype="double[pyarrow]"),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([1.0, 0.0])),
    "polars decimal": pl.Series([1, None]).cast(pl.Decimal(10, 2)),
    "polars nulls": pl.Series([None, None]),
    "arrow decimal": pa.array([1, None]).cast(pa.decimal128(38, 2)),
    "arrow codes": pa.array([1, 2, 1]).dictionary_encode(),
    "arrow float": pa.array([1.5, None], pa.float32()),
    "list": ["1", 2, None],
}


@pytest.mark.parametrize("column", OF_TEXT)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_text_is_refused_by_its_type(name, column):
    with pytest.raises(ParameterError, match=r"type|booleans"):
        OF_NUMBERS[name](OF_TEXT[column])


@pytest.mark.parametrize("column", ACCEPTED)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_and_objects_are_not(name, column):
    OF_NUMBERS[name](ACCEPTED[column])


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})],
    ids=["pandas", "polars", "arrow"],
)
def test_a_table_is_no_column(name, table):
    with pytest.raises(ParameterError, match=r'one column of it, such as table\["age"\]'):
        OF_NUMBERS[name](table)
    for call in (
        lambda x: dt.stats.count(x, epsilon=1),
        lambda x: dt.stats.mode(x, categories=["a"], epsilon=1),
    ):
        with pytest.raises(ParameterError, match="whole table"):
            call(table)


def test_std_is_the_root_of_the_variance():
    found = dt.stats.std([0, 10] * 5000, lower=0, upper=10, epsilon=100)
    low, high = found.interval("0.99")
    assert low <= 5 <= high
    assert math.isclose(found.value, 5, abs_tol=0.05)
    assert found.value == math.sqrt(float(found.exact))
    with pytest.raises(dt.NotPublic):
        found.scale  # noqa: B018 - reading it is the point


def test_intervals_have_names():
    def cells(**labels):
        return list(dt.stats.histogram([1, 2], edges=[0, 18, "64.5", 100], epsilon=1, **labels).value)

    assert cells() == [0, 1, 2]
    assert cells(labels="intervals") == ["[0, 18)", "[18, 64.5)", "[64.5, 100]"]
    assert cells(labels=["young", "adult", "old"]) == ["young", "adult", "old"]
    near = dt.stats.histogram([1], edges=[0, "1.0000001", "1.0000002"], labels="intervals", epsilon=1)
    assert len(near.value) == 2
    for wrong in (["young"], ["a", "a", "b"], "abc"):
        with pytest.raises(ParameterError, match="3 intervals"):
            cells(labels=wrong)
    with pytest.raises(ParameterError, match="their own names"):
        dt.stats.histogram(["a"], categories=["a"], labels=["b"], epsilon=1)


CANDIDATES = ["a", "b", "c"]
BALLOTS = {
    "0 and 1": [[0, 1, 0], [1, 1, 0]],
    "array": np.array([[0, 1, 0], [1, 1, 0]]),
    "pandas by name": pd.DataFrame({"b": [1, 1], "a": [0, 1], "c": [0, 0]}),
    "polars by name": pl.DataFrame({"b": [1, 1], "a": [0, 1], "c": [0, 0]}),
    "arrow in order": pa.table({"x": [0, 1], "y": [1, 1], "z": [0, 0]}),
    "names": ["b", "b", "a"],
    "column of names": np.array(["b", "b", "a"]),
    "pandas names": pd.Series(["b", "b", None, "a"]),
    "polars names": pl.Series(["b", "b", None, "a"]),
    "arrow names": pa.array(["b", "b", None, "a"]),
    "lists": [["b"], ["a", "b"]],
    "lists as long as the candidates": [["b", "b", "b"], ["a", "b", "nobody"]],
    "arrow lists": pa.array([["b"], ["a", "b"], None]),
    "polars lists": pl.Series([["b"], ["a", "b"]]),
    "sets": [{"b"}, {"a", "b"}],
    "dicts": [{"a": 0, "b": 1}, {"a": 1, "b": True, "c": 0}],
    "array of names": np.array([["b", None], ["a", "b"]], object),
}


@pytest.mark.parametrize("form", BALLOTS)
def test_ballots_of_every_form_elect_the_same(form):
    for _ in range(3):
        assert dt.stats.vote(BALLOTS[form], candidates=CANDIDATES, epsilon=1000).value == "b"


def test_a_person_likes_a_candidate_once_at_most():
    from dither.stats.ballots import likes

    assert likes([["a"] * 10, {"a"}, "a"], CANDIDATES).tolist() == [3, 0, 0]
    assert likes([None, 7, [1], [[1]], {"a": "1"}, b"a", object()], CANDIDATES).tolist() == [0, 0, 0]
    assert likes([2, 2, 3], [1, 2, 3]).tolist() == [0, 2, 1]
    assert likes([[1, 0, 1]], [1, 2, 3]).tolist() == [1, 0, 1]


@pytest.mark.parametrize("ballots", [np.array([0, 1, 0]), 7, "abc", np.zeros((2, 2, 3)), {"a": 1}])
def test_what_can_be_no_ballots_is_refused_by_its_kind(ballots):
    with pytest.raises(ParameterError, match="table of 0 and 1"):
        dt.stats.vote(ballots, candidates=CANDIDATES, epsilon=1)
