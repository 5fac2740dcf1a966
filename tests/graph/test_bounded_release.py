"""What a release with a private bound says when no noise is drawn for the bound."""

from __future__ import annotations

import pytest

import dither as dt


@pytest.mark.parametrize("grid", [1, None])
def test_a_refused_value_has_no_interval(grid):
    outcome = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", grid=grid).release(0, 10**19)
    assert outcome.value is dt.REFUSED
    assert outcome.bound > 10**18
    with pytest.raises(dt.NotPublic, match="no value"):
        outcome.interval("0.95")
    with pytest.raises(dt.ParameterError):
        dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5").release(0, 1).interval(2)
