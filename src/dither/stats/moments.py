"""Mean, variance and standard deviation of a bounded column."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.exact.parameters import Number, power_of_two_below
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.codes import Grid
from dither.mechanisms.sealed_values import seal
from dither.neighbours import Relation
from dither.stats.columns import exact_sum, exact_sum_of_squares, present_codes, public_size, read_grid
from dither.stats.estimate import Estimate, statistic
from dither.stats.kinds import number_column
from dither.stats.price import Price
from dither.stats.private_bounds import buys_bounds

# Of the noise's scale, a grid step is at most this share: rounding adds nothing to see.
_FINE = 1 << 20
_MEAN_BITS = 30
_VARIANCE_BITS = 20
Pair = tuple[Fraction, Fraction]


@statistic
@buys_bounds
def mean(
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
    """The mean of a column of which each value is clamped to [lower, upper], at the stated price.

    Under replace the number of records is public and one record moves the mean by (upper - lower) / n. Under add_remove
    it is private: the sums of x - lower and of upper - x are released together (one record moves them by upper - lower
    in L1, wherever it is), and the mean is what follows from both; an empty column has the middle of the range.
    """
    price = Price.read(epsilon, delta, rho, relation)
    column = number_column(x)
    codes = read_grid(x, lower, upper, grid, _MEAN_BITS)
    if price.relation is Relation.REPLACE:
        return _mean_of_known_size(column, codes, price)
    width = codes.size - 1
    present = present_codes(column, codes, price.relation)
    rises = exact_sum(present - codes.first)
    noise = price.noise(Fraction(width), Fraction(width) ** 2, Fraction(1))
    release = noise.release(seal([rises, width * present.size - rises]))
    above, below = (Fraction(int(part)) for part in release.value)

    def at(up: Fraction, down: Fraction) -> Fraction:
        up, down = max(up, Fraction(0)), max(down, Fraction(0))
        share = up / (up + down) if up + down else Fraction(1, 2)
        return (codes.first + width * share) * codes.step

    def bounds(sure: Fraction) -> tuple[float, float]:
        reach = noise.error(sure, count=2)
        if above - reach <= 0 and below - reach <= 0:
            return float(codes.first * codes.step), float(codes.last * codes.step)
        return float(at(above - reach, below + reach)), float(at(above + reach, below - reach))

    value = at(above, below)
    return Estimate(float(value), noise.guarantee, type(noise).__name__, value, bounds, _TWO_SUMS)


_TWO_SUMS = "it follows from two noisy sums; ask for interval()."


def _mean_of_known_size(column: Any, codes: Grid, price: Price) -> Estimate:
    size = public_size(column)
    width = codes.size - 1
    noise = price.noise(Fraction(width), Fraction(width) ** 2, Fraction(1))
    release = noise.release(seal(exact_sum(present_codes(column, codes, price.relation))))
    factor = codes.step / size
    ends = codes.first * codes.step, codes.last * codes.step

    def bounds(sure: Fraction) -> tuple[float, float]:
        low, high = (min(max(end * factor, ends[0]), ends[1]) for end in release.interval(sure))
        return float(low), float(high)

    value = min(max(release.value * factor, ends[0]), ends[1])
    return Estimate(float(value), noise.guarantee, type(noise).__name__, value, bounds, scale_=noise.scale * factor)


@statistic
@buys_bounds
def variance(
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
    """The variance (with 1/n) of a column of which each value is clamped to [lower, upper], at the stated price.

    Under replace one record moves it by at most R^2 (n-1)/n^2, R = upper - lower. Under add_remove the sums of (1-u)^2,
    2u(1-u) and u^2, u = (x - lower)/R, are released together: they are at least 0 and add up to 1 for each record, so
    one record moves them by 1 in L1, wherever it is; the variance is what follows from the three.
    """
    price = Price.read(epsilon, delta, rho, relation)
    column = number_column(x)
    codes = read_grid(x, lower, upper, grid, _VARIANCE_BITS)
    shifted = present_codes(column, codes, price.relation) - codes.first
    width = codes.size - 1
    total, squares = exact_sum(shifted), exact_sum_of_squares(shifted)
    if price.relation is Relation.REPLACE:
        size = public_size(column, 2)
        return _variance_of_known_size(size * squares - total * total, size, codes, price)
    cells = [width * width * int(shifted.size) - 2 * width * total + squares, 2 * (width * total - squares), squares]
    unit = Fraction(width) ** 2
    step = max(Fraction(1), power_of_two_below(unit / (_FINE << 20)))
    noise = price.noise(unit, unit**2, step, rounded=3 if step > 1 else 0)
    release = noise.release([Fraction(cell) for cell in cells] if step > 1 else cells)
    scale = unit * codes.step**2
    found = [int(part) / unit for part in release.value]

    def bounds(sure: Fraction) -> tuple[float, float]:
        reach = (noise.error(sure, count=3) + step) / unit
        low, high = _variance_range(
            [(max(part - reach, Fraction(0)), max(part + reach, Fraction(0))) for part in found]
        )
        return float(low * scale), float(high * scale)

    value = _variance_of([max(part, Fraction(0)) for part in found]) * scale
    return Estimate(
        float(value), noise.guarantee, type(noise).__name__, value, bounds, "it follows from three noisy sums."
    )


@statistic
def std(x: Any, **options: Any) -> Estimate:
    """The standard deviation (with 1/n) of a column clamped to [lower, upper]: the root of `variance`, same options.

    `exact` is the noisy variance itself.
    """
    spread = variance(x, **options)

    def bounds(sure: Fraction) -> tuple[float, float]:
        low, high = spread.interval(sure)
        return max(0.0, math.nextafter(math.sqrt(low), 0.0)), math.nextafter(math.sqrt(high), math.inf)

    hidden = "it is the root of a noisy variance."
    return replace(spread, value=math.sqrt(spread.value), bounds=bounds, hidden=hidden, scale_=None)


def _variance_of_known_size(scaled: int, size: int, codes: Grid, price: Price) -> Estimate:
    """n^2 times the variance, a whole number of squared steps."""
    moved = Fraction(codes.size - 1) ** 2 * (size - 1)
    step = max(Fraction(1), power_of_two_below(moved / (_FINE << 20)))
    noise: AdditiveNoise = price.noise(moved, moved**2, step, rounded=1 if step > 1 else 0)
    release = noise.release(Fraction(scaled) if step > 1 else scaled)
    factor = codes.step**2 / size**2
    most = (Fraction(codes.size - 1) * codes.step / 2) ** 2

    def kept(number: Any) -> Fraction:
        return min(max(Fraction(number) * factor, Fraction(0)), most)

    def bounds(sure: Fraction) -> tuple[float, float]:
        low, high = release.interval(sure)
        return float(kept(low - step)), float(kept(high + step))

    value = kept(release.value)
    return Estimate(float(value), noise.guarantee, type(noise).__name__, value, bounds, scale_=noise.scale * factor)


def _variance_of(cells: list[Fraction]) -> Fraction:
    """Of u in [0, 1], from the sums of (1-u)^2, 2u(1-u) and u^2; 0 if there is nothing."""
    size = sum(cells, Fraction(0))
    if not size:
        return Fraction(0)
    first, second = (cells[1] / 2 + cells[2]) / size, cells[2] / size
    return min(max(second - first**2, Fraction(0)), Fraction(1, 4))


def _variance_range(cells: list[Pair]) -> Pair:
    """The least and the largest variance over a box of sums.

    With shares a, b, c of the three sums, the variance is c - (b/2 + c)^2; both the share of u^2 and the mean are
    bounded by the box, which bounds the difference.
    """
    lows, highs = [low for low, _ in cells], [high for _, high in cells]

    def share(part: list[Fraction], others: list[Fraction]) -> Fraction:
        whole = sum(part, Fraction(0)) + sum(others, Fraction(0))
        return sum(part, Fraction(0)) / whole if whole else Fraction(0)

    second = share([lows[2]], highs[:2]), share([highs[2]], lows[:2])
    # The mean (b/2 + c)/(a + b + c) falls in a and rises in c; in b it moves towards 1/2.
    means = [_mean_of(corner) for corner in _corners(cells)]
    first = min(means), max(means)
    low = max(Fraction(0), second[0] - first[1] ** 2)
    return low, min(Fraction(1, 4), max(low, second[1] - first[0] ** 2))


def _mean_of(cells: tuple[Fraction, ...]) -> Fraction:
    size = sum(cells, Fraction(0))
    return (cells[1] / 2 + cells[2]) / size if size else Fraction(1, 2)


def _corners(cells: list[Pair]) -> list[tuple[Fraction, ...]]:
    return [tuple(cell[(i >> k) & 1] for k, cell in enumerate(cells)) for i in range(8)]
