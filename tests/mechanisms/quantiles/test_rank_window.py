"""Windows of ranks: the same from a column as from counts, also where there are none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms import Quantiles
from dither.mechanisms.codes import Grid
from dither.mechanisms.quantiles.rank_window import ranked_column, ranked_counts, sorted_column

GRID = Grid.within(0, 9, 1)
RECORDS = [2, 2, 2, 5, 7, 7, 9]


@pytest.mark.parametrize("start", range(8))
@pytest.mark.parametrize("stop", range(8))
def test_a_window_holds_its_ranks_and_no_others(start, stop):
    inside = RECORDS[start:stop]
    codes, counts = np.unique(RECORDS, return_counts=True)
    for ranked in (
        ranked_counts(codes, counts, GRID),
        ranked_column([Fraction(record) for record in RECORDS], GRID, keep_missing=False),
        ranked_column(np.array(RECORDS), GRID, keep_missing=False),
        sorted_column(np.array(RECORDS), GRID, keep_missing=False),
    ):
        found, often = ranked.window(start, max(start, stop))
        assert np.repeat(found, often).tolist() == inside
        assert (often > 0).all()


def test_a_part_without_records_never_answers_with_a_record_of_another_part():
    """One record, 2: below a smaller quantile there is nobody, so the other one is not above it."""
    mechanism = Quantiles(epsilon=5, q=["0.3", "0.7"], lower=0, upper=5)
    for low, high in (mechanism.release_from_counts([2], [1]).value for _ in range(1500)):
        assert low <= high
