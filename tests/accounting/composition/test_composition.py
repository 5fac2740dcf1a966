"""Composition keeps its parts, multiplies in one place, and never reports less than the truth (threat 27)."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from dither.accounting import RDP, ZCDP, ApproxDP, Composition, PureDP, compose
from dither.errors import ParameterError, RelationMismatch
from dither.exact.balls import ball, precision
from dither.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip


def test_basic_composition_adds():
    total = compose([PureDP("0.1"), PureDP("0.2"), PureDP("0.3")])
    assert total.basic() == PureDP("0.6")
    mixed = compose([PureDP(1), ApproxDP(1, "1e-6"), ApproxDP("0.5", "1e-7") * 3])
    assert mixed.basic() == ApproxDP("3.5", "1.3e-6")
    with pytest.raises(ParameterError):
        compose([PureDP(1), ZCDP(1)]).basic()


def test_rho_adds_and_repeats_are_parts_with_a_count():
    total = ZCDP("0.001", "1e-9") * 1000
    assert total.zcdp() == ZCDP(1, "1e-6")
    assert total.parts == ((ZCDP("0.001", "1e-9"), 1000),)
    assert (2 * PureDP(1)).basic() == (PureDP(1) * 2).basic() == PureDP(2)
    nested = compose([PureDP("0.1") * 10, PureDP(1)]) * 5
    assert nested.basic() == PureDP(10)
    assert nested.zcdp().rho == 50 * PureDP("0.1").zcdp().rho + 5 * PureDP(1).zcdp().rho


def test_a_long_chain_stays_flat():
    total = compose([PureDP("0.001")])
    for _ in range(3000):
        total = compose([total, PureDP("0.001")])
    assert len(total.parts) == 3001
    assert total.basic().epsilon == Fraction(3001, 1000)


def test_sums_of_unwieldy_fractions_are_rounded_up():
    guarantees = [ZCDP(Fraction(1, 10**9 + k)) for k in range(200)]
    exact = sum(Fraction(1, 10**9 + k) for k in range(200))
    total = compose(guarantees).zcdp().rho
    assert exact <= total < exact * (1 + Fraction(1, 2**500))


def test_one_part_keeps_its_own_curve():
    assert compose([PureDP(1)]).epsilon_at("0.1") == PureDP(1).epsilon_at("0.1")
    assert compose([ApproxDP(1, "1e-6")]).delta_at("0.5") == ApproxDP(1, "1e-6").delta_at("0.5")


def test_the_lowest_valid_curve_is_read():
    few, many = PureDP("0.1") * 2, PureDP("0.1") * 1000
    assert few.epsilon_at("1e-6") <= 0.2
    assert many.epsilon_at("1e-6") < 30 < 100
    assert many.epsilon_at("1e-6") < many.zcdp().epsilon_at("1e-6")
    assert many.epsilon_at(0) == 100
    assert (ZCDP(1, "0.4") * 3).epsilon_at("0.1") == math.inf
    assert (ZCDP(1, "0.4") * 3).delta_at(1) == 1
    with pytest.raises(ParameterError):
        many.epsilon_at("nan")


def test_gaussians_compose_exactly():
    parts = [Gaussian(rho="0.02", sensitivity=1).guarantee, Gaussian(epsilon=1, delta="1e-6", sensitivity=3).guarantee]
    total = compose(parts)
    assert total.gaussian_mu_squared == sum(part.gaussian_mu_squared for part in parts)
    assert total.epsilon_at("1e-6") < compose([part.zcdp() for part in parts]).zcdp().epsilon_at("1e-6") + 1e-12
    assert compose([*parts, PureDP(1)]).gaussian_mu_squared is None


def test_relations_do_not_mix():
    for parts in ([PureDP(1), PureDP(1, "replace")], [PureDP(1) * 2, ZCDP(1, relation="owner")], []):
        with pytest.raises(RelationMismatch):
            compose(parts)
    assert compose([PureDP(1, "owner"), ZCDP(1, relation="owner")]).zcdp().relation.value == "owner"


@pytest.mark.parametrize("count", [-1, True, 1.5, "3", None])
def test_a_count_is_a_whole_number(count):
    with pytest.raises(ParameterError):
        PureDP(1) * count


def test_only_guarantees_compose():
    with pytest.raises(ParameterError, match="got float"):
        compose([1.0])


def test_nested_parts_with_different_proofs_are_not_merged():
    """The same epsilon, but only one of them has a proven rho."""
    flip, choice = PermuteAndFlip(epsilon=1, sensitivity=1).guarantee, Exponential(epsilon=1, sensitivity=1).guarantee
    nested = compose([(flip * 5) * 20, (choice * 5) * 20])
    assert nested.epsilon_at("1e-6") == compose([flip * 100, choice * 100]).epsilon_at("1e-6")
    assert nested.epsilon_at("1e-6") > (flip * 100).epsilon_at("1e-6")
    assert nested.delta_at(70) >= (flip * 100).delta_at(70)
    assert nested.parts == ((flip, 100), (choice, 100))


def test_a_repeated_composition_reads_as_its_parts():
    nested, flat = compose([RDP({2: 1}), PureDP(1)]) * 10, compose([RDP({2: 1}) * 10, PureDP(1) * 10])
    assert nested.epsilon_at("1e-6") == pytest.approx(flat.epsilon_at("1e-6"))
    assert math.isfinite(nested.epsilon_at("1e-6"))


def random_parts(generator, depth=0):
    """A random composition together with what it is really made of."""
    pure, mu_squared, lost, guarantees = [], Fraction(0), [], []
    for _ in range(generator.randint(1, 3 if depth else 6)):
        kind = generator.choice(["pure", "laplace", "gaussian", "rho", "approx", "proven", "nested"])
        if kind == "nested":
            if depth < 2 and len(pure) < 5:
                inner = random_parts(generator, depth + 1)
                times = generator.randint(1, 2)
                pure, lost = pure + inner[0] * times, lost + inner[2] * times
                mu_squared += inner[1] * times
                guarantees.append(compose(inner[3]) * times)
            continue
        epsilon = Fraction(generator.randint(1, 400), 200)
        if kind == "pure":
            guarantees.append(PureDP(epsilon))
            pure.append(epsilon)
        elif kind == "proven":  # randomised response of a smaller epsilon keeps both what is stated and what is proven
            smaller = epsilon / 2
            guarantees.append(PureDP(epsilon, proven_rho=PureDP(smaller).zcdp().rho))
            pure.append(smaller)
        elif kind == "laplace":  # a count's discrete Laplace is exactly randomised response
            guarantees.append(Laplace(epsilon=epsilon, sensitivity=1).guarantee)
            pure.append(epsilon)
        elif kind == "approx":
            delta = Fraction(1, generator.randint(10**3, 10**6))
            guarantees.append(ApproxDP(epsilon, delta))
            pure.append(epsilon)
            lost.append(delta)
        elif kind == "gaussian":
            guarantees.append(Gaussian(epsilon=epsilon, delta="1e-5", sensitivity=1).guarantee)
            mu_squared += guarantees[-1].gaussian_mu_squared
        else:
            guarantees.append(ZCDP(epsilon / 10))
            mu_squared += epsilon / 5  # rho-zCDP allows a Gaussian with mu^2 = 2 rho
    return (pure, mu_squared, lost, guarantees) if guarantees else random_parts(generator, depth)


@pytest.mark.parametrize("seed", range(60))
def test_random_compositions_never_report_less_than_the_truth(seed, reference):
    pure, mu_squared, lost, guarantees = random_parts(random.Random(seed))
    total = compose(guarantees)
    assert isinstance(total, Composition)
    for delta in (Fraction(1, 10**2), Fraction(1, 10**5), Fraction(1, 10**9)):
        epsilon = total.epsilon_at(delta)
        if math.isfinite(epsilon):
            true = reference.exact_delta(pure, mu_squared, Fraction(epsilon), lost)
            assert true <= reference.number(delta) or true - reference.number(delta) < 1e-40
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(2), Fraction(6)):
        claimed = Fraction(total.delta_at(epsilon))
        assert reference.exact_delta(pure, mu_squared, epsilon, lost) - reference.number(claimed) < 1e-40


def test_the_reference_catches_a_forgotten_count(reference):
    """The planted bug: a part repeated 6 times but accounted once."""
    part = PureDP("0.5")
    true = reference.exact_delta([Fraction(1, 2)] * 6, Fraction(0), Fraction(part.epsilon_at("1e-5")))
    assert true > reference.number(Fraction(1, 10**5))
    honest = reference.exact_delta([Fraction(1, 2)] * 6, Fraction(0), Fraction((part * 6).epsilon_at("1e-5")))
    assert honest <= reference.number(Fraction(1, 10**5))


def test_the_reference_catches_rounding_inward(reference):
    """The planted bug: an epsilon one part in 10^12 too small."""
    guarantee = Gaussian(epsilon=1, delta="1e-5", sensitivity=1).guarantee * 4
    with precision(200):
        for shrink, safe in ((Fraction(1), True), (1 - Fraction(1, 10**12), False)):
            epsilon = Fraction(guarantee.epsilon_at("1e-5")) * shrink
            true = reference.exact_delta([], guarantee.gaussian_mu_squared, epsilon)
            assert (true <= ball(Fraction(1, 10**5))) is safe
