"""A connected graph with public edges and private weights in [0, upper], as exact integers over one denominator.

The topology is public, so a wrong one is refused: loops, repeated edges, several components. A weight is a record: it
is clamped, and what is not a number becomes 0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact.parameters import Number, positive
from dither.sensitivity.columns.reading import read_column
from dither.sensitivity.columns.records import clamped
from dither.sensitivity.columns.tables import table_columns
from dither.sensitivity.graphs.graph import GraphLike, is_igraph, is_networkx, refuse_directed

_FORMS = (
    "a networkx or igraph graph whose edges have a weight, a symmetric SciPy sparse matrix, "
    "or a table of edges with three columns (end, end, weight)"
)


@dataclass(frozen=True)
class WeightedGraph:
    """Edge e joins ends[e] with weight weights[e] / denominator; the bound is upper / denominator."""

    vertices: int
    ends: list[tuple[int, int]]
    weights: list[int]
    upper: int
    denominator: int

    @cached_property
    def by_weight(self) -> list[int]:
        """The edges, lightest first."""
        return sorted(range(len(self.ends)), key=self.weights.__getitem__)

    @classmethod
    def read(cls, graph: GraphLike, upper: Number) -> WeightedGraph:
        """Weights from whatever holds the graph, clamped to [0, upper]."""
        bound = positive(upper, "the largest weight")
        nodes, pairs, raw = _edges(graph)
        position: dict[Hashable, int] = {node: i for i, node in enumerate(nodes)}
        ends = [(position.setdefault(u, len(position)), position.setdefault(v, len(position))) for u, v in pairs]
        if any(u == v for u, v in ends) or len({(min(pair), max(pair)) for pair in ends}) != len(ends):
            raise ParameterError(
                "the edges hold a loop or the same edge twice; give each edge between two vertices once."
            )
        exact = [clamped(weight, Fraction(0), bound) for weight in raw]
        denominator = math.lcm(bound.denominator, *{weight.denominator for weight in exact})
        whole = [weight.numerator * (denominator // weight.denominator) for weight in exact]
        return cls(len(position), ends, whole, int(bound * denominator), denominator)


def _edges(graph: GraphLike) -> tuple[Iterable[Hashable], list[tuple[Any, Any]], list[Any]]:
    """Known vertices, ends and raw weights of every edge."""
    if is_networkx(graph):
        refuse_directed(graph.is_directed())
        found = list(graph.edges(data="weight"))
        return list(graph.nodes), [(u, v) for u, v, _ in found], [weight for _, _, weight in found]
    if is_igraph(graph):
        refuse_directed(graph.is_directed())
        weights = graph.es["weight"] if "weight" in graph.es.attributes() else [None] * graph.ecount()
        return range(graph.vcount()), list(graph.get_edgelist()), list(weights)
    if hasattr(graph, "tocoo"):
        entries = graph.tocoo()
        once = entries.row <= entries.col
        pairs = list(zip(entries.row[once].tolist(), entries.col[once].tolist(), strict=True))
        return range(graph.shape[0]), pairs, entries.data[once].tolist()
    columns = None if isinstance(graph, np.ndarray) else table_columns(graph)
    rows = graph.tolist() if isinstance(graph, np.ndarray) else graph
    if columns is not None:
        rows = list(zip(*(read_column(column).elements() for column in columns), strict=True))
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, (list, tuple)) and len(row) == 3 for row in rows):
        raise ParameterError(f"the weighted graph cannot be read; give {_FORMS}.")
    return (), [(u, v) for u, v, _ in rows], [weight for _, _, weight in rows]
