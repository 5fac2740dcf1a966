"""Amplification by shuffling: reports that nobody can tell whose they are hide among each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.conversion import delta_of_pure
from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up, sign, upper, whole_part
from dither.exact.parameters import Number, non_negative, positive, probability, whole
from dither.exact.precision import precision
from dither.neighbours import Relation

_MOST = 10**8  # participants
_LARGEST = 700  # of a local epsilon that is amplified: beyond it there are no clones among so many
_BITS = 256
_STEPS = 20  # halvings of an interval that contains epsilon


def shuffle(guarantee: Guarantee, honest: int, delta: Number) -> ApproxDP:
    """The guarantee of reports that are shuffled before anyone sees them, each by itself epsilon-DP under replace.

    `honest` participants, the one who is protected among them, report by their own randomness and are shuffled
    together; reports of others hide nobody and are not counted. The numerical bound of Feldman, McMillan and Talwar
    2021 (hiding among the clones), rounded up; docs/proofs/shuffling.md.

    >>> from dither.accounting.guarantees.pure import PureDP
    >>> round(float(shuffle(PureDP(1, "replace"), 10_000, "1e-6").epsilon), 3)
    0.053
    """
    local, count, target = _read(guarantee), whole(honest, "honest", most=_MOST), probability(delta, "delta")
    low, high = Fraction(0), local
    if local <= _LARGEST:
        high = min(local, closed_shuffle(local, count, target)) if _closed_holds(local, count, target) else local
        if shuffled_delta(local, count, low) <= target:
            high = low
        for _ in range(_STEPS if high else 0):
            middle = dyadic_up((low + high) / 2)
            low, high = (low, middle) if shuffled_delta(local, count, middle) <= target else (middle, high)
    return ApproxDP(high, target, relation=Relation.REPLACE)


def shuffle_inverse(epsilon: Number, honest: int, delta: Number) -> Fraction:
    """A local epsilon, rounded down, with which so many shuffled reports are (epsilon, delta)-DP.

    >>> round(float(shuffle_inverse(1, 10_000, "1e-6")), 2)
    4.8
    """
    target, count = positive(epsilon, "epsilon"), whole(honest, "honest", most=_MOST)
    slack = probability(delta, "delta")
    low, high = target, target + math.ceil(math.log(count)) + 1
    for _ in range(_STEPS):
        middle = dyadic_up((low + high) / 2, 40)
        low, high = (middle, high) if shuffled_delta(middle, count, target) <= slack else (low, middle)
    return low


def closed_shuffle(epsilon: Number, honest: int, delta: Number) -> Fraction:
    """The closed form of the same theorem, rounded up; `shuffle` gives less. Refused where it does not hold.

    ln(1 + (e^e0 - 1)/(e^e0 + 1) (8 sqrt(e^e0 ln(4/delta) / n) + 8 e^e0 / n)) for e0 <= ln(n / (16 ln(2/delta))).

    >>> round(float(closed_shuffle(1, 10_000, "1e-6")), 3)
    0.214
    """
    local, count, target = positive(epsilon, "epsilon"), whole(honest, "honest"), probability(delta, "delta")
    if not _closed_holds(local, count, target):
        raise ParameterError(
            "the closed form holds for epsilon <= ln(honest / (16 ln(2/delta))) only; use shuffle, which always holds."
        )

    def amplified() -> Ball:
        large = ball(local).exp()
        spread = 8 * (large * (4 / ball(target)).log() / count).sqrt() + 8 * large / count
        return ((large - 1) / (large + 1) * spread).log1p()

    return dyadic_up(bounds(amplified)[1])


def _closed_holds(local: Fraction, count: int, target: Fraction) -> bool:
    if local > _LARGEST:
        return False
    return sign(lambda: count - 16 * (2 / ball(target)).log() * ball(local).exp(), undecided=-1) > 0


def shuffled_delta(local: Fraction, honest: int, epsilon: Number) -> Fraction:
    """An upper bound of the delta at which shuffled reports are epsilon-DP.

    Each of the other reports is with probability e^-local a clone, in which a fair coin stands for the protected one's
    two answers; their number of heads, with one coin of bias e^local/(e^local + 1) either way, is compared.
    """
    at = non_negative(epsilon, "epsilon")
    if at >= local:
        return Fraction(0)
    others, clone = honest - 1, math.exp(-local)
    # A window: what lies outside is bounded, not left out.
    reach = math.sqrt(160 * others * clone * (1 - clone)) + 80
    first, last = max(0, math.floor(others * clone - reach)), min(others, math.ceil(others * clone + reach))
    with precision(_BITS):
        weight, rest, total, divergence = _binomial(others, first, (-ball(local)).exp()), ball(1), ball(0), ball(0)
        if first:
            fall = ball(first) / (others - first + 1) / _odds(local)  # the ratio of the chances of first - 1 and first
            total += weight * fall / (1 - fall)
        for clones, divergence in zip(range(first, last + 1), _divergences(local, at, first), strict=False):
            total += weight * divergence
            rest -= weight
            weight = weight * (others - clones) / (clones + 1) * _odds(local)
        found = upper(total + rest * divergence)  # more clones hide better than the last number of them
    most = Fraction(delta_of_pure(local, at))
    return most if found is None else min(most, found)


def _odds(local: Fraction) -> Ball:
    return 1 / ball(local).expm1()


def _binomial(size: int, chosen: int, chance: Ball) -> Ball:
    """P[chosen of size coins fall heads]."""
    if not size:
        return ball(1)
    ways = ball(size + 1).lgamma() - ball(chosen + 1).lgamma() - ball(size - chosen + 1).lgamma()
    return (ways + chosen * chance.log() + (size - chosen) * (1 - chance).log()).exp()


def _divergences(local: Fraction, at: Fraction, first: int) -> Iterator[Ball]:
    """The hockey-stick divergence given each number of clones from `first` on, or more.

    Given c clones the sets that matter are {heads >= t}, and the divergence is gain P[heads of c = t - 1] -
    loss P[heads of c >= t] for the first t above (c + 1) slope; both are carried on from one c and t to the next.
    """
    large, ratio = ball(local).exp(), ball(at).exp()
    slope, gain, loss = (large * ratio - 1) / (large - 1) / (1 + ratio), (large - ratio) / (large + 1), ratio - 1
    clones, least = first, _whole_below(first + 1, slope) + 1
    before = _binomial(clones, least - 1, ball(1) / 2)
    above, term, heads = ball(0), before, least
    while heads <= clones and term > before / 2**128:  # the rest would only make the divergence smaller
        term = term * (clones - heads + 1) / heads
        above, heads = above + term, heads + 1
    while True:
        found = gain * before - loss * above
        if least > 1:  # where a tie cannot be told from what is just below it, the larger of the two
            earlier = gain * before * (least - 1) / (clones - least + 2) - loss * (above + before)
            found = found.union(earlier) if not found >= earlier else found
        yield found
        above += before / 2
        before = before * (clones + 1) / (2 * (clones + 2 - least))
        clones += 1
        while least < _whole_below(clones + 1, slope) + 1:
            before = before * (clones + 1 - least) / least
            above, least = above - before, least + 1


def _whole_below(count: int, slope: Ball) -> int:
    """The floor of count * slope; of a ball around a whole number, that number."""
    found = whole_part(count * slope)
    nearest = whole_part(count * slope + ball(1) / 2) if found is None else found
    if nearest is None:
        raise ArithmeticError("the working precision is too small")
    return nearest


def _read(guarantee: Guarantee) -> Fraction:
    stated = guarantee.basic()
    if guarantee.relation is not Relation.REPLACE:
        raise ParameterError(f"shuffled reports are protected under replace; this is under {guarantee.relation.value}.")
    if stated.delta:
        raise ParameterError("shuffling amplifies reports that are epsilon-DP each, without a delta.")
    return positive(stated.epsilon, "epsilon")
