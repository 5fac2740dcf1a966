"""Functions of noisy numbers: rounding, choosing, roots, logarithms and powers; NULL where they are undefined."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dither.sql.postprocess.formulas.arithmetic import divide, extreme, negate, quiet
from dither.sql.postprocess.formulas.estimate import (
    Estimate,
    Floats,
    Integers,
    above,
    aligned,
    as_float,
    below,
    constant,
    floats,
    integers,
    times,
)

_LIBRARY = 16  # units in the last place, several times what the logarithms and powers in use are off


@quiet
def rounded(operand: Estimate, digits: int) -> Estimate:
    """To that many decimals, halves away from zero."""
    if operand.decimals is None:
        lower, upper = _round(below(operand.lower, 4), digits), _round(above(operand.upper, 4), digits)
        return floats(_round(operand.values, digits), below(lower, 4), above(upper, 4), operand.maybe_null)
    if digits >= operand.decimals:
        return operand
    unit = 10 ** (operand.decimals - digits)
    parts = (_nearest(part, unit) for part in (operand.values, operand.lower, operand.upper))
    values, lower, upper = (times(part, integers([10 ** max(0, -digits)])) for part in parts)
    return replace(operand, values=values, lower=lower, upper=upper, decimals=max(0, digits))


def _round(numbers: Floats, digits: int) -> Floats:
    unit = 10.0 ** abs(digits)
    scaled = numbers * unit if digits >= 0 else numbers / unit
    whole = np.copysign(np.floor(np.abs(scaled) + 0.5), numbers)
    return np.where(np.abs(scaled) < 2.0**52, whole / unit if digits >= 0 else whole * unit, numbers)


def _nearest(numbers: Integers, unit: int) -> Integers:
    found = numbers.astype(object)
    return integers(list(np.where(found < 0, -((abs(found) + unit // 2) // unit), (abs(found) + unit // 2) // unit)))


@quiet
def floor(operand: Estimate) -> Estimate:
    if operand.decimals is None:
        values, lower, upper = (np.floor(part) for part in (operand.values, operand.lower, operand.upper))
        return replace(floats(values, lower, upper, operand.maybe_null), whole=operand.whole)
    unit = 10**operand.decimals
    values, lower, upper = (
        part // np.int64(unit)
        if part.dtype == np.int64 and unit < 2**62
        else integers(list(part.astype(object) // unit))
        for part in (operand.values, operand.lower, operand.upper)
    )
    return replace(operand, values=values, lower=lower, upper=upper, decimals=0)


def ceil(operand: Estimate) -> Estimate:
    return negate(floor(negate(operand)))


@quiet
def greatest(*operands: Estimate) -> Estimate:
    """The greatest that is not NULL."""
    return reduce(lambda left, right: _choice(left, right, np.maximum, np.fmax), operands)


@quiet
def least(*operands: Estimate) -> Estimate:
    """The least that is not NULL."""
    return reduce(lambda left, right: _choice(left, right, np.minimum, np.fmin), operands)


def _choice(left: Estimate, right: Estimate, choose: Any, choose_known: Any) -> Estimate:
    left, right = aligned(left, right)
    values = (choose_known if left.is_float else choose)(left.values, right.values)
    lower, upper = choose(left.lower, right.lower), choose(left.upper, right.upper)
    for alone, other_may_be_null in ((left, right.maybe_null), (right, left.maybe_null)):
        lower = np.where(other_may_be_null, np.minimum(lower, alone.lower), lower)
        upper = np.where(other_may_be_null, np.maximum(upper, alone.upper), upper)
    whole, factors = left.whole and right.whole, max(left.factors, right.factors)
    return Estimate(values, lower, upper, left.decimals, left.maybe_null & right.maybe_null, whole, factors)


@quiet
def coalesce(*operands: Estimate) -> Estimate:
    """The first that is not NULL."""
    return reduce(_first, operands)


def _first(left: Estimate, right: Estimate) -> Estimate:
    if not left.is_float:
        return left  # an integer is never NULL
    whole = left.whole and (right.whole or (right.fixed and right.decimals == 0 and bool(right.values[0] >= 0)))
    left, right = aligned(left, right)
    values = np.where(np.isnan(left.values), right.values, left.values)
    lower = np.where(left.maybe_null, np.minimum(left.lower, right.lower), left.lower)
    upper = np.where(left.maybe_null, np.maximum(left.upper, right.upper), left.upper)
    return replace(floats(values, lower, upper, left.maybe_null & right.maybe_null), whole=whole)


@quiet
def square_root(operand: Estimate) -> Estimate:
    operand = as_float(operand)
    lower, upper = (np.sqrt(np.maximum(end, 0.0)) for end in (operand.lower, operand.upper))
    lower = np.where(lower > 0, below(lower), 0.0)
    return floats(np.sqrt(operand.values), lower, above(upper), operand.maybe_null | (operand.lower < 0))


@quiet
def logarithm(operand: Estimate) -> Estimate:
    """The natural logarithm; NULL from zero downward."""
    operand = as_float(operand)
    lower, upper = (np.log(np.maximum(end, 0.0)) for end in (operand.lower, operand.upper))
    upper = np.where(operand.upper > 0, above(upper, _LIBRARY), np.inf)
    return floats(np.log(operand.values), below(lower, _LIBRARY), upper, operand.maybe_null | (operand.lower <= 0))


@quiet
def exponential(operand: Estimate) -> Estimate:
    operand = as_float(operand)
    lower, upper = np.exp(operand.lower), np.exp(operand.upper)
    lower = np.maximum(below(lower, _LIBRARY), 0.0)
    return floats(np.exp(operand.values), lower, above(upper, _LIBRARY), operand.maybe_null)


@quiet
def power(base: Estimate, exponent: Estimate) -> Estimate:
    """base ** exponent; NULL for a negative base with a broken exponent, and for zero with a negative one."""
    number = _whole_number(exponent)
    base, exponent = as_float(base), as_float(exponent)
    if number is not None:
        raised = _whole_power(base, abs(number))
        return raised if number >= 0 else divide(constant(1), raised)
    values = np.power(base.values, exponent.values)
    values = np.where(np.isnan(base.values) | np.isnan(exponent.values), np.nan, values)
    low, high = np.maximum(base.lower, 0.0), np.maximum(base.upper, 0.0)
    # On positive bases it is monotone in each operand, so it is extreme at a corner; 0 ** negative has no bound.
    corners = [np.power(b, e) for b in (low, high) for e in (exponent.lower, exponent.upper)]
    corners = [np.where(np.isnan(corner), np.inf, corner) for corner in corners]
    lower = np.maximum(below(extreme(np.minimum, corners), _LIBRARY), 0.0)
    upper = above(extreme(np.maximum, corners), _LIBRARY)
    negative = base.lower < 0
    if not exponent.fixed:  # which may be whole, and then negative bases have powers of either sign
        lower, upper = np.where(negative, -np.inf, lower), np.where(negative, np.inf, upper)
    spans = (low == 0) & (exponent.lower < 0)
    upper = np.where(spans, np.inf, upper)
    lower = np.where(low == 0, np.minimum(lower, 0.0), lower)
    maybe_null = base.maybe_null | exponent.maybe_null | negative | ((base.lower <= 0) & (exponent.lower < 0))
    return floats(values, lower, upper, maybe_null)


def _whole_number(exponent: Estimate) -> int | None:
    """The whole number that is written as exponent, if one is and a float can say it."""
    if not exponent.fixed or exponent.decimals is None:
        return None
    number, rest = divmod(int(exponent.values[0]), 10**exponent.decimals)
    return None if rest or abs(number) > 2**53 else number


def _whole_power(base: Estimate, number: int) -> Estimate:
    values, low, high = (np.power(part, float(number)) for part in (base.values, base.lower, base.upper))
    values = np.where(np.isnan(base.values), np.nan, values)
    lower, upper = np.minimum(low, high), np.maximum(low, high)
    if number % 2 == 0:
        lower = np.where((base.lower <= 0) & (base.upper >= 0), 0.0 if number else 1.0, lower)
        return floats(values, np.maximum(below(lower, _LIBRARY), 0.0), above(upper, _LIBRARY), base.maybe_null)
    return floats(values, below(lower, _LIBRARY), above(upper, _LIBRARY), base.maybe_null)
