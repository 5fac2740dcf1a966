"""Counts that chose their keys: exact coverage among the keys shown, outcome by outcome."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import KeySelection, Laplace
from dither.sql.postprocess.noise_reach import reach
from dither.sql.postprocess.selected_counts import ends_if_shown

SELECTIONS = [
    KeySelection(epsilon=1, delta="1e-6"),
    KeySelection(epsilon="0.2", delta="1e-3", keys_per_owner=4),
    KeySelection(rho="0.1", delta="1e-6"),
    KeySelection(rho="0.02", delta="1e-3", keys_per_owner=2),
]
MISSED = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)]

Ends = Callable[[Any, KeySelection, Fraction], tuple[Any, Any]]


def outcomes_of(selection: KeySelection) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    noise = selection.noise
    scale = float(noise.scale)
    places = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    if isinstance(noise, Laplace):
        q = math.exp(-1 / scale)
        return places, (1 - q) / (1 + q) * q ** np.abs(places).astype(float)
    ends = [math.erfc((place - 0.5) / (scale * math.sqrt(2))) / 2 for place in range(places[0], places[-1] + 2)]
    return places, -np.diff(ends)


def check_among_shown(found: Ends) -> None:
    """Of a key with so many owners that is shown, the interval misses no more often than stated."""
    for selection in SELECTIONS:
        places, chances = outcomes_of(selection)
        threshold, scale = selection.threshold, float(selection.noise.scale)
        tried = {1, 2, threshold // 2, threshold - 1, threshold, math.ceil(threshold + scale), 3 * threshold}
        for owners in tried:
            shown = owners + places >= threshold
            counts, weights = (owners + places)[shown], chances[shown]
            if weights.sum() < 1e-250:
                continue
            for missed in MISSED:
                lower, upper = found(counts, selection, missed)
                outside = (lower > owners) | (upper < owners)
                share = weights[outside].sum() / weights.sum()
                assert share <= float(missed) * (1 + 1e-6), "among keys shown it misses too often"


def test_among_the_keys_shown_it_holds() -> None:
    check_among_shown(ends_if_shown)


def _as_if_not_chosen(counts: Any, selection: KeySelection, missed: Fraction) -> tuple[Any, Any]:
    width = int(reach(selection, missed))
    return counts - width, counts + width


def test_planted_bug_as_if_it_had_chosen_nothing() -> None:
    with pytest.raises(AssertionError, match="too often"):
        check_among_shown(_as_if_not_chosen)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_far_above_the_threshold_it_is_nearly_that_of_the_noise(selection: KeySelection) -> None:
    far = selection.threshold + math.ceil(30 * selection.noise.scale)
    lower, upper = ends_if_shown(np.array([far, selection.threshold]), selection, Fraction(1, 20))
    width = int(reach(selection, Fraction(1, 20)))
    assert abs(int(lower[0]) - (far - width)) <= 1
    assert abs(int(upper[0]) - (far + width)) <= 1
    assert lower[1] == 1  # at the threshold anybody may have been lifted over it
    assert upper[1] >= selection.threshold


def test_any_numbers_can_be_shown() -> None:
    lower, upper = ends_if_shown(np.array([2**62, 1, -5]), SELECTIONS[0], Fraction(1, 20))
    assert (lower <= upper).all()
    empty = ends_if_shown(np.array([], dtype=np.int64), SELECTIONS[0], Fraction(1, 20))
    assert [len(end) for end in empty] == [0, 0]
