"""The guarantee that knows most: the distribution of the privacy loss itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.conversion import rho_of_discrete_laplace, rho_of_pure
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.accounting.pld.closed_forms import ContinuousLaplace, DiscreteLaplace, TwoPoint
from dither.accounting.pld.curve import Found, delta_bracket, epsilon_bracket, sums
from dither.accounting.pld.distribution import LossDistribution, Reals
from dither.accounting.pld.pairs.atoms import DiscreteGaussian, exact_pair, one_sided_pair
from dither.accounting.pld.pairs.atoms import discrete_gaussian_distribution as discrete_gaussian
from dither.accounting.pld.sampled.replaced_record import ReplacedRecord
from dither.accounting.pld.sampled.sampled_gaussian import SampledGaussian, subsampled_gaussian_distribution
from dither.accounting.pld.sampled.sampled_laplace import SampledLaplace, subsampled_laplace_distribution
from dither.accounting.pld.sampled.sampled_noise import SampledNoise
from dither.accounting.pld.sums import Sum, lost
from dither.accounting.pld.three_point import ThreePoint
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up
from dither.exact.parameters import SMALLEST, Number, non_negative, positive, probability, whole
from dither.neighbours import Relation

_FLOATS_OFF = Fraction(1, 10**9)


@dataclass(frozen=True, repr=False)
class PLD(Guarantee):
    """For all neighbours the outputs are a post-processing of a product of known pairs, whose losses add up.

    Its curve is that of the pairs, by certified lower and upper bounds that differ by less than 1e-3 of epsilon, except
    for different (or very many) pairs that are not their own mirror image and may each go either way.
    Valid for mechanisms fixed in advance (their questions may be adaptive); it is not a running filter.

    >>> low, high = (PLD.pure("0.01") * 1000).bounds_at(delta="1e-6")
    >>> round(low, 4), round(high, 4)
    (1.3654, 1.3654)
    """

    distributions: tuple[tuple[LossDistribution, int], ...]
    mu_squared: Fraction = Fraction(0)
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        if self.mu_squared or not isinstance(self.mu_squared, Fraction):
            self._keep(mu_squared=non_negative(self.mu_squared, "mu_squared"))
        if not isinstance(self.relation, Relation):
            self._keep(relation=Relation.read(self.relation))
        for distribution, count in self.distributions:
            if not isinstance(distribution, LossDistribution):
                raise ParameterError(
                    f"a privacy loss is made of distributions with counts; got {type(distribution).__name__}."
                )
            whole(count, "a count")

    @classmethod
    def pure(cls, epsilon: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """Everything that is epsilon-DP: its worst pair is randomised response."""
        return cls(((TwoPoint(non_negative(epsilon, "epsilon")), 1),), relation=Relation.read(relation))

    randomized_response = pure

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """Everything that is (epsilon, delta)-DP, by its four-point pair."""
        distribution = TwoPoint(non_negative(epsilon, "epsilon"), read_delta(delta))
        return cls(((distribution, 1),), relation=Relation.read(relation))

    @classmethod
    def gaussian(cls, mu: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """N(0, 1) against N(mu, 1): Gaussian noise with mu = D2/sigma, rounded to a grid or not."""
        return cls((), non_negative(mu, "mu") ** 2, Relation.read(relation))

    @classmethod
    def laplace(cls, epsilon: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """*Continuous* Laplace noise of scale D1/epsilon. Noise on a grid is `discrete_laplace`, which costs more."""
        return cls(((ContinuousLaplace(positive(epsilon, "epsilon")), 1),), relation=Relation.read(relation))

    @classmethod
    def discrete_laplace(cls, epsilon: Number, steps: int, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """Discrete Laplace noise of scale steps/epsilon on vectors that neighbours move by at most `steps` in L1."""
        most, moved = positive(epsilon, "epsilon"), whole(steps, "steps", most=2**62)
        # One step is randomised response, whose tails are known exactly.
        distribution: LossDistribution = TwoPoint(most) if moved == 1 else DiscreteLaplace(most, moved)
        return cls(((distribution, 1),), relation=Relation.read(relation))

    @classmethod
    def discrete_gaussian(cls, sigma: Number, steps: int = 1, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """Discrete Gaussian noise of parameter sigma on *one* whole number that neighbours move by at most `steps`.

        For several numbers at once its profile is no bound: use the rho of `ZCDP`.
        """
        noise, moved = positive(sigma, "sigma"), whole(steps, "steps")
        if not (noise <= 1000 and moved <= 20 * noise + 20):
            raise ParameterError("sigma must be at most 1000 and steps at most 20 (sigma + 1); state a ZCDP guarantee.")
        return cls(((discrete_gaussian(noise, moved), 1),), relation=Relation.read(relation))

    @classmethod
    def subsampled_gaussian(cls, sigma: Number, rate: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """N(0, sigma^2) at sensitivity 1 on a secret, fresh Poisson sample: each record with probability `rate`.

        Under add_remove or owner of the sampled unit both orders of the pair are looked at. Under replace, and for m of
        n units without replacement (rate = m/n, any of these relations), the sensitivity is what replacing one unit in
        the sample moves.
        """
        noise, chance = positive(sigma, "sigma"), positive(rate, "rate")
        if not Fraction(1, 20) <= noise <= 10**6:
            raise ParameterError(f"sigma must be between 0.05 and 1e6 for sampled noise; got {float(noise):g}.")
        if chance == 1:
            return cls((), 1 / noise**2, Relation.read(relation))
        return cls._sampled(subsampled_gaussian_distribution(noise, probability(rate, "rate")), relation)

    @classmethod
    def subsampled_laplace(cls, epsilon: Number, rate: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """*Continuous* Laplace noise of scale D1/epsilon on a sample, as `subsampled_gaussian`."""
        most, chance = positive(epsilon, "epsilon"), positive(rate, "rate")
        if not most <= 500:
            raise ParameterError(f"epsilon must be at most 500 for sampled noise; got {float(most):g}.")
        if chance == 1:
            return cls.laplace(most, relation)
        return cls._sampled(subsampled_laplace_distribution(most, probability(rate, "rate")), relation)

    @classmethod
    def _sampled(cls, distribution: SampledNoise, relation: Relation | str) -> PLD:
        known = Relation.read(relation)
        if known in (Relation.ADD_REMOVE, Relation.OWNER):
            return cls(((distribution, 1),), relation=known)
        if known is Relation.REPLACE:
            return cls(((ReplacedRecord.of(distribution), 1),), relation=known)
        raise ParameterError(f"sampled noise is accounted for under add_remove, owner or replace; got {known.value}.")

    @classmethod
    def from_pmf(
        cls,
        p: Sequence[Number],
        q: Sequence[Number],
        relation: Relation | str = Relation.ADD_REMOVE,
        *,
        one_sided: bool = False,
    ) -> PLD:
        """A mechanism whose worst neighbours have the output probabilities p and q, in either order, exactly.

        In a composition each release may go either way, chosen from earlier answers. For equal releases (up to some
        thousands) that is computed as it stands; for others the upper bound is that of the pair that dominates both
        orders, and for a pair that is not its own mirror image the lower bound may then be some way below.

        Floats that do not add up to exactly 1 are read outward: each stands for every number within a relative 2^-52
        and what their sum is off 1. The upper bound is that of all pairs they may stand for, which costs a delta of
        about 1e-15 for each release (give fractions or decimals for smaller ones); the lower bound that of the floats,
        scaled to add up to 1.

        With `one_sided` p is the distribution with a record and q that without it, for every record and dataset. Then
        all releases go the same way, and brackets are narrow. Only under add_remove or owner.
        """
        if one_sided and Relation.read(relation) not in (Relation.ADD_REMOVE, Relation.OWNER):
            raise ParameterError("one_sided is about a record that is there or not: give add_remove or owner.")
        if len(p) != len(q):
            raise ParameterError(f"p and q must be of the same length; got {len(p)} and {len(q)}.")
        make = one_sided_pair if one_sided else exact_pair
        (first, sure), (second, other) = _distribution(p, "p"), _distribution(q, "q")
        distribution = make(first, second)
        if sure is not first or other is not second:
            # What a float may be above its lowest value is shown on one side only: nothing is worse.
            none = Fraction(0)
            worst = make([*sure, 1 - sum(sure, none), none], [*other, none, 1 - sum(other, none)])
            distribution = worst.above(distribution)
        return cls(((distribution, 1),), relation=Relation.read(relation))

    def privacy_loss(self) -> PLD:
        return self

    def _distribution_says_all(self) -> bool:
        return True

    def _epsilon_at(self, delta: Number) -> float:
        return epsilon_bracket(self.distributions, self.mu_squared, read_delta(delta))[1]

    def _delta_at(self, epsilon: Number) -> float:
        return delta_bracket(self.distributions, self.mu_squared, non_negative(epsilon, "epsilon"))[1]

    def _epsilons_at(self, deltas: Sequence[Fraction]) -> Sequence[float]:
        known: Found = {}
        return [epsilon_bracket(self.distributions, self.mu_squared, delta, known)[1] for delta in deltas]

    def _deltas_at(self, epsilons: Sequence[Fraction]) -> Sequence[float]:
        known: Found = {}
        return [delta_bracket(self.distributions, self.mu_squared, epsilon, known)[1] for epsilon in epsilons]

    def bounds_at(self, *, epsilon: Number | None = None, delta: Number | None = None) -> tuple[float, float]:
        if (epsilon is None) == (delta is None):
            raise ParameterError("read the curve at epsilon= or at delta=, one of them.")
        if delta is not None:
            return epsilon_bracket(self.distributions, self.mu_squared, read_delta(delta))
        return delta_bracket(self.distributions, self.mu_squared, non_negative(epsilon, "epsilon"))  # type: ignore[arg-type]

    def zcdp(self) -> ZCDP:
        rho, delta = self.mu_squared / 2, Fraction(0)
        for distribution, count in self.distributions:
            rho += count * _rho(distribution)
            # What a distribution of sampled noise loses are its cut tails, which its rho does not need.
            delta += 0 if isinstance(distribution, SampledGaussian) else count * distribution.lost
        known = None if self.distributions else self.mu_squared
        return ZCDP(rho, delta, self.relation, proven_mu_squared=known)

    def basic(self) -> PureDP | ApproxDP:
        epsilon, delta = Fraction(0), Fraction(0)
        for distribution, count in self.distributions:
            if distribution.stated_epsilon is None:
                break
            epsilon += count * distribution.stated_epsilon
            delta += count * distribution.lost
        else:
            if not self.mu_squared:
                return ApproxDP(epsilon, delta, relation=self.relation) if delta else PureDP(epsilon, self.relation)
        raise ParameterError(
            "this privacy loss has no single epsilon and delta to add up; read its curve at a delta instead."
        )

    def log_moments(self, theta: Reals) -> Reals:
        if any(distribution.lost >= 1 for distribution, _ in self.distributions):
            return np.full_like(theta, np.inf)  # nothing is left outside of what is lost
        return np.max([above.log_moments(theta) for above, _ in self.sums()], axis=0)  # type: ignore[no-any-return]

    def additive_delta(self) -> Fraction:
        """At least the probability that an infinite loss occurs."""
        most = max(lost(above, unread=False)[1] for above, _ in self.sums())
        return max(most, SMALLEST) if most else most

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        return None if self.distributions else self.mu_squared

    def sums(self) -> list[tuple[Sum, Sum]]:
        """Pessimistic and optimistic sums of the losses, for each order of the pairs that matters."""
        return sums(self.distributions, self.mu_squared)


def merge(parts: Sequence[tuple[PLD, int]], relation: Relation) -> PLD:
    """All parts together; equal distributions are counted, so that their transform is computed once."""
    if len(parts) == 1:
        part, times = parts[0]
        squares = part.mu_squared * times if part.mu_squared else part.mu_squared
        return PLD(
            tuple((distribution, count * times) for distribution, count in part.distributions), squares, relation
        )
    distributions: dict[LossDistribution, int] = {}
    mu_squared = Fraction(0)
    for part, times in parts:
        if part.mu_squared:
            mu_squared += part.mu_squared * times
        for distribution, count in part.distributions:
            if distribution.lost or distribution.stated_epsilon != 0:  # what is free adds nothing
                distributions[distribution] = distributions.get(distribution, 0) + count * times
    if mu_squared.denominator.bit_length() > 1024:
        mu_squared = dyadic_up(mu_squared, 1024)
    return PLD(tuple(distributions.items()), mu_squared, relation)


def _rho(distribution: LossDistribution) -> Fraction:
    if isinstance(distribution, (TwoPoint, ThreePoint)):
        return rho_of_pure(distribution.epsilon)
    if isinstance(distribution, DiscreteLaplace):
        return rho_of_discrete_laplace(distribution.epsilon, distribution.steps)
    if isinstance(distribution, DiscreteGaussian):
        return distribution.rho
    distribution = distribution.removed if isinstance(distribution, ReplacedRecord) else distribution
    if isinstance(distribution, SampledLaplace):
        return _rho(ContinuousLaplace(distribution.epsilon))
    if isinstance(distribution, SampledGaussian):  # Renyi divergence is quasi-convex: that of the noise on all records
        return 1 / (2 * distribution.sigma**2)
    if isinstance(distribution, ContinuousLaplace):
        general = rho_of_pure(distribution.epsilon)
        _, high = bounds(lambda: ball(distribution.epsilon) + (-ball(distribution.epsilon)).expm1())
        return min(general, dyadic_up(high, 128))
    raise ParameterError("no rho is proven for this privacy loss; read its curve, or state a ZCDP guarantee for it.")


def _distribution(values: Sequence[Number], name: str) -> tuple[list[Fraction], list[Fraction]]:
    """The probabilities, and the lowest that they may stand for: the same list where all are exact."""
    read = [non_negative(value, name) for value in values]
    total = sum(read, Fraction(0))
    if total == 1:
        return read, read
    if not any(isinstance(value, float) for value in values):  # NumPy's floats are floats as well
        raise ParameterError(f"{name} must add up to exactly 1; give exact fractions.")
    if not abs(total - 1) <= _FLOATS_OFF:
        raise ParameterError(f"{name} must add up to 1 but for rounding; got {float(total)!r}.")
    lowest = 1 - abs(total - 1) - Fraction(1, 2**52)
    return [value / total for value in read], [value * lowest for value in read]
