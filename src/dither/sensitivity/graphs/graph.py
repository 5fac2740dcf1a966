"""Undirected graphs on a public set of vertices, from networkx, igraph, a SciPy sparse matrix, or a table of edges.

Edges are private records: direction and repetition carry nothing, and what is no edge between two different vertices of
0..n-1 is ignored, record by record, never an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact.parameters import whole
from dither.sensitivity.columns.tables import table_columns
from dither.sensitivity.columns.vertices import vertex_numbers

GraphLike = Any
Ints = np.ndarray[Any, np.dtype[np.int64]]

_FORMS = "a networkx or igraph graph, a square SciPy sparse matrix, or a table of edges (two columns) with vertices=n"


@dataclass(frozen=True)
class Graph:
    """n vertices 0..n-1, and each edge once as first < second."""

    vertices: int
    first: Ints
    second: Ints

    @classmethod
    def read(cls, graph: GraphLike, vertices: int | None = None) -> Graph:
        """A graph from whatever holds one; a table of edges needs the public number of vertices."""
        if isinstance(graph, Graph):
            return graph
        known, pairs = _pairs(graph, vertices)
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        real = (low >= 0) & (high < known) & (low != high)
        keys = np.unique(low[real] * known + high[real])
        return cls(known, keys // known, keys % known)


def _pairs(graph: GraphLike, vertices: int | None) -> tuple[int, Ints]:
    if is_networkx(graph):
        refuse_directed(graph.is_directed())
        position = {node: i for i, node in enumerate(graph.nodes)}
        return len(position), _table([(position[u], position[v]) for u, v in graph.edges()])
    if is_igraph(graph):
        refuse_directed(graph.is_directed())
        return int(graph.vcount()), _table(graph.get_edgelist())
    if hasattr(graph, "tocoo"):
        if graph.shape[0] != graph.shape[1]:
            raise ParameterError(f"an adjacency matrix is square; got the shape {graph.shape}.")
        entries = graph.tocoo()
        there = np.asarray(entries.data) != 0
        return int(graph.shape[0]), np.stack([entries.row[there], entries.col[there]], axis=1).astype(np.int64)
    if vertices is None:
        raise ParameterError(f"a table of edges does not say how many vertices there are: give {_FORMS}.")
    return whole(vertices, "the number of vertices", most=2**31 - 1), _table(graph)


def is_networkx(graph: GraphLike) -> bool:
    return all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed"))


def is_igraph(graph: GraphLike) -> bool:
    return all(hasattr(graph, name) for name in ("vcount", "get_edgelist", "is_directed"))


def refuse_directed(directed: bool) -> None:
    if directed:
        raise ParameterError("the graph is directed; give its undirected form.")


def _table(edges: Any) -> Ints:
    columns = None if isinstance(edges, np.ndarray) else table_columns(edges)
    if columns is not None:
        if len(columns) != 2:
            raise ParameterError(f"a table of edges has two columns of whole numbers; or give {_FORMS}.")
        return np.stack([vertex_numbers(column) for column in columns], axis=1)
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise ParameterError(f"a table of edges has two columns of whole numbers; or give {_FORMS}.")
        if edges.dtype == np.uint64:  # ids past 2^63 are outside every graph; they must not wrap around into it
            edges = np.minimum(edges, np.uint64(2**63 - 1))
        return np.asarray(edges, dtype=np.int64)
    if not isinstance(edges, (list, tuple, set, frozenset)):
        raise ParameterError(f"{type(edges).__name__} is not a graph; give {_FORMS}.")
    return np.array([pair for pair in map(_edge, edges) if pair], dtype=np.int64).reshape(-1, 2)


def _edge(record: Any) -> tuple[int, int] | None:
    if not isinstance(record, (list, tuple, np.ndarray)) or len(record) != 2:
        return None
    ends = [int(end) for end in record if isinstance(end, (int, np.integer)) and 0 <= end < 2**31]
    return (ends[0], ends[1]) if len(ends) == 2 else None
