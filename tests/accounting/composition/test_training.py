"""Noisy gradients in one call, by our names and by others'; trees of events without the package that makes them."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, PureDP, from_event, sgd, subsample
from dither.errors import ParameterError


def test_it_is_the_composition_of_its_steps():
    found = sgd(sigma=1, rate="0.01", steps=1000, delta="1e-6")
    plan = PLD.subsampled_gaussian(1, "0.01") * 1000
    assert (found.lower, found.epsilon) == plan.bounds_at(delta="1e-6")
    assert found.guarantee == plan
    assert (found.sigma, found.rate, found.steps, found.delta) == (1, Fraction(1, 100), 1000, Fraction(1, 10**6))
    assert sgd(sigma=2, rate=1, steps=9, delta="1e-6").epsilon == pytest.approx(GDP("1.5").epsilon_at("1e-6"), rel=1e-9)


@pytest.mark.parametrize(
    "names",
    [
        {"noise_multiplier": 1, "sample_rate": 0.01, "steps": 1000, "target_delta": 1e-6},
        {"noise_multiplier": 1, "sampling_probability": "0.01", "num_compositions": 1000, "delta": "1e-6"},
        {"sigma": 1, "rate": "0.01", "epochs": 10, "delta": "1e-6"},
    ],
    ids=["Opacus", "prv-accountant", "epochs"],
)
def test_others_names_mean_the_same(names):
    assert sgd(**names) == sgd(sigma=1, rate="0.01", steps=1000, delta="1e-6")


def test_the_smallest_noise_for_an_epsilon():
    found = sgd(epsilon=2, rate="0.01", steps=500, delta="1e-6")
    assert found.epsilon <= 2
    assert sgd(sigma=found.sigma * Fraction(999, 1000), rate="0.01", steps=500, delta="1e-6").lower > 2
    assert sgd(target_epsilon=2, rate="0.01", steps=500, delta="1e-6") == found


def test_epochs_are_rounded_up():
    assert sgd(sigma=5, rate="0.3", epochs=1, delta="1e-6").steps == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sigma": None}, "sigma= for its epsilon"),
        ({"epsilon": 1}, "sigma= for its epsilon"),
        ({"noise_multiplier": 1}, "same thing"),
        ({"rate": None}, "give rate="),
        ({"delta": None}, "give rate="),
        ({"steps": None}, "steps= or epochs="),
        ({"epochs": 3}, "steps= or epochs="),
        ({"rate": 2}, "rate must be at most 1"),
        ({"batch_size": 256}, "knows no batch_size"),
        ({"sigma": -1}, "sigma"),
        ({"delta": 1}, "delta"),
        ({"steps": 0}, "steps"),
    ],
    ids=str,
)
def test_what_is_missing_or_said_twice_is_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        sgd(**({"sigma": 1, "rate": "0.01", "steps": 100, "delta": "1e-6"} | wrong))


def named(name, **fields):
    return {"class_name": name} | fields


def gaussian(noise):
    return named("GaussianDpEvent", noise_multiplier=noise)


def test_events_by_name_alone():
    class GaussianDpEvent(SimpleNamespace):
        pass

    assert from_event(GaussianDpEvent(noise_multiplier=2)) == GDP("0.5")
    # Under replace a record's values go and others come: a sum moves by two norms.
    assert from_event(gaussian(2), "replace") == GDP(1, "replace")
    discrete = named("DiscreteLaplaceDpEvent", noise_parameter="0.1", sensitivity=3)
    assert from_event(discrete).basic().epsilon == Fraction(3, 10)
    assert from_event(discrete, "replace").basic().epsilon == Fraction(6, 10)
    assert from_event(named("NoOpDpEvent")) == PureDP(0)
    assert from_event(named("ComposedDpEvent", events=[])).epsilon_at(0) == 0
    assert from_event(named("ZCDpEvent", rho="0.1")) == ZCDP("0.1")
    assert from_event(named("ZCDpEvent", rho=1, xi=2)).renyi(3) == 5
    assert from_event(named("SelfComposedDpEvent", event=gaussian(10), count=25)).gaussian_mu_squared == Fraction(1, 4)
    assert from_event(named("LaplaceDpEvent", noise_multiplier=4)) == PLD.laplace("0.25")
    sampled = named("PoissonSampledDpEvent", sampling_probability=0.01, event=gaussian(1))
    assert from_event(sampled) == PLD.subsampled_gaussian(1, "0.01")
    laplace = from_event(sampled | {"event": named("LaplaceDpEvent", noise_multiplier=1)})
    assert laplace == PLD.subsampled_laplace(1, "0.01")
    assert (laplace * 100).epsilon_at("1e-6") < 0.3 * float((subsample(PureDP(1), "0.01") * 100).basic().epsilon)
    assert from_event(sampled | {"sampling_probability": 0}) == PureDP(0)
    assert from_event(sampled | {"sampling_probability": 1}) == GDP(1)


def test_a_randomised_response_by_its_probabilities():
    found = from_event(named("RandomizedResponseDpEvent", noise_parameter=0.5, num_buckets=4), "replace")
    truth, other = 0.5 + 0.5 / 4, 0.5 / 4
    assert truth - other <= found.delta_at(0) <= (truth - other) * 1.001
    assert found.epsilon_at(0) == pytest.approx(math.log(truth / other), rel=1e-9)


def test_samples_of_a_fixed_size_under_replace():
    stated = named("LaplaceDpEvent", noise_multiplier=1)
    event = named("SampledWithoutReplacementDpEvent", source_dataset_size=1000, sample_size=10, event=stated)
    found = from_event(event, "replace")
    assert found == PLD.subsampled_laplace(2, "0.01", "replace")
    assert float(found.basic().epsilon) == pytest.approx(math.log1p(0.01 * math.expm1(2)), rel=1e-12)
    noise = event | {"event": gaussian(1)}
    assert from_event(noise, "replace") == PLD.subsampled_gaussian("0.5", "0.01", "replace")
    with pytest.raises(ParameterError, match="under replace"):
        from_event(event)
    with pytest.raises(ParameterError, match="sample_size"):
        from_event(event | {"sample_size": 1001}, "replace")


@pytest.mark.parametrize("size", [2, 3, 4])
def test_amplification_of_fixed_samples_by_enumeration(size):
    """Two records of `size` different ones are drawn, and the number of ones among them is answered by noise."""
    ratios = []
    weight = [[math.exp(-abs(k - c)) for k in range(3)] for c in range(3)]
    distribution = [[w / sum(row) for w in row] for row in weight]
    base = max(
        abs(math.log(distribution[a][k] / distribution[b][k]))
        for a in range(3)
        for b in range(3)
        for k in range(3)
        if abs(a - b) <= 1
    )

    def answer(ones):
        total = size * (size - 1) / 2
        chances = [math.comb(size - ones, 2) / total, ones * (size - ones) / total, math.comb(ones, 2) / total]
        return [sum(c * distribution[count][k] for count, c in enumerate(chances)) for k in range(3)]

    for ones in range(size):
        p, q = answer(ones), answer(ones + 1)
        ratios += [abs(math.log(a / b)) for a, b in zip(p, q, strict=True)]
    claimed = subsample(PureDP(base, "replace"), Fraction(2, size), replacement=False)
    assert max(ratios) <= float(claimed.epsilon) * (1 + 1e-12)
    with pytest.raises(ParameterError, match="several times"):
        subsample(PureDP(1, "replace"), "0.5", replacement=True)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (named("NonPrivateDpEvent"), "no guarantee"),
        (3, "no guarantee"),
        (gaussian(0), "greater than 0"),
        (named("GaussianDpEvent"), "has no noise_multiplier"),
        (named("PoissonSampledDpEvent", sampling_probability=2, event=gaussian(1)), "a probability"),
        (named("ComposedDpEvent", events="abc"), "a list"),
        (named("RandomizedResponseDpEvent", noise_parameter=1, num_buckets=3), "a changed answer"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused(event, message):
    with pytest.raises(ParameterError, match=message):
        from_event(event)


def test_a_tree_without_end_is_refused():
    loop = named("SelfComposedDpEvent", count=1)
    loop["event"] = loop
    with pytest.raises(ParameterError, match="deep"):
        from_event(loop)


def test_a_sum_with_a_constant_is_a_curve():
    xi = from_event(named("ZCDpEvent", rho="0.01", xi="0.05"))
    assert isinstance(xi, RDP)
    assert xi.epsilon_at("1e-6") > ZCDP("0.01").epsilon_at("1e-6")
    assert ApproxDP(1, "1e-6").relation is xi.relation
