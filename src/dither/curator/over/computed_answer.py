"""From what was computed to the answer an analyst reads: public columns, noisy ones, and intervals where they hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.answer import Answer, Chosen, Key, Value
from dither.answer.coverage import Covers
from dither.answer.intervals import ends
from dither.answer.numbers import narrow
from dither.answer.shape import OutputColumn, output_column
from dither.curator.over.cell_noise import Cells, PartAnswer, Term
from dither.curator.over.computed_files import Computed
from dither.sql.over.terms_of_cells import DENOMINATOR

COMPUTED = "computed"  # in place of a mechanism: what a noisy answer was made into
_FREE = (
    "Computed from noisy answers, which costs nothing; a column has an interval where it is a sum of noisy numbers, or "
    "a quotient of two."
)
_CHOSEN = (
    "Noisy values chose which rows are shown: rows near the border are in or out by chance, and numbers that were "
    "chosen for being large tend to be too large."
)

_PRESENT = (
    "Keys are shown whose number of owners is above zero for sure, with the confidence asked for: keys of few owners "
    "may be missing."
)


def computed_answer(rows: Computed, parts: Sequence[PartAnswer], price: Mapping[str, str]) -> Answer:
    """The computed table as an answer."""
    first, cells, table = parts[0].answer, Cells(parts), rows.table
    lists = {place: table.column(len(rows.columns) + at) for at, place in enumerate(rows.listed)}
    share = _share(table.num_rows, 0 if rows.of is None else len(parts[rows.of].answer), rows)
    columns: list[Key | Value] = []
    for place, column in enumerate(rows.columns):
        values = table.column(place).combine_chunks()
        if not column.noisy:
            columns.append(Key(column.name, values))
            continue
        terms = _terms(lists[place], values) if place in lists and share else None
        columns.append(_noisy(column.name, values, terms, cells, share, summed=not rows.chosen))
    covers: Covers = "shown" if 0 < share < 1 else first.covers
    said = list(dict.fromkeys(note for part in parts for note in part.answer.notes))
    said += [_CHOSEN] if share != 1 and any(column.noisy for column in rows.columns) else []
    said += [_PRESENT] if any(part.part.present and part.part.question.public for part in parts) else []
    return Answer(
        tuple(columns),
        price,
        first.guarantee,
        first.confidence,
        (*said, _FREE),
        any(part.charged for part in parts),
        complete=False,
        covers=covers,
        limited=first.limited,
        bought=tuple(guarantee for part in parts for guarantee in part.answer.bought),
    )


def _share(shown: int, whole: int, rows: Computed) -> Fraction:
    """Of all rows of one answer, of which noise shows so many; 0 where they are no longer those of one.

    If each interval may miss a share R/G of what may be missed, that is what those shown miss on average, as long as
    noise of other rows does not decide how many there are. Whatever decides it, they miss 1 + 1/2 + ... + 1/G times
    that at most (Benjamini and Yekutieli 2005, theorem 4).
    """
    if not rows.chosen or (shown == whole and not rows.compared):
        return Fraction(1)
    part = Fraction(shown, whole) if shown <= whole and whole else Fraction(0)
    return part / Fraction(1 + math.log(whole)) if part and rows.compared else part


def computed_shape(rows: Any, table: Any) -> tuple[OutputColumn, ...]:
    """The columns of what would be computed, from a table without rows."""
    found = []
    for place, column in enumerate(rows.columns):
        values = table.column(place).combine_chunks()
        own = _value(column.name, values) if column.noisy else Key(column.name, values)
        found.append(output_column(own, noisy=isinstance(own, Value)))
    return tuple(found)


def _terms(lists: Any, values: Any) -> list[list[Term] | None]:
    """The terms of each row; None where the number itself is NULL."""
    return [
        None if row is None or null else [(int(term["cell"]), float(term["factor"])) for term in row]
        for row, null in zip(lists.to_pylist(), values.is_null().to_pylist(), strict=True)
    ]


def _noisy(
    name: str, values: Any, terms: list[list[Term] | None] | None, cells: Cells, share: Fraction, *, summed: bool
) -> Key | Value:
    whole = None if terms is None else _copied(name, values, terms, cells, share)
    if whole is not None:
        return whole
    found = _value(name, values)
    if isinstance(found, Key) or terms is None or not summed:
        return found
    return _with_ends(found, terms, cells)


def _copied(name: str, values: Any, terms: list[list[Term] | None], cells: Cells, share: Fraction) -> Value | None:
    """Cells as they were answered, if that is what all of these are."""
    found = [row[0] for row in terms if row is not None and len(row) == 1 and row[0][1] == 1 and row[0][0] >= 0]
    if not found or len(found) != len(terms):
        return None
    places = [cells.place(cell) for cell, _ in found]
    used = {(part, column): cells.parts[part].value(column, share) for part, _, column in places}
    known = [value for value in used.values() if value is not None]
    if len(known) != len(used):
        return None
    own, rows = _value(name, values), np.array([row for _, row, _ in places], dtype=np.intp)
    if not isinstance(own, Value):
        return None
    cells_shown = [_shown(used[part, column], row) for part, row, column in places]
    if any(_shown(own, at) != one for at, one in enumerate(cells_shown)):  # something was added to it
        return None
    if len(known) == 1:
        return replace(known[0].take(rows), name=name)
    bounds = {place: ends(value) for place, value in used.items() if value is not None}
    if None in bounds.values() or any(value.left_out for value in known):
        return None
    lower, upper = np.empty(len(places)), np.empty(len(places))
    for at, (part, row, column) in enumerate(places):
        value, both = used[part, column], bounds[part, column]
        if value is not None and both is not None:
            unit = _unit(value) / _unit(own)
            slack = 0.0 if unit == 1 else 2.0**-40
            lower[at], upper[at] = (
                end * unit + side * abs(end * unit) * slack
                for end, side in ((float(both.lower[row]), -1), (float(both.upper[row]), 1))
            )
    possible = {value.possible for value in known} if own.is_float and all(value.is_float for value in known) else set()
    return _bounded(own, lower, upper, possible.pop() if len(possible) == 1 else None)


def _shown(value: Value | None, row: int) -> float | Fraction | None:
    """A cell's number as it is shown, exact where it is a whole number of units; None where it is undefined."""
    if value is None or (value.is_float and not np.isfinite(value.values[row])):
        return None
    return float(value.values[row]) if value.is_float else Fraction(int(value.values[row]), 10**value.decimals)


def _unit(value: Value) -> float:
    """What one of a column's numbers counts, in shown units."""
    return 1.0 if value.is_float else 10.0**-value.decimals


def _bounded(value: Value, lower: Any, upper: Any, possible: tuple[float, float] | None = None) -> Value:
    """The column with these ends, in whole units where it has them."""
    if not value.is_float:
        lower, upper = np.floor(lower), np.ceil(upper)
        if (
            value.decimals
        ):  # whole numbers of units, which floats are not taken for; without a bound there is no interval
            if not all(np.isfinite(end).all() and (np.abs(end) < 2.0**62).all() for end in (lower, upper)):
                return value
            lower, upper = lower.astype(np.int64), upper.astype(np.int64)
    return replace(value, lower=lower, upper=upper, possible=possible)


def _value(name: str, values: Any) -> Key | Value:
    """A computed column by itself, without interval: numbers, or labels and the like that noise has chosen."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_floating(kind) or (values.null_count and (pa.types.is_integer(kind) or pa.types.is_decimal(kind))):
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
        return Value(name, np.where(np.isfinite(numbers), numbers, np.nan), mechanism=COMPUTED)
    if pa.types.is_integer(kind):
        return Value(name, np.asarray(values.cast(pa.int64()).to_numpy(zero_copy_only=False)), mechanism=COMPUTED)
    if pa.types.is_decimal(kind):
        units = np.empty(len(values), dtype=object)
        units[:] = [int(one.scaleb(kind.scale)) for one in values.to_pylist()]
        return Value(name, narrow(units), kind.scale, mechanism=COMPUTED)
    return Chosen(name, values, COMPUTED)


def _with_ends(value: Value, terms: list[list[Term] | None], cells: Cells) -> Value:
    """The column with the interval of each sum of cells; none if one of them has none."""
    missed = 1 - cells.parts[0].answer.confidence
    lower, upper = np.full(len(value), -np.inf), np.full(len(value), np.inf)
    for row, one in enumerate(terms):
        middle = float(value.values[row])
        if one is None or not np.isfinite(middle):
            continue
        if any(cell < 0 for cell, _ in one):
            lower[row], upper[row] = _quotient(middle, one, cells, missed)
            continue
        arms = cells.half_widths(one, missed)
        if arms is None:
            return value
        below, above = (arm / _unit(value) + abs(middle) * 2.0**-40 for arm in arms)
        lower[row], upper[row] = middle - below, middle + above
    return _bounded(value, lower, upper) if np.isfinite(lower).any() else value


def _quotient(middle: float, terms: list[Term], cells: Cells, missed: Fraction) -> tuple[float, float]:
    """The ends of a quotient of two sums of cells, each of which may miss by half of what both may."""
    (by,) = (value for cell, value in terms if cell == -DENOMINATOR)
    above = [(cell, factor) for cell, factor in terms if cell >= 0]
    below = [(-cell - 1, factor) for cell, factor in terms if -DENOMINATOR < cell < 0]
    arms = [cells.half_widths(some, missed / 2) if some else (0.0, 0.0) for some in (above, below)]
    return quotient_ends(middle, by, *arms)


Arms = tuple[float, float] | None  # how far below and above a noisy number the exact one may lie


def quotient_ends(middle: float, by: float, above: Arms, below: Arms) -> tuple[float, float]:
    """Between which ends a quotient lies by interval arithmetic, rounded outward; none where it may be by zero."""
    if above is None or below is None or by - below[0] <= 0 <= by + below[1]:
        return -np.inf, np.inf
    top, slack = middle * by, 2.0**-40
    tops = (top - above[0] - abs(top) * slack, top + above[1] + abs(top) * slack)
    ends = [end / side for end in tops for side in (by - below[0], by + below[1])]
    wide = max(map(abs, ends)) * slack
    return min(ends) - wide, max(ends) + wide
