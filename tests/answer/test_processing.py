"""Optional post-processing: new answers that say what was done, and released numbers that stay as they are."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dither.answer import Answer, Key, NoiseScale, Value
from dither.errors import ParameterError

COUNT = {"possible": (0.0, math.inf), "additive": True, "mechanism": "Laplace"}


def answer(*columns, **options) -> Answer:
    return Answer(columns, {"epsilon": "1"}, options.pop("guarantee", "owners"), Fraction(95, 100), **options)


def counts(values, scale=10.0, name="n", **options) -> Value:
    noise = (NoiseScale("number of rows", scale),)
    return Value(name, np.array(values), half_width=Fraction(3 * int(scale)), scale=noise, **{**COUNT, **options})


def test_counts_are_not_below_zero_and_nothing_else_changes():
    released = answer(
        counts([40, -5, 3]),
        Value("total", np.array([-500, 10, 20]), decimals=2, half_width=Fraction(1), possible=(-math.inf, math.inf)),
        Value("mean", np.array([-1.0, math.nan, 2.0]), lower=np.array([-3.0, -9, 1]), upper=np.array([1.0, 9, 3])),
    )
    cut = released.nonnegative()
    assert cut["n"].tolist() == [40, 0, 3]
    assert [end.tolist() for end in cut.interval("n")] == [[10, 0, 0], [70, 25, 33]]
    assert cut["total"].tolist() == released["total"].tolist()
    assert cut["mean"].tolist()[0] == -1
    assert released["n"].tolist() == [40, -5, 3]
    assert cut.notes[-1].startswith("Negative numbers were set to 0")
    assert cut.price == released.price


def test_the_noise_alone_is_cut_too_and_what_was_left_out_is_not_made_to_add_up():
    alone = counts([40, -5])
    whole = replace(
        alone, half_width=None, lower=np.array([15, -30]), upper=np.array([170, 125]), noise=alone, left_out="some rows"
    )
    released = answer(Key("region", pa.array(["a", "b"])), whole)
    cut = released.nonnegative()
    assert [end.tolist() for end in cut.interval("n")] == [[15, 0], [170, 125]]
    assert [end.tolist() for end in cut.noise("n")] == [[10, 0], [70, 25]]
    with pytest.raises(ParameterError, match="no rows are left out"):
        released.consistent(answer(counts([40])))


def test_every_number_comes_no_farther_from_the_exact_one():
    exact = np.arange(200) % 7
    noisy = exact + np.random.default_rng(1).integers(-10, 11, 200)
    cut = answer(counts(noisy.tolist())).nonnegative()["n"]
    assert (np.abs(cut - exact) <= np.abs(noisy - exact)).all()


def test_groups_add_up_to_the_total_by_weighted_least_squares():
    parts = answer(Key("region", pa.array(["a", "b", "c"])), counts([100, 50, 30], scale=10.0))
    total = answer(counts([210], scale=10.0))
    moved = parts.consistent(total)
    assert moved["n"].sum() == 180 + round(30 * 3 / 4)
    assert moved["n"].tolist() == [108, 57, 37]
    assert [end.tolist() for end in moved.interval("n")] == [[70, 20, 0], [130, 80, 60]]
    assert "adjusted to add up to a total" in moved.notes[-1]
    sure = answer(counts([210], scale=0.001))
    assert parts.consistent(sure)["n"].tolist() == [110, 60, 40]
    vague = answer(counts([210], scale=1e9))
    assert parts.consistent(vague)["n"].tolist() == [100, 50, 30]


def test_what_is_left_over_goes_to_the_first_groups():
    parts = answer(Key("region", pa.array(["a", "b", "c"])), counts([0, 0, 0]))
    assert parts.consistent(answer(counts([5], scale=1e-9)))["n"].tolist() == [2, 2, 1]
    assert parts.consistent(answer(counts([-5], scale=1e-9)))["n"].tolist() == [-1, -2, -2]


def test_totals_by_one_of_two_keys_with_null_among_them():
    keys = Key("region", pa.array(["a", "a", None, None])), Key("sex", pa.array(["f", "m", "f", "m"]))
    parts = answer(*keys, counts([1, 2, 3, 4]))
    totals = answer(Key("region", pa.array([None, "a"])), counts([17, 13], scale=1e-9))
    assert parts.consistent(totals)["n"].tolist() == [6, 7, 8, 9]


def test_sums_beyond_64_bits():
    parts = answer(Key("k", pa.array(["a", "b"])), counts([2**80, 1], decimals=2))
    total = answer(counts([2**80 + 5], scale=1e-9, decimals=2))
    moved = parts.consistent(total)
    assert moved.column("n").values.tolist() == [2**80 + 2, 3]


def test_the_error_of_a_group_becomes_smaller():
    """With one group of many wrong, a precise total moves all of them by their share: the mean square error falls."""
    dice = np.random.default_rng(5)
    exact = np.full(4, 100)
    before = after = 0.0
    for _ in range(400):
        noisy = exact + np.round(dice.laplace(0, 10, 4)).astype(int)
        moved = answer(Key("k", pa.array(list("abcd"))), counts(noisy.tolist())).consistent(answer(counts([400], 1.0)))
        before += float(((noisy - exact) ** 2).sum())
        after += float(((moved["n"] - exact) ** 2).sum())
    assert after < 0.85 * before


REFUSED = {
    "fewer columns": lambda parts: parts.consistent(parts),
    "no counts or sums in common": lambda parts: parts.consistent(answer(counts([1], name="other"))),
    "without HAVING": lambda parts: parts.consistent(answer(counts([1]), complete=False)),
    "different people": lambda parts: parts.consistent(answer(counts([1]), guarantee="others")),
    "no counts": lambda parts: parts.consistent(answer(counts([1], additive=False))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_totals_that_need_not_add_up_are_refused(message):
    parts = answer(Key("k", pa.array(["a", "b"])), counts([1, 2]))
    with pytest.raises(ParameterError, match=message):
        REFUSED[message](parts)


def test_undefined_numbers_are_null_in_every_form():
    ratio = Value(
        "r", np.array([0.5, math.nan]), lower=np.array([0.1, -math.inf]), upper=np.array([math.inf, math.inf])
    )
    shown = answer(ratio)
    assert shown.to_arrow()["r"].null_count == 1
    assert shown.to_dicts(intervals=True)[1]["r"] is None
    assert shown.to_dicts(intervals=True)[0]["r_upper"] == math.inf
    assert shown.to_polars()["r"].null_count() == 1
    assert shown.to_pandas()["r"].isna().tolist() == [False, True]
    assert json.loads(shown.to_json())["rows"][0] == {"r": 0.5, "r_lower": 0.1, "r_upper": None}
    assert np.isnan(shown["r"][1])
    assert shown.interval("r").upper[0] == math.inf
