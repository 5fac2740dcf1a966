"""What a caller may ask of a sampler, checked once; and how drawn integers are handed back."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact.parameters import Number, positive, whole

SMALLEST_SCALE = Fraction(1, 1000)
LARGEST_SCALE = Fraction(1 << 60)


def scale_in_range(value: Number, name: str) -> Fraction:
    """An exact scale between 1e-3 and 2**60."""
    scale = positive(value, name)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ParameterError(
            f"{name} must lie between 1/1000 and 2**60 grid steps; got {_short(scale)}. Choose another grid."
        )
    return scale


def variance_in_range(value: Number, name: str) -> Fraction:
    """An exact variance whose square root lies between 1e-3 and 2**60."""
    variance = positive(value, name)
    if not SMALLEST_SCALE**2 <= variance <= LARGEST_SCALE**2:
        raise ParameterError(
            f"{name} must lie between 1e-6 and 2**120 grid steps squared; got {_short(variance)}. Choose another grid."
        )
    return variance


def checked_size(size: int | None) -> int | None:
    """None for a single draw, or a number of draws that is 0 or more."""
    return None if size is None else whole(size, "size", least=0)


def as_array(values: Sequence[int]) -> NDArray[Any]:
    """int64 where every value fits, Python ints otherwise; never wrapped."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array(values, object)


def replaced(array: NDArray[Any], where: NDArray[np.intp], values: NDArray[Any]) -> NDArray[Any]:
    """The array with some values replaced; Python ints throughout if the new ones need them."""
    if values.dtype == object:
        array = array.astype(object)
    array[where] = values
    return array


def _short(value: Fraction) -> str:
    return f"about {float(value):.6g}" if value < 10**300 else "a number above 1e300"
