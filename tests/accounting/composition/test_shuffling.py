"""Shuffled reports: the bound is its definition, and no shuffled mechanism that can be enumerated spends more."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dither.accounting import ApproxDP, PureDP, closed_shuffle, shuffle, shuffle_inverse
from dither.accounting.composition import shuffling
from dither.accounting.composition.shuffling import shuffled_delta
from dither.errors import ParameterError


def by_definition(local, honest, epsilon):
    """The divergence between the two pairs of counts, summed over everything."""
    large, ratio, total = math.exp(local), math.exp(epsilon), 0.0
    bias = large / (large + 1)
    for clones in range(honest):
        weight = math.comb(honest - 1, clones) * large**-clones * (1 - 1 / large) ** (honest - 1 - clones)
        fair = [math.comb(clones, heads) / 2**clones for heads in range(clones + 1)]
        for heads in range(clones + 2):
            less, same = (fair[at] if 0 <= at <= clones else 0.0 for at in (heads - 1, heads))
            one, other = bias * less + (1 - bias) * same, (1 - bias) * less + bias * same
            total += weight * max(0.0, one - ratio * other)
    return total


def check_definition():
    for local, honest, epsilon in itertools.product((0.5, 1, 3), (1, 2, 3, 9, 60), (0, 0.05, 0.25, 0.45)):
        found = float(shuffled_delta(Fraction(local), honest, Fraction(str(epsilon))))
        exact = by_definition(local, honest, epsilon)
        assert exact * (1 - 1e-12) - 1e-16 <= found <= exact * (1 + 1e-12) + 1e-16


def test_the_bound_is_its_definition():
    check_definition()


@pytest.mark.parametrize(("local", "honest"), [(0.1, 2000), (3, 3000)])
def test_a_window_changes_nothing(local, honest):
    found = float(shuffled_delta(Fraction(str(local)), honest, Fraction(1, 100)))
    clone, bias, ratio = math.exp(-local), 1 / (1 + math.exp(-local)), math.exp(0.01)
    exact, chances = 0.0, binom.pmf(np.arange(honest), honest - 1, clone)
    for clones in np.flatnonzero(chances > 1e-20).tolist():
        heads = np.arange(clones + 2)
        less, same = binom.pmf(heads - 1, clones, 0.5), binom.pmf(heads, clones, 0.5)
        excess = bias * less + (1 - bias) * same - ratio * ((1 - bias) * less + bias * same)
        exact += chances[clones] * excess[excess > 0].sum()
    assert found == pytest.approx(exact, rel=1e-8)


def spent(local, values, others, epsilon):
    """What shuffled randomised responses spend on two neighbours: counts of reports, enumerated."""
    large = math.exp(local)

    def counts(answers):
        found = Counter()
        for reports in itertools.product(range(values), repeat=len(answers)):
            chance = math.prod(large if r == a else 1 for r, a in zip(reports, answers, strict=True))
            found[tuple(sorted(reports))] += chance / (large + values - 1) ** len(answers)
        return found

    one, other = counts((0, *others)), counts((1, *others))
    return sum(max(0.0, one[key] - math.exp(epsilon) * other[key]) for key in one)


def check_no_mechanism_spends_more(honest_of=lambda shuffled: shuffled):
    for local, values, shuffled in itertools.product((0.5, 1.5), (2, 3), (1, 2, 5)):
        for others in itertools.combinations_with_replacement(range(values), shuffled - 1):
            for epsilon in (0, 0.1, 0.4):
                stated = shuffled_delta(Fraction(local), honest_of(shuffled), Fraction(str(epsilon)))
                assert spent(local, values, others, epsilon) <= float(stated) * (1 + 1e-12)


def test_no_shuffled_response_spends_more():
    check_no_mechanism_spends_more()


def test_planted_made_up_participants_counted_as_honest():
    """Half of ten shuffled reports are those of the attacker, who takes them out again."""
    with pytest.raises(AssertionError):
        check_no_mechanism_spends_more(lambda shuffled: 4 * shuffled)


def test_planted_the_protected_report_counted_as_its_own_clone(monkeypatch):
    real = shuffled_delta
    monkeypatch.setitem(globals(), "shuffled_delta", lambda local, honest, at: real(local, honest + 1, at))
    with pytest.raises(AssertionError):
        check_definition()


def test_planted_clones_twice_as_likely(monkeypatch):
    real = shuffling._odds
    monkeypatch.setattr(shuffling, "_odds", lambda local: 2 * real(local))
    with pytest.raises(AssertionError):
        check_definition()


@pytest.mark.parametrize(("epsilon", "honest"), [("0.5", 1000), (1, 2000), (2, 10_000)])
def test_the_closed_form_is_larger_than_the_numerical_bound(epsilon, honest):
    stated = shuffle(PureDP(epsilon, "replace"), honest, "1e-4")
    assert isinstance(stated, ApproxDP)
    assert stated.epsilon < closed_shuffle(epsilon, honest, "1e-4")
    assert shuffled_delta(Fraction(epsilon), honest, stated.epsilon) <= stated.delta
    assert shuffled_delta(Fraction(epsilon), honest, stated.epsilon * Fraction(999, 1000)) > stated.delta


def test_the_closed_form_is_refused_where_it_does_not_hold():
    """ln(n / (16 ln(2/delta))) is 1.003 and 0.998."""
    assert closed_shuffle(1, 432, "0.0001") > 0
    with pytest.raises(ParameterError, match="closed form"):
        closed_shuffle(1, 430, "0.0001")


def test_what_is_not_amplified():
    assert shuffle(PureDP(50, "replace"), 100, "1e-6").epsilon == 50
    assert shuffle(PureDP(10**4, "replace"), 100, "1e-6").epsilon == 10**4
    assert shuffle(PureDP("0.1", "replace"), 10, "0.9").epsilon == 0
    for wrong in (PureDP(1), ApproxDP(1, "1e-6", relation="replace"), PureDP(0, "replace")):
        with pytest.raises(ParameterError):
            shuffle(wrong, 100, "1e-6")
    with pytest.raises(ParameterError):
        shuffle(PureDP(1, "replace"), 0, "1e-6")


@pytest.mark.parametrize(("epsilon", "honest"), [("0.3", 50), (1, 2000)])
def test_the_inverse_is_the_largest_local_epsilon(epsilon, honest):
    local = shuffle_inverse(epsilon, honest, "1e-4")
    assert local >= Fraction(epsilon)
    assert shuffled_delta(local, honest, epsilon) <= Fraction("1e-4")
    assert shuffled_delta(local * Fraction(1001, 1000), honest, epsilon) > Fraction("1e-4")
