"""What mechanisms that add noise on a public grid have in common: read the value, add exact noise, say the error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, ceil_of
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive, probability, whole
from dither.mechanisms.release import Release
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.mechanisms.sensitivity_bounds import Norms, read_sensitivity
from dither.mechanisms.values import Steps, Value, add, on_grid, size_of, to_grid
from dither.neighbours import Relation


class AdditiveNoise(Frozen, ABC):
    """value + noise, independently for each coordinate, in whole steps of a public grid."""

    sensitivity: Fraction
    grid: Fraction
    rounded_coordinates: int
    relation: Relation

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee of the noise really drawn."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale of the noise, in the units of the value."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise really drawn, in the units of the value squared, rounded up."""

    @abstractmethod
    def pmf(self, steps: int) -> tuple[Fraction, Fraction]:
        """Certified lower and upper bounds of the probability that the noise is exactly this many grid steps."""

    @abstractmethod
    def _noise(self, size: int | None) -> Steps:
        """Fresh exact noise in grid steps."""

    @abstractmethod
    def _reach(self, tail: Ball) -> Ball:
        """The smallest real w for which P(|noise| > w steps) <= tail, as if the tail's formula held for real w."""

    def error(self, confidence: Number, *, count: int = 1) -> Fraction:
        """The smallest multiple w of the grid with P(|noise| > w) <= 1 - confidence, for the noise really drawn.

        With count=k: w such that the largest of k independent noises exceeds it with at most that probability. Where
        values are rounded to the grid, half a step is added: rounding moves them by as much.
        """
        sure, repeats = probability(confidence, "confidence"), whole(count, "count")
        noise = self.grid * max(0, ceil_of(lambda: self._reach(_tail(sure, repeats))))
        return noise + self.grid / 2 if self.rounded_coordinates else noise

    def release(self, value: Value | Exact) -> Release:
        """value + noise. Sealed aggregates are whole grid steps; other values are in the caller's own units.

        The value is not changed. Its type and shape are taken as public; no error message contains any of it.
        """
        if isinstance(value, Exact):
            # The noise comes first: a failure of the sampler must find the aggregate still sealed.
            noise = self._noise(value.size)
            return self._released(add(_unseal(value), noise))
        steps = self._steps(value)
        return self._released(add(steps, self._noise(size_of(steps))))

    def draws(self, value: Value, size: int) -> npt.NDArray[Any]:
        """What `size` independent releases publish, in grid steps; of a vector, a row for each.

        One release of a long vector: noise is independent in each coordinate. Every row costs the whole guarantee.
        """
        steps = self._steps(value)
        noisy = np.asarray(self.release(Exact(np.tile(np.ravel(steps), size))).steps)
        return noisy if isinstance(steps, int) else noisy.reshape(size, steps.size)

    def plot(self, value: Number = 0, shift: Number | None = None) -> Any:
        """An altair chart: the exact distributions of the answers to two neighbours, `value` and value + shift, and
        their ratio.

        For explaining, never for data: what is drawn is not private. By default the shift is the sensitivity.
        """
        from dither.mechanisms.pictures.noise import plot_addition

        return plot_addition(self, value, shift)

    def _steps(self, value: Value) -> Steps:
        steps = (to_grid if self.rounded_coordinates else on_grid)(value, self.grid)
        size = size_of(steps)
        if self.rounded_coordinates and (size or 1) > self.rounded_coordinates:
            raise ParameterError(
                f"the mechanism pays for rounding {self.rounded_coordinates} coordinates and was given {size}; "
                "construct it with rounded_coordinates= the length of the vector."
            )
        return steps

    def _released(self, noisy: Steps) -> Release:
        if not isinstance(noisy, int):
            noisy.flags.writeable = False
        return Release(noisy, self)


def read_setting(
    sensitivity: Number | Norms,
    norm: Literal["l1", "l2"],
    relation: Relation | str | None,
    grid: Number,
    rounded_coordinates: int,
) -> dict[str, Any]:
    """The checked parameters that all grid mechanisms share; a `Sensitivity` brings the right norm and its relation."""
    bound, held = read_sensitivity(sensitivity, norm, relation)
    return {
        "sensitivity": bound,
        "relation": held,
        "grid": positive(grid, "grid"),
        "rounded_coordinates": whole(rounded_coordinates, "rounded_coordinates", least=0),
    }


def check_scale(steps: Fraction) -> None:
    """Refuse a scale outside the samplers' range, saying which way to turn."""
    from dither.noise.request import LARGEST_SCALE, SMALLEST_SCALE

    if not steps >= SMALLEST_SCALE:
        raise ParameterError(
            f"the noise scale is {float(steps):.3g} grid steps, below 1/1000; "
            "give a smaller grid=, or a smaller epsilon or rho."
        )
    if not steps <= LARGEST_SCALE:
        raise ParameterError(
            "the noise scale is more than 2^60 grid steps; "
            "give a larger grid=, a smaller sensitivity, or a larger epsilon or rho."
        )


def _tail(confidence: Fraction, count: int) -> Ball:
    """The tail each of `count` independent noises may have: 1 - confidence^(1/count)."""
    return ball(1 - confidence) if count == 1 else -(ball(confidence).log() / count).expm1()
