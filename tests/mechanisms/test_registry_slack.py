"""Why some examples are not held to 95 per cent of their claim: every share is worked out from laws or proofs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from mechanisms_checks_of_distributions import exact_distribution
from scipy import optimize, special, stats

from dither.lab.audit.confidence import at_least, at_most
from dither.lab.audit.registry_audit import cases, confidence_of
from dither.lab.registry import EVERY
from dither.lab.registry.slack import looseness
from dither.lab.registry.worst_pairs import worst_pairs
from dither.neighbours import Relation

MAKES = {f"{entry.make.__name__}:{i}": (entry, i) for entry in EVERY for i in range(len(entry.examples))}
LOOSE = {name for name, (entry, i) in MAKES.items() if looseness(entry.make.__name__, i)}
TEN_MILLION = 10**7
# The whole error of a row of the longest table, for the two bounds of one event.
ERROR = float(1 - confidence_of(len(cases(every=True)))) / 2
# Where a curve without a delta of its own is audited.
DELTAS = (0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5)


def mechanism(name):
    entry, i = MAKES[name]
    return entry.make(**entry.examples[i])


def check_share(name, found):
    """What the registry says is what was found, rounded up."""
    said = looseness(*name.split(":")[:1], int(name.partition(":")[2])).most
    assert said - 0.006 < found <= said, (name, found)


def shown(likely, rare, delta=0.0):
    """What all ten million samples certify of events with these probabilities, if none comes by luck."""
    counts = [np.round(TEN_MILLION * np.atleast_1d(side)) for side in (likely, rare)]
    low, high = at_least(counts[0], TEN_MILLION, ERROR), at_most(counts[1], TEN_MILLION, ERROR)
    return float(np.log(np.maximum(low - delta, 1e-300) / high).max())


def events(p, q):
    """By Neyman and Pearson, the events worth looking at: outputs in the order of their likelihood ratio."""
    order = np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
    return np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]


def test_every_reason_is_checked_here():
    assert {*ODDS, *STREAMS, *KEYS, *LEVELS, *SMOOTH_SPENT, *SMOOTH_SHOWN} == LOOSE
    for name in LOOSE:
        found = looseness(name.partition(":")[0], int(name.partition(":")[2]))
        # Samples that show 0.956 when none comes by luck are not enough to hold a row to 0.95.
        assert found.most < (0.957 if name == "SmoothLaplace:1" else 0.945)
        assert f"at most {found.most:.3f} of it" in str(found)


ODDS = ["Exponential:2", "Quantile:2"]


@pytest.mark.parametrize("name", ODDS)
def test_choices_by_weight(name):
    """Every weight moves by a factor of at most e^(epsilon/2), so the odds of any event by at most e^epsilon."""
    epsilon = float(mechanism(name).guarantee.epsilon)
    rare = np.geomspace(1e-5, 0.999, 3000)
    odds = rare / (1 - rare) * math.exp(epsilon)
    check_share(name, shown(odds / (1 + odds), rare) / epsilon)


STREAMS = ["SparseVector:1", "SparseVector:2"]


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name):
    """Of streams like the declared one, longer and shorter, higher and lower, and the best that hill climbing found."""
    one, law = mechanism(name), exact_distribution(mechanism(name))
    found = {
        "SparseVector:1": ([-1] * 5 + [0, -1, -1, 1, -1, 1], [0] * 5 + [1, 0, 0, 0, 0, 0]),
        "SparseVector:2": ([0, 0, 0, -1, 0, 0, 0, 1, 0, 1], [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]),
    }[name]
    moved = 0 if one.monotone else -1
    pairs = [*worst_pairs(one), found]
    for many, low, high in product((4, 7, 10), (-3, -1, 0, 1), (-2, 0, 1, 3)):
        pairs.append(([low] * many + [high] * 2, [low + 1] * many + [high + moved] * 2))
    best = [max(shown(*events(p, q)), shown(*events(q, p))) for p, q in ((law(x), law(y)) for x, y in pairs)]
    check_share(name, max(best) / float(one.epsilon))
    assert best[0] > 0.98 * max(best), "the declared pair is about as good"
    # Without the sampling error there is little between the claim and the law.
    p, q = law(pairs[0][0]), law(pairs[0][1])
    assert np.abs(np.log(p / q)).max() > 0.96


KEYS = ["KeySelection:4", "KeySelection:7"]


def gaussian_delta(epsilon, mu):
    cdf = stats.norm.cdf
    return cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("name", KEYS)
def test_gaussian_keys(name):
    """Of the keys that move k are one owner's, and are hidden with probability 1 - tail each; the others get noise.

    Cutting at the threshold and rounding only hide more. So delta is at most 1 - (1 - tail)^k + that of the noise.
    """
    one = mechanism(name)
    epsilon, delta, keys = float(one.epsilon), float(one.delta), one.keys_moved
    sigma, tail = float(one.noise.sigma_steps), float(one.keep_probability(1)[1])
    spent = []
    for new in range(keys):
        exposed, mu = 1 - (1 - tail) ** new, math.sqrt(keys - new) / sigma
        spent.append(optimize.brentq(lambda e, x=exposed, mu=mu: x + gaussian_delta(e, mu) - delta, 0, 2 * epsilon))
    assert 1 - (1 - tail) ** keys < delta, "if all are one owner's, epsilon is 0"
    assert gaussian_delta(epsilon, math.sqrt(keys) / sigma) == pytest.approx(delta / 2, rel=1e-6)
    check_share(name, max(spent) / epsilon)


LEVELS = [f"{kind}:{i}" for kind in ("Quantiles", "ListedQuantiles") for i in range(3)]


@pytest.mark.parametrize("name", LEVELS)
def test_two_levels(name):
    """An answer's probability moves by e^(rate x) at most if its distance moves by x against the others'.

    The second quantile is chosen first, and the first one then among the records below it, by noisy counts.
    """
    one = mechanism(name)
    q = float(one.q[1])
    choosing, counting = float(one.choosing_epsilon), float(one.counting.epsilon)
    rate, rows, most = float(one._rate(one.q[1], 0)), one.rows_per_owner, max(q, 1 - q)
    spent = []
    if one.relation is Relation.REPLACE:
        # Both below the answer: its own distance and the counts stay. One of them: the part below loses a record.
        spent += [rate * 1 + choosing, rate * 2 + choosing / 2 + counting, rate * 2 + counting]
    else:
        for below, equal in product(range(rows + 1), repeat=2):
            above = rows - below - equal
            if above >= 0:
                own = max(abs((1 - q) * below - q * (equal + above)), abs((1 - q) * (below + equal) - q * above))
                spent.append(rate * (own + rows * most) + choosing * below / rows + counting)
    claim = float(one.epsilon)
    check_share(name, max(spent) / claim)
    law, entry = exact_distribution(one), MAKES[name][0]
    laws = [(law(x), law(y)) for x, y in entry.neighbours(one)[:12] if x != y]
    exact = max(np.abs(np.log(p[p > 1e-12]) - np.log(q[p > 1e-12])).max() for p, q in laws)
    assert 0.25 * claim < exact < max(spent)


def upper_tail(law, z):
    """P[eta > z] for z >= 0, from the definition."""
    kind = type(law).__name__
    if kind == "LaplaceLogNormal":
        y = np.arange(-9, 9.01, 0.05)
        return np.exp(-z[:, None] * np.exp(-float(law.sigma) * y)) @ (stats.norm.pdf(y) * 0.025)
    if kind == "GeneralisedCauchy":
        g = float(law.gamma)
        return special.betainc(1 - 1 / g, 1 / g, 1 / (1 + z**g)) / 2
    return {"Cauchy": stats.cauchy.sf, "RealLaplace": stats.laplace.sf, "RealGaussian": stats.norm.sf}[kind](z)


def smooth_laws(one, shift, stretch):
    """The masses of cells, on S = 1 and on a value `shift` farther with S = e^(beta stretch)."""
    wider, moved = math.exp(float(one.beta) * stretch), float(one.divisor) * shift
    sides = np.concatenate([np.linspace(0.01, 12, 500), np.geomspace(12.1, 1e5, 90)])
    ladder = np.concatenate([-sides[::-1], [0], sides])
    edges = np.unique(np.concatenate([ladder, moved + wider * ladder]))
    for centre, scale in ((0.0, 1.0), (moved, wider)):
        z = (edges - centre) / scale
        tails = upper_tail(one.distribution, np.abs(z))
        above, below = np.where(z >= 0, tails, 1 - tails), np.where(z < 0, tails, 1 - tails)
        yield np.where(
            np.concatenate([z[:1], z]) >= 0, -np.diff(above, prepend=1, append=0), np.diff(below, prepend=0, append=1)
        )


def smooth_pairs(one):
    for shift, stretch in product((0, 0.5, 1), repeat=2):
        if shift or stretch:
            p, q = smooth_laws(one, shift, stretch)
            yield from ((p, q), (q, p))


def points(claim):
    own = getattr(claim, "epsilon", None)
    deltas = DELTAS if own is None else (float(claim.delta),)
    return [(delta, float(claim.epsilon_at(delta))) for delta in deltas]


SMOOTH_SPENT = [
    *("SmoothCauchy:2", "SmoothCauchy:3", "SmoothLaplace:2"),
    *("SmoothGaussian:2", "SmoothLaplaceLogNormal:0", "SmoothLaplaceLogNormal:1"),
]
SMOOTH_SHOWN = ["SmoothCauchy:1", "SmoothLaplace:0", "SmoothLaplace:1", "SmoothGaussian:0", "SmoothGaussian:1"]


@pytest.mark.parametrize("name", SMOOTH_SPENT)
def test_smooth_calibrations_by_a_bound(name):
    one, shares = mechanism(name), []
    for p, q in smooth_pairs(one):
        for delta, epsilon in points(one.guarantee):
            likely, rare = events(p, q)
            kept = (likely > delta) & (rare > 1e-12)
            shares.append(np.log((likely[kept] - delta) / rare[kept]).max(initial=0) / epsilon)
    check_share(name, max(shares))


@pytest.mark.parametrize("name", SMOOTH_SHOWN)
def test_smooth_claims_that_samples_do_not_show(name):
    one = mechanism(name)
    ((delta, epsilon),) = points(one.guarantee)
    check_share(name, max(shown(*events(p, q), delta) for p, q in smooth_pairs(one)) / epsilon)
