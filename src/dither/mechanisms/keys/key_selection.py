"""Which group keys may be published when they come from the data: partition selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.conversion import rho_of_discrete_laplace, rho_of_pure
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, ceil_of
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive, sqrt_up, whole
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.additive.gaussian import Gaussian
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.keys.keep_probabilities import OptimalKeys
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.mechanisms.stability.distance_test import small_delta, smallest_tail, tail_bounds, tail_of_each
from dither.mechanisms.values import Steps, add, whole_steps
from dither.neighbours import Relation

Method = Literal["threshold", "gaussian", "optimal"]
Counts = Exact | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class KeyOutcome(Outcome):
    """The positions of the kept keys (`value`, also `kept`) and, where the method pays for them, their noisy counts.

    A position is only for looking up the key: publish the keys themselves, in an order that the data do not decide.
    """

    counts: npt.NDArray[Any] | None

    @property
    def kept(self) -> npt.NDArray[np.intp]:
        positions: npt.NDArray[np.intp] = self.value
        return positions

    def plot(self, confidence: Number = "0.95") -> Any:
        """An altair chart: the kept keys by position, with their noisy counts where they are paid for."""
        keys = [f"key {position}" for position in self.kept.tolist()]
        shown = keys if self.counts is None else dict(zip(keys, self.counts.tolist(), strict=True))
        return Outcome(shown, self.mechanism).plot(confidence)


@dataclass(frozen=True, init=False, repr=False)
class KeySelection(Frozen):
    """(epsilon, delta)-DP, and delta-approximate zCDP, for one owner added or removed who has at most c keys.

    Counts are numbers of distinct *owners* per key, never of rows, and every owner was cut to at most `keys_per_owner`
    keys before they were counted. Under replace everything is done for 2c keys.

    method="threshold": discrete Laplace noise of scale c/epsilon; a key is kept iff its noisy count is at least the
    threshold, and the noisy counts of kept keys are published at no extra cost. method="gaussian" (the default with
    rho=): the same with Gaussian noise; rho pays for the noise, and delta is the probability that a key of a single
    owner is shown; by epsilon, half of delta goes each way. method="optimal": keeps as many keys as epsilon/c
    and delta/c allow per key, and publishes no counts.

    Korolova et al. 2009; Desfontaines et al. 2022 (optimal); docs/proofs/keyselection.md.

    >>> m = KeySelection(epsilon=1, delta="1e-6")
    >>> m.threshold, m.release([1, 1000, 2]).kept.tolist()
    (15, [1])
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    keys_per_owner: int
    method: Method
    relation: Relation

    def __init__(
        self,
        *,
        delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        keys_per_owner: int = 1,
        method: str | None = None,
        relation: Relation | str = Relation.OWNER,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise ParameterError("give key selection either epsilon= or rho=, and delta=.")
        chosen = method or ("threshold" if rho is None else "gaussian")
        if chosen not in ("threshold", "gaussian", "optimal"):
            raise ParameterError(f'method must be "threshold", "gaussian" or "optimal"; got {chosen!r}.')
        if rho is not None and chosen != "gaussian":
            raise ParameterError(f'rho= buys Gaussian noise; give epsilon= for method="{chosen}".')
        self._keep(
            epsilon=None if epsilon is None else positive(epsilon, "epsilon"),
            rho=None if rho is None else positive(rho, "rho"),
            delta=small_delta(delta),
            keys_per_owner=whole(keys_per_owner, "keys_per_owner", most=10**9),
            method=chosen,
            relation=Relation.read(relation),
        )
        if self.relation in (Relation.EDGE, Relation.EDGE_WEIGHT):
            raise ParameterError("keys belong to owners or records: the relation is owner, add_remove or replace.")
        _ = self.noise if chosen != "optimal" else None

    @property
    def keys_moved(self) -> int:
        """How many keys can differ between neighbours."""
        return self.keys_per_owner * (2 if self.relation is Relation.REPLACE else 1)

    @cached_property
    def noise(self) -> AdditiveNoise:
        """The mechanism whose noise decides, and is on the published counts."""
        if self.method == "optimal":
            raise ParameterError('method="optimal" adds no noise to counts; measure the kept keys with another budget.')
        if self.method == "threshold":
            return Laplace(epsilon=cast(Fraction, self.epsilon), sensitivity=self.keys_moved, relation=self.relation)
        bound = sqrt_up(Fraction(self.keys_moved))
        if self.rho is not None:
            return Gaussian(rho=self.rho, sensitivity=bound, relation=self.relation)
        return Gaussian(
            epsilon=cast(Fraction, self.epsilon), delta=self.delta / 2, sensitivity=bound, relation=self.relation
        )

    @cached_property
    def threshold(self) -> int:
        """A key is kept iff its noisy count is at least this."""
        noise = self.noise
        if isinstance(noise, Laplace):
            return 1 + smallest_tail(noise.scale_steps, self.delta, self.keys_moved)
        sigma, share = cast(Gaussian, noise).sigma_steps, self.delta / (1 if self.epsilon is None else 2)

        def place() -> Ball:
            # P[round(Z) >= m] = P[Z >= m - 1/2] = erfc((m - 1/2) / (sigma sqrt 2)) / 2
            tail = tail_of_each(share, self.keys_moved)
            return ball(Fraction(1, 2)) + ball(sigma) * ball(2).sqrt() * (2 * tail).erfcinv()

        return 1 + max(0, ceil_of(place))

    @property
    def guarantee(self) -> ApproxDP | ZCDP:
        if self.epsilon is None:
            return ZCDP(cast(Fraction, self.rho), self.delta, self.relation)
        if self.method == "optimal":
            rho = self.keys_moved * rho_of_pure(self.epsilon / self.keys_moved)
        elif self.method == "threshold":
            rho = rho_of_discrete_laplace(self.epsilon, self.keys_moved)
        else:
            rho = self.noise.guarantee.zcdp().rho
        return ApproxDP(self.epsilon, self.delta, relation=self.relation, proven_rho=rho)

    def keep_probability(self, owners: int) -> tuple[Fraction, Fraction]:
        """Certified bounds of the probability that a key of this many owners is kept: for planning, not for data."""
        count = whole(owners, "owners", least=0)
        if not count:
            return Fraction(0), Fraction(0)
        if self.method == "optimal":
            return bounds(lambda: self._optimal.keep(count))
        noise, missing = self.noise, self.threshold - count
        if isinstance(noise, Laplace):
            return tail_bounds(noise.scale_steps, missing)
        sigma = cast(Gaussian, noise).sigma_steps
        return bounds(lambda: (ball(missing - Fraction(1, 2)) / (ball(sigma) * ball(2).sqrt())).erfc() / 2)

    @property
    def even_chance(self) -> int:
        """A number of owners with which a key is kept about every other time."""
        return self._optimal.turn if self.method == "optimal" else self.threshold

    def plot(self, owners: int | None = None) -> Any:
        """An altair chart: what is published about a key of this many owners and of one more, and the ratios.

        For explaining, never for data.
        """
        from dither.mechanisms.pictures.refusals import plot_keys

        return plot_keys(self, owners)

    def release(self, counts: Counts) -> KeyOutcome:
        """Which keys are kept, and their noisy counts. A key that nobody has is never kept."""
        if self.method == "optimal":
            steps = _one_row(_unseal(counts) if isinstance(counts, Exact) else whole_steps(counts))
            capped = np.minimum(steps, self._optimal.certain).astype(np.int64)
            return KeyOutcome(np.flatnonzero(self._optimal.kept(capped)), self, None)
        sealed = counts if isinstance(counts, Exact) else Exact(_one_row(whole_steps(counts)))
        return self.release_below(sealed, lambda places: Exact(_one_row(_unseal(sealed))[places]))

    def draws(self, counts: Sequence[int], size: int) -> npt.NDArray[np.int64]:
        """What `size` independent releases show of each key: its noisy count, 1 if none is paid for, -1 if not kept.

        One release of a long list of keys, of which each is kept by itself. Every row of it costs the whole guarantee.
        """
        outcome = self.release(np.tile(np.asarray(counts, np.int64), size))
        shown = np.full(len(counts) * size, -1, np.int64)
        shown[outcome.kept] = 1 if outcome.counts is None else outcome.counts
        return shown.reshape(size, len(counts))

    def release_below(self, most: Exact, look: Callable[[npt.NDArray[np.intp]], Exact]) -> KeyOutcome:
        """What `release` says, where counts are looked up only for keys that may be kept.

        `most` bounds every count from above. Each key has one noise: where even the bound does not pass with it, the
        count does not either, whatever it is. `look` gets the places of all others, in order, and says their counts.
        """
        # The noise comes first: a failure of the sampler must find the counts still sealed.
        noise = cast(npt.NDArray[Any], self.noise._noise(most.size or 0))
        bound, threshold = _one_row(_unseal(most)), self.threshold
        near = np.flatnonzero((cast(npt.NDArray[Any], add(bound, noise)) >= threshold) & (bound > 0))
        steps = _one_row(_unseal(look(near)))
        if steps.shape != near.shape or not bool((steps <= bound[near]).all()):
            raise ParameterError("a count is missing, or exceeds its bound.")
        noisy = cast(npt.NDArray[Any], add(steps, noise[near]))
        kept = np.flatnonzero((noisy >= threshold) & (steps > 0))
        return KeyOutcome(near[kept], self, noisy[kept])

    @property
    def _optimal(self) -> OptimalKeys:
        return OptimalKeys(cast(Fraction, self.epsilon) / self.keys_moved, self.delta / self.keys_moved)


def _one_row(counts: Steps) -> npt.NDArray[Any]:
    if isinstance(counts, int) or counts.ndim != 1:
        raise ParameterError("give one count of distinct owners per key, in one row.")
    return counts
