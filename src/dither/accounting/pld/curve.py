"""Reading the curve of a composed privacy loss: by the sharpest of the ways that apply to what it is made of."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from functools import lru_cache

from dither.accounting.guarantees.gaussian_curve import gaussian_delta_bounds, gaussian_epsilon_bounds
from dither.accounting.pld.adaptive_orders import adaptive_delta, adaptive_epsilon
from dither.accounting.pld.atoms import Atoms
from dither.accounting.pld.closed_forms import ContinuousLaplace, TwoPoint
from dither.accounting.pld.distribution import UNDERFLOW, Law, U
from dither.accounting.pld.far_losses import LARGEST, far_delta, far_epsilon
from dither.accounting.pld.few_steps import Bracket, laplace_delta, laplace_epsilon, outward, responses_epsilon
from dither.accounting.pld.inversion import delta_bounds, epsilon_bounds
from dither.accounting.pld.reading import Known
from dither.accounting.pld.response_tails import FEW, around_the_mean, binomial_delta, binomial_epsilon
from dither.accounting.pld.sampled.one_sample import sampled_delta, sampled_epsilon
from dither.accounting.pld.sampled.sampled_gaussian import SampledGaussian
from dither.accounting.pld.sums import Sum
from dither.accounting.pld.work import budget, exhausted
from dither.errors import WideBounds
from dither.exact.balls import ball, bounds, float_down, float_up

Counted = tuple[tuple[Law, int], ...]
Found = dict[int, Known]

_CACHE = 512
_WIDE = 1e-3
_VERY_MANY = 10**8


@lru_cache(_CACHE)
def sums(counted: Counted, mu_squared: Fraction) -> list[tuple[Sum, Sum]]:
    """Pessimistic and optimistic sums of the losses, for each order of the pairs that matters.

    Taking one order for all parts is right for sampled noise, where the record is in the same dataset throughout;
    laws whose parts may go either way are the same in both orders as far as upper bounds are concerned.
    """
    orders = [counted]
    if not all(law.symmetric for law, _ in counted):
        orders.append(tuple((law.swapped(), count) for law, count in counted))
    found = []
    for laws in orders:
        tiny = 0 < mu_squared < UNDERFLOW
        # Rounding mu^2 to a float is within the errors that a sum states for it.
        above = Sum(laws, UNDERFLOW if tiny else float(mu_squared))
        hopeful = tuple((law.optimistic(), count) for law, count in laws)
        same = not tiny and all(a is b for (a, _), (b, _) in zip(laws, hopeful, strict=True))
        found.append((above, above if same else Sum(hopeful, 0.0 if tiny else above.mu_squared)))
    return found


def epsilon_bracket(counted: Counted, mu_squared: Fraction, delta: Fraction, known: Found | None = None) -> Bracket:
    """Certified bounds of epsilon at delta; `known` carries readings from one delta of many to the next."""
    if len(counted) == 1 and delta and not mu_squared:
        law, count = counted[0]
        quick = None
        if isinstance(law, ContinuousLaplace):
            quick = laplace_epsilon(law.epsilon, count, delta)
        elif isinstance(law, TwoPoint) and not law.lost:
            quick = responses_epsilon(law.epsilon, count, delta)
            if quick is None and count > _VERY_MANY and law.epsilon:
                low, high = around_the_mean(law.epsilon, count, delta)
                quick = outward(low, high) if high - low <= _WIDE / 2 * high else None
        elif isinstance(law, SampledGaussian) and count == 1:
            quick = _one_sampled_epsilon(law, delta)
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
        law, count = counted[0]
        quick = laplace_delta(law.epsilon, count, epsilon) if isinstance(law, ContinuousLaplace) else None
        if isinstance(law, SampledGaussian) and count == 1:
            quick = sampled_delta(law.sigma, law.rate, min(epsilon, LARGEST))
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
def _one_sampled_epsilon(law: SampledGaussian, delta: Fraction) -> Bracket | None:
    return sampled_epsilon(law.sigma, law.rate, delta)


@lru_cache(_CACHE)
def _one_read_epsilon(counted: Counted, mu_squared: Fraction, delta: Fraction) -> tuple[Bracket, bool]:
    """The bounds, and whether the budget of work ran out before they were narrow."""
    return _epsilon(counted, mu_squared, delta, {}), exhausted()


@lru_cache(_CACHE)
def _one_read_delta(counted: Counted, mu_squared: Fraction, epsilon: Fraction) -> tuple[Bracket, bool]:
    return _delta(counted, mu_squared, epsilon, {}), exhausted()


def _epsilon(counted: Counted, mu_squared: Fraction, delta: Fraction, known: Found) -> Bracket:
    laws = tuple((law, count) for law, count in counted if law.top > 0 or law.lost)
    if not laws:
        return gaussian_epsilon_bounds(mu_squared, delta)
    law, count = laws[0]
    if len(laws) == 1 and not mu_squared and isinstance(law, TwoPoint) and count <= FEW:
        exact = _few(law, count, delta)
        if exact is not None:
            return exact
    low, high = 0.0, 0.0
    for number, (above, below) in enumerate(sums(laws, mu_squared)):
        if _too_large(above, mu_squared):
            one = far_epsilon(_top(above, mu=False), (lost(below)[0], lost(above)[1]), mu_squared, delta)
        else:
            one = _one_epsilon(above, below, delta, low, known.setdefault(number, []))
        low, high = max(low, one[0]), max(high, one[1])
    alone = len(laws) == 1 and not mu_squared
    if alone and isinstance(law, Atoms) and law.pair and delta and count > 1 and high - low > _WIDE * high < math.inf:
        return outward(*adaptive_epsilon(*law.pair, count, delta, (low, high)))
    if alone and isinstance(law, TwoPoint) and high - low > _WIDE * high < math.inf:
        # Far out in the tail of a few large steps the binomial itself is sharper.
        sharper = None if law.lost else binomial_epsilon(law.epsilon, count, delta, (low, high))
        if sharper is not None:
            low, high = max(low, sharper[0]), min(high, sharper[1])
    return low, high


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
        if delta == surely == perhaps and above is below and above.top_atom[1] > -math.inf:
            low = max(0.0, math.nextafter(above.top_atom[0], 0.0))
    else:
        low = math.inf
    low, high = outward(low, high)
    return min(low, top) if math.isfinite(low) else low, min(high, top) if delta >= perhaps else high


def _few(law: TwoPoint, count: int, delta: Fraction) -> Bracket | None:
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
    quick = responses_epsilon(law.epsilon, count, rest)
    return quick or binomial_epsilon(law.epsilon, count, rest, (0.0, float_up(law.epsilon * count)))


def _delta(counted: Counted, mu_squared: Fraction, epsilon: Fraction, known: Found) -> Bracket:
    laws = tuple((law, count) for law, count in counted if law.top > 0 or law.lost)
    if not laws:
        return gaussian_delta_bounds(mu_squared, epsilon)
    law, count = laws[0]
    if len(laws) == 1 and not mu_squared and isinstance(law, TwoPoint) and count <= FEW:
        kept = (1 - law.lost) ** count
        some = binomial_delta(law.epsilon, count, epsilon) if law.epsilon else (Fraction(0), Fraction(0))
        return float_down(1 - kept + kept * some[0]), min(1.0, float_up(1 - kept + kept * some[1]))
    low, high = 0.0, 0.0
    for number, (above, below) in enumerate(sums(laws, mu_squared)):
        found = known.setdefault(number, [])
        surely, perhaps = float_down(lost(below)[0]), float_up(lost(above)[1])
        if _too_large(above, mu_squared):
            least, most = far_delta(_top(above, mu=False), (lost(below)[0], lost(above)[1]), mu_squared, epsilon)
            low, high = max(low, least), max(high, most)
            continue
        lowest, highest = -math.inf, -math.inf
        if float_down(epsilon) < _top(above):
            # The curve falls: a smaller epsilon gives the upper bound, a larger one the lower bound.
            lowest, highest = delta_bounds(above, below, min(float_down(epsilon), float(LARGEST)), found)
            if epsilon > LARGEST:
                lowest = -math.inf
            elif float_up(epsilon) != float_down(epsilon):
                lowest = delta_bounds(above, below, float_up(epsilon), found)[0]
        low = max(low, surely + _exp(lowest, up=False))
        high = max(high, perhaps + _exp(highest, up=True))
    if len(laws) == 1 and not mu_squared and isinstance(law, Atoms) and law.pair and count > 1:
        low, high = adaptive_delta(*law.pair, count, epsilon, (low, high))
    low, high = outward(low, high)
    return min(low, 1.0), min(high, 1.0)


def _exp(value: float, *, up: bool) -> float:
    if value == -math.inf:
        return 0.0
    slack = 16 * U * (1 + abs(value))
    return max(math.exp(value) * (1 + slack), 5e-324) if up else math.exp(value) * (1 - slack)


def _too_large(losses: Sum, mu_squared: Fraction) -> bool:
    bounded = not any(law.top == math.inf for law, _ in losses.laws)
    return mu_squared > LARGEST or (bounded and _top(losses, mu=False) > LARGEST)


def _top(losses: Sum, *, mu: bool = True) -> float:
    """No finite loss is larger; of all but the Gaussian parts without `mu`."""
    if mu and losses.mu_squared:
        return math.inf
    total = Fraction(0)
    for law, count in losses.laws:
        if law.top > -math.inf:
            total += count * (Fraction(law.top) if law.stated_epsilon is None else law.stated_epsilon)
    return max(0.0, float_up(total))


def lost(losses: Sum, *, unread: bool = True) -> tuple[Fraction, Fraction]:
    """Bounds of the probability that some part is lost, or not read."""
    shares = [(min(law.lost + law.unread * unread, Fraction(1)), count) for law, count in losses.laws]
    shares = [(share, count) for share, count in shares if share]
    if not shares or any(share == 1 for share, _ in shares):
        return (Fraction(1), Fraction(1)) if shares else (Fraction(0), Fraction(0))
    low, high = bounds(lambda: -sum((ball(-share).log1p() * count for share, count in shares), ball(0)).expm1())
    return max(low, Fraction(0)), min(high, Fraction(1))


def _log(value: Fraction) -> Bracket:
    parts = math.log(value.numerator), math.log(value.denominator)
    slack = 8 * U * (parts[0] + parts[1] + 1)
    return parts[0] - parts[1] - slack, parts[0] - parts[1] + slack
