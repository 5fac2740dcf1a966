"""What the planner decides about a question, in a form that the ledger can keep and a later run can read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import ParameterError
from dither.records.versions import STRATEGY, version_of
from dither.sql.plan.nodes import CountRows, Measure, OwnerTotal, SumRows

# What earlier versions planned: answers multiplied by a guess, and limits whose loss nothing bounds.
_NO_LONGER = {"factor", "factors", "rows_after_where", "rows_in_group"}


@dataclass(frozen=True)
class Strategy:
    """At most `rows` rows of each owner are read from a table (None: as many as it declares). With `gaussian`, a price
    in epsilon and delta buys Gaussian noise in place of Laplace noise.

    `totals` are measures that are computed from owners' clamped totals instead; `centred` are sums that are computed
    from distances from the middle and a count. `shares` are the parts of the price that the measures get, in the plan's
    order; without them all get the same. Values, by their text, are clamped to `bounds` before they are added or
    averaged, and averages take distances from `centres` in place of the middle. With `every_row` rows beyond the
    declared maximum are read too. With `where_first` the limit is on rows that conditions keep. `why` says in sentences
    what was chosen, and is not recorded.
    """

    rows: int | None = None
    totals: tuple[tuple[Measure, OwnerTotal], ...] = ()
    centred: tuple[Measure, ...] = ()
    shares: tuple[Fraction, ...] = ()
    why: str = ""
    bounds: tuple[tuple[str, int, int], ...] = ()
    centres: tuple[tuple[str, int], ...] = ()
    gaussian: bool = False
    every_row: bool = False
    where_first: bool = False

    def document(self) -> dict[str, Any]:
        """What a recipe records; empty where nothing was decided."""
        found = {
            "rows_per_owner": self.rows,
            "totals": [[asked.text, total.least, total.most] for asked, total in self.totals],
            "centred": [asked.text for asked in self.centred],
            "shares": [str(share) for share in self.shares],
            "centres": [list(centre) for centre in self.centres],
            "bounds": [list(bounds) for bounds in self.bounds],
            "noise": "Gaussian" if self.gaussian else None,
            "every_row": self.every_row,
            "where_first": self.where_first,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def read(cls, document: Mapping[str, Any], measures: Iterable[Measure]) -> Strategy:
        """The strategy that a recipe recorded for a question with these measures."""
        version_of(document, STRATEGY, "a recorded strategy")
        for name in _NO_LONGER & set(document):
            raise ParameterError(f"the recorded strategy has {name!r}, which is no longer supported.")
        named = {measure.text: measure for measure in measures}
        return cls(
            document.get("rows_per_owner"),
            tuple((named[text], totalled(named[text], low, high)) for text, low, high in document.get("totals", ())),
            tuple(named[text] for text in document.get("centred", ())),
            tuple(Fraction(share) for share in document.get("shares", ())),
            bounds=tuple((text, low, high) for text, low, high in document.get("bounds", ())),
            centres=tuple((text, centre) for text, centre in document.get("centres", ())),
            gaussian=document.get("noise") == "Gaussian",
            every_row=document.get("every_row", False),
            where_first=document.get("where_first", False),
        )


def totalled(measure: Measure, least: int, most: int) -> OwnerTotal:
    """The same sum or count by owners' totals, each clamped to [least, most]."""
    if isinstance(measure, CountRows):
        return OwnerTotal(None, measure.condition, least, most)
    if isinstance(measure, SumRows):
        return OwnerTotal(measure.value, None, least, most)
    raise ParameterError(f"a {type(measure).__name__} is not a total of owners.")
