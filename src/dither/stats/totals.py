"""Count and sum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.exact.parameters import Number
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.sealed_values import seal
from dither.neighbours import Relation
from dither.stats.columns import exact_sum, present_codes, read_grid
from dither.stats.estimate import Estimate, plain, statistic
from dither.stats.kinds import number_column
from dither.stats.presence import counted
from dither.stats.price import Price
from dither.stats.private_bounds import buys_bounds


@statistic
def count(
    x: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
) -> Estimate:
    """How many records of a column, of whatever kind, are there: neither missing nor False. At the stated price.

    One record moves it by at most 1, under add_remove and under replace. The estimate is not clamped: it may be
    negative, and its interval is honest.

    >>> count([True, False, True], epsilon=1).guarantee.epsilon
    Fraction(1, 1)
    """
    price = Price.read(epsilon, delta, rho, relation)
    noise = price.noise(Fraction(1), Fraction(1), Fraction(1))
    return _released(noise, counted(x))


@statistic
@buys_bounds
def sum_(
    x: Any,
    *,
    lower: Number | None = None,
    upper: Number | None = None,
    bounds_share: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    grid: Number | None = None,
) -> Estimate:
    """The sum of a column of which each value is clamped to [lower, upper].

    One record moves it by at most max(|lower|, |upper|) under add_remove, by upper - lower under replace.
    bounds_share= buys bounds that nobody can declare with that share of the price.
    """
    price = Price.read(epsilon, delta, rho, relation)
    column = number_column(x)
    codes = read_grid(x, lower, upper, grid, 30)
    moved = max(abs(codes.first), abs(codes.last)) if price.relation is Relation.ADD_REMOVE else codes.size - 1
    noise = price.noise(moved * codes.step, (moved * codes.step) ** 2, codes.step)
    return _released(noise, exact_sum(present_codes(column, codes, price.relation)))


def _released(noise: AdditiveNoise, total: int) -> Estimate:
    release = noise.release(seal(total))

    def bounds(sure: Fraction) -> tuple[Any, Any]:
        low, high = release.interval(sure)
        return plain(low), plain(high)

    return Estimate(
        plain(release.value), noise.guarantee, type(noise).__name__, release.value, bounds, scale_=noise.scale
    )
