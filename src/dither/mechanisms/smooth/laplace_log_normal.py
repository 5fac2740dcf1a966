"""Laplace-log-normal noise for a smooth sensitivity: concentrated differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up
from dither.exact.parameters import Number, positive, sqrt_down, sqrt_up
from dither.mechanisms.smooth.smooth_noise import SmoothNoise, below, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.laplace_log_normal import LaplaceLogNormal


@dataclass(frozen=True, init=False, repr=False)
class SmoothLaplaceLogNormal(SmoothNoise):
    """rho-zCDP for a value with a beta-smooth upper bound S of its local sensitivity, under the same relation.

    Noise (S / divisor) eta, eta = X e^(sigma Y), X standard Laplace, Y standard normal; variance 2 e^(2 sigma^2).
    rho = (beta^2/sigma^2 + e^(3 sigma^2) divisor^2)/2. Give rho= (and beta= or sigma= if you like: by default a quarter
    of sqrt(2 rho), and the sigma of smallest variance), or all of divisor=, beta= and sigma= and read the price off.

    Noise of Bun and Steinke 2019, with less of it for a rho; docs/proofs/smoothlaplacelognormal.md.

    >>> m = SmoothLaplaceLogNormal(divisor="0.1", beta="0.1", sigma="0.5")
    >>> round(float(m.guarantee.rho), 12)
    0.030585000083
    """

    rho: Fraction
    sigma: Fraction

    def __init__(
        self,
        *,
        rho: Number | None = None,
        beta: Number | None = None,
        sigma: Number | None = None,
        divisor: Number | None = None,
        grid: Number | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        if rho is not None and divisor is None:
            stated = positive(rho, "rho")
            e = usable(sqrt_down(2 * stated))
            t, width = _choice(e, beta, sigma)
            left = e**2 - (t / width) ** 2
            s = below(lambda: ball(left).sqrt() / _slope(width))
        elif rho is None and divisor is not None and beta is not None and sigma is not None:
            s, t, width = positive(divisor, "divisor"), positive(beta, "beta"), _width(sigma)
            stated = dyadic_up(bounds(lambda: _price(s, t, width))[1], 64)
        else:
            raise ParameterError("give either rho= (with beta= and sigma= if you like), or divisor=, beta= and sigma=.")
        self._keep(**read_output(grid, lower, upper, relation), rho=stated, sigma=width, beta=t, divisor=s)

    @property
    def guarantee(self) -> ZCDP:
        return ZCDP(self.rho, relation=self.relation)

    @property
    def distribution(self) -> LaplaceLogNormal:
        return LaplaceLogNormal(self.sigma)


def _slope(sigma: Fraction) -> Ball:
    """The largest slope of the logarithm of the density: e^(3 sigma^2/2), at 0."""
    return (ball(sigma) ** 2 * 3 / 2).exp()


def _price(divisor: Fraction, beta: Fraction, sigma: Fraction) -> Ball:
    return ((ball(beta) / ball(sigma)) ** 2 + (_slope(sigma) * ball(divisor)) ** 2) / 2


def _choice(epsilon: Fraction, beta: Number | None, sigma: Number | None) -> tuple[Fraction, Fraction]:
    """Smoothness and sigma, with beta/sigma < epsilon."""
    if sigma is None:
        t = epsilon / 4 if beta is None else read_beta(beta, 8 * epsilon)
        return t, _least_variance(epsilon, t)
    width = _width(sigma)
    return epsilon * width / 4 if beta is None else read_beta(beta, epsilon * width), width


def _width(sigma: Number) -> Fraction:
    width = positive(sigma, "sigma")
    if not width <= 10:
        raise ParameterError(f"sigma must be at most 10; got {float(width):.6g}.")
    return width


def _least_variance(epsilon: Fraction, beta: Fraction) -> Fraction:
    """About the sigma that makes e^(sigma^2)/s smallest. Any above beta/epsilon is private."""
    share = (beta / epsilon) ** 2
    return dyadic_up(sqrt_up(share / 2 + sqrt_up(share**2 / 4 + share / 5)), 24)
