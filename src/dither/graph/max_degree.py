"""The private largest degree."""

from __future__ import annotations

import numpy as np

from dither.exact.parameters import Number
from dither.graph.estimates import with_interval
from dither.graph.price import public_noise
from dither.graph.reading import GraphLike, Vertices, read_graph
from dither.sensitivity.graphs.max_degree import max_degree as max_degree_sensitivity
from dither.stats.estimate import Estimate, statistic


@statistic
def max_degree(
    graph: GraphLike, *, epsilon: Number | None = None, rho: Number | None = None, vertices: Vertices = None
) -> Estimate:
    """epsilon-DP or rho-zCDP under edge: the most edges at one vertex, with a public interval.

    Laplace noise of scale 1/epsilon, or Gaussian noise of variance 1/(2 rho).

    >>> max_degree([(0, 1), (1, 2)], vertices=3, epsilon=100).value
    2
    """
    mechanism = public_noise(max_degree_sensitivity(), epsilon, rho)
    read = read_graph(graph, vertices)
    degrees = np.bincount(np.concatenate([read.first, read.second]), minlength=1)
    return with_interval(mechanism.release(int(degrees.max())))
