"""Median and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms.codes import Grid
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.quantile import Quantile
from dither.mechanisms.quantiles import Quantiles
from dither.mechanisms.rank_choice import Target
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_student_t import SmoothStudentT
from dither.neighbours import Relation
from dither.parameters import Number, probability
from dither.sensitivity.order_statistic import quantile as rank_statistic
from dither.stats.columns import present_codes, public_size, read_grid
from dither.stats.estimate import Estimate, plain
from dither.stats.kinds import number_column
from dither.stats.price import Price
from dither.stats.smooth import smooth_estimate

_GRID_BITS = 32
_LOW, _HALF = Fraction(1, 10), Fraction(1, 2)
_BUY = "its error in units of the value depends on the data; interval=True buys an interval with half of the price."
# When "auto" takes the smooth sensitivity: from here on Student's t noise has the smaller root-mean-square error and
# the smaller median error, on nearly all data and numbers of records tried (docs/benchmarks.md). The exponential
# mechanism's error does not fall below a fraction of the gap between two records, this noise does; and with so many
# records on either side the bounds, which the smooth sensitivity must count with, are out of its reach.
_SMOOTH_FROM = Fraction(10)
_BESIDE = 20
_SMOOTH: dict[str, Callable[..., SmoothNoise]] = {"smooth": SmoothCauchy, "student": SmoothStudentT}
_MOST_FLIPPED = 4096


def median(x: Any, **options: Any) -> Estimate:
    """The median of a column clamped to [lower, upper]: `quantile` at q = 1/2, with the same options.

    >>> median([40] * 1000, lower=0, upper=100, epsilon=1, grid=1).value
    40
    """
    return quantile(x, _HALF, **options)


def quantile(
    x: Any,
    q: Number,
    *,
    lower: Number | None = None,
    upper: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    grid: Number | None = None,
    method: str = "auto",
    interval: bool = False,
    confidence: Number = "0.95",
) -> Estimate:
    """A value of rank near q n among the records, each clamped to [lower, upper], at the stated price.

    method: "exponential" (the exponential mechanism), "flip" (permute-and-flip on the same scores: never farther off on
    average, and better where few answers are possible; at most 4096 of them, priced in epsilon), "smooth" or "student"
    (the order statistic with Cauchy or Student's t noise in proportion to its smooth sensitivity; replace, priced in
    epsilon), or "auto": student under replace at epsilon >= 10 if q n and (1-q) n are at least 20, flip where it can
    be, else exponential; a choice from these public numbers alone (under replace n is one of them). With interval=True
    part of the price goes into `interval()`, whose confidence is then fixed. The rank error is public before paying:
    `dt.Quantile(...).rank_error(...)`.
    """
    price = Price.read(epsilon, delta, rho, relation)
    share, sure = probability(q, "q"), probability(confidence, "confidence")
    if method not in ("auto", "exponential", "flip", *_SMOOTH):
        raise ParameterError(f'method must be "auto", "exponential", "flip", "smooth" or "student"; got {method!r}.')
    column = number_column(x)
    codes = read_grid(x, lower, upper, grid, _GRID_BITS)
    if method == "auto":
        inside = price.relation is Relation.REPLACE and min(share, 1 - share) * column.size >= _BESIDE
        strong = price.rho is None and price.choosing_epsilon >= _SMOOTH_FROM
        few = price.rho is None and codes.size <= _MOST_FLIPPED and not interval
        method = "student" if inside and strong else "flip" if few else "exponential"
    if method in _SMOOTH:
        return _smooth(column, share, codes, price, interval, sure, _SMOOTH[method])
    if method == "flip":
        if interval:
            raise ParameterError('an interval is bought with method="exponential", "smooth" or "student".')
        return _flip(column, share, codes, price)
    if not interval:
        return _exponential(column, share, codes, price)
    return _with_interval(column, share, codes, price, sure)


def quantiles(
    x: Any,
    q: Sequence[Number],
    *,
    lower: Number | None = None,
    upper: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    grid: Number | None = None,
) -> Estimate:
    """Several quantiles together, in order, for one price: m cost about log2(m + 1) times one, not m times."""
    price = Price.read(epsilon, delta, rho, relation)
    column = number_column(x)
    codes = read_grid(x, lower, upper, grid, _GRID_BITS)
    stated: dict[str, Any] = {"rho": price.rho} if price.rho is not None else {"epsilon": price.epsilon}
    mechanism = Quantiles(q=q, relation=price.relation, **stated, **_ends(codes))
    values = mechanism.release(column).value
    return Estimate(
        tuple(plain(value) for value in values),
        price.guarantee,
        "Quantiles",
        values,
        hidden=_BUY.partition(";")[0] + ".",
    )


def _ends(codes: Grid) -> dict[str, Any]:
    return {"lower": codes.first * codes.step, "upper": codes.last * codes.step, "grid": codes.step}


def _mechanism(q: Fraction, codes: Grid, price: Price) -> Quantile:
    if codes.size < 2:
        raise ParameterError("there is one answer only; give a smaller grid=.")
    return Quantile(q=q, epsilon=price.choosing_epsilon, relation=price.relation, **_ends(codes))


def _rank_error(codes: Grid, price: Price, sure: Fraction) -> int:
    """For every q: that of sensitivity 1, the largest, and of the heaviest public weights of the answers."""
    widest = replace(price, relation=Relation.REPLACE)
    return max(math.ceil(_mechanism(q, codes, widest).rank_error(sure)) for q in (_LOW, _HALF, 1 - _LOW))


def _exponential(column: Any, q: Fraction, codes: Grid, price: Price) -> Estimate:
    value = _mechanism(q, codes, price).release(column).value
    return Estimate(plain(value), price.guarantee, "Quantile", value, hidden=_BUY)


def _flip(column: Any, q: Fraction, codes: Grid, price: Price) -> Estimate:
    """Permute-and-flip over all answers, by the distance of their ranks from q n."""
    if price.rho is not None or codes.size > _MOST_FLIPPED:
        raise ParameterError(f'method="flip" is priced in epsilon and chooses among at most {_MOST_FLIPPED} answers.')
    rule = _mechanism(q, codes, price)
    counts = np.bincount(present_codes(column, codes, price.relation) - codes.first, minlength=codes.size)
    upto = np.cumsum(counts)
    target = Target(q * int(upto[-1]), rule.rate)
    scores = [-target.distance(int(u - c), int(u)) for u, c in zip(upto, counts, strict=True)]
    chooser = PermuteAndFlip(epsilon=rule.epsilon, sensitivity=rule.sensitivity, relation=price.relation)
    value = (codes.first + chooser.release(scores).value) * codes.step
    value = value.numerator if codes.step.denominator == 1 else value
    return Estimate(plain(value), price.guarantee, "PermuteAndFlip", value, hidden=_BUY)


def _smooth(
    column: Any,
    q: Fraction,
    codes: Grid,
    price: Price,
    interval: bool,
    sure: Fraction,
    noise: Callable[..., SmoothNoise],
) -> Estimate:
    if price.relation is not Relation.REPLACE:
        raise RelationMismatch('a smooth sensitivity needs a public number of records; state relation="replace".')
    if price.rho is not None:
        raise ParameterError("the smooth method is priced in epsilon.")
    public_size(column)
    records = present_codes(column, codes, price.relation)
    return smooth_estimate(
        rank_statistic(q),
        records,
        price,
        (codes.first, codes.last),
        codes.step,
        lambda e: noise(epsilon=e, lower=codes.first, upper=codes.last, grid=1, relation=price.relation),
        interval=interval,
        sure=sure,
    )


def _with_interval(column: Any, q: Fraction, codes: Grid, price: Price, sure: Fraction) -> Estimate:
    """Half of the price for the value, a quarter for each end; under add_remove a tenth for the number of records.

    An end is a quantile whose target rank is w + 1 before (after) q n, where w bounds its rank error: then at most
    q n - 1 records are below the lower end, so it is not above the record of rank ceil(q n); the upper end likewise.
    """
    missed = 1 - sure
    counting = price.relation is Relation.ADD_REMOVE
    paid = Fraction(9, 10) if counting else Fraction(1)
    value = _mechanism(q, codes, price.part(paid / 2)).release(column).value
    size: Fraction | int = public_size(column) if not counting else 0
    if counting:
        noise = price.part(Fraction(1, 10)).noise(Fraction(1), Fraction(1), Fraction(1))
        noisy = noise.release(present_codes(column, codes, price.relation).size).value
        size = noisy - noise.error(1 - missed / 3)
        missed = missed * 2 / 3
    ends = [codes.first * codes.step, codes.last * codes.step]
    for side, sign in enumerate((-1, 1)):
        end_price = price.part(paid / 4)
        reach = _rank_error(codes, end_price, 1 - missed / 2) + 1
        shifted = q + sign * Fraction(reach) / Fraction(size) if size > 0 else Fraction(-1)
        if 0 < shifted < 1:
            ends[side] = Fraction(_mechanism(shifted, codes, end_price).release(column).value)
    value = min(max(Fraction(value), ends[0]), ends[1])

    def bounds(asked: Fraction) -> tuple[Any, Any]:
        if asked > sure:
            raise ParameterError(f"this interval was bought at confidence {float(sure):g}; no larger one can be shown.")
        return plain(ends[0]), plain(ends[1])

    return Estimate(plain(value), price.guarantee, "Quantile", value, bounds, _BUY)
