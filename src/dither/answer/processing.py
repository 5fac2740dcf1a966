"""Optional post-processing of a whole answer: each function gives a new answer and says so in its notes.

Only released numbers are used, so it is free and private; what the ledger stores is never changed.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dither.answer.columns import Chosen, Key, Value
from dither.answer.intervals import ends
from dither.answer.numbers import narrow
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.answer.answer import Answer


def nonnegative(answer: Answer) -> Answer:
    """Numbers that cannot be negative moved up to zero, and their intervals with them."""
    columns = tuple(
        _from_zero(column) if isinstance(column, Value) and _cannot_be_negative(column) else column
        for column in answer.columns
    )
    note = "Negative numbers were set to 0 where none can be; sums over groups of them are too large on average."
    return replace(answer, columns=columns, notes=(*answer.notes, note))


def _cannot_be_negative(column: Value) -> bool:
    return column.possible is not None and column.possible[0] >= 0


def _from_zero(column: Value) -> Value:
    found = ends(column)
    lower, upper = (None, None) if found is None else (np.maximum(end, 0) for end in found)
    noise = None if column.noise is None else _from_zero(column.noise)
    return replace(column, values=np.maximum(column.values, 0), lower=lower, upper=upper, half_width=None, noise=noise)


def consistent(answer: Answer, total: Answer) -> Answer:
    """Counts and sums moved so that they add up to the total, which moves towards them, by least squares.

    With n groups of variance s each and a total of variance t that is r larger than their sum, least squares weighted
    with 1/variance move each group up by r * s / (n * s + t) and the total down by the rest. The sum is rounded to
    the unit, and what is left over goes to the first groups, one unit each.
    """
    _check(answer, total)
    members = _members(answer, total)
    columns: list[Key | Value] = []
    moved: list[str] = []
    for column in answer.columns:
        other = next((whole for whole in total.columns if whole.name == column.name), None)
        if isinstance(column, Value) and isinstance(other, Value) and _match(column, other):
            columns.append(_moved(column, other, members))
            moved.append(column.name)
        else:
            columns.append(column)
    if not moved:
        raise ParameterError(
            "the answers have no counts or sums in common that add up: give both columns of the same name, such as "
            "COUNT(*) AS n, and ask so that no rows are left out (rows_per_owner= the declared maximum)."
        )
    note = f"{', '.join(moved)}: adjusted to add up to a total asked for separately; intervals are those before that."
    return replace(answer, columns=tuple(columns), notes=(*answer.notes, note))


def _check(answer: Answer, total: Answer) -> None:
    names = [set(_key_names(each)) for each in (answer, total)]
    if not names[1] < names[0]:
        raise ParameterError("a total has some of the keys of the answer, or none: group it by fewer columns.")
    if not (answer.complete and total.complete):
        raise ParameterError(
            "groups add up to their total only if all are there: ask without HAVING and LIMIT, and with public keys."
        )
    if answer.guarantee != total.guarantee:
        raise ParameterError("the two answers are about different people, so they need not add up.")


def _match(column: Value, other: Value) -> bool:
    additive = column.additive and other.additive and not column.is_float and column.decimals == other.decimals
    return additive and column.half_width is not None and other.half_width is not None


def _members(answer: Answer, total: Answer) -> list[NDArray[np.intp]]:
    """The rows of the answer that each row of the total sums up."""
    shared = _key_names(total)
    if not shared:
        return [np.arange(len(answer))] * len(total)
    found: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(_keys(answer, shared)):
        found.setdefault(row, []).append(place)
    return [np.array(found.get(row, []), dtype=np.intp) for row in _keys(total, shared)]


def _key_names(answer: Answer) -> list[str]:
    return [column.name for column in answer.columns if isinstance(column, Key) and not isinstance(column, Chosen)]


def _keys(answer: Answer, names: list[str]) -> list[tuple[object, ...]]:
    columns = [column.values.to_pylist() for name in names if isinstance(column := answer.column(name), Key)]
    return list(zip(*columns, strict=True))


def _moved(column: Value, total: Value, members: list[NDArray[np.intp]]) -> Value:
    values = column.values.astype(object)
    part, whole = _variances(column, total)
    for rows, stated in zip(members, total.values.tolist(), strict=True):
        if not len(rows):
            continue
        gap = stated - int(sum(values[rows]))
        up = round(gap * Fraction(len(rows)) * part / (len(rows) * part + whole))
        each, left = divmod(up, len(rows))
        values[rows] = values[rows] + each
        values[rows[:left]] = values[rows[:left]] + 1
    found = ends(column)
    lower, upper = (None, None) if found is None else found
    return replace(column, values=narrow(values), lower=lower, upper=upper, half_width=None)


def _variances(*columns: Value) -> list[Fraction]:
    """Of the noise, up to a factor: squares of the scales if the mechanism is the same, of half-widths if not."""
    if len({column.mechanism for column in columns}) == 1 and all(len(column.scale) == 1 for column in columns):
        return [Fraction(column.scale[0].scale) ** 2 for column in columns]
    return [(column.half_width or Fraction(1)) ** 2 for column in columns]
