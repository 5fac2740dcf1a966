"""How far a noisy measure may be from the exact one: its noise, and what the plan left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.sql.postprocess.formulas.estimate import shift
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.noise_reach import reach, reach_of_sum
from dither.sql.postprocess.recorded_mechanisms import Mechanism

NOTHING: Bounds = (0, 0)

# Parts of what may be missed that may go to groups that lose more than an even share of what is left out.
TO_GROUPS = tuple(Fraction(part, 10) for part in range(1, 10))


@dataclass(frozen=True)
class MeasureError:
    """exact - noisy lies in [low - noise, high + noise], where low and high are the ends of what was left out.

    `clamped` is the part of it that clamping values of the rows that are read makes.
    """

    noise: Fraction
    left_out: Bounds = NOTHING
    clamped: Bounds = NOTHING

    @property
    def below(self) -> Fraction | None:
        """How far the exact measure may lie below the noisy one; None where that has no bound."""
        return None if self.left_out[0] is None else self.noise - self.left_out[0]

    @property
    def above(self) -> Fraction | None:
        """How far the exact measure may lie above the noisy one; None where that has no bound."""
        return None if self.left_out[1] is None else self.noise + self.left_out[1]

    def around(self, values: NDArray[Any], decimals: int = 0) -> dict[str, Any]:
        """The interval of a column of this measure: a half-width in shown units, or both ends of each cell in units.

        A side without bound has infinite ends.
        """
        if self.below is not None and self.below == self.above:
            return {"half_width": self.below / Fraction(10**decimals)}
        lower = np.full(len(values), -np.inf) if self.below is None else shift(values, -math.ceil(self.below))
        upper = np.full(len(values), np.inf) if self.above is None else shift(values, math.ceil(self.above))
        return {"lower": lower, "upper": upper}


class Measured(Protocol):
    """What has to be known of an aggregate to tell how far its measures may be off."""

    @property
    def confidence_split(self) -> int: ...
    @property
    def coefficients(self) -> tuple[int, ...] | None: ...


def errors_of(
    aggregate: Measured, mechanisms: Sequence[Mechanism], confidence: Fraction, room: Fraction | None = Fraction(0)
) -> list[Fraction]:
    """For each measure an amount of noise, such that all of it together holds with this confidence.

    Where noises add up to that of the column, it is all in the first one: that is what their sum stays within, if the
    exact number may lie anywhere in a range as wide as `room`.
    """
    missed = 1 - confidence
    if aggregate.coefficients is not None:
        together = reach_of_sum(mechanisms, aggregate.coefficients, missed, room)
        if together is not None:
            return [together, *(Fraction(0) for _ in mechanisms[1:])]
    return [reach(mechanism, missed / aggregate.confidence_split) for mechanism in mechanisms]


def scaled(values: NDArray[Any], factor: Fraction) -> NDArray[Any]:
    """Noisy integers times a factor, rounded to the nearest."""
    if factor == 1:
        return values
    above, below = factor.numerator, factor.denominator
    wide = np.asarray(values)
    if wide.dtype != object and (not wide.size or int(np.abs(wide.astype(np.float64)).max()) < 2**62 // above):
        return (wide * above + below // 2) // below
    return (wide.astype(object) * above + below // 2) // below


def scaled_errors(errors: Sequence[Fraction], factors: Sequence[Fraction]) -> list[Fraction]:
    """Amounts of noise on numbers that are scaled so, rounding included."""
    return [
        error if factor == 1 else error * factor + Fraction(1, 2) for error, factor in zip(errors, factors, strict=True)
    ]
