"""What a curator is warned of when data are loaded. It is exact, so it goes to whoever loads, and nowhere else."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import PureDP
from dither.errors import LoadWarning
from dither.exact.digits import counted

if TYPE_CHECKING:
    from dither.curator.budgets import Budget
    from dither.engines.load_report import LoadReport

_LARGE_EPSILON = 10
_FAR_BELOW = 10  # times smaller


def with_budget(report: LoadReport, budget: Budget) -> LoadReport:
    """The report with what is wrong with the people's budget for so many owners."""
    return replace(report, about_budget=tuple(_about(budget, report.owners)))


def warn(table: str, report: LoadReport) -> None:
    """All that is loud in a report, at once, where `Curator.register` or `Curator.refresh` was called."""
    if report.warnings:
        said = "; ".join(report.warnings)
        warnings.warn(f"table {table!r}: {said}. Keep this from analysts: it is exact.", LoadWarning, stacklevel=5)


def _about(budget: Budget, owners: int) -> list[str]:
    found = []
    epsilon = Fraction(budget.epsilon)
    if epsilon > _LARGE_EPSILON:
        found.append(
            f"epsilon {float(epsilon):g} of the budget is above {_LARGE_EPSILON}: once it is spent, little protects a "
            f"person from a well-informed guess (odds may change by e^{float(epsilon):g})"
        )
    delta = Fraction(0) if isinstance(budget, PureDP) else Fraction(budget.delta)
    if delta * owners * _FAR_BELOW > 1:
        found.append(
            f"delta {float(delta):g} of the budget is not far below 1 in {counted(owners, 'owner')}: it would allow "
            f"publishing somebody's rows outright with probability {float(min(Fraction(1), delta * owners)):.2g}"
        )
    return found
