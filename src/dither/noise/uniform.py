"""Uniform integers: each of 0 .. bound - 1 with probability exactly 1/bound."""

from __future__ import annotations

from typing import Any

from dither.noise.entropy import random_bits
from dither.noise.request import as_array, checked_size
from dither.parameters import whole


def uniform_below(bound: int, size: int | None = None) -> Any:
    """Exactly uniform on 0 .. bound - 1, for a bound of any size: an int, or an array of `size` of them."""
    limit, count = whole(bound, "bound"), checked_size(size)
    if count is None:
        return one_below(limit)
    return as_array([one_below(limit) for _ in range(count)])


def one_below(bound: int) -> int:
    """Words of just enough bits, the first one below the bound."""
    bits = (bound - 1).bit_length()
    while True:
        word = random_bits(bits)
        if word < bound:
            return word
