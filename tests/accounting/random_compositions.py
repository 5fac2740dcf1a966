"""Random compositions over the whole range of parameters, and what must hold for each; the same code for a test of some
thousands and for the campaign (`make accounting-campaign`), which prints a table."""

from __future__ import annotations

import contextlib
import math
import random
import sys
import time
import warnings
from fractions import Fraction

import numpy as np

from dither.accounting import GDP, PLD, ApproxDP, PureDP, compose
from dither.accounting.pld import curve, work
from dither.errors import ParameterError, WideBounds

SMALL = 1e-300  # below it no share of a figure is asked for
WIDE = 1e-3
SAMPLED = ("sampled gaussian", "sampled laplace")


def between(draw, low, high):
    """Log-uniform, with four digits, as people write numbers."""
    return f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}"


def pmf(draw):
    sides = []
    size = draw.randint(2, 4)
    for _ in range(2):
        weights = [draw.randint(1, 1000) for _ in range(size)]
        sides.append([Fraction(weight, sum(weights)) for weight in weights])
    return PLD.from_pmf(*sides, one_sided=True)


KINDS = {
    "pure": lambda draw: PureDP(between(draw, 1e-9, 50)),
    "approximate": lambda draw: ApproxDP(between(draw, 1e-9, 50), between(draw, 1e-300, 0.5)),
    "gaussian": lambda draw: GDP(between(draw, 1e-4, 10)),
    "laplace": lambda draw: PLD.laplace(between(draw, 1e-9, 50)),
    "discrete laplace": lambda draw: PLD.discrete_laplace(between(draw, 1e-9, 50), draw.choice([1, 2, 3, 10, 100])),
    "sampled gaussian": lambda draw: PLD.subsampled_gaussian(between(draw, 0.1, 1e4), rate(draw)),
    "sampled laplace": lambda draw: PLD.subsampled_laplace(between(draw, 1e-9, 50), rate(draw)),
    "pmf": pmf,
}


def rate(draw):
    return min(between(draw, 1e-7, 1), "0.999", key=float)


def random_case(seed):
    """A composition, the place at which it is read, and the kinds and counts of its parts."""
    draw = random.Random(seed)
    parts = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        kind = draw.choice([*KINDS, "sampled gaussian"])
        parts.append((kind, KINDS[kind](draw), round(math.exp(draw.uniform(0, math.log(10**6))))))
    ask = {"epsilon": between(draw, 1e-9, 50)} if draw.random() < 0.5 else {"delta": between(draw, 1e-300, 0.5)}
    return parts, ask


@contextlib.contextmanager
def counted_work(found):
    """Every reading inside adds how many operations it took."""
    original = curve.budget

    @contextlib.contextmanager
    def recording():
        with original():
            yield
            found.append(work.spent())

    curve.budget = recording
    try:
        yield
    finally:
        curve.budget = original


def trivial_bound(parts, ask):
    """The smallest of: sums of stated epsilons and deltas, counts times rates, Renyi divergences at three orders."""
    whole = compose([part * count for _, part, count in parts])
    found = [math.inf if "delta" in ask else 1.0]
    with contextlib.suppress(ParameterError):
        stated = whole.basic()
        if "epsilon" in ask and Fraction(ask["epsilon"]) >= stated.epsilon:
            found.append(float(stated.delta))
        if "delta" in ask and Fraction(ask["delta"]) >= stated.delta:
            found.append(float(stated.epsilon))
    rates = sum(
        (distribution.rate if kind in SAMPLED else Fraction(1)) * k
        for kind, p, k in parts
        for distribution, _ in p_distributions(kind, p)
    )
    if all(kind in SAMPLED for kind, _, _ in parts):
        found += [float(rates)] if "epsilon" in ask else [0.0] if Fraction(ask["delta"]) >= rates else []
    lost = float(sum(Fraction(getattr(part, "delta", 0)) * count for _, part, count in parts))
    for theta in (1.0, 8.0, 64.0):
        with np.errstate(all="ignore"):
            moment = sum(float(part.log_moments(np.array([theta]))[0]) * count for _, part, count in parts)
        if not math.isfinite(moment) or lost:
            continue
        if "epsilon" in ask:
            exponent = moment - theta * float(ask["epsilon"])
            found.append(math.exp(exponent) if exponent < 0 else 1.0)
        else:
            found.append((moment - math.log(float(ask["delta"]))) / theta)
    return min(found)


def p_distributions(kind, part):
    return part.distributions if kind in SAMPLED else ((None, 1),)


def check(seed):
    """Whether the bracket is narrow, and how long it took to read; raises if anything is wrong with it."""
    parts, ask = random_case(seed)
    whole = compose([part * count for _, part, count in parts])
    spent = [0]
    with counted_work(spent), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WideBounds)
        begun = time.process_time()
        low, high = whole.bounds_at(**ask)
        seconds = time.process_time() - begun
    assert 0 <= low <= high, (seed, low, high)
    assert high <= max(trivial_bound(parts, ask), 0.0) * (1 + 1e-9) + 1e-307, (seed, high)
    assert max(spent) <= 3 * work.MOST, (seed, max(spent))  # what is begun when the budget ends is finished
    return high - low <= WIDE * high or high <= SMALL or low == high, seconds


def main(first, last):
    """The campaign: `python tests/accounting/random_compositions.py FIRST LAST`."""
    wide, times = 0, []
    for seed in range(first, last):
        narrow, seconds = check(seed)
        times.append(seconds)
        wide += not narrow
    times.sort()
    share = wide / len(times)
    print(f"| {first} to {last - 1} | {len(times)} | {share:.2%} | {times[len(times) // 2] * 1e3:.0f} ms | "
          f"{times[int(0.99 * len(times))] * 1e3:.0f} ms | {times[-1]:.1f} s |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
