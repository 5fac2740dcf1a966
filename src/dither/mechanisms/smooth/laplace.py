"""Laplace noise for a smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, sign
from dither.exact.parameters import Number, positive, probability
from dither.mechanisms.smooth.smooth_noise import SmoothNoise, below, largest, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.laplace import RealLaplace


@dataclass(frozen=True, init=False)
class SmoothLaplace(SmoothNoise):
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

    epsilon: Fraction
    delta: Fraction
    calibration: str

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        beta: Number | None = None,
        calibration: str = "exact",
        grid: Number | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        stated, chance = positive(epsilon, "epsilon"), probability(delta, "delta")
        if calibration not in ("exact", "textbook"):
            raise ParameterError(f'calibration must be "exact" or "textbook"; got {calibration!r}.')
        e = usable(stated)
        if beta is not None:
            t = read_beta(beta, e)
        else:
            t = _textbook_beta(e, chance) if calibration == "textbook" else _default_beta(e, chance)
        divisor = _largest_divisor(e, chance, t) if calibration == "exact" else _textbook_divisor(e, chance, t)
        self._keep(
            read_output(grid, lower, upper, relation),
            epsilon=stated,
            delta=chance,
            calibration=calibration,
            beta=t,
            divisor=divisor,
        )

    @property
    def guarantee(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, relation=self.relation)

    @property
    def law(self) -> RealLaplace:
        return RealLaplace()


def hockey_stick(epsilon: Fraction, shift: Fraction, stretch: Fraction) -> Ball:
    """The divergence of shift + e^stretch eta from eta at epsilon, for 0 <= shift <= epsilon and stretch > 0.

    The wider density exceeds e^epsilon times the narrower one outside an interval around 0 and the shift. At its ends
    the two are equal, so what lies beyond costs its mass under the wider law times 1 - e^-stretch.
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


@lru_cache(256)
def _largest_divisor(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    return largest(lambda s: keeps(epsilon, delta, s, beta), epsilon)


@lru_cache(256)
def _default_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The textbook's smoothness; halved, where that is too much, until a quarter of epsilon is left for shifts."""
    t = _textbook_beta(epsilon, delta)
    while not keeps(epsilon, delta, epsilon / 4, t):
        t /= 2
    return t


def _textbook_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    return below(lambda: ball(epsilon) / (2 * (2 / ball(delta)).log()))


def _textbook_divisor(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    """epsilon/2, where it is private: the proof of the textbook only yields delta (1 + e^(epsilon/2))/2."""
    if not keeps(epsilon, delta, epsilon / 2, beta):
        raise ParameterError(
            "the textbook calibration is not private for this epsilon and delta: its delta is exceeded. "
            'Use calibration="exact".'
        )
    return epsilon / 2
