"""The private cost of a minimum spanning tree."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dither.errors import ParameterError
from dither.graph.estimates import with_interval, without_interval
from dither.graph.reading import GraphLike, read_weights
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.propose_test_release import fine_grid
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.neighbours import Relation
from dither.parameters import Number, positive
from dither.sensitivity.mst_cost import mst_cost as sensitivity
from dither.stats.estimate import Estimate

Method = Literal["global", "smooth"]

# A bound that is smoother than needed serves as well, and beyond e^100 per step nothing changes any more.
_SMOOTHEST = Fraction(100)


def mst_cost(graph: GraphLike, *, epsilon: Number, max_weight: Number, method: Method = "global") -> Estimate:
    """epsilon-DP under edge_weight: what the cheapest tree through all vertices costs. The edges are public.

    Weights are clamped to [0, max_weight] one by one; what is not a number becomes 0. The answer is a
    multiple of a power of two far below the noise; `exact` is that Fraction, `value` the nearest float.

    Every stored entry of a sparse matrix is an edge, explicit zeros too. Build it as csr_array((weights, (rows,
    columns))): made from a dense matrix, or after eliminate_zeros(), it has lost the edges of weight 0, and the edges
    that are left would tell them. Formats that lose zeros by themselves are refused.

    method "global" adds Laplace noise for the largest weight and has a public interval. "smooth" adds Cauchy noise in
    proportion to the smooth sensitivity, smaller where every edge has cheap detours; its scale is not public. A bridge
    alone makes the smooth sensitivity at least half of max_weight: then "global" is the better choice.

    >>> square = [("a", "b", 1), ("b", "c", 2), ("c", "d", 3), ("d", "a", 9)]
    >>> round(mst_cost(square, epsilon=10**4, max_weight=10).value, 1)
    6.0
    """
    if method not in ("global", "smooth"):
        raise ParameterError(f'method must be "global" or "smooth"; got {method!r}.')
    most, price = positive(max_weight, "max_weight"), positive(epsilon, "epsilon")
    grid = fine_grid(most / max(price, Fraction(1)))
    weighted = read_weights(graph)
    if method == "smooth":
        smooth = SmoothCauchy(epsilon=price, grid=grid, relation=Relation.EDGE_WEIGHT)
        beta = min(smooth.beta, _SMOOTHEST)
        bound = sensitivity.smooth(weighted, beta, most)
        return without_interval(smooth.release(sensitivity.value(weighted, most), bound))
    # The cost of exact weights is rounded to the grid, once, and the mechanism pays for that.
    worst = Laplace(epsilon=price, sensitivity=sensitivity(most), grid=grid, rounded_coordinates=1)
    return with_interval(worst.release(sensitivity.value(weighted, most)))
