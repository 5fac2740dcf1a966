"""Which labels of a category a condition means, found in the public list within limits that keep every question cheap.

Labels are compared one by one before anything is charged, so a query may ask for so many comparisons and no more,
whatever was declared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from dither.policy.columns import Category
from dither.sql.expressions import Comparison, Run
from dither.sql.text import patterns
from dither.sql.text.source import Source

MOST_LABELS = 100_000  # comparisons of one query with labels
MOST_ZONES = 4  # time zones that a query may name
MOST_RUNS = 1_000  # runs of neighbouring codes that its conditions may stand for
_CHARACTERS = 200  # so many of them compared take about as long as one label
_PATTERN = 600  # a pattern takes as long to prepare as so many labels to compare, and each character of it adds
_PATTERN_CHARACTER = 20

_ORDER: dict[Comparison, Callable[[str, str], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass
class LabelReader:
    """Finds labels for one query, and keeps count of the comparisons and runs it has taken so far."""

    source: Source
    comparisons: int = 0
    runs: int = 0
    zones: set[str] = field(default_factory=set)

    def like(self, at: exp.Expr, category: Category, pattern: str, *, any_case: bool = False) -> tuple[Run, ...]:
        """The codes of the labels that match a normal pattern."""
        prepare = _PATTERN + _PATTERN_CHARACTER * len(pattern)
        self._spend(at, category, prepare=prepare, each=patterns.longest_search(pattern))
        matches = patterns.compiled(pattern, any_case=any_case).match
        return self._runs(at, (code for code, label in enumerate(category.values) if matches(label)))

    def ordered(self, at: exp.Expr, category: Category, comparison: Comparison, bound: str) -> tuple[Run, ...]:
        """The codes of the labels that are less or greater, by code points."""
        self._spend(at, category)
        holds = _ORDER[comparison]
        return self._runs(at, (code for code, label in enumerate(category.values) if holds(label, bound)))

    def alike(self, at: exp.Expr, one: Category | None, other: Category | None) -> bool:
        """Whether two categories have the same labels in the same order, so that equal codes are equal labels."""
        if one is None or other is None or len(one.values) != len(other.values):
            return False
        if one.values is not other.values:
            self._spend(at, one)
        return one.values is other.values or one.values == other.values

    def zone(self, at: exp.Expr, name: str) -> None:
        """Count a time zone, whose changes have to be looked up, or refuse it."""
        self.zones.add(name)
        if len(self.zones) > MOST_ZONES:
            what = f"this query names more than {MOST_ZONES} time zones."
            raise self.source.refusal(at, what, "Ask several questions.")

    def take(self, at: exp.Expr, category: Category) -> None:
        """Count one look at every label, or refuse it."""
        self._spend(at, category)

    def _spend(self, at: exp.Expr, category: Category, *, prepare: int = 0, each: int = 1) -> None:
        """Count the comparisons with all labels, of which a character may take part in `each`; or refuse them."""
        labels = category.values
        self.comparisons += prepare + len(labels)
        if self.comparisons <= MOST_LABELS:  # else there may be too many even to add up their lengths
            lengths = [len(label) for label in labels]
            self.comparisons += sum(lengths) * min(each, max(lengths)) // _CHARACTERS
        if self.comparisons > MOST_LABELS:
            what = f"this query compares with labels about {self.comparisons} times; at most {MOST_LABELS} are allowed."
            raise self.source.refusal(at, what, "Name the labels with = or IN, or declare the column as Text.")

    def _runs(self, at: exp.Expr, codes: Iterable[int]) -> tuple[Run, ...]:
        found: list[Run] = []
        first = last = -2
        for code in codes:
            if code != last + 1:
                found.append((first, last))
                first = code
                if self.runs + len(found) > MOST_RUNS + 1:
                    what = f"the labels that this query means lie in more than {MOST_RUNS} separate places of the list."
                    hint = "Name the labels with = or IN, declare similar ones side by side, or the column as Text."
                    raise self.source.refusal(at, what, hint)
            last = code
        found.append((first, last))
        self.runs += len(found) - 1
        return tuple(found[1:])
