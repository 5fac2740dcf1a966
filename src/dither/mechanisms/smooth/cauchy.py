"""Cauchy noise for a smooth sensitivity: pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball
from dither.exact.parameters import Number, exact, positive
from dither.mechanisms.smooth.smooth_noise import PureSmoothNoise, below, read_beta, read_output, usable
from dither.neighbours import Relation
from dither.noise.reals.cauchy import Cauchy, GeneralisedCauchy

_SHARE = Fraction(7, 10)


@dataclass(frozen=True, init=False, repr=False)
class SmoothCauchy(PureSmoothNoise):
    """epsilon-DP for a value with a beta-smooth upper bound S of its local sensitivity, under the same relation.

    Noise (S / divisor) eta, eta with density proportional to 1/(1 + |z|^gamma). gamma = 2 has no mean, gamma > 3 has a
    variance. `beta` is the smoothness that S must have; by default one that suits statistics of many records.

    calibration: "exact" (gamma = 2 only) uses cosh epsilon = max(1 + s^2/2, cosh t + s^2 e^-t / 2), which is necessary
    and sufficient; "bound" (other gamma) uses max(1, gamma-1) t + (gamma-1)^((gamma-1)/gamma) s <= epsilon; "textbook"
    is t = s = epsilon/(2(gamma+1)), valid and far too noisy.

    Nissim, Raskhodnikova and Smith 2007; docs/proofs/smoothcauchy.md.

    >>> m = SmoothCauchy(epsilon=1, lower=0, upper=100)
    >>> round(float(m.beta), 4), round(float(m.divisor), 4)
    (0.7353, 1.0422)
    >>> round(float(SmoothCauchy(epsilon=1, calibration="textbook").divisor), 4)
    0.1667
    """

    gamma: Fraction
    calibration: str

    def __init__(
        self,
        *,
        epsilon: Number,
        gamma: Number = 2,
        beta: Number | None = None,
        calibration: str | None = None,
        grid: Number | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        stated, power = positive(epsilon, "epsilon"), exact(gamma, "gamma")
        if not 1 < power <= 100:
            raise ParameterError(f"gamma must be greater than 1 and at most 100; got {float(power):.6g}.")
        chosen = calibration or ("exact" if power == 2 else "bound")
        if chosen not in ("exact", "bound", "textbook") or (chosen == "exact" and power != 2):
            raise ParameterError(
                f'calibration must be "exact" (gamma = 2 only), "bound" or "textbook"; got {calibration!r}.'
            )
        if chosen == "textbook" and beta is not None:
            raise ParameterError("the textbook calibration fixes beta; leave out beta=.")
        calibrate = {"exact": _exact, "bound": _bound, "textbook": _textbook}[chosen]
        smoothness, divisor = calibrate(usable(stated), power, beta)
        self._keep(
            **read_output(grid, lower, upper, relation),
            epsilon=stated,
            gamma=power,
            calibration=chosen,
            beta=smoothness,
            divisor=divisor,
        )

    @property
    def distribution(self) -> Cauchy | GeneralisedCauchy:
        return Cauchy() if self.gamma == 2 else GeneralisedCauchy(self.gamma)


def _exact(epsilon: Fraction, _: Fraction, beta: Number | None) -> tuple[Fraction, Fraction]:
    """Divisor and smoothness with cosh epsilon >= max(1 + s^2/2, cosh t + s^2 e^-t / 2)."""
    e = epsilon
    if beta is not None:
        t = read_beta(beta, epsilon)
    else:
        # ln(2 cosh epsilon - 1) costs nothing: up to there the first term decides. For small epsilon that is little.
        t = max(_SHARE * epsilon, below(lambda: (4 * (ball(e) / 2).sinh() ** 2).log1p()))

    def shifted() -> Ball:
        return 2 * (ball(e) / 2).sinh()

    def stretched() -> Ball:
        # 2 e^t (cosh epsilon - cosh t), written so that no digits cancel.
        return (4 * ball(t).exp() * (ball(e + t) / 2).sinh() * (ball(e - t) / 2).sinh()).sqrt()

    return t, min(below(shifted), below(stretched))


def _bound(epsilon: Fraction, gamma: Fraction, beta: Number | None) -> tuple[Fraction, Fraction]:
    """max(1, gamma-1) t + (gamma-1)^((gamma-1)/gamma) s <= epsilon; by default each takes half."""
    stretch = max(Fraction(1), gamma - 1)
    t = epsilon / (2 * stretch) if beta is None else read_beta(beta, epsilon / stretch)
    left = epsilon - stretch * t
    return t, below(lambda: ball(left) * ball(gamma - 1) ** ball((1 - gamma) / gamma))


def _textbook(epsilon: Fraction, gamma: Fraction, _: Number | None) -> tuple[Fraction, Fraction]:
    return epsilon / (2 * (gamma + 1)), epsilon / (2 * (gamma + 1))
