"""What was chosen, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from dither.exact.digits import counted, decimal
from dither.sql.plan.aggregates import Aggregator
from dither.sql.plan.measures import shown
from dither.sql.plan.nodes import CountOwners, Measure
from dither.sql.planner.owner_clamps import Clamped
from dither.sql.planner.profiles.row_spread import Owners
from dither.sql.planner.value_bounds import Tighter


def as_stated(rows: int) -> str:
    """Of a limit that the analyst stated."""
    return f"At most {_rows(rows)} of each owner, as stated."


def about_rows(owners: Owners, most: int, rows: int, parts: Sequence[Aggregator], factor: Fraction) -> Iterator[str]:
    """Of a limit on the rows that are read, and of what is scaled up for it."""
    if not parts or most == 1 or all(measure == CountOwners() for leaf in parts for measure in leaf.measures()):
        return
    lost = float(owners.lost(rows)) / owners.total
    if rows == most:
        yield f"All {_rows(rows)} that count of each owner are read: by the profile, fewer would lose more."
    else:
        yield (
            f"At most {_rows(rows)} of each owner {'is' if rows == 1 else 'are'} read, of {most:,} that "
            f"count: by the profile this leaves out about {lost:.2g} of all rows and makes the noise "
            f"{most / rows:.3g} times smaller."
        )
    if factor != 1:
        doubt = float(owners.lost_doubt(rows)) / owners.total
        yield (
            f"Counts and sums are multiplied by {float(factor):.6g} for the rows left out; that share of rows is "
            f"known from the profile to about {doubt:.2g}."
        )


def about_cut(kept: float, cut: int) -> str:
    """Of a limit on the rows that conditions keep."""
    return (
        f"By the profile and the declared columns about {kept:.2g} of all rows are asked about, so at most "
        f"{_rows(cut)} of each owner after WHERE {'counts' if cut == 1 else 'count'}; it is the slower plan."
    )


def about_totals(totals: Mapping[Measure, Clamped]) -> Iterator[str]:
    """Of sums by owners' totals."""
    for measure, clamped in totals.items():
        ends = " to ".join(decimal(shown(measure, end)) for end in (clamped.total.least, clamped.total.most))
        unit = float(shown(measure, 1))
        scaled = f" and multiplied by {float(clamped.factor):.6g} for what that cuts off" * (clamped.factor != 1)
        yield (
            f"A sum adds owners' totals, each clamped to {ends}{scaled}: by the profile this errs by about "
            f"{clamped.error * unit:.3g} instead of {clamped.instead * unit:.3g}; it is the slower plan."
        )


def about_values(tighter: Tighter) -> str:
    """Of values that are clamped to tighter bounds than declared."""
    unit = 10.0**-tighter.value.scale
    ends = " to ".join(f"{end * unit:.10g}" for end in (tighter.least, tighter.most))
    declared = " to ".join(f"{end * unit:.10g}" for end in tighter.value.bounds)
    return (
        f"Values are clamped to {ends}, of {declared} that are declared: by the profile the error is "
        f"{tighter.instead / tighter.error:.3g} times smaller so, and {tighter.cut * unit:.3g} may be cut off an "
        "average value."
    )


def _rows(rows: int) -> str:
    return counted(rows, "row")
