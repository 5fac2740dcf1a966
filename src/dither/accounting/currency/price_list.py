"""A plan of releases, priced under every theorem side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.composition.composition import Composition, compose
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.pld.closed_forms import TwoPoint
from dither.accounting.pld.pld import PLD
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import Number, whole

Parts = Sequence[tuple[Guarantee, int]]


@dataclass(frozen=True)
class Row:
    """What one theorem says: epsilon at the plan's delta (None if it does not apply, with the reason as its note)."""

    theorem: str
    epsilon: float | None
    running: bool  # also valid when prices are chosen along the way
    note: str
    lower: float | None = None

    def document(self) -> dict[str, object]:
        """All of it, ready for JSON, which has no infinity."""
        epsilon, lower = (
            figure if figure is not None and math.isfinite(figure) else None for figure in (self.epsilon, self.lower)
        )
        about = {"theorem": self.theorem, "epsilon": epsilon, "lower": lower}
        return {**about, "running": self.running, "note": self.note}


def prices(parts: Parts, delta: Number) -> list[Row]:
    """epsilon at `delta` of all parts together, under each theorem that applies.

    >>> [row.theorem for row in prices([(PureDP("0.1"), 100)], "1e-6")]
    ['basic', 'advanced', 'zCDP', 'Renyi', 'optimal', 'privacy loss']
    """
    target, plan = read_delta(delta), _plan(parts)
    return [
        _row("basic", True, "epsilons and deltas add", lambda: _basic(plan, target)),
        _row("advanced", False, "Dwork, Rothblum and Vadhan, tight mean", lambda: _advanced(plan, target)),
        _row("zCDP", True, "rho adds, converted once", lambda: plan.zcdp().epsilon_at(target)),
        _row("Renyi", False, "curves add, best order", lambda: plan.rdp().epsilon_at(target)),
        _row("optimal", False, "best for stated epsilons and deltas", lambda: _optimal(plan, target)),
        _exact(plan, target),
    ]


def growth(parts: Parts, delta: Number, counts: Sequence[int]) -> dict[str, list[float]]:
    """epsilon at `delta` when the whole plan is carried out k times, for each k and theorem that applies throughout."""
    found: dict[str, list[float]] = {}
    for k in counts:
        times = whole(k, "k")
        for row in prices([(guarantee, count * times) for guarantee, count in parts], delta):
            if row.epsilon is not None and math.isfinite(row.epsilon):
                found.setdefault(row.theorem, []).append(row.epsilon)
    return {theorem: values for theorem, values in found.items() if len(values) == len(counts)}


def _plan(parts: Parts) -> Composition:
    return compose([guarantee * count for guarantee, count in parts])


def _row(theorem: str, running: bool, note: str, read: Callable[[], float]) -> Row:
    try:
        return Row(theorem, read(), running, note)
    except ParameterError as error:
        return Row(theorem, None, running, str(error))


def _basic(plan: Composition, delta: Fraction) -> float:
    stated = plan.basic()
    if stated.delta > delta:
        raise ParameterError(f"the deltas add up to {float(stated.delta):.3g}, more than {float(delta):.3g}.")
    return float_up(stated.epsilon)


def _stated(plan: Composition) -> list[tuple[PureDP | ApproxDP, int]]:
    """The stated epsilons and deltas of all parts, with their counts; refused if one states none."""
    found: list[tuple[PureDP | ApproxDP, int]] = []
    for guarantee, count in plan.parts:
        if isinstance(guarantee, Composition):
            found += [(part, inner * count) for part, inner in _stated(guarantee)]
        else:
            found.append((guarantee.basic(), count))
    return found


def _advanced(plan: Composition, delta: Fraction) -> float:
    """sqrt(2 ln(1/d') sum eps^2) + sum eps tanh(eps/2), with d' what the additive deltas leave of delta."""
    stated = _stated(plan)
    rest = delta - sum((part.delta * count for part, count in stated), Fraction(0))
    if not rest > 0:
        raise ParameterError("the deltas leave nothing of delta to convert with.")
    squares = sum((part.epsilon**2 * count for part, count in stated), Fraction(0))
    if not squares:
        return 0.0
    _, high = bounds(
        lambda: (
            (-2 * ball(squares) * ball(rest).log()).sqrt()
            + sum((ball(part.epsilon) * (ball(part.epsilon) / 2).tanh() * count for part, count in stated), ball(0))
        )
    )
    basic = sum((part.epsilon * count for part, count in stated), Fraction(0))
    return float_up(min(high, basic))


def _optimal(plan: Composition, delta: Fraction) -> float:
    distributions = tuple((TwoPoint(part.epsilon, part.delta), count) for part, count in _stated(plan))
    return PLD(distributions).epsilon_at(delta)


def _exact(plan: Composition, delta: Fraction) -> Row:
    loss = plan.privacy_loss()
    if loss is None:
        return Row("privacy loss", None, False, "a part is known by its rho or Renyi curve only.")
    low, high = loss.bounds_at(delta=delta)
    if not plan._distribution_says_all():
        # Stated epsilons of a part with a smaller proven rho: an upper bound only, nobody has this loss.
        return Row(
            "privacy loss", high, False, "the worst distribution of what is stated; a part has a smaller proven rho"
        )
    return Row("privacy loss", high, False, "the distribution of the noise itself, certified bounds", low)
