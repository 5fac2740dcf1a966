"""Made-up data that come out the same everywhere: integers hashed from a stream name and a counter.

This makes demonstration data, never noise: anybody can compute it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def words(stream: str, counters: NDArray[Any]) -> NDArray[np.uint64]:
    """A 64-bit word for each counter; different streams have nothing to do with each other."""
    start = np.uint64(int.from_bytes(sha256(stream.encode()).digest()[:8], "big"))
    word = counters.astype(np.uint64) * _GOLDEN + start
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return np.asarray(word ^ (word >> np.uint64(31)), dtype=np.uint64)


def below(stream: str, counters: NDArray[Any], bound: int) -> NDArray[np.int64]:
    """Whole numbers in [0, bound), near enough to uniform for a demonstration; bound is at most 2**31."""
    return np.asarray((words(stream, counters) >> np.uint64(33)) * np.uint64(bound) >> np.uint64(31), dtype=np.int64)


def weighted(stream: str, counters: NDArray[Any], weights: Sequence[int]) -> NDArray[np.int64]:
    """Positions in `weights`, each as often as its weight says."""
    ends = np.array(list(accumulate(weights)), dtype=np.int64)
    return np.asarray(np.searchsorted(ends, below(stream, counters, int(ends[-1])), side="right"), dtype=np.int64)
