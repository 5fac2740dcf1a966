"""The mechanisms there are, with what the common suite needs to check them. A new mechanism joins here.

`check_mechanism`, in the tests, runs everything that must hold for a mechanism over an entry of this registry.
"""

from __future__ import annotations

from dither.lab.registry.distributions import DISTRIBUTIONS, DistributionEntry
from dither.lab.registry.noise import NOISES, NoiseEntry
from dither.lab.registry.smooth_noise import SMOOTH, SmoothEntry

AnyEntry = NoiseEntry | DistributionEntry | SmoothEntry

EVERY: tuple[AnyEntry, ...] = (*NOISES, *DISTRIBUTIONS, *SMOOTH)

__all__ = ["DISTRIBUTIONS", "EVERY", "NOISES", "SMOOTH", "AnyEntry", "DistributionEntry", "NoiseEntry", "SmoothEntry"]
