"""Every one-call statistic and every statistic of graphs: strange data are answered or refused by their kind alone.

Whatever the records are, the call either answers or says what is wrong with a parameter, the type or the public size:
the same for other records of the same type and size, and without showing any.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import DitherError, ParameterError

CANARY = 987654321
NAMES = ["a", "b"]
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def spread(bounds):
    lower, upper = bounds
    return {"lower": lower, "upper": upper}


def regression(x, bounds, price):
    return dt.stats.linear_regression([x], x, x_bounds=[bounds], y_bounds=bounds, **price)


# How to call each with records x, declared bounds and a price.
STATISTICS = {
    "count": lambda x, _, price: dt.stats.count(x, **price),
    "bounds": lambda x, _, price: dt.stats.bounds(x, **price),
    "sum": lambda x, bounds, price: dt.stats.sum(x, **spread(bounds), **price),
    "mean": lambda x, bounds, price: dt.stats.mean(x, **spread(bounds), **price),
    "variance": lambda x, bounds, price: dt.stats.variance(x, **spread(bounds), **price),
    "std": lambda x, bounds, price: dt.stats.std(x, **spread(bounds), **price),
    "median": lambda x, bounds, price: dt.stats.median(x, **spread(bounds), **price),
    "quantile": lambda x, bounds, price: dt.stats.quantile(x, "0.1", **spread(bounds), **price),
    "quantiles": lambda x, bounds, price: dt.stats.quantiles(x, ["0.1", "0.9"], **spread(bounds), **price),
    "histogram": lambda x, bounds, price: dt.stats.histogram(x, edges=list(bounds), **price),
    "trimmed_mean": lambda x, bounds, price: dt.stats.trimmed_mean(x, "0.1", **spread(bounds), **price),
    "listed median": lambda x, _, price: dt.stats.median(x, candidates=[0, 2, 5], **price),
    "listed quantiles": lambda x, _, price: dt.stats.quantiles(x, ["0.1", "0.9"], candidates=[0, 2, 5], **price),
    "reciprocal": lambda x, _, price: dt.stats.reciprocal(x, **price),
    "ratio": lambda x, _, price: dt.stats.ratio(x, x, **price),
    "linear_regression": regression,
    "mode": lambda x, _, price: dt.stats.mode(x, categories=NAMES, **price),
    "top_k": lambda x, _, price: dt.stats.top_k(x, 1, categories=NAMES, **price),
    "model_selection": lambda x, _, price: dt.stats.model_selection(x, models=NAMES, **price),
    "vote": lambda x, _, price: dt.stats.vote([[one, one] for one in x], candidates=NAMES, **price),
}
BOUNDED = {
    "sum",
    "mean",
    "variance",
    "std",
    "median",
    "quantile",
    "quantiles",
    "histogram",
    "trimmed_mean",
    "linear_regression",
}
PRICE = {
    "linear_regression": {"epsilon": 1, "delta": "1e-6"},
    "trimmed_mean": {"epsilon": 1, "relation": "replace"},
}
GRAPHS = {
    "edges": lambda graph: dt.graph.edges(graph, vertices=4, epsilon=1),
    "max_degree": lambda graph: dt.graph.max_degree(graph, vertices=4, epsilon=1),
    "triangles": lambda graph: dt.graph.triangles(graph, vertices=4, epsilon=1),
    "mst_cost": lambda graph: dt.graph.mst_cost(
        [(u, v, graph[i % len(graph)] if graph else 0) for i, (u, v) in enumerate(RING)], epsilon=1, max_weight=10
    ),
}
DATA = {
    "nan": [math.nan, 3.0, math.nan, math.nan],
    "only nan": np.full(4, math.nan),
    "empty": [],
    "empty array": np.array([]),
    "one": [3],
    "all equal": [7, 7, 7, 7],
    "outside": [-5, CANARY, 10**400, -(10**400)],
    "infinite": [math.inf, -math.inf, 1.0, 2.0],
    "strings": ["a", "b", str(CANARY), "1"],
    "anything": [None, True, Decimal("nan"), Fraction(CANARY, 2)],
    "objects": np.array([None, "x", 10**400, 2.5], object),
}
WRONG_BOUNDS = [
    (10, 0),
    (3, 3),
    (math.nan, 1),
    (0, math.inf),
    (0, 10**400),
    ("a", "b"),
    (True, 5),
    (None, math.nan),
]


def outcome(call, *given):
    """How it ended, without the numbers."""
    try:
        return type(call(*given)).__name__
    except DitherError as refused:
        return f"{type(refused).__name__}: {refused}"


def test_every_statistic_is_listed():
    assert {name for name in STATISTICS if not name.startswith("listed")} == set(dt.stats.__all__) - {"Estimate"}
    assert set(GRAPHS) == set(dt.graph.__all__) - {"BoundedEstimate", "Estimate"}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", STATISTICS)
def test_strange_data_end_as_ordinary_data_of_the_same_size(name, data):
    strange = DATA[data]
    ordinary = type(strange)([1, 2, 3, 4][: len(strange)]) if isinstance(strange, list) else np.full(len(strange), 1.0)
    price = PRICE.get(name, {"epsilon": 1})
    ended = outcome(STATISTICS[name], strange, (0, 10), price)
    assert ended == outcome(STATISTICS[name], ordinary, (0, 10), price)
    if len(strange) > 1:
        assert not ended.startswith(("ParameterError", "RelationMismatch"))


@pytest.mark.parametrize("bounds", WRONG_BOUNDS, ids=str)
@pytest.mark.parametrize("name", sorted(BOUNDED))
def test_wrong_bounds_are_refused(name, bounds):
    with pytest.raises(ParameterError):
        STATISTICS[name]([1, 2, 3], bounds, PRICE.get(name, {"epsilon": 1}))


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", GRAPHS)
def test_strange_edges_and_weights_end_as_ordinary_ones(name, data):
    strange = list(DATA[data])
    assert not outcome(GRAPHS[name], strange).startswith("ParameterError")


def test_graphs_of_wrong_sizes_are_refused():
    for vertices in (0, -1, 2.5, True, math.nan, "4", 10**400):
        for function in (dt.graph.edges, dt.graph.max_degree, dt.graph.triangles):
            with pytest.raises(ParameterError):
                function(RING, vertices=vertices, epsilon=1)
    for most in (0, -1, math.nan, math.inf, 10**400, "a", True):
        with pytest.raises(ParameterError):
            dt.graph.mst_cost([(0, 1, 2)], epsilon=1, max_weight=most)
