"""The Laplace mechanism, with discrete noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.guarantees.conversion import rho_of_discrete_laplace
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, float_up
from dither.exact.parameters import Number, positive, whole
from dither.mechanisms.additive.addition import AdditiveNoise, check_scale, read_setting
from dither.mechanisms.discrete_laplace import mass, reach
from dither.mechanisms.sensitivity_bounds import Norms, check_steps
from dither.mechanisms.values import Steps
from dither.neighbours import Relation

# The terms of the largest of many alternate and are as large as 2^count.
_MOST_REPEATS = 1024


@dataclass(frozen=True, init=False, repr=False)
class Laplace(AdditiveNoise):
    """epsilon-DP for values on the grid whose *whole vector* moves by at most `sensitivity` in L1 between neighbours.

    Noise per coordinate, in grid steps: P[x] = (1-q)/(1+q) q^|x| with q = exp(-epsilon/D), D = floor(sensitivity/grid):
    values on the grid differ by whole steps, so D is what they can really differ by. With rounded_coordinates=k, up to
    k coordinates may be off the grid; they are rounded to it and D grows by k. zCDP: `guarantee.zcdp()` is exact for
    this discrete noise, which costs more rho than continuous Laplace noise.

    scale= in the place of epsilon= describes noise that others chose: epsilon is then D steps of the grid / scale.

    Ghosh, Roughgarden and Sundararajan 2009; docs/proofs/laplace.md.

    >>> m = Laplace(epsilon="0.1", sensitivity=1)
    >>> m.scale, m.guarantee.epsilon, m.error("0.99")
    (Fraction(10, 1), Fraction(1, 10), Fraction(46, 1))
    """

    epsilon: Fraction
    sensitivity: Fraction
    grid: Fraction
    rounded_coordinates: int
    relation: Relation

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        scale: Number | None = None,
        sensitivity: Number | Norms,
        relation: Relation | str | None = None,
        grid: Number = 1,
        rounded_coordinates: int = 0,
    ) -> None:
        self._keep(**read_setting(sensitivity, "l1", relation, grid, rounded_coordinates))
        check_steps(self.sensitivity_steps)
        if (epsilon is None) == (scale is None):
            raise ParameterError("give the Laplace mechanism epsilon=, or the scale= of noise that others chose.")
        spread = None if scale is None else positive(scale, "scale") / self.grid
        self._keep(epsilon=self.sensitivity_steps / spread if spread else positive(epsilon, "epsilon"))  # type: ignore[arg-type]
        check_scale(self.scale_steps)

    @property
    def sensitivity_steps(self) -> int:
        """How many grid steps two neighbours' values can be apart in L1, rounding included."""
        return math.floor(self.sensitivity / self.grid) + self.rounded_coordinates

    @property
    def scale_steps(self) -> Fraction:
        """The scale 1/ln(1/q) of the noise in grid steps."""
        return self.sensitivity_steps / self.epsilon

    @property
    def scale(self) -> Fraction:
        return self.scale_steps * self.grid

    @property
    def guarantee(self) -> PureDP:
        rho = rho_of_discrete_laplace(self.epsilon, self.sensitivity_steps)
        return PureDP(self.epsilon, self.relation, proven_rho=rho, proven_laplace_steps=self.sensitivity_steps)

    @property
    def variance(self) -> float:
        """2q/(1-q)^2 grid steps squared."""
        _, high = bounds(lambda: ball(self.grid) ** 2 / (2 * (ball(1 / self.scale_steps) / 2).sinh() ** 2))
        return float_up(high)

    def expected_error(self, *, count: int = 1) -> float:
        """The expectation of the largest of `count` independent |noises|, in the units of the value, rounded up.

        With c = 2q/(1+q), P(|X| > w) = c q^w, so it is the sum over j of (-1)^(j+1) binom(count, j) c^j / (1 - q^j).
        """
        repeats = whole(count, "count", most=_MOST_REPEATS)

        def expected() -> Ball:
            q = (-ball(1 / self.scale_steps)).exp()
            ratio = 2 * q / (1 + q)
            terms = ((-1) ** (j + 1) * math.comb(repeats, j) * ratio**j / (1 - q**j) for j in range(1, repeats + 1))
            return ball(self.grid) * sum(terms, ball(0))

        return float_up(bounds(expected)[1])

    def pmf(self, steps: int) -> tuple[Fraction, Fraction]:
        return bounds(lambda: mass(self.scale_steps, steps))

    def _reach(self, tail: Ball) -> Ball:
        return reach(self.scale_steps, tail)

    def _noise(self, size: int | None) -> Steps:
        from dither.noise import discrete_laplace

        noise: Steps = discrete_laplace(self.scale_steps, size)
        return noise
