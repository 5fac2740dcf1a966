"""Floats on the safe side of exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction


def down(value: Fraction) -> float:
    """The largest float that is not above the number."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
