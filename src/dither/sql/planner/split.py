"""How one price is split over measures so that the squared errors of all columns, each relative to what it measures,
add up to as little as they can.

With weights w and noise scales l/e, the sum of w l^2 / e^2 under a sum of epsilons e is least for e in proportion to
(w l^2)^(1/3), and that of w l^2 / rho under a sum of rhos for rho in proportion to sqrt(w) l.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.sensitivity import Sensitivity
from dither.sql.expressions import Clamp, Numeric, Stored
from dither.sql.plan.aggregates import Aggregator, Average, Sum, Variance
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.plan.nodes import Choice, CountOwners, Measure, OwnerTotal, SumRows
from dither.sql.plan.question import Question
from dither.sql.plan.released_form import as_released, centred, leaves
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.profiles.row_spread import Owners
from dither.sql.planner.profiles.value_spread import Values

__all__ = ["Weights", "as_released", "least_error", "leaves", "recentred", "shares", "summed"]

_PARTS = 10_000  # a share is a whole number of these
_FEWEST = 0.2  # of an even share: what is weighed wrongly, or divided by, must not drown in noise
_RANKS = 3.0  # by how many times its own noise scale a chosen value's rank is off
_OWNERS_PER_ROW = 0.25  # where no profile tells


def recentred(question: Question, values: Iterable[Numeric]) -> Question:
    """The question with the sums of these values answered by centred sums and counts."""
    wanted = frozenset(values)
    if not wanted:
        return question
    outputs = tuple(replace(output, aggregate=centred(output.aggregate, wanted)) for output in question.outputs)
    return replace(question, outputs=outputs)


def summed(question: Question) -> tuple[Sum, ...]:
    """The plain sums that are asked for."""
    found = (leaf for output in question.outputs for leaf in leaves(output.aggregate))
    return tuple(dict.fromkeys(leaf for leaf in found if type(leaf) is Sum))


@dataclass(frozen=True)
class Weights:
    """How much a measure's noise counts, relative to the number of rows, which is the same for all."""

    profile: Profile | None

    def of(self, question: Question) -> dict[Measure, float]:
        found: dict[Measure, float] = {}
        for output in question.outputs:
            for leaf in leaves(output.aggregate):
                weights = self._leaf(leaf, grouped=bool(question.keys))
                for measure, weight in zip(leaf.measures(), weights, strict=True):
                    found[measure] = found.get(measure, 0.0) + weight
        if not question.public:
            found.setdefault(CountOwners(), self._each(CountOwners()) ** -2)
        return found

    def _leaf(self, leaf: Aggregator, *, grouped: bool) -> list[float]:
        if isinstance(leaf, CentredSum):
            size = Values.of(leaf.value, self.profile).mean_size
            return [size**-2, (leaf.middle / size) ** 2]
        if isinstance(leaf, (Average, Variance)):
            values = Values.of(leaf.value, self.profile)
            spread = values.spread
            off = self._off(leaf, grouped=grouped)
            if isinstance(leaf, Average):
                return [spread**-2, (off / spread) ** 2]
            return [(2 * off / spread**2) ** 2, spread**-4, ((off**2 + spread**2) / spread**2) ** 2]
        return [self._each(measure) ** -2 for measure in leaf.measures()]

    def _off(self, leaf: Average | Variance, *, grouped: bool) -> float:
        """How far the mean of a group may be from the middle: at most half the range."""
        low, high = leaf.value.bounds
        column = leaf.value.value if isinstance(leaf.value, Clamp) else leaf.value
        name = column.name if isinstance(column, Stored) else None
        if self.profile is None or name is None or name not in self.profile.columns:
            return max(1.0, (high - low) / 2)
        values = Values.of(leaf.value, self.profile)
        mean = self.profile.mean(name)
        unsure = values.spread / 2 if grouped or mean is None else mean[1]
        return max(1.0, unsure, abs(float(values.points.mean()) - leaf.middle))

    def _each(self, measure: Measure) -> float:
        """About what one row adds to a measure."""
        if isinstance(measure, (SumRows, OwnerTotal)) and measure.value is not None:
            return Values.of(measure.value, self.profile).mean_size
        if isinstance(measure, CountOwners):
            if self.profile is None or self.profile.rows is None:
                return _OWNERS_PER_ROW
            spread = Owners.of(self.profile.rows, self.profile.most)
            return max(1e-6, float(spread.weights.sum()) / spread.total)
        return 0.5 if isinstance(measure, Choice) else 1.0


def shares(
    needed: Sequence[Measure], moved: Sequence[Sensitivity], weights: Mapping[Measure, float], kind: str
) -> tuple[Fraction, ...]:
    """The share of each measure; none where all are the same, or there is one."""
    wanted = _wanted(needed, moved, weights, kind)
    total = sum(wanted)
    if max(wanted) - min(wanted) < 1e-3 * total / len(wanted):
        return ()
    fewest = _FEWEST * total / len(wanted)
    enough = sum(share for share in wanted if share >= fewest)
    rest = (total - fewest * sum(share < fewest for share in wanted)) / enough
    parts = [int(_PARTS / total * (fewest if share < fewest else rest * share)) for share in wanted]
    parts[parts.index(max(parts))] += _PARTS - sum(parts)
    return tuple(Fraction(part, _PARTS) for part in parts)


def least_error(
    needed: Sequence[Measure], moved: Sequence[Sensitivity], weights: Mapping[Measure, float], kind: str
) -> float:
    """The sum of weighted squared errors at the best split, up to a factor that is the same for all plans."""
    total = sum(_wanted(needed, moved, weights, kind))
    return float(total**2 / 4 if kind == "zcdp" else total**3)


def _wanted(
    needed: Sequence[Measure], moved: Sequence[Sensitivity], weights: Mapping[Measure, float], kind: str
) -> list[float]:
    found = []
    for measure, sensitivity in zip(needed, moved, strict=True):
        weight = max(weights.get(measure, 1.0), 1e-300)  # with many decimals, values are large and weights tiny
        reach = float(sensitivity.l2 if kind == "zcdp" else sensitivity.l1)
        if isinstance(measure, Choice):
            reach = _RANKS * float(sensitivity.l1)
        found.append(float(weight**0.5 * reach if kind == "zcdp" else (weight * reach**2) ** (1 / 3)))
    return found
