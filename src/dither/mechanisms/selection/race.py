"""The largest of scores with continuous noise, exactly: real numbers of which as many bits are drawn as it takes.

The magnitude of each noise is Y = scale E, E standard exponential, counted in cells of scale / 2^24. Its cell is a
geometric variable; its place within the cell is independent of the cell, with density proportional to exp(-place/2^24).
Ties have probability 0, so a winner is always found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.exact.precision import precision
from dither.noise import geometric
from dither.noise.entropy import random_words
from dither.noise.lazy_uniform import LazyUniform, fresh_uniform

CELLS = 1 << 24


@dataclass
class _Contender:
    """best score - gap + noise, in cells, known between two fractions."""

    position: int
    start: Fraction
    sign: int
    place: LazyUniform

    def ends(self) -> tuple[Fraction, Fraction]:
        low, high = self.place.ends()
        return (self.start + low, self.start + high) if self.sign > 0 else (self.start - high, self.start - low)


def largest(gaps: npt.NDArray[Any], denominator: int, scale: Fraction, *, signed: bool, width: int = CELLS) -> int:
    """The position of the largest -gap/denominator + noise; Laplace noise if `signed`, else exponential noise."""
    return int(winners(gaps, denominator, scale, 1, signed=signed, width=width)[0])


def winners(
    gaps: npt.NDArray[Any], denominator: int, scale: Fraction, size: int, *, signed: bool, width: int = CELLS
) -> npt.NDArray[np.int64]:
    """The positions of the largest in `size` independent races; in each, every contender has fresh noise."""
    shape = (size, gaps.size)
    cells: npt.NDArray[np.int64] = geometric(width, size * gaps.size).reshape(shape)
    coins = random_words(np.uint8, cells.size).reshape(shape) & 1 if signed else np.broadcast_to(np.uint8(0), shape)
    signs = 1 - 2 * coins.astype(np.int64)
    step = Fraction(width) / (scale * denominator)  # one unit of gap, in cells
    distance = _distance(gaps, step)
    noisy = signs * cells - distance
    # The place in a cell of width 1 is not known yet, and the floats are off by a few roundings of the distance.
    slack = distance * 2.0**-50 + 2
    may_win = noisy + slack >= (noisy - slack).max(axis=1, keepdims=True)
    found: npt.NDArray[np.int64] = np.argmax(may_win, axis=1)
    for race in np.flatnonzero(np.count_nonzero(may_win, axis=1) > 1).tolist():
        contenders = []
        for i in np.flatnonzero(may_win[race]).tolist():
            sign, cell = int(signs[race, i]), int(cells[race, i])
            contenders.append(_Contender(i, sign * cell - step * int(gaps[i]), sign, place_in_cell(width)))
        found[race] = _settle(contenders)
    return found


def place_in_cell(cells: int, bits: int = 64) -> LazyUniform:
    """A place in [0, 1) with density proportional to exp(-place / cells): a uniform number, kept by an exact coin."""
    while True:
        place, coin = fresh_uniform(bits), fresh_uniform(bits)
        while True:
            with precision(place.bits + 64):
                threshold, toss = (-place.ball() / cells).exp(), coin.ball()
                if toss < threshold:
                    return place
                if toss >= threshold:
                    break
            place.refine()
            coin.refine()


def _settle(contenders: list[_Contender]) -> int:
    while len(contenders) > 1:
        floor = max(contender.ends()[0] for contender in contenders)
        contenders = [contender for contender in contenders if contender.ends()[1] > floor]
        if len(contenders) > 1:
            for contender in contenders:
                contender.place.refine()
    return contenders[0].position


def _distance(gaps: npt.NDArray[Any], step: Fraction) -> npt.NDArray[np.float64]:
    """gap times step to a few roundings, or to 1e-200. Beyond 1e100 any number below the truth will do: gap 0 wins."""
    most = Fraction(10**100)
    if gaps.dtype == object:
        return np.array([float(min(step * int(gap), most)) for gap in gaps])
    return np.asarray(gaps.astype(np.float64) * float(min(step, most)))
