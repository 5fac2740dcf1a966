"""The guarantee that knows most: the law of the privacy loss itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither.accounting.approx import ApproxDP
from dither.accounting.balls import ball, bounds, dyadic_up, float_down, float_up
from dither.accounting.conversion import rho_of_discrete_laplace, rho_of_pure
from dither.accounting.gdp import gaussian_delta_bounds, gaussian_epsilon_bounds
from dither.accounting.guarantee import Guarantee
from dither.accounting.pld.atoms import exact_pair
from dither.accounting.pld.closed import ContinuousLaplace, DiscreteLaplace, TwoPoint
from dither.accounting.pld.exact import FEW, binomial_delta, binomial_epsilon
from dither.accounting.pld.inversion import Sum, delta_bounds, epsilon_bounds
from dither.accounting.pld.law import UNDERFLOW, Law, U
from dither.accounting.pld.subsampled import subsampled_gaussian_law
from dither.accounting.pure import PureDP, _delta
from dither.accounting.zcdp import ZCDP
from dither.errors import ParameterError
from dither.neighbours import Relation
from dither.parameters import Number, non_negative, positive, probability, whole

_CACHE = 512
_WIDE = 1e-3


@dataclass(frozen=True)
class PLD(Guarantee):
    """For all neighbours the outputs are a post-processing of a product of known pairs, whose losses add up.

    Its curve is that of the pairs, by certified lower and upper bounds that differ by less than 1e-3 of epsilon, except
    for a few steps of sampled noise at small rates and for pairs that are not their own mirror image.
    Valid for mechanisms fixed in advance (their questions may be adaptive); it is not a running filter.

    >>> low, high = (PLD.pure("0.01") * 1000).bounds_at(delta="1e-6")
    >>> round(low, 4), round(high, 4)
    (1.3654, 1.3654)
    """

    laws: tuple[tuple[Law, int], ...]
    mu_squared: Fraction = Fraction(0)
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu_squared", non_negative(self.mu_squared, "mu_squared"))
        object.__setattr__(self, "relation", Relation.read(self.relation))
        for law, count in self.laws:
            if not isinstance(law, Law):
                raise ParameterError(f"a privacy loss is made of laws with counts; got {type(law).__name__}.")
            whole(count, "a count")

    @classmethod
    def pure(cls, epsilon: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """Everything that is epsilon-DP: its worst pair is randomised response."""
        return cls(((TwoPoint(non_negative(epsilon, "epsilon")), 1),), relation=Relation.read(relation))

    randomized_response = pure

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number, relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """Everything that is (epsilon, delta)-DP, by its four-point pair."""
        law = TwoPoint(non_negative(epsilon, "epsilon"), _delta(delta))
        return cls(((law, 1),), relation=Relation.read(relation))

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
        law: Law = TwoPoint(most) if moved == 1 else DiscreteLaplace(most, moved)
        return cls(((law, 1),), relation=Relation.read(relation))

    @classmethod
    def subsampled_gaussian(cls, sigma: Number, rate: Number) -> PLD:
        """N(0, sigma^2) at sensitivity 1 on a secret, fresh Poisson sample: each record with probability `rate`.

        For add/remove of the sampled unit only; both orders of the pair are looked at.
        """
        noise, chance = positive(sigma, "sigma"), positive(rate, "rate")
        if not Fraction(1, 20) <= noise <= 10**6:
            raise ParameterError(f"sigma must be between 0.05 and 1e6 for sampled noise; got {float(noise):g}.")
        if chance == 1:
            return cls((), 1 / noise**2)
        return cls(((subsampled_gaussian_law(noise, probability(rate, "rate")), 1),))

    @classmethod
    def from_pmf(cls, p: Sequence[Number], q: Sequence[Number], relation: Relation | str = Relation.ADD_REMOVE) -> PLD:
        """A mechanism whose worst neighbours have the output probabilities p and q, in either order, exactly.

        In a composition each release may go either way, so there the upper bound is that of the pair that dominates
        both orders; for a pair that is not its own mirror image the lower bound may then be some way below.
        """
        first, second = _distribution(p, "p"), _distribution(q, "q")
        if len(first) != len(second):
            raise ParameterError(f"p and q must be of the same length; got {len(first)} and {len(second)}.")
        return cls(((exact_pair(first, second), 1),), relation=Relation.read(relation))

    def privacy_loss(self) -> PLD:
        return self

    def epsilon_at(self, delta: Number) -> float:
        return _epsilon(self, _delta(delta))[1]

    def delta_at(self, epsilon: Number) -> float:
        return _delta_of(self, non_negative(epsilon, "epsilon"))[1]

    def bounds_at(self, *, epsilon: Number | None = None, delta: Number | None = None) -> tuple[float, float]:
        if (epsilon is None) == (delta is None):
            raise ParameterError("read the curve at epsilon= or at delta=, one of them.")
        if delta is not None:
            return _epsilon(self, _delta(delta))
        return _delta_of(self, non_negative(epsilon, "epsilon"))  # type: ignore[arg-type]

    def zcdp(self) -> ZCDP:
        rho, delta = self.mu_squared / 2, Fraction(0)
        for law, count in self.laws:
            rho += count * _rho(law)
            delta += count * law.lost
        known = None if self.laws else self.mu_squared
        return ZCDP(rho, delta, self.relation, proven_mu_squared=known)

    def basic(self) -> PureDP | ApproxDP:
        epsilon, delta = Fraction(0), Fraction(0)
        for law, count in self.laws:
            if law.stated_epsilon is None:
                break
            epsilon += count * law.stated_epsilon
            delta += count * law.lost
        else:
            if not self.mu_squared:
                return ApproxDP(epsilon, delta, relation=self.relation) if delta else PureDP(epsilon, self.relation)
        raise ParameterError(
            "this privacy loss has no single epsilon and delta to add up; read its curve at a delta instead."
        )

    def additive_delta(self) -> Fraction:
        """At least the probability that an infinite loss occurs."""
        return max(_lost(above)[1] for above, _ in self.sums())

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        return None if self.laws else self.mu_squared

    def sums(self) -> list[tuple[Sum, Sum]]:
        """Pessimistic and optimistic sums of the losses, for each order of the pairs that matters.

        Taking one order for all parts is right for sampled noise, where the record is in the same dataset throughout;
        laws whose parts may go either way are the same in both orders as far as upper bounds are concerned.
        """
        orders = [self.laws]
        if not all(law.symmetric for law, _ in self.laws):
            orders.append(tuple((law.swapped(), count) for law, count in self.laws))
        found = []
        for laws in orders:
            tiny = 0 < self.mu_squared < UNDERFLOW
            above = Sum(laws, UNDERFLOW if tiny else float_up(self.mu_squared))
            hopeful = tuple((law.optimistic(), count) for law, count in laws)
            same = not tiny and all(a is b for (a, _), (b, _) in zip(laws, hopeful, strict=True))
            found.append((above, above if same else Sum(hopeful, 0.0 if tiny else float_down(self.mu_squared))))
        return found


def merge(parts: Sequence[tuple[PLD, int]], relation: Relation) -> PLD:
    """All parts together; equal laws are counted, so that their transform is computed once."""
    laws: dict[Law, int] = {}
    mu_squared = Fraction(0)
    for part, times in parts:
        mu_squared += part.mu_squared * times
        for law, count in part.laws:
            laws[law] = laws.get(law, 0) + count * times
    if mu_squared.denominator.bit_length() > 1024:
        mu_squared = dyadic_up(mu_squared, 1024)
    return PLD(tuple(laws.items()), mu_squared, relation)


@lru_cache(_CACHE)
def _epsilon(pld: PLD, delta: Fraction) -> tuple[float, float]:
    laws = tuple((law, count) for law, count in pld.laws if law.top > 0 or law.lost)
    if not laws:
        return gaussian_epsilon_bounds(pld.mu_squared, delta)
    law, count = laws[0]
    if len(laws) == 1 and not pld.mu_squared and isinstance(law, TwoPoint) and count <= FEW:
        exact = _few(law, count, delta)
        if exact is not None:
            return exact
    low, high = 0.0, 0.0
    for above, below in PLD(laws, pld.mu_squared).sums():
        one = _one_epsilon(above, below, delta)
        low, high = max(low, one[0]), max(high, one[1])
    if len(laws) == 1 and not pld.mu_squared and isinstance(law, TwoPoint) and high - low > _WIDE * high < math.inf:
        # Far out in the tail of a few large steps the binomial itself is sharper.
        sharper = None if law.lost else binomial_epsilon(law.epsilon, count, delta, (low, high))
        if sharper is not None:
            low, high = max(low, sharper[0]), min(high, sharper[1])
    return low, high


def _one_epsilon(above: Sum, below: Sum, delta: Fraction) -> tuple[float, float]:
    top = _top(above)
    surely, perhaps = _lost(below)[0], _lost(above)[1]
    low, high = 0.0, math.inf
    if delta > perhaps:
        low, high = epsilon_bounds(above, below, (_log(delta - perhaps)[0], _log(delta - surely)[1]))
    elif delta >= surely:
        # Nothing is left of delta: only losses that never occur are covered.
        high = top if delta >= perhaps else math.inf
        low = epsilon_bounds(above, below, (_log(delta - surely)[0],) * 2)[0] if delta > surely else 0.0
        if (
            delta == surely == perhaps
            and not above.mu_squared
            and all(isinstance(law, TwoPoint) for law, _ in above.laws)
        ):
            low = math.nextafter(top, 0.0)
    else:
        low = math.inf
    return _outward(min(low, top) if math.isfinite(low) else low, min(high, top) if delta >= perhaps else high)


def _outward(low: float, high: float) -> tuple[float, float]:
    """To 44 bits: a last-bit difference of some machine's sine must not show."""
    if math.isfinite(high) and high > 0:
        mantissa, exponent = math.frexp(high)
        high = math.ldexp(math.ceil(mantissa * 2**44), exponent - 44)
    if math.isfinite(low) and low > 0:
        mantissa, exponent = math.frexp(low)
        low = math.ldexp(math.floor(mantissa * 2**44), exponent - 44)
    return low, high


def _few(law: TwoPoint, count: int, delta: Fraction) -> tuple[float, float] | None:
    """Exactly, by binomial tails; None if these are too small to write out."""
    if delta < law.lost:
        return math.inf, math.inf
    kept = (1 - law.lost) ** count
    rest = (delta - 1 + kept) / kept
    if rest < 0:
        return math.inf, math.inf
    if rest == 0 or law.epsilon == 0:
        total = law.epsilon * count
        return float_down(total), float_up(total)
    return binomial_epsilon(law.epsilon, count, rest, (0.0, float_up(law.epsilon * count)))


@lru_cache(_CACHE)
def _delta_of(pld: PLD, epsilon: Fraction) -> tuple[float, float]:
    laws = tuple((law, count) for law, count in pld.laws if law.top > 0 or law.lost)
    if not laws:
        return gaussian_delta_bounds(pld.mu_squared, epsilon)
    law, count = laws[0]
    if len(laws) == 1 and not pld.mu_squared and isinstance(law, TwoPoint) and count <= FEW:
        kept = (1 - law.lost) ** count
        some = binomial_delta(law.epsilon, count, epsilon) if law.epsilon else (Fraction(0), Fraction(0))
        return float_down(1 - kept + kept * some[0]), min(1.0, float_up(1 - kept + kept * some[1]))
    low, high = 0.0, 0.0
    for above, below in PLD(laws, pld.mu_squared).sums():
        surely, perhaps = float_down(_lost(below)[0]), float_up(_lost(above)[1])
        lowest, highest = -math.inf, -math.inf
        if float_down(epsilon) < _top(above):
            # The curve falls: a smaller epsilon gives the upper bound, a larger one the lower bound.
            lowest, highest = delta_bounds(above, below, float_down(epsilon))
            if float_up(epsilon) != float_down(epsilon):
                lowest = delta_bounds(above, below, float_up(epsilon))[0]
        low = max(low, surely + _exp(lowest, up=False))
        high = max(high, perhaps + _exp(highest, up=True))
    low, high = _outward(low, high)
    return min(low, high, 1.0), min(high, 1.0)


def _exp(value: float, *, up: bool) -> float:
    if value == -math.inf:
        return 0.0
    slack = 16 * U * (1 + abs(value))
    return max(math.exp(value) * (1 + slack), 5e-324) if up else math.exp(value) * (1 - slack)


def _top(losses: Sum) -> float:
    if losses.mu_squared:
        return math.inf
    total = sum((Fraction(law.top) * count for law, count in losses.laws if law.top > -math.inf), Fraction(0))
    return max(0.0, float_up(total))


def _lost(losses: Sum) -> tuple[Fraction, Fraction]:
    """Bounds of the probability that some part is lost."""
    if not any(law.lost for law, _ in losses.laws):
        return Fraction(0), Fraction(0)
    if any(law.lost >= 1 for law, _ in losses.laws):
        return Fraction(1), Fraction(1)
    low, high = bounds(lambda: -sum((ball(-law.lost).log1p() * count for law, count in losses.laws), ball(0)).expm1())
    return max(low, Fraction(0)), min(high, Fraction(1))


def _log(value: Fraction) -> tuple[float, float]:
    parts = math.log(value.numerator), math.log(value.denominator)
    slack = 8 * U * (parts[0] + parts[1] + 1)
    return parts[0] - parts[1] - slack, parts[0] - parts[1] + slack


def _rho(law: Law) -> Fraction:
    if isinstance(law, TwoPoint):
        return rho_of_pure(law.epsilon)
    if isinstance(law, DiscreteLaplace):
        return rho_of_discrete_laplace(law.epsilon, law.steps)
    if isinstance(law, ContinuousLaplace):
        general = rho_of_pure(law.epsilon)
        _, high = bounds(lambda: ball(law.epsilon) + (-ball(law.epsilon)).expm1())
        return min(general, dyadic_up(high, 128))
    raise ParameterError("no rho is proven for this privacy loss; read its curve, or state a ZCDP guarantee for it.")


def _distribution(values: Sequence[Number], name: str) -> list[Fraction]:
    found = [non_negative(value, name) for value in values]
    if sum(found, Fraction(0)) != 1:
        raise ParameterError(f"{name} must add up to exactly 1; give exact fractions.")
    return found
