"""Two-sided Lomax noise for a smooth sensitivity: pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.balls import ball
from dither.exact.parameters import Number, exact, positive
from dither.mechanisms.smooth.smooth_noise import PureSmoothNoise, below, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.lomax import Lomax

_DEFAULT_SHAPE = 4


@dataclass(frozen=True, init=False, repr=False)
class SmoothLomax(PureSmoothNoise):
    """epsilon-DP for a value with a beta-smooth upper bound S of its local sensitivity, under the same relation.

    Noise (S / divisor) eta, eta with density (a-1)/2 (1 + |z|)^-a, a = `shape`: a mean for a > 2, variance
    2/((a-2)(a-3)) for a > 3. The calibration max(a ln(1+s), a ln(1 + s e^-t) + t, (a-1) t) <= epsilon is necessary and
    sufficient. Give shape= and get the largest beta, epsilon/(a-1), or give beta= and get the largest shape; as beta
    falls towards 0 the noise becomes Laplace noise.

    docs/proofs/smoothlomax.md.

    >>> m = SmoothLomax(epsilon=1, beta="0.1")
    >>> m.shape, round(float(m.divisor), 4)
    (Fraction(11, 1), 0.0942)
    """

    shape: Fraction

    def __init__(
        self,
        *,
        epsilon: Number,
        shape: Number | None = None,
        beta: Number | None = None,
        grid: Number | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        stated = positive(epsilon, "epsilon")
        e = usable(stated)
        t = None if beta is None else read_beta(beta, e)
        if shape is not None or t is None:
            a = exact(_DEFAULT_SHAPE if shape is None else shape, "shape")
        else:
            a = 1 + e / t
        if not a > 1:
            raise ParameterError(f"shape must be greater than 1; got {float(a):.6g}.")
        if t is None:
            # Half of epsilon where a heavy tail (a < 3) would allow so much stretching that none is left for shifts.
            t = min(e / (a - 1), e / 2)
        elif not (a - 1) * t <= e:
            raise ParameterError("shape is too large for this beta: (shape - 1) beta must not exceed epsilon.")
        power, stretch = a, t
        divisor = min(
            below(lambda: (ball(e) / ball(power)).expm1()),
            below(lambda: ball(stretch).exp() * (ball(e - stretch) / ball(power)).expm1()),
        )
        self._keep(**read_output(grid, lower, upper, relation), epsilon=stated, shape=a, beta=t, divisor=divisor)

    @property
    def distribution(self) -> Lomax:
        return Lomax(self.shape)
