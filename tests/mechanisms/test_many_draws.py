"""Many draws on the same data at once: the exact law, and run by run what a single draw makes of the same numbers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import mechanisms_checks_of_distributions as checks
import numpy as np
import pytest
from scipy import stats

from dither.lab.audit.draws.releases import releases
from dither.lab.registry.distributions import DISTRIBUTIONS
from dither.mechanisms import Exponential, ListedQuantiles, NoisyMax, PermuteAndFlip, Quantile, Quantiles
from dither.mechanisms.quantiles.rank_choice import RankChoice
from dither.mechanisms.quantiles.rank_window import sorted_column
from dither.mechanisms.scores import read_scores
from dither.mechanisms.selection import permute_and_flip, race

MANY = 200_000
FALSE_ALARM = 1e-9
SCORES = [3, 3, 1, 0, -2]


def p_value(draws, law):
    seen = np.bincount(draws, minlength=len(law))
    kept = np.array(law) > 0
    return float(stats.chisquare(seen[kept], len(draws) * np.array(law)[kept] / np.sum(law)).pvalue)


@pytest.mark.parametrize(
    "make",
    [
        Exponential,
        PermuteAndFlip,
        NoisyMax,
        lambda **rule: NoisyMax(noise="laplace", **rule),
        lambda **rule: NoisyMax(noise="gumbel", **rule),
    ],
)
def test_many_choices_have_the_exact_law(make):
    mechanism, weaker = make(epsilon=1, sensitivity=1), make(epsilon="1.05", sensitivity=1)
    draws = mechanism.draws(SCORES, MANY)
    assert p_value(draws, mechanism.probabilities(SCORES)) > FALSE_ALARM
    assert p_value(draws, weaker.probabilities(SCORES)) < FALSE_ALARM


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("width", [1, 2])
def test_races_that_cells_leave_open_are_decided_exactly(signed, width):
    """With so few cells nearly every race is settled by more bits."""
    mechanism = NoisyMax(epsilon=1, sensitivity=1, noise="laplace" if signed else "exponential")
    gaps = read_scores(SCORES).gaps
    draws = race.winners(gaps, 1, mechanism.scale, 6000, signed=signed, width=width)
    assert p_value(draws, mechanism.probabilities(SCORES)) > FALSE_ALARM
    first = np.bincount(draws[:3000], minlength=5), np.bincount(draws[3000:], minlength=5)
    assert abs(first[0] - first[1]).max() < 400


def test_every_race_is_its_own(monkeypatch):
    """The same cells and signs: a race among many has the winner that it has alone."""
    generator = np.random.default_rng(7)
    cells = generator.integers(0, 60, (500, 5)) * 1000 + generator.integers(0, 200, 5) * 5  # no two within a few cells
    coins = generator.integers(0, 2, (500, 5)).astype(np.uint8)
    gaps = read_scores(SCORES).gaps
    given = {}
    monkeypatch.setattr(race, "geometric", lambda _, size: given["cells"].reshape(-1).copy())
    monkeypatch.setattr(race, "random_words", lambda _, size: given["coins"].reshape(-1).copy())

    def run(which):
        given.update(cells=cells[which], coins=coins[which])
        return race.winners(gaps, 1, Fraction(2), len(cells[which]), signed=True, width=10_000).tolist()

    together = run(slice(None))
    alone = [run(slice(i, i + 1))[0] for i in range(500)]
    settled = sum(one != other for one, other in zip(together, alone, strict=True))
    assert settled <= 5  # only places in equal cells are drawn anew
    assert len(set(together)) == 5


def test_every_permutation_is_its_own(monkeypatch):
    """All ways in which five coins can fall, with every choice among the heads."""
    scores = read_scores(SCORES)
    heads = (np.arange(32)[:, None] >> np.arange(5)) & 1 > 0
    chosen = {}
    monkeypatch.setattr(permute_and_flip, "flip", lambda low, high, exactly: chosen["heads"].reshape(-1))
    for rank in range(5):
        monkeypatch.setattr(permute_and_flip, "each_below", lambda bounds, rank=rank: np.minimum(rank, bounds - 1))
        chosen["heads"] = heads
        together = PermuteAndFlip(epsilon=1, sensitivity=1)._draws(scores, 32)
        for row, found in zip(heads, together, strict=True):
            chosen["heads"] = row[None]
            assert PermuteAndFlip(epsilon=1, sensitivity=1)._draws(scores, 1)[0] == found
            wanted = np.flatnonzero(row | (scores.gaps == 0))
            assert found == wanted[min(rank, wanted.size - 1)]


@pytest.mark.parametrize("depth", [1, 110])
def test_many_quantiles_have_the_exact_law(depth):
    """Depth 1 proposes nearly every answer among the far codes, one by one."""
    records = [2, 3, 3, 7, 7, 9, 15, 15, 20]
    mechanism, weaker = (Quantile(epsilon=epsilon, q="0.4", lower=0, upper=24) for epsilon in (1, "1.2"))
    ranked = sorted_column(records, mechanism.grid, keep_missing=False)
    choice = RankChoice.of(ranked, mechanism.grid, mechanism.bands, mechanism.q, mechanism.rate, depth)
    draws = choice.draws(MANY if depth > 1 else 4000)
    assert p_value(draws, mechanism.probabilities(records)) > FALSE_ALARM
    if depth > 1:
        assert p_value(draws, weaker.probabilities(records)) < FALSE_ALARM


@pytest.mark.parametrize("listed", [False, True])
def test_many_runs_of_several_quantiles_agree_with_single_runs(listed):
    """Against the law of single runs, level by level: the first choice exactly, the pair by two samples."""
    records, several = [0, 1, 1, 4, 5], {"epsilon": 5, "q": ("0.3", "0.7")}
    mechanism = ListedQuantiles(candidates=range(6), **several) if listed else Quantiles(lower=0, upper=5, **several)
    many = releases(mechanism)(records, MANY)
    assert p_value(many[:, 1], mechanism.first_choice.probabilities(records)) > FALSE_ALARM
    single = Counter(mechanism.release(records).value for _ in range(800))
    joint = Counter(map(tuple, many.tolist()))
    seen = np.array([[single[pair], joint[pair]] for pair in joint if single[pair] + joint[pair] > 500])
    assert float(stats.chi2_contingency(seen.T).pvalue) > FALSE_ALARM
    assert not set(single) - set(joint)


SEVERAL = [
    (entry, example)
    for entry in DISTRIBUTIONS
    for example in entry.examples
    if entry.make in (Quantiles, ListedQuantiles)
]


@pytest.mark.parametrize(("entry", "example"), SEVERAL, ids=lambda given: getattr(given, "make", given))
def test_many_runs_of_two_quantiles_have_the_exact_joint_law(entry, example):
    """Enumerated over the choices and the noise of the counts; the law of another epsilon is told apart."""
    mechanism, other = entry.make(**example), entry.make(**example | {"epsilon": 6})
    many = len(mechanism.candidates) if entry.make is ListedQuantiles else mechanism.grid.size
    for records in ([0, 3, 3, 5], [2] * 8):
        drawn = releases(mechanism)(records, MANY // 2)  # codes and places both begin at 0
        places = drawn[:, 0] * many + drawn[:, 1]
        assert checks.p_value(places, checks.exact_distribution(mechanism)(records)) > checks.FALSE_ALARM
        assert checks.p_value(places, checks.exact_distribution(other)(records)) < checks.FALSE_ALARM
