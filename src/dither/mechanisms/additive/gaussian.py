"""The Gaussian mechanism, with continuous noise rounded to the grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gaussian_curve import analytic_sigma, classical_sigma
from dither.accounting.guarantees.textbook_gaussian import textbook_sigma
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up, float_up
from dither.exact.parameters import Number, positive, probability, sqrt_up, whole
from dither.mechanisms.additive.addition import AdditiveNoise, check_scale, read_setting
from dither.mechanisms.sensitivity_bounds import Norms
from dither.mechanisms.values import Steps
from dither.neighbours import Relation

_SMALL = 100
_CALIBRATIONS = {"analytic": analytic_sigma, "classical": classical_sigma, "textbook": textbook_sigma}


@dataclass(frozen=True, init=False, repr=False)
class Gaussian(AdditiveNoise):
    """(epsilon, delta)-DP or rho-zCDP for values on the grid that neighbours move by at most `sensitivity` in L2.

    Noise per coordinate, in grid steps: a normal variable rounded to the nearest integer. Adding it to a whole number
    is rounding the sum, so this is post-processing of the continuous mechanism and has its exact curve, in any
    dimension: the analytic calibration, rho = D2^2/(2 sigma^2) and mu = D2/sigma hold as they stand. With
    rounded_coordinates=k, up to k coordinates may be off the grid; they are rounded and D2 grows by sqrt(k) steps.

    calibration: "analytic" (the smallest sigma; Balle and Wang 2018) or "classical" (epsilon <= 1; Dwork and Roth 2014,
    Theorem A.1). docs/proofs/gaussian.md.

    >>> m = Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
    >>> round(float(m.scale), 5), m.guarantee.epsilon_at("1e-6") <= 1.000000000001
    (4.22468, True)
    """

    sigma_steps: Fraction
    sensitivity: Fraction
    grid: Fraction
    rounded_coordinates: int
    relation: Relation
    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    calibration: str

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        sensitivity: Number | Norms,
        calibration: str = "analytic",
        relation: Relation | str | None = None,
        grid: Number = 1,
        rounded_coordinates: int = 0,
    ) -> None:
        if calibration not in _CALIBRATIONS:
            known = " or ".join(f'"{name}"' for name in _CALIBRATIONS)
            raise ParameterError(f"calibration must be {known}; got {calibration!r}.")
        self._keep(calibration=calibration, **read_setting(sensitivity, "l2", relation, grid, rounded_coordinates))
        given = tuple(stated is not None for stated in (epsilon, delta, rho, sigma))
        if epsilon is not None and delta is not None and given == (True, True, False, False):
            e, d = positive(epsilon, "epsilon"), probability(delta, "delta")
            steps = dyadic_up(self.sensitivity_steps * _CALIBRATIONS[calibration](e, d))
            self._keep(epsilon=e, delta=d, rho=None, sigma_steps=steps)
        elif rho is not None and given == (False, False, True, False):
            limit = positive(rho, "rho")
            steps = dyadic_up(sqrt_up(self.sensitivity_steps**2 / (2 * limit)))
            self._keep(epsilon=None, delta=None, rho=limit, sigma_steps=steps)
        elif sigma is not None and given == (False, False, False, True):
            steps = positive(sigma, "sigma") / self.grid
            self._keep(epsilon=None, delta=None, rho=(self.sensitivity_steps / steps) ** 2 / 2, sigma_steps=steps)
        else:
            raise ParameterError(
                "give the Gaussian mechanism epsilon= and delta=, or rho=, or the sigma= of noise that others chose."
            )
        check_scale(steps)

    @property
    def sensitivity_steps(self) -> Fraction:
        """How far apart two neighbours' values can be in L2, in grid steps, rounding included."""
        return self.sensitivity / self.grid + sqrt_up(Fraction(self.rounded_coordinates))

    @property
    def scale(self) -> Fraction:
        """sigma of the normal variable before rounding."""
        return self.sigma_steps * self.grid

    @property
    def guarantee(self) -> ApproxDP | ZCDP:
        mu_squared = (self.sensitivity_steps / self.sigma_steps) ** 2
        if self.epsilon is not None and self.delta is not None:
            return ApproxDP(self.epsilon, self.delta, relation=self.relation, proven_mu_squared=mu_squared)
        return ZCDP(self.rho or mu_squared / 2, relation=self.relation, proven_mu_squared=mu_squared)

    @property
    def variance(self) -> float:
        """sigma^2 + 1/12 less a correction that matters for small sigma only, in grid steps squared."""
        _, high = bounds(lambda: ball(self.grid) ** 2 * _rounded_variance(self.sigma_steps))
        return float_up(high)

    def expected_error(self, *, count: int = 1) -> float:
        """The expectation of the largest of `count` independent |noises|, in the units of the value, rounded up.

        It is the sum over w >= 0 of 1 - (1 - P(|X| > w))^count. For a sigma of more than 100 steps it is bounded by the
        same for the normal variable, plus half a step, which is less than 1 in a hundred more.
        """
        from dither.mechanisms.additive.largest_normal import largest_normal, largest_rounded

        many, sigma = whole(count, "count"), self.sigma_steps
        steps = largest_rounded(sigma, many) if sigma <= _SMALL else sigma * largest_normal(many) + Fraction(1, 2)
        return float_up(self.grid * steps)

    def pmf(self, steps: int) -> tuple[Fraction, Fraction]:
        distance = abs(steps)

        def certified() -> Ball:
            spread = ball(self.sigma_steps) * ball(2).sqrt()
            outer = ball(Fraction(2 * distance + 1, 2)) / spread
            if not distance:
                return outer.erf()
            return ((ball(Fraction(2 * distance - 1, 2)) / spread).erfc() - outer.erfc()) / 2

        return bounds(certified)

    def _reach(self, tail: Ball) -> Ball:
        # P(|X| > w) = erfc((w + 1/2) / (sigma sqrt 2))
        return ball(self.sigma_steps) * ball(2).sqrt() * tail.erfcinv() - ball(Fraction(1, 2))

    def _noise(self, size: int | None) -> Steps:
        from dither.noise import rounded_gaussian

        noise: Steps = rounded_gaussian(self.sigma_steps, size)
        return noise


def _rounded_variance(sigma: Fraction) -> Ball:
    """E[round(Z)^2] for Z ~ N(0, sigma^2).

    Small sigma: the sum of (2m+1) P(|round Z| > m). Large sigma: the Poisson summation of the same, whose alternating
    terms vanish so fast that three of them are below any precision used here.
    """
    width = ball(sigma)
    if sigma < 1:
        reach = range(40)
        terms = ((2 * m + 1) * (ball(Fraction(2 * m + 1, 2)) / (width * ball(2).sqrt())).erfc() for m in reach)
        total = sum(terms, start=ball(0))
        return total.union(total + ball(Fraction(1, 2**600)))
    pi = ball(1).pi()
    total = width**2 + ball(Fraction(1, 12))
    for j in range(1, 8):
        term = (-2 * (pi * width * j) ** 2).exp() * (4 * width**2 + 1 / (pi * j) ** 2)
        total = total + (-1) ** j * term
    return total.union(total + term)
