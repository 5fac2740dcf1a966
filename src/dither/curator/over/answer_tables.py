"""The noisy rows of an answer as the Arrow table that is computed with: numbers as the analyst sees them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.answer import Answer, Key, Value
from dither.answer.columns import Numbers
from dither.answer.intervals import ends
from dither.answer.keys import sparse_keys
from dither.answer.noisy_measures import NoisyMeasure
from dither.answer.numbers import narrow, to_arrow
from dither.curator.present import present
from dither.curator.run import released
from dither.policy.catalog import PublicTable
from dither.sql.over.over_question import Part
from dither.sql.pricing.price import PricedQuestion

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS, _MOST_DECIMALS = 18, 9  # of decimals that products still fit with; others are floats


def empty_answer(priced: PricedQuestion, confidence: Fraction) -> Answer:
    """An answer without any row, whose columns have the types of every answer to this question: no data are read."""
    nothing = np.empty(0, dtype=np.int64)
    noisy = [NoisyMeasure(item.measure.text, nothing, item.parameters()) for item in priced.measures]
    stored = released(priced, noisy, tuple([] for _ in priced.question.keys)).to_bytes()
    return present(priced.question, stored, confidence)


def shown_rows(answer: Answer, part: Part) -> Answer:
    """The rows that a part has in its table: of keys alone, those that have owners for sure."""
    if not part.present or not part.question.public:
        return answer
    counted = next(column for column in answer.columns if isinstance(column, Value))
    bounds = ends(counted)
    if bounds is None:
        return answer
    rows = np.flatnonzero(np.asarray(bounds.lower > 0, dtype=bool))
    return Answer(
        tuple(column.take(rows) for column in answer.columns), answer.price, answer.guarantee, answer.confidence
    )


def table_of(answer: Answer, part: Part, first: int, row: str) -> pa.Table:
    """The table of a part: its columns under their own names, and the number of each row, from `first` on."""
    import pyarrow as pa

    shown = {column.name: column for column in answer.columns}
    arrays = [_array(shown[name]) for name, _ in part.columns]
    numbers = pa.array(range(first, first + len(answer)), pa.int64())
    return pa.table([*arrays, numbers], names=[*(name for name, _ in part.columns), row])


def with_a_row(table: pa.Table) -> pa.Table:
    """A table of the same types with one made-up row."""
    import pyarrow as pa

    made: dict[Any, Any] = {pa.string(): "1", pa.bool_(): True}
    ones = [pa.array([made.get(kind, 1)], kind) for kind in table.schema.types]
    return pa.table(ones, names=table.column_names)


def public_table(table: PublicTable, stored: pa.Table) -> pa.Table:
    """The rows of a public table as answers show their keys."""
    import pyarrow as pa

    columns = sparse_keys(list(table.columns.items()), [stored.column(name).to_pylist() for name in table.columns])
    return pa.table([_array(column) for column in columns], names=list(table.columns))


def _array(column: Key | Value) -> pa.Array:
    import pyarrow as pa

    if isinstance(column, Value):
        return _numbers(column.values, column.decimals)
    values = column.values
    if pa.types.is_dictionary(values.type):
        return values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        return values.cast(pa.timestamp("us"))  # of UTC; with a zone the engine would ask for the session's
    return values


def _numbers(values: Numbers, decimals: int) -> pa.Array:
    """Whole numbers of 64 bits, decimals that fit, or floats."""
    import pyarrow as pa

    if values.dtype == np.float64:
        return pa.array(values, pa.float64(), mask=~np.isfinite(values))
    whole: Any = narrow(values)
    small = whole.dtype == np.int64 and (not len(whole) or int(np.abs(whole.astype(np.float64)).max()) < 10**_DIGITS)
    if decimals == 0 and whole.dtype == np.int64:
        return pa.array(whole, pa.int64())
    if small and 0 < decimals <= _MOST_DECIMALS:
        return to_arrow(whole, decimals).cast(pa.decimal128(_DIGITS, decimals))
    return pa.array([float(Fraction(int(one), 10**decimals)) for one in whole], pa.float64())
