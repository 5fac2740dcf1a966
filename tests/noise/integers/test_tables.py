"""Which way draws are made, and what is remembered: public laws only, and few of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.noise import discrete_gaussian, discrete_laplace, geometric, rounded_gaussian
from dither.noise.integers.laplace import LaplaceDistribution
from dither.noise.integers.tables import _asked, kept_table, table_if_worthwhile


def test_a_table_is_built_once_its_law_was_asked_for_often_enough():
    law = LaplaceDistribution(Fraction(123, 100))
    assert table_if_worthwhile(law, 30, 1000) is None
    built = table_if_worthwhile(law, 30, 10**6)
    assert built is not None
    assert table_if_worthwhile(law, 30, 1) is built


@pytest.mark.parametrize("draw", [discrete_laplace, rounded_gaussian, geometric])
def test_draws_have_the_same_law_before_and_after_the_table(draw):
    kept_table.cache_clear()  # whatever was drawn before
    _asked.cache_clear()
    scale = Fraction(20_347, 1000)
    before = draw(scale, 100_000)
    assert kept_table.cache_info().currsize == 0
    for _ in range(2):
        after = draw(scale, 300_000)
    assert kept_table.cache_info().currsize == 1
    assert after.std() == pytest.approx(before.std(), rel=0.05)


def test_private_scales_are_never_remembered():
    laws, tables = _asked.cache_info(), kept_table.cache_info()
    for draw in (discrete_laplace, rounded_gaussian, geometric):
        draw(Fraction(7, 11), 300_000, public=False)
        draw(Fraction(7, 11), public=False)
    discrete_gaussian(Fraction(7, 11), 1000, public=False)
    discrete_gaussian(Fraction(10**7), 1000, public=False)
    assert _asked.cache_info() == laws
    assert kept_table.cache_info() == tables


def test_what_is_remembered_is_bounded():
    assert kept_table.cache_info().maxsize == 16
    assert _asked.cache_info().maxsize == 256
