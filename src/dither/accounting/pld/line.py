"""Certified readings of a privacy curve off the transform of the losses on one vertical line.

delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] is an inverse transform,

    delta(epsilon) = (1/2 pi) integral M(z) e^(-z epsilon) / (z (z + 1)) dt,   z = theta + it, theta > 0,

with M the product of the parts' transforms. The trapezoidal rule with step 2 pi/window adds only copies from
epsilon +- whole windows, all positive and bounded by Markov's inequality. Two smoothed payoffs make the sum finite: one
above the payoff (one more, tiny Gaussian part) and one below it (a test that sees the loss through a little noise).
theta tilts the distribution to epsilon, so that no small delta drowns in rounding. Proofs: docs/proofs/pld.md.
"""

from __future__ import annotations

import math

import numpy as np

from dither.accounting.pld.distribution import FUNCTION, Complexes, Reals, U
from dither.accounting.pld.grid import GRID, MARKOV
from dither.accounting.pld.sums import Measure
from dither.accounting.pld.work import charge

# How many standard deviations of its smoothing a sum reaches.
CUT = 7.0
# A shorter line says nothing, and its smoothing would overflow.
_SHORTEST = 1e-150


class Line:
    """The transform of a sum of losses on theta + it, t = 0, tau, 2 tau ..., ready to be read at any epsilon."""

    finer: Line | None = None  # the same with more points, once it was asked for

    def __init__(self, losses: Measure, theta: float, window: float, count: int) -> None:
        self.losses, self.theta, self.window = losses, theta, window
        self.tau = 2 * math.pi / window
        self.t: Reals = self.tau * np.arange(count, dtype=np.float64)
        self.end = self.tau * (count - 1)
        least = CUT / max(self.end, _SHORTEST)
        self.smooth = math.sqrt(max(0.0, least * least - losses.mu_squared)) * (1 + 8 * U)
        log_m, log_error = losses.cumulant(np.array([theta]))
        self.log_m, self.log_error = float(log_m[0]), float(log_error[0])
        self.drift = losses.mu_squared * (theta + 0.5)
        # A smoothing that moves the curve far says nothing and would overflow.
        self.usable = self.end > _SHORTEST and self.smooth * math.sqrt(theta * (theta + 1)) < 20
        self.usable = self.usable and math.isfinite(self.log_m + self.log_error + self.end)
        if not self.usable:
            return
        charge(40 * count)
        z = theta + 1j * self.t
        product, bulk, self.doubt = losses.product(theta, self.t)
        s = self.smooth**2
        spread = s * (theta * (theta + 1) - self.t * self.t) / 2
        above = np.exp(spread + 1j * s * self.t * (theta + 0.5)) / (z * (z + 1))
        grown = z * np.expm1(s * z)
        below = np.exp(s * z * z / 2) * (1 - grown) / (z * (z + 1))
        # The two terms of the lower payoff may cancel each other: its error is relative to their sizes.
        terms = np.exp(s * (theta * theta - self.t * self.t) / 2) * (1 + np.abs(grown))
        self.above, self.above_size = product * above, bulk * np.abs(above)
        self.below, self.below_size = product * below, bulk * terms / np.abs(z * (z + 1))
        self.doubt = self.doubt + FUNCTION * (12 + s * np.abs(z) ** 2 * 4)
        # Past the last t: |M| falls by the Gaussian parts alone, if there are any, and the payoffs by their smoothing.
        self.rest_above = (
            math.exp(min(700.0, s * theta * (theta + 1) / 2 - CUT**2 / 2)) / (math.pi * self.end) * (1 + 1e-9)
        )
        # |e^w - 1| <= |w| e^(Re w): past the last t the lower payoff falls as the upper one does, but for this factor.
        factor = 1 + math.exp(min(700.0, s * theta))
        self.rest_below = (
            math.exp(min(700.0, s * theta * theta / 2 - CUT**2 / 2)) / (math.pi * self.end) * factor * (1 + 1e-9)
        )

    def _read(self, values: Complexes, sizes: Reals, epsilon: float) -> tuple[float, float]:
        """The trapezoidal sum at epsilon and a bound of its rounding, both without the factor M e^(-theta epsilon)."""
        charge(4 * len(values))
        turned = values * np.exp(1j * self.t * (self.drift - epsilon))
        angle = FUNCTION * self.t * (abs(epsilon) + self.drift + self.smooth**2 * (self.theta + 1))
        wrong = sizes * np.minimum(2.0, 4 * (self.doubt + angle) + 64 * U)
        weight = self.tau / math.pi
        total = weight * (float(turned.real.sum()) - float(turned[0].real) / 2)
        return total, weight * float(wrong.sum()) + 1e-300

    def log_above(self, epsilon: float) -> float:
        """At least ln delta(epsilon)."""
        if not self.usable:
            return math.inf
        total, error = self._read(self.above, self.above_size, epsilon)
        top = total + error + self.rest_above
        if not math.isfinite(top):
            return math.inf
        return math.log(top) + self._factor(epsilon) + self._factor_error(epsilon) if top > 0 else -math.inf

    def log_below(self, epsilon: float) -> float:
        """At most ln delta(epsilon)."""
        if not self.usable:
            return -math.inf
        # The test asks for a loss that is larger by s^2/2.
        asked = math.nextafter(epsilon + self.smooth**2 * (0.5 + 4 * U), math.inf)
        total, error = self._read(self.below, self.below_size, asked)
        factor, wrong = self._factor(asked), self._factor_error(asked)
        copies = self._copies(epsilon) - factor + wrong
        left = total - error - self.rest_below - (math.exp(copies) if copies < 700 else math.inf)
        return math.log(left) + factor - wrong if left > 0 else -math.inf

    def size(self, epsilon: float) -> float:
        """ln of the size of the terms of the sum, beside which rounding is small."""
        return self._factor(epsilon)

    def _factor(self, epsilon: float) -> float:
        return self.log_m - self.theta * epsilon

    def _factor_error(self, epsilon: float) -> float:
        return self.log_error + 8 * U * (abs(self.log_m) + self.theta * abs(epsilon)) + FUNCTION

    def _copies(self, epsilon: float) -> float:
        """ln of a bound of all copies together: e^(theta j window) delta(epsilon + j window), j != 0."""
        return log_copies(self.losses, self.theta, self.window, epsilon)


def log_copies(losses: Measure, theta: float, window: float, epsilon: float) -> float:
    far = -theta * window
    below = losses.log_mass + far - math.log(-math.expm1(far)) if far < 0 else math.inf
    gap = (GRID - theta) * window
    above = math.inf
    for asked in (epsilon, epsilon + window):  # more orders only if they are needed
        if above > below:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                found = losses.on_grid(asked) + MARKOV - GRID * epsilon - gap - np.log(-np.expm1(-gap))
                above = float(np.where((gap > 1e-3) & np.isfinite(found), found, np.inf).min())
    return float(np.logaddexp(below, above)) + 1e-9
