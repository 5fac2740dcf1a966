"""How one price is split over the questions of one text, as it is over the measures of one question.

The sum of squared errors of all columns, each relative to what it measures, is to be as small as it can: a question
gets what its measures together would get if all of them were one question's. A level of ROLLUP that others are
computed from counts once for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.sql.over.over_question import Part
from dither.sql.planner.candidate import Plan
from dither.sql.planner.split import least_error

_PARTS = 10_000  # a share is a whole number of these
_FEWEST = 0.2  # of an even share


def price_shares(parts: Sequence[Part], kind: str) -> tuple[Fraction, ...]:
    """The share of the price that each question gets; they add up to 1."""
    wanted = [part.weight * _wanted(part, kind) for part in parts]
    fewest = _FEWEST * sum(wanted) / len(wanted)
    wanted = [max(one, fewest) for one in wanted]
    found = [int(_PARTS * one / sum(wanted)) for one in wanted]
    found[found.index(max(found))] += _PARTS - sum(found)
    return tuple(Fraction(one, _PARTS) for one in found)


def _wanted(part: Part, kind: str) -> float:
    plan = Plan(part.question, kind, Fraction(1), Fraction(19, 20))
    error = least_error([*plan.moved], [*plan.moved.values()], plan.weights, kind)
    return float(error ** (1 / 2 if kind == "zcdp" else 1 / 3))
