"""What randomised reports say about all respondents together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.exact.parameters import Number, probability

_OUTWARD = 1e-9  # more than the errors of floats below


@dataclass(frozen=True)
class Shares:
    """Unbiased estimates from randomised reports, in the order of the values. They may lie outside [0, 1].

    A report supports a value with probability `other`, and by `gap` more often if it is the respondent's own.
    """

    values: tuple[Any, ...]
    shares: tuple[float, ...]
    variances: tuple[float, ...]
    supports: tuple[int, ...]
    reports: int
    other: float
    gap: float

    @classmethod
    def of(cls, values: tuple[Any, ...], supports: npt.NDArray[Any], reports: int, other: float, gap: float) -> Shares:
        """From how many reports support each value. The variance is that of the coins, at the estimated share."""
        shares, truth = (supports / reports - other) / gap, other + gap
        likely = np.clip(shares, 0, 1)
        variances = likely * truth * (1 - truth) + (1 - likely) * other * (1 - other)
        variances /= reports * gap**2
        found = tuple(shares.tolist()), tuple(variances.tolist()), tuple(map(int, supports))
        return cls(values, *found, reports, other, gap)

    def __getitem__(self, value: Any) -> float:
        return self.shares[self.values.index(value)]

    def interval(self, value: Any, confidence: Number = "0.95") -> tuple[float, float]:
        """An interval that holds the true share of one value with at least this probability, whatever the truth is.

        The number of supporting reports is a sum of coins, and its tails beyond its mean by one or more are at most
        those of a binomial number of the same mean (Hoeffding 1956): the exact binomial interval, of at least that
        width, holds the mean.
        """
        from scipy.stats import beta

        missed = float(1 - probability(confidence, "confidence")) / 2
        found, size = self.supports[self.values.index(value)], self.reports
        low = float(beta.ppf(missed, found, size - found + 1)) if found else 0.0
        high = float(beta.isf(missed, found + 1, size - found)) if found < size else 1.0
        low, high = min(low, (found - 1) / size), max(high, (found + 1) / size)
        ends = ((mean - self.other) / self.gap for mean in (low * (1 - _OUTWARD), high * (1 + _OUTWARD)))
        low, high = (min(1.0, max(0.0, end)) for end in ends)
        return math.nextafter(low, 0), math.nextafter(high, 1)
