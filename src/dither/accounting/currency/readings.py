"""What one step counts as in every way of counting, apart from one and the same event of probability delta."""

from __future__ import annotations

from fractions import Fraction

from dither.accounting.composition.composition import Composition
from dither.accounting.composition.losses import has_sharper_rho
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import ParameterError
from dither.exact.balls import float_up


def pure_epsilon(guarantee: Guarantee) -> Fraction | None:
    """The epsilon that bounds every loss outside the event that the step's additive delta is for; None if none does.

    Gaussian noise has none, also if it was stated by an epsilon and a delta: that delta is no event outside which
    losses are bounded. An (epsilon, delta) with a smaller proven rho has one event for each of the two, and they need
    not be the same.
    """
    if isinstance(guarantee, Composition):
        parts = [(pure_epsilon(part), count) for part, count in guarantee.parts]
        known = [epsilon * count for epsilon, count in parts if epsilon is not None]
        return sum(known, Fraction(0)) if len(known) == len(parts) else None
    if _has_two_events(guarantee):
        return None
    try:
        stated = guarantee.basic()
        return stated.epsilon if stated.delta == guarantee.zcdp().delta else None
    except ParameterError:
        return None


def renyi_divergence(guarantee: Guarantee, order: Fraction) -> Fraction | None:
    """At least the Renyi divergence of that order outside the same event, None if it is not bounded."""
    if isinstance(guarantee, Composition):
        parts = [(renyi_divergence(part, order), count) for part, count in guarantee.parts]
        known = [divergence * count for divergence, count in parts if divergence is not None]
        return sum(known, Fraction(0)) if len(known) == len(parts) else None
    if _has_two_events(guarantee):
        return Fraction(float_up(guarantee.zcdp().rho * order))
    # An order that is no float is read at the next float: divergences do not fall with the order.
    found = guarantee.renyi(float_up(order))
    return Fraction(found) if found < float("inf") else None


def _has_two_events(guarantee: Guarantee) -> bool:
    return isinstance(guarantee, ApproxDP) and has_sharper_rho(guarantee)
