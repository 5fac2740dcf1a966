"""The kinds of column an answer has: public keys, values that were chosen, and noisy numbers with their error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[Any]  # int64, Python ints in an object array, or float64


@dataclass(frozen=True, eq=False)
class Key:
    """A column of public values (NULL among them): it depends on the question and the declarations alone."""

    name: str
    values: pa.Array

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.intp]) -> Key:
        """The same column with these rows only, in this order."""
        import pyarrow as pa

        return replace(self, values=self.values.take(pa.array(rows)))

    def shown(self) -> NDArray[Any]:
        """The values as NumPy shows them: text and NULLs in an object array."""
        array: NDArray[Any] = self.values.to_numpy(zero_copy_only=False)
        return array

    def labels(self, rows: int | None = None) -> list[Any]:
        """The values as they are written, None for NULL: moments that are all at midnight, as months are, as dates."""
        values: list[Any] = (self.values if rows is None else self.values[:rows]).to_pylist()
        known = [value for value in values if value is not None]
        if not known or not all(isinstance(value, datetime) and at_midnight(value) for value in known):
            return values
        return [None if value is None else value.date() for value in values]


def at_midnight(value: date) -> bool:
    """Whether a day or a moment is where a day begins."""
    return not isinstance(value, datetime) or value.time() == time()


@dataclass(frozen=True, eq=False)
class Chosen(Key):
    """A column of declared values that a mechanism chose, such as a mode or a median day: noisy, without interval."""

    mechanism: str = ""


@dataclass(frozen=True)
class NoiseScale:
    """The scale of the noise that one measure got, in the units that it is shown in."""

    measure: str
    scale: float


@dataclass(frozen=True, eq=False)
class Value:
    """A column of noisy numbers.

    Whole numbers count units of 10**-decimals; float64 columns (averages) are in shown units already. The error is one
    `half_width` in shown units for the whole column, or `lower` and `upper` per cell in the units of `values`. `scale`
    says how much noise each measure behind the column got: an average has two. `possible` is the range that
    declarations allow; an interval that is all of it tells nothing. `additive`: groups add up to their total.
    Where rows or values may have been left out, `left_out` says how much, and `noise` is the same column with the
    interval of its noise alone. `selecting`: its noisy numbers decided which keys are shown, and its interval is that
    of the noise before.
    """

    name: str
    values: Numbers
    decimals: int = 0
    half_width: Fraction | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None
    mechanism: str = ""
    scale: tuple[NoiseScale, ...] = ()
    possible: tuple[float, float] | None = None
    additive: bool = False
    left_out: str = ""
    noise: Value | None = None
    selecting: bool = False

    def __post_init__(self) -> None:
        if (self.lower is None) != (self.upper is None):
            raise ParameterError(
                f"column {self.name!r} has one end of its intervals; give lower and upper, or neither."
            )
        for part in (self.values, self.lower, self.upper):
            if part is None:
                continue
            if part.dtype not in (np.dtype(np.int64), np.dtype(object), np.dtype(np.float64)) or part.ndim != 1:
                raise ParameterError(
                    f"column {self.name!r} holds {part.dtype} in {part.ndim} dimensions; "
                    "a value column is a vector of int64, Python ints or float64."
                )
            if len(part) != len(self.values):
                raise ParameterError(f"column {self.name!r} has {len(self.values)} values but {len(part)} bounds.")

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_float(self) -> bool:
        return self.values.dtype == np.float64

    def take(self, rows: NDArray[np.intp]) -> Value:
        """The same column with these rows only, in this order."""
        lower, upper = (None if part is None else part[rows] for part in (self.lower, self.upper))
        noise = None if self.noise is None else self.noise.take(rows)
        return replace(self, values=self.values[rows], lower=lower, upper=upper, noise=noise)

    def uninformative(self) -> NDArray[np.bool_]:
        """For each cell, whether its interval is all that the declarations allow anyway."""
        if self.lower is None or self.upper is None or self.possible is None or not self.possible[0] < self.possible[1]:
            return np.zeros(len(self), dtype=bool)
        least, greatest = self.possible
        return np.asarray((self.lower <= least) & (self.upper >= greatest), dtype=bool)

    def shown(self) -> NDArray[Any]:
        """The values in shown units: integers, float64, or Decimals in an object array."""
        return in_shown_units(self.values, self.decimals)


def in_shown_units(numbers: Numbers, decimals: int) -> NDArray[Any]:
    """Numbers as an analyst reads them; only fixed-point columns change form."""
    if numbers.dtype == np.float64 or decimals == 0:
        return numbers
    shown = np.empty(len(numbers), dtype=object)
    shown[:] = [Decimal(f"{number}e-{decimals}") for number in numbers.tolist()]
    return shown


def distinct(names: Sequence[str]) -> list[str]:
    """The names with a number after repeats, so that no column hides another.

    >>> distinct(["n", "n", "n_2"])
    ['n', 'n_3', 'n_2']
    """
    return list(_distinct(names))


def _distinct(names: Sequence[str]) -> Iterator[str]:
    taken, seen = set(names), set()
    for name in names:
        shown, number = name, 2
        while shown in seen or (number > 2 and shown in taken):
            shown, number = f"{name}_{number}", number + 1
        seen.add(shown)
        yield shown
