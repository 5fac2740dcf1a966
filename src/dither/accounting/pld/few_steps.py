"""A few equal steps in closed form: plain floats with a proven error, for the answers that are asked for most.

Everything returned encloses the exact figure; None means that floats cannot tell, and that another way has to. The
formulas and the bounds of their rounding are proven in docs/proofs/few_steps.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.accounting.pld.distribution import FUNCTION, U
from dither.exact.balls import float_up

Bracket = tuple[float, float]

# With so many at most, no sum leaves the range of floats.
_MOST_RESPONSES = 1000
_MOST_LAPLACE = 200
_LARGEST = 300.0
_SMALLEST = 1e-290
_NARROW = 1e-5
_TURNS = 8


def responses_epsilon(epsilon: Fraction, count: int, delta: Fraction) -> Bracket | None:
    """The epsilon of `count` equal randomised responses at delta > 0.

    The largest of k eps + ln((S_l - D)/T_l) over l, where S_l = sum_(i<=l) C(k,i) e^(-i eps), T_l the same with
    e^(i eps), and D = delta (1 + e^-eps)^k.
    """
    e, target = float(epsilon), float(delta)
    if count > _MOST_RESPONSES or not (_SMALLEST < e < _LARGEST and target > _SMALLEST):
        return None
    x = math.exp(-e)
    spread = (count + 1) * (32 + e) * U  # of S, T and D, relative
    unit = math.ldexp(1.0, -(count // 2))  # S, T and D are counted in these, so that they fit
    # In this order: `target * unit` alone may fall below all floats.
    drop = target * math.exp(count * math.log1p(x)) * unit
    top = count * e
    low = high = 0.0
    fall = rise = 1.0
    term = s = t = unit
    for wrong in range((count + 1) // 2):
        if wrong:
            term *= (count - wrong + 1) / wrong
            fall *= x
            rise /= x
            s += term * fall
            t += term * rise
        rest, doubt = s - drop, 1.1 * spread * (s + drop)
        meets_next = fall * fall * x * x  # e^(b - k eps), b where the next line crosses this one
        if not (t < math.inf and meets_next > _SMALLEST):
            return None
        if rest + doubt < 0.9 * t * meets_next:
            continue  # at its own epsilon this line is below the next one
        if not rest > 2 * doubt:
            return None
        if wrong:
            log = math.log(rest / t)
            error = doubt / (rest - doubt) + 1.1 * spread
        else:
            log = math.log1p(-drop / unit)
            error = 1.1 * spread * drop / (rest - doubt)
        error = 1.25 * error + 2 * FUNCTION * abs(log) + 8 * U * top
        low, high = max(low, top + log - error), max(high, top + log + error)
        if low >= (count - 2 * wrong - 2) * e * (1 + 4 * U):
            break  # the lines to come are below this one wherever it is above delta
    return _capped(low, high, epsilon, count)


def laplace_epsilon(epsilon: Fraction, count: int, delta: Fraction) -> Bracket | None:
    """The epsilon of `count` equal continuous Laplace releases at a delta so small that it is above (k - 2) eps.

    With d = (k eps - epsilon)/2 <= eps, delta = P[Gamma(1 + Binomial(k - 1, 1/2)) <= d].
    """
    e, target = float(epsilon), float(delta)
    if count > _MOST_LAPLACE or not (_SMALLEST < e < _LARGEST and target > _SMALLEST):
        return None
    target = math.ldexp(target, count - 1)
    distance = min(target / (1 + (count / 2 - 1) * target), e)  # right to second order
    for _ in range(_TURNS):
        value, slope, terms = _erlang_mixture(distance, count)
        error = (8 * terms + 2 * FUNCTION / U + 40) * U
        change = math.log(target / value) / slope
        if change > 0 and distance >= e:
            return None
        distance = min(distance * math.exp(max(-3.0, min(3.0, change))), e)
        if abs(change) < 3e-5:
            break
    # The sum is certain up to `error`; a few times that to either side is checked, not believed.
    move = 4 * (error + abs(change) ** 2) / slope
    near, far = distance * (1 - move), distance * (1 + move)
    if not (0 < near < far <= e * (1 - 4 * U)):
        return None
    if not _erlang_mixture(near, count)[0] * (1 + error) < target < _erlang_mixture(far, count)[0] * (1 - error):
        return None
    top, slack = count * e, 8 * U * count * e
    low, high = max(0.0, top - 2 * far - slack), max(0.0, top - 2 * near + slack)
    return _capped(low, high, epsilon, count)


def laplace_delta(epsilon: Fraction, count: int, at: Fraction) -> Bracket | None:
    """The delta of `count` equal continuous Laplace releases at an epsilon of at least (k - 2) eps."""
    if count > _MOST_LAPLACE or not (_SMALLEST < epsilon < _LARGEST):
        return None
    distance = (count * epsilon - at) / 2
    if distance <= 0:
        return 0.0, 0.0
    near = float(distance)
    if not (distance <= epsilon and near > _SMALLEST):
        return None
    value, _, terms = _erlang_mixture(near, count)
    error = (8 * terms + 2 * FUNCTION / U + 40 + 2 * count) * U
    scaled = math.ldexp(value, 1 - count)
    if not scaled > _SMALLEST:
        return None
    low, high = outward(scaled * (1 - error), scaled * (1 + error))
    return low, min(1.0, high)


def outward(low: float, high: float) -> Bracket:
    """To 44 bits: a last-bit difference of some machine's sine must not show."""
    if 0 < high < math.inf:
        mantissa, exponent = math.frexp(high)
        high = math.ldexp(math.ceil(mantissa * 2**44), exponent - 44)
    if 0 < low < math.inf:
        mantissa, exponent = math.frexp(low)
        low = math.ldexp(math.floor(mantissa * 2**44), exponent - 44)
    return low, high


def _capped(low: float, high: float, epsilon: Fraction, count: int) -> Bracket | None:
    """Rounded outward, but not past the sum of the stated epsilons; None if too wide to be of use."""
    if not high - low <= _NARROW * high:
        return None
    low, high = outward(low, high)
    if high > count * float(epsilon) * (1 - 2.0**-40):
        high = min(high, float_up(count * epsilon))
    return low, high


def _erlang_mixture(d: float, count: int) -> tuple[float, float, int]:
    """2^(k-1) P[Gamma(1 + Binomial(k - 1, 1/2)) <= d], its logarithmic slope in ln d, and how many terms it took.

    e^-d sum_(i>=1) w_i d^i/i! with w_i = sum_(a<i) C(k - 1, a): nothing cancels. Its derivative has C(k - 1, i - 1) in
    place of w_i, and i - 1 in place of i.
    """
    choose = weight = power = 1.0
    total = density = 0.0
    i = 0
    while True:  # ends: from some term on each is less than half the one before
        i += 1
        density += choose * power
        power *= d / i
        term = weight * power
        total += term
        if term <= U * total and d * max(i, count) <= i * i / 2:
            break
        choose *= (count - i) / i if i < count else 0.0
        weight += choose
    shrink = math.exp(-d)
    return total * shrink, d * density / total, i
