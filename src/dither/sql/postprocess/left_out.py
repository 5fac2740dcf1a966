"""What a plan leaves out of the exact answer: how far each measure may be from that over all declared rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from dither.records.versions import LEFT_OUT, version_of
from dither.sql.postprocess.histograms import Certified

Bounds = tuple[int | None, int | None]  # exact - limited lies between them; None: no bound is known on that side
ROWS = "rows"  # the histogram of owners by their rows; others are named by the profile

# Of what an interval may miss, where it needs a profile's limits too. A constant: to choose it by what a profile says
# would be to choose among limits that hold one by one, and not together. Small: docs/proofs/profile.md, statement 5.
OF_PROFILE = Fraction(1, 10)


@dataclass(frozen=True)
class Side:
    """What a plan leaves out of one measure in one direction: of positive contributions, or of negative ones.

    `rows` of at most `most` rows of each owner are read, and a row adds at most `each`. Values are clamped so that a
    row adds at most `clamped`: `values` is the histogram of owners by their largest value, and `clamp` where in it
    values are cut off. `totals`: whole totals of owners are clamped instead, by that histogram, at `clamp`.
    `owners`: an owner who loses rows adds one at most. `unknown`: nothing is certified.
    """

    rows: int = 1
    most: int = 1
    each: int = 0
    clamped: int = 0
    values: str = ""
    totals: str = ""
    clamp: int = 0
    owners: bool = False
    unknown: bool = False

    @property
    def used(self) -> tuple[str, ...]:
        """The histograms that its bound follows from."""
        lost = ROWS if self.rows < self.most and (self.each or self.owners) else ""
        return () if self.unknown else tuple(filter(None, (lost, self.values, self.totals)))

    def bound(self, known: Mapping[str, Certified], missed: Fraction) -> int | None:
        """The most that is left out, in any group."""
        if self.unknown:
            return None
        if self.totals:
            return known[self.totals].excess(self.clamp, missed)
        if self.owners:
            return known[ROWS].above(self.rows, missed) if ROWS in self.used else 0
        rows = known[ROWS].excess(self.rows, missed) if ROWS in self.used else 0
        cut = self.cut(known, missed)
        return (
            min(self.each * rows + self.rows * cut, self.clamped * rows + self.most * cut) if cut else self.each * rows
        )

    def cut(self, known: Mapping[str, Certified], missed: Fraction) -> int:
        """What clamping cuts off each owner's largest value, over all owners."""
        return known[self.values].excess(self.clamp, missed) if self.values else 0


NOTHING = Side()


@dataclass(frozen=True)
class LeftOut:
    """Bounds on exact - limited, in any group, for each measure of a release by its text; one not named loses nothing.

    The exact measure is over all rows and values that declarations admit, the limited one over those that the plan
    reads, without its noise. `sides` has what is left out below and above; `known` are the histograms they need.
    """

    sides: Mapping[str, tuple[Side, Side]] = field(default_factory=dict)
    known: Mapping[str, Certified] = field(default_factory=dict)

    def bounds(self, measure: str, missed: Fraction) -> Bounds:
        """Rows left out and values clamped together; all bounds at once hold except with probability `missed`."""
        below, above = (side.bound(self.known, missed) for side in self._sides(measure))
        return None if below is None else -below, above

    def clamped(self, measure: str, missed: Fraction) -> Bounds:
        """The same for clamped values of the rows that are read, alone."""
        below, above = (side.rows * side.cut(self.known, missed) for side in self._sides(measure))
        return -below, above

    def split(self, measures: Iterable[str], missed: Fraction) -> tuple[Fraction, Fraction]:
        """Of what may be missed, the part of bounds that a profile tells, if these measures need any, and the rest."""
        told = Fraction(0) if all(map(self.certain, measures)) else missed * OF_PROFILE
        return told, missed - told

    def certain(self, measure: str) -> bool:
        """Whether its bounds hold without exception, so that the noise may fail all of the time that is allowed."""
        return not any(side.used for side in self._sides(measure))

    def document(self) -> dict[str, Any]:
        """As it is kept with an answer; empty where nothing is left out."""
        if not self.sides:
            return {}
        used = {name for sides in self.sides.values() for side in sides for name in side.used}
        return {
            "measures": {text: [_written(side) for side in sides] for text, sides in self.sides.items()},
            "histograms": {name: self.known[name].document() for name in sorted(used)},
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> LeftOut:
        version_of(document, LEFT_OUT, "what a stored answer leaves out")
        measures = document.get("measures", {})
        sides = {text: (Side(**below), Side(**above)) for text, (below, above) in measures.items()}
        return cls(sides, {name: Certified.read(one) for name, one in document.get("histograms", {}).items()})

    def _sides(self, measure: str) -> tuple[Side, Side]:
        return self.sides.get(measure, (NOTHING, NOTHING))


def _written(side: Side) -> dict[str, Any]:
    """What differs from nothing, by explicit names."""
    plain = asdict(NOTHING)
    return {name: value for name, value in asdict(side).items() if value != plain[name]}
