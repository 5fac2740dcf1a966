"""The cost of a minimum spanning tree against the definition, on small public graphs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx
import numpy as np
import pytest

from dither.sensitivity import brute_force, mst_cost
from dither.sensitivity.graphs.cuts import adjacency, packed_forests, separable
from dither.sensitivity.graphs.weighted_graph import WeightedGraph

GRAPHS = {
    "one edge": (2, [(0, 1)], (0, 1, 3)),
    "path": (3, [(0, 1), (1, 2)], (0, 1, 3)),
    "triangle": (3, [(0, 1), (1, 2), (0, 2)], (0, 1, 2, 3)),
    "triangle with a tail": (4, [(0, 1), (1, 2), (0, 2), (2, 3)], (0, 1, 3)),
    "square": (4, [(0, 1), (1, 2), (2, 3), (3, 0)], (0, 1, 3)),
    "square with a diagonal": (4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], (0, 1, 3)),
    "complete": (4, list(itertools.combinations(range(4), 2)), (0, 3)),
}


def table(ends, weights):
    return [(u, v, weight) for (u, v), weight in zip(ends, weights, strict=True)]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_weighting(name, kruskal):
    vertices, ends, levels = GRAPHS[name]
    space = brute_force.Space(kruskal(ends, vertices), levels, "edge_weight")
    steps = range(len(ends) + 1)
    for weights in list(brute_force.datasets(levels, len(ends), "edge_weight"))[:: 1 if len(ends) < 5 else 3]:
        graph = table(ends, weights)
        assert mst_cost.value(graph, 3) == space.value(weights)
        assert mst_cost.local(graph, 3) == space.local(weights)
        assert [mst_cost.reach(graph, k, 3) for k in steps] == [space.reach(weights, k) for k in steps]
        for beta in ("0.05", "0.4", 2):
            assert mst_cost.smooth(graph, beta, 3) == space.smooth(weights, beta)
        for bound in (0, 1, "1.5", 2, "2.5", 3):
            assert mst_cost.distance(graph, bound, 3) == space.distance_beyond(weights, bound)


def test_six_weights_at_more_levels(kruskal):
    rng = np.random.default_rng(4)
    vertices, ends, _ = GRAPHS["complete"]
    levels = (0, 1, 3, 4)
    space = brute_force.Space(kruskal(ends, vertices), levels, "edge_weight")
    for _ in range(6):
        weights = tuple(rng.choice(levels, 6).tolist())
        graph = table(ends, weights)
        assert [mst_cost.reach(graph, k, 4) for k in range(7)] == [space.reach(weights, k) for k in range(7)]
        assert mst_cost.smooth(graph, "0.2", 4) == space.smooth(weights, "0.2")


def formula(ends, weights, upper, beta):
    """The maximum over edges, levels and cuts, each cut by trying all sets of edges: c_e(theta), in floats."""
    best = 0.0
    for e, level in itertools.product(range(len(ends)), sorted({*weights, upper})):
        lighter = [i for i in range(len(ends)) if i != e and weights[i] < level]
        c = next(size for size in range(len(lighter) + 1) if cut_by(ends, lighter, e, size))
        kept = min(weights[e], level)
        best = max(best, math.exp(-beta * c) * max(level - kept, kept), math.exp(-beta * (c + 1)) * level)
    return best


def cut_by(ends, edges, e, size):
    """Whether some `size` of the edges, deleted, put the ends of e apart."""
    return any(
        not joined([ends[i] for i in edges if i not in gone], *ends[e])
        for gone in map(set, itertools.combinations(edges, size))
    )


def joined(edges, source, target):
    reached, grew = {source}, True
    while grew:
        more = {v for pair in edges if reached & set(pair) for v in pair} | reached
        grew, reached = more != reached, more
    return target in reached


def test_random_graphs_equal_the_formula_over_all_cuts():
    rng = np.random.default_rng(9)
    for _ in range(12):
        n = int(rng.integers(4, 7))
        every = list(itertools.combinations(range(n), 2))
        chain = [(i, i + 1) for i in range(n - 1)]
        ends = chain + [pair for pair in every if pair not in chain and rng.random() < 0.4]
        weights = rng.integers(0, 9, len(ends)).tolist()
        graph = table(ends, weights)
        for beta in (0.1, 0.5):
            found = mst_cost.smooth(graph, str(beta), 8)
            assert float(found) == pytest.approx(formula(ends, weights, 8, beta), rel=1e-12)


def test_cuts_and_forests():
    """Complete graph on 5 vertices: 4 disjoint paths between any two, 3 without the edge itself."""
    ends = list(itertools.combinations(range(5), 2))
    graph = WeightedGraph.read(table(ends, [1] * 10), 2)
    near = adjacency(graph)
    for e, pair in enumerate(ends):
        assert [separable(near, pair, e, 1, most) for most in range(5)] == [False] * 3 + [True] * 2
        assert separable(near, pair, e, 0, 0), "no edge is that light"
    for count in (2, 5):
        for paths, forest in enumerate(packed_forests(graph, 1, count), start=1):
            assert paths <= 4 or not any(forest.root(u) == forest.root(v) for u, v in ends)


def test_a_flow_that_must_take_an_edge_back():
    """The only shortest path uses the bridge between two longer ones; both exist only if it is given up."""
    ends = [(0, 1), (1, 2), (2, 6), (6, 5), (0, 7), (7, 3), (3, 4), (4, 5), (1, 4), (0, 5)]
    graph = WeightedGraph.read(table(ends, [1] * 10), 2)
    for pair in ((0, 5), (5, 0)):
        assert not separable(adjacency(graph), pair, 9, 1, 1)
        assert separable(adjacency(graph), pair, 9, 1, 2)


def test_cuts_equal_networkx():
    rng = np.random.default_rng(12)
    for _ in range(40):
        n = int(rng.integers(4, 12))
        ends = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.5]
        graph = WeightedGraph.read(table(ends, rng.integers(0, 3, len(ends)).tolist()), 3)
        near = adjacency(graph)
        for level, e in itertools.product((0, 1, 2), range(0, len(ends), 3)):
            other = networkx.Graph()
            other.add_nodes_from(range(graph.vertices))
            light = [i for i in range(len(ends)) if graph.weights[i] <= level]
            other.add_edges_from(graph.ends[i] for i in light)
            everything = networkx.edge_connectivity(other, *graph.ends[e])
            least = everything - (e in light)  # the edge itself is one of the paths
            assert [separable(near, graph.ends[e], e, level, c) for c in range(least + 2)] == [False] * least + [
                True
            ] * 2
            for paths, forest in enumerate(packed_forests(graph, level, 4), start=1):
                if forest.root(graph.ends[e][0]) == forest.root(graph.ends[e][1]):
                    assert everything >= paths


def test_two_clusters_where_no_single_vertex_is_the_cheapest_cut():
    """Four vertices each, two roads between: raising one road leaves the other without a way around."""
    rng = np.random.default_rng(21)
    inside = list(itertools.combinations(range(4), 2))
    ends = inside + [(u + 4, v + 4) for u, v in inside] + [(0, 4), (1, 5)]
    assert mst_cost.reach(table(ends, [1] * 14), 0, 8) == 1
    assert mst_cost.reach(table(ends, [1] * 14), 1, 8) == 7
    assert mst_cost.reach(table(ends, [1] * 14), 2, 8) == 8
    assert mst_cost.distance(table(ends, [1] * 14), 6, 8) == 1
    assert mst_cost.distance(table(ends, [1] * 14), 7, 8) == 2
    for high in (2, 3, 6, 6):
        weights = rng.integers(0, high, 14).tolist()
        for beta in (0.1, 0.4):
            found = mst_cost.smooth(table(ends, weights), str(beta), 8)
            assert float(found) == pytest.approx(formula(ends, weights, 8, beta), rel=1e-12)


def test_the_third_road_takes_over_when_one_of_two_is_raised():
    inside = list(itertools.combinations(range(4), 2))
    ends = inside + [(u + 4, v + 4) for u, v in inside] + [(0, 4), (1, 5), (2, 6)]
    graph = table(ends, [3] + [0] * 13 + [5])
    assert [mst_cost.reach(graph, k, 8) for k in range(3)] == [0, 5, 8]


def test_parameters():
    graph = [(0, 1, 1)]
    for upper in (0, "inf", None):
        with pytest.raises(ValueError, match="largest weight"):
            mst_cost.smooth(graph, 1, upper)
    with pytest.raises(ValueError, match="beta"):
        mst_cost.smooth(graph, 0, 1)
    with pytest.raises(ValueError, match="k must be"):
        mst_cost.reach(graph, -1, 1)
    with pytest.raises(ValueError, match="proposed bound"):
        mst_cost.distance(graph, "nan", 1)


@pytest.mark.parametrize("beta", ["1e-300", "0.001", 700, "1e9", "1e300"])
@pytest.mark.parametrize("smallest", [0, "1e-320", 1])
def test_every_beta_has_a_smooth_bound(beta, smallest):
    """From nearly constant to nearly local, with bottlenecks down to nothing."""
    ring = [(0, 1, Fraction(smallest)), (1, 2, Fraction(smallest)), (2, 0, Fraction(smallest))]
    bound = mst_cost.smooth(ring, beta, 100)
    assert mst_cost.local(ring, 100) <= bound <= 100


def test_weights_beyond_machine_words():
    """Fractions with large denominators are compared exactly."""
    tiny = Fraction(1, 3**60)
    ring = [(0, 1, 1 + tiny), (1, 2, 2 - tiny), (2, 3, Fraction(1, 2**80)), (3, 0, 4), (0, 2, 5 - tiny)]
    coarse = [(0, 1, 1), (1, 2, 2), (2, 3, 0), (3, 0, 4), (0, 2, 5)]
    for k in range(4):
        assert abs(mst_cost.reach(ring, k, 10) - mst_cost.reach(coarse, k, 10)) < Fraction(1, 2**70)
