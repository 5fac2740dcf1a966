"""Choices of many groups at once against the single mechanisms: the exact law, bit for bit, and planted bugs."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.exact.balls import ball
from dither.exact.precision import precision
from dither.mechanisms import Exponential, Quantile, weights
from dither.mechanisms.codes import Grid
from dither.mechanisms.probabilities import certified
from dither.mechanisms.quantiles import group_choice
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.quantiles.group_choice import GroupChoice, Masses
from dither.mechanisms.quantiles.histograms import Histograms
from dither.noise.lazy_uniform import fresh_uniform

LOW, HIGH = -3, 21
# Nothing, one value, all in one code, both ends, neighbours, many and few side by side, and counts that end all doubt.
GROUPS = [
    {},
    {4: 1},
    {4: 7},
    {-3: 1, 21: 1},
    {5: 2, 6: 3, 7: 2},
    {code: 1 + code % 4 for code in range(LOW, HIGH + 1)},
    {},
    {0: 10**12, 1: 1},
    {2: 30, 11: 31},
]
MECHANISMS = {
    "mode": Exponential(epsilon="0.4", sensitivity=1),
    "mode, monotone": Exponential(epsilon=3, sensitivity=2, monotone=True),
    "mode, dear": Exponential(epsilon=400, sensitivity=1),
    "mode, cheap": Exponential(epsilon="1e-12", sensitivity=1),
    "median": Quantile(epsilon="0.7", q="0.5", lower=LOW, upper=HIGH),
    "last": Quantile(epsilon="0.7", q="0.99", lower=LOW, upper=HIGH, relation="owner", rows_per_owner=3),
    "awkward": Quantile(epsilon=2, q="0.123456789123456789", lower=LOW, upper=HIGH),
    "dear": Quantile(epsilon=900, q="1/3", lower=LOW, upper=HIGH),
    "cheap": Quantile(epsilon="1e-9", q="0.2", lower=LOW, upper=HIGH),
}


def histograms(groups, low=LOW, high=HIGH):
    lines = [(place, code, count) for place, group in enumerate(groups) for code, count in group.items()]
    places, codes, counts = np.array(lines, np.int64).reshape(-1, 3)[::-1].T
    return Histograms.of(places, codes, counts, len(groups), low, high)


def choice_of(mechanism, groups=GROUPS, low=LOW, high=HIGH):
    lines = histograms(groups, low, high)
    if isinstance(mechanism, Quantile):
        return GroupChoice.of(lines.by_rank(mechanism.q, mechanism.rate), Masses(mechanism.bands, high))
    masses = Masses(Bands.even(Grid(Fraction(1), low, high)), high)
    return GroupChoice.of(lines.by_count(mechanism.rate), masses)


def single_law(mechanism, group):
    """Of the mechanism by itself on one group."""
    if isinstance(mechanism, Exponential):
        return mechanism.probability_bounds([group.get(code, 0) for code in range(LOW, HIGH + 1)])
    if max(group.values(), default=0) < 100:
        return mechanism.probability_bounds([code for code, count in group.items() for _ in range(count)])
    # Too many records to list: from the definition.
    size, before, weight = sum(group.values()), 0, []
    doublings = mechanism.bands.at(np.arange(LOW, HIGH + 1)).tolist()
    for code, doubling in zip(range(LOW, HIGH + 1), doublings, strict=True):
        upto = before + group.get(code, 0)
        weight.append((doubling, max(Fraction(0), before - mechanism.q * size, mechanism.q * size - upto)))
        before = upto
    return certified(lambda: shares([(-ball(mechanism.rate * far)).exp() * (1 << two) for two, far in weight]))


def shares(parts):
    total = sum(parts, ball(0))
    return [part / total for part in parts]


def law_of_draws(choice, group):
    """What `draw` does, one group after the other: places of each run, its coin, and the codes of its mass."""
    codes, parts = [], []
    for run in range(int(choice.runs.cuts[group]), int(choice.runs.cuts[group + 1])):
        before = choice.cumulative[run] - np.uint64(choice.units[run]) - choice.before[group]
        ends = np.array([before, before + np.uint64(choice.units[run] - 1)]).astype(np.int64)
        assert choice.located(np.array([group, group]), ends).tolist() == [run, run], "its places are its own"
        first, last = choice.masses.before(np.array([choice.runs.starts[run], choice.runs.ends[run]])).tolist()
        for code in choice.masses.at(np.arange(first, last)).tolist():
            codes.append(code)
            parts.append((run, last - first))
    assert int(choice.totals[group]) == sum(
        choice.units[choice.runs.cuts[group] : choice.runs.cuts[group + 1]].tolist()
    )

    def evaluate():
        found = dict.fromkeys(range(LOW, HIGH + 1), ball(0))
        for code, (run, mass) in zip(codes, parts, strict=True):
            found[code] += int(choice.units[run]) * choice.share(group, run) / mass
        return shares(list(found.values()))

    return certified(evaluate)


def check_law(mechanism, choice):
    for group, held in enumerate(GROUPS):
        for one, other in zip(law_of_draws(choice, group), single_law(mechanism, held), strict=True):
            assert max(abs(one[0] - other[1]), abs(one[1] - other[0])) < Fraction(1, 2**60)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_law_of_each_group_is_that_of_the_mechanism_by_itself(name):
    check_law(MECHANISMS[name], choice_of(MECHANISMS[name]))


@pytest.mark.parametrize("name", MECHANISMS)
def test_coins_are_probabilities_within_their_bounds(name):
    choice = choice_of(MECHANISMS[name])
    sizes = np.diff(choice.runs.cuts)
    groups, runs = np.repeat(np.arange(sizes.size), sizes), np.arange(choice.units.size)
    low, high = choice.shares(groups, runs)
    with precision(256):
        for i in runs.tolist():
            share = choice.share(int(groups[i]), i)
            assert ball(Fraction(float(low[i]))) <= share <= ball(Fraction(float(high[i])))
            assert share <= 1
    assert (choice.totals < 1 << 61).all()


# A function of the random words


class Words:
    """A source of words that notes how many were asked for."""

    def __init__(self, seed):
        self.random, self.sizes = np.random.default_rng(seed), []

    def __call__(self, array):
        self.sizes.append(array.size)
        array[:] = self.random.integers(0, 1 << 64, array.size, np.uint64)

    def list(self, size):
        words = np.empty(size, np.uint64)
        self(words)
        return words.tolist()


def no_more_bits():
    raise AssertionError("64 bits decide every coin of these tests")


def below(bounds, words):
    """Uniform numbers below some bounds: each the top bits of a word of its own, until it is small enough."""
    out, pending = [0] * len(bounds), [i for i, bound in enumerate(bounds) if bound > 1]
    while pending:
        drawn, again = words.list(len(pending)), []
        for i, word in zip(pending, drawn, strict=True):
            out[i] = word >> (64 - math.frexp(float(bounds[i] - 1))[1])
            if out[i] >= bounds[i]:
                again.append(i)
        pending = again
    return out


def plain_draw(choice, words):
    """The same choices by plain loops and exact numbers, a word of its own for each group and step."""
    runs = choice.runs
    pending, chosen = list(range(runs.cuts.size - 1)), {}
    while pending:
        of = {g: range(int(runs.cuts[g]), int(runs.cuts[g + 1])) for g in pending}
        places = below([sum(int(choice.units[i]) for i in of[g]) for g in pending], words)
        coins, again = words.list(len(pending)), []
        for g, place, coin in zip(pending, places, coins, strict=True):
            for i in of[g]:
                if place < int(choice.units[i]):
                    break
                place -= int(choice.units[i])
            with precision(256):
                kept = ball(Fraction(coin, 1 << 64)) < choice.share(g, i)
            if kept:
                chosen[g] = i
            else:
                again.append(g)
        pending = again
    picked = [chosen[g] for g in range(len(chosen))]
    inside = below([int(choice.mass[i]) for i in picked], words)
    found = []
    for i, place in zip(picked, inside, strict=True):
        for code in range(int(runs.starts[i]), int(runs.ends[i])):
            weight = 1 << int(choice.masses.bands.at(np.array([code]))[0])
            if place < weight:
                break
            place -= weight
        found.append(code)
    return found


def check_draws(choice):
    for seed in range(60):
        ours, plain = Words(seed), Words(seed)
        assert choice.draw(ours, no_more_bits).tolist() == plain_draw(choice, plain)
        assert ours.sizes == plain.sizes


def vague(choice):
    """The same proposals, and coins of which floats say nothing, so that each is decided by its exact probability."""
    nothing = np.zeros(choice.units.size)
    return dataclasses.replace(
        choice, weights=dataclasses.replace(choice.weights, lower=nothing, upper=nothing + 2.0**40)
    )


def check_floats_decide_nothing(choice):
    """Whether floats or balls decide a coin, the choice is the same function of the random words."""
    for seed in range(60):
        assert choice.draw(Words(seed), no_more_bits).tolist() == vague(choice).draw(Words(seed), no_more_bits).tolist()


MANY = GROUPS * 4


def often_rejected(mechanism):
    """Units twice as large as they need to be: every other proposal is rejected."""
    choice = choice_of(mechanism, MANY)
    return dataclasses.replace(choice, exponents=choice.exponents - 1)


@pytest.mark.parametrize("name", MECHANISMS)
def test_draws_are_those_of_plain_loops_on_the_same_words(name):
    check_draws(choice_of(MECHANISMS[name], MANY))
    check_draws(often_rejected(MECHANISMS[name]))


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_floats_leave_open_is_decided_by_the_same_bits(name):
    check_floats_decide_nothing(often_rejected(MECHANISMS[name]))


@pytest.mark.parametrize("name", ["mode", "median"])
def test_more_bits_of_the_same_number_decide_at_the_very_threshold(name):
    choice = dataclasses.replace(choice_of(MECHANISMS[name]), exponents=choice_of(MECHANISMS[name]).exponents - 1)
    group, run = np.array([5]), choice.runs.cuts[5:6] + 3
    with precision(256):
        threshold = int((choice.share(5, int(run[0])) * ball(1 << 64)).floor().unique_fmpz())
    assert 0 < threshold < 1 << 64

    def coin(word, more):
        def fill(array):
            array[:] = word

        return bool(choice.kept(group, run, fill, lambda: (32, more))[0])

    ones = (1 << 32) - 1
    assert [coin(threshold, 0), coin(threshold, ones)] == [True, False]
    assert [coin(threshold - 1, ones), coin(threshold + 1, 0)] == [True, False]


def test_a_public_weight_is_as_many_places():
    for grid, q in [((-40, 100), "0.9"), ((0, 7), "0.5"), ((-9, -9), "0.5"), ((1 << 60, (1 << 60) + 999), "0.1")]:
        grid = Grid(Fraction(1), *grid)
        masses = Masses(Bands.of(grid, Fraction(q)), grid.last)
        codes = np.arange(grid.first, grid.last + 1)
        found = masses.at(np.arange(masses.bands.total))
        assert (found == np.repeat(codes, 1 << masses.bands.at(codes))).all()
        assert masses.before(codes).tolist() == np.searchsorted(found, codes).tolist()
        assert masses.before(np.array([grid.last + 1])).tolist() == [masses.bands.total]


def test_more_mass_than_64_bits_hold():
    grid = Grid(Fraction(1), -(1 << 60), (1 << 61) - 1)
    bands = Bands.of(grid, Fraction(9, 10))
    assert bands.total > 1 << 63
    masses = Masses(bands, grid.last)
    codes = np.array([grid.first, -5, 0, 7, 1 << 56, grid.last])
    places = masses.before(codes)
    assert masses.at(places).tolist() == codes.tolist()
    assert masses.at(masses.before(codes + 1) - 1).tolist() == codes.tolist()
    assert int(masses.before(np.array([grid.last + 1]))[0]) == bands.total
    mechanism = Quantile(epsilon=1, q="0.9", lower=grid.first, upper=grid.last)
    lines = histograms([{5: 40}, {}, {grid.last: 10**6}, {-(1 << 60): 3, 17: 10**6}], grid.first, grid.last)
    choice = GroupChoice.of(lines.by_rank(mechanism.q, mechanism.rate), masses)
    drawn = np.array([choice.draw() for _ in range(40)])
    assert (drawn[:, 2:] == [grid.last, 17]).all()
    assert len(set(drawn[:, 1].tolist())) > 30


# Planted bugs


@pytest.mark.parametrize("name", ["mode", "median"])
def test_planted_a_fresh_number_where_the_first_is_not_enough(monkeypatch, name):
    """A coin that floats leave open is thrown again: it is right only where floats never leave one open."""
    real = weights.is_below
    monkeypatch.setattr(weights, "is_below", lambda _, threshold: real(fresh_uniform(), threshold))
    with pytest.raises(AssertionError):
        check_floats_decide_nothing(often_rejected(MECHANISMS[name]))


@pytest.mark.parametrize("name", ["mode", "median"])
def test_planted_one_random_number_for_all_groups(monkeypatch, name):
    def shared(bounds, fill=None):
        return (group_choice.np.full(bounds.size, 12345) % bounds).astype(np.int64)

    monkeypatch.setattr(group_choice, "each_below", shared)
    with pytest.raises(AssertionError):
        check_draws(choice_of(MECHANISMS[name], MANY))


@pytest.mark.parametrize("moved", [-1, 1])
@pytest.mark.parametrize("name", ["mode", "median"])
def test_planted_a_group_that_begins_and_ends_one_run_off(monkeypatch, name, moved):
    real = GroupChoice.located

    def off(self, groups, places):
        cuts = self.runs.cuts.copy()
        cuts[1:-1] += moved
        return real(dataclasses.replace(self, runs=dataclasses.replace(self.runs, cuts=cuts)), groups, places)

    monkeypatch.setattr(GroupChoice, "located", off)
    with pytest.raises(AssertionError):
        check_law(MECHANISMS[name], choice_of(MECHANISMS[name]))


@pytest.mark.parametrize("name", ["mode", "median"])
def test_planted_codes_that_nobody_has_cannot_win(monkeypatch, name):
    """Only records are runs: what no row has is then impossible, and one row more makes it possible."""
    real = Histograms._runs

    def records_only(self, gaps, rate):
        runs = real(self, gaps, rate)
        groups = np.repeat(np.arange(runs.cuts.size - 1), np.diff(runs.cuts))
        kept = np.ones(groups.size, bool)
        for g in range(runs.cuts.size - 1):
            held = self.codes[self.cuts[g] : self.cuts[g + 1]]
            if held.size:
                kept[groups == g] = (
                    np.isin(runs.starts[groups == g], held) & (runs.ends - runs.starts == 1)[groups == g]
                )
        cuts = np.concatenate([[0], np.cumsum(kept)])[runs.cuts]
        return dataclasses.replace(
            runs, cuts=cuts, starts=runs.starts[kept], ends=runs.ends[kept], gaps=runs.gaps[kept]
        )

    monkeypatch.setattr(Histograms, "_runs", records_only)
    with pytest.raises(AssertionError):
        check_law(MECHANISMS[name], choice_of(MECHANISMS[name]))


def test_planted_a_coin_thrown_again_until_it_keeps():
    """Whatever is proposed is taken: then the whole numbers decide, which only bound the weights."""
    mechanism = MECHANISMS["median"]
    choice = choice_of(mechanism)
    bounds = choice.units.copy()
    bounds[choice.runs.cuts[:-1]] *= 2  # still bounds, and the law stays the same
    looser = dataclasses.replace(choice, units=bounds)
    check_law(mechanism, looser)

    class Taken(GroupChoice):
        def share(self, group, run):
            return ball(1)

    taken = Taken(looser.runs, looser.masses, looser.mass, looser.weights, looser.exponents, looser.units)
    with pytest.raises(AssertionError):
        check_law(mechanism, taken)
