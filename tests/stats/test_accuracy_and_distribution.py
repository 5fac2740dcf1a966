"""What is published: the exact statistic where noise vanishes, neighbours within the sensitivity, honest intervals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dither import stats
from dither.mechanisms import Laplace, PermuteAndFlip, SmoothCauchy
from dither.sensitivity.order.order_statistic import quantile as quantile_sensitivity
from dither.sensitivity.order.trimmed_mean import trimmed_mean as trimmed_sensitivity
from dither.stats.columns import exact_sum, exact_sum_of_squares
from dither.stats.moments import _variance_of, _variance_range
from dither.stats.price import Price
from dither.stats.smooth_noise import smooth_estimate

LOUD = {"epsilon": 500}  # noise of about no step at all: what is published is the exact statistic
VALUES = (-3, 0, 1, 4, 9, 14)
BOUNDS = {"lower": 0, "upper": 10}
DRAWS = 400


def neighbours(relation, most=3):
    for n in range(most + 1):
        for table in itertools.combinations_with_replacement(VALUES, n):
            if relation == "add_remove":
                for value in VALUES:
                    yield list(table), [*table, value]
            else:
                for i, value in itertools.product(range(n), VALUES):
                    yield list(table), [*table[:i], value, *table[i + 1 :]]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("function", ["count", "sum"])
def test_neighbours_differ_by_at_most_what_is_paid_for(function, relation):
    run = {"count": stats.count, "sum": lambda x, **price: stats.sum(x, **BOUNDS, grid=1, **price)}[function]
    paid = run([1], relation=relation, epsilon=1).scale
    widest = 0
    for one, two in neighbours(relation):
        left, right = (run(list(x), relation=relation, **LOUD).value for x in (one, two))
        widest = max(widest, abs(left - right))
    # Under replace a count of records that are all there cannot move; what could is a record that is missing.
    assert widest == (0 if (function, relation) == ("count", "replace") else paid)


def test_the_exact_statistics():
    x = [-3, 0.25, 1, 4, 9.5, 14, None]
    kept = [0, 0.25, 1, 4, 9.5, 10]
    # Its two sums are 40 steps wide: at epsilon 500 one in 10^5 would be off by a step.
    assert stats.mean(x, **BOUNDS, grid="0.25", epsilon=1500).value == pytest.approx(np.mean(kept), abs=1e-3)
    assert stats.variance(x, **BOUNDS, grid="0.25", **LOUD).value == pytest.approx(np.var(kept), abs=0.3)
    same = stats.variance(x[:-1], **BOUNDS, grid="0.25", relation="replace", **LOUD).value
    assert same == pytest.approx(np.var(kept), abs=0.3)
    assert stats.histogram(x, edges=[0, 1, 4, 10], **LOUD).value == {0: 1, 1: 1, 2: 2}
    assert stats.histogram(np.array([0.0, 1, 1, 4, 10, 11, np.nan]), edges=[0, 1, 4, 10], **LOUD).value == {
        0: 1,
        1: 2,
        2: 2,
    }
    assert stats.histogram(["a", "b", "a", "z"], categories=["a", "b", "c"], **LOUD).value == {"a": 2, "b": 1, "c": 0}
    assert stats.ratio([1, 0, 1, 1], [1, 1, 1, 0], **LOUD).value == pytest.approx(2 / 3)
    assert stats.reciprocal([1, 2, 3, 4], **LOUD).value == 0.25
    assert stats.trimmed_mean([0, 4, 5, 10], "0.25", **BOUNDS, **LOUD).value == pytest.approx(4.5, abs=1e-3)
    assert stats.top_k([1, 1, 1, 2, 2, 3], 2, categories=[1, 2, 3], **LOUD).value == [1, 2]


def test_sums_do_not_overflow():
    big = np.full(1000, 2**62 - 1, np.int64)
    found = stats.sum(big, lower=0, upper=2**60, epsilon=500)
    assert found.value == pytest.approx(1000 * 2**60, rel=1e-4), "within 50 times the scale of the noise"


@pytest.mark.parametrize("value", [2**62 - 1, -(2**62), 2**63 - 1, -(2**63), 1_800_000_000_000_000_000, 2**32 - 1, -1])
def test_sums_of_very_many_records_do_not_overflow(value):
    size = 2**23 + 7
    assert exact_sum(np.broadcast_to(np.int64(value), size)) == size * value
    mixed = np.array([value, 5, -7, 2**62 - 1, -(2**61)])
    assert exact_sum(mixed) == sum(mixed.tolist())
    assert exact_sum(mixed[:0]) == 0


@pytest.mark.parametrize("value", [10**9, 2**31 - 1, 2**31, 2**40 + 3, 2**62 - 1])
def test_sums_of_very_many_squares_do_not_overflow(value):
    size = 10**7
    assert exact_sum_of_squares(np.broadcast_to(np.int64(value), size)) == size * value**2
    mixed = np.array([0, 1, value, value // 3, 2**20 - 1])
    assert exact_sum_of_squares(mixed) == sum(v * v for v in mixed.tolist())


def test_a_published_sum_of_many_large_records_is_near_the_exact_one():
    """A sum that wraps around would let one record move it by far more than its bounds."""
    value, size = 1_800_000_000_000_000_000, 6_000_000
    found = stats.sum(np.broadcast_to(np.int64(value), size), lower=0, upper=2 * 10**18, epsilon=500)
    assert found.value == pytest.approx(size * value, rel=1e-5)


def test_the_count_has_the_law_of_its_noise_and_other_noise_is_told_apart():
    data = np.ones(100, bool)
    draws = np.array([stats.count(data, epsilon=1).value for _ in range(8_000)]) - 100
    reach = 6
    cells = np.clip(draws, -reach, reach)

    def p_value(epsilon):
        pmf = np.array([float(Laplace(epsilon=epsilon, sensitivity=1).pmf(k)[1]) for k in range(-reach, reach + 1)])
        pmf[0] = pmf[-1] = (1 - pmf[1:-1].sum()) / 2
        seen = np.bincount(cells + reach, minlength=2 * reach + 1)
        return chi2.sf(((seen - pmf * draws.size) ** 2 / (pmf * draws.size)).sum(), 2 * reach)

    assert p_value(1) > 1e-12
    assert p_value("1.2") < 1e-12


CASES = {
    "count": (lambda x, **p: stats.count(x, **p), lambda x: x.size),
    "sum": (lambda x, **p: stats.sum(x, lower=0, upper=10**5, **p), lambda x: np.clip(x, 0, 10**5).sum()),
    "mean": (lambda x, **p: stats.mean(x, lower=0, upper=10**5, **p), lambda x: np.clip(x, 0, 10**5).mean()),
    "variance": (lambda x, **p: stats.variance(x, lower=0, upper=10**5, **p), lambda x: np.clip(x, 0, 10**5).var()),
    "ratio": (
        lambda x, **p: stats.ratio(x > 40_000, x > 20_000, **p),
        lambda x: (x > 40_000).sum() / (x > 20_000).sum(),
    ),
    "reciprocal": (lambda x, **p: stats.reciprocal(x, **p), lambda x: 1 / x.size),
}


def test_the_check_of_coverage_tells_intervals_that_cover_too_seldom(covered):
    least = min(successes for successes in range(DRAWS + 1) if covered(successes, DRAWS, 0.9))
    assert binom.cdf(least - 1, DRAWS, 0.9) <= 1e-7  # false alarms
    assert binom.sf(least - 1, DRAWS, 0.75) < 2e-3  # an interval at 0.9 that covers three in four is found out
    assert covered(least, DRAWS, 0.9)
    assert not covered(least - 1, DRAWS, 0.9)
    with pytest.raises(ValueError, match="too little"):
        covered(60, 60, 0.9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_intervals_cover(name, relation, salaries, covered):
    run, truth = CASES[name]
    for price in ({"epsilon": "0.2"}, {"rho": "0.01"}):
        for size in (20, 5000):
            data, inside, widths = salaries[:size], 0, []
            exact = truth(data)
            for _ in range(DRAWS):
                low, high = run(data, relation=relation, **price).interval("0.9")
                inside += low - 1e-6 * abs(low) <= exact <= high + 1e-6 * abs(high)
                widths.append(high - low)
            assert covered(inside, DRAWS, 0.9)
            assert min(widths) >= 0


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": "0.2"}, {"rho": "0.01"}], ids=str)
def test_intervals_of_histograms_cover_all_cells_at_once(relation, price, covered):
    data, draws = np.repeat(np.arange(10), 20), DRAWS
    inside = 0
    for _ in range(draws):
        low, high = stats.histogram(data, categories=list(range(10)), relation=relation, **price).interval("0.9")
        inside += all(low[cell] <= 20 <= high[cell] for cell in range(10))
    assert covered(inside, draws, 0.9)


@pytest.mark.parametrize(
    ("method", "relation"),
    [
        ("exponential", "add_remove"),
        ("exponential", "replace"),
        ("smooth", "replace"),
        ("student", "replace"),
        ("lomax", "replace"),
    ],
)
def test_bought_intervals_of_quantiles_cover(relation, method, salaries, covered):
    for q, size in (("0.5", 5000), ("0.9", 5000), ("0.5", 31)):
        data, inside = salaries[:size], 0
        truth = np.sort(data)[math.ceil(Fraction(q) * size) - 1]
        options = {"lower": 0, "upper": 10**6, "interval": True, "confidence": "0.9", "method": method}
        for _ in range(DRAWS):
            low, high = stats.quantile(data, q, epsilon=1, relation=relation, **options).interval("0.9")
            inside += low - 1e-3 <= truth <= high + 1e-3
        assert covered(inside, DRAWS, 0.9)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_bought_intervals_among_candidates_cover(relation, salaries, covered):
    """However the candidates lie: the ends are found among the gaps between them too."""
    lists = [np.linspace(0, 10**5, 501), [10, 40_000], [10**6], [1, 2, 3]]
    for q, size, candidates in zip(("0.5", "0.9", "0.5", "0.5"), (5000, 5000, 31, 500), lists, strict=True):
        data, inside, finite = salaries[:size], 0, 0
        truth = np.sort(data)[math.ceil(Fraction(q) * size) - 1]
        for _ in range(DRAWS):
            found = stats.quantile(
                data, q, epsilon=1, relation=relation, candidates=candidates, interval=True, confidence="0.9"
            )
            low, high = found.interval("0.9")
            assert low <= found.value <= high
            assert found.value in candidates
            inside += low <= truth <= high
            finite += math.isfinite(high - low)
        assert covered(inside, DRAWS, 0.9)
        assert (finite == DRAWS) == (len(candidates) == 501)


@pytest.mark.parametrize(("relation", "price"), [("add_remove", {"epsilon": 2}), ("replace", {"rho": "0.1"})])
@pytest.mark.parametrize("answers", [{"lower": 0, "upper": 10**6}, {"candidates": range(0, 200_000, 1000)}], ids=str)
def test_bought_intervals_of_several_quantiles_cover_all_at_once(relation, price, answers, salaries, covered):
    wanted, inside = ["0.1", "0.5", "0.8"], 0
    truth = [np.sort(salaries)[math.ceil(Fraction(q) * salaries.size) - 1] for q in wanted]
    for _ in range(DRAWS):
        found = stats.quantiles(
            salaries, wanted, relation=relation, interval=True, confidence="0.9", **answers, **price
        )
        low, high = found.interval("0.9")
        assert list(found.value) == sorted(found.value)
        assert all(a <= value <= b for a, value, b in zip(low, found.value, high, strict=True))
        inside += all(a - 1e-3 <= right <= b + 1e-3 for a, right, b in zip(low, truth, high, strict=True))
    assert covered(inside, DRAWS, 0.9)
    assert 0 < low[1] < high[1] < 10**5


def test_bought_intervals_of_reciprocals_cover(covered):
    for size in (3, 40, 2000):
        inside = 0
        for _ in range(DRAWS):
            options = {"at_least": 5, "method": "smooth", "interval": True, "confidence": "0.9"}
            low, high = stats.reciprocal(range(size), epsilon=1, **options).interval("0.9")
            inside += low <= 1 / max(size, 5) <= high
        assert covered(inside, DRAWS, 0.9)


def test_bought_intervals_of_trimmed_means_cover(salaries, covered):
    data = salaries[:400]
    truth = np.sort(data)[40:-40].mean()
    for price in ({"epsilon": 2}, {"epsilon": 2, "delta": "1e-6"}, {"rho": "0.5"}):
        inside = 0
        for _ in range(DRAWS):
            estimate = stats.trimmed_mean(data, "0.1", lower=0, upper=10**6, interval=True, confidence="0.9", **price)
            low, high = estimate.interval("0.9")
            inside += low <= truth <= high
        assert covered(inside, DRAWS, 0.9)


@pytest.mark.parametrize(
    "statistic", [quantile_sensitivity("0.5"), trimmed_sensitivity(100_000)], ids=["median", "trimmed mean"]
)
def test_bought_intervals_cover_where_the_smooth_sensitivity_is_next_to_nothing(statistic, covered):
    """Of equal records it is far below a grid step; the noise of a small epsilon is several grid steps all the same."""
    price, draws = Price.read("0.001", None, None, "replace"), DRAWS
    noise = SmoothCauchy(epsilon=price.choosing_epsilon * 2 / 3, lower=0, upper=100, grid=1)
    found = statistic.with_smooth(np.full(250_000, 50), noise.beta, 0, 100)
    assert found[1] < Fraction(1, 10**12)

    class Read:  # the same records in each draw, read once
        def with_smooth(self, *_):
            return found

    def ends():
        return smooth_estimate(
            Read(), None, price, (0, 100), Fraction(1), lambda _: noise, interval=True, sure=Fraction(9, 10)
        ).interval("0.9")

    assert covered(sum(low <= 50 <= high for low, high in (ends() for _ in range(draws))), draws, 0.9)


def test_the_range_of_the_variance_holds_every_variance_of_the_box():
    rng = np.random.default_rng(3)
    for _ in range(200):
        lows = [Fraction(int(v), 10) for v in rng.integers(0, 50, 3)]
        highs = [low + Fraction(int(v), 10) for low, v in zip(lows, rng.integers(0, 30, 3), strict=True)]
        low, high = _variance_range(list(zip(lows, highs, strict=True)))
        for mix in rng.random((20, 3)):
            inside = [a + (b - a) * Fraction(float(m)) for a, b, m in zip(lows, highs, mix, strict=True)]
            assert low <= _variance_of(inside) <= high


@pytest.mark.parametrize(("relation", "moved"), [("add_remove", Fraction(7, 10)), ("replace", 1)])
def test_flipped_quantiles_have_the_law_of_permute_and_flip(relation, moved):
    records, q = [0, 2, 2, 3, 7, 8, 8, 8, 9], Fraction(7, 10)
    t = q * len(records)
    scores = []
    for c in range(11):
        below, upto = sum(x < c for x in records), sum(x <= c for x in records)
        scores.append(-max(Fraction(0), below - t, t - upto))
    options = {"epsilon": 1, "relation": relation, "grid": 1, "method": "flip"}
    draws = [stats.quantile(records, q, **BOUNDS, **options).value for _ in range(3000)]
    seen = np.bincount(draws, minlength=11)

    def p_value(epsilon):
        law = np.array(PermuteAndFlip(epsilon=epsilon, sensitivity=moved, relation=relation).probabilities(scores))
        return chi2.sf(((seen - law * 3000) ** 2 / (law * 3000)).sum(), 10)

    assert p_value(1) > 1e-12
    assert p_value("1.6") < 1e-12


def test_the_median_is_near_and_its_rank_error_is_public(salaries):
    from dither import Quantile

    error = Quantile(epsilon=1, q="0.5", lower=0, upper=10**6, grid="0.01").rank_error("0.999999")
    ranks = np.searchsorted(np.sort(salaries), [stats.median(salaries, lower=0, upper=10**6, epsilon=1).value] * 5)
    assert np.abs(ranks - 2500).max() <= error
