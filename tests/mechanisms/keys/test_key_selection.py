"""Key selection: exact thresholds, the optimal rule against its recursion, and what a single owner can show."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import ApproxDP, Currency
from dither.errors import ParameterError
from dither.mechanisms import KeySelection, seal
from dither.neighbours import Relation

DELTA = Fraction(1, 1000)


@pytest.mark.parametrize("method", ["threshold", "gaussian"])
@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize("relation", ["owner", "replace"])
def test_the_threshold_is_the_smallest_that_hides_one_owner(method, keys, relation):
    """Threat 17: one lower would show some key of a single owner too often."""
    mechanism = KeySelection(epsilon=1, delta=DELTA, keys_per_owner=keys, method=method, relation=relation)
    moved = keys * (2 if relation == "replace" else 1)
    assert mechanism.keys_moved == moved
    shown = float(DELTA) / (1 if method == "threshold" else 2)

    def some_key(count):
        return 1 - (1 - float(mechanism.keep_probability(count)[1])) ** moved

    assert some_key(1) <= shown * (1 + 1e-12)
    assert some_key(2) > shown, "the planted bug: a threshold one lower"


def test_scales():
    assert KeySelection(epsilon=1, delta=DELTA, keys_per_owner=4).noise.scale == 4
    assert KeySelection(epsilon=1, delta=DELTA, keys_per_owner=4, relation="replace").noise.scale == 8
    gaussian = KeySelection(rho="0.5", delta=DELTA, keys_per_owner=9)
    assert gaussian.method == "gaussian"
    assert gaussian.noise.scale == 3
    with pytest.raises(ParameterError, match="another budget"):
        _ = KeySelection(epsilon=1, delta=DELTA, method="optimal").noise


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.4])
def test_the_optimal_rule_is_its_recursion(epsilon, delta):
    mechanism = KeySelection(epsilon=str(epsilon), delta=str(delta), method="optimal")
    p, n = 0.0, 0
    while p < 1 and n < 2000:
        assert float(mechanism.keep_probability(n)[1]) == pytest.approx(p, rel=1e-9, abs=1e-300)
        p = min(math.exp(epsilon) * p + delta, 1 - math.exp(-epsilon) * (1 - p - delta), 1.0)
        n += 1
    assert n == 2000 or abs(n - mechanism._optimal.certain) <= 1
    assert mechanism.keep_probability(mechanism._optimal.certain) == (1, 1)


def test_the_optimal_rule_keeps_more_than_the_threshold():
    optimal, threshold = (KeySelection(epsilon=1, delta="1e-6", method=m) for m in ("optimal", "threshold"))
    gains = [float(optimal.keep_probability(n)[0] - threshold.keep_probability(n)[1]) for n in range(1, 40)]
    # Beyond the turn the last digits of 1 - p are compared.
    assert min(gains) > -1e-9
    assert max(gains) > 0.1


def test_the_price_in_both_currencies():
    owner = {"relation": Relation.OWNER}
    mechanism = KeySelection(epsilon=1, delta="1e-6", keys_per_owner=4)
    assert mechanism.guarantee == ApproxDP(1, "1e-6", **owner)
    concentrated = mechanism.guarantee.zcdp()
    assert concentrated.delta == Fraction(1, 10**6)
    assert float(concentrated.rho) < math.tanh(0.5), "four steps of discrete Laplace noise cost less than one"
    price = Currency.of(ApproxDP(4, "1e-3"), Relation.OWNER).charge_of(mechanism.guarantee)
    assert (price.cost, price.delta) == (concentrated.rho, concentrated.delta)
    basic = Currency.of(ApproxDP(4, "1e-3", composition="basic"), Relation.OWNER).charge_of(mechanism.guarantee)
    assert (basic.cost, basic.delta) == (1, Fraction(1, 10**6))
    optimal = KeySelection(epsilon=1, delta="1e-6", keys_per_owner=4, method="optimal").guarantee.zcdp()
    assert float(optimal.rho) == pytest.approx(math.tanh(1 / 8), rel=1e-12)
    by_rho = KeySelection(rho="0.01", delta="1e-6").guarantee
    assert (by_rho.rho, by_rho.delta, by_rho.relation) == (Fraction(1, 100), Fraction(1, 10**6), Relation.OWNER)


@pytest.mark.parametrize("given", [{"epsilon": 1}, {"rho": "0.3"}], ids=["laplace", "gaussian"])
def test_apart_from_new_keys_the_divergence_is_that_of_the_noise(given):
    """Approximate zCDP: without the event that a single owner's key is kept, every Renyi divergence is below rho a."""
    mechanism = KeySelection(delta=DELTA, keys_per_owner=2, **given)
    rho, first = float(mechanism.guarantee.zcdp().rho), mechanism.threshold

    def law(count):
        kept = [float(mechanism.noise.pmf(first + i - count)[1]) for i in range(150)]
        return np.array([1 - sum(kept), *kept])

    for count in (2, first - 1, first + 3):
        p, q = np.outer(law(count), law(count)).ravel(), np.outer(law(count + 1), law(count + 1)).ravel()
        for one, two in ((p, q), (q, p)):
            possible = (one > 1e-200) & (two > 1e-200)
            for order in (1.01, 2, 6):
                moment = (one[possible] * (one[possible] / two[possible]) ** (order - 1)).sum()
                assert math.log(moment) / (order - 1) <= rho * order * (1 + 1e-6)


@pytest.mark.parametrize("method", ["threshold", "gaussian", "optimal"])
def test_a_million_keys_of_one_owner_each(method):
    """Threats 16 and 17: shown about as often as stated and not more; half as much again would be noticed."""
    mechanism = KeySelection(epsilon=1, delta=DELTA, method=method)
    keys = 10**6
    stated = float(mechanism.keep_probability(1)[1])
    assert stated <= 1e-3
    shown = len(mechanism.release(np.ones(keys, np.int64)).kept)
    assert abs(shown - stated * keys) < 7 * math.sqrt(stated * keys)
    assert 7 * math.sqrt(stated * keys) < 0.5 * stated * keys
    # The planted bug: thresholding rows. One owner with 10^5 rows is always shown.
    assert len(mechanism.release(np.full(100, 10**5)).kept) == 100


def test_counts_come_with_the_kept_keys_at_no_extra_cost():
    mechanism = KeySelection(epsilon=1, delta="1e-12")  # the key of a single owner is never seen
    counts = np.array([0, 1, 100, 0, 10**6, 2**62])
    for form in (counts, counts.tolist(), seal(counts)):
        outcome = mechanism.release(form)
        assert outcome.kept.tolist() == outcome.value.tolist() == [2, 4, 5]
        assert all(abs(int(a) - b) < 60 for a, b in zip(outcome.counts, [100, 10**6, 2**62], strict=True))
        assert (outcome.counts >= mechanism.threshold).all()
        assert outcome.guarantee == mechanism.guarantee
    assert KeySelection(epsilon=1, delta="1e-6", method="optimal").release(counts).counts is None


def test_keys_that_nobody_has_are_never_kept():
    for method in ("threshold", "gaussian", "optimal"):
        mechanism = KeySelection(epsilon=1, delta="0.5", method=method)
        assert not len(mechanism.release(np.zeros(10**5, np.int64)).kept)
        assert not len(mechanism.release(np.full(1000, -5)).kept)
        assert not len(mechanism.release([]).kept)
        assert mechanism.keep_probability(0) == (0, 0)


def test_beyond_64_bits():
    for method in ("threshold", "optimal"):
        assert KeySelection(epsilon=1, delta="1e-6", method=method).release([10**30, 0]).kept.tolist() == [0]


def test_small_epsilon_does_not_count_to_the_turn():
    mechanism = KeySelection(epsilon="1e-6", delta="1e-9", method="optimal")
    assert mechanism._optimal.certain > 10**6
    assert 0 < mechanism.keep_probability(10**6)[0] < 1


def test_what_is_refused():
    for given in (
        {"epsilon": 1},
        {"delta": DELTA},
        {"epsilon": 1, "rho": 1, "delta": DELTA},
        {"rho": 1, "delta": DELTA, "method": "threshold"},
        {"epsilon": 1, "delta": DELTA, "method": "best"},
        {"epsilon": 1, "delta": "0.6"},
        {"epsilon": 1, "delta": DELTA, "keys_per_owner": 0},
        {"epsilon": 1, "delta": DELTA, "relation": "edge"},
        {"epsilon": 10**6, "delta": DELTA},
    ):
        with pytest.raises((ParameterError, TypeError)):
            KeySelection(**given)
    mechanism = KeySelection(epsilon=1, delta=DELTA)
    for counts in (5, [1.5], np.ones(3), np.ones((2, 2), int), "12", None, seal(7), [True]):
        for one in (mechanism, KeySelection(epsilon=1, delta=DELTA, method="optimal")):
            with pytest.raises(ParameterError):
                one.release(counts)


class Asked:
    """Says counts, and remembers for which places."""

    def __init__(self, counts):
        self.counts, self.places = np.asarray(counts), None

    def __call__(self, places):
        self.places = places
        return seal(self.counts[places])


@pytest.mark.parametrize("bought", [{"epsilon": 1}, {"rho": "0.5"}, {"epsilon": 2, "method": "gaussian"}])
def test_bounds_change_nothing_but_which_counts_are_looked_up(bought, monkeypatch):
    mechanism = KeySelection(delta=DELTA, keys_per_owner=2, **bought)
    generator = np.random.default_rng(20240)
    kept_ever = 0
    for size in (0, 1, 7, 400):
        counts = generator.integers(0, 3 * mechanism.threshold, size)
        bounds = counts + generator.integers(0, 9, size) * generator.integers(0, 2, size)
        noise = generator.integers(-mechanism.threshold, 2 * mechanism.threshold, size)
        monkeypatch.setattr(type(mechanism.noise), "_noise", lambda self, size, noise=noise: noise)
        plain, asked = mechanism.release(counts), Asked(counts)
        below = mechanism.release_below(seal(bounds), asked)
        assert below.kept.tolist() == plain.kept.tolist()
        assert below.counts.tolist() == plain.counts.tolist()
        assert asked.places.tolist() == [
            k for k in range(size) if bounds[k] and bounds[k] + noise[k] >= mechanism.threshold
        ]
        kept_ever += len(plain.kept)
    assert kept_ever


def share_kept(mechanism, release):
    counts = np.full(20_000, mechanism.threshold)
    return len(release(mechanism, seal(counts), Asked(counts)).kept) / 20_000


def drawn_twice(mechanism, most, look):
    """The planted bug: candidates, and then noise anew."""
    near = mechanism.release(most).kept
    return mechanism.release(look(near))


def test_each_key_has_one_noise():
    """Threat 17: what decides between looking and not looking is the noise that decides whether a key is shown."""
    mechanism = KeySelection(rho="0.5", delta=DELTA)
    right = float(mechanism.keep_probability(mechanism.threshold)[0])
    deviation = math.sqrt(right * (1 - right) / 20_000)
    assert abs(share_kept(mechanism, KeySelection.release_below) - right) < 10 * deviation
    assert abs(share_kept(mechanism, drawn_twice) - right) > 10 * deviation


def test_what_is_looked_up_must_fit():
    mechanism = KeySelection(epsilon=1, delta=DELTA)
    for wrong in ([10**6 + 1, 10**6], [10**6], [10**6, 10**6, 10**6]):
        with pytest.raises(ParameterError, match="missing, or exceeds its bound"):
            mechanism.release_below(seal([10**6, 10**6]), lambda places, wrong=wrong: seal(wrong))
    with pytest.raises(ParameterError, match="adds no noise"):
        KeySelection(epsilon=1, delta=DELTA, method="optimal").release_below(seal([1]), Asked([1]))


@pytest.mark.parametrize("keys", [1, 4, 30])
@pytest.mark.parametrize("relation", ["owner", "replace"])
def test_each_key_of_an_owner_has_its_share_of_delta(keys, relation):
    """One owner may bring as many keys: together they are shown with probability delta at most."""
    mechanism = KeySelection(epsilon=2, delta="1e-3", keys_per_owner=keys, method="optimal", relation=relation)
    moved = keys * (2 if relation == "replace" else 1)
    low, high = mechanism.keep_probability(1)
    assert low <= Fraction(1, 1000 * moved) <= high
    assert high - low < Fraction(1, 10**12)
