"""The black-box auditor: lower bounds of what a mechanism gives away, from samples alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.audit.columns import Outputs, read_outputs
from dither.audit.confidence import at_least, at_most
from dither.audit.events import Candidate, Target, search
from dither.audit.repeats import repeats
from dither.audit.sampling import Sampler, sampler_of
from dither.audit.verdict import Evidence, Verdict
from dither.errors import ParameterError
from dither.parameters import Number, probability, whole

Pair = tuple[Any, Any]
Progress = Callable[[float], None]

# Deltas at which a curve without a delta of its own is compared with samples.
_DELTAS = (0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5)
_SHARES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # of the claimed epsilon, at which delta is certified
_POINTS = 33
_MOST_PAIRS = 4  # certified; all are searched


def check(
    mechanism: Any,
    *,
    neighbours: Sequence[Pair],
    claimed: Any,
    samples: int = 10**6,
    confidence: Number = "0.999",
    vectorised: bool | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Try to refute a claim: with probability >= `confidence` every bound in the verdict is below the truth.

    `mechanism` is a function of (data, size) that gives that many independent outputs, a function of (data) that gives
    one, or a mechanism of dither. `neighbours` are pairs of data; `samples` outputs are drawn for each side of each
    pair. Half of them choose the events that look worst; the other half certifies those of the most suspicious
    pairs, by exact Clopper-Pearson bounds shared out over all of them.

    >>> from dither import Laplace, PureDP
    >>> honest, broken = Laplace(epsilon=1, sensitivity=1), Laplace(epsilon=2, sensitivity=1)
    >>> check(honest, neighbours=[(0, 1)], claimed=PureDP(1), samples=20_000).passed
    True
    >>> check(broken, neighbours=[(0, 1)], claimed=PureDP(1), samples=20_000).passed
    False
    """
    pairs = [_pair(pair) for pair in neighbours]
    if not pairs:
        raise ParameterError("give at least one pair of neighbours.")
    count, sure = whole(samples, "samples", least=20), probability(confidence, "confidence")
    claim = Claim.of(claimed)
    draw = _reader(sampler_of(mechanism, vectorised=vectorised))
    report = _steps(progress, len(pairs) + min(len(pairs), _MOST_PAIRS))
    found: list[tuple[int, Candidate]] = []
    first: dict[int, tuple[Outputs, Outputs]] = {}
    for place, pair in enumerate(pairs):
        outputs = draw(pair[0], count // 2), draw(pair[1], count // 2)
        first = first or {place: outputs}
        found += [(place, candidate) for candidate in search(*outputs, claim.targets)]
        report()
    groups = claim.shared_out(found)
    kept = sorted({place for group in groups for place, _ in group})
    evidence: list[Evidence] = []
    again: list[bool] = []
    for place in kept:
        outputs = draw(pairs[place][0], count - count // 2), draw(pairs[place][1], count - count // 2)
        if place in first:
            again = [repeats(*both) for both in zip(first[place], outputs, strict=True)]
        for group in groups:
            error = float(1 - sure) / len(groups) / max(1, 2 * len(group)) * (1 - 1e-9)
            evidence += [_certify(pairs[place], outputs, one, error) for at, one in group if at == place]
        report()
    delta, epsilon = claim.nearest(evidence)
    return Verdict(claimed, tuple(evidence), delta, epsilon, claim.curve, count, len(pairs), sure, repeats=any(again))


@dataclass(frozen=True)
class Claim:
    """A claimed guarantee, read at a few points: what events are looked for."""

    deltas: tuple[tuple[float, float], ...]  # delta, and epsilon claimed there
    curve: tuple[tuple[float, float], ...]  # epsilon, and delta claimed there

    @classmethod
    def of(cls, claimed: Any) -> Claim:
        if not hasattr(claimed, "epsilon_at") or not hasattr(claimed, "delta_at"):
            raise ParameterError(f"claimed must be a guarantee such as dt.PureDP(1); got {type(claimed).__name__}.")
        own = getattr(claimed, "delta", None)
        stated = own is not None and getattr(claimed, "gaussian_mu_squared", None) is None
        deltas = (float(own),) if stated and getattr(claimed, "epsilon", None) is not None else _DELTAS
        if own and not stated:
            deltas = (*deltas, float(own))
        read = [(delta, float(claimed.epsilon_at(_exactly(delta)))) for delta in deltas]
        usable = tuple(point for point in read if math.isfinite(point[1]))
        if not usable:
            raise ParameterError("the claimed guarantee states no epsilon at any delta; there is nothing to audit.")
        reference = max(epsilon for _, epsilon in usable)
        epsilons = np.linspace(0, max(2 * reference, 0.1), _POINTS)
        curve = tuple((float(e), float(claimed.delta_at(_exactly(e)))) for e in epsilons)
        return cls(usable, curve)

    @property
    def targets(self) -> list[Target]:
        reference = self.deltas[0][1]
        return [Target(delta=delta) for delta, _ in self.deltas] + [
            Target(epsilon=share * reference) for share in _SHARES
        ]

    def shared_out(self, found: list[tuple[int, Candidate]]) -> list[list[tuple[int, Candidate]]]:
        """The most promising event by itself, then those of the most suspicious pairs: each group has an equal share.

        Everything here depends on the searching half of the samples alone.
        """
        claimed = dict(self.deltas)

        def ratio(candidate: Candidate) -> float:
            delta = candidate.target.delta
            return -math.inf if delta is None else candidate.promise / max(claimed[delta], 1e-9)

        def excess(candidate: Candidate) -> float:
            """How far a promised delta is above the claimed one, in units that compare with a ratio of epsilons."""
            epsilon = candidate.target.epsilon
            if epsilon is None:
                return -math.inf
            allowed = min((delta for at, delta in self.curve if at <= epsilon + 1e-12), default=1.0)
            return -math.inf if candidate.promise <= allowed else 1 + candidate.promise - allowed

        best = max(found, key=lambda one: ratio(one[1]))
        rank: dict[int, float] = {}
        for place, candidate in found:
            rank[place] = max(rank.get(place, -math.inf), ratio(candidate), excess(candidate))
        kept = sorted(rank, key=lambda place: -rank[place])[:_MOST_PAIRS]
        rest = [one for one in found if one[0] in kept and one is not best and one[1].promise > 0]
        return [[best], rest] if rest else [[best]]

    def nearest(self, evidence: list[Evidence]) -> tuple[float, float]:
        """The delta at which the certified epsilon is the largest share of the claimed one, and that claim."""

        def share(point: tuple[float, float]) -> float:
            return max(one.epsilon(point[0]) for one in evidence) / max(point[1], 1e-9)

        return max(self.deltas, key=share)


def _pair(pair: Any) -> Pair:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ParameterError("neighbours are pairs of data: [(data, other data), ...].")
    return pair[0], pair[1]


def _exactly(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**12)


def _reader(draw: Sampler) -> Callable[[Any, int], Outputs]:
    return lambda data, size: read_outputs(draw(data, size), size)


def _certify(pair: Pair, outputs: tuple[Outputs, Outputs], candidate: Candidate, error: float) -> Evidence:
    """`error` is the probability with which each of the two bounds may fail."""
    side = candidate.likelier
    sides = (pair[side], pair[1 - side])
    counts = [int(candidate.event.holds(outputs[at]).sum()) for at in (side, 1 - side)]
    trials = len(outputs[0])
    return Evidence(
        sides,
        candidate.event,
        (counts[0], counts[1]),
        trials,
        float(at_least(counts[0], trials, error)[0]),
        float(at_most(counts[1], trials, error)[0]),
    )


def _steps(progress: Progress | None, total: int) -> Callable[[], None]:
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(1.0, done / total))

    return step
