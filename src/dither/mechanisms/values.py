"""From what the caller releases to whole grid steps, and the addition of noise that never wraps.

Kinds and shapes of values are public; the numbers are not, so no message here contains one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError

Value = int | Fraction | Decimal | Sequence[Any] | npt.NDArray[Any]
Steps = int | npt.NDArray[Any]

_KINDS = "an int, Fraction or Decimal, a sequence of them, or a NumPy array of integers"
_FOR_FLOATS = (
    " A float was rounded somewhere, and no sensitivity covers that: give the number as a Decimal or a Fraction, and "
    'make the mechanism with the grid that it lies on, grid="0.1" for one decimal, "0.01" for two, "1/8" for eighths '
    "(without it the grid is 1: whole numbers); or with rounded_coordinates=1, which pays for rounding it to the grid."
)
_INT64 = (-(2**63), 2**63 - 1)
_CACHED = 16_384  # numbers that are added at a time: what is computed beside their sum stays in the processor's cache


def whole_steps(values: Any) -> Steps:
    """Integers as they are: a Python int, or an array of int64 (of Python ints if some need more)."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu":
            return values.astype(np.int64) if _fits(values) else values.astype(object)
        if values.dtype.kind != "O":
            raise ParameterError(f"exact values must be whole numbers; got an array of {values.dtype}.")
        return _pack([_whole(item) for item in values.flat], values.shape)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return _whole(values)
    items = [_whole(item) for item in values]
    return _pack(items, (len(items),))


def on_grid(values: Value, grid: Fraction) -> Steps:
    """Values that are multiples of the grid step, in steps; a value off the grid breaks the contract and is refused."""
    return _convert(values, grid, rounded=False)


def to_grid(values: Value, grid: Fraction) -> Steps:
    """Values rounded to the nearest grid step; the caller has enlarged the sensitivity accordingly."""
    return _convert(values, grid, rounded=True)


def add(steps: Steps, noise: Steps) -> Steps:
    """steps + noise in whole numbers. The type of the result depends on the result alone."""
    if isinstance(steps, int):
        return steps + int(noise)
    flat, extra = steps.reshape(-1), np.asarray(noise).reshape(-1)
    if flat.dtype == np.int64 and extra.dtype == np.int64:
        total, wrapped = np.empty_like(flat), False
        for start in range(0, flat.size, _CACHED):
            part = slice(start, start + _CACHED)
            one, other = flat[part], extra[part]
            found = np.add(one, other, out=total[part])
            # Two's complement addition wrapped exactly where the result's sign differs from both operands'.
            wrapped |= bool((((one ^ found) & (other ^ found)) < 0).any())
        if not wrapped:
            return total.reshape(steps.shape)
    return _pack([int(a) + int(b) for a, b in zip(flat, extra, strict=True)], steps.shape)


def shift(steps: Steps, by: int) -> Steps:
    """Every number moved by the same whole number."""
    return add(steps, by if isinstance(steps, int) else _pack([by], (1,)).repeat(steps.size))


def size_of(steps: Steps) -> int | None:
    """How many numbers; None for a single one."""
    return None if isinstance(steps, int) else int(steps.size)


def times_grid(steps: Steps, grid: Fraction) -> Any:
    """Steps as values in the caller's units: integers if the grid is whole, Fractions otherwise."""
    if grid == 1:
        return steps
    if isinstance(steps, int):
        return steps * (grid.numerator if grid.denominator == 1 else grid)
    if grid.denominator == 1:
        return _pack([int(item) * grid.numerator for item in steps.flat], steps.shape)
    return _object_array([int(item) * grid for item in steps.flat], steps.shape)


def _convert(values: Value, grid: Fraction, *, rounded: bool) -> Steps:
    if grid == 1 and isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values if values.dtype == np.int64 else whole_steps(values)  # read once, so no copy is needed
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iuO":
            raise ParameterError(
                f"a release needs exact values ({_KINDS}); got an array of {values.dtype}."
                + (_FOR_FLOATS if values.dtype.kind == "f" else "")
            )
        return _pack([_step(item, grid, rounded=rounded) for item in values.flat], values.shape)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return _step(values, grid, rounded=rounded)
    items = [_step(item, grid, rounded=rounded) for item in values]
    return _pack(items, (len(items),))


def _step(value: Any, grid: Fraction, *, rounded: bool) -> int:
    if isinstance(value, Decimal) and value.is_finite():
        value = Fraction(value)
    ratio = (value if isinstance(value, Fraction) else Fraction(_whole(value))) / grid
    if ratio.denominator == 1:
        return ratio.numerator
    if rounded:
        return round(ratio)
    raise ParameterError(
        f"a value is not a multiple of the grid step {grid}; make values exact multiples of grid=, or construct the "
        "mechanism with rounded_coordinates= so that rounding is paid for."
    )


def _whole(value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise ParameterError(f"a release needs exact values ({_KINDS}); got {type(value).__name__}.{_hint(value)}")


def _hint(value: Any) -> str:
    """What to do instead of releasing a float; its type is public, its digits are not."""
    return _FOR_FLOATS if isinstance(value, (float, np.floating)) else ""


def _fits(values: npt.NDArray[Any]) -> bool:
    return values.dtype != np.uint64 or not values.size or int(values.max()) <= _INT64[1]


def _pack(items: list[int], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if all(_INT64[0] <= item <= _INT64[1] for item in items):
        return np.array(items, dtype=np.int64).reshape(shape)
    return _object_array(items, shape)


def _object_array(items: Sequence[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    packed = np.empty(len(items), dtype=object)
    packed[:] = items
    return packed.reshape(shape)
