"""The shown text of an answer's cells, for as many rows as will be printed and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dither.answer.columns import Key, Value
from dither.answer.intervals import ends
from dither.escape import shortened
from dither.exact.digits import plain, write, write_arms

NO_VALUE, NO_ERROR, NO_INFORMATION = "unknown", "?", "no information"


@dataclass(frozen=True)
class Cell:
    """A number or label, and the error beside it ("" where there is none).

    `beside` stands in place of ± and the error, where the two sides differ or the noise is only a part of it.
    """

    text: str
    error: str = ""
    beside: str = ""

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


def cells(column: Key | Value, rows: int, *, limited: bool = False, words: bool = False) -> list[Cell]:
    """The first `rows` cells of a column.

    With `limited`, a number is that of the rows that count, and what holds for all rows stands behind it; with `words`,
    how much was left out is said in each cell.
    """
    if isinstance(column, Key):
        return [Cell("NULL" if value is None else _label(value)) for value in column.labels(rows)]
    head = _head(column, rows)
    if head.noise is None:
        return _noisy(head)
    noisy, alone = _noisy(head), _noisy(head.noise)
    return [
        _beside(head, row, whole, noise, limited=limited, words=words)
        for row, (whole, noise) in enumerate(zip(noisy, alone, strict=True))
    ]


def _head(column: Value, rows: int) -> Value:
    lower, upper = (None if part is None else part[:rows] for part in (column.lower, column.upper))
    noise = None if column.noise is None else _head(column.noise, rows)
    return replace(column, values=column.values[:rows], lower=lower, upper=upper, noise=noise)


def _beside(column: Value, row: int, whole: Cell, noise: Cell, *, limited: bool, words: bool) -> Cell:
    """A cell whose interval is more than its noise: both are said."""
    bounds, number = ends(column), column.values[row]
    if whole.text in (NO_INFORMATION, NO_VALUE) or bounds is None:
        return replace(noise, beside=f"± {noise.error} (all rows: {whole.text})") if limited and noise.error else whole
    unit = None if column.is_float else Fraction(1, 10**column.decimals)
    value = _exact(number, unit)
    low, high = (_exact(end[row], unit) if math.isfinite(end[row]) else None for end in bounds)
    below, above = (
        None if end is None else max(Fraction(0), side * (end - value)) for end, side in ((low, -1), (high, 1))
    )
    text, minus, plus = write_arms(value, below, above, unit=unit)
    told = f"; {column.left_out}" if words and column.left_out else ""
    alone = f"± {noise.error}" if noise.error else "no noise"
    if limited:
        return replace(noise, beside=f"{alone} (all rows: {_range(value, low, high, unit)}{told})")
    part = f"({'noise ' + alone if noise.error else alone}{told})"
    if below is None or above is None:
        return Cell(text, NO_ERROR, f"{_range(value, low, high, unit)} {part}")
    return Cell(text, whole.error, f"± {minus} {part}" if minus == plus else f"−{minus} +{plus} {part}")


def _range(value: Fraction, low: Fraction | None, high: Fraction | None, unit: Fraction | None) -> str:
    """What is known of all rows, rounded outward."""
    if low is None and high is None:
        return "no bound"
    if high is None or low is None:
        known, side = (low, -1) if low is not None else (high, 1)
        return f"at {'least' if side < 0 else 'most'} {_outward(value, known or Fraction(0), side, unit)}"
    return f"{_outward(value, low, -1, unit)} to {_outward(value, high, 1, unit)}"


def _outward(value: Fraction, end: Fraction, side: int, unit: Fraction | None) -> str:
    """An end to as many digits as its distance from the value is written in."""
    _, arm = write(value, abs(end - value), unit=unit)
    decimals = len(arm.partition(".")[2])
    place = Fraction(1, 10**decimals) * 10 ** (0 if decimals else len(arm) - len(arm.rstrip("0")))
    rounded = math.floor(end / place) if side < 0 else math.ceil(end / place)
    return plain(rounded * place, decimals)


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
