"""Reading the curve of a composed privacy loss: by the sharpest of the ways that apply to what it is made of."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from functools import lru_cache

from dither.accounting.guarantees.gaussian_curve import gaussian_delta_bounds, gaussian_epsilon_bounds
from dither.accounting.pld.closed_forms import ContinuousLaplace, TwoPoint
from dither.accounting.pld.distribution import UNDERFLOW, LossDistribution, U
from dither.accounting.pld.far_losses import LARGEST, far_delta, far_epsilon
from dither.accounting.pld.few_steps import Bracket, laplace_delta, laplace_epsilon, outward, responses_epsilon
from dither.accounting.pld.inversion import delta_bounds, epsilon_bounds, log_variation_read
from dither.accounting.pld.pairs.adaptive_orders import adaptive_delta, adaptive_epsilon
from dither.accounting.pld.pairs.atoms import Atoms
from dither.accounting.pld.pairs.enumeration import sharper_delta, sharper_epsilon
from dither.accounting.pld.plain_bounds import log_delta_bounds
from dither.accounting.pld.reading import WANTED, Known
from dither.accounting.pld.response_tails import FEW, around_the_mean, binomial_delta, binomial_epsilon
from dither.accounting.pld.sampled.one_sample import sampled_delta, sampled_epsilon
from dither.accounting.pld.sampled.sampled_gaussian import SampledGaussian
from dither.accounting.pld.sums import Sum, lost
from dither.accounting.pld.work import budget, exhausted
from dither.errors import WideBounds
from dither.exact.balls import float_down, float_up

Counted = tuple[tuple[LossDistribution, int], ...]
Found = dict[int, Known]
Bracketed = tuple[Fraction, Fraction]

_CACHE = 512
_WIDE = 1e-3
_VERY_MANY = 10**8
_LONG = 4096  # bits of a fraction


@lru_cache(_CACHE)
def sums(counted: Counted, mu_squared: Fraction) -> list[tuple[Sum, Sum]]:
    """Pessimistic and optimistic sums of the losses, for each order of the pairs that matters.

    Taking one order for all parts is right for sampled noise, where the record is in the same dataset throughout;
    distributions whose parts may go either way are the same in both orders as far as upper bounds are concerned.
    """
    orders = [counted]
    if not all(distribution.symmetric for distribution, _ in counted):
        orders.append(tuple((distribution.swapped(), count) for distribution, count in counted))
    found = []
    for distributions in orders:
        tiny = 0 < mu_squared < UNDERFLOW
        # Rounding mu^2 to a float is within the errors that a sum states for it.
        above = Sum(distributions, UNDERFLOW if tiny else float(mu_squared))
        hopeful = tuple((distribution.optimistic(), count) for distribution, count in distributions)
        same = not tiny and all(a is b for (a, _), (b, _) in zip(distributions, hopeful, strict=True))
        found.append((above, above if same else Sum(hopeful, 0.0 if tiny else above.mu_squared)))
    return found


def epsilon_bracket(counted: Counted, mu_squared: Fraction, delta: Fraction, known: Found | None = None) -> Bracket:
    """Certified bounds of epsilon at delta; `known` carries readings from one delta of many to the next."""
    if len(counted) == 1 and delta and not mu_squared:
        distribution, count = counted[0]
        quick = None
        if isinstance(distribution, ContinuousLaplace):
            quick = laplace_epsilon(distribution.epsilon, count, delta)
        elif isinstance(distribution, TwoPoint) and not distribution.lost:
            quick = responses_epsilon(distribution.epsilon, count, delta)
            if quick is None and count > _VERY_MANY and distribution.epsilon:
                low, high = around_the_mean(distribution.epsilon, count, delta)
                quick = outward(low, high) if high - low <= _WIDE / 2 * high else None
        elif isinstance(distribution, SampledGaussian) and count == 1:
            quick = _one_sampled_epsilon(distribution, delta)
        if quick is not None:
            return _ordered(quick)
    with budget():
        found = (
            _one_read_epsilon(counted, mu_squared, delta)
            if known is None
            else (_epsilon(counted, mu_squared, delta, known), exhausted())
        )
    return _told("epsilon", *found)


def delta_bracket(counted: Counted, mu_squared: Fraction, epsilon: Fraction, known: Found | None = None) -> Bracket:
    """Certified bounds of delta at epsilon, in the same way."""
    if len(counted) == 1 and not mu_squared:
        distribution, count = counted[0]
        quick = (
            laplace_delta(distribution.epsilon, count, epsilon) if isinstance(distribution, ContinuousLaplace) else None
        )
        if isinstance(distribution, SampledGaussian) and count == 1:
            quick = sampled_delta(distribution.sigma, distribution.rate, min(epsilon, LARGEST))
            quick = (0.0, quick[1]) if quick and epsilon > LARGEST else quick
        if quick is not None:
            return _ordered(quick)
    with budget():
        found = (
            _one_read_delta(counted, mu_squared, epsilon)
            if known is None
            else (_delta(counted, mu_squared, epsilon, known), exhausted())
        )
    return _told("delta", *found)


def _told(what: str, bracket: Bracket, stopped: bool) -> Bracket:
    low, high = _ordered(bracket)
    if stopped and high - low > _WIDE * high:
        text = f"{what} lies between {low:.6g} and {high:.6g}: to say more takes more work than one reading may."
        warnings.warn(text, WideBounds, stacklevel=4)
    return low, high


def _ordered(bracket: Bracket) -> Bracket:
    """As it is. Where one bound is above the other, or is no number, one must be wrong: nothing may rest on either."""
    low, high = bracket
    if not low <= high:
        raise ArithmeticError(f"bounds of a privacy curve contradict each other: {low} above {high}")
    return bracket


@lru_cache(_CACHE)
def _one_sampled_epsilon(distribution: SampledGaussian, delta: Fraction) -> Bracket | None:
    return sampled_epsilon(distribution.sigma, distribution.rate, delta)


@lru_cache(_CACHE)
def _one_read_epsilon(counted: Counted, mu_squared: Fraction, delta: Fraction) -> tuple[Bracket, bool]:
    """The bounds, and whether the budget of work ran out before they were narrow."""
    return _epsilon(counted, mu_squared, delta, {}), exhausted()


@lru_cache(_CACHE)
def _one_read_delta(counted: Counted, mu_squared: Fraction, epsilon: Fraction) -> tuple[Bracket, bool]:
    return _delta(counted, mu_squared, epsilon, {}), exhausted()


def _epsilon(counted: Counted, mu_squared: Fraction, delta: Fraction, known: Found) -> Bracket:
    distributions = tuple(
        (distribution, count) for distribution, count in counted if distribution.top > 0 or distribution.lost
    )
    if not distributions:
        return gaussian_epsilon_bounds(mu_squared, delta)
    distribution, count = distributions[0]
    if len(distributions) == 1 and not mu_squared and isinstance(distribution, TwoPoint) and count <= FEW:
        exact = _few(distribution, count, delta)
        if exact is not None:
            return exact
    low, high = 0.0, 0.0
    for number, (above, below) in enumerate(sums(distributions, mu_squared)):
        if _too_large(above, mu_squared):
            one = far_epsilon(_top(above, mu=False), (lost(below)[0], lost(above)[1]), mu_squared, delta)
        else:
            one = _one_epsilon(above, below, delta, low, known.setdefault(number, []))
        low, high = max(low, one[0]), max(high, one[1])
    alone = len(distributions) == 1 and not mu_squared
    if (
        alone
        and isinstance(distribution, Atoms)
        and distribution.pair
        and delta
        and count > 1
        and high - low > _WIDE * high < math.inf
    ):
        return outward(*adaptive_epsilon(*distribution.pair, count, delta, (low, high)))
    if alone and isinstance(distribution, TwoPoint) and high - low > _WIDE * high < math.inf:
        # Far out in the tail of a few large steps the binomial itself is sharper.
        sharper = None if distribution.lost else binomial_epsilon(distribution.epsilon, count, delta, (low, high))
        if sharper is not None:
            low, high = max(low, sharper[0]), min(high, sharper[1])
    return sharper_epsilon(distributions, mu_squared, delta, (low, high))


def _one_epsilon(above: Sum, below: Sum, delta: Fraction, enough: float, known: Known) -> Bracket:
    top = _top(above)
    surely, perhaps = lost(below)[0], lost(above)[1]
    low, high = 0.0, math.inf
    if delta > perhaps:
        logs = _log(delta - perhaps)[0], _log(delta - surely)[1]
        low, high = epsilon_bounds(above, below, logs, enough, known)
    elif delta >= surely:
        # Nothing is left of delta: only losses that never occur are covered.
        high = top if delta >= perhaps else math.inf
        low = epsilon_bounds(above, below, (_log(delta - surely)[0],) * 2)[0] if delta > surely else 0.0
        if delta == surely == perhaps and above is below and len(above.top_atoms) == len(above.distributions):
            low = max(0.0, math.nextafter(above.top_atoms[-1][0], 0.0))
    else:
        low = math.inf
    low, high = outward(low, high)
    return min(low, top) if math.isfinite(low) else low, min(high, top) if delta >= perhaps else high


def _few(distribution: TwoPoint, count: int, delta: Fraction) -> Bracket | None:
    """Exactly, by binomial tails; None if these are too small to write out."""
    least, most = _lost_of(distribution, count)
    if delta < least:
        return math.inf, math.inf
    if delta < most:  # too close to tell
        return None
    if delta == least == most or distribution.epsilon == 0:
        total = distribution.epsilon * count
        return float_down(total), float_up(total)
    if delta == most:
        return None
    rests = [(delta - lost) / (1 - lost) for lost in (least, most)]
    found = [_responses(distribution.epsilon, count, rest) for rest in ([rests[0]] if least == most else rests)]
    return None if found[0] is None or found[-1] is None else (found[0][0], found[-1][1])


def _responses(epsilon: Fraction, count: int, delta: Fraction) -> Bracket | None:
    quick = responses_epsilon(epsilon, count, delta)
    return quick or binomial_epsilon(epsilon, count, delta, (0.0, float_up(epsilon * count)))


def _lost_of(distribution: TwoPoint, count: int) -> Bracketed:
    """1 - (1 - lost)^count: exactly where that is no long fraction."""
    if count * distribution.lost.denominator.bit_length() <= _LONG:
        exact = 1 - (1 - distribution.lost) ** count
        return exact, exact
    return lost(Sum(((distribution, count),), 0.0))


def _delta(counted: Counted, mu_squared: Fraction, epsilon: Fraction, known: Found) -> Bracket:
    distributions = tuple(
        (distribution, count) for distribution, count in counted if distribution.top > 0 or distribution.lost
    )
    if not distributions:
        return gaussian_delta_bounds(mu_squared, epsilon)
    distribution, count = distributions[0]
    if len(distributions) == 1 and not mu_squared and isinstance(distribution, TwoPoint) and count <= FEW:
        least, most = _lost_of(distribution, count)
        some = binomial_delta(distribution.epsilon, count, epsilon) if distribution.epsilon else (Fraction(0),) * 2
        return float_down(least + (1 - least) * some[0]), min(1.0, float_up(most + (1 - most) * some[1]))
    low, high, variation = 0.0, 0.0, 1.0
    for number, (above, below) in enumerate(sums(distributions, mu_squared)):
        found = known.setdefault(number, [])
        surely, perhaps = float_down(lost(below)[0]), float_up(lost(above)[1])
        if _too_large(above, mu_squared):
            far = far_delta(_top(above, mu=False), (lost(below)[0], lost(above)[1]), mu_squared, epsilon)
            low, high = max(low, far[0]), max(high, far[1])
            continue
        lowest, highest = -math.inf, -math.inf
        within = float_down(epsilon) < _top(above)
        if within and 1 - surely <= _WIDE / 8:  # what is not lost hardly counts
            high = 1.0
        elif variation <= low * (1 + WANTED):
            plain = log_delta_bounds(above, float_down(epsilon))[1] if within else -math.inf
            high = max(high, min(variation, perhaps + _exp(plain, up=True)))
        elif within:
            # The curve falls: a smaller epsilon gives the upper bound, a larger one the lower bound.
            enough = math.log(low - perhaps) - 1e-9 if low > perhaps else -math.inf
            lowest, highest = delta_bounds(above, below, min(float_down(epsilon), float(LARGEST)), enough, found)
            if epsilon > LARGEST:
                lowest = -math.inf
        low = max(low, surely + _exp(lowest, up=False))
        high = max(high, perhaps + _exp(highest, up=True))
        # Total variation is the same in both orders, and no delta is larger.
        variation = min(variation, perhaps + _exp(log_variation_read(found), up=True))
    if (
        len(distributions) == 1
        and not mu_squared
        and isinstance(distribution, Atoms)
        and distribution.pair
        and count > 1
    ):
        low, high = adaptive_delta(*distribution.pair, count, epsilon, (low, high))
    low, high = outward(*sharper_delta(distributions, mu_squared, epsilon, (low, high)))
    return min(low, 1.0), min(high, 1.0)


def _exp(value: float, *, up: bool) -> float:
    if value == -math.inf:
        return 0.0
    slack = 16 * U * (1 + abs(value))
    return max(math.exp(value) * (1 + slack), 5e-324) if up else math.exp(value) * (1 - slack)


def _too_large(losses: Sum, mu_squared: Fraction) -> bool:
    bounded = not any(distribution.top == math.inf for distribution, _ in losses.distributions)
    return mu_squared > LARGEST or (bounded and _top(losses, mu=False) > LARGEST)


def _top(losses: Sum, *, mu: bool = True) -> float:
    """No finite loss is larger; of all but the Gaussian parts without `mu`."""
    if mu and losses.mu_squared:
        return math.inf
    total = Fraction(0)
    for distribution, count in losses.distributions:
        if distribution.top > -math.inf:
            total += count * (
                Fraction(distribution.top) if distribution.stated_epsilon is None else distribution.stated_epsilon
            )
    return max(0.0, float_up(total))


def _log(value: Fraction) -> Bracket:
    parts = math.log(value.numerator), math.log(value.denominator)
    slack = 8 * U * (parts[0] + parts[1] + 1)
    return parts[0] - parts[1] - slack, parts[0] - parts[1] + slack
