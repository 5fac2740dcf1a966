"""Laplace noise for a smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact.balls import Ball, ball, sign
from dither.mechanisms.smooth.approximate import ApproximateSmoothNoise, Calibration
from dither.mechanisms.smooth.smooth_noise import below
from dither.noise.reals.laplace import RealLaplace


def hockey_stick(epsilon: Fraction, shift: Fraction, stretch: Fraction) -> Ball:
    """The divergence of shift + e^stretch eta from eta at epsilon, for 0 <= shift <= epsilon and stretch > 0.

    The wider density exceeds e^epsilon times the narrower one outside an interval around 0 and the shift. At its ends
    the two are equal, so what lies beyond costs its mass under the wider distribution times 1 - e^-stretch.
    """
    e, u, t = ball(epsilon), ball(shift), ball(stretch)
    w = (-t).exp()
    lost = -(-t).expm1()
    left = -(e + t + u * w) / lost
    right = (e + t - u * w) / lost
    return lost * (((left - u) * w).exp() + ((u - right) * w).exp()) / 2


def keeps(epsilon: Fraction, delta: Fraction, divisor: Fraction, beta: Fraction) -> bool:
    """Certainly (epsilon, delta)-DP with this divisor and smoothness, by the worst pair in each order."""
    if not divisor <= epsilon:
        return False
    # Narrower over wider: the ratio is largest where the narrower density has its peak, and nowhere above e^epsilon.
    narrow = sign(lambda: ball(beta) + ball(divisor) * (-ball(beta)).exp() - ball(epsilon), undecided=1) < 0
    return narrow and sign(lambda: hockey_stick(epsilon, divisor, beta) - ball(delta), undecided=1) < 0


def _textbook(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The proof of the textbook only yields delta (1 + e^(epsilon/2))/2, so its divisor is not private everywhere."""
    return below(lambda: ball(epsilon) / (2 * (2 / ball(delta)).log())), epsilon / 2


@dataclass(frozen=True, init=False, repr=False)
class SmoothLaplace(ApproximateSmoothNoise):
    """(epsilon, delta)-DP for a value with a beta-smooth upper bound S of its local sensitivity, same relation.

    Noise (S / divisor) eta, eta standard Laplace. By default beta = epsilon/(2 ln(2/delta)), less for large epsilon.

    calibration: "exact" takes the largest divisor for which the hockey-stick divergence at the worst pair stays within
    delta, in closed form and certified; "textbook" is the divisor epsilon/2, refused where it is not private (from
    epsilon of about 12 to 15 on, depending on delta).

    Nissim, Raskhodnikova and Smith 2007; docs/proofs/smoothlaplace.md.

    >>> m = SmoothLaplace(epsilon=1, delta="1e-6")
    >>> round(float(m.beta), 4), round(float(m.divisor), 3)
    (0.0345, 0.693)
    """

    _kind = Calibration(keeps, most=lambda e: e, least=lambda e, _: e / 4, textbook=_textbook)

    @property
    def distribution(self) -> RealLaplace:
        return RealLaplace()
