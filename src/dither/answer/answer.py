"""Answer: what an analyst gets. A noisy table that carries its error, its price and its guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from dither.answer.columns import Key, Value, distinct, in_shown_units
from dither.answer.frames import require
from dither.answer.intervals import ends
from dither.errors import DitherError, ParameterError
from dither.exact.digits import counted
from dither.exact.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from dither.accounting.guarantees.guarantee import Guarantee
    from dither.answer.coverage import Covers
    from dither.answer.text import Marks


class UnknownColumn(DitherError, KeyError):
    """The answer has no column of that name."""

    code = "column_unknown"

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class Answer:
    """A released table: every number in it is noisy, and everything done with it is free post-processing.

    Columns stand in SELECT order. Where `complete`, rows are all combinations of the public keys, and the shape says
    nothing about data; otherwise they were chosen from noisy numbers.
    """

    columns: tuple[Key | Value, ...]
    price: Mapping[str, str]
    guarantee: str
    confidence: Fraction
    notes: tuple[str, ...] = ()
    charged: bool = True  # False: bought before and given again, so that nothing was charged this time
    complete: bool = True
    covers: Covers = "each"
    limited: int | None = None  # rows of each owner that count, where that was stated and may leave others out
    bought: tuple[Guarantee, ...] = ()  # what each question that it is made of guarantees, in its budget's currency

    def __post_init__(self) -> None:
        if not self.columns:
            raise ParameterError("an answer has at least one column.")
        if len({len(column) for column in self.columns}) != 1:
            raise ParameterError("the columns of an answer must have the same number of rows.")

    # -- reading ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a dictionary."""
        return iter(self.to_dicts())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def value(self) -> Any:
        """The one number of an answer with one row and one value: an int, a float, or a Decimal."""
        values = [column for column in self.columns if isinstance(column, Value)]
        if len(self) != 1 or len(values) != 1:
            raise ParameterError(
                f"this answer has {counted(len(self), 'row')} and {counted(len(values), 'value column')}; "
                ".value reads a single number. Name a column, as in answer['count'], or use .to_dicts()."
            )
        return values[0].shown().tolist()[0]

    @property
    def privacy(self) -> Guarantee:
        """What this answer guarantees about one owner: it composes, as in `dt.compose([answer, release])`."""
        from dither.answer.privacy import privacy_of

        return privacy_of(self)

    def column(self, name: str) -> Key | Value:
        """The column of that name, with its error, mechanism and scale."""
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownColumn(f"there is no column {name!r}; the answer has: {', '.join(self.names)}.")

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column's shown values as a NumPy array."""
        return self.column(name).shown()

    def interval(self, name: str) -> Interval:
        """Lower and upper ends of a column's cells: they hold the exact numbers, as `claim` says how surely.

        Exact are the numbers over all rows and values that declarations admit: the ends cover the noise, and what
        limits on rows and clamps may have left out. An end without bound is infinite.
        """
        return self._interval(name, self.column(name))

    def noise(self, name: str) -> Interval:
        """The same for the noise alone: ends that hold the number without its noise, as the plan limited it."""
        column = self.column(name)
        return self._interval(name, column.noise or column if isinstance(column, Value) else column)

    @property
    def claim(self) -> str:
        """What the intervals of this answer hold, and how surely."""
        from dither.answer.coverage import claim

        return claim(self, "the interval holds")

    def _interval(self, name: str, column: Key | Value) -> Interval:
        found = ends(column) if isinstance(column, Value) else None
        if found is None or not isinstance(column, Value):
            raise ParameterError(f"column {name!r} is public or states no error, so it has no interval.")
        return Interval(*(in_shown_units(end, column.decimals) for end in found))

    # -- other forms --------------------------------------------------------------------------------------------

    def to_arrow(self, intervals: bool = False) -> pa.Table:
        """An Arrow table; with `intervals`, each value column is followed by its lower and upper ends."""
        from dither.answer import numbers

        return self._table(intervals, numbers.to_arrow)

    def _table(self, intervals: bool, written: Callable[..., pa.Array]) -> pa.Table:
        import pyarrow as pa

        names, arrays = [], []
        for column in self.columns:
            names.append(column.name)
            if isinstance(column, Key):
                arrays.append(column.values)
                continue
            arrays.append(written(column.values, column.decimals, nulls=True))
            bounds = ends(column) if intervals else None
            if bounds is not None:
                names += [f"{column.name}_lower", f"{column.name}_upper"]
                arrays += [written(end, column.decimals, nulls=True) for end in bounds]
        return pa.table(arrays, names=distinct(names))

    def to_pandas(self, intervals: bool = False, decimals: Literal["float", "decimal"] = "float") -> pd.DataFrame:
        """A pandas DataFrame (needs pandas).

        Decimal numbers are floats, with which pandas computes; with decimals="decimal" they are exact Decimals. What
        has to be known beside the numbers stands in `attrs["dither"]`.
        """
        from dither.answer import numbers
        from dither.answer.document import said

        if decimals not in ("float", "decimal"):
            raise ParameterError(f'decimals is "float" or "decimal"; got {decimals!r}.')
        require("pandas")
        frame = self._table(intervals, numbers.to_floats if decimals == "float" else numbers.to_arrow).to_pandas()
        frame.attrs["dither"] = said(self)
        return frame

    def to_polars(self, intervals: bool = False) -> pl.DataFrame:
        """A polars DataFrame (needs polars)."""
        frame: pl.DataFrame = require("polars").DataFrame(self.to_arrow(intervals))
        return frame

    def to_dicts(self, intervals: bool = False) -> list[dict[str, Any]]:
        """One dictionary a row."""
        rows: list[dict[str, Any]] = self.to_arrow(intervals).to_pylist()
        return rows

    def to_csv(self, path: str | Path, intervals: bool = True, *, raw: bool = False) -> None:
        """Write a CSV file; each value column is followed by its lower and upper ends, unless intervals=False.

        With intervals, lines above the table, which begin with #, say what it cost, what they hold, and the notes. A
        text that a spreadsheet would compute (it begins with =, +, - or @) gets an apostrophe before it, and control
        characters become a mark; with raw=True texts are written as they are and without those lines, for programs.
        """
        from dither.answer.document import csv_bytes

        Path(path).write_bytes(csv_bytes(self, intervals, raw=raw))

    def to_text(self, marks: Marks = "none", rows: int = 32) -> str:
        """The table that `print` shows, of so many rows.

        Digits that are only noise are not shown. With `marks`, digits that the noise reaches are told from those
        that it does not: in brackets, or dimmed for a terminal.
        """
        from dither.answer.text import table_text

        return table_text(self, rows, marks=marks)

    def to_json(self) -> str:
        """Rows with intervals, price, guarantee and notes as JSON; decimals are text, so no digit is lost."""
        from dither.answer.document import to_json

        return to_json(self)

    def plot(self, title: str | None = None) -> Any:
        """An altair chart (needs altair) of all numbers with their intervals; .save(path) as SVG, PNG or HTML.

        Bars for groups, in colours where there are two keys; lines with bands over days, times and long ranges. The
        title names the columns unless another is given.
        """
        from dither.answer.picture import chart

        return chart(self, title)

    chart = plot

    # -- post-processing ----------------------------------------------------------------------------------------

    def nonnegative(self) -> Answer:
        """A new answer whose counts, and sums of what is never negative, are not below zero, nor are their intervals.

        It costs nothing and each number comes closer to the exact one; but small groups are now too large on average,
        so add up the answer as it was released.
        """
        from dither.answer.processing import nonnegative

        return nonnegative(self)

    def consistent(self, total: Answer) -> Answer:
        """A new answer whose counts and sums add up to those of `total`, as well as both can be met.

        `total` answers the same question with fewer keys or none, with columns of the same names. Least squares,
        each number weighted with 1 / variance of its noise; intervals stay those of the numbers as released.
        """
        from dither.answer.processing import consistent

        return consistent(self, total)

    def __str__(self) -> str:
        from dither.answer.text import table_text

        return table_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from dither.answer.html import table_html

        return table_html(self)
