"""The few draws that the quick pass leaves open: cells settled by more bits, places accepted or drawn again.

Float64 decides only where its error bound leaves no doubt; everything else goes to exact rational arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise.entropy import Fill, Learn, learn_bits
from dither.noise.integers.standard_reals import Standard, accepts
from dither.noise.integers.table import UNDECIDED
from dither.noise.lazy_uniform import LazyUniform


@dataclass(frozen=True)
class Places:
    """Accepted numbers: cell, first bits of the place in it, and the places of which more bits are known."""

    cells: NDArray[np.int64]
    places: NDArray[np.int64]
    refined: dict[int, LazyUniform]

    def place(self, i: int, position_bits: int, learn: Learn = learn_bits) -> LazyUniform:
        """The place of the i-th number, with all bits known so far."""
        return self.refined.get(i) or LazyUniform(int(self.places[i]), position_bits, learn)


def settle(
    standard: Standard,
    top: NDArray[np.uint16],
    places: NDArray[np.int64],
    coins: NDArray[np.int64],
    fill: Fill,
    learn: Learn = learn_bits,
) -> Places:
    """Cells and accepted places for draws whose top words, first places and first coins are known already."""
    cells = standard.table.direct[top].astype(np.int64)
    undecided = np.flatnonzero(cells == UNDECIDED)
    cells[undecided] = standard.table.finish(top[undecided], fill, learn)
    refined: dict[int, LazyUniform] = {}
    pending = np.arange(cells.size)
    while pending.size:
        rejected = _rejected(standard, cells, places, coins, pending, refined, fill, learn)
        pending = pending[rejected]
        places[pending] = _words(pending.size, standard.position_bits, fill)
        coins[pending] = _words(pending.size, standard.coin_bits, fill)
    return Places(cells, places, refined)


def _rejected(
    standard: Standard,
    cells: NDArray[np.int64],
    places: NDArray[np.int64],
    coins: NDArray[np.int64],
    pending: NDArray[np.intp],
    refined: dict[int, LazyUniform],
    fill: Fill,
    learn: Learn,
) -> NDArray[np.bool_]:
    """Which pending places the coin exp(-G) rejects. Notes in `refined` the places it had to know better."""
    more = standard.more_bits
    first_bits = standard.coin_bits + more
    first_words = (coins[pending] << more) | _words(pending.size, more, fill)
    second_words = _words(pending.size, more, fill)
    cell = cells[pending].astype(np.float64)
    place = places[pending] * 2.0**-standard.position_bits
    first = first_words * 2.0**-first_bits
    slope, half_curve = standard.slopes(cell)
    exponent = (slope + half_curve * place) * place
    # Covers G's growth within the known interval of T, the unknown bits of V1 and the float error (below 2**-50).
    margin = standard.largest_slope * 2.0**-standard.position_bits + 2.0 ** (1 - first_bits)
    in_bounds = cell < standard.cell_limit
    accepted = in_bounds & (first > exponent + margin)
    # V1 < G and V2 > V1: a run of length one, so rejected.
    rejected: NDArray[np.bool_] = (
        in_bounds & (first < exponent - margin) & (second_words * 2.0**-more > first + 2.0**-first_bits)
    )
    for i in np.flatnonzero(~(accepted | rejected)):
        index = int(pending[i])
        known = [LazyUniform(int(first_words[i]), first_bits, learn), LazyUniform(int(second_words[i]), more, learn)]
        refined[index] = LazyUniform(int(places[index]), standard.position_bits, learn)
        rejected[i] = not accepts(standard, int(cells[index]), refined[index], known, learn)
        if rejected[i]:
            del refined[index]
    return rejected


def _words(count: int, bits: int, fill: Fill) -> NDArray[Any]:
    """Uniform words of at most 32 bits, as int64."""
    words = np.empty(count, np.uint32)
    fill(words)
    return (words >> np.uint32(32 - bits)).astype(np.int64)
