"""Median and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError, RelationMismatch
from dither.exact.parameters import Number, probability
from dither.mechanisms.codes import Grid
from dither.mechanisms.quantiles.candidates import Standing, standing
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile, ListedQuantiles
from dither.mechanisms.quantiles.quantile import Quantiles
from dither.mechanisms.quantiles.rank_choice import Target
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.mechanisms.smooth.cauchy import SmoothCauchy
from dither.mechanisms.smooth.lomax import SmoothLomax
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.mechanisms.smooth.student_t import SmoothStudentT
from dither.neighbours import Relation
from dither.sensitivity.order.order_statistic import quantile as rank_statistic
from dither.stats.columns import present_codes, public_size, read_grid
from dither.stats.estimate import Estimate, plain, statistic
from dither.stats.kinds import number_column
from dither.stats.price import Price
from dither.stats.private_bounds import buys_bounds
from dither.stats.rank_intervals import (
    BUY,
    InList,
    OnGrid,
    Ranking,
    grid_quantile,
    grid_quantiles,
    listed_quantile,
    listed_quantiles,
    with_interval,
    with_intervals,
)
from dither.stats.smooth_noise import smooth_estimate

_GRID_BITS = 32
_HALF = Fraction(1, 2)
# When "auto" takes the smooth sensitivity: from here on Student's t noise has the smaller root-mean-square error on all
# data and numbers of records tried, and the smaller median error on nearly all (bench/quantile_method.py). The
# exponential mechanism's error does not fall below a fraction of the gap between two records, this noise does; and with
# so many records on either side the bounds, which the smooth sensitivity must count with, are out of its reach.
_SMOOTH_FROM = Fraction(14)
_BESIDE = 20
_SMOOTH: dict[str, Callable[..., SmoothNoise]] = {
    "smooth": SmoothCauchy,
    "student": SmoothStudentT,
    "lomax": SmoothLomax,
}
_MOST_FLIPPED = 4096


@statistic
def median(x: Any, **options: Any) -> Estimate:
    """The median of a column clamped to [lower, upper]: `quantile` at q = 1/2, with the same options.

    >>> median([40] * 1000, lower=0, upper=100, epsilon=1, grid=1).value
    40
    """
    return quantile(x, _HALF, **options)


@statistic
@buys_bounds
def quantile(
    x: Any,
    q: Number,
    *,
    lower: Number | None = None,
    upper: Number | None = None,
    bounds_share: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    grid: Number | None = None,
    method: str = "auto",
    interval: bool = False,
    confidence: Number = "0.95",
    candidates: Sequence[Number] | None = None,
) -> Estimate:
    """A value of rank near q n among the records, each clamped to [lower, upper], at the stated price.

    candidates: public answers, fixed in advance, in the place of bounds and grid. One of them is chosen by
    permute-and-flip, the sharpest pure choice; by the exponential mechanism where the price is in rho.

    method: "exponential" (the exponential mechanism), "flip" (permute-and-flip on the same scores: never farther off on
    average, and better where few answers are possible; at most 4096 of them, priced in epsilon), "smooth", "student" or
    "lomax" (the order statistic with Cauchy, Student's t or two-sided Lomax noise in proportion to its smooth
    sensitivity; replace, priced in epsilon), or "auto": student under replace at epsilon >= 14 if q n and (1-q) n are
    at least 20, flip where it can be, else exponential; a choice from these public numbers alone (under replace n is
    one of them). With interval=True part of the price goes into `interval()`, whose confidence is then fixed. The rank
    error is public before paying: `dt.Quantile(...).rank_error(...)`.
    """
    price = Price.read(epsilon, delta, rho, relation)
    share, sure = probability(q, "q"), probability(confidence, "confidence")
    if method not in ("auto", "exponential", "flip", *_SMOOTH):
        raise ParameterError(
            f'method must be "auto", "exponential", "flip", "smooth", "student" or "lomax"; got {method!r}.'
        )
    column = number_column(x)
    if candidates is not None:
        _no_bounds(lower, upper, grid)
        return _listed(column, share, candidates, price, method, sure if interval else None)
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
            raise ParameterError('an interval is bought with method="exponential", "smooth", "student" or "lomax".')
        return _flip(column, share, codes, price)
    if interval:
        return with_interval(OnGrid(column, codes, price.relation), column, share, price, sure, "Quantile")
    value = grid_quantile(share, codes, price).release(column).value
    return Estimate(plain(value), price.guarantee, "Quantile", value, hidden=BUY)


@statistic
@buys_bounds
def quantiles(
    x: Any,
    q: Sequence[Number] | npt.NDArray[Any],
    *,
    lower: Number | None = None,
    upper: Number | None = None,
    bounds_share: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    grid: Number | None = None,
    interval: bool = False,
    confidence: Number = "0.95",
    candidates: Sequence[Number] | None = None,
) -> Estimate:
    """Several quantiles together, in order, for one price: m cost about log2(m + 1) times one, not m times.

    With candidates= in the place of bounds and grid, each is one of these public answers, as for `quantile`. With
    interval=True half of the price goes into `interval()`: lower ends and upper ends that hold all of them at once.
    """
    price, sure = Price.read(epsilon, delta, rho, relation), probability(confidence, "confidence")
    column = number_column(x)
    mechanism: Quantiles | ListedQuantiles
    if candidates is not None:
        _no_bounds(lower, upper, grid)
        mechanism = listed_quantiles(q, candidates, price)
    else:
        codes = read_grid(x, lower, upper, grid, _GRID_BITS)
        mechanism = grid_quantiles(q, codes, price)
    name = type(mechanism).__name__
    if interval:
        ranking: Ranking = (
            OnGrid(column, codes, price.relation)
            if isinstance(mechanism, Quantiles)
            else InList(column, _standing(column, mechanism, price), mechanism.candidates)
        )
        return with_intervals(ranking, column, mechanism.q, price, sure, name)
    values = mechanism.release(column).value
    return Estimate(tuple(map(plain, values)), price.guarantee, name, values, hidden=BUY)


def _standing(column: Any, rule: ListedQuantile | ListedQuantiles, price: Price) -> Standing:
    return standing(column, rule.candidates, keep_missing=price.relation is Relation.REPLACE)


def _no_bounds(*given: Number | None) -> None:
    if any(one is not None for one in given):
        raise ParameterError("candidates= takes the place of lower=, upper= and grid=; give either.")


def _listed(column: Any, q: Fraction, candidates: Any, price: Price, method: str, bought: Fraction | None) -> Estimate:
    """One of the candidates; with an interval if it is bought at some confidence."""
    if method not in ("auto", "flip"):
        raise ParameterError('with candidates= the method is "auto": leave it out.')
    rule = listed_quantile(q, candidates, price)
    name = type(rule).__name__
    if bought is not None:
        ranking = InList(column, _standing(column, rule, price), rule.candidates)
        return with_interval(ranking, column, q, price, bought, name)
    value = rule.release(column).value
    return Estimate(plain(value), price.guarantee, name, value, hidden=BUY)


def _flip(column: Any, q: Fraction, codes: Grid, price: Price) -> Estimate:
    """Permute-and-flip over all answers, by the distance of their ranks from q n."""
    if price.rho is not None or codes.size > _MOST_FLIPPED:
        raise ParameterError(f'method="flip" is priced in epsilon and chooses among at most {_MOST_FLIPPED} answers.')
    rule = grid_quantile(q, codes, price)
    counts = np.bincount(present_codes(column, codes, price.relation) - codes.first, minlength=codes.size)
    upto = np.cumsum(counts)
    target = Target(q * int(upto[-1]), rule.rate)
    scores = [-target.distance(int(u - c), int(u)) for u, c in zip(upto, counts, strict=True)]
    chooser = PermuteAndFlip(epsilon=rule.epsilon, sensitivity=rule.sensitivity, relation=price.relation)
    value = (codes.first + chooser.release(scores).value) * codes.step
    value = value.numerator if codes.step.denominator == 1 else value
    return Estimate(plain(value), price.guarantee, "PermuteAndFlip", value, hidden=BUY)


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
        lambda paid: noise(
            epsilon=paid.choosing_epsilon, lower=codes.first, upper=codes.last, grid=1, relation=price.relation
        ),
        interval=interval,
        sure=sure,
    )
