"""Noise for exhibits: kernel-keyed bits, and the textbook's formulas in floating point, which is part of the show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.noise import discrete_laplace
from dither.noise.entropy import random_words
from dither.parameters import Number

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shape = int | tuple[int, ...]


def uniform(shape: Shape) -> Reals:
    """53-bit uniform numbers in (0, 1)."""
    words = random_words(np.uint64, _count(shape)) >> np.uint64(11)
    return ((words + 0.5) * 2.0**-53).reshape(shape)


def exponential(mean: float, shape: Shape) -> Reals:
    return -mean * np.log(uniform(shape))


def laplace(scale: float, shape: Shape) -> Reals:
    """Continuous Laplace noise, as exactly as doubles go."""
    return np.where(uniform(shape) < 0.5, -1.0, 1.0) * exponential(scale, shape)


def cauchy(shape: Shape) -> Reals:
    return np.tan(np.pi * (uniform(shape) - 0.5))


def steps(scale: Number, shape: Shape) -> Ints:
    """Exact discrete Laplace noise: P[x] proportional to exp(-|x|/scale)."""
    return np.asarray(discrete_laplace(scale, _count(shape)), dtype=np.int64).reshape(shape)


def choose(weights: Any, size: int) -> Ints:
    """Positions drawn in proportion to the weights."""
    total = np.cumsum(weights)
    return np.searchsorted(total / total[-1], uniform(size)).astype(np.int64)


def _count(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)
