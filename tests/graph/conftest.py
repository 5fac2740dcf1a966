"""Small graphs in every form that can hold one."""

from __future__ import annotations

import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)]  # two triangles, the largest degree is 3
WEIGHTS = [4, 1, 2.5, 7, 9]  # the cheapest tree: 1 + 2.5 + 7
MESS = [(3, 3), (1, 0), (0, 4), (-1, 2), (0, 2**70), ("a", 1), (1.5, 2), (True, 3), (1, 2, 3), None, [[1], [3]], "13"]


def graph_objects():
    rows, columns = zip(*EDGES, strict=True)
    yield networkx.Graph(EDGES)
    yield networkx.MultiGraph([*EDGES, (1, 0), (3, 3)])
    yield igraph.Graph(edges=EDGES)
    yield csr_array(([1] * 5, (rows, columns)), shape=(4, 4))
    yield coo_array(([2.5] * 10, (rows + columns, columns + rows)), shape=(4, 4))


def tables():
    first, second = (list(ends) for ends in zip(*EDGES, strict=True))
    yield EDGES
    yield [*EDGES, *MESS]
    yield frozenset(EDGES)
    yield np.array([*EDGES, (1, 0), (3, 3), (7, 7), (-5, 1), (1, 2**62)])
    yield np.array([*EDGES, (2**64 - 3, 1)], dtype=np.uint64)
    yield np.array([*EDGES, (np.nan, 1), (np.inf, 1), (1.5, 3), (1e300, 1)])
    yield np.array([*EDGES, ("1", 3), (None, 1), (1.5, 3)], dtype=object)
    yield pa.table({"from": first, "to": second})
    yield pa.table({"from": [*first, None, 2], "to": [*second, 1, None]})
    yield pa.RecordBatch.from_pydict({"from": pa.array(first, pa.uint8()), "to": second})
    yield pandas.DataFrame({"from": first, "to": second})
    yield pandas.DataFrame({"from": [*first, None], "to": [*second, 3]})
    yield pandas.DataFrame({"from": [*first, None], "to": [*second, 3]}, dtype="Int64")
    yield polars.DataFrame({"from": first, "to": second})
    yield polars.DataFrame({"from": [*first, None], "to": [*second, 3]})


def weighted_graphs():
    rows, columns = zip(*EDGES, strict=True)
    table = [(u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)]
    graph = networkx.Graph()
    graph.add_weighted_edges_from(table)
    yield graph
    other = igraph.Graph(edges=EDGES)
    other.es["weight"] = WEIGHTS
    yield other
    yield csr_array((WEIGHTS * 2, (rows + columns, columns + rows)), shape=(4, 4))
    yield table
    yield [("abcd"[u], "abcd"[v], w) for u, v, w in table]
    yield np.array(table)
    frame = {"from": list(rows), "to": list(columns), "weight": WEIGHTS}
    yield pa.table(frame)
    yield pandas.DataFrame(frame)
    yield polars.DataFrame(frame, strict=False)


def kind(source):
    return type(source).__module__.partition(".")[0] + "_" + type(source).__name__


@pytest.fixture(params=list(graph_objects()), ids=kind)
def graph_object(request):
    return request.param


@pytest.fixture(params=list(tables()), ids=kind)
def table(request):
    return request.param


@pytest.fixture(params=list(weighted_graphs()), ids=kind)
def weighted(request):
    return request.param


@pytest.fixture
def small_edges():
    return list(EDGES)
