"""A finished column of an answer: computed from noisy measures only, so it may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.policy.columns import Column


@dataclass(frozen=True, eq=False)
class ValueColumn:
    """One value a group. Whole `values` stand for value * 10**-decimals; float64 ones are shown as they are.

    The exact value is within `half_width` (in shown units) with the confidence asked for, or between `lower` and
    `upper` (in units) where the two sides or groups differ. `possible` is the declared range: no value lies outside.
    `declared` says what the values, then codes, are shown as, where they are no numbers.
    `maybe_null` says where the exact value may be NULL, as SQL has it; None: nowhere.
    `additive`: the exact values of groups add up to the exact value of all their rows together.
    """

    name: str
    values: NDArray[Any]
    decimals: int = 0
    half_width: Fraction | None = None
    lower: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None
    possible: tuple[float, float] | None = None
    additive: bool = False
    declared: Column | None = None
    maybe_null: NDArray[np.bool_] | None = None
