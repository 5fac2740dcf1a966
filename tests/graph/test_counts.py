"""Edges and the largest degree: Laplace noise of scale 1/epsilon with a public interval."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dither as dt

CYCLE = [(i, (i + 1) % 100) for i in range(100)]


@pytest.mark.parametrize(("statistic", "exact"), [(dt.graph.edges, 100), (dt.graph.max_degree, 2)])
def test_noise_interval_and_guarantee(statistic, exact):
    draws = 2000
    releases = [statistic(CYCLE, vertices=100, epsilon="0.5") for _ in range(draws)]
    one = releases[0]
    assert (one.scale, one.guarantee.epsilon, one.guarantee.relation) == (2, Fraction(1, 2), dt.Relation.EDGE)
    mean = sum(release.value for release in releases) / draws - exact
    q = math.exp(-0.5)
    variance = 2 * q / (1 - q) ** 2
    assert abs(mean) < 6.5 * math.sqrt(variance / draws)
    # A scale 1.3 times too small or too large moves the variance by 1.69.
    assert sum((release.value - exact) ** 2 for release in releases) / draws == pytest.approx(variance, rel=0.35)
    covered = sum(low <= exact <= high for low, high in (release.interval("0.9") for release in releases)) / draws
    assert covered > 0.9 - 6.5 * math.sqrt(0.09 / draws)


@pytest.mark.parametrize("statistic", [dt.graph.edges, dt.graph.max_degree])
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, None])
def test_refused_prices(statistic, epsilon):
    with pytest.raises(dt.ParameterError, match="epsilon"):
        statistic(CYCLE, vertices=100, epsilon=epsilon)


@pytest.mark.parametrize("vertices", [1, 2])
def test_smallest_graphs(vertices):
    graph = [(0, 1)]
    assert dt.graph.edges(graph, vertices=vertices, epsilon=500).value == vertices - 1
    assert dt.graph.max_degree(graph, vertices=vertices, epsilon=500).value == vertices - 1
