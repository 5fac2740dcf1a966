"""The private number of edges."""

from __future__ import annotations

from dither.graph.estimates import with_interval
from dither.graph.reading import GraphLike, read_graph
from dither.mechanisms.laplace import Laplace
from dither.parameters import Number
from dither.sensitivity.edges import edges as edges_sensitivity
from dither.stats.estimate import Estimate


def edges(graph: GraphLike, *, epsilon: Number, vertices: int | None = None) -> Estimate:
    """epsilon-DP under edge: how many edges there are, with Laplace noise of scale 1/epsilon and a public interval.

    >>> edges([(0, 1), (1, 2)], vertices=3, epsilon=100).value
    2
    """
    mechanism = Laplace(epsilon=epsilon, sensitivity=edges_sensitivity())
    return with_interval(mechanism.release(len(read_graph(graph, vertices).first)))
