"""Every mechanism of the registry on at least twenty pairs: nothing is refuted, and what claims too little is."""

from __future__ import annotations

import os

import pytest

from dither.accounting import ApproxDP, PureDP
from dither.lab.audit import registry_audit
from dither.lab.audit.checking import check
from dither.lab.audit.draws.releases import releases
from dither.lab.audit.pairs import LEAST
from dither.lab.audit.registry_audit import Case, _both, _sizes, audit, cases, confidence_of, table
from dither.lab.registry.worst_pairs import worst_pairs
from dither.mechanisms import Laplace

# make campaign spends so many times more.
SCALE = int(os.environ.get("DITHER_CAMPAIGN", "1"))
EVERY = {case.name: case for case in cases(every=True)}
FIRST = [case.name for case in cases()]
MILLION = 10**6
# Tight mechanisms of which so many samples show 95 per cent, by more than five standard deviations; the others need ten
# millions, as `make audit` takes.
SHOWN = {
    "Laplace:0": MILLION,
    "PermuteAndFlip:0": MILLION,
    "NoisyMax:0": MILLION,
    "RandomizedResponse:0": MILLION,
    "StableRelease:0": MILLION,
    "ProposeTestRelease:0": MILLION,
    "BoundedLocalSensitivity:0": 2 * MILLION,
    "KeySelection:0": MILLION,
    "SmoothCauchy:0": 5 * MILLION,
    "SmoothGaussian:3": 5 * MILLION,
}
# Outputs of several numbers, which are looked at in many ways.
FEWER = {"LocalHashing:0": MILLION // 20}
CONFIDENCE = confidence_of(len({*FIRST, *SHOWN}))


@pytest.mark.parametrize("name", EVERY)
def test_there_are_twenty_pairs(name):
    mechanism, pairs, claimed = EVERY[name].make()
    assert len({str(pair) for pair in pairs}) >= LEAST
    assert all(one != other for one, other in pairs)
    assert pairs[: len(worst_pairs(mechanism))] == worst_pairs(mechanism)
    assert hasattr(claimed, "epsilon_at")


def looked_at(name, **given):
    """The row of a sound mechanism: if it is refuted, which happens to one table in a thousand, another one."""
    first = audit(EVERY[name], confidence=CONFIDENCE, **given)
    return first if first.verdict.passed else audit(EVERY[name], confidence=CONFIDENCE, **given)


@pytest.mark.parametrize("name", sorted(set(FIRST) - set(SHOWN)))
def test_no_claim_is_refuted(name):
    row = looked_at(name, samples=FEWER.get(name, MILLION) * SCALE, seconds=2.0 * SCALE)
    assert row.verdict.passed, row.verdict
    assert row.verdict.pairs >= LEAST
    assert name in table([row.document()])


@pytest.mark.parametrize("name", SHOWN)
def test_a_tight_mechanism_spends_its_claim_and_no_more(name):
    row = looked_at(name, samples=SHOWN[name], seconds=6000)
    assert row.verdict.passed, row.verdict
    assert row.verdict.samples >= SHOWN[name]  # twice as many if it came out short and was looked at once more
    assert row.loose is None
    assert row.verdict.tightness >= 0.95, row.verdict
    assert not row.short


def test_every_mechanism_is_tight_or_says_why_not():
    for name, case in EVERY.items():
        assert case.loose is None or len(case.loose) > 20, name
    assert {name.partition(":")[0] for name, case in EVERY.items() if case.loose is None} >= {
        *(name.partition(":")[0] for name in FIRST if EVERY[name].loose is None),
        "SmoothLaplace",
        "SmoothGaussian",
    }


def test_a_tight_mechanism_that_adds_too_much_noise_is_flagged(monkeypatch):
    """Planted bug: noise for half of the epsilon that is charged."""
    looks = []

    def looked(*given, **more):
        looks.append(more["samples"])
        return check(*given, **more)

    monkeypatch.setattr(registry_audit, "check", looked)

    def too_noisy():
        return Laplace(epsilon="0.5", sensitivity=1), [(0, 1), (3, 2), (7, 8)], PureDP(1)

    found = audit(Case("noisy", "", too_noisy, None), samples=20_000, seconds=5, confidence=CONFIDENCE).document()
    assert found["passed"]
    assert found["short"]
    assert looks == [20_000, 40_000], "it was looked at once more"
    assert found["samples"] in looks, "of the look that showed more"
    assert "SHORT" in table([found])
    known = audit(Case("noisy", "", too_noisy, "it is known"), samples=20_000, seconds=5, confidence=CONFIDENCE)
    assert not known.short
    assert looks[2:] == [known.verdict.samples] == [20_000]
    assert "SHORT" not in table([known.document()])


def test_two_looks_together_say_all_that_either_certified():
    laplace, pair = Laplace(epsilon=1, sensitivity=1), [(0, 1)]
    few, many = (check(laplace, neighbours=pair, claimed=PureDP(1), samples=size) for size in (200, 20_000))
    lies = check(laplace, neighbours=pair, claimed=PureDP("0.5"), samples=20_000)
    for first, second in ((few, many), (many, few)):
        both = _both(first, second, CONFIDENCE)
        assert (both.passed, both.tightness, both.samples) == (True, many.tightness, 20_000)
        assert sorted(map(id, both.evidence)) == sorted(map(id, few.evidence + many.evidence))
        assert both.confidence == CONFIDENCE
    assert not _both(few, lies, CONFIDENCE)
    assert not _both(lies, few, CONFIDENCE)


@pytest.mark.parametrize("name", ["Laplace:0", "RandomizedResponse:0", "PermuteAndFlip:0", "KeySelection:0"])
def test_half_the_claim_is_refuted(name):
    mechanism, pairs, claimed = EVERY[name].make()
    half = claimed.epsilon / 2
    less = ApproxDP(half, claimed.delta) if claimed.delta else PureDP(half)
    assert not check(mechanism, neighbours=pairs, claimed=less, samples=10_000, screening=500, certified_pairs=2)


@pytest.mark.parametrize("name", EVERY)
def test_no_mechanism_is_drawn_one_by_one(name, monkeypatch):
    """Ten millions of each are looked at: many outputs come of a call or two."""
    mechanism, pairs, _ = EVERY[name].make()
    calls, real = [], getattr(type(mechanism), "release", None)

    def counted(self, *data, **more):
        calls.append(data)
        return real(self, *data, **more)

    monkeypatch.setattr(type(mechanism), "release", counted, raising=False)
    assert len(releases(mechanism)(pairs[0][0], 300)) == 300
    assert len(calls) <= 2


@pytest.fixture
def costing(monkeypatch):
    """A mechanism whose draws take as long as a function of their size says, and what it took in all."""
    clock = [0.0]
    monkeypatch.setattr(registry_audit.time, "process_time", lambda: clock[0])

    def made(cost):
        def draw(data, size):
            clock[0] += cost(size)
            return []

        return draw

    made.clock = clock
    return made


def taken(cost, size, screening, pairs, certified):
    """Seconds to draw what an audit looks at; the search and the proof are drawn by themselves."""
    searching = size // 8
    return 2 * (pairs * cost(screening) + certified * (cost(searching) + cost(size - searching)))


def test_all_samples_are_taken_if_they_fit(costing):
    """Also by what is slow at first and costs the less the more is drawn at once."""
    for cost in (lambda n: n * 4e-6, lambda n: min(n, 10**5) * 1e-5 + n * 1e-7, lambda n: 1e-3 + 2e-4 * n**0.5):
        assert taken(cost, 10**7, 200_000, 24, 2) < 250
        assert _sizes(costing(cost), [(0, 1)] * 24, 2, 10**7, 300) == (10**7, 200_000)
    assert _sizes(costing(lambda n: n * 4e-6), [(0, 1)] * 24, 2, 10**7, 100)[0] < 10**7


@pytest.mark.parametrize("each", [1e-5, 1e-3, 0.02])
def test_fewer_samples_are_taken_if_all_would_take_too_long(costing, each):
    size, screening = _sizes(costing(lambda n: n * each), [(0, 1)] * 24, 2, 10**7, 300)
    assert 200 / 300 < taken(lambda n: n * each, size, screening, 24, 2) / 300 < 1.01
    assert size < 10**7
    assert costing.clock[0] < 30, "the trial itself is short"
