"""A private upper bound on the local sensitivity, then noise for that bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import NotPublic, ParameterError
from dither.exact.balls import ball, ceil_of
from dither.exact.frozen import Frozen
from dither.exact.intervals import Interval
from dither.exact.parameters import Number, positive, probability
from dither.mechanisms.additive.addition import check_scale
from dither.mechanisms.discrete_laplace import reach
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.refusal import REFUSED, REFUSED_CODE
from dither.mechanisms.scores import exact_fraction
from dither.mechanisms.sensitivity_bounds import read_relation
from dither.mechanisms.stability.distance_test import mass_bounds, small_delta, smallest_tail, tail_bounds
from dither.mechanisms.stability.propose_test_release import fine_grid
from dither.mechanisms.values import on_grid, to_grid
from dither.neighbours import Relation
from dither.noise import discrete_laplace
from dither.noise.request import LARGEST_SCALE


@dataclass(frozen=True, eq=False, repr=False)
class BoundedOutcome(Outcome):
    """A noisy value and the private bound its noise was made for. Both were published; both are paid for.

    The value is REFUSED if the bound is so large, beyond 2^59 grid steps, that no noise is drawn for it.
    """

    mechanism: BoundedLocalSensitivity
    bound: Fraction

    @property
    def scale(self) -> Fraction:
        """The scale of the noise: a function of the published bound alone."""
        return self.mechanism._scale_steps(self.bound) * self.mechanism.grid

    def interval(self, confidence: Number = "0.95") -> Interval:
        """Bounds around the value that cover the exact one (rounded to the grid) with at least this probability.

        NotPublic if the value was refused.
        """
        if self.value is REFUSED:
            raise NotPublic(
                "no value was published, so nothing has an interval: the bound is too large to draw noise for."
            )
        width = self.mechanism._error(self.bound, probability(confidence, "confidence"))
        return Interval(self.value - width, self.value + width)


@dataclass(frozen=True, init=False, repr=False)
class BoundedLocalSensitivity(Frozen):
    """(epsilon, delta)-DP: publishes U, above the local sensitivity but for probability delta, and value + noise for U.

    epsilon is the total: bound_share of it (half by default) pays for U, the rest for the value. The local sensitivity
    itself moves by at most `slope` between neighbours, for the same relation. U = local sensitivity + discrete Laplace
    noise of scale slope/e1 + a shift, at least one grid step, at most `ceiling` if a global bound is known.

    grid: U and the answer are multiples of it. By default a power of two far below slope/epsilon; values and local
    sensitivities are then rounded to it and the rounding is paid for. With a grid of your own, values, slope and local
    sensitivities must lie on it.

    Karwa, Raskhodnikova, Smith and Yaroslavtsev 2011; docs/proofs/boundedlocalsensitivity.md.

    >>> m = BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=1)
    >>> m.shift, m.release(10**6, local_sensitivity=7).bound > 0
    (Fraction(22, 1), True)
    """

    epsilon: Fraction
    delta: Fraction
    slope: Fraction
    ceiling: Fraction | None
    bound_share: Fraction
    grid: Fraction
    rounds: bool
    relation: Relation

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        slope: Number = 1,
        ceiling: Number | None = None,
        bound_share: Number = Fraction(1, 2),
        grid: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        self._keep(
            epsilon=positive(epsilon, "epsilon"),
            delta=small_delta(delta),
            slope=positive(slope, "slope"),
            bound_share=probability(bound_share, "bound_share"),
            rounds=grid is None,
            ceiling=None if ceiling is None else positive(ceiling, "ceiling"),
            relation=read_relation(relation),
        )
        finest = self.slope / max(self.epsilon, Fraction(1))
        self._keep(grid=fine_grid(finest) if grid is None else positive(grid, "grid"))
        if not self.rounds and (self.slope / self.grid).denominator != 1:
            raise ParameterError("slope must be a multiple of the grid step; give a grid= that divides it.")
        check_scale(self.bound_scale_steps)
        check_scale(1 / self.answer_epsilon)
        if self.ceiling is not None and not self.ceiling >= self.grid:
            raise ParameterError("ceiling must be at least one grid step; give a smaller grid=.")

    @property
    def answer_epsilon(self) -> Fraction:
        return self.epsilon * (1 - self.bound_share)

    @property
    def bound_scale_steps(self) -> Fraction:
        """The scale of the noise on the bound, in grid steps; rounding the local sensitivity up may add one step."""
        return (self.slope / self.grid + int(self.rounds)) / (self.epsilon * self.bound_share)

    @property
    def shift(self) -> Fraction:
        """The smallest multiple of the grid with P[noise < -shift] <= delta."""
        return (smallest_tail(self.bound_scale_steps, self.delta) - 1) * self.grid

    @property
    def guarantee(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, relation=self.relation)

    def release(self, value: Any, local_sensitivity: Any) -> BoundedOutcome:
        """The noisy value, with the private bound that its noise was made for."""
        noise = int(discrete_laplace(self.bound_scale_steps))
        local, steps = self._local_steps(local_sensitivity), self._value_steps(value)
        bound = self._published(local + noise)
        scale = self._scale_steps(bound)
        if scale > LARGEST_SCALE:
            # Decided by the published bound alone.
            return BoundedOutcome(REFUSED, self, bound)
        # Nothing about a scale that depends on the data is remembered.
        noisy = steps + int(discrete_laplace(scale, public=False))
        return BoundedOutcome(_in_units(noisy, self.grid), self, bound)

    def draws(self, data: tuple[Any, Any], size: int) -> npt.NDArray[np.int64]:
        """The bound and the value in grid steps, or REFUSED_CODE, of `size` independent releases of (value, local
        sensitivity), a row for each. Values with the same bound share a scale."""
        value, local_sensitivity = data
        local, steps = self._local_steps(local_sensitivity), self._value_steps(value)
        shown = np.full((size, 2), REFUSED_CODE, np.int64)
        noises, which = np.unique(discrete_laplace(self.bound_scale_steps, size), return_inverse=True)
        for i, noise in enumerate(noises.tolist()):
            bound, alike = self._published(local + noise), np.flatnonzero(which == i)
            shown[alike, 0] = int(bound / self.grid)
            scale = self._scale_steps(bound)
            if scale <= LARGEST_SCALE:
                shown[alike, 1] = steps + discrete_laplace(scale, alike.size, public=False)
        return shown

    def bound_pmf(self, steps: int, local_sensitivity: Any) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability to publish this bound, in grid steps. Private, as its argument is."""
        most = self.most_steps
        if not 1 <= steps <= (steps if most is None else most):
            return Fraction(0), Fraction(0)
        noise = steps - self._local_steps(local_sensitivity) - int(self.shift / self.grid)
        if steps == most:
            return (Fraction(1), Fraction(1)) if most == 1 else tail_bounds(self.bound_scale_steps, noise)
        return (tail_bounds if steps == 1 else mass_bounds)(self.bound_scale_steps, -noise)

    def answer_pmf(self, steps: int, bound: Fraction) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability that the noise on the value is this many grid steps, given the bound."""
        return mass_bounds(self._scale_steps(bound), steps)

    def plot(self, value: Number = 0, local_sensitivity: Number | None = None) -> Any:
        """An altair chart: the exact distributions of the published bound, and of the answer given a likely bound, on
        two neighbours, and their ratios. For explaining, never for data.
        """
        from dither.mechanisms.pictures.refusals import plot_bounded

        return plot_bounded(self, value, local_sensitivity)

    @property
    def most_steps(self) -> int | None:
        """The largest bound that can be published, in grid steps: the ceiling, rounded up."""
        return None if self.ceiling is None else math.ceil(self.ceiling / self.grid)

    def _published(self, noisy_steps: int) -> Fraction:
        """The bound that is published: shifted, at least a step, at most the ceiling (rounded up to the grid)."""
        shifted, most = max(1, noisy_steps + int(self.shift / self.grid)), self.most_steps
        return (shifted if most is None else min(shifted, most)) * self.grid

    def _scale_steps(self, bound: Fraction) -> Fraction:
        """Of the noise on the value: two values differ by at most the bound, and by one step more once rounded."""
        return (bound / self.grid + int(self.rounds)) / self.answer_epsilon

    def _error(self, bound: Fraction, confidence: Fraction) -> Any:
        """The smallest multiple w of the grid with P(|noise| > w) <= 1 - confidence."""
        scale = self._scale_steps(bound)
        return _in_units(max(0, ceil_of(lambda: reach(scale, ball(1 - confidence)))), self.grid)

    def _value_steps(self, value: Any) -> int:
        steps = (to_grid if self.rounds else on_grid)(value, self.grid)
        if not isinstance(steps, int):
            raise ParameterError("a bounded local sensitivity is released for one number at a time; got several.")
        return steps

    def _local_steps(self, local_sensitivity: Any) -> int:
        """In grid steps, rounded up (a multiple of the grid if the grid is the caller's). Never shown."""
        steps = exact_fraction(local_sensitivity, "a local sensitivity") / self.grid
        if not steps >= 0:
            raise ParameterError("a local sensitivity must be 0 or more.")
        if not self.rounds and steps.denominator != 1:
            raise ParameterError("a local sensitivity is not a multiple of the grid step; give another grid=.")
        return math.ceil(steps)


def _in_units(steps: int, grid: Fraction) -> Any:
    exact = steps * grid
    return exact.numerator if grid.denominator == 1 else exact
