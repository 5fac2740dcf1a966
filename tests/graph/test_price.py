"""Statistics of graphs at a price in rho."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither import graph
from dither.errors import ParameterError
from dither.neighbours import Relation

SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
RING = [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 0, 9)]


def test_rho_buys_gaussian_noise_with_an_interval():
    for answer, exact in (
        (graph.edges(SQUARE, vertices=4, rho=200), 5),
        (graph.max_degree(SQUARE, vertices=4, rho=200), 3),
        (graph.triangles(SQUARE, vertices=4, rho=200, method="global"), 2),
    ):
        assert answer.guarantee.rho == 200
        assert answer.guarantee.relation is Relation.EDGE
        assert answer.interval("0.999999999")[0] <= exact <= answer.interval("0.999999999")[1]
    assert float(graph.edges(SQUARE, vertices=4, rho="0.5").scale) == pytest.approx(1)
    cost = graph.mst_cost(RING, max_weight=10, rho=10**6)
    assert (cost.guarantee.rho, cost.guarantee.relation) == (10**6, Relation.EDGE_WEIGHT)
    assert cost.value == pytest.approx(6, abs=0.1)
    assert float(graph.mst_cost(RING, max_weight=10, rho="0.5").scale) == pytest.approx(10, rel=1e-4)


def test_rho_buys_smooth_noise_without_an_interval():
    for answer, exact in (
        (graph.triangles(SQUARE, vertices=4, rho=20_000, method="smooth"), 2),
        (graph.mst_cost(RING, max_weight=10, rho=500_000, method="smooth"), 6),
    ):
        assert answer.method == "smooth"
        assert answer.guarantee.rho in (20_000, 500_000)
        assert answer.value == pytest.approx(exact, abs=2)
    chosen = graph.triangles(SQUARE, vertices=4, rho=Fraction(1, 10))
    assert chosen.guarantee.rho == Fraction(1, 10)


@pytest.mark.parametrize("call", [graph.edges, graph.max_degree, graph.triangles])
def test_one_currency(call):
    for price in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(ParameterError, match="price"):
            call(SQUARE, vertices=4, **price)


def test_other_mixtures_are_refused():
    for price in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(ParameterError, match="price"):
            graph.mst_cost(RING, max_weight=10, **price)
    with pytest.raises(ParameterError, match="delta"):
        graph.triangles(SQUARE, vertices=4, rho=1, delta="1e-6")
