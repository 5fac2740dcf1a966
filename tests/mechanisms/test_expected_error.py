"""The expected largest of many noises, against a plain sum over the exact law."""

from __future__ import annotations

import pytest

from dither.errors import ParameterError
from dither.mechanisms import Laplace


@pytest.mark.parametrize("count", [1, 2, 30])
def test_the_closed_form_is_the_sum(count):
    mechanism = Laplace(epsilon="0.5", sensitivity=1, grid="0.5")
    inside, total = 0.0, 0.0
    for steps in range(400):
        inside += float(mechanism.pmf(steps)[1]) * (2 if steps else 1)
        total += 1 - min(1.0, inside) ** count
    assert mechanism.expected_error(count=count) == pytest.approx(total * 0.5, rel=1e-9)


def test_too_many_are_refused():
    with pytest.raises(ParameterError, match="count"):
        Laplace(epsilon=1, sensitivity=1).expected_error(count=2000)
