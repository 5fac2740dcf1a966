"""A private profile of a table: noisy numbers that were paid for, so whatever follows from them costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dither.exact.digits import counted
from dither.mechanisms import Quantile
from dither.sql.planner.mechanism_choice import Mechanism, half_width, scale_of

RANKS = tuple(Fraction(percent, 100) for percent in (1, 5, 25, 50, 75, 95, 99))
_CONFIDENCE = Fraction(19, 20)


@dataclass(frozen=True)
class RowsPerOwner:
    """`owners[j]`: a noisy number of owners who have at least 2^j and fewer than 2^(j+1) rows."""

    owners: tuple[int, ...]
    mechanism: Mechanism

    @property
    def half_width(self) -> Fraction:
        """What the noise on each number stays within, with confidence 95%."""
        return half_width(self.mechanism, _CONFIDENCE)

    @property
    def scale(self) -> float:
        return float(scale_of(self.mechanism) or 0)


@dataclass(frozen=True)
class Distances:
    """A noisy sum, over one row of each owner, of how far its value is from the middle; NULL adds nothing."""

    middle: int
    total: int
    mechanism: Mechanism


@dataclass(frozen=True)
class Present:
    """A noisy number of owners of whom that one row has a value, where a column may be NULL."""

    owners: int
    mechanism: Mechanism


@dataclass(frozen=True)
class ColumnQuantiles:
    """Values of one row of each owner, at `RANKS`, in the column's units of 10^-decimals, and what they add up to."""

    values: tuple[int, ...]
    decimals: int
    mechanisms: tuple[Quantile, ...]
    distances: Distances | None = None
    present: Present | None = None

    @property
    def rank_errors(self) -> tuple[float, ...]:
        """How many owners each value's rank is off at most, with confidence 95%."""
        return tuple(mechanism.rank_error(_CONFIDENCE) for mechanism in self.mechanisms)

    def shown(self) -> tuple[float, ...]:
        return tuple(value / 10**self.decimals for value in self.values)


@dataclass(frozen=True)
class Profile:
    """What was released about one snapshot of a table. `rows` and each column are there once they are settled."""

    table: str
    snapshot: int
    most: int  # rows of an owner that count, as declared
    rows: RowsPerOwner | None = None
    columns: Mapping[str, ColumnQuantiles] = field(default_factory=dict)
    price: Mapping[str, str] = field(default_factory=dict)  # by what it was paid for
    remembered: dict[Any, Any] = field(init=False, default_factory=dict, compare=False, repr=False)  # what follows

    @property
    def owners(self) -> float | None:
        """A noisy number of all owners."""
        return None if self.rows is None else float(max(1, sum(self.rows.owners)))

    def mean(self, name: str) -> tuple[float, float] | None:
        """A noisy mean of a column over one row of each owner, in its units, and by how much it may be off (95%)."""
        if ("mean", name) not in self.remembered:
            self.remembered["mean", name] = self._mean_of(name)
        found: tuple[float, float] | None = self.remembered["mean", name]
        return found

    def _mean_of(self, name: str) -> tuple[float, float] | None:
        column, owners = self.columns.get(name), self.owners_of(name)
        if column is None or column.distances is None or owners is None:
            return None
        known = column.distances
        if column.present is None:
            return known.middle + known.total / owners, float(half_width(known.mechanism, _CONFIDENCE)) / owners
        both = (1 + _CONFIDENCE) / 2  # each of the two noises
        off, fewer = (float(half_width(noisy.mechanism, both)) for noisy in (known, column.present))
        if not column.present.owners - fewer >= 1:
            return None
        return known.middle + known.total / owners, (off + abs(known.total) / owners * fewer) / (owners - fewer)

    def owners_of(self, name: str) -> float | None:
        """A noisy number of owners of whom one row of a column has a value."""
        column = self.columns.get(name)
        return self.owners if column is None or column.present is None else float(max(1, column.present.owners))

    def to_dict(self) -> dict[str, Any]:
        """Everything released, with intervals at confidence 95%."""
        return {
            "table": self.table,
            "snapshot": self.snapshot,
            "max_rows_per_owner": self.most,
            "price": dict(self.price),
            "confidence": "0.95",
            "rows_per_owner": [] if self.rows is None else [*self._bins(self.rows)],
            "columns": {name: self._ranks(name) for name in self.columns},
            "means": {name: mean for name in self.columns if (mean := self._mean(name)) is not None},
        }

    def _mean(self, name: str) -> dict[str, float] | None:
        found, unit = self.mean(name), 10 ** self.columns[name].decimals
        if found is None:
            return None
        mean, off = found
        return {"mean": mean / unit, "lower": (mean - off) / unit, "upper": (mean + off) / unit}

    def _bins(self, rows: RowsPerOwner) -> Any:
        width = int(rows.half_width)
        for place, owners in enumerate(rows.owners):
            most = min(2 ** (place + 1) - 1, self.most)
            ends = {"lower": max(0, owners - width), "upper": max(0, owners + width)}
            yield {"from": 2**place, "to": most, "owners": owners, **ends}

    def _ranks(self, name: str) -> list[dict[str, Any]]:
        """Each value with the ranks, as shares of all owners, between which its own lies."""
        column, known = self.columns[name], self.owners_of(name)
        found = []
        for rank, value, error in zip(RANKS, column.shown(), column.rank_errors, strict=True):
            reach = 1.0 if known is None else min(1.0, error / known)
            ends = {"lower_rank": max(0.0, float(rank) - reach), "upper_rank": min(1.0, float(rank) + reach)}
            found.append({"rank": float(rank), "value": value, **ends})
        return found

    def __str__(self) -> str:
        told = self.to_dict()
        paid = "; ".join(f"{part}: {price}" for part, price in self.price.items())
        lines = [f"Profile of {self.table}, snapshot {self.snapshot}. Paid: {paid or 'nothing yet'}."]
        if told["rows_per_owner"]:
            lines += ["", "rows of an owner, and how many owners have so many:"]
        for part in told["rows_per_owner"]:
            rows = f"{part['from']:,}" + (f" to {part['to']:,}" if part["to"] > part["from"] else "")
            ends = f"between {part['lower']:,} and {part['upper']:,}"
            lines.append(f"  {rows:>20}: {counted(part['owners'], 'owner')} ({ends})")
        for name, ranks in told["columns"].items():
            lines += ["", f"{name}, one row of each owner:"]
            if name in told["means"]:
                mean = told["means"][name]
                lines.append(f"  mean: {mean['mean']:,.6g} (between {mean['lower']:,.6g} and {mean['upper']:,.6g})")
            for part in ranks:
                ends = f"{part['lower_rank']:.1%} and {part['upper_rank']:.1%}"
                lines.append(f"  {part['rank']:>6.0%}: {part['value']:,.10g} (its rank is between {ends})")
        return "\n".join([*lines, "", "Intervals hold with probability 95%, each by itself."])

    __repr__ = __str__
