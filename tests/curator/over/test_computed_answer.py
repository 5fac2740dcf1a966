# ruff: noqa: E501
"""Intervals of what is computed from answers: kept where a number is taken over, exact for sums, none elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.answer import Value
from dither.curator.over import cell_noise, computed_answer
from dither.curator.over.cell_noise import Cells
from dither.curator.over.computed_answer import _share
from dither.curator.over.computed_files import Computed
from dither.mechanisms import Gaussian, Laplace
from dither.sql.postprocess.noise_of_sums import reach_of_terms

Make = Callable[..., dt.Curator]
INNER = "SELECT ward, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM visits GROUP BY ward"
ZCDP = dt.ApproxDP(20, "1e-6")


def widths(answer: dt.Answer, name: str) -> list[float]:
    lower, upper = answer.interval(name)
    return [float(end) for end in upper - lower]


def test_numbers_that_are_taken_over_keep_their_intervals(make: Make) -> None:
    clinic = make(ZCDP)
    alone = clinic.sql(INNER, epsilon=1)
    over = clinic.sql(f"SELECT ward, a AS mean, n, s FROM ({INNER}) AS t ORDER BY ward", epsilon=1)
    for name, own in (("n", "n"), ("s", "s"), ("mean", "a")):
        for one, other in zip(over.interval(name), alone.interval(own), strict=True):
            assert (one == other).all()


def test_sums_have_the_noise_of_their_terms(make: Make) -> None:
    clinic = make(ZCDP)
    text = f"SELECT ward, SUM(n) OVER (ORDER BY ward) AS so_far, n - LAG(n) OVER (ORDER BY ward) AS d, 2 * n + 1 AS t FROM ({INNER}) AS t"
    answer = clinic.sql(text, epsilon=1)
    scale = clinic.sql(INNER, epsilon=1).column("n")
    assert isinstance(scale, Value)
    noise = Gaussian(
        rho="1", sensitivity=Fraction(scale.scale[0].scale).limit_denominator(10**9) * Fraction(14142135623, 10**10)
    )
    for count, found in enumerate(widths(answer, "so_far"), 1):
        wanted = reach_of_terms([(noise, 1.0)] * count, Fraction(1, 20))
        assert wanted is not None
        assert found == pytest.approx(2 * wanted, abs=4)
    assert widths(answer, "t") == pytest.approx(
        [2 * width for width in widths(clinic.sql(INNER, epsilon=1), "n")], abs=2
    )
    difference = widths(answer, "d")
    assert np.isinf(difference[0])
    assert difference[1:] == pytest.approx([widths(answer, "so_far")[1]] * 2, abs=2)


@pytest.mark.parametrize(
    "item",
    [
        "RANK() OVER (ORDER BY n)",
        "n * n",
        "a / SUM(n) OVER ()",
        "n / SUM(n) OVER (ORDER BY s)",
        "ROUND(n / SUM(n) OVER (), 2)",
        "n / NULLIF(SUM(n) OVER (), 7)",
        "SQRT(n)",
        "SUM(n) OVER (ORDER BY s)",
        "SUM(a) OVER ()",
        "GREATEST(n, s)",
    ],
)
def test_no_interval_where_none_is_known(make: Make, item: str) -> None:
    answer = make(ZCDP).sql(f"SELECT ward, {item} AS x FROM ({INNER}) AS t", epsilon=1)
    with pytest.raises(dt.ParameterError, match="states no error"):
        answer.interval("x")


def test_what_noise_has_chosen_is_not_added_up(make: Make) -> None:
    clinic = make(ZCDP)
    for text in (
        f"SELECT SUM(n) AS x FROM ({INNER}) AS t WHERE n > 3",
        f"SELECT SUM(n) AS x FROM (SELECT n FROM ({INNER}) AS t ORDER BY n LIMIT 2) AS u",
        "SELECT SUM(n) AS x FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 3) AS t",
        f"SELECT x FROM (SELECT SUM(n) OVER (ORDER BY ward) AS x FROM ({INNER}) AS t) AS u WHERE x > 3",
    ):
        with pytest.raises(dt.ParameterError, match="states no error"):
            clinic.sql(text, epsilon=1).interval("x")


def test_rows_that_noise_has_chosen_have_wider_intervals(make: Make) -> None:
    clinic = make(ZCDP)
    every = clinic.sql(f"SELECT ward, n FROM ({INNER}) AS t", epsilon=1)
    top = clinic.sql(f"SELECT ward, n FROM ({INNER}) AS t QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) = 1", epsilon=1)
    assert top.covers == "shown"
    assert len(top) == 1
    assert widths(top, "n")[0] > widths(every, "n")[0]


def test_rows_chosen_by_the_noise_of_others_miss_no_more(make: Make) -> None:
    """A choice made to fail: all rows while their largest number is small, and the largest ones alone else."""
    clinic = make(ZCDP)
    groups, missed, drawn = 40, 0.05, np.random.default_rng(7)
    numbers = drawn.standard_normal((4000, groups))
    bound = NormalDist().inv_cdf(1 - missed / (2 * groups))
    chosen = (numbers > bound) | (numbers.max(axis=1, keepdims=True) < bound)
    shown = chosen.sum(axis=1)
    plain, compared = ([float(_share(int(n), groups, rows(flag))) for n in shown] for flag in (False, True))
    assert _missed(numbers, chosen, plain, missed) > 1.2 * missed, "what this is for"
    assert _missed(numbers, chosen, compared, missed) < missed
    inner = f"SELECT ward, n FROM ({INNER}) AS t"
    own, others = (
        clinic.sql(f"{inner} WHERE {condition}", epsilon=1, confidence="0.9")
        for condition in ("n > -99999", f"n > -99999 OR n > (SELECT MAX(n) FROM ({INNER}) AS u)")
    )
    assert (own.covers, others.covers) == ("each", "shown")
    assert len(own) == len(others)
    assert widths(others, "n")[0] > widths(own, "n")[0]


def rows(compared: bool) -> Computed:
    return Computed(pa.table({"n": [1]}), (), True, 0, compared)


def _missed(numbers: Any, chosen: Any, shares: list[float], missed: float) -> float:
    """On average over all choices, of the rows shown those that an interval for a share of `missed` does not hold."""
    ends = np.array([NormalDist().inv_cdf(1 - missed * share / 2) for share in shares])
    beyond = (np.abs(numbers) > ends[:, None]) & chosen
    return float((beyond.sum(axis=1) / chosen.sum(axis=1)).mean())


def test_levels_have_intervals(make: Make) -> None:
    answer = make(ZCDP).sql(
        "SELECT ward, urgent, COUNT(*) AS n, GROUPING(ward, urgent) AS g FROM visits GROUP BY CUBE (ward, urgent)",
        epsilon=1,
    )
    assert all(0 < width < np.inf for width in widths(answer, "n"))


SHARE = f"SELECT ward, n, 100 * n / SUM(n) OVER () AS share, n / NULLIF(SUM(n) OVER (), 0) * 100 AS again, SUM(n) OVER () AS total FROM ({INNER}) AS t"


def test_shares_have_the_ends_of_both_sums(make: Make) -> None:
    """By interval arithmetic on intervals that both miss by half: those of a smaller chance to miss, divided."""
    clinic = make(dt.ApproxDP(1000, "1e-6"))
    answer = clinic.sql(SHARE, epsilon=20)
    half = clinic.sql(SHARE, epsilon=20, confidence="0.975")
    for place, share in enumerate(answer["share"]):
        (low, high), (least, most) = ([float(end[place]) for end in half.interval(name)] for name in ("n", "total"))
        lower, upper = (float(end[place]) for end in answer.interval("share"))
        assert lower < share < upper
        assert (lower, upper) == pytest.approx((100 * low / most, 100 * high / least), rel=0.02, abs=0.5)
        assert [float(end[place]) for end in answer.interval("again")] == pytest.approx([lower, upper])


def test_a_quotient_that_may_be_by_zero_has_no_ends() -> None:
    for by in (5.0, -5.0, 0.5):
        assert computed_answer.quotient_ends(2.0, by, (1.0, 1.0), (5.0, 5.0)) == (-np.inf, np.inf)
    lower, upper = computed_answer.quotient_ends(2.0, -5.0, (1.0, 3.0), (1.0, 2.0))  # -11..-7 by -6..-3
    assert (lower, upper) == pytest.approx((7 / 6, 11 / 3))
    assert lower < 7 / 6
    assert upper > 11 / 3


SHARED = np.array([1900, 30, 40, 30])
NOISE = [Gaussian(rho="0.0005", sensitivity=1), Laplace(epsilon="0.05", sensitivity=1)]
MISSED = Fraction(1, 20)
TRIALS = 4000


def covered(noise: Gaussian | Laplace) -> int:
    """How many intervals of a share hold the exact one, of many releases."""
    drawn = noise.draws(SHARED, TRIALS).astype(float)
    arms = [reach_of_terms([(noise, 1.0)] * count, MISSED / 2) for count in (1, len(SHARED))]
    above, below = ((arm, arm) for arm in arms if arm is not None)
    exact, found = SHARED[0] / SHARED.sum(), 0
    for row in drawn:
        lower, upper = computed_answer.quotient_ends(row[0] / row.sum(), row.sum(), above, below)
        found += lower <= exact <= upper
    return found


def check_coverage(noise: Gaussian | Laplace) -> None:
    from scipy.stats import binom

    assert binom.cdf(covered(noise), TRIALS, float(1 - MISSED)) > 1e-9


@pytest.mark.parametrize("noise", NOISE, ids=["gaussian", "laplace"])
def test_shares_are_covered(noise: Gaussian | Laplace) -> None:
    check_coverage(noise)


@pytest.mark.parametrize("noise", NOISE, ids=["gaussian", "laplace"])
def test_planted_a_sum_without_noise(noise: Gaussian | Laplace, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = computed_answer.quotient_ends
    monkeypatch.setattr(
        computed_answer, "quotient_ends", lambda middle, by, above, below: honest(middle, by, above, (0.0, 0.0))
    )
    with pytest.raises(AssertionError):
        check_coverage(noise)


def test_planted_sums_with_the_noise_of_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Cells.half_widths
    monkeypatch.setattr(Cells, "half_widths", lambda self, terms, missed: honest(self, terms[:1], missed))
    with pytest.raises(AssertionError):
        test_sums_have_the_noise_of_their_terms(make)
    assert cell_noise.Cells is Cells


def test_one_release_under_two_names_is_one_noise(make: Make) -> None:
    """A part that differs from another by its names alone is answered by the same release, twice the same noise."""
    named = "a AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), b AS (SELECT ward AS w, COUNT(*) AS m FROM visits GROUP BY ward)"
    text = f"WITH {named} SELECT a.ward, a.n, b.m, a.n + b.m AS s, a.n - b.m AS d FROM a JOIN b ON a.ward = b.w"
    answer = make(ZCDP).sql(text, epsilon=1)
    assert (answer["n"] == answer["m"]).all()
    assert widths(answer, "s") == pytest.approx([2 * width for width in widths(answer, "n")], abs=2)
    assert widths(answer, "d") == pytest.approx([0.0] * len(answer), abs=2)


def test_planted_noise_told_apart_by_names(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cells, "_releases", property(lambda self: range(len(self.parts))))
    with pytest.raises(AssertionError):
        test_one_release_under_two_names_is_one_noise(make)
