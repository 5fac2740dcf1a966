"""How one price is split over measures so that the squared errors of all columns, each relative to what it measures,
add up to as little as they can.

With weights w and noise scales l/e, the sum of w l^2 / e^2 under a sum of epsilons e is least for e in proportion to
(w l^2)^(1/3), and that of w l^2 / rho under a sum of rhos for rho in proportion to sqrt(w) l.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dither.sensitivity import Sensitivity
from dither.sql.plan.aggregates import Sum
from dither.sql.plan.nodes import Choice, CountOwners, Measure
from dither.sql.plan.question import Question

_PARTS = 10_000  # a share is a whole number of these
_FEWEST = 0.2  # of an even share: what is weighed wrongly, or divided by, must not drown in noise
_RANKS = 3.0  # by how many times its own noise scale a chosen value's rank is off


def summed(question: Question) -> tuple[Sum, ...]:
    """The plain sums that are asked for."""
    found = (leaf for output in question.outputs for leaf in output.aggregate.leaves())
    return tuple(dict.fromkeys(leaf for leaf in found if type(leaf) is Sum))


def weights(question: Question) -> dict[Measure, float]:
    """How much each measure's squared noise counts, as the aggregates say that it reaches into their columns."""
    found: dict[Measure, float] = {}
    for output in question.outputs:
        for leaf in output.aggregate.leaves():
            for measure, factor in zip(leaf.measures(), leaf.noise_factors, strict=True):
                found[measure] = found.get(measure, 0.0) + (factor / leaf.typical_size) ** 2
    if not question.public:
        found.setdefault(CountOwners(), 1.0)
    return found


def shares(
    needed: Sequence[Measure], moved: Sequence[Sensitivity], weighed: Mapping[Measure, float], kind: str
) -> tuple[Fraction, ...]:
    """The share of each measure; none where all are the same, or there is one."""
    wanted = _wanted(needed, moved, weighed, kind)
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
    needed: Sequence[Measure], moved: Sequence[Sensitivity], weighed: Mapping[Measure, float], kind: str
) -> float:
    """The sum of weighted squared errors at the best split, up to a factor that is the same for all plans."""
    total = sum(_wanted(needed, moved, weighed, kind))
    return float(total**2 / 4 if kind == "zcdp" else total**3)


def _wanted(
    needed: Sequence[Measure], moved: Sequence[Sensitivity], weighed: Mapping[Measure, float], kind: str
) -> list[float]:
    found = []
    for measure, sensitivity in zip(needed, moved, strict=True):
        weight = max(weighed.get(measure, 1.0), 1e-300)  # with many decimals, values are large and weights tiny
        reach = float(sensitivity.l2 if kind == "zcdp" else sensitivity.l1)
        if isinstance(measure, Choice):
            reach = _RANKS * float(sensitivity.l1)
        found.append(float(weight**0.5 * reach if kind == "zcdp" else (weight * reach**2) ** (1 / 3)))
    return found
