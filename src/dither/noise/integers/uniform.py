"""Uniform integers: each of 0 .. bound - 1 with probability exactly 1/bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact.parameters import whole
from dither.noise.entropy import Fill, keystream, random_bits
from dither.noise.request import as_array, checked_size


def uniform_below(bound: int, size: int | None = None) -> Any:
    """Exactly uniform on 0 .. bound - 1, for a bound of any size: an int, or an array of `size` of them."""
    limit, count = whole(bound, "bound"), checked_size(size)
    if count is None:
        return one_below(limit)
    if limit > 1 << 63:
        return as_array([one_below(limit) for _ in range(count)])
    return many_below(limit, count, keystream(16 * count))


def one_below(bound: int, source: Callable[[int], int] = random_bits) -> int:
    """Words of just enough bits, until one lies below the bound."""
    bits = (bound - 1).bit_length()
    while True:
        word = source(bits)
        if word < bound:
            return word


def each_below(bounds: NDArray[Any], fill: Fill | None = None) -> NDArray[Any]:
    """Independent draws, each uniform below a bound of its own >= 1: Python's whole numbers if the bounds are such."""
    if bounds.dtype == object:
        return np.array([one_below(bound) for bound in bounds.tolist()], object)
    fill = fill or keystream(16 * bounds.size)
    out = np.zeros(bounds.size, np.int64)
    pending = np.flatnonzero(bounds > 1)
    # Rounding to a float can only raise a number of bits, by one: then a word is too large more often.
    spare = (64 - np.frexp((bounds - 1).astype(np.float64))[1]).astype(np.uint64)
    while pending.size:
        words: NDArray[np.uint64] = np.empty(pending.size, np.uint64)
        fill(words)
        words >>= spare[pending]
        below = words < bounds[pending].astype(np.uint64)
        out[pending[below]] = words[below].astype(np.int64)
        pending = pending[~below]
    return out


def many_below(bound: int, count: int, fill: Fill) -> NDArray[np.int64]:
    """The same for int64: all words first, then again those that were not below the bound."""
    bits = (bound - 1).bit_length()
    width = 64 if bits > 32 else 32
    dtype = np.dtype(f"uint{width}")
    out = np.zeros(count, np.int64)
    pending = np.arange(count if bits else 0)
    while pending.size:
        words: NDArray[Any] = np.empty(pending.size, dtype)
        fill(words)
        out[pending] = words >> dtype.type(width - bits)
        pending = pending[out[pending] >= bound]
    return out
