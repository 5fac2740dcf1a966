"""Our brackets and other accountants' figures must overlap; where theirs are known to be wrong, ours are right."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import GDP, PLD, ZCDP, PureDP, compose
from dither.errors import ParameterError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dp_accounting
    import prv_accountant
    from autodp import mechanism_zoo, transformer_zoo
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as distribution
    from dp_accounting.rdp import RdpAccountant

pytestmark = pytest.mark.filterwarnings("ignore")
DELTA = 1e-6


def peer_pld(kind, x):
    options = {"value_discretization_interval": 1e-4}
    if kind == "gaussian":
        return distribution.from_gaussian_mechanism(x, **options)
    if kind == "laplace":
        return distribution.from_laplace_mechanism(1 / x, **options)
    if kind == "pure":
        return distribution.from_privacy_parameters(common.DifferentialPrivacyParameters(x, 0.0), **options)
    return distribution.from_gaussian_mechanism(x[1], sampling_prob=x[0], **options)


def ours(kind, x):
    if kind == "gaussian":
        return GDP(mu_squared=1 / Fraction(x) ** 2)
    if kind == "laplace":
        return PLD.laplace(x)
    return PureDP(x) if kind == "pure" else PLD.subsampled_gaussian(x[1], x[0])


def prv(kind, x):
    if kind == "gaussian":
        return prv_accountant.GaussianMechanism(x)
    if kind == "laplace":
        return prv_accountant.LaplaceMechanism(mu=x)
    if kind == "pure":
        return prv_accountant.PureDPMechanism(x)
    return prv_accountant.PoissonSubsampledGaussianMechanism(sampling_probability=x[0], noise_multiplier=x[1])


CASES = [
    ("gaussian", 20.0, 100),
    ("laplace", 0.1, 30),
    ("laplace", 0.01, 1000),
    ("pure", 0.1, 50),
    ("sampled", (0.02, 1.0), 200),
    ("sampled", (0.3, 2.0), 20),
]


@pytest.mark.parametrize(("kind", "x", "k"), CASES)
def test_same_curves(kind, x, k):
    low, high = (ours(kind, x) * k).bounds_at(delta=DELTA)
    pessimistic = peer_pld(kind, x).self_compose(k)
    assert low <= pessimistic.get_epsilon_for_delta(DELTA) * (1 + 1e-6)
    assert high <= pessimistic.get_epsilon_for_delta(DELTA) * (1 + 1e-3)
    for epsilon in (0.0, high / 2, high):
        lower, upper = (ours(kind, x) * k).bounds_at(epsilon=epsilon)
        assert lower <= pessimistic.get_delta_for_epsilon(epsilon) * (1 + 1e-6) + 1e-12
        assert upper <= pessimistic.get_delta_for_epsilon(epsilon) * (1 + 2e-3) + 1e-9


@pytest.mark.parametrize(("kind", "x", "k"), [case for case in CASES if case[0] != "pure" or case[2] < 100])
def test_within_the_prv_bracket(kind, x, k):
    accountant = prv_accountant.PRVAccountant(
        prvs=[prv(kind, x)], max_self_compositions=[k], eps_error=0.02, delta_error=DELTA / 1000
    )
    least, _, most = accountant.compute_epsilon(DELTA, [k])
    low, high = (ours(kind, x) * k).bounds_at(delta=DELTA)
    assert low <= most
    assert least <= high


def test_a_mixture():
    parts = [("gaussian", float(s)) for s in np.geomspace(20, 100, 6)]
    parts += [("laplace", float(e)) for e in np.geomspace(0.02, 0.2, 6)] + [("pure", 0.05), ("pure", 0.11)]
    total = None
    for kind, x in parts:
        total = peer_pld(kind, x) if total is None else total.compose(peer_pld(kind, x))
    low, high = compose([ours(kind, x) for kind, x in parts]).bounds_at(delta=DELTA)
    theirs = total.get_epsilon_for_delta(DELTA)
    assert low <= theirs <= high * 1.01


def test_never_above_renyi_accountants():
    for kind, x, k in CASES[:4]:
        if kind == "pure":
            theirs = transformer_zoo.Composition()([mechanism_zoo.PureDP_Mechanism(x)], [k]).get_approxDP(DELTA)
        else:
            event = dp_accounting.GaussianDpEvent(x) if kind == "gaussian" else dp_accounting.LaplaceDpEvent(1 / x)
            theirs = RdpAccountant().compose(event, k).get_epsilon(DELTA)
        assert (ours(kind, x) * k).epsilon_at(DELTA) <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_discrete_laplace(steps):
    peer = distribution.from_discrete_laplace_mechanism(0.3 / steps, sensitivity=steps).self_compose(20)
    low, high = (PLD.discrete_laplace("0.3", steps) * 20).bounds_at(delta=DELTA)
    assert low <= peer.get_epsilon_for_delta(DELTA) * (1 + 1e-6)
    assert high <= peer.get_epsilon_for_delta(DELTA) * (1 + 1e-3)


def test_a_repeated_exponential_mechanism_counts_every_time():
    """Some accountants have forgotten the count here: 1.006 for a hundred, like for one."""
    once = PureDP(1, proven_rho=Fraction(1, 8))
    assert (once * 100).epsilon_at(DELTA) > 20 > 20 * once.epsilon_at(DELTA) - 1
    assert (once * 100).epsilon_at(DELTA) == pytest.approx(ZCDP("12.5").epsilon_at(DELTA), rel=1e-3)


def test_nan_is_refused_not_free():
    """There, a rho that is not a number costs nothing."""
    for refused in (
        lambda: ZCDP(math.nan),
        lambda: PureDP(math.nan),
        lambda: GDP(math.nan),
        lambda: PLD.laplace(math.nan),
    ):
        with pytest.raises(ParameterError):
            refused()


def test_a_pessimistic_figure_elsewhere_is_not_a_strict_bound():
    """10^5 pure releases of 0.01: the exact value is inside our bracket; a peer's upper figure lies a hair below it."""
    from dither.accounting import optimal

    exact = optimal(epsilon="0.01", k=10**5, at="1e-6")
    assert exact.upper - exact.lower < 1e-12 * exact.upper
    low, high = (PureDP("0.01") * 10**5).bounds_at(delta="1e-6")
    assert low <= exact.lower <= exact.upper <= high
    assert exact.lower == pytest.approx(19.422822, abs=1e-6)


@pytest.mark.parametrize(("rate", "sigma", "count"), [(1e-4, 1.0, 100), (1e-4, 1.0, 1000)])
def test_small_sampling_rates_agree_with_a_fine_discretisation(rate, sigma, count):
    low, high = (PLD.subsampled_gaussian(sigma, rate) * count).bounds_at(delta=DELTA)
    theirs = distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=1e-6, log_mass_truncation_bound=-40
    )
    found = theirs.self_compose(count).get_epsilon_for_delta(DELTA)
    assert high - low <= 1e-3 * high
    assert low * (1 - 1e-6) <= found <= high * (1 + 1e-3)


@pytest.mark.parametrize(("epsilon", "rate", "count"), [(1.0, 0.01, 100), (0.5, 0.1, 30), (2.0, 0.001, 1000)])
def test_sampled_laplace_noise(epsilon, rate, count):
    peer = distribution.from_laplace_mechanism(1 / epsilon, sampling_prob=rate, value_discretization_interval=1e-5)
    theirs = peer.self_compose(count)
    found = (PLD.subsampled_laplace(epsilon, rate) * count).bounds_at(delta=DELTA)
    assert found[0] <= theirs.get_epsilon_for_delta(DELTA) * (1 + 1e-6)
    assert found[1] <= theirs.get_epsilon_for_delta(DELTA) * (1 + 1e-3)
    at = found[1] / 2
    low, high = (PLD.subsampled_laplace(epsilon, rate) * count).bounds_at(epsilon=at)
    assert low * (1 - 5e-3) <= theirs.get_delta_for_epsilon(at)
    assert high <= theirs.get_delta_for_epsilon(at) * (1 + 5e-3)


@pytest.mark.parametrize(("sigma", "rate", "count"), [(1.0, 0.01, 100), (2.0, 0.1, 50), (4.0, 0.01, 5000)])
def test_samples_without_replacement_are_below_renyi(sigma, rate, count):
    """Their bound for a replaced record is Renyi's; sensitivity 1 there is sensitivity 1 of replacing here."""
    event = dp_accounting.SampledWithoutReplacementDpEvent(
        10**4, round(rate * 10**4), dp_accounting.GaussianDpEvent(sigma)
    )
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    theirs = accountant.compose(event, count).get_epsilon(DELTA)
    low, high = (PLD.subsampled_gaussian(sigma, rate, relation="replace") * count).bounds_at(delta=DELTA)
    assert high - low <= 1e-3 * high
    assert high <= theirs * (1 + 1e-9)


@pytest.mark.parametrize(("sigma", "rate", "count"), [(1.0, 0.01, 100), (2.0, 0.1, 50)])
def test_a_replaced_record_costs_what_two_sides_cost_at_most(sigma, rate, count):
    """A pair of mixtures that a replaced record can have, in their discretisation: ours dominates it."""
    peer = distribution.from_gaussian_mechanism(
        sigma,
        sensitivity=0.5,
        sampling_prob=rate,
        value_discretization_interval=1e-4,
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE,
    )
    ours = (PLD.subsampled_gaussian(sigma, rate, relation="replace") * count).epsilon_at(DELTA)
    assert ours >= peer.self_compose(count).get_epsilon_for_delta(DELTA) * (1 - 2e-3)
