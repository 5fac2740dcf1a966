"""The mechanisms there are, with what the common suite needs to check them. A new mechanism joins here.

`check_mechanism`, in the tests, runs everything that must hold for a mechanism over an entry of this registry.
"""

from __future__ import annotations

from dither.lab.registry.distributions import LAWS, LawEntry
from dither.lab.registry.noise import NOISES, NoiseEntry
from dither.lab.registry.smooth_noise import SMOOTH, SmoothEntry

AnyEntry = NoiseEntry | LawEntry | SmoothEntry

EVERY: tuple[AnyEntry, ...] = (*NOISES, *LAWS, *SMOOTH)

__all__ = ["EVERY", "LAWS", "NOISES", "SMOOTH", "AnyEntry", "LawEntry", "NoiseEntry", "SmoothEntry"]
