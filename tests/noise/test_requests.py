"""What the samplers accept, refuse and return."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from dither import noise
from dither.errors import ParameterError
from dither.noise.request import as_array, replaced

SCALED = [noise.discrete_laplace, noise.rounded_gaussian, noise.geometric]


@pytest.mark.parametrize("draw", SCALED)
@pytest.mark.parametrize(
    "scale", [0, -1, "0.0009", Fraction((1 << 60) * 10 + 1, 10), 10**299, float("nan"), float("inf"), True, None, "abc"]
)
def test_scales_outside_the_range_are_refused(draw, scale):
    with pytest.raises(ParameterError, match=r"scale|sigma"):
        draw(scale)
    with pytest.raises(ParameterError, match=r"scale|sigma"):
        draw(scale, 10)


@pytest.mark.parametrize("variance", [0, -1, "9e-7", Fraction((1 << 120) * 10 + 1, 10), 10**299, float("nan"), True])
def test_variances_outside_the_range_are_refused(variance):
    with pytest.raises(ParameterError, match="sigma_squared"):
        noise.discrete_gaussian(variance)


@pytest.mark.parametrize("draw", [*SCALED, noise.discrete_gaussian, noise.bernoulli_exp, noise.uniform_below])
@pytest.mark.parametrize("size", [-1, 1.5, "3", True])
def test_sizes_that_are_not_whole_and_non_negative_are_refused(draw, size):
    with pytest.raises(ParameterError, match="size"):
        draw(3, size)


@pytest.mark.parametrize("draw", SCALED)
@pytest.mark.parametrize("scale", ["0.001", "1/3", 1, 1000, 10**6, 10**12, 1 << 60])
@pytest.mark.parametrize("public", [True, False])
def test_results_are_ints_or_arrays_of_the_size_asked_for(draw, scale, public):
    one = draw(scale, public=public)
    assert type(one) is int
    for size in (0, 1, 7, 8, 500):
        many = draw(scale, size, public=public)
        assert many.shape == (size,)
        assert many.dtype in (np.int64, object)


def test_values_beyond_int64_are_python_ints():
    assert as_array([1, -(1 << 63)]).dtype == np.int64
    beyond = as_array([1 << 63, 5])
    assert beyond.dtype == object
    assert beyond[0] == 1 << 63
    draws = noise.geometric(1 << 60, 100_000)  # one in e^8 is beyond: about 34
    assert draws.dtype == object
    assert max(draws) > 1 << 63
    assert min(draws) >= 0


def test_replacing_values_never_wraps():
    array = np.arange(3)
    assert replaced(array, np.array([1]), as_array([7])).tolist() == [0, 7, 2]
    beyond = replaced(array, np.array([2]), as_array([1 << 64]))
    assert beyond.tolist() == [0, 7, 1 << 64]
    assert beyond.dtype == object


def test_nothing_heavy_is_imported_before_the_first_draw():
    code = (
        "import sys, dither.noise; "
        "print([m for m in ('flint', 'cryptography', 'scipy', 'duckdb', 'sqlglot') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
