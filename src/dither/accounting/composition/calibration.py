"""The smallest noise for a target guarantee, of one release or of k."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gaussian_curve import analytic_sigma
from dither.accounting.guarantees.gdp import GDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError, RelationMismatch
from dither.exact.balls import dyadic_up
from dither.exact.parameters import sqrt_up, whole
from dither.neighbours import Relation

Family = Callable[[Fraction], Guarantee]

_LARGEST_SIGMA = 10**149
_NARROWEST = Fraction(1, 2**30)

# One release as a function of its noise, in units of the sensitivity: more noise, more privacy.
FAMILIES: dict[str, Callable[[Fraction, Relation], Guarantee]] = {
    "gaussian": lambda sigma, relation: _gaussian(sigma, relation),
    "laplace": lambda scale, relation: PureDP(1 / scale, relation, proven_laplace_steps=1),
    "continuous_laplace": lambda scale, relation: _continuous_laplace(scale, relation),
    "pure": lambda scale, relation: PureDP(1 / scale, relation),
}


def _continuous_laplace(scale: Fraction, relation: Relation) -> Guarantee:
    from dither.accounting.pld.pld import PLD

    return PLD.laplace(1 / scale, relation)


def _gaussian(sigma: Fraction, relation: Relation) -> Guarantee:
    if not sigma <= _LARGEST_SIGMA:
        raise ParameterError("the target needs a sigma above 1e149, which is too much to state; allow a larger delta.")
    return GDP(mu_squared=1 / sigma**2, relation=relation)


@dataclass(frozen=True)
class Calibration:
    """`noise` (sigma or scale at sensitivity 1), the guarantee of one release, and that of all of them."""

    noise: Fraction
    each: Guarantee
    total: Guarantee


def calibrate(family: str | Family, target: Guarantee, k: int = 1) -> Calibration:
    """The smallest noise, rounded up, with which k releases together keep the target.

    family: "gaussian" (sigma), "laplace" (the scale of discrete noise at a sensitivity of one grid step),
    "continuous_laplace", "pure" (1/epsilon of any pure mechanism), or a function from a noise to the guarantee of one
    release that improves with the noise, such as `lambda sigma: PLD.subsampled_gaussian(sigma, "0.01")`. Bracketed,
    then the safe end is checked against the target. Valid for releases fixed in advance.

    >>> round(float(calibrate("gaussian", ApproxDP(1, "1e-6"), 1000).noise), 2)
    133.6
    """
    count = whole(k, "k")
    if isinstance(family, str):
        if family not in FAMILIES:
            raise ParameterError(f"unknown family {family!r}; known are {', '.join(FAMILIES)}.")
        known = FAMILIES[family]
        make: Family = lambda noise: known(noise, target.relation)  # noqa: E731
    else:
        make = family
    _same_relation(make, target)
    noise = _closed(family, target, count)
    if noise is None:
        noise = _search(make, target, count)
    each = make(noise)
    if each.relation is not target.relation:
        raise _mismatch(each, target)
    return Calibration(noise, each, each * count)


def _same_relation(make: Family, target: Guarantee) -> None:
    """Refuse a family under another relation than the target's before searching; not every noise can be asked for."""
    for noise in (Fraction(1), Fraction(1000), Fraction(1, 1000)):
        try:
            each = make(noise)
        except ParameterError:
            continue
        if each.relation is not target.relation:
            raise _mismatch(each, target)
        return


def _mismatch(each: Guarantee, target: Guarantee) -> RelationMismatch:
    return RelationMismatch(
        f"the target is under the relation {target.relation.value}, the family under {each.relation.value}."
    )


def _closed(family: str | Family, target: Guarantee, count: int) -> Fraction | None:
    """Gaussian noise has closed forms: squares of mu, or rho, add."""
    if family == "gaussian" and isinstance(target, ApproxDP):
        return dyadic_up(analytic_sigma(target.epsilon, target.delta) * sqrt_up(Fraction(count)))
    if family == "gaussian" and isinstance(target, ZCDP) and target.rho:
        return dyadic_up(sqrt_up(count / (2 * target.rho)))
    if family == "gaussian" and isinstance(target, GDP) and target.mu_squared:
        return dyadic_up(sqrt_up(count / target.mu_squared))
    if family in ("laplace", "continuous_laplace", "pure") and isinstance(target, PureDP) and target.epsilon:
        return count / target.epsilon
    return None


def _search(make: Family, target: Guarantee, count: int) -> Fraction:
    """The safe end of a bracket one part in 2^30 wide, or far narrower than what is known of the curve."""
    excess = _excess(make, target, count)
    high = Fraction(1)
    for _ in range(150):
        if excess(high) <= 0:
            break
        high *= 4
    else:
        raise ParameterError("no noise of this family keeps the target; is its delta 0, or its epsilon out of reach?")
    low = high / 4
    for _ in range(150):
        if excess(low) > 0:
            break
        low, high = low / 4, low
    else:
        raise ParameterError("every noise of this family keeps the target: there is no smallest one.")
    at_low, at_high = excess(low), excess(high)
    narrow = _narrow(make(high) * count, target)
    same = 0  # how often in a row the same end was moved
    for step in range(120):
        least = high * narrow / 2
        if high - low <= 2 * least:
            break
        middle = _between(low, high, at_low, at_high) if step % 4 < 3 else _middle(low, high)
        # Never closer to an end than what is wanted, so that the root is soon enclosed from both sides.
        inside = dyadic_up(min(max(middle, low + least), high - least), 46)
        value = excess(inside)
        if value <= 0:
            high, at_high, same = inside, value, max(same, 0) + 1
        else:
            low, at_low, same = inside, value, min(same, 0) - 1
        # An end that stays counts for less and less (Illinois), so that straight lines do not stick to it.
        at_low, at_high = (at_low / 2 if same > 1 else at_low), (at_high / 2 if same < -1 else at_high)
    return high


def _narrow(total: Guarantee, target: Guarantee) -> Fraction:
    if isinstance(target, ApproxDP):
        below, above = total.bounds_at(delta=target.delta)
        if 0 < above - below < above / 100:
            return max(_NARROWEST, Fraction((above - below) / above) / 32)
    return _NARROWEST


def _between(low: Fraction, high: Fraction, at_low: float, at_high: float) -> Fraction:
    """Where a straight line in logarithms meets 0; the middle if that tells nothing."""
    if not (math.isfinite(at_low) and math.isfinite(at_high)) or at_low == at_high:
        return _middle(low, high)
    ratio = math.log(high / low)
    return low * Fraction(math.exp(ratio * at_low / (at_low - at_high)))


def _middle(low: Fraction, high: Fraction) -> Fraction:
    return Fraction(math.sqrt(low)) * Fraction(math.sqrt(high))


def _excess(make: Family, target: Guarantee, count: int) -> Callable[[Fraction], float]:
    """How far the k releases are above the target, on a logarithmic scale; certainly within it if not positive."""

    def measure(noise: Fraction) -> float:
        try:
            total = make(noise) * count
        except ParameterError:  # outside what the family can be asked for
            return math.inf
        if isinstance(target, ApproxDP):
            reached = total.epsilon_at(target.delta)
            return _compare(Fraction(reached), target.epsilon) if math.isfinite(reached) else math.inf
        if isinstance(target, PureDP):
            stated = total.basic()
            return math.inf if stated.delta else _compare(stated.epsilon, target.epsilon)
        if isinstance(target, ZCDP):
            concentrated = total.zcdp()
            return math.inf if concentrated.delta > target.delta else _compare(concentrated.rho, target.rho)
        raise ParameterError(
            f"a target is PureDP, ApproxDP, ZCDP or (for Gaussian noise) GDP; got {type(target).__name__}."
        )

    return measure


def _compare(reached: Fraction, wanted: Fraction) -> float:
    if reached <= wanted:
        return min(0.0, _log(reached / wanted)) if reached else -math.inf
    return max(5e-324, _log(reached / wanted)) if wanted else math.inf


def _log(ratio: Fraction) -> float:
    """Also of what is outside the range of floats."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)
