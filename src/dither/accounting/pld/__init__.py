"""Privacy-loss distributions: exact transforms, and certified curves of their compositions."""

from __future__ import annotations

from dither.accounting.pld.pld import PLD

__all__ = ["PLD"]
