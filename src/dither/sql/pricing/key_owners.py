"""How many owners a key from the data needs to be shown, known beforehand: it follows from price and plan alone."""

from __future__ import annotations

from fractions import Fraction

from dither.mechanisms import KeySelection


def owners_needed(selection: KeySelection, confidence: Fraction) -> int:
    """The smallest number of owners with which a key is proven to be shown with at least this probability.

    >>> owners_needed(KeySelection(epsilon=1, delta="1e-6"), Fraction(19, 20))
    17
    """
    too_few, enough = 0, selection.threshold
    while selection.keep_probability(enough)[0] < confidence:
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if selection.keep_probability(middle)[0] < confidence:
            too_few = middle
        else:
            enough = middle
    return enough
