"""The private number of edges."""

from __future__ import annotations

from dither.exact.parameters import Number
from dither.graph.estimates import with_interval
from dither.graph.price import public_noise
from dither.graph.reading import GraphLike, Vertices, read_graph
from dither.sensitivity.graphs.edges import edges as edges_sensitivity
from dither.stats.estimate import Estimate, statistic


@statistic
def edges(
    graph: GraphLike, *, epsilon: Number | None = None, rho: Number | None = None, vertices: Vertices = None
) -> Estimate:
    """epsilon-DP or rho-zCDP under edge: how many edges there are, with a public interval.

    Laplace noise of scale 1/epsilon, or Gaussian noise of variance 1/(2 rho).

    >>> edges([(0, 1), (1, 2)], vertices=3, epsilon=100).value
    2
    """
    mechanism = public_noise(edges_sensitivity(), epsilon, rho)
    return with_interval(mechanism.release(len(read_graph(graph, vertices).first)))
