"""Which way a batch of draws is made: a choice by the scale and the size asked for, never by what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.noise.integers.affine_noise import Affine, draw
from dither.noise.integers.distribution import Distribution
from dither.noise.integers.single_draws import draw_one
from dither.noise.integers.table import draw_from_table
from dither.noise.integers.tables import table_if_worthwhile
from dither.noise.integers.wide_scales import draw_wide, is_wide
from dither.noise.request import as_array

# Fewer draws than this come one by one: quicker than setting up arrays.
FEW = 8
# Beyond this a table leaves so many draws undecided that the standard reals are quicker; and values must fit int16.
MOST_TABLE_ENTRIES = 1 << 15


def draw_scaled(
    count: int | None, affine: Callable[[], Affine], distribution: Distribution, table_entries: Fraction, public: bool
) -> int | NDArray[Any]:
    """One draw, or `count` of them, of the distribution that `affine` and `distribution` both describe."""
    if count is None:
        return draw_one(affine())
    if count < FEW:
        chosen = affine()
        return as_array([draw_one(chosen) for _ in range(count)])
    if public and table_entries <= MOST_TABLE_ENTRIES:
        table = table_if_worthwhile(distribution, int(table_entries), count)
        if table is not None:
            return draw_from_table(table, count)
    chosen = affine()
    return draw_wide(chosen, count) if is_wide(chosen) else draw(chosen, count)
