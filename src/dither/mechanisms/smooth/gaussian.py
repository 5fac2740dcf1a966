"""Gaussian noise for a smooth sensitivity: approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, sign
from dither.exact.parameters import Number, positive, probability, sqrt_down
from dither.mechanisms.smooth.smooth_noise import SmoothNoise, below, largest, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.gaussian import RealGaussian

# How many pieces of [0, beta] are checked one by one for the order narrower over wider.
_PIECES = 16


@dataclass(frozen=True, init=False)
class SmoothGaussian(SmoothNoise):
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
    def law(self) -> RealGaussian:
        return RealGaussian()


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


@lru_cache(256)
def _largest_divisor(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    return largest(lambda s: keeps(epsilon, delta, s, beta), sqrt_down(2 * epsilon))


@lru_cache(256)
def _default_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The textbook's smoothness; halved, where that is too much, until a fair share is left for shifts."""
    t = _textbook_beta(epsilon, delta)
    share = sqrt_down(epsilon * min(epsilon, Fraction(1))) / 16
    least = min(share, below(lambda: _textbook(epsilon, delta)))
    while not keeps(epsilon, delta, least, t):
        t /= 2
    return t


def _textbook(epsilon: Fraction, delta: Fraction) -> Ball:
    return ball(epsilon) / (5 * (2 * (2 / ball(delta)).log()).sqrt())


def _textbook_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    return below(lambda: ball(epsilon) / (4 * (1 + (2 / ball(delta)).log())))


def _textbook_divisor(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    divisor = below(lambda: _textbook(epsilon, delta))
    if not keeps(epsilon, delta, divisor, beta):
        raise ParameterError(
            "the textbook calibration could not be shown to be private for this epsilon and delta. "
            'Use calibration="exact".'
        )
    return divisor
