"""What an audit found: certified lower bounds, beside what was claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from dither.lab.audit.events import Event


@dataclass(frozen=True)
class Evidence:
    """An event on a pair of neighbours: how often it happened on either side, and what that proves.

    With the audit's confidence, for all its evidence at once: the event has probability at least `at_least` on the
    first of `pair` and at most `at_most` on the second.
    """

    pair: tuple[Any, Any]
    event: Event
    counts: tuple[int, int]
    trials: int
    at_least: float
    at_most: float

    def epsilon(self, delta: float) -> float:
        """The mechanism is not (epsilon, delta)-DP for any epsilon below this, rounded down."""
        if not self.at_least > delta or not self.at_most > 0:
            return 0.0
        return max(0.0, math.nextafter(math.log((self.at_least - delta) / self.at_most), 0.0) * (1 - 1e-12))

    def delta(self, epsilon: float) -> float:
        """The mechanism is not (epsilon, delta)-DP for any delta below this, rounded down."""
        if not epsilon < 700:
            return 0.0
        return max(0.0, self.at_least - math.exp(epsilon) * self.at_most - 1e-15)

    @property
    def one_sided(self) -> bool:
        """Whether the event never happened on the second of the pair."""
        return self.counts[0] > 0 and self.counts[1] == 0

    def __str__(self) -> str:
        one, other = self.counts
        return (
            f"{self.event}: {one:,} of {self.trials:,} on {_short(self.pair[0])}, {other:,} on {_short(self.pair[1])}"
        )


class Profile(NamedTuple):
    """Lower bounds of delta at each epsilon, beside the claimed delta."""

    epsilons: tuple[float, ...]
    lower: tuple[float, ...]
    claimed: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Verdict:
    """Passed, or not: then `counterexample` shows why. All bounds hold together with probability >= confidence.

    `lower_bound` is the certified epsilon at `delta`, the claimed one, or, where a whole curve is claimed, the delta at
    which the bound comes nearest to the claim; `tightness` is its share of the claimed epsilon there.
    """

    claimed: Any
    evidence: tuple[Evidence, ...]
    delta: float
    claimed_epsilon: float
    curve: tuple[tuple[float, float], ...]
    samples: int
    pairs: int
    confidence: Fraction
    repeats: bool = False
    conduct: tuple[str, ...] = ()  # what shows that outputs are not fresh and independent, call by call

    @property
    def passed(self) -> bool:
        """Whether nothing was found that contradicts the claim, or that outputs are fresh and independent."""
        return self.counterexample is None and not self.repeats and not self.conduct

    @property
    def lower_bound(self) -> float:
        """The mechanism is not (epsilon, delta)-DP for any epsilon below this."""
        return self.epsilon_at(self.delta)

    @property
    def tightness(self) -> float:
        """The share of the claimed epsilon, or of the claimed delta at that epsilon, that is certainly spent."""
        shares = [self.lower_bound / self.claimed_epsilon] if self.claimed_epsilon > 0 else []
        shares += [self.delta_at(self.claimed_epsilon) / self.delta] if self.delta > 0 else []
        return max(shares, default=math.inf if self.lower_bound > 0 else 0.0)

    def epsilon_at(self, delta: float) -> float:
        """The largest certified lower bound of epsilon at a delta."""
        return max((found.epsilon(float(delta)) for found in self.evidence), default=0.0)

    def delta_at(self, epsilon: float) -> float:
        """The largest certified lower bound of delta at an epsilon."""
        return max((found.delta(float(epsilon)) for found in self.evidence), default=0.0)

    @cached_property
    def counterexample(self) -> Evidence | None:
        """The evidence that contradicts the claim most, None if none does."""
        worst, found = 0.0, None
        for one in self.evidence:
            excess = max(one.delta(epsilon) - delta for epsilon, delta in self.curve)
            if one.epsilon(self.delta) > self.claimed_epsilon:
                excess = max(excess, one.delta(self.claimed_epsilon) - self.delta, 1e-300)
            if excess > worst:
                worst, found = excess, one
        return found

    @property
    def strongest(self) -> Evidence | None:
        """The evidence behind `lower_bound`."""
        return max(self.evidence, key=lambda found: found.epsilon(self.delta), default=None)

    @property
    def profile(self) -> Profile:
        """The measured profile against the claimed one."""
        epsilons, claimed = zip(*self.curve, strict=True)
        return Profile(epsilons, tuple(map(self.delta_at, epsilons)), claimed)

    def plot(self) -> Any:
        """An altair chart of the measured profile against the claimed one."""
        from dither.lab.audit.picture import plot_profile

        return plot_profile(self)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        at = f" at delta {self.delta:.4g}" if self.delta else ""
        bound = f"epsilon >= {self.lower_bound:.4g}{at}, claimed {self.claimed_epsilon:.4g}"
        pairs = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
        sure = f"{pairs}, {self.samples:,} samples a side, confidence {float(self.confidence):g}"
        if self.repeats:
            return f"FAILED: the same call gave the same random outputs twice ({sure})"
        if self.conduct:
            return f"FAILED: {self.conduct[0]} ({sure})"
        if self.counterexample is not None:
            return f"FAILED: {bound} ({sure}); {self.counterexample}"
        return f"passed: {bound} ({sure})"

    def __repr__(self) -> str:
        return f"<Verdict: {self}>"


def _short(data: Any) -> str:
    text = str(data)
    return text if len(text) <= 60 else text[:57] + "..."
