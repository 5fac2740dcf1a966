"""Chi-square tests of values chosen in many groups at once: each group's own law, and no group's bits in another.

False alarms: a test fails a correct sampler with probability below 1e-9; an epsilon that is 3% off is rejected.
`DITHER_CAMPAIGN=100` multiplies the draws.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from dither.mechanisms import Exponential, Quantile
from dither.mechanisms.keys.groups import choose_values, seal_histogram
from dither.mechanisms.quantiles import group_choice

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
ALARM = 1e-11  # the chi-square tail is an approximation for counts; this leaves room below the promised 1e-9
OFF = Fraction(103, 100)
LOW, HIGH = -2, 17
# Next to each other: nothing, a few, far more, one value, both ends, all over.
KINDS = [
    {},
    {3: 9, 5: 6},
    {3: 400, 4: 402, 9: 399},
    {0: 8},
    {-2: 9, 17: 9},
    {-2: 5, 2: 11, 6: 5, 7: 8, 14: 5},
]
EPSILON = {"mode": Fraction(3, 4), "median": Fraction(1, 2)}


def mechanism_of(name, epsilon):
    if name == "mode":
        return Exponential(epsilon=epsilon, sensitivity=1)
    return Quantile(epsilon=epsilon, q="0.5", lower=LOW, upper=HIGH)


def drawn(mechanism, repeats):
    """For each kind, the values of as many groups as there are repeats, all kinds by turns in one release."""
    lines = [(kind, code, count) for kind, group in enumerate(KINDS) for code, count in group.items()]
    places, codes, counts = np.array(lines).T
    turns = np.arange(repeats)[:, None] * len(KINDS)
    sealed = seal_histogram([], (turns + places).ravel(), np.tile(codes, repeats), np.tile(counts, repeats))
    return choose_values(sealed, mechanism, repeats * len(KINDS), LOW, HIGH).reshape(repeats, -1) - LOW


def law(mechanism, group):
    if isinstance(mechanism, Exponential):
        return np.array(mechanism.probabilities([group.get(code, 0) for code in range(LOW, HIGH + 1)]))
    return np.array(mechanism.probabilities([code for code, count in group.items() for _ in range(count)]))


def p_value(seen, expected):
    """Cells that are expected fewer than 50 times are counted as one."""
    rare = expected < 50
    seen, expected = (np.append(part[~rare], part[rare].sum()) for part in (seen, expected))
    if expected[-1] < 1:
        return 0.0 if seen[-1] > 40 else p_of(seen[:-1], expected[:-1])
    return p_of(seen, expected)


def p_of(seen, expected):
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), max(1, expected.size - 1)))


@pytest.mark.parametrize("name", EPSILON)
def test_every_group_has_its_own_law_and_an_epsilon_off_by_3_percent_does_not(name):
    mechanism, off = mechanism_of(name, EPSILON[name]), mechanism_of(name, EPSILON[name] * OFF)
    repeats = 250_000 * CAMPAIGN
    values, wrong = drawn(mechanism, repeats), drawn(off, repeats)
    shown = 0
    for kind, group in enumerate(KINDS):
        right = law(mechanism, group)
        assert p_value(np.bincount(values[:, kind], minlength=right.size), right * repeats) > ALARM
        # How far the statistic is moved by an epsilon that is off; in an empty group no epsilon shows.
        if repeats * ((right - law(off, group)) ** 2 / right).sum() > 350:
            shown += 1
            assert p_value(np.bincount(wrong[:, kind], minlength=right.size), right * repeats) < ALARM
    assert shown


def check_independent(mechanism, repeats):
    """The values of neighbouring groups, and of a group and the same one of the next turn, fill a table of products."""
    values = drawn(mechanism, repeats)
    for one, other, shift in ((0, 1, 0), (1, 2, 0), (4, 5, 0), (5, 5, 1), (1, 1, 1), (0, 0, 1)):
        left, right = values[: repeats - shift, one], values[shift:, other]
        cells = HIGH - LOW + 1
        expected = np.outer(law(mechanism, KINDS[one]), law(mechanism, KINDS[other])).ravel() * left.size
        assert p_value(np.bincount(left * cells + right, minlength=cells**2), expected) > ALARM


@pytest.mark.parametrize("name", EPSILON)
def test_groups_do_not_share_randomness(name):
    check_independent(mechanism_of(name, EPSILON[name]), 100_000 * CAMPAIGN)


@pytest.mark.parametrize("name", EPSILON)
def test_planted_two_groups_with_the_same_words(monkeypatch, name):
    real = group_choice.keystream

    def shared(size):
        fill = real(size)

        def twice(array):
            fill(array)
            array[1::2] = array[: array.size - 1 : 2][: array[1::2].size]

        return twice

    monkeypatch.setattr(group_choice, "keystream", shared)
    with pytest.raises(AssertionError):
        check_independent(mechanism_of(name, EPSILON[name]), 100_000)


def test_wide_domains_are_uniform_where_nobody_is():
    """What no row has is one stretch after the other: between them by their widths, and within them evenly."""
    low, high, repeats = 0, (1 << 40) - 1, 200_000
    codes = np.array([1 << 36, 1 << 39, (1 << 39) + 1])
    sealed = seal_histogram([], np.repeat(np.arange(repeats), 3), np.tile(codes, repeats), np.ones(3 * repeats, int))
    values = choose_values(sealed, Exponential(epsilon=1, sensitivity=1), repeats, low, high)
    expected = np.full(64, repeats / 64)
    assert p_value(np.bincount(values >> 34, minlength=64), expected) > ALARM
    assert p_value(np.bincount(values & 63, minlength=64), expected) > ALARM
    # Power: stretches that are as likely as each other.
    even = np.concatenate([np.arange(repeats // 2) % 4, np.arange(repeats // 2) % 64])
    assert p_value(np.bincount(even, minlength=64), expected) < ALARM
