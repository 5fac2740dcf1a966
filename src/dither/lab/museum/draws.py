"""Noise for exhibits: bits under a key fresh from the kernel, the textbook's formulas, and a public grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.exact.parameters import Number
from dither.noise import discrete_laplace
from dither.noise.entropy import random_words

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shape = int | tuple[int, ...]


def uniform(shape: Shape) -> Reals:
    """53-bit uniform numbers in (0, 1)."""
    words = random_words(np.uint64, _count(shape)) >> np.uint64(11)
    numbers: Reals = (words.astype(np.float64) + 0.5) * 2.0**-53
    return numbers.reshape(shape)


def exponential(mean: float | Reals, shape: Shape) -> Reals:
    return on_grid(-mean * np.log(uniform(shape)))


def laplace(scale: float | Reals, shape: Shape) -> Reals:
    """Laplace noise."""
    return np.where(uniform(shape) < 0.5, -1.0, 1.0) * exponential(scale, shape)


def cauchy(scale: float, shape: Shape) -> Reals:
    """Cauchy noise."""
    return on_grid(scale * np.tan(np.pi * (uniform(shape) - 0.5)))


def on_grid(noise: Reals) -> Reals:
    """Rounded to a grid that everyone knows: then an exhibit shows its own bug and not that of floating point."""
    return np.rint(noise * 1024) / 1024


def steps(scale: Number, shape: Shape) -> Ints:
    """Exact discrete Laplace noise: P[x] proportional to exp(-|x|/scale)."""
    return np.asarray(discrete_laplace(scale, _count(shape)), dtype=np.int64).reshape(shape)


def choose(weights: Any, size: int) -> Ints:
    """Positions drawn in proportion to the weights."""
    total = np.cumsum(weights)
    return np.searchsorted(total / total[-1], uniform(size)).astype(np.int64)


def _count(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)
