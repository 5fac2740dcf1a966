"""Mechanisms: frozen objects that know their guarantee, their noise and their error before they see any data."""

from __future__ import annotations

from dither.mechanisms.exact import Exact, seal
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.release import Release

__all__ = ["Exact", "Gaussian", "Laplace", "Release", "seal"]
