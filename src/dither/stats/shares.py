"""The share of one group within another, and one over a count."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact.parameters import Number, probability, whole
from dither.mechanisms.sealed_values import seal
from dither.mechanisms.smooth.cauchy import SmoothCauchy
from dither.neighbours import Relation
from dither.sensitivity.reciprocal import reciprocal as reciprocal_statistic
from dither.stats.columns import booleans
from dither.stats.estimate import Estimate, statistic
from dither.stats.presence import counted
from dither.stats.price import Price
from dither.stats.smooth_noise import noisy_estimate, value_price


@statistic
def ratio(
    part: Any,
    whole: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
) -> Estimate:
    """Of the records where `whole` is true, the share where `part` is true too: smokers who have cancer, say.

    The ratio itself has sensitivity 1. So the two disjoint counts (in both, in whole only) are released together, which
    one record moves by 1 in L1 (2 under replace), and divided. `exact` has the two noisy counts; with none left the
    share is 1/2 and the interval is [0, 1].
    """
    price = Price.read(epsilon, delta, rho, relation)
    inside, among = booleans(part, "part"), booleans(whole, "whole")
    if inside.size != among.size:
        raise ParameterError("part and whole are columns of the same records; their lengths differ.")
    both, rest = int(np.count_nonzero(inside & among)), int(np.count_nonzero(among & ~inside))
    moved = 1 if price.relation is Relation.ADD_REMOVE else 2
    noise = price.noise(Fraction(moved), Fraction(moved), Fraction(1))
    release = noise.release(seal([both, rest]))
    yes, no = (int(number) for number in release.value)

    def share(a: Fraction | int, b: Fraction | int) -> float:
        a, b = max(a, 0), max(b, 0)
        return float(Fraction(a) / (a + b)) if a + b else 0.5

    def bounds(sure: Fraction) -> tuple[float, float]:
        reach = noise.error(sure, count=2)
        return (
            share(yes - reach, no + reach) if no + reach > 0 and yes - reach > 0 else 0.0,
            share(yes + reach, no - reach) if no - reach > 0 else 1.0,
        )

    return Estimate(
        share(yes, no), noise.guarantee, type(noise).__name__, (yes, no), bounds, "it follows from two noisy counts."
    )


@statistic
def reciprocal(
    x: Any,
    *,
    at_least: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    method: str = "count",
    interval: bool = False,
    confidence: Number = "0.95",
) -> Estimate:
    """One over the number of records, 1 / max(count, at_least), at the stated price.

    1/count has no finite sensitivity. method "count" publishes a noisy count and inverts it, with an interval (infinite
    where the count may be 0 and no at_least= is declared; the value is then 1 / max(noisy count, 1)). method "smooth"
    adds noise to the reciprocal itself by its smooth sensitivity, under add_remove, and needs at_least= and epsilon;
    there interval=True buys an interval, at a confidence fixed beforehand, with a third of the price.
    """
    price, sure = Price.read(epsilon, delta, rho, relation), probability(confidence, "confidence")
    floor = None if at_least is None else whole(at_least, "at_least")
    if method == "smooth":
        return _smooth_reciprocal(x, floor, price, interval, sure)
    if method != "count":
        raise ParameterError(f'method must be "count" or "smooth"; got {method!r}.')
    noise = price.noise(Fraction(1), Fraction(1), Fraction(1))
    noisy = int(noise.release(seal(counted(x))).value)

    def one_over(number: Fraction | int) -> float:
        kept = max(number, floor or 0)
        return float(1 / Fraction(kept)) if kept > 0 else math.inf

    def bounds(sure: Fraction) -> tuple[float, float]:
        reach = noise.error(sure)
        return one_over(noisy + reach) if noisy + reach > 0 else one_over(1), one_over(noisy - reach)

    return Estimate(
        one_over(max(noisy, 1)), noise.guarantee, type(noise).__name__, noisy, bounds, "it follows from a noisy count."
    )


def _smooth_reciprocal(x: Any, floor: int | None, price: Price, interval: bool, sure: Fraction) -> Estimate:
    if price.rho is not None:
        raise ParameterError("the smooth method is priced in epsilon.")
    # Refuses without at_least, and under other relations than add_remove.
    ceiling = reciprocal_statistic(price.relation, at_least=floor)
    highest = ceiling_value(floor)
    paid = value_price(price, interval).choosing_epsilon
    mechanism = SmoothCauchy(epsilon=paid, lower=0, upper=highest, relation=price.relation)
    size = counted(x)
    bound = min(reciprocal_statistic.smooth(size, mechanism.beta, at_least=floor), ceiling.l1)
    value = Fraction(1, max(size, floor or 1))
    return noisy_estimate(
        mechanism, value, bound, price, (Fraction(0), highest), Fraction(1), interval=interval, sure=sure
    )


def ceiling_value(floor: int | None) -> Fraction:
    """The largest value that 1 / max(count, floor) can have."""
    return Fraction(1, floor or 1)
