"""The private number of triangles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

from dither.errors import ParameterError
from dither.exact.parameters import Number
from dither.graph.estimates import with_bound, with_interval, without_interval
from dither.graph.price import public_noise
from dither.graph.reading import GraphLike, Vertices, read_graph
from dither.mechanisms.additive.addition import check_scale
from dither.mechanisms.smooth.cauchy import SmoothCauchy
from dither.mechanisms.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.neighbours import Relation
from dither.sensitivity.graphs.triangles import triangles as sensitivity
from dither.stats.estimate import Estimate, statistic

Method = Literal["global", "smooth", "bounded"]

_COMPARED_AT = Fraction(95, 100)


@statistic
def triangles(
    graph: GraphLike,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    method: Method | None = None,
    vertices: Vertices = None,
) -> Estimate:
    """epsilon-DP, (epsilon, delta)-DP if delta is given, or rho-zCDP, under edge: how many triangles there are.

    method "smooth" adds noise in proportion to the smooth sensitivity, Cauchy for epsilon and Laplace-log-normal for
    rho; its scale and interval are not public. "bounded" (needs delta) first publishes a private bound on the local
    sensitivity, then adds Laplace noise for it; `bound`, scale and interval are public. "global" adds Laplace noise, or
    Gaussian for rho, for n - 2.

    By default "bounded" with a delta and "smooth" without; but "global" where, on a graph without any edges, the other
    would be no more accurate: then no data make it better. That depends on n, epsilon and delta only.

    Nissim, Raskhodnikova and Smith 2007; Karwa, Raskhodnikova, Smith and Yaroslavtsev 2011.

    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    >>> triangles(square, vertices=4, epsilon=500).value
    2
    """
    if method not in (None, "global", "smooth", "bounded"):
        raise ParameterError(f'method must be "global", "smooth" or "bounded"; got {method!r}.')
    if method == "bounded" and delta is None:
        raise ParameterError('"bounded" publishes a bound that may fail with probability delta: give delta=.')
    if delta is not None and (rho is not None or method in ("global", "smooth")):
        stated = "a price in rho" if rho is not None else f'"{method}"'
        raise ParameterError(f'{stated} spends no delta: leave out delta=, or take "bounded" with epsilon=.')
    read = read_graph(graph, vertices, least=3)
    n = read.vertices
    worst = public_noise(sensitivity(n), epsilon, rho)
    if delta is not None and epsilon is not None:
        bounded = BoundedLocalSensitivity(
            epsilon=epsilon, delta=delta, slope=1, ceiling=n - 2, grid=1, relation=Relation.EDGE
        )
        check_scale(Fraction(n - 2) / bounded.answer_epsilon)  # so that no published bound is too large to draw for
        # The published bound is about the local sensitivity plus the shift, so at least the shift.
        if method == "bounded" or bounded.shift / bounded.answer_epsilon < worst.scale:
            return with_bound(bounded.release(sensitivity.value(read), sensitivity.local(read)))
    elif method != "global":
        output: dict[str, Any] = {"grid": 1, "lower": 0, "upper": math.comb(n, 3), "relation": Relation.EDGE}
        smooth: SmoothNoise = (
            SmoothCauchy(epsilon=epsilon, **output)
            if epsilon is not None
            else SmoothLaplaceLogNormal(rho=rho, **output)
        )
        if method == "smooth" or _at_best(smooth, n) < worst.error(_COMPARED_AT):
            return without_interval(smooth.release(*sensitivity.with_smooth(read, smooth.beta)))
    return with_interval(worst.release(sensitivity.value(read)))


def _at_best(mechanism: SmoothNoise, n: int) -> Fraction:
    """The error with the smallest smooth sensitivity there is, that of n vertices without an edge."""
    return mechanism.spread(_COMPARED_AT) * sensitivity.smooth([], mechanism.beta, vertices=n)
