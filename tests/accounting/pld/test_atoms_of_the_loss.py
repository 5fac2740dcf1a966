"""Curves read exactly where the loss has an atom, as round numbers are: narrow brackets that hold the exact figure."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from dither.accounting import PLD, ApproxDP, PureDP, compose
from dither.accounting.guarantees.responses import ResponseDP
from dither.accounting.pld.pairs import enumeration

WIDE = 1e-3


def convolved(outcomes, count):
    """{position: mass} of a sum of `count` losses on a lattice, by adding one after the other."""
    total = {0: 1.0}
    for _ in range(count):
        grown = {}
        for (at, mass), (step, chance) in itertools.product(total.items(), outcomes.items()):
            grown[at + step] = grown.get(at + step, 0.0) + mass * chance
        total = grown
    return total


def exact_delta(total, unit, epsilon):
    """The definition, on a lattice of losses that are whole multiples of the unit."""
    return math.fsum(
        mass * -math.expm1(float(epsilon - at * unit)) for at, mass in total.items() if at * unit > epsilon
    )


def pure(epsilon):
    right = 1 / (1 + math.exp(-float(epsilon)))
    return {1: right, -1: 1 - right}, epsilon


def response(epsilon, values):
    truth = 1 / (1 + (values - 1) * math.exp(-float(epsilon)))
    rare = truth * math.exp(-float(epsilon))
    return {1: truth, -1: rare, 0: (values - 2) * rare}, epsilon


def discrete_laplace(epsilon, steps):
    unit = epsilon / steps
    q = math.exp(-float(unit))
    outcomes = {steps: 1 / (1 + q), -steps: q**steps / (1 + q)}
    for x in range(1, steps):
        outcomes[steps - 2 * x] = (1 - q) / (1 + q) * q**x
    return outcomes, unit


def discrete_gaussian(sigma, steps):
    unit = steps / (2 * sigma**2)
    reach = range(-int(30 * sigma), int(30 * sigma) + 1)
    weights = {x: math.exp(-float(x * x / (2 * sigma**2))) for x in reach}
    norm = math.fsum(weights.values())
    return {steps - 2 * x: weight / norm for x, weight in weights.items()}, unit


CASES = [
    (PLD.pure("0.1"), pure(Fraction(1, 10)), 80, ["5.4", "0", "7.8", "7.9", "1"]),
    (PureDP("0.5"), pure(Fraction(1, 2)), 200, ["30", "10", "99.5"]),
    (ResponseDP("0.3", 5), response(Fraction(3, 10), 5), 30, ["0", "0.6", "3", "6"]),
    (PLD.discrete_laplace("0.3", 3), discrete_laplace(Fraction(3, 10), 3), 20, ["0", "0.4", "2", "5.8"]),
    (PLD.discrete_laplace(1, 10), discrete_laplace(Fraction(1), 10), 5, ["0", "1.2", "4.8"]),
    (PLD.discrete_gaussian(2), discrete_gaussian(Fraction(2), 1), 10, ["0", "1", "2.5", "5"]),
    (PLD.discrete_gaussian("0.5", 2), discrete_gaussian(Fraction(1, 2), 2), 2, ["4"]),
    # Atoms so far apart that one weighs far more than all above it.
    (PLD.discrete_gaussian("0.5"), discrete_gaussian(Fraction(1, 2), 1), 1, ["6", "10", "14", "26"]),
    (PLD.discrete_gaussian("0.5"), discrete_gaussian(Fraction(1, 2), 1), 2, ["12", "16", "24"]),
    (PLD.discrete_gaussian(1), discrete_gaussian(Fraction(1), 1), 1, ["4.5", "6.5", "8.5"]),
    (PLD.discrete_gaussian("0.4"), discrete_gaussian(Fraction(2, 5), 1), 20, ["100"]),
]


@pytest.mark.parametrize(("guarantee", "lattice", "count", "places"), CASES)
def test_delta_at_an_atom(guarantee, lattice, count, places):
    outcomes, unit = lattice
    total = convolved(outcomes, count)
    for place in places:
        truth = exact_delta(total, unit, Fraction(place))
        low, high = (guarantee * count).bounds_at(epsilon=place)
        assert low * (1 - 1e-9) <= truth <= high * (1 + 1e-9)
        assert high - low <= WIDE * high
        if place == "0":
            continue
        # Back again: the epsilon at which that delta is reached is the atom.
        low, high = (guarantee * count).bounds_at(delta=Fraction(truth))
        assert low * (1 - 1e-9) - 1e-9 <= float(Fraction(place)) <= high * (1 + 1e-9) + 1e-9
        assert high - low <= WIDE * high + 1e-9


def test_different_parts_of_few_atoms():
    """Every sum of two kinds of losses, at the largest of them, beside it, and where nearly all is lost."""
    one, two = (6.5, 5), (0.012, 11)
    whole = compose([PureDP("6.5") * 5, ApproxDP("0.012", "1e-9") * 11])
    first, second = (convolved(pure(epsilon)[0], count) for epsilon, count in (one, two))
    lost = -math.expm1(11 * math.log1p(-1e-9))

    def exact(epsilon):
        return lost + (1 - lost) * math.fsum(
            mass * more * -math.expm1(epsilon - at * 6.5 - step * 0.012)
            for (at, mass), (step, more) in itertools.product(first.items(), second.items())
            if at * 6.5 + step * 0.012 > epsilon
        )

    for epsilon in (6.512, 19.5, 32.632, 32.63199):
        low, high = whole.bounds_at(epsilon=epsilon)
        assert low * (1 - 1e-9) <= exact(epsilon) <= high * (1 + 1e-9)
        assert high - low <= WIDE * high
    for delta in ("0.9933", "0.5", "1e-6", "2e-8"):
        low, high = whole.bounds_at(delta=delta)
        assert high - low <= WIDE * high
        assert exact(high) <= float(delta) * (1 + 1e-9)
        assert exact(low) >= float(delta) * (1 - 1e-9)


def test_what_is_enumerated_are_all_the_atoms():
    """Masses add up to 1, and to 1 again by the other distribution."""
    sided = PLD.from_pmf(["1/2", "1/3", "1/6"], ["1/6", "1/6", "2/3"], one_sided=True)
    several = ResponseDP("0.4", 6).privacy_loss()
    for part in (PLD.pure("0.3"), PLD.discrete_laplace(2, 7), PLD.discrete_gaussian("0.7", 2), several, sided):
        for atoms in (part.distributions[0][0].exact_atoms(), part.distributions[0][0].swapped().exact_atoms()):
            sums = atoms.repeated(3)
            assert len(sums) <= atoms.size(3)
            assert float(sum(sums.values())) == pytest.approx(1, abs=1e-12)
            assert float(sum(m * (-atoms.loss(key)).exp() for key, m in sums.items())) == pytest.approx(1, abs=1e-12)


def test_approximate_guarantees_at_an_atom():
    """With probability lost nothing covers the loss, else it is that of randomised response."""
    lost, count = 1e-4, 40
    outcomes, unit = pure(Fraction(1, 4))
    total = convolved(outcomes, count)
    kept = (1 - lost) ** count
    for place in ("0", "1", "2.5", "9.5"):
        truth = 1 - kept + kept * exact_delta(total, unit, Fraction(place))
        low, high = (ApproxDP("0.25", "1e-4") * count).bounds_at(epsilon=place)
        assert low * (1 - 1e-9) <= truth <= high * (1 + 1e-9)
        assert high - low <= WIDE * high


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_sampled_laplace_below_its_last_atom(relation):
    """All releases at their largest loss t: just below it delta is their mass times 1 - e^(epsilon - t)."""
    epsilon, rate, count = 0.5, 0.1, 6
    each = math.log(1 - rate + rate * math.exp(epsilon))
    mass = ((1 - rate) * math.exp(-epsilon) / 2 + rate / 2) ** count
    below = 1e-9
    low, high = (PLD.subsampled_laplace("0.5", "0.1", relation) * count).bounds_at(epsilon=count * each - below)
    assert low == pytest.approx(mass * below, rel=1e-6)
    assert low <= high
    low, high = (PLD.subsampled_laplace("0.5", "0.1", relation) * count).bounds_at(delta="1e-60")
    assert low == pytest.approx(count * each, rel=1e-12)
    assert high - low <= 1e-9 * high


def test_laplace_at_an_atom():
    """Continuous noise has atoms as well: binomial mixtures of sums of uniform losses, by a fine convolution."""
    low, high = (PLD.laplace("0.1") * 12).bounds_at(epsilon="0.8")
    assert low <= 9.76503e-4 <= high
    assert high - low <= WIDE * high


def test_a_pmf_at_an_atom():
    """One-sided, with a loss that is 0: exact by enumeration of all outcomes."""
    p, q = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    for count in (3, 8):
        for power in (0, 1, 2):
            threshold = Fraction(2) ** power
            truth = {}
            for name, (a, b) in {"forward": (p, q), "backward": (q, p)}.items():
                total = Fraction(0)
                for counts in itertools.product(range(count + 1), repeat=2):
                    if sum(counts) <= count:
                        i, j = counts
                        k = count - i - j
                        ways = math.factorial(count) // (math.factorial(i) * math.factorial(j) * math.factorial(k))
                        total += ways * max(
                            Fraction(0),
                            a[0] ** i * a[1] ** j * a[2] ** k - threshold * b[0] ** i * b[1] ** j * b[2] ** k,
                        )
                truth[name] = float(total)
            exact = max(truth.values())
            low, high = (PLD.from_pmf(p, q, one_sided=True) * count).bounds_at(epsilon=power * math.log(2))
            assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
            assert high - low <= WIDE * high


def test_products_of_long_ratios_are_not_enumerated():
    """A sum of hundreds of losses is told from others by a ratio of thousands of digits, and there are 600 of them."""
    p = [Fraction(299, 1000), Fraction(701, 1000)]
    q = [Fraction(191, 300), Fraction(109, 300)]
    long = PLD.from_pmf(p, q, one_sided=True).distributions
    assert enumeration._orders([(part, 12) for part, _ in long])
    assert not enumeration._orders([(part, 600) for part, _ in long])
