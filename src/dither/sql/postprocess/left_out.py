"""What a plan leaves out of the exact answer: how far each measure may be from that over all declared rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Bounds = tuple[int | None, int | None]  # exact - limited lies between them; None: no bound is known on that side
NOTHING: Bounds = (0, 0)


@dataclass(frozen=True)
class LeftOut:
    """Bounds on exact - limited, in any group, for each measure of a release by its text; one not named loses nothing.

    The exact measure is over all rows and values that declarations admit, the limited one over those that the plan
    reads, without its noise.
    """

    stated: Mapping[str, Bounds] = field(default_factory=dict)

    def bounds(self, measure: str, missed: Fraction) -> Bounds:
        """Rows left out and values clamped together; all bounds at once hold except with probability `missed`."""
        return self.stated.get(measure, NOTHING)

    def clamped(self, measure: str, missed: Fraction) -> Bounds:
        """The same for clamped values of the rows that are read, alone."""
        return NOTHING

    def certain(self, measure: str) -> bool:
        """Whether its bounds hold without exception, so that the noise may fail all of the time that is allowed."""
        return True

    def document(self) -> dict[str, Any]:
        """As it is kept with an answer; empty where nothing is left out."""
        return {measure: list(ends) for measure, ends in self.stated.items()}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> LeftOut:
        return cls({measure: (low, high) for measure, (low, high) in document.items()})
