"""Divergences between two finite distributions: exact rationals in, certified bounds out.

A distribution is a mapping from outcomes to probabilities or a sequence of probabilities; probabilities are exact (see
`dither.exact.parameters`) and add up to 1. `distribution` makes one of a mechanism's noise. Every function returns
`Bounds`.

>>> from fractions import Fraction
>>> uniform, skewed = ["1/2", "1/2"], ["3/4", "1/4"]
>>> total_variation(uniform, skewed)
Bounds(lower=0.25, upper=0.25)
>>> round(max(uniform, skewed).upper, 6)
0.693147
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol, overload

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, float_down, float_up
from dither.exact.parameters import Number, exact, non_negative, whole
from dither.lazy import listing

__all__ = [
    "Bounds",
    "Witness",
    "approximate_max",
    "distribution",
    "hockey_stick",
    "kl",
    "largest_kl",
    "max",
    "renyi",
    "total_variation",
]
__dir__ = listing(__all__)

Probabilities = Mapping[Hashable, Number] | Sequence[Number]

_LEAST_UNITS = 1 << 32
_FAR = Fraction(1, 1 << 24)
_NOTICED = Fraction(1, 1 << 40)


class Bounds(NamedTuple):
    """The figure lies between these two floats; they are equal where it is a float itself, and may be infinite."""

    lower: float
    upper: float


class HasMass(Protocol):
    """Symmetric noise whose probabilities are known, and fall ever faster: certified bounds of P[noise = steps]."""

    def pmf(self, steps: int) -> tuple[Fraction, Fraction]: ...


def kl(p: Probabilities, q: Probabilities) -> Bounds:
    """E_P[ln p/q]; infinite if P reaches where Q does not."""
    pairs, outside = _pairs(p, q)
    if outside:
        return Bounds(math.inf, math.inf)
    return _enclosed(lambda: _sum(ball(a) * ball(a / b).log() for a, b in pairs if a != b))


def max(p: Probabilities, q: Probabilities) -> Bounds:
    """The largest ln P(E)/Q(E) over all sets, which a single outcome attains; pure epsilon-DP bounds both orders."""
    pairs, outside = _pairs(p, q)
    if outside:
        return Bounds(math.inf, math.inf)
    return _log(builtins.max(a / b for a, b in pairs))


def largest_kl(a: Number, b: Number) -> Bounds:
    """The largest KL divergence of P from Q if ln p/q lies between -b and a: max(P, Q) <= a and max(Q, P) <= b.

    (a (e^b - 1) - b (1 - e^-a)) / (e^b - e^-a), attained by two outcomes with the losses a and -b. For a = b it is
    a tanh(a/2), where textbooks have the larger a (e^a - 1).

    >>> round(largest_kl(1, 1).upper, 6), round(largest_kl(1, 2).upper, 6)
    (0.462117, 0.729908)
    """
    above, below = non_negative(a, "a"), non_negative(b, "b")
    if not above or not below:  # a loss that never gains, or never falls, is 0 everywhere
        return Bounds(0.0, 0.0)

    def value() -> Ball:
        gain, fall = ball(below).expm1(), -(-ball(above)).expm1()
        return (ball(above) * gain - ball(below) * fall) / (gain + fall)

    return _enclosed(value)


class Witness(NamedTuple):
    """Why an approximate max divergence is what it is.

    `outcomes`: a set E that attains it. `modified`: a distribution within total variation delta of P whose max
    divergence from Q is that value, or 0 where that is negative; None where the value is infinite.
    """

    value: Bounds
    outcomes: frozenset[Hashable]
    modified: Mapping[Hashable, Fraction] | None


@overload
def approximate_max(p: Probabilities, q: Probabilities, delta: Number) -> Bounds: ...
@overload
def approximate_max(p: Probabilities, q: Probabilities, delta: Number, *, witness: Literal[True]) -> Witness: ...
def approximate_max(p: Probabilities, q: Probabilities, delta: Number, *, witness: bool = False) -> Bounds | Witness:
    """The largest ln (P(E) - delta)/Q(E) over all *sets* with P(E) > delta; (epsilon, delta)-DP bounds both orders.

    Single outcomes are not enough. The best set is one of those with the largest likelihood ratios. Negative values are
    possible; minus infinity if no set has probability above delta. With witness=True the set comes with it, and the
    distribution near P that proves the value (Dwork and Roth 2014, Lemma 3.17).
    """
    level = non_negative(delta, "delta")
    if not level <= 1:
        raise ParameterError(f"delta must be at most 1; got {float(level):g}.")
    pairs, outside = _pairs(p, q)
    best: Fraction | None = None
    mass, other = outside, Fraction(0)
    for a, b in sorted(pairs, key=lambda pair: pair[0] / pair[1], reverse=True):
        mass, other = mass + a, other + b
        if mass > level:
            ratio = (mass - level) / other
            best = ratio if best is None else builtins.max(best, ratio)
    endless = outside > level
    value = Bounds(-math.inf, -math.inf) if best is None else _log(best)
    value = Bounds(math.inf, math.inf) if endless else value
    return _witness(_read(p, "p"), _read(q, "q"), None if endless else best, value) if witness else value


def _witness(
    p: dict[Hashable, Fraction], q: dict[Hashable, Fraction], ratio: Fraction | None, value: Bounds
) -> Witness:
    """The set beyond the ratio; and P with what is beyond it moved to where there is room below."""
    if ratio is None and value.upper > 0:
        return Witness(value, frozenset(x for x, mass in p.items() if mass and not q.get(x)), None)
    if ratio is None:
        return Witness(value, frozenset(), q)
    chosen = frozenset(x for x, mass in p.items() if mass and mass >= ratio * q.get(x, 0))
    factor = builtins.max(ratio, Fraction(1))
    limit = {x: factor * q.get(x, Fraction(0)) for x in {**p, **q}}
    kept = {x: builtins.min(p.get(x, Fraction(0)), most) for x, most in limit.items()}
    moved, room = 1 - sum(kept.values()), sum(limit.values()) - sum(kept.values())
    share = Fraction(moved / room) if room else Fraction(0)
    return Witness(value, chosen, {x: kept[x] + (limit[x] - kept[x]) * share for x in limit})


def total_variation(p: Probabilities, q: Probabilities) -> Bounds:
    """The largest P(E) - Q(E): half the L1 distance, and the hockey-stick divergence at epsilon 0."""
    pairs, outside = _pairs(p, q)
    value = outside + sum((a - b for a, b in pairs if a > b), Fraction(0))
    return Bounds(float_down(value), float_up(value))


def hockey_stick(p: Probabilities, q: Probabilities, epsilon: Number) -> Bounds:
    """The largest P(E) - e^epsilon Q(E): the delta at epsilon. epsilon may be negative."""
    at = exact(epsilon, "epsilon")
    if at == 0:
        return total_variation(p, q)
    pairs, outside = _pairs(p, q)

    def value() -> Ball:
        factor = ball(at).exp()
        gains = (ball(a) - factor * ball(b) for a, b in pairs)
        return ball(outside) + _sum(gain.max(ball(0)) for gain in gains)

    return _enclosed(value)


def renyi(p: Probabilities, q: Probabilities, order: Number) -> Bounds:
    """1/(a-1) ln E_Q[(p/q)^a] for an order a > 0 other than 1; `kl` is its limit at 1, `max` at infinity."""
    a = exact(order, "order")
    if not a > 0 or a == 1:
        raise ParameterError(f"an order must be positive and other than 1 (use kl there); got {float(a):g}.")
    pairs, outside = _pairs(p, q)
    if not pairs or (outside and a > 1):
        return Bounds(math.inf, math.inf)
    if not outside and all(x == y for x, y in pairs):
        return Bounds(0.0, 0.0)

    def value() -> Ball:
        power = ball(a - 1)
        return _sum(ball(x) * (power * ball(x / y).log()).exp() for x, y in pairs).log() / power

    low, high = _enclosed(value)
    return Bounds(builtins.max(low, 0.0), high)


def distribution(mechanism: HasMass, value: int, *, lower: int, upper: int, bits: int = 128) -> dict[int, Fraction]:
    """The output distribution of value + noise in grid steps, clamped to [lower, upper] (which is post-processing).

    Probabilities are exact fractions, each within 2^-31 of itself of the true one, so divergences between two such
    distributions are those of the clamped mechanism to nine digits. A window with an outcome less likely than
    2^(32 - bits) is refused: a likelihood ratio would say little there, or be infinite.
    """
    low, high = whole(lower, "lower", least=-(2**62)), whole(upper, "upper", least=-(2**62))
    if not low < high:
        raise ParameterError(f"the window must satisfy lower < upper; got [{low}, {high}].")
    scale = 2 ** whole(bits, "bits", least=33, most=512)
    masses = {out: mechanism.pmf(out - value)[0] for out in range(low + 1, high)}
    masses = {low: _upper_tail(mechanism, value - low), **masses, high: _upper_tail(mechanism, high - value)}
    found = {out: Fraction(math.floor(mass * scale), scale) for out, mass in masses.items()}
    if not builtins.min(found.values()) * scale >= _LEAST_UNITS:
        raise ParameterError(
            f"[{low}, {high}] reaches outcomes less likely than {bits} bits can tell; narrow the window or raise bits=."
        )
    # What the roundings leave hardly changes the likeliest outcome.
    likeliest = builtins.max(found, key=found.__getitem__)
    found[likeliest] += 1 - sum(found.values(), Fraction(0))
    return found


law = distribution  # by either name


def _upper_tail(mechanism: HasMass, start: int) -> Fraction:
    """P[noise >= start] to 2^-39 of itself: from the symmetry of the noise, or far out as a sum to where it ends."""
    if start <= 0:
        return 1 - _upper_tail(mechanism, 1 - start)
    near = sum((mechanism.pmf(step)[0] for step in range(1, start)), Fraction(0))
    # Right to 2^-63, as every mass is to 2^-64 of itself.
    rest = (1 - mechanism.pmf(0)[0]) / 2 - near
    if rest >= _FAR:
        return rest
    total, step = Fraction(0), start
    while True:
        mass, further = mechanism.pmf(step)[0], mechanism.pmf(step + 1)[0]
        total, step = total + mass, step + 1
        # Masses fall at least as fast from here on as they just did: the rest is below a geometric series.
        if not further or (further < mass and further * mass < (mass - further) * total * _NOTICED):
            return total


def _pairs(p: Probabilities, q: Probabilities) -> tuple[list[tuple[Fraction, Fraction]], Fraction]:
    """(p, q) for each outcome that both reach, and the probability under P of those that Q does not."""
    first, second = _read(p, "p"), _read(q, "q")
    if not isinstance(p, Mapping) and not isinstance(q, Mapping) and len(first) != len(second):
        raise ParameterError(f"p and q must have equally many outcomes; got {len(first)} and {len(second)}.")
    outside = sum((mass for outcome, mass in first.items() if not second.get(outcome)), Fraction(0))
    return [(mass, second[x]) for x, mass in first.items() if mass and second.get(x)], outside


def _read(values: Probabilities, name: str) -> dict[Hashable, Fraction]:
    listed = values if isinstance(values, Mapping) else dict(enumerate(values))
    found = {outcome: non_negative(mass, name) for outcome, mass in listed.items()}
    if sum(found.values(), Fraction(0)) != 1:
        raise ParameterError(f"the probabilities of {name} must add up to exactly 1; give exact fractions.")
    return found


def _sum(terms: object) -> Ball:
    total = ball(0)
    for term in terms:  # type: ignore[attr-defined]
        total = total + term
    return total


def _log(ratio: Fraction) -> Bounds:
    return Bounds(0.0, 0.0) if ratio == 1 else _enclosed(lambda: ball(ratio).log())


def _enclosed(value: Callable[[], Ball]) -> Bounds:
    low, high = bounds(value)
    return Bounds(float_down(low), float_up(high))
