"""Noisy max: small tables under both relations, the scale that is too small under replace, and the exact race."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dither.errors import ParameterError
from dither.mechanisms import Exponential, NoisyMax, PermuteAndFlip
from dither.mechanisms.selection.race import CELLS, _Contender, _distance, _settle, largest, place_in_cell
from dither.noise.lazy_uniform import LazyUniform

NOISES = ["laplace", "exponential", "gumbel"]
RECORDS = list(itertools.product((0, 1), repeat=2))  # who likes which of two dishes


def counts(table):
    return [sum(column) for column in zip(*table, strict=True)] if table else [0, 0]


def worst_loss(mechanism, pairs):
    losses = []
    for one, other in pairs:
        p, q = mechanism.probabilities(one), mechanism.probabilities(other)
        losses += [abs(math.log(a / b)) for a, b in zip(p, q, strict=True)]
    return max(losses)


def add_remove_pairs():
    """Every table of at most three records, and the same with one record more."""
    tables = [t for n in range(4) for t in itertools.combinations_with_replacement(RECORDS, n)]
    return {(tuple(counts(t)), tuple(counts((*t, r)))) for t in tables for r in RECORDS}


def replace_pairs():
    rests = [t for n in range(4) for t in itertools.combinations_with_replacement(RECORDS, n)]
    return {(tuple(counts((*t, r))), tuple(counts((*t, s)))) for t in rests for r in RECORDS for s in RECORDS}


@pytest.mark.parametrize("noise", NOISES)
def test_counts_of_small_tables_under_both_relations(noise):
    """Half the scale is enough for counts under add_remove, and twice too small under replace."""
    monotone = NoisyMax(epsilon=1, sensitivity=1, noise=noise, monotone=True)
    general = NoisyMax(epsilon=1, sensitivity=1, noise=noise, relation="replace")
    assert general.scale == 2 * monotone.scale == 2
    assert worst_loss(monotone, add_remove_pairs()) <= 1 + 1e-12
    assert worst_loss(general, replace_pairs()) <= 1 + 1e-12
    assert worst_loss(general, add_remove_pairs()) <= 1 + 1e-12
    # The planted bug: the scale that is right for counts under add_remove, used under replace.
    assert worst_loss(monotone, replace_pairs()) > 1.2


def test_the_loss_of_too_small_a_scale_tends_to_two_epsilon():
    bug = NoisyMax(epsilon=1, sensitivity=1, noise="laplace", monotone=True)
    assert worst_loss(bug, [([0, 0], [1, -1])]) == pytest.approx(1.307, abs=1e-3)
    assert worst_loss(bug, [([0, 60], [1, 59])]) == pytest.approx(1.968, abs=1e-3)


def test_gumbel_noise_is_the_exponential_mechanism_and_exponential_noise_permute_and_flip():
    for scores in ([3, 3, 2, 3, 4], [0, 7], [Fraction(1, 3), 1, 5]):
        for monotone in (False, True):
            given = {"epsilon": 2, "sensitivity": 1, "monotone": monotone}
            gumbel, exponential = (NoisyMax(noise=n, **given).probabilities(scores) for n in ("gumbel", "exponential"))
            assert gumbel == Exponential(**given).probabilities(scores)
            assert exponential == PermuteAndFlip(**given).probabilities(scores)
            rate = float(Exponential(**given).rate)
            logits = np.array([rate * float(u) for u in scores])
            for r in range(len(scores)):  # the largest of logit + Gumbel noise, by integration
                others = np.delete(logits, r)

                def winning(v, at=logits[r], others=others):
                    return stats.gumbel_r.pdf(v - at) * np.prod(stats.gumbel_r.cdf(v - others))

                assert quad(winning, -40, 80, points=sorted(logits), limit=400)[0] == pytest.approx(gumbel[r], abs=1e-7)
    assert NoisyMax(epsilon=1, sensitivity=1, noise="gumbel").guarantee.zcdp().rho == Fraction(1, 8)
    assert NoisyMax(epsilon=1, sensitivity=1).guarantee.zcdp().rho > Fraction(46, 100)


@pytest.mark.parametrize("scores", [[3, 3, 2, 3, 4], [0, 0], [0, 1, 9], [5]])
def test_laplace_winning_probabilities_by_integration(scores):
    mechanism = NoisyMax(epsilon=1, sensitivity=1, noise="laplace")
    scale, found = float(mechanism.scale), mechanism.probabilities(scores)
    assert sum(found) == pytest.approx(1, abs=1e-15)
    for r, score in enumerate(scores):
        others = np.delete(np.array(scores, float), r)

        def winning(v, score=score, others=others):
            return stats.laplace.pdf(v, score, scale) * np.prod(stats.laplace.cdf(v, others, scale))

        integral, _ = quad(winning, -80, 90, points=sorted(set(scores)), limit=500)
        assert integral == pytest.approx(found[r], abs=1e-8)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", [CELLS, 2])
def test_the_race_has_the_law_and_a_scale_off_by_half_does_not(signed, width):
    """With two cells per unit of noise nearly every race is settled by further bits; the law is the same."""
    gaps = np.array([0, 1, 3, 3])
    noise = "laplace" if signed else "exponential"
    wins = np.bincount([largest(gaps, 1, Fraction(2), signed=signed, width=width) for _ in range(3000)], minlength=4)

    def p_value(epsilon):
        law = NoisyMax(epsilon=epsilon, sensitivity=1, noise=noise).probabilities([0, -1, -3, -3])
        return stats.chisquare(wins, np.array(law) / sum(law) * wins.sum()).pvalue

    assert p_value(1) > 1e-12
    assert p_value("1.5") < 1e-12


def test_close_races_are_settled_by_more_bits():
    """Scores that differ by less than a cell: every candidate is a contender, and each wins as often."""
    gaps = np.array([0, 1, 2])
    wins = np.bincount([largest(gaps, 10**40, Fraction(1, 10**3), signed=True) for _ in range(600)], minlength=3)
    assert stats.chisquare(wins).pvalue > 1e-12
    huge = np.array([0, 10**60, 1], object)
    tied = [largest(huge, 10**61, Fraction(1, 10**20), signed=True) for _ in range(300)]
    assert set(tied) == {0, 2}


def test_the_place_in_a_cell_has_a_falling_density():
    """With one cell per unit the density is e^-t/(1 - 1/e): mean 0.418, not 0.5."""

    def cdf(t):
        return np.expm1(-t) / math.expm1(-1)

    for bits in (64, 1):  # from one bit on, the coin and the place are refined together
        found = [place_in_cell(1, bits) for _ in range(5000)]
        for place in found:
            while place.bits < 32:
                place.refine()
        places = [float(place.ends()[0]) for place in found]
        assert stats.kstest(places, cdf).pvalue > 1e-12
        assert stats.kstest(places, "uniform").pvalue < 1e-9


def test_float_distances_are_as_good_as_the_race_assumes():
    for step in (Fraction(1, 3), Fraction(10**30, 7), Fraction(1, 10**30)):
        for gaps in (np.array([0, 1, 12345, 2**62]), np.array([0, 3, 10**25, 10**70], object)):
            for gap, found in zip(gaps, _distance(gaps, step), strict=True):
                exact = min(step * int(gap), Fraction(10**100))
                assert abs(Fraction(float(found)) - exact) <= exact / 2**50 + Fraction(1, 10**100) or exact > 10**99


def test_unknown_noise_is_refused():
    with pytest.raises(ParameterError, match="gumbel"):
        NoisyMax(epsilon=1, sensitivity=1, noise="gaussian")


def test_contenders_learn_bits_until_one_is_left():
    """Places 0.1000... and 0.1000...1...: equal for three rounds of bits, told apart by the fourth."""
    rounds = {"low": [0, 0, 0, 0], "high": [0, 0, 0, 1]}

    def contender(position, name, sign=1):
        bits = iter(rounds[name])
        return _Contender(position, Fraction(5), sign, LazyUniform(1, 1, lambda: (1, next(bits))))

    assert _settle([contender(0, "low"), contender(1, "high")]) == 1
    assert _settle([contender(0, "low", -1), contender(1, "high", -1)]) == 0
    assert _settle([contender(4, "low")]) == 4
