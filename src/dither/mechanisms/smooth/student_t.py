"""Student's t noise for a smooth sensitivity: pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball
from dither.exact.parameters import Number, exact, positive
from dither.mechanisms.smooth.smooth_noise import PureSmoothNoise, below, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.student_t import StudentT


@dataclass(frozen=True, init=False, repr=False)
class SmoothStudentT(PureSmoothNoise):
    """epsilon-DP for a value with a beta-smooth upper bound S of its local sensitivity, under the same relation.

    Noise (S / divisor) eta, eta Student's t with d = `degrees` of freedom: a mean for d > 1, variance d/(d-2) for
    d > 2. epsilon = max((d+1) asinh(s/(2 sqrt d)), (d+1)/2 D + (d-1)/2 t) with cosh D = cosh t + s^2 e^-t/(2d) for
    smoothness t and divisor s, which is necessary and sufficient; by default t = epsilon/(2d).

    Bun and Steinke 2019 for a bound; docs/proofs/smoothstudentt.md.

    >>> m = SmoothStudentT(epsilon=1, degrees=3)
    >>> m.beta, round(float(m.divisor), 4)
    (Fraction(1, 6), 0.725)
    """

    degrees: Fraction

    def __init__(
        self,
        *,
        epsilon: Number,
        degrees: Number = 3,
        beta: Number | None = None,
        grid: Number | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        stated, d = positive(epsilon, "epsilon"), exact(degrees, "degrees")
        if not 1 <= d <= 1000:
            raise ParameterError(f"degrees must lie between 1 and 1000; got {float(d):.6g}.")
        spent = usable(stated)
        t = spent / (2 * d) if beta is None else read_beta(beta, spent / d)

        def shifted() -> Ball:
            return 2 * ball(d).sqrt() * ball(spent / (d + 1)).sinh()

        def stretched() -> Ball:
            sides = ball((spent + t) / (d + 1)).sinh() * ball((spent - d * t) / (d + 1)).sinh()
            return 2 * (ball(d) * ball(t).exp() * sides).sqrt()

        divisor = min(below(shifted), below(stretched))
        self._keep(**read_output(grid, lower, upper, relation), epsilon=stated, degrees=d, beta=t, divisor=divisor)

    @property
    def distribution(self) -> StudentT:
        return StudentT(self.degrees)
