"""What the planner decides about a question, in a form that the ledger can keep and a later run can read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import ParameterError
from dither.records.versions import STRATEGY, version_of
from dither.sql.plan.nodes import CountRows, Measure, OwnerTotal, SumRows


@dataclass(frozen=True)
class Strategy:
    """At most `rows` rows of each owner are read from a table (None: as many as it declares), and at most `cut` of
    those that WHERE and joins leave are aggregated (None: all). With `gaussian`, a price in epsilon and delta buys
    Gaussian noise in place of Laplace noise.

    `totals` are measures that are computed from owners' clamped totals instead; `centred` are sums that are computed
    from distances from the middle and a count. `shares` are the parts of the price that the measures get, in the plan's
    order; without them all get the same. Values, by their text, are clamped to `bounds` before they are added or
    averaged, and averages take distances from `centres` in place of the middle. Counts and sums of rows are shown
    multiplied by `factor`, for the rows that the limit leaves out, and totals by their own `factors`, for what clamps
    cut off. `why` says in a sentence what was chosen, `bias` by how much measures, over all groups together, may
    come out too small for it, or with a factor be off either way, and `promised` is the sum of squared errors to
    expect, each relative to what is measured, where a profile tells; none of these is recorded.
    """

    rows: int | None = None
    totals: tuple[tuple[Measure, OwnerTotal], ...] = ()
    centred: tuple[Measure, ...] = ()
    shares: tuple[Fraction, ...] = ()
    why: str = ""
    bias: tuple[tuple[Measure, float], ...] = ()
    factor: Fraction = Fraction(1)
    cut: int | None = None
    factors: tuple[tuple[Measure, Fraction], ...] = ()
    bounds: tuple[tuple[str, int, int], ...] = ()
    centres: tuple[tuple[str, int], ...] = ()
    gaussian: bool = False
    promised: float | None = None

    def factor_of(self, measure: Measure) -> Fraction:
        """What a noisy measure is multiplied by before it is shown."""
        if measure in dict(self.totals):
            return dict(self.factors).get(measure, Fraction(1))
        return self.factor if isinstance(measure, (CountRows, SumRows)) else Fraction(1)

    def document(self) -> dict[str, Any]:
        """What a recipe records; empty where nothing was decided."""
        found: dict[str, Any] = {} if self.rows is None else {"rows_per_owner": self.rows}
        if self.totals:
            found["totals"] = [[asked.text, total.least, total.most] for asked, total in self.totals]
        if self.centred:
            found["centred"] = [asked.text for asked in self.centred]
        if self.shares:
            found["shares"] = [str(share) for share in self.shares]
        if self.cut is not None:
            found["rows_after_where"] = self.cut
        if self.factor != 1:
            found["factor"] = str(self.factor)
        if self.centres:
            found["centres"] = [list(centre) for centre in self.centres]
        if self.bounds:
            found["bounds"] = [list(bounds) for bounds in self.bounds]
        if self.factors:
            found["factors"] = [[asked.text, str(factor)] for asked, factor in self.factors]
        if self.gaussian:
            found["noise"] = "Gaussian"
        return found

    @classmethod
    def read(cls, document: Mapping[str, Any], measures: Iterable[Measure]) -> Strategy:
        """The strategy that a recipe recorded for a question with these measures."""
        version_of(document, STRATEGY, "a recorded strategy")
        if "rows_in_group" in document:  # earlier versions could limit rows in each group: that plan is no longer made
            raise ParameterError("the strategy limits the rows of an owner in each group, which is not supported.")
        named = {measure.text: measure for measure in measures}
        return cls(
            document.get("rows_per_owner"),
            tuple((named[text], totalled(named[text], low, high)) for text, low, high in document.get("totals", ())),
            tuple(named[text] for text in document.get("centred", ())),
            tuple(Fraction(share) for share in document.get("shares", ())),
            factor=Fraction(document.get("factor", 1)),
            cut=document.get("rows_after_where"),
            factors=tuple((named[text], Fraction(factor)) for text, factor in document.get("factors", ())),
            bounds=tuple((text, low, high) for text, low, high in document.get("bounds", ())),
            centres=tuple((text, centre) for text, centre in document.get("centres", ())),
            gaussian=document.get("noise") == "Gaussian",
        )


def totalled(measure: Measure, least: int, most: int) -> OwnerTotal:
    """The same sum or count by owners' totals, each clamped to [least, most]."""
    if isinstance(measure, CountRows):
        return OwnerTotal(None, measure.condition, least, most)
    if isinstance(measure, SumRows):
        return OwnerTotal(measure.value, None, least, most)
    raise ParameterError(f"a {type(measure).__name__} is not a total of owners.")
