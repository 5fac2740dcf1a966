"""The mechanisms there are, with what the common suite needs to check them. A new mechanism joins here.

`check_mechanism`, in the tests, runs everything that must hold for a mechanism over an entry of this registry.
"""

from __future__ import annotations

from dither.mechanisms.registry.laws import LAWS, LawEntry
from dither.mechanisms.registry.noise import NOISES, NoiseEntry
from dither.mechanisms.registry.smooth import SMOOTH, SmoothEntry

AnyEntry = NoiseEntry | LawEntry | SmoothEntry

EVERY: tuple[AnyEntry, ...] = (*NOISES, *LAWS, *SMOOTH)

__all__ = ["EVERY", "LAWS", "NOISES", "SMOOTH", "AnyEntry", "LawEntry", "NoiseEntry", "SmoothEntry"]
