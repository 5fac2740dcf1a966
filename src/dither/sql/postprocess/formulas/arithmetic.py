"""+ - * / % and what goes with them: exact on integers where the result is one, outward rounded in float64 otherwise.

Float ends follow from correct rounding of + - * / and square roots (IEEE 754): one step outward holds the exact end.
An infinite end stands for "no bound", so that zero times it is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.sql.postprocess.formulas.estimate import (
    Estimate,
    Floats,
    Integers,
    above,
    aligned,
    as_float,
    below,
    floats,
    integers,
    plus,
    times,
)

_MOST_FACTORS, _MOST_DECIMALS = 4, 18


def quiet(function: Callable[..., Estimate]) -> Callable[..., Estimate]:
    """Undefined and infinite results are dealt with afterwards, without warnings."""

    @wraps(function)
    def computed(*operands: Any) -> Estimate:
        with np.errstate(all="ignore"):
            return function(*operands)

    return computed


@quiet
def add(left: Estimate, right: Estimate) -> Estimate:
    left, right = aligned(left, right)
    maybe_null = left.maybe_null | right.maybe_null
    whole = left.whole and right.whole
    if left.is_float:
        lower, upper = below(left.lower + right.lower), above(left.upper + right.upper)
        return replace(floats(left.values + right.values, lower, upper, maybe_null), whole=whole)
    values, lower, upper = (plus(a, b) for a, b in zip(_parts(left), _parts(right), strict=True))
    return Estimate(values, lower, upper, left.decimals, maybe_null, whole, max(left.factors, right.factors))


@quiet
def negate(operand: Estimate) -> Estimate:
    if operand.is_float:
        return floats(-operand.values, -operand.upper, -operand.lower, operand.maybe_null)
    values, lower, upper = (times(part, integers([-1])) for part in _parts(operand))
    return replace(operand, values=values, lower=upper, upper=lower, whole=False)


def subtract(left: Estimate, right: Estimate) -> Estimate:
    return add(left, negate(right))


@quiet
def multiply(left: Estimate, right: Estimate) -> Estimate:
    maybe_null = left.maybe_null | right.maybe_null
    factors = left.factors + right.factors
    decimals = (left.decimals or 0) + (right.decimals or 0)
    if left.is_float or right.is_float or factors > _MOST_FACTORS or decimals > _MOST_DECIMALS:
        left, right = as_float(left), as_float(right)
        lower, upper = product(left.lower, left.upper, right.lower, right.upper)
        return floats(left.values * right.values, lower, upper, maybe_null)
    corners = [times(a, b) for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    values = times(left.values, right.values)
    return Estimate(
        values, extreme(np.minimum, corners), extreme(np.maximum, corners), decimals, maybe_null, False, factors
    )


@quiet
def divide(left: Estimate, right: Estimate) -> Estimate:
    """Never cut to whole numbers. Where the divisor may be zero there is no bound, or only one.

    A divisor that counts is one at least wherever the quotient is defined, and is read so.
    """
    left, right = as_float(left), as_float(right)
    divisor, low, high = right.values, right.lower, right.upper
    maybe_null = left.maybe_null | right.maybe_null | ((low <= 0) & (high >= 0))
    if right.whole:
        divisor, low, high = (np.maximum(part, 1.0) for part in (divisor, low, high))
    # 1 / [low, high]: both ends if zero is outside, one if zero is an end, none if zero is inside.
    inside, nowhere = (low < 0) & (high > 0), (low == 0) & (high == 0)
    least = np.where(inside | nowhere | (high == 0), -np.inf, below(1.0 / high))
    greatest = np.where(inside | nowhere | (low == 0), np.inf, above(1.0 / low))
    lower, upper = product(left.lower, left.upper, least, greatest)
    return floats(np.where(divisor == 0, np.nan, left.values / divisor), lower, upper, maybe_null)


@quiet
def modulo(left: Estimate, right: Estimate) -> Estimate:
    """The remainder with the sign of the dividend; NULL for a divisor of zero."""
    if right.fixed and not left.is_float and not right.is_float and right.values[0]:
        return _exact_modulo(*aligned(left, right))
    left, right = as_float(left), as_float(right)
    most = np.maximum(np.abs(right.lower), np.abs(right.upper))
    lower = np.where(left.lower < 0, np.maximum(left.lower, -most), 0.0)
    upper = np.where(left.upper > 0, np.minimum(left.upper, most), 0.0)
    maybe_null = left.maybe_null | right.maybe_null | ((right.lower <= 0) & (right.upper >= 0))
    return floats(np.fmod(left.values, right.values), lower, upper, maybe_null)


def _exact_modulo(left: Estimate, right: Estimate) -> Estimate:
    most = abs(int(right.values[0]))
    low, high = left.lower.astype(object), left.upper.astype(object)
    # Within one period on one side of zero the remainder grows with the dividend.
    same = (abs(low) // most == abs(high) // most) & ((low >= 0) | (high <= 0))
    lower = np.where(same, _remainder(low, most), np.where(low < 0, np.maximum(low, 1 - most), 0))
    upper = np.where(same, _remainder(high, most), np.where(high > 0, np.minimum(high, most - 1), 0))
    lower, upper = (integers(list(end)) for end in (lower, upper))
    whole = left.whole and most % 10 ** (left.decimals or 0) == 0
    return Estimate(_remainder(left.values, most), lower, upper, left.decimals, left.maybe_null, whole, left.factors)


def _remainder(numbers: Integers, divisor: int) -> Integers:
    found = numbers.astype(object)
    return integers(list(np.where(found < 0, -(abs(found) % divisor), abs(found) % divisor)))


@quiet
def absolute(operand: Estimate) -> Estimate:
    crosses = (operand.lower < 0) & (operand.upper > 0)
    if operand.is_float:
        low, high = np.abs(operand.lower), np.abs(operand.upper)
        lower = np.where(crosses, 0.0, np.minimum(low, high))
        return replace(
            floats(np.abs(operand.values), lower, np.maximum(low, high), operand.maybe_null), whole=operand.whole
        )
    values, low, high = (np.where(part < 0, times(part, integers([-1])), part) for part in _parts(operand))
    lower = np.where(crosses, 0, np.minimum(low, high))
    return replace(operand, values=values, lower=lower, upper=np.maximum(low, high))


def product(a_low: Floats, a_high: Floats, b_low: Floats, b_high: Floats) -> tuple[Floats, Floats]:
    """Ends of a product of intervals: it is extreme at a corner."""
    pairs = [(a, b) for a in (a_low, a_high) for b in (b_low, b_high)]
    corners = [np.where((a == 0) | (b == 0), 0.0, a * b) for a, b in pairs]
    lower, upper = extreme(np.minimum, corners), extreme(np.maximum, corners)
    # A zero is exact unless a product was too small to be told from it.
    lost = extreme(
        np.logical_or, [(corner == 0) & (a != 0) & (b != 0) for corner, (a, b) in zip(corners, pairs, strict=True)]
    )
    return np.where((lower == 0) & ~lost, 0.0, below(lower)), np.where((upper == 0) & ~lost, 0.0, above(upper))


def extreme(choose: Any, corners: list[NDArray[Any]]) -> NDArray[Any]:
    found = corners[0]
    for corner in corners[1:]:
        found = choose(found, corner)
    return found


def _parts(estimate: Estimate) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return estimate.values, estimate.lower, estimate.upper
