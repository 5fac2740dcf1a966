"""What must hold for mechanisms that are not plain addition of noise: exact laws, enumerated on neighbours."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from mechanisms_wrong_parameters import check_hostile_parameters_are_refused
from scipy import stats

from dither.accounting import PureDP
from dither.errors import ParameterError
from dither.mechanisms import REFUSED
from dither.mechanisms.quantiles.bands import Bands
from dither.neighbours import Relation

SLACK = 1e-11
FALSE_ALARM = 1e-12
CANARY = 987654321
STRANGE = [
    math.nan,
    math.inf,
    "987654321",
    None,
    True,
    Decimal("nan"),
    Decimal(CANARY) / 7,
    Fraction(-CANARY, 2),
    [],
    [math.nan, CANARY + 0.5],
    ["x", str(CANARY)],
    [[1, 2], [3, CANARY]],
    {},
    np.array([]),
    np.full(3, math.nan),
    np.array([None, CANARY], object),
    {CANARY: "x"},
    object(),
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


def law_of_two(mechanism, records, below, upto, weighed):
    """Over (first, second): the second is chosen among all records, the first by noisy counts among those below it.

    `weighed` gives the first one's law from how many ranks each candidate below is off, a row for each noisy target.
    """
    size, low = len(records), mechanism.q[0]
    second = np.array([middle(pair) for pair in mechanism.first_choice.probability_bounds(records)])
    scale = float(mechanism.counting.scale_steps)
    reach = int(30 * scale)
    noise = geometric(scale, reach)
    of_two = np.convolve(noise, noise)
    joint = np.zeros((below.size, below.size))
    for place, chance in enumerate(second):
        less = below[place] + np.arange(-reach, reach + 1)[:, None]
        total = less + size - below[place] + np.arange(-2 * reach, 2 * reach + 1)[None, :]
        likely = noise[:, None] * of_two[None, :]
        # Exactly: floats could put a target on the wrong side of a count.
        wanted = total * low.numerator
        inside = (wanted > 0) & (wanted < less * low.denominator) & (place > 0)
        joint[place, place] += chance * likely[~inside].sum()
        if inside.any():
            share = wanted[inside] / (np.broadcast_to(less, total.shape)[inside] * low.denominator)
            steeper = 2 if mechanism.relation is Relation.REPLACE else mechanism.rows_per_owner
            rate = float(mechanism.choosing_epsilon) / (2 * steeper * np.maximum(share, 1 - share))
            target = (share * below[place])[:, None]
            apart = np.maximum(0, np.maximum(below[:place] - target, target - upto[:place]))
            joint[:place, place] += chance * likely[inside] @ weighed(rate[:, None], apart)
    return joint.ravel()


def law_of_two_quantiles(mechanism, records):
    grid = mechanism.grid
    codes = np.sort(np.array([int(record / grid.step) for record in records], np.int64))
    answers = np.arange(grid.first, grid.last + 1)
    base = np.ldexp(1.0, Bands.of(grid, mechanism.q[0]).at(answers))

    def weighed(rate, apart):
        weights = base[: apart.shape[1]] * np.exp(-rate * apart)
        return weights / weights.sum(axis=1, keepdims=True)

    sides = (np.searchsorted(codes, answers, side) for side in ("left", "right"))
    return law_of_two(mechanism, records, *sides, weighed)


def law_of_two_listed(mechanism, records):
    listed = [Fraction(one) for one in mechanism.candidates]
    below = np.array([sum(record < one for record in records) for one in listed])
    upto = np.array([sum(record <= one for record in records) for one in listed])

    def weighed(rate, apart):
        return flip_law(np.exp(-rate * (apart - apart.min(axis=1, keepdims=True))))

    return law_of_two(mechanism, records, below, upto, weighed)


def flip_law(weights):
    """Permute-and-flip, a row for each case: over all orders of visit, the first whose coin falls heads."""
    found, many = np.zeros_like(weights), weights.shape[1]
    orders = list(itertools.permutations(range(many)))
    for order in orders:
        left = np.ones(len(weights))
        for one in order:
            found[:, one] += left * weights[:, one] / len(orders)
            left = left * (1 - weights[:, one])
    return found


def law_of_hashes(mechanism, answer):
    """Over (hash, cell): every hash is as likely, and cells are told by the response."""
    hashes = list(itertools.product(range(2**mechanism.bits), repeat=mechanism.rows))
    place = mechanism.values.index(answer)
    laws = [law_of_choice(mechanism.response, cell) for cell in mechanism.response.values]
    return np.concatenate([laws[hashed(rows, place)] for rows in hashes]) / len(hashes)


def hashed(rows, place):
    """By the definition: bit i of the cell is the inner product of row i with the place, modulo 2."""
    return sum((bin(row & place).count("1") % 2) << i for i, row in enumerate(rows))


# Where the output is a position in the mechanism's own list of probabilities, the list is the law.
EXACT = {
    "SparseVector": law_of_stream,
    "StableRelease": law_of_stable,
    "ProposeTestRelease": law_of_tested,
    "BoundedLocalSensitivity": law_of_bounded,
    "KeySelection": law_of_keys,
    "LocalHashing": law_of_hashes,
    "Quantiles": law_of_two_quantiles,
    "ListedQuantiles": law_of_two_listed,
}


def exact_distribution(mechanism):
    """From what is given to `release` to the probabilities of all outputs; each is worked out once."""
    law, known = EXACT.get(type(mechanism).__name__, law_of_choice), {}

    def lookup(given):
        key = repr(given)
        if key not in known:
            known[key] = law(mechanism, given)
        return known[key]

    return lookup


def excess(mechanism, claim, pairs):
    """The largest hockey-stick divergence above the claim's delta, over the pairs in both orders."""
    exact = exact_distribution(mechanism)
    worst = -1.0
    for given, other in pairs:
        p, q = exact(given), exact(other)
        for one, two in ((p, q), (q, p)):
            assert abs(one.sum() - 1) < 1e-9
            stick = np.maximum(0, one - math.exp(claim.epsilon) * two).sum() + max(0, 1 - one.sum())
            worst = max(worst, stick - float(claim.delta))
    return worst


def draw(mechanism, given, count):
    """Positions of released outputs in the enumerated law."""
    name = type(mechanism).__name__
    if name == "Quantiles":
        drawn = [mechanism.release(given).value for _ in range(count)]
        return [
            (int(one / mechanism.grid.step) - mechanism.grid.first) * mechanism.grid.size
            + int(two / mechanism.grid.step)
            - mechanism.grid.first
            for one, two in drawn
        ]
    if name == "ListedQuantiles":
        listed = [Fraction(one) for one in mechanism.candidates]
        drawn = [mechanism.release(given).value for _ in range(count)]
        return [listed.index(one) * len(listed) + listed.index(two) for one, two in drawn]
    if name == "ListedQuantile":
        listed = [Fraction(one) for one in mechanism.candidates]
        return [listed.index(mechanism.release(given).value) for _ in range(count)]
    if name == "Quantile":
        return [int(mechanism.release(given).value / mechanism.grid.step) for _ in range(count)]
    if name == "RandomizedResponse":
        return [mechanism.values.index(v) for v in mechanism.release([given] * count).value]
    if name == "LocalHashing":
        reports, size = np.array(mechanism.release([given] * count).value), 2**mechanism.bits
        weights = [size**i * 2**mechanism.rows for i in reversed(range(mechanism.rows))]
        return (reports @ np.array([*weights, 1])).tolist()
    if name == "SparseVector":
        found = []
        for _ in range(count):
            session, seen = mechanism.session(0), []
            while session.left and len(seen) < len(given):
                seen.append(session.ask(given[len(seen)]).value)
            found.append(tuple(seen) + (None,) * (len(given) - len(seen)))
        names = sorted(all_transcripts(len(given), mechanism.positives), key=str)
        return [names.index(seen) for seen in found]
    if name == "StableRelease":
        return [[REFUSED, "a", "b"].index(mechanism.release(*given).value) for _ in range(count)]
    if name == "ProposeTestRelease":
        values = [mechanism.release(*given).value for _ in range(count)]
        return [0 if v is REFUSED else int(v) + 401 for v in values]
    if name == "BoundedLocalSensitivity":
        outcomes = [mechanism.release(*given) for _ in range(count)]
        return [(min(int(o.bound), 150) - 1) * 6001 + int(np.clip(o.value, -3000, 3000)) + 3000 for o in outcomes]
    if name != "KeySelection":
        return [mechanism.release(given).value for _ in range(count)]
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
    return entry.make(**example | {"epsilon": Fraction(str(example["epsilon"])) * entry.factor})


def check_the_relation_is_carried(entry, example):
    stated = entry.make(**example).guarantee
    assert stated.relation is stated.zcdp().relation
    if "monotone" not in example and "rows_per_owner" not in example:
        assert entry.make(**example | {"relation": "replace"}).guarantee.relation is Relation.REPLACE
    if entry.make.__name__ not in ("RandomizedResponse", "LocalHashing"):
        assert entry.make(**example | {"relation": "owner"}).guarantee.relation is Relation.OWNER
    with pytest.raises(ParameterError):
        entry.make(**example | {"relation": "friends"})


def check_the_exact_law_keeps_the_claim_and_too_little_noise_does_not(entry, example):
    mechanism = entry.make(**example)
    assert excess(mechanism, mechanism.guarantee, entry.neighbours(mechanism)) <= SLACK
    broken = weaker(entry, example)
    assert excess(broken, mechanism.guarantee, entry.neighbours(broken)) > 1e-6


def check_the_exact_law_keeps_the_rho(entry, example):
    """Of pure mechanisms; approximate zCDP leaves out an event, which differs by mechanism: each has its own test."""
    mechanism = entry.make(**example)
    claim = mechanism.guarantee
    if not isinstance(claim, PureDP):
        return
    rho, exact = float(claim.zcdp().rho), exact_distribution(mechanism)
    for given, other in entry.neighbours(mechanism):
        p, q = exact(given), exact(other)
        possible = np.maximum(p, q) > 1e-250
        p, q = p[possible], q[possible]
        for one, two in ((p, q), (q, p)):
            for order in (1.01, 1.5, 2, 5, 20):
                moment = (one * np.exp((order - 1) * (np.log(one) - np.log(two)))).sum()
                assert np.log(moment) / (order - 1) <= order * rho * (1 + 1e-9) + 1e-10


def check_releases_have_the_exact_law_and_a_weaker_mechanism_is_told_apart(entry, example):
    mechanism = entry.make(**example)
    exact = exact_distribution(mechanism)
    other = entry.make(**example | {"epsilon": Fraction(str(example["epsilon"])) * 3})
    others = exact_distribution(other)
    inputs = {str(given): given for given, _ in entry.neighbours(mechanism)}.values()
    # The input on which the two laws differ most.
    given = max(inputs, key=lambda given: np.abs(exact(given) - others(given)).sum())
    quick = entry.make.__name__ in ("RandomizedResponse", "LocalHashing", "KeySelection")
    count = 200_000 if quick else 1_500 if entry.make.__name__ in ("Quantiles", "ListedQuantiles") else 4_000
    positions = draw(mechanism, given, count)
    assert p_value(positions, exact(given)) > FALSE_ALARM
    for _ in range(4):  # laws that are close to each other need more draws to be told apart
        if p_value(positions, others(given)) < FALSE_ALARM:
            return
        positions = np.concatenate([positions, draw(mechanism, given, 2 * count)])
    assert p_value(positions, others(given)) < FALSE_ALARM


def check_strange_data_are_answered_or_refused_without_being_shown(entry):
    """Nothing but an outcome or a ParameterError comes of them, whatever they are."""
    mechanism = entry.make(**dict(entry.examples[0]))
    name = entry.make.__name__
    release = {
        "SparseVector": lambda data: mechanism.session(0).ask(data),
        "StableRelease": lambda data: mechanism.release("a", data),
        "ProposeTestRelease": lambda data: mechanism.release(data, 3),
        "BoundedLocalSensitivity": lambda data: mechanism.release(data, 3),
    }.get(name, lambda data: mechanism.release(data))
    for data in STRANGE:
        try:
            found = release(data)
        except ParameterError as refused:
            message = str(refused)
        else:
            assert found.guarantee == mechanism.guarantee
            message = ""
        # Randomised response lists its public alphabet; no message lists data.
        assert "98765" not in message
    if name in ("ProposeTestRelease", "BoundedLocalSensitivity"):
        for data in (math.nan, "3", None, True, Fraction(-1, 2), [], [3, 4]):
            with pytest.raises(ParameterError):
                mechanism.release(3, data)


OF_AN_ENTRY = (
    check_hostile_parameters_are_refused,
    check_strange_data_are_answered_or_refused_without_being_shown,
)
OF_AN_EXAMPLE = (
    check_the_relation_is_carried,
    check_the_exact_law_keeps_the_claim_and_too_little_noise_does_not,
    check_the_exact_law_keeps_the_rho,
    check_releases_have_the_exact_law_and_a_weaker_mechanism_is_told_apart,
)
