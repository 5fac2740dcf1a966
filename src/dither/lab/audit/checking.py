"""The black-box auditor: lower bounds of what a mechanism gives away, from samples alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.parameters import Number, probability, whole
from dither.lab.audit.columns import Outputs, read_outputs
from dither.lab.audit.conduct import conduct, first_calls, fresh_calls, rank
from dither.lab.audit.confidence import at_least, at_most
from dither.lab.audit.draws.samplers import Sampler
from dither.lab.audit.events import Candidate, Target, search
from dither.lab.audit.repeats import repeats
from dither.lab.audit.sampling import sampler_of
from dither.lab.audit.verdict import Evidence, Verdict

Pair = tuple[Any, Any]
Progress = Callable[[float], None]
Counted = dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]  # by partition, the sizes of its cells
Found = tuple[int, Candidate]  # which pair, and what was found there

# Deltas at which a curve without a delta of its own is compared with samples.
_DELTAS = (0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5)
_OF_LARGEST_DELTA = (Fraction(15, 16), Fraction(3, 4), Fraction(1, 2))
_SHARES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # of the claimed epsilon, at which delta is certified
_POINTS = 33
_TWICE = 500  # outputs of a call that is made twice, to see whether it repeats itself
_CALLS = 600
_FEWEST_CALLS = 20
_ON_CONDUCT = 0.05  # of the error, for how a mechanism behaves from call to call; as much for fresh inputs
_OF_FUNCTION = 4  # pairs of a function of a number that are also audited as a list of pairs is
_FRESH = 4000


def check(
    mechanism: Any,
    *,
    neighbours: Sequence[Pair] | Callable[[int], Pair],
    claimed: Any,
    samples: int = 10**6,
    confidence: Number = "0.999",
    screening: int | None = None,
    searching: int | None = None,
    certified_pairs: int = 4,
    sure_pairs: int = 0,
    calls: int | None = None,
    vectorised: bool | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Try to refute a claim: with probability >= `confidence` every bound in the verdict is below the truth.

    `mechanism` is a function of (data, size) that gives that many independent outputs, a function of (data) that gives
    one, or a mechanism of dither. `neighbours` are pairs of data. For each side of a pair half of the `samples`, or
    `searching` of them, look for the events that seem worst; for the most suspicious pairs the others certify them, by
    exact Clopper-Pearson bounds with the error shared out over all. `screening` is a smaller number of samples that
    chooses the pairs first; the others are not looked at further. The first `sure_pairs`, those expected to be worst,
    are always among the chosen ones. docs/proofs/audit.md.

    `neighbours` may also be a function that makes a pair from a number: then inputs are tried that were never given
    before, each once. On the first pair `calls` single calls test whether outputs depend on the calls before or on each
    other; it is at most 600 unless stated, and 0 leaves the test out.

    >>> from dither import Laplace, PureDP
    >>> honest, broken = Laplace(epsilon=1, sensitivity=1), Laplace(epsilon=2, sensitivity=1)
    >>> check(honest, neighbours=[(0, 1)], claimed=PureDP(1), samples=20_000).passed
    True
    >>> check(broken, neighbours=[(0, 1)], claimed=PureDP(1), samples=20_000).passed
    False
    """
    fresh = neighbours if callable(neighbours) else None
    pairs = [_pair(pair) for pair in (map(neighbours, range(_OF_FUNCTION)) if callable(neighbours) else neighbours)]
    if not pairs:
        raise ParameterError("give at least one pair of neighbours.")
    count, sure = whole(samples, "samples", least=20), probability(confidence, "confidence")
    sure_of = min(len(pairs), whole(sure_pairs, "sure_pairs", least=0))
    most = max(sure_of, min(len(pairs), whole(certified_pairs, "certified_pairs")))
    claim = Claim.of(claimed)
    sampler = sampler_of(mechanism, vectorised=vectorised)
    draw = _reader(sampler)
    half = count // 2 if searching is None else min(whole(searching, "searching", least=10), count - 10)
    looked = half if screening is None else min(half, whole(screening, "screening", least=10))
    report = _steps(progress, len(pairs) * looked + (half if looked < half else 0) * most + (count - half) * most)

    seen: dict[int, list[float | None]] = {}

    def found_with(size: int, places: Iterable[int], certifying: int | None) -> list[Found]:
        found: list[Found] = []
        for place in places:
            outputs = draw(pairs[place][0], size), draw(pairs[place][1], size)
            seen[place] = [rank(*both) for both in zip(firsts[place], outputs, strict=True)]
            found += [(place, candidate) for candidate in search(*outputs, claim.targets, certifying)]
            report(size)
        return found

    wrong = float(1 - sure)
    asked = min(_CALLS, count // 20) if calls is None else whole(calls, "calls", least=0)
    behaviour: tuple[str, ...] = ()
    evidence: list[Evidence] = []
    firsts = [[draw(side, 1) for side in pair] for pair in pairs]
    if asked >= _FEWEST_CALLS:
        others = [side for pair in pairs for side in pair][1:]
        behaviour = tuple(conduct(sampler, pairs[0][0], others, asked, wrong * _ON_CONDUCT / 2))
    if fresh is not None:
        evidence += _on_fresh_inputs(sampler, fresh, claim, min(_FRESH, count // 2), wrong * _ON_CONDUCT)
    again = repeats(*(draw(pairs[0][0], min(half, _TWICE)) for _ in range(2)))
    found = found_with(looked, range(len(pairs)), None if looked < half else count - half)
    ranks = [one for both in seen.values() for one in both if one is not None]
    behaviour += tuple(first_calls(ranks, wrong * _ON_CONDUCT / 2)) if asked else ()
    suspects = list(range(sure_of)) + [place for place in claim.suspicious(found) if place >= sure_of][: most - sure_of]
    if looked < half:
        found = found_with(half, suspects, count - half)
    groups = claim.shared_out([one for one in found if one[0] in suspects], sure_of)
    for place in sorted({place for group in groups for place, _ in group}):
        outputs = draw(pairs[place][0], count - half), draw(pairs[place][1], count - half)
        counted: Counted = {}
        for group in groups:
            error = wrong * (1 - 2 * _ON_CONDUCT) / len(groups) / (2 * len(group)) * (1 - 1e-9)
            evidence += [_certify(pairs[place], outputs, one, error, counted) for at, one in group if at == place]
        report(count - half)
    delta, epsilon = claim.nearest(evidence)
    return Verdict(
        claimed, tuple(evidence), delta, epsilon, claim.curve, count, len(pairs), sure, repeats=again, conduct=behaviour
    )


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
        has_curve = getattr(claimed, "gaussian_mu_squared", None) is not None
        deltas = [*map(Fraction, _DELTAS)]
        if own is not None and getattr(claimed, "epsilon", None) is not None:
            deltas = [Fraction(own), *(deltas if has_curve else ())]
        if has_curve:
            # Where two neighbours overlap nearly everywhere, only large deltas can be told from samples.
            deltas += [Fraction(float(claimed.delta_at(0))) * share for share in _OF_LARGEST_DELTA]
        read = [(float(delta), float(claimed.epsilon_at(delta))) for delta in deltas]
        finite = [point for point in read if math.isfinite(point[1])]
        if not finite:
            raise ParameterError("the claimed guarantee states no epsilon at any delta; there is nothing to audit.")
        usable = tuple(point for point in finite if point[1] > 0) or (finite[0],)
        reference = max(epsilon for _, epsilon in usable)
        epsilons = np.linspace(0, max(2 * reference, 0.1), _POINTS)
        curve = tuple((float(e), float(claimed.delta_at(Fraction(e)))) for e in epsilons)
        return cls(usable, curve)

    @property
    def targets(self) -> list[Target]:
        reference = max(epsilon for _, epsilon in self.deltas)
        return [Target(delta=delta) for delta, _ in self.deltas] + [
            Target(epsilon=share * reference) for share in _SHARES
        ]

    def suspicious(self, found: list[Found]) -> list[int]:
        """The pairs, first those that promise to come nearest to the claim, or furthest beyond it."""
        rank: dict[int, float] = {}
        for place, candidate in found:
            rank[place] = max(rank.get(place, -math.inf), self._ratio(candidate), self._excess(candidate))
        return sorted(rank, key=lambda place: -rank[place])

    def shared_out(self, found: list[Found], sure_of: int) -> list[list[Found]]:
        """The most promising event by itself, then the others: each group has an equal share of the error.

        If there are pairs that are expected to be worst, it is the most promising one there. Everything here depends on
        the searching part of the samples alone.
        """
        best = max(found, key=lambda one: (one[0] < sure_of, self._ratio(one[1])))
        rest: dict[Any, Found] = {}
        for place, candidate in found:
            event = candidate.event
            if candidate is not best[1] and candidate.promise > 0:
                rest.setdefault(
                    (place, candidate.likelier, event.feature.name, event.chosen.tobytes()), (place, candidate)
                )
        return [[best], list(rest.values())] if rest else [[best]]

    def _ratio(self, candidate: Candidate) -> float:
        """The share of the claimed epsilon that an event promises; of the claimed delta, if the epsilon is 0."""
        delta, epsilon = candidate.target.delta, candidate.target.epsilon
        if epsilon is not None:
            (own, claimed), *more = self.deltas
            return candidate.promise / own if not claimed and not more and not epsilon else -math.inf
        return candidate.promise / max(dict(self.deltas)[float(delta or 0)], 1e-9)

    def _excess(self, candidate: Candidate) -> float:
        """How far a promised delta is beyond the claimed one, in units that compare with a ratio of epsilons."""
        epsilon = candidate.target.epsilon
        if epsilon is None:
            return -math.inf
        allowed = min((delta for at, delta in self.curve if at <= epsilon + 1e-12), default=1.0)
        return -math.inf if candidate.promise <= allowed else 1 + candidate.promise - allowed

    def nearest(self, evidence: list[Evidence]) -> tuple[float, float]:
        """The delta, and epsilon claimed there, of which the largest share of epsilon or of delta is certified."""

        def share(point: tuple[float, float]) -> float:
            delta, epsilon = point
            spent = max(one.epsilon(delta) for one in evidence) / max(epsilon, 1e-9)
            return max(spent, max(one.delta(epsilon) for one in evidence) / delta) if delta else spent

        return max(self.deltas, key=share)


def _on_fresh_inputs(
    sampler: Sampler, fresh: Callable[[int], Pair], claim: Claim, calls: int, error: float
) -> list[Evidence]:
    """Events on inputs of which each is given once; what they prove is about averages, which keep the claim as well."""
    half = max(10, calls // 2)
    found = search(*fresh_calls(sampler, fresh, half, _OF_FUNCTION), claim.targets, half)
    promising = [candidate for candidate in found if candidate.promise > 0]
    outputs = fresh_calls(sampler, fresh, half, _OF_FUNCTION + 2 * half)
    share = error / (2 * max(1, len(promising))) * (1 - 1e-3)
    counted: Counted = {}
    return [_certify(_pair(fresh(_OF_FUNCTION)), outputs, candidate, share, counted) for candidate in promising]


def _pair(pair: Any) -> Pair:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ParameterError("neighbours are pairs of data: [(data, other data), ...].")
    return pair[0], pair[1]


def _reader(draw: Sampler) -> Callable[[Any, int], Outputs]:
    return lambda data, size: read_outputs(draw(data, size), size)


def _certify(
    pair: Pair, outputs: tuple[Outputs, Outputs], candidate: Candidate, error: float, counted: Counted
) -> Evidence:
    """`error` is the probability with which each of the two bounds may fail. Cells are counted once for all events."""
    side, event = candidate.likelier, candidate.event
    if id(event.partition) not in counted:
        one, other = (event.partition.counts(event.feature.read(part)) for part in outputs)
        counted[id(event.partition)] = one, other
    counts = [int(cells[event.chosen].sum()) for cells in counted[id(event.partition)]]
    trials = len(outputs[0])
    return Evidence(
        (pair[side], pair[1 - side]),
        event,
        (counts[side], counts[1 - side]),
        trials,
        float(at_least(counts[side], trials, error)[0]),
        float(at_most(counts[1 - side], trials, error)[0]),
    )


def _steps(progress: Progress | None, total: int) -> Callable[[int], None]:
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(min(1.0, done / total))

    return step
