"""Student's t noise for a smooth sensitivity: pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.balls import ball
from dither.exact.parameters import Number, exact, positive
from dither.mechanisms.smooth.smooth_noise import PureSmoothNoise, below, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.student_t import StudentT


@dataclass(frozen=True, init=False)
class SmoothStudentT(PureSmoothNoise):
    """epsilon-DP for a value with a beta-smooth upper bound S of its local sensitivity, under the same relation.

    Noise (S / divisor) eta, eta Student's t with d = `degrees` of freedom: a mean for d > 1, variance d/(d-2) for
    d > 2. d t + s (d+1)/(2 sqrt d) <= epsilon; by default smoothness t and divisor s take half each.

    Bun and Steinke 2019; docs/proofs/smoothstudentt.md.

    >>> m = SmoothStudentT(epsilon=1, degrees=3)
    >>> m.beta, round(float(m.divisor), 4)
    (Fraction(1, 6), 0.433)
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
        divisor = below(lambda: ball(spent - d * t) * 2 * ball(d).sqrt() / ball(d + 1))
        self._keep(**read_output(grid, lower, upper, relation), epsilon=stated, degrees=d, beta=t, divisor=divisor)

    @property
    def distribution(self) -> StudentT:
        return StudentT(self.degrees)
