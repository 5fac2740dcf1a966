"""How far a sum of many independent noises reaches, each times a factor: what it stays within, rounded up.

A rounded Gaussian is within half a step of a Gaussian, and Gaussians add up to one. A discrete Laplace variable is
within a step of a Laplace variable X of the same scale b; m of them with equal factors add up to a difference of two
Gamma variables, whose tail is a finite sum of positive terms:

    P(X1 + ... + Xm > b t) = exp(-t) sum_(i < m) sum_(l <= i) t^l / l! C(m - 1 + i - l, i - l) 2^-(m + i - l)

Where factors or scales differ, Chernoff's bound holds for the discrete variables themselves:
P(S >= t) <= exp(-s t) prod E exp(s f X), with E exp(s X) = (1 - q)^2 / ((1 - q e^s) (1 - q e^-s)).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from dither.mechanisms import Gaussian, Laplace
from dither.sql.postprocess.noise_reach import reach
from dither.sql.postprocess.recorded_mechanisms import Mechanism, noise_of

_OUTWARD = 1 + 2.0**-30  # more than the relative error of the float operations here
_MOST_EQUAL = 128  # Laplace variables whose sum is looked at term by term


def reach_of_terms(terms: Sequence[tuple[Mechanism, float]], missed: Fraction) -> float | None:
    """What |sum of factor times noise| stays within except with this probability; None where that is not known.

    Noise is counted in the steps of its grid.
    """
    used = Counter((mechanism, abs(factor)) for mechanism, factor in terms if factor)
    return _reach(tuple(used.items()), missed)


@lru_cache(maxsize=1024)
def _reach(used: tuple[tuple[tuple[Mechanism, float], int], ...], missed: Fraction) -> float | None:
    if not used:
        return 0.0
    if len(used) == 1 and used[0][1] == 1:
        (mechanism, factor), _ = used[0]
        return float(reach(mechanism, missed)) * factor * _OUTWARD
    kinds = {type(noise_of(mechanism)) for (mechanism, _), _ in used}
    if kinds == {Gaussian}:
        return _of_gaussians(used, missed)
    if kinds == {Laplace}:
        found = [_chernoff(used, missed)]
        if len(used) == 1 and used[0][1] <= _MOST_EQUAL:
            found.append(_of_equals(*used[0], missed))
        return min(found)
    return None


def _of_gaussians(used: Sequence[tuple[tuple[Mechanism, float], int]], missed: Fraction) -> float:
    spread, steps = 0.0, 0.0
    for (mechanism, factor), count in used:
        spread += count * (factor * _scale(mechanism)) ** 2
        steps += count * factor / 2
    tail = math.sqrt(2 * spread)
    return (_least(lambda t: math.erfc(t / tail), float(missed)) + steps) * _OUTWARD


def _of_equals(one: tuple[Mechanism, float], count: int, missed: Fraction) -> float:
    mechanism, factor = one
    weights, scale = _weights(count), _scale(mechanism)
    found = _least(lambda t: 2 * math.exp(-t) * sum(w * t**place for place, w in enumerate(weights)), float(missed))
    return (found * scale + count) * factor * _OUTWARD


@lru_cache(maxsize=256)
def _weights(count: int) -> tuple[float, ...]:
    """What each power of t is multiplied by in the tail of so many Laplace variables of scale 1."""
    inner, found = 0.0, []
    for power in range(count - 1, -1, -1):
        rest = count - 1 - power
        inner += math.comb(count - 1 + rest, rest) / 2 ** (count + rest)
        found.append(inner / math.factorial(power))
    return tuple(reversed(found))


def _chernoff(used: Sequence[tuple[tuple[Mechanism, float], int]], missed: Fraction) -> float:
    """The least t for which the bound at some s is at most half of what may be missed, on each side."""
    each = [(_scale(one), factor, count) for (one, factor), count in used]
    most = min(1 / (scale * factor) for scale, factor, _ in each)
    logarithm = -math.log(float(missed) / 2)

    def at(share: float) -> float:
        s = share * most
        grown = 0.0
        for scale, factor, count in each:
            q, x = math.exp(-1 / scale), s * factor
            grown += count * (2 * math.log1p(-q) - math.log1p(-q * math.exp(x)) - math.log1p(-q * math.exp(-x)))
        return (logarithm + grown) / s

    return min(at(step / 200) for step in range(1, 200)) * _OUTWARD


def _scale(mechanism: Mechanism) -> float:
    """In steps of the grid."""
    noise = noise_of(mechanism)
    if isinstance(noise, Laplace):
        return float(noise.scale_steps)
    return float(noise.sigma_steps) if noise is not None else 0.0


def _least(tail: Callable[[float], float], missed: float) -> float:
    """The least t, rounded up, with at most this tail."""
    low, high, allowed = 0.0, 1.0, missed / _OUTWARD
    while tail(high) > allowed:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= allowed else (middle, high)
    return high
