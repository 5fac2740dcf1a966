"""The private largest degree."""

from __future__ import annotations

import numpy as np

from dither.graph.estimates import with_interval
from dither.graph.reading import GraphLike, read_graph
from dither.mechanisms.laplace import Laplace
from dither.parameters import Number
from dither.sensitivity.max_degree import max_degree as max_degree_sensitivity
from dither.stats.estimate import Estimate


def max_degree(graph: GraphLike, *, epsilon: Number, vertices: int | None = None) -> Estimate:
    """epsilon-DP under edge: the most edges at one vertex, with Laplace noise of scale 1/epsilon and a public interval.

    >>> max_degree([(0, 1), (1, 2)], vertices=3, epsilon=100).value
    2
    """
    mechanism = Laplace(epsilon=epsilon, sensitivity=max_degree_sensitivity())
    read = read_graph(graph, vertices)
    degrees = np.bincount(np.concatenate([read.first, read.second]), minlength=1)
    return with_interval(mechanism.release(int(degrees.max())))
