"""One suite over the mechanisms that are not plain addition of noise: their exact laws, enumerated on neighbours."""

from __future__ import annotations

import dataclasses
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.accounting import PureDP
from dither.errors import ParameterError
from dither.mechanisms import REFUSED
from dither.mechanisms.registry import LAWS
from dither.neighbours import Relation

CASES = [
    pytest.param(entry, dict(example), id=f"{entry.make.__name__}-{number}")
    for entry in LAWS
    for number, example in enumerate(entry.examples)
]
each = pytest.mark.parametrize(("entry", "example"), CASES)
by_name = pytest.mark.parametrize("entry", LAWS, ids=lambda entry: entry.make.__name__)
SLACK = 1e-11
FALSE_ALARM = 1e-12
HOSTILE = [
    math.nan,
    math.inf,
    -math.inf,
    -1,
    0,
    True,
    np.True_,
    "abc",
    "1e400",
    10**400,
    "1e-320",
    Decimal("nan"),
]


def geometric(scale, reach):
    """The discrete Laplace law at -reach..reach."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))


def middle(pair):
    low, high = pair
    assert 0 <= low <= high
    assert high - low < Fraction(1, 10**15)
    return float(high)


def law_of_choice(mechanism, scores):
    return np.array([middle(pair) for pair in mechanism.probability_bounds(scores)])


def law_of_response(mechanism, answer):
    return np.array([middle(pair) for pair in mechanism.probability_bounds(answer)])


def law_of_stream(mechanism, values):
    """P[transcript] = sum over the threshold's noise of the product of the comparisons, stopping after `positives`."""
    reach = int(40 * mechanism.threshold_scale) + 40
    rho = np.arange(-reach, reach + 1)
    weight = geometric(float(mechanism.threshold_scale), reach)
    q = math.exp(-1 / float(mechanism.query_scale))
    steps = [int(Fraction(value) / mechanism.grid) for value in values]
    found = {}

    def walk(done, probability, left):
        if left == 0 or len(done) == len(steps):
            found[done + (None,) * (len(steps) - len(done))] = float((probability * weight).sum())
            return
        need = rho - steps[len(done)]  # P[noise >= need]
        above = np.where(need > 0, q ** np.abs(need) / (1 + q), 1 - q ** np.abs(1 - need) / (1 + q))
        walk((*done, True), probability * above, left - 1)
        walk((*done, False), probability * (1 - above), left)

    walk((), np.ones(rho.size), mechanism.positives)
    return np.array([found[key] for key in sorted(found, key=str)])


def law_of_shaming(mechanism, records):
    """Of the first record alone, over the outputs (None, "a", "b"): the others are independent and equal."""
    delta = float(mechanism.delta)
    return np.array([1 - delta, delta * (records[0] == "a"), delta * (records[0] == "b")])


def law_of_stable(mechanism, given):
    value, distance = given
    passing = middle(mechanism.published(distance))
    return np.array([1 - passing, passing * (value == "a"), passing * (value == "b")])


def law_of_tested(mechanism, given):
    value, distance = given
    passing = middle(mechanism.published(distance))
    reach = 400
    noise = geometric(float(mechanism.answer.scale_steps), reach)
    shifted = np.roll(noise, value)
    return np.append(1 - passing, passing * shifted)


def law_of_bounded(mechanism, given):
    """Over the published bound (1..150) and the answer (-3000..3000)."""
    value, local = given
    most, reach = 150, 3000
    shift = int(mechanism.shift)
    noise = geometric(float(mechanism.bound_scale_steps), 400)
    bounds = np.zeros(most + 1)
    for x, p in zip(range(-400, 401), noise, strict=True):
        bounds[min(max(1, local + x + shift), most)] += p
    rows = [
        bounds[b] * np.roll(geometric(b / float(mechanism.answer_epsilon), reach), value) for b in range(1, most + 1)
    ]
    return np.concatenate(rows)


def law_of_keys(mechanism, counts):
    keys = []
    for count in counts:
        keep = middle(mechanism.keep_probability(count))
        if mechanism.method == "optimal" or not count:
            keys.append(np.concatenate([[1 - keep, keep], np.zeros(60)]))
            continue
        pmf = [middle(mechanism.noise.pmf(mechanism.threshold + i - count)) for i in range(60)]
        assert sum(pmf) <= keep + SLACK
        keys.append(np.concatenate([[1 - keep], pmf, [keep - sum(pmf)]]))
    return np.outer(*keys).ravel()


EXACT = {
    "Exponential": law_of_choice,
    "PermuteAndFlip": law_of_choice,
    "NoisyMax": law_of_choice,
    "RandomizedResponse": law_of_response,
    "SparseVector": law_of_stream,
    "NameAndShame": law_of_shaming,
    "StableRelease": law_of_stable,
    "ProposeTestRelease": law_of_tested,
    "BoundedLocalSensitivity": law_of_bounded,
    "KeySelection": law_of_keys,
    "Quantile": law_of_choice,
}


def excess(mechanism, claim, pairs):
    """The largest hockey-stick divergence above the claim's delta, over the pairs in both orders."""
    exact = EXACT[type(mechanism).__name__]
    worst = -1.0
    for given, other in pairs:
        p, q = exact(mechanism, given), exact(mechanism, other)
        for one, two in ((p, q), (q, p)):
            assert abs(one.sum() - 1) < 1e-9
            stick = np.maximum(0, one - math.exp(claim.epsilon) * two).sum() + max(0, 1 - one.sum())
            worst = max(worst, stick - float(claim.delta))
    return worst


def draw(mechanism, given, count):
    """Positions of released outputs in the enumerated law, or None where the sampler is tested by itself."""
    name = type(mechanism).__name__
    if name in ("Exponential", "PermuteAndFlip", "NoisyMax"):
        return [mechanism.release(given).value for _ in range(count)]
    if name == "Quantile":
        return [int(mechanism.release(given).value / mechanism.grid.step) for _ in range(count)]
    if name == "RandomizedResponse":
        return [mechanism.values.index(v) for v in mechanism.release([given] * count).value]
    if name == "SparseVector":
        found = []
        for _ in range(count):
            session, seen = mechanism.session(0), []
            while session.left and len(seen) < len(given):
                seen.append(session.ask(given[len(seen)]).value)
            found.append(tuple(seen) + (None,) * (len(given) - len(seen)))
        names = sorted(all_transcripts(len(given), mechanism.positives), key=str)
        return [names.index(seen) for seen in found]
    if name == "NameAndShame":
        shown = mechanism.release([given[0]] * count, counterexample=True).value
        return [[None, "a", "b"].index(v) for v in shown]
    if name == "StableRelease":
        return [[REFUSED, "a", "b"].index(mechanism.release(*given).value) for _ in range(count)]
    if name == "ProposeTestRelease":
        values = [mechanism.release(*given).value for _ in range(count)]
        return [0 if v is REFUSED else int(v) + 401 for v in values]
    if name == "BoundedLocalSensitivity":
        outcomes = [mechanism.release(*given) for _ in range(count)]
        return [(min(int(o.bound), 150) - 1) * 6001 + int(np.clip(o.value, -3000, 3000)) + 3000 for o in outcomes]
    outcome = mechanism.release(np.repeat(given, count))
    places = np.zeros(2 * count, np.int64)
    places[outcome.kept] = 1 if outcome.counts is None else np.minimum(outcome.counts - mechanism.threshold + 1, 61)
    return (places[:count] * 62 + places[count:]).tolist()


def all_transcripts(size, positives, done=()):
    if len(done) == size or sum(done) == positives:
        return [done + (None,) * (size - len(done))]
    return all_transcripts(size, positives, (*done, True)) + all_transcripts(size, positives, (*done, False))


def p_value(positions, law):
    expected = law * len(positions)
    seen = np.bincount(positions, minlength=law.size).astype(float)
    # Cells of at least 30 expected draws: rare outputs are put together, in order of their probability.
    order = np.argsort(-expected)
    cell = np.minimum(np.cumsum(expected[order]) // 30, (expected >= 30).sum() + 40).astype(int)
    cell = np.where(expected[order] >= 30, np.arange(law.size) + 10**6, cell)
    _, cell = np.unique(cell, return_inverse=True)
    seen, expected = np.bincount(cell, weights=seen[order]), np.bincount(cell, weights=expected[order])
    rare = expected < 10
    if rare.any():
        seen, expected = np.append(seen[~rare], seen[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    outside = 1.0
    if expected[-1] < 10:
        # Too few for a chi-square: the tail of the Poisson law says how surprising they are.
        outside = float(stats.poisson.sf(seen[-1] - 1, expected[-1]))
        seen, expected = seen[:-1], expected[:-1]
    statistic = ((seen - expected) ** 2 / expected).sum()
    return min(outside, float(stats.chi2.sf(statistic, max(1, seen.size - 1))))


def weaker(entry, example):
    """The same mechanism with too little noise for the example's claim."""
    return entry.make(**example | {entry.weakens: Fraction(str(example[entry.weakens])) * entry.factor})


def test_every_registered_mechanism_has_an_exact_law():
    assert set(EXACT) == {entry.make.__name__ for entry in LAWS}


@by_name
@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_parameters_are_refused(entry, value):
    for name, base in entry.numbers.items():
        with pytest.raises(ParameterError):
            entry.make(**dict(base) | {name: value})


@each
def test_frozen_and_equal_by_value(entry, example):
    mechanism = entry.make(**example)
    assert mechanism == entry.make(**example)
    assert hash(mechanism) == hash(entry.make(**example))
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, getattr(mechanism, field.name))
    with pytest.raises(TypeError):
        entry.make(*example.values())
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


@each
def test_the_relation_is_carried(entry, example):
    stated = entry.make(**example).guarantee
    assert stated.relation is stated.zcdp().relation
    if "monotone" not in example:
        assert entry.make(**example, relation="replace").guarantee.relation is Relation.REPLACE
    if entry.make.__name__ not in ("RandomizedResponse", "NameAndShame"):
        assert entry.make(**example, relation="owner").guarantee.relation is Relation.OWNER
    with pytest.raises(ParameterError):
        entry.make(**example, relation="friends")


@each
def test_the_exact_law_keeps_the_claim_and_too_little_noise_does_not(entry, example):
    mechanism = entry.make(**example)
    assert excess(mechanism, mechanism.guarantee, entry.neighbours(mechanism)) <= SLACK
    broken = weaker(entry, example)
    assert excess(broken, mechanism.guarantee, entry.neighbours(broken)) > 1e-6


# Approximate zCDP leaves out an event, which differs by mechanism: each has its own test.
@pytest.mark.parametrize(
    ("entry", "example"),
    [case for case in CASES if isinstance(case.values[0].make(**case.values[1]).guarantee, PureDP)],
)
def test_the_exact_law_keeps_the_rho(entry, example):
    mechanism = entry.make(**example)
    claim = mechanism.guarantee
    rho, exact = float(claim.zcdp().rho), EXACT[type(mechanism).__name__]
    for given, other in entry.neighbours(mechanism):
        p, q = exact(mechanism, given), exact(mechanism, other)
        possible = np.maximum(p, q) > 1e-250
        p, q = p[possible], q[possible]
        for one, two in ((p, q), (q, p)):
            for order in (1.01, 1.5, 2, 5, 20):
                moment = (one * np.exp((order - 1) * (np.log(one) - np.log(two)))).sum()
                assert np.log(moment) / (order - 1) <= order * rho * (1 + 1e-9) + 1e-10


@each
def test_releases_have_the_exact_law_and_a_weaker_mechanism_is_told_apart(entry, example):
    mechanism = entry.make(**example)
    exact = EXACT[type(mechanism).__name__]
    other = entry.make(**example | {entry.weakens: Fraction(str(example[entry.weakens])) * 3})
    inputs = {str(given): given for given, _ in entry.neighbours(mechanism)}.values()
    # The input on which the two laws differ most.
    given = max(inputs, key=lambda given: np.abs(exact(mechanism, given) - exact(other, given)).sum())
    quick = entry.make.__name__ in ("RandomizedResponse", "NameAndShame", "KeySelection")
    positions = draw(mechanism, given, 200_000 if quick else 4_000)
    assert p_value(positions, exact(mechanism, given)) > FALSE_ALARM
    assert p_value(positions, exact(other, given)) < FALSE_ALARM
