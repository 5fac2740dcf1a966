"""Pictures of estimates show what is public: the numbers, and an interval where there is one."""

from __future__ import annotations

import pytest

from dither import stats
from dither.errors import ParameterError

BOUNDS = {"lower": 0, "upper": 10}
DATA = [1, 2, 3, 4, 5]


def drawn(estimate, **options):
    chart = estimate.plot(**options).to_dict()
    return chart["data"]["values"], chart["title"]["subtitle"]


def test_a_number_with_its_interval():
    estimate = stats.sum(DATA, epsilon=1, **BOUNDS)
    for confidence in ("0.95", "0.5"):
        (bar,), subtitle = drawn(estimate, confidence=confidence)
        assert (bar["value"], (bar["lower"], bar["upper"])) == (estimate.value, estimate.interval(confidence))
        assert confidence in str(subtitle)


def test_every_cell_of_a_histogram():
    estimate = stats.histogram(["a", 1, "1"], categories=["a", 1, "1"], epsilon=1)
    bars, subtitle = drawn(estimate)
    low, high = estimate.interval()
    assert [(bar["value"], bar["lower"], bar["upper"]) for bar in bars] == [
        (estimate.value[cell], low[cell], high[cell]) for cell in ("a", 1, "1")
    ]
    assert len({bar["row"] for bar in bars}) == 3
    assert "all together" in str(subtitle)


def test_without_a_public_interval_there_is_none_in_the_picture():
    for estimate in (
        stats.median(DATA, epsilon=1, **BOUNDS),
        stats.quantiles(DATA, ["0.1", "0.9"], epsilon=1, **BOUNDS),
    ):
        bars, subtitle = drawn(estimate)
        assert [bar["value"] for bar in bars] == list(estimate.value if len(bars) > 1 else [estimate.value])
        assert all(bar["lower"] is None for bar in bars)
        assert "probability" not in str(subtitle)


def test_names_are_words_and_wrong_confidences_are_refused():
    chosen = stats.mode(["a"], categories=["a", "b"], epsilon=1)
    assert [word["said"] for word in drawn(chosen)[0]] == [chosen.value]
    several = stats.top_k(["a"], 2, categories=["a", "b"], epsilon=1)
    assert sorted(word["said"] for word in drawn(several)[0]) == sorted(
        f"{place}: {name}" for place, name in enumerate(several.value, 1)
    )
    with pytest.raises(ParameterError, match="confidence"):
        stats.count(["a"], epsilon=1).plot(confidence=2)
