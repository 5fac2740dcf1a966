"""The shown text of an answer's cells, for as many rows as will be printed and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dither.answer.columns import Key, Value
from dither.answer.intervals import ends
from dither.escape import shortened
from dither.exact.digits import plain, write

NO_VALUE, NO_ERROR, NO_INFORMATION = "unknown", "?", "no information"


@dataclass(frozen=True)
class Cell:
    """A number or label, and the error beside it ("" where there is none)."""

    text: str
    error: str = ""

    @property
    def sure(self) -> int:
        """How many characters of the text stand before the first digit that the noise reaches.

        That digit has the place of the error's leading one; digits before it can change by a carry only.

        >>> Cell("45,700", "1,300").sure, Cell("61.25", "0.76").sure, Cell("-3", "21").sure
        (1, 3, 0)
        """
        top = _leading_place(self.error)
        if top is None:
            return 0 if self.error == NO_ERROR else len(self.text)
        place = sum(character.isdigit() for character in self.text.split(".")[0])
        kept = ""
        for at, character in enumerate(self.text):
            if character.isdigit():
                place -= 1
                if place <= top:
                    return at if any(digit in kept for digit in "123456789") else 0
            kept += character
        return len(self.text)


def _leading_place(error: str) -> int | None:
    """The power of ten that the first digit other than 0 counts; None where there is none."""
    place = sum(character.isdigit() for character in error.split(".")[0])
    for character in error:
        if character.isdigit():
            place -= 1
            if character != "0":
                return place
    return None


def cells(column: Key | Value, rows: int) -> list[Cell]:
    """The first `rows` cells of a column."""
    if isinstance(column, Key):
        return [Cell("NULL" if value is None else _label(value)) for value in column.values[:rows].to_pylist()]
    return _noisy(_head(column, rows))


def _head(column: Value, rows: int) -> Value:
    lower, upper = (None if part is None else part[:rows] for part in (column.lower, column.upper))
    return replace(column, values=column.values[:rows], lower=lower, upper=upper)


def _noisy(column: Value) -> list[Cell]:
    unit = None if column.is_float else Fraction(1, 10**column.decimals)
    bounds = None if column.half_width is not None else ends(column)
    written = []
    blank = column.uninformative().tolist()
    for row, number in enumerate(column.values.tolist()):
        if blank[row]:
            written.append(Cell(NO_INFORMATION))
            continue
        if not math.isfinite(number):
            written.append(Cell(NO_VALUE))
            continue
        value = Fraction(number) * (unit or 1)
        width = column.half_width
        if bounds is not None:
            low, high = bounds.lower[row], bounds.upper[row]
            if not (math.isfinite(low) and math.isfinite(high)):
                written.append(Cell(_bare(value, unit), NO_ERROR))
                continue
            width = max(value - _exact(low, unit), _exact(high, unit) - value, Fraction(0))
        written.append(Cell(_bare(value, unit)) if width is None else Cell(*write(value, width, unit=unit)))
    return written


def _exact(number: Any, unit: Fraction | None) -> Fraction:
    return Fraction(number.item() if hasattr(number, "item") else number) * (unit or 1)


def _bare(value: Fraction, unit: Fraction | None) -> str:
    if unit is None:
        return f"{float(value):.3g}"
    return plain(value, len(str(unit.denominator)) - 1)


def _label(value: object) -> str:
    return shortened(str(value).lower() if isinstance(value, bool) else value)
