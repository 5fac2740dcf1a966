"""Whatever numbers a release holds, it can be shown: nothing after the noise may fail on a value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.curator.present import present

QUESTIONS = [
    "SELECT COUNT(*), SUM(age), SUM(paid), AVG(age), AVG(paid), COUNT(DISTINCT patient) FROM visits",
    "SELECT region, ward, AVG(paid * age), SUM(paid / age), COUNT(remark) FROM visits GROUP BY region, ward",
]
EXTREMES = (0, 1, -1, 10**6, 2**63 - 1, -(2**63), 2**130, -(2**130))


@pytest.mark.parametrize("column", ["age", "paid", "paid - 50"])
def test_an_average_over_an_empty_group_is_no_information(clinic: dt.Curator, column: str) -> None:
    priced = clinic._walk.price(f"SELECT region, AVG({column}) AS mean FROM visits GROUP BY region", epsilon=1)
    sums, counts = np.array([10**9, 0, -500]), np.array([0, 10**7, -3])
    noisy = [
        NoisyMeasure(item.measure.text, values, item.parameters())
        for item, values in zip(priced.measures, (sums, counts), strict=True)
    ]
    answer = present(priced.question, Released(priced.asked, noisy).to_bytes(), Fraction(19, 20))
    rows = str(answer).splitlines()[2:5]
    assert ["no information" in row for row in rows] == [True, False, True]
    assert all(np.isfinite(answer["mean"]))


@pytest.mark.parametrize("charged", [True, False])
def test_an_answer_says_whether_it_was_charged(clinic: dt.Curator, charged: bool) -> None:
    priced = clinic._walk.price("SELECT COUNT(*) FROM visits", epsilon=1)
    (item,) = priced.measures
    stored = Released(priced.asked, [NoisyMeasure(item.measure.text, np.array([5]), item.parameters())]).to_bytes()
    assert present(priced.question, stored, Fraction(19, 20), charged=charged).charged is charged
    assert present(priced.question, stored, Fraction(19, 20)).charged


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
def test_any_noisy_numbers_can_be_shown(clinic: dt.Curator, text: str, epsilon: str) -> None:
    priced = clinic._walk.price(text, epsilon=epsilon)
    groups = priced.aggregates[0].group_count
    for first in EXTREMES:
        for second in EXTREMES:
            noisy = []
            for place, item in enumerate(priced.measures):
                values = np.array([(first, second)[place % 2]] * groups, dtype=object)
                small = all(-(2**63) <= value < 2**63 for value in values)
                noisy.append(
                    NoisyMeasure(item.measure.text, values.astype(np.int64) if small else values, item.parameters())
                )
            answer = present(priced.question, Released(priced.asked, noisy).to_bytes(), Fraction(19, 20))
            assert len(answer) == groups
            assert str(answer)
            assert answer.to_json()
            assert answer.to_arrow(intervals=True).num_rows == groups
            for name in answer.names:
                if name.startswith("avg"):
                    low, high = answer.interval(name)
                    assert (np.asarray(low) <= np.asarray(high)).all()
