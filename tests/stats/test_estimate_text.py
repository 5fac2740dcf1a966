"""How estimates read: statistic, value, error and price on one line; several numbers as a table in a notebook."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dither as dt
from dither.stats.estimate import Estimate

PRICE = dt.PureDP("0.5")


def estimate(value, ends=None, **stated):
    bounds = None if ends is None else lambda _: ends
    return Estimate(value, PRICE, "Laplace", value, bounds, statistic="mean", **stated)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (estimate(42.125, (41.875, 42.375)), "mean 42.12 ± 0.26 (95%), epsilon 0.5"),
        (estimate(20001, (19995, 20007)), "mean 20,001 ± 6 (95%), epsilon 0.5"),
        (estimate(40.5), "mean 40.5, epsilon 0.5"),
        (estimate(4.0, (3.0, 9.0)), "mean 4, 95% in [3, 9], epsilon 0.5"),
        (estimate(4.0, (3.0, float("inf"))), "mean 4, 95% in [3, ∞], epsilon 0.5"),
        (estimate(4.0, (3.0, 9.0), confidence=Fraction(9, 10)), "mean 4, 90% in [3, 9], epsilon 0.5"),
        (
            estimate({"a": 5, "b": 7}, ({"a": 1, "b": 3}, {"a": 9, "b": 11})),
            "mean [a: 5, b: 7] ± 4 (95% together), epsilon 0.5",
        ),
        (estimate((1, 5), ((0, 2), (3, 9))), "mean [1 (0 to 3), 5 (2 to 9)], epsilon 0.5"),
        (estimate(tuple(range(12))), "mean [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 2 more], epsilon 0.5"),
        (estimate("red"), "mean red, epsilon 0.5"),
        (estimate(dt.REFUSED), "mean REFUSED, epsilon 0.5"),
        (estimate(True), "mean True, epsilon 0.5"),
    ],
)
def test_one_line(made, shown):
    assert repr(made) == shown


def test_a_notebook_has_a_table_of_several_numbers():
    made = estimate({"<b>": 5, "c": 7}, ({"<b>": 1, "c": 3}, {"<b>": 9, "c": 11}))
    assert "<td>&lt;b&gt;</td><td>5</td><td>1 to 9</td>" in made._repr_html_()
    assert estimate(5)._repr_html_() == "<span>mean 5, epsilon 0.5</span>"


@pytest.mark.parametrize("name", sorted(set(dt.stats.__all__) - {"Estimate", "linear_regression"}))
def test_every_statistic_bears_its_name(name):
    given = {
        "histogram": {"categories": ["a"]},
        "mode": {"categories": ["a"]},
        "top_k": {"k": 1, "categories": ["a"]},
        "vote": {"candidates": ["a"]},
        "model_selection": {"models": ["a"]},
        "ratio": {"whole": [True, True]},
        "reciprocal": {"at_least": 1},
        "quantile": {"q": "0.5", "lower": 0, "upper": 10},
        "quantiles": {"q": ["0.5"], "lower": 0, "upper": 10},
        "trimmed_mean": {"trim": "0.1", "lower": 0, "upper": 10},
        "count": {},
        "bounds": {},
    }.get(name, {"lower": 0, "upper": 10})
    records = ["a", "a"] if name in ("mode", "top_k", "vote", "model_selection", "histogram") else [True, True]
    assert repr(getattr(dt.stats, name)(records, epsilon=1, **given)).startswith(f"{name} ")


def test_graph_statistics_bear_theirs():
    assert repr(dt.graph.edges([(0, 1)], vertices=3, epsilon=1)).startswith("edges ")


def test_a_bought_interval_is_shown_at_its_own_confidence():
    bought = dt.stats.median(range(100), lower=0, upper=100, epsilon=1, interval=True, confidence="0.9")
    assert ", 90% in [" in repr(bought)
    assert bought.interval() == bought.interval("0.9")
    with pytest.raises(dt.ParameterError, match=r"bought at confidence 0\.9"):
        bought.interval("0.95")
