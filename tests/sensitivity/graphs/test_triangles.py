"""Triangles against the definition on all small graphs, and against dense matrices on larger ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.sensitivity import brute_force, triangles
from dither.sensitivity.graphs import common_neighbours
from dither.sensitivity.graphs.graph import Graph


@pytest.mark.parametrize("vertices", [3, 4])
def test_every_graph(vertices, beta, count_triangles):
    count = count_triangles(vertices)
    space = brute_force.Space(count, vertices, "edge")
    for graph in brute_force.datasets(vertices, 0, "edge"):
        table = list(graph)
        reaches = [space.reach(graph, k) for k in range(2 * vertices)]
        assert [triangles.reach(table, k, vertices=vertices) for k in range(2 * vertices)] == reaches
        smooth = space.smooth(graph, beta)
        assert triangles.with_smooth(table, beta, vertices=vertices) == (count(graph), smooth)
        assert triangles.smooth(table, beta, vertices=vertices) == smooth


def test_five_vertices(count_triangles):
    """All 34 kinds of graph on 5 vertices, as the 1024 graphs fall into kinds by relabelling."""
    space, seen = brute_force.Space(count_triangles(5), 5, "edge"), set()
    for graph in brute_force.datasets(5, 0, "edge"):
        if graph in seen:
            continue
        for relabel in itertools.permutations(range(5)):
            seen.add(frozenset(tuple(sorted((relabel[u], relabel[v]))) for u, v in graph))
        table = list(graph)
        assert triangles.value(table, vertices=5) == space.value(graph)
        assert triangles.local(table, vertices=5) == space.local(graph)
        assert [triangles.reach(table, k, vertices=5) for k in range(6)] == [space.reach(graph, k) for k in range(6)]
        for bound in (0, 1, "1.5", 2, 3):
            assert triangles.distance(table, bound, vertices=5) == space.distance_beyond(graph, bound)


def test_local_sensitivity_moves_by_at_most_one(count_triangles):
    space = brute_force.Space(count_triangles(4), 4, "edge")
    moved = brute_force.global_(space.local, 4, neighbours="edge")
    assert moved.l1 == 1


def test_the_largest_degree_is_only_an_upper_bound():
    """A star of 9 rays: any two rays share one neighbour, the centre has degree 9."""
    star = [(0, ray) for ray in range(1, 10)]
    assert triangles.local(star, vertices=10) == 1


def dense_reach(adjacency, s):
    """The formula over all pairs, from the squared matrix."""
    n = len(adjacency)
    common = adjacency @ adjacency
    degree = adjacency.sum(axis=0)
    i, j = np.triu_indices(n, 1)
    a = common[i, j]
    single = degree[i] + degree[j] - 2 * adjacency[i, j] - 2 * a
    return int(np.minimum(a + (s + np.minimum(s, single)) // 2, n - 2).max())


def random_graphs():
    rng = np.random.default_rng(5)
    for n in (3, 7, 40, 120):
        for density in (0.0, 0.02, 0.2, 0.7, 1.0):
            yield np.triu(rng.random((n, n)) < density, 1)
        weight = np.arange(1, n + 1) ** -0.8
        yield np.triu(rng.random((n, n)) < 3 * np.outer(weight, weight), 1)
    star = np.zeros((30, 30), dtype=bool)
    star[0, 1:] = True
    yield star


@pytest.mark.parametrize("block", [1, 50, 2_000_000])
def test_larger_graphs_block_by_block(block, monkeypatch):
    monkeypatch.setattr(common_neighbours, "_BLOCK", block)
    monkeypatch.setattr(common_neighbours, "_FIRST_ROWS", 1 if block == 1 else 32)
    for upper in random_graphs():
        n, full = len(upper), (upper | upper.T).astype(np.int64)
        graph = Graph.read(np.argwhere(upper), n)
        assert triangles.value(graph) == np.trace(full @ full @ full) // 6
        for s in (0, 1, 2, 5, n // 2, n, 3 * n):
            assert triangles.reach(graph, s) == dense_reach(full, s)


def test_smooth_on_a_larger_graph():
    rng = np.random.default_rng(8)
    upper = np.triu(rng.random((60, 60)) < 0.2, 1)
    full = (upper | upper.T).astype(np.int64)
    for beta in (0.02, 0.1, 1.0):
        plain = max(dense_reach(full, s) * math.exp(-beta * s) for s in range(130))
        assert float(triangles.smooth(np.argwhere(upper), str(beta), vertices=60)) == pytest.approx(plain, rel=1e-12)


def test_refusals():
    for vertices in (0, 2, -1, 1.5, True):
        with pytest.raises(ValueError, match="vertices"):
            triangles.smooth([], 1, vertices=vertices)
    with pytest.raises(ValueError, match="beta"):
        triangles.with_smooth([], 0, vertices=5)
    with pytest.raises(ValueError, match="proposed bound"):
        triangles.distance([], -1, vertices=5)
    assert triangles.distance([], 3, vertices=5) == math.inf
