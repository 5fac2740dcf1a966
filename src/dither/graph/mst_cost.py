"""The private cost of a minimum spanning tree."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dither.errors import ParameterError
from dither.exact.parameters import Number, positive, sqrt_up
from dither.graph.estimates import with_interval, without_interval
from dither.graph.price import one_currency, public_noise
from dither.graph.reading import GraphLike, read_weights
from dither.mechanisms.smooth.cauchy import SmoothCauchy
from dither.mechanisms.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.mechanisms.stability.propose_test_release import fine_grid
from dither.neighbours import Relation
from dither.sensitivity.graphs.mst_cost import mst_cost as sensitivity
from dither.stats.estimate import Estimate, statistic

Method = Literal["global", "smooth"]

# A bound that is smoother than needed serves as well, and beyond e^100 per step nothing changes any more.
_SMOOTHEST = Fraction(100)


@statistic
def mst_cost(
    graph: GraphLike,
    *,
    max_weight: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    method: Method = "global",
) -> Estimate:
    """epsilon-DP or rho-zCDP under edge_weight: the cost of the cheapest tree through all vertices. Edges are public.

    Weights are clamped to [0, max_weight] one by one; what is not a number becomes 0. The answer is a
    multiple of a power of two far below the noise; `exact` is that Fraction, `value` the nearest float.

    Every stored entry of a sparse matrix is an edge, explicit zeros too. Build it as csr_array((weights, (rows,
    columns))): made from a dense matrix, or after eliminate_zeros(), it has lost the edges of weight 0, and the edges
    that are left would tell them. Formats that lose zeros by themselves are refused.

    method "global" adds Laplace noise (Gaussian for rho) for the largest weight and has a public interval. "smooth"
    adds Cauchy noise (Laplace-log-normal for rho) in proportion to the smooth sensitivity, smaller where every edge has
    cheap detours; its scale is not public. A bridge alone makes the smooth sensitivity at least half of max_weight:
    then "global" is the better choice.

    >>> square = [("a", "b", 1), ("b", "c", 2), ("c", "d", 3), ("d", "a", 9)]
    >>> round(mst_cost(square, epsilon=10**4, max_weight=10).value, 1)
    6.0
    """
    if method not in ("global", "smooth"):
        raise ParameterError(f'method must be "global" or "smooth"; got {method!r}.')
    one_currency(epsilon, rho)
    most = positive(max_weight, "max_weight")
    steepest = positive(epsilon, "epsilon") if epsilon is not None else sqrt_up(positive(rho, "rho"))  # type: ignore[arg-type]
    grid = fine_grid(most / max(steepest, Fraction(1)))
    weighted = read_weights(graph)
    if method == "smooth":
        smooth: SmoothNoise = (
            SmoothCauchy(epsilon=epsilon, grid=grid, relation=Relation.EDGE_WEIGHT)
            if epsilon is not None
            else SmoothLaplaceLogNormal(rho=rho, grid=grid, relation=Relation.EDGE_WEIGHT)
        )
        beta = min(smooth.beta, _SMOOTHEST)
        bound = sensitivity.smooth(weighted, beta, most)
        return without_interval(smooth.release(sensitivity.value(weighted, most), bound))
    # The cost of exact weights is rounded to the grid, once, and the mechanism pays for that.
    worst = public_noise(sensitivity(most), epsilon, rho, grid=grid, rounded_coordinates=1)
    return with_interval(worst.release(sensitivity.value(weighted, most)))
