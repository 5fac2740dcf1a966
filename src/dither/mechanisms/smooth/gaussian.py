"""Gaussian noise for a smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball, sign
from dither.exact.parameters import sqrt_down
from dither.mechanisms.smooth.approximate import ApproximateSmoothNoise, Calibration
from dither.mechanisms.smooth.smooth_noise import below
from dither.noise.reals.gaussian import RealGaussian

# How many pieces of [0, beta] are checked one by one for the order narrower over wider.
_PIECES = 16


def wide_over_narrow(epsilon: Fraction, shift: Fraction, stretch: Fraction) -> Ball:
    """The divergence of N(shift, e^(2 stretch)) from N(0, 1) at epsilon; stretch > 0.

    The wider density exceeds e^epsilon times the narrower one outside the interval between two roots.
    """
    e, u, w, k, rate = _parts(epsilon, shift, stretch)
    above = e + ball(stretch)
    root = (u * u * w * w + 2 * k * above).sqrt()
    left = -(u * w * w + root) / k
    right = (u * u * w * w + 2 * above) / (u * w * w + root)
    wide = _upper((right - u) * w) + _upper((u - left) * w)
    return wide - rate * (_upper(right) + _upper(-left))


def narrow_over_wide(epsilon: Fraction, shift: Fraction, stretch: Fraction) -> Ball:
    """The divergence of N(0, 1) from N(shift, e^(2 stretch)) at epsilon; shift > 0, stretch >= 0.

    The narrower density exceeds e^epsilon times the wider one between two roots, if there are any.
    """
    e, u, w, k, rate = _parts(epsilon, shift, stretch)
    above = e - ball(stretch)
    inside = u * u * w * w - 2 * k * above
    if inside <= 0:
        return ball(0)
    root = inside.sqrt()
    right = (u * u * w * w - 2 * above) / (u * w * w + root)
    if not stretch:
        return _upper(-right) - rate * _upper(u - right)
    left = -(u * w * w + root) / k
    return _upper(-right) - _upper(-left) - rate * (_upper((u - right) * w) - _upper((u - left) * w))


def keeps(epsilon: Fraction, delta: Fraction, divisor: Fraction, beta: Fraction) -> bool:
    """Certainly (epsilon, delta)-DP with this divisor and smoothness."""
    if not divisor * divisor <= 2 * epsilon or not beta < epsilon:
        return False
    if not sign(lambda: wide_over_narrow(epsilon, divisor, beta) - ball(delta), undecided=1) < 0:
        return False
    piece = beta / _PIECES
    # A density stretched a little more is smaller by at most that factor: each piece is covered by its left end.
    return all(
        sign(lambda i=i: narrow_over_wide(epsilon - piece, divisor, i * piece) - ball(delta), undecided=1) < 0  # type: ignore[misc]
        for i in range(_PIECES)
    )


def _parts(epsilon: Fraction, shift: Fraction, stretch: Fraction) -> tuple[Ball, Ball, Ball, Ball, Ball]:
    e = ball(epsilon)
    return e, ball(shift), (-ball(stretch)).exp(), -(-2 * ball(stretch)).expm1(), e.exp()


def _upper(z: Ball) -> Ball:
    """P[N(0, 1) > z]."""
    return (z / ball(2).sqrt()).erfc() / 2


def _least(epsilon: Fraction, delta: Fraction) -> Fraction:
    return min(sqrt_down(epsilon * min(epsilon, Fraction(1))) / 16, _textbook(epsilon, delta)[1])


def _textbook(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    return (
        below(lambda: ball(epsilon) / (4 * (1 + (2 / ball(delta)).log()))),
        below(lambda: ball(epsilon) / (5 * (2 * (2 / ball(delta)).log()).sqrt())),
    )


@dataclass(frozen=True, init=False, repr=False)
class SmoothGaussian(ApproximateSmoothNoise):
    """(epsilon, delta)-DP for a value with a beta-smooth upper bound S of its local sensitivity, same relation.

    Noise (S / divisor) eta, eta standard normal. Default beta: epsilon/(4 (1 + ln(2/delta))), less for large epsilon.

    calibration: "exact" takes the largest divisor for which the hockey-stick divergence of N(0, 1) and N(u, e^(2 t))
    stays within delta in both orders for every |u| <= divisor and t <= beta, certified; "textbook" is the divisor
    epsilon/(5 sqrt(2 ln(2/delta))), several times smaller, refused where it is not private.

    Nissim, Raskhodnikova and Smith 2007; docs/proofs/smoothgaussian.md.

    >>> m = SmoothGaussian(epsilon=1, delta="1e-6")
    >>> round(float(m.beta), 4), round(float(m.divisor), 4)
    (0.0161, 0.1695)
    """

    _kind = Calibration(keeps, most=lambda e: sqrt_down(2 * e), least=_least, textbook=_textbook)

    @property
    def distribution(self) -> RealGaussian:
        return RealGaussian()
