"""What a load did to the records. It is exact, so it is for the curator alone: nothing of it may reach an analyst.

What costs many answers is said loudly: more than one record or value in twenty cut, clamped or replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dither.exact.digits import counted
from dither.policy.columns import Column

LOUD = "WARNING: "
_ONE_IN = 20  # from this share on, the declaration rather than the records is probably wrong


@dataclass(frozen=True, repr=False)
class LoadReport:
    """What sanitising did, for the curator only: it is exact, so it must never reach an analyst."""

    rows: int
    owners: int
    dropped_without_owner: int
    clamped: dict[str, int]
    replaced: dict[str, int]
    beyond_max_rows_per_owner: int
    dropped_without_key: int = 0  # a value of the key does not fit its declaration
    dropped_as_repeats: int = 0  # the owner has another row with the same key
    unreadable_lines: int = 0  # of CSV, with more or fewer fields than the header
    beyond_max_rows_per_owner_in: dict[str, int] = field(default_factory=dict)  # by column; not stored
    beyond_max_values_per_owner: dict[str, int] = field(default_factory=dict)  # by column; not stored
    utf8: bool = True  # whether the text of a CSV source is
    expected: dict[str, str] = field(default_factory=dict)  # what a column's values look like, where some did not fit
    about_budget: tuple[str, ...] = ()  # what is wrong with the people's budget for so many owners

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the curator should not overlook; empty if there is nothing."""
        return tuple(line.strip().removeprefix(LOUD) for line in self._lines() if LOUD in line)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return f"<loaded: {'; '.join(line.strip() for line in self._lines())}>"

    def _lines(self) -> Iterator[str]:
        # A public table has no owners, and any other has some.
        yield counted(self.rows, "row") + (f" of {counted(self.owners, 'owner')}" if self.owners else "")
        yield from self._records()
        yield from self._values()
        if not self.utf8:
            yield (
                "  the file is not all UTF-8, and values with other bytes were read as NULL: convert it first, such as "
                "with iconv -f LATIN1 -t UTF-8 if it is in Latin-1"
            )
        yield from (f"  {LOUD}{words}" for words in self.about_budget)

    def _records(self) -> Iterator[str]:
        dropped = {
            "as unreadable lines (more or fewer fields than the header, say)": self.unreadable_lines,
            "without an owner": self.dropped_without_owner,
            "since their key does not fit": self.dropped_without_key,
            "since they repeat a key of their owner": self.dropped_as_repeats,
        }
        for column, count in self.beyond_max_values_per_owner.items():
            dropped[f"beyond the values kept of each owner, {column}"] = count
        for column, count in self.beyond_max_rows_per_owner_in.items():
            dropped[f"beyond the rows kept of each owner and {column}"] = count
        read = self.rows + sum(dropped.values())  # `rows` counts those that were kept
        for why, count in dropped.items():
            if count:
                yield f"  dropped {why}: {_share(count, read)}"
        if self.beyond_max_rows_per_owner:
            yield f"  beyond the rows kept of each owner: {_share(self.beyond_max_rows_per_owner, self.rows)}"
        cut = sum(dropped.values()) + self.beyond_max_rows_per_owner
        if _many(cut, read):
            yield f"  {LOUD}in no answer at all: {_share(cut, read)} of the records"

    def _values(self) -> Iterator[str]:
        limited = sum(self.beyond_max_rows_per_owner_in.values()) + sum(self.beyond_max_values_per_owner.values())
        read = self.rows + self.dropped_as_repeats + limited
        loud = {
            name: LOUD if _many(self.clamped.get(name, 0) + self.replaced.get(name, 0), read) else ""
            for name in {**self.clamped, **self.replaced}
        }
        for column, count in self.clamped.items():
            if count:
                yield f"  {loud[column]}clamped to the bounds, {column}: {_share(count, read)}"
        for column, count in self.replaced.items():
            if count:
                hint = f"; expected {self.expected[column]}" if column in self.expected else ""
                yield f"  {loud[column]}did not fit, {column}: {_share(count, read)}{hint}"


def expectations(columns: Mapping[str, Column], replaced: Mapping[str, int]) -> dict[str, str]:
    """Of the columns of which some values did not fit: what does."""
    return {name: columns[name].expected for name, count in replaced.items() if count}


def _many(count: int, of: int) -> bool:
    return count * _ONE_IN > of


def _share(count: int, rows: int) -> str:
    """A count with its percentage of the rows: never shown as none or all where it is not.

    >>> _share(1, 1_000_000), _share(250, 1000)
    ('1 (below 0.1%)', '250 (25.0%)')
    """
    percent = 100 * count / rows
    return f"{count:,} ({'below 0.1' if percent < 0.1 else f'{percent:.1f}'}%)"
