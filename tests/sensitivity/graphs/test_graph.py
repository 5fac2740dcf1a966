"""The same graph from every source; edges are records, topology of weighted graphs is public."""

from __future__ import annotations

import igraph
import networkx
import numpy as np
import pandas
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from dither.errors import ParameterError
from dither.sensitivity import mst_cost, triangles
from dither.sensitivity.graphs.graph import Graph

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]
WEIGHTS = [4.0, 1.0, 2.5, 7.0]


def pairs(graph):
    return graph.vertices, sorted(zip(graph.first.tolist(), graph.second.tolist(), strict=True))


def sources():
    rows, columns = zip(*EDGES, strict=True)
    yield networkx.Graph(EDGES)
    yield igraph.Graph(edges=EDGES)
    yield csr_array(([1] * 4, (rows, columns)), shape=(4, 4))
    yield csr_matrix(([1] * 8, (rows + columns, columns + rows)), shape=(4, 4))
    yield coo_array(([1, 1, 1, 1, 0], ((*rows, 0), (*columns, 3))), shape=(4, 4))
    yield networkx.MultiGraph([*EDGES, (1, 0)])


def tables():
    yield EDGES
    yield np.array(EDGES)
    yield np.array(EDGES, dtype=np.uint64)
    yield pandas.DataFrame(EDGES)
    yield frozenset(EDGES)
    yield [(v, u) for u, v in EDGES] + EDGES
    yield [*EDGES, (3, 3), (0, 4), (-1, 2), (0, 2**70), ("a", 1), (1.0, 2), (1, 2, 3), None, "01", (float("nan"), 1)]
    yield np.array([*EDGES, (3, 3), (0, 4), (-1, 2), (2**62, 1)])
    yield np.array([*EDGES, (2**64 - 1, 1)], dtype=np.uint64)


@pytest.mark.parametrize("source", list(sources()), ids=lambda source: type(source).__name__)
def test_graph_objects(source):
    assert pairs(Graph.read(source)) == (4, sorted(EDGES))
    assert triangles.value(source) == 1


@pytest.mark.parametrize("table", list(tables()), ids=lambda table: type(table).__name__)
def test_tables(table):
    assert pairs(Graph.read(table, 4)) == (4, sorted(EDGES))


def test_named_vertices_and_isolated_ones():
    graph = networkx.Graph([("x", "y"), ("y", "z"), ("z", "x")])
    graph.add_node("alone")
    assert pairs(Graph.read(graph)) == (4, [(0, 1), (0, 2), (1, 2)])
    assert triangles(Graph.read(graph).vertices).l1 == 2


def test_no_graph():
    for wrong in ("ab", 5, None, np.zeros((3, 3), dtype=int), np.array([[0.5, 1]]), {0: 1}):
        with pytest.raises(ParameterError, match=r"graph|table"):
            Graph.read(wrong, 4)
    with pytest.raises(ParameterError, match="vertices"):
        Graph.read(EDGES)
    with pytest.raises(ParameterError, match="square"):
        Graph.read(csr_array((3, 4)))
    for directed in (networkx.DiGraph(EDGES), igraph.Graph(edges=EDGES, directed=True)):
        with pytest.raises(ParameterError, match="directed"):
            triangles.value(directed)
        with pytest.raises(ParameterError, match="directed"):
            mst_cost.value(directed, 10)


def weighted():
    rows, columns = zip(*EDGES, strict=True)
    graph = networkx.Graph()
    graph.add_weighted_edges_from((u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True))
    yield graph
    other = igraph.Graph(edges=EDGES)
    other.es["weight"] = WEIGHTS
    yield other
    yield csr_array((WEIGHTS * 2, (rows + columns, columns + rows)), shape=(4, 4))
    yield [("abcd"[u], "abcd"[v], w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)]
    yield np.array([(u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)])
    yield pandas.DataFrame([(u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)])


@pytest.mark.parametrize("source", list(weighted()), ids=lambda source: type(source).__name__)
def test_weighted_graphs(source):
    assert mst_cost.value(source, 10) == 10.5
    assert mst_cost.local(source, 10) == 7
    assert mst_cost.value(source, 3) == 6.5, "weights are clamped"


def test_weights_are_records_and_topology_is_not():
    strange = [(0, 1, float("nan")), (1, 2, None), (2, 3, 10**400), (3, 0, "5"), (0, 2, -3)]
    assert mst_cost.value(strange, 10) == 0
    assert mst_cost.value(igraph.Graph(edges=EDGES), 10) == mst_cost.value(networkx.Graph(EDGES), 10) == 0
    for wrong in (
        [],
        [(0, 0, 1)],
        [(0, 1, 1), (1, 0, 2)],
        [(0, 1, 1), (2, 3, 1)],
        [(0, 1)],
        "abc",
        5,
        networkx.empty_graph(3),
    ):
        with pytest.raises(ParameterError, match=r"connected|twice|read"):
            mst_cost.smooth(wrong, 1, 10)
