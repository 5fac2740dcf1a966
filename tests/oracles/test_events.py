"""Event trees of dp-accounting, read live: its own accountants and our brackets agree on the same tree."""

from __future__ import annotations

import json
import warnings

import pytest

from dither.accounting import PLD, calibrate, from_event, sgd
from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import ParameterError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dp_accounting
    from dp_accounting import dp_event as peer
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

pytestmark = pytest.mark.filterwarnings("ignore")
DELTA = 1e-6

GAUSSIAN = peer.GaussianDpEvent(1.1)
SAMPLED = peer.PoissonSampledDpEvent(0.01, GAUSSIAN)
TREES = {
    "gaussian": GAUSSIAN,
    "laplace": peer.SelfComposedDpEvent(peer.LaplaceDpEvent(5.0), 20),
    "discrete Laplace": peer.SelfComposedDpEvent(peer.DiscreteLaplaceDpEvent(0.1, 3), 10),
    "sampled": peer.SelfComposedDpEvent(SAMPLED, 500),
    "mixed": peer.ComposedDpEvent(
        [
            peer.SelfComposedDpEvent(SAMPLED, 100),
            peer.GaussianDpEvent(5.0),
            peer.LaplaceDpEvent(2.0),
            peer.NoOpDpEvent(),
        ]
    ),
}
# Not as a SelfComposedDpEvent: dp-accounting 0.6.0 counts a randomised response once, whatever the count says.
RESPONSES = peer.ComposedDpEvent([peer.RandomizedResponseDpEvent(0.5, 4)] * 5)


def mapping(event):
    """The tree as nested mappings, from its own named tuples."""

    def plain(value):
        if hasattr(value, "_asdict"):
            return {name: plain(inner) for name, inner in value._asdict().items()}
        return [plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    return plain(event.to_named_tuple())


@pytest.mark.parametrize("name", TREES)
def test_its_own_accountant_says_the_same(name):
    low, high = from_event(TREES[name]).bounds_at(delta="1e-6")
    theirs = PLDAccountant().compose(TREES[name]).get_epsilon(DELTA)
    # It rounds losses up to a grid of 1e-4, so it may say a little more and never less than the truth.
    assert low <= theirs * (1 + 1e-9)
    assert theirs <= high * 1.002 + 2e-3


def test_responses_under_replace():
    low, high = from_event(RESPONSES, "replace").bounds_at(delta="1e-6")
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    theirs = PLDAccountant(neighboring_relation=relation).compose(RESPONSES).get_epsilon(DELTA)
    assert low <= theirs * (1 + 1e-9)
    assert theirs <= high * 1.002 + 2e-3
    with pytest.raises(ParameterError, match="replace"):
        from_event(RESPONSES)


@pytest.mark.parametrize("name", TREES)
def test_objects_tuples_mappings_and_json_are_the_same_tree(name):
    event = TREES[name]
    expected = from_event(event).epsilon_at("1e-6")
    for form in (event.to_named_tuple(), mapping(event), json.dumps(mapping(event))):
        assert from_event(form).epsilon_at("1e-6") == expected


def test_zcdp_by_its_renyi_accountant():
    for event in (peer.ZCDpEvent(0.01), peer.ZCDpEvent(0.01, 0.05)):
        theirs = RdpAccountant().compose(event).get_epsilon(DELTA)
        assert from_event(event).epsilon_at("1e-6") <= theirs * (1 + 1e-6)


def test_several_gaussians_on_one_sample_are_one():
    inner = peer.PoissonSampledDpEvent(0.01, peer.ComposedDpEvent([peer.GaussianDpEvent(2.0)] * 4))
    assert from_event(inner).epsilon_at("1e-6") == pytest.approx(
        PLD.subsampled_gaussian(1, "0.01").epsilon_at("1e-6"), rel=1e-9
    )


@pytest.mark.parametrize(
    "event",
    [
        peer.NonPrivateDpEvent(),
        peer.UnsupportedDpEvent(),
        peer.SampledWithReplacementDpEvent(1000, 10, GAUSSIAN),
        peer.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN),
        peer.SingleEpochTreeAggregationDpEvent(1.0, 8),
        peer.GaussianDpEvent(0.0),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_has_no_guarantee_here_is_refused(event):
    with pytest.raises(ParameterError):
        from_event(event)


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.1, 256 / 60000, 14_062), (0.8, 0.01, 1000), (2.0, 0.1, 300)])
def test_training_beside_its_accountant(sigma, rate, steps):
    event = peer.SelfComposedDpEvent(peer.PoissonSampledDpEvent(rate, peer.GaussianDpEvent(sigma)), steps)
    ours = sgd(noise_multiplier=sigma, sample_rate=rate, steps=steps, target_delta="1e-5")
    theirs = PLDAccountant().compose(event).get_epsilon(1e-5)
    assert ours.lower <= theirs * (1 + 1e-9)
    assert theirs <= ours.epsilon * 1.002
    assert ours.epsilon <= RdpAccountant().compose(event).get_epsilon(1e-5)


def test_calibration_beside_its_own():
    ours = sgd(epsilon=2, rate=0.01, steps=1000, delta="1e-6")
    theirs = dp_accounting.calibrate_dp_mechanism(
        PLDAccountant,
        lambda sigma: peer.SelfComposedDpEvent(peer.PoissonSampledDpEvent(0.01, peer.GaussianDpEvent(sigma)), 1000),
        2.0,
        1e-6,
    )
    assert float(ours.sigma) == pytest.approx(theirs, rel=2e-3)
    assert ours.sigma == calibrate(lambda s: PLD.subsampled_gaussian(s, "0.01"), ApproxDP(2, "1e-6"), 1000).noise
