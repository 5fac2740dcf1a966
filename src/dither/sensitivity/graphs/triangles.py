"""The number of triangles of a graph, when one edge is private."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dither.exact.parameters import Number, non_negative, whole
from dither.neighbours import Relation
from dither.sensitivity.graphs.common_neighbours import Ranked
from dither.sensitivity.graphs.graph import Graph, GraphLike
from dither.sensitivity.norms import Sensitivity, only
from dither.sensitivity.smoothing import scan, smoothness


class Triangles:
    """Edge relation: the vertices are public, at least 3 of them, and each edge is private.

    >>> star = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
    >>> Triangles()(5).l1, Triangles().local(star, vertices=5)
    (Fraction(3, 1), Fraction(3, 1))
    """

    def __call__(self, vertices: int, relation: Relation | str = Relation.EDGE) -> Sensitivity:
        """n - 2: the new edge's ends may share all other vertices."""
        n = whole(vertices, "the number of vertices", least=3)
        return Sensitivity.scalar(n - 2, only(relation, Relation.EDGE, "Triangles belong to a graph."))

    def value(self, graph: GraphLike, *, vertices: int | None = None) -> int:
        """The number of triangles."""
        return Ranked.of(_read(graph, vertices)).triangles()

    def local(self, graph: GraphLike, *, vertices: int | None = None) -> Fraction:
        """The most common neighbours of any two vertices, adjacent or not. Itself moves by at most 1 per edge."""
        return _Reach(_read(graph, vertices)).at(0)

    def reach(self, graph: GraphLike, k: int, *, vertices: int | None = None) -> Fraction:
        """A^(k): the largest local sensitivity within k toggled edges."""
        steps = whole(k, "k", least=0)
        return _Reach(_read(graph, vertices)).at(steps)

    def smooth(self, graph: GraphLike, beta: Number, *, vertices: int | None = None) -> Fraction:
        """A beta-smooth upper bound of local sensitivity, exactly smooth as returned."""
        rate = smoothness(beta)
        return _Reach(_read(graph, vertices)).smooth(rate)

    def with_smooth(self, graph: GraphLike, beta: Number, *, vertices: int | None = None) -> tuple[int, Fraction]:
        """The number of triangles and its smooth bound, from one reading of the graph."""
        rate = smoothness(beta)
        read = _read(graph, vertices)
        ranked = Ranked.of(read)
        return ranked.triangles(), _Reach(read, ranked).smooth(rate)

    def distance(self, graph: GraphLike, bound: Number, *, vertices: int | None = None) -> int | float:
        """Toggled edges before the local sensitivity exceeds `bound`; infinite if it cannot."""
        proposed = non_negative(bound, "the proposed bound")
        return _Reach(_read(graph, vertices)).distance(proposed)


class _Reach:
    """A^(s) = max over pairs of min(a + s, floor((t + s) / 2), n - 2)."""

    def __init__(self, graph: Graph, ranked: Ranked | None = None) -> None:
        self._most = graph.vertices - 2
        self._a, self._t = (ranked or Ranked.of(graph)).frontier()

    def at(self, s: int) -> Fraction:
        s = min(s, 2 * self._most)
        return Fraction(min(int(np.max(np.minimum(self._a + s, (self._t + s) // 2))), self._most))

    def smooth(self, beta: Fraction) -> Fraction:
        return scan(self.at, beta, Fraction(self._most), 2 * self._most)

    def distance(self, bound: Fraction) -> int | float:
        if not bound < self._most:
            return math.inf
        low, high = -1, 2 * self._most  # A^(high) is the largest
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.at(middle) <= bound else (low, middle)
        return high


def _read(graph: GraphLike, vertices: int | None) -> Graph:
    read = Graph.read(graph, vertices)
    whole(read.vertices, "the number of vertices", least=3)
    return read


triangles = Triangles()
