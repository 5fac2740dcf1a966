"""Trade-off functions draw themselves."""

from __future__ import annotations

from dither.accounting import PureDP


def test_it_draws_itself(drawn, saved):
    chart = PureDP(1).plot()
    points = drawn(chart, "alpha", "beta", "line")
    assert len(points) == 61
    for point in points:
        assert point["beta"] == PureDP(1).tradeoff(point["alpha"])
    assert any("PureDP(epsilon=1)" in text for text in saved(chart))
