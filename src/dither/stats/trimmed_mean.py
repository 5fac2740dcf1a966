"""The mean without the smallest and the largest records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.errors import ParameterError
from dither.exact.parameters import Number, exact, probability
from dither.mechanisms.smooth.cauchy import SmoothCauchy
from dither.mechanisms.smooth.laplace import SmoothLaplace
from dither.mechanisms.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.neighbours import Relation
from dither.sensitivity.norms import only
from dither.sensitivity.order.trimmed_mean import trimmed_mean as trimmed_statistic
from dither.stats.columns import present_codes, public_size, read_grid
from dither.stats.estimate import Estimate, statistic
from dither.stats.kinds import number_column
from dither.stats.price import Price
from dither.stats.private_bounds import buys_bounds
from dither.stats.smooth_noise import smooth_estimate

_GRID_BITS = 30


@statistic
@buys_bounds
def trimmed_mean(
    x: Any,
    trim: Number,
    *,
    lower: Number | None = None,
    upper: Number | None = None,
    bounds_share: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.REPLACE,
    grid: Number | None = None,
    interval: bool = False,
    confidence: Number = "0.95",
) -> Estimate:
    """The mean of what is left when a share `trim` of the records is dropped at each end, at the stated price.

    Noise in proportion to the smooth sensitivity, under replace: Cauchy noise for epsilon alone, Laplace noise (which
    has a variance) for epsilon and delta, Laplace-log-normal noise for rho. The number of records is public.
    """
    price = Price.read(epsilon, delta, rho, only(relation, Relation.REPLACE, "The number of records must be public."))
    share, sure = exact(trim, "trim"), probability(confidence, "confidence")
    if not 0 <= share < Fraction(1, 2):
        raise ParameterError("trim is the share dropped at each end: at least 0 and less than 1/2.")
    column = number_column(x)
    codes = read_grid(x, lower, upper, grid, _GRID_BITS)
    size = public_size(column)
    statistic = trimmed_statistic(int(share * size))

    def mechanism(paid: Price) -> SmoothNoise:
        bounds: dict[str, Any] = {"lower": codes.first, "upper": codes.last, "relation": price.relation}
        if paid.rho is not None:
            return SmoothLaplaceLogNormal(rho=paid.rho, **bounds)
        if price.delta is None:
            return SmoothCauchy(epsilon=paid.choosing_epsilon, **bounds)
        return SmoothLaplace(epsilon=paid.choosing_epsilon, delta=price.delta, **bounds)

    records = present_codes(column, codes, price.relation)
    return smooth_estimate(
        statistic, records, price, (codes.first, codes.last), codes.step, mechanism, interval=interval, sure=sure
    )
