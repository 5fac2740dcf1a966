"""How pictures name what they show."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def name(mechanism: Any) -> str:
    return type(mechanism).__name__


def short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"
