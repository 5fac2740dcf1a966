"""A private profile of a table: noisy histograms of its owners, paid for once; whatever follows from them is free."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dither.escape import visible_lines
from dither.policy.catalog import Table
from dither.policy.columns import Fixed, Int
from dither.sql.planner.mechanism_choice import half_width, mechanism_from
from dither.sql.planner.profile_text import short_text, whole_text
from dither.sql.postprocess.histograms import Certified, Histogram
from dither.sql.postprocess.left_out import ROWS

_CONFIDENCE = Fraction(19, 20)
_MOST_BINS = 16  # of a first histogram, about: every bin that is empty costs a limit of its noise
_FINE = 4  # bins in which a second histogram divides a factor of two
_FEW = 8  # up to so many, all that can be told apart is told apart at once
_LARGEST = 2**62  # no total beyond is asked for
_FOR_ROWS = Fraction(3, 4)  # of what a profile's limits may miss, whichever of them are used
_FOR_FIRST = Fraction(1, 16)  # of that of a histogram that is asked for twice


@dataclass(frozen=True)
class Quantity:
    """What owners are counted by: their rows, or of a column the largest or smallest value, or the total of all
    positive or of all negative values, the last ones without their sign. It is at most `top` as far as it counts."""

    kind: str  # "rows", "largest", "smallest", "gains" or "losses"
    top: int
    share: Fraction  # of what the limits of a whole profile may miss
    column: str = ""

    @property
    def name(self) -> str:
        return ROWS if self.kind == ROWS else f"{self.kind} {self.column}"

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """The part of all that its histograms may miss, for each."""
        return (self.share,) if self.top < _FEW else (self.share * _FOR_FIRST, self.share * (1 - _FOR_FIRST))

    @property
    def first_edges(self) -> tuple[int, ...]:
        """Powers of two, or of four and so on if there are many; of rows also those beyond the declared maximum."""
        if self.kind == ROWS:
            return (*(2**place for place in range(self.top.bit_length())), self.top + 1)
        step = -(-self.top.bit_length() // _MOST_BINS)
        return (0, *(2**place for place in range(0, self.top.bit_length(), step)))

    def second_edges(self, first: Histogram) -> tuple[int, ...]:
        """Fine bins in the highest one that clearly has owners, and one for all beyond it."""
        ends = [*(edge for edge in first.edges if edge <= self.top), self.top + 1]
        noise = half_width(mechanism_from(first.mechanism), 1 - (1 - _CONFIDENCE) / len(ends))
        clear = [place for place, owners in enumerate(first.owners[: len(ends) - 1]) if owners > noise]
        start, end = ends[max(clear, default=0)], ends[max(clear, default=0) + 1]
        bins = max(1, round(_FINE * math.log2(end / max(1, start))))
        fine = (math.ceil(max(1, start) * 2 ** (place / _FINE)) for place in range(bins))
        return tuple(
            sorted({first.edges[0], *(edge for edge in fine if edge < end), *({end} if end <= self.top else ())})
        )


def quantities(table: Table, column: str | None = None) -> list[Quantity]:
    """What a profile counts owners by: their rows, or what there is of a column of numbers."""
    columns = numbers(table)
    if column is None:
        return [Quantity(ROWS, table.max_rows_per_owner, _FOR_ROWS if columns else Fraction(1))]
    every = sum(len(_tops(table, name)) for name in columns)
    return [Quantity(kind, top, (1 - _FOR_ROWS) / every, column) for kind, top in _tops(table, column).items()]


def numbers(table: Table) -> list[str]:
    """Columns of numbers that do not only name a row or an owner."""
    named = {*table.key, table.owner}
    return [name for name, column in table.columns.items() if isinstance(column, (Int, Fixed)) and name not in named]


def _tops(table: Table, name: str) -> dict[str, int]:
    column, rows = table.columns[name], table.max_rows_per_owner
    low, high = (column.low, column.high) if isinstance(column, (Int, Fixed)) else (0, 0)
    tops = {"largest": high, "smallest": -low, "gains": rows * high, "losses": -rows * low}
    single = ("largest", "smallest")  # of one row, a total is its value
    return {kind: top for kind, top in tops.items() if 0 < top < _LARGEST and (rows > 1 or kind in single)}


@dataclass(frozen=True)
class Profile:
    """What was released about one snapshot of a table, by the name of what owners are counted by."""

    table: str
    snapshot: int
    most: int  # rows of an owner that count, as declared
    known: Mapping[str, Certified] = field(default_factory=dict)
    decimals: Mapping[str, int] = field(default_factory=dict)  # of columns
    price: Mapping[str, str] = field(default_factory=dict)  # by what it was paid for

    @property
    def rows(self) -> Certified | None:
        return self.known.get(ROWS)

    def steps(self, name: str) -> list[int]:
        """Just below every edge of its bins: there, what lies beyond a limit changes its slope."""
        histograms = self.known[name].histograms if name in self.known else ()
        return sorted({edge - 1 for one in histograms for edge in one.edges if edge > 1})

    @property
    def fewest_rows(self) -> int:
        """About how many rows there are at least: an estimate, for prices of averages."""
        if self.rows is None:
            return 0
        first = self.rows.histograms[0]
        return max(
            0,
            sum(min(edge, self.most) * max(0, owners) for edge, owners in zip(first.edges, first.owners, strict=True)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything released, with intervals at confidence 95%."""
        told = {name: [[*self._bins(name, one)] for one in known.histograms] for name, known in self.known.items()}
        return {
            "table": self.table,
            "snapshot": self.snapshot,
            "max_rows_per_owner": self.most,
            "price": dict(self.price),
            "confidence": "0.95",
            "rows_per_owner": told[ROWS][0] if ROWS in told else [],
            "histograms": told,
        }

    def _bins(self, name: str, histogram: Histogram) -> Iterator[dict[str, Any]]:
        unit = 10 ** self.decimals.get(name.partition(" ")[2], 0)
        width = int(half_width(mechanism_from(histogram.mechanism), _CONFIDENCE))
        ends = (*(edge - 1 for edge in histogram.edges[1:]), None)
        for start, end, owners in zip(histogram.edges, ends, histogram.owners, strict=True):
            within = {"lower": max(0, owners - width), "upper": max(0, owners + width)}
            shown = [None if edge is None else edge if unit == 1 else edge / unit for edge in (start, end)]
            yield {"from": shown[0], "to": shown[1], "owners": owners, **within}

    def details(self) -> str:
        """Every bin of every histogram, with its interval."""
        return whole_text(self.to_dict())

    def __str__(self) -> str:
        return short_text(self.to_dict())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(visible_lines(self))}</pre>"
