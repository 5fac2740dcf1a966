"""Finitely many losses with masses, and their transform on a vertical line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither.accounting.pld.distribution import FUNCTION, Complexes, Reals, U
from dither.accounting.pld.work import charge

_BLOCK = 64
_LIGHT = 1e-21
_ROWS, _COLUMNS = 16, 32
# Up to here (points times frequencies) a product of two small matrices is faster than Fourier transforms.
_SMALL = 1 << 18
# The Fourier grid is this many times finer than the frequencies need, so that turns within a bin stay below pi/2.
_FINER = 2
_TERMS = 23
_REMAINDER = (math.pi / 2 * 1.001) ** _TERMS / math.factorial(_TERMS) * 2
# Terms are at most this many times as large together as what they add up to may be: e^(pi/2).
_GROWTH = 5
_PIECE = 32


@dataclass(frozen=True, eq=False)
class Points:
    """Losses and the logarithms of their masses under P, and how far each of them may be off.

    Masses are far apart, and far below all floats, so only their logarithms are kept.
    """

    losses: Reals
    log_masses: Reals
    doubts: Reals  # relative errors of the masses
    moves: Reals  # absolute errors of the losses

    def kept(self, which: npt.NDArray[np.bool_]) -> Points:
        """Some of the points."""
        return Points(self.losses[which], self.log_masses[which], self.doubts[which], self.moves[which])

    @property
    def _rounding(self) -> Reals:
        rounding: Reals = self.doubts + FUNCTION + 8 * U * np.abs(self.log_masses)
        return rounding

    @property
    def _turns(self) -> Reals:
        turns: Reals = self.moves + 8 * U * np.abs(self.losses)
        return turns

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        """ln of the sum of masses times e^(theta loss), and a bound of its absolute error."""
        charge(len(theta) * len(self.losses))
        tilt = np.multiply.outer(theta, self.losses)
        tilt += self.log_masses
        highest = tilt.max(axis=1)
        tilt -= highest[:, None]
        factors = np.exp(tilt, out=tilt)
        total = factors.sum(axis=1)
        doubt = 2 * (factors @ self._rounding) / total
        doubt += 2 * np.abs(theta) * (factors @ self._turns) / total
        return highest + np.log(total), doubt + 4 * FUNCTION + len(self.losses) * U + 4 * U * np.abs(highest)

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        """The transform at theta + i times by that at theta; the times are 0, step, 2 step ..."""
        tilt = theta * self.losses + self.log_masses
        weights = np.exp(tilt - tilt.max())
        total = float(weights.sum())
        # What weighs nothing here is left out and counted as error.
        heavy = weights > _LIGHT * total
        light = float(weights[~heavy].sum()) / total
        step = float(times[1]) if len(times) > 1 else 0.0
        losses, shares = self.losses[heavy], weights[heavy] / total
        if len(losses) * len(times) <= _SMALL:
            value, rounding = _by_matrices(step * losses, shares, len(times))
        else:
            value, rounding = _by_fourier(step * losses, shares, len(times))
        mass = 2 * float((weights * self._rounding).sum()) / total + 2 * light
        turn = 2 * float((weights * self._turns).sum()) / total
        # The sum of n positive weights, and each weight, are as uncertain as their own rounding.
        return value, mass + turn * (2 * theta + times) + 4 * FUNCTION + rounding + 2 * U * math.log2(len(tilt) + 256)


def valley(log_weights: Reals) -> int | None:
    """Where a row of weights is lowest between two summits; None if it has but one."""
    left, right = np.maximum.accumulate(log_weights), np.maximum.accumulate(log_weights[::-1])[::-1]
    depth = np.minimum(left, right) - log_weights
    depth[~np.isfinite(depth)] = 0.0
    place = int(np.argmax(depth))
    return place if depth[place] > 1 else None


def _by_matrices(angles: Reals, shares: Reals, count: int) -> tuple[Complexes, float]:
    """Sum of shares e^(i n angle): n = 64 a + b makes it a product of two small matrices."""
    charge(len(angles) * count)
    fine, coarse = _powers(angles, _BLOCK), _powers(_BLOCK * angles, -(-count // _BLOCK))
    value = _product(coarse * shares, fine.T).ravel()[:count]
    # Within a piece, over the pieces, and the powers themselves.
    return value, 4 * U * (_COLUMNS + len(angles) / _COLUMNS + 8) + 4 * FUNCTION


def _by_fourier(angles: Reals, shares: Reals, count: int) -> tuple[Complexes, float]:
    """The same by Fourier transforms: points are moved to a grid, and Taylor's series brings them back."""
    size = _FINER * 2 ** math.ceil(math.log2(count))
    charge(_TERMS * (4 * size + 4 * len(angles)))
    place = np.rint(angles * (size / (2 * math.pi)))
    index = np.mod(place, size).astype(np.int64)
    order = np.argsort(index, kind="stable")
    index, power = index[order], shares[order]
    offset = (angles - place * (2 * math.pi / size))[order]
    # A bin is summed up in pieces, so that rounding stays small however many points it has.
    piece = np.flatnonzero((np.diff(index, prepend=-1) != 0) | (np.arange(len(index)) % _PIECE == 0))
    bins = index[piece]
    most = int(np.bincount(bins).max())
    # Even and odd terms apart, with their signs: all but the transforms is real.
    number, scale = np.arange(count, dtype=np.float64), np.ones(count)
    sums = np.zeros((2, count), dtype=complex)
    for term in range(_TERMS):
        binned = np.bincount(bins, weights=np.add.reduceat(power, piece), minlength=size)
        sums[term % 2] += np.fft.rfft(binned)[:count] * scale
        power *= offset
        scale *= number / -(term + 1) if term % 2 else number / (term + 1)
    value = np.conj(sums[0]) + 1j * np.conj(sums[1])
    # Each output of the transform is a sum of all shares through log2(size) levels.
    return value, _REMAINDER + _GROWTH * U * (2 * most + 2 * _PIECE + 8 * math.log2(size) + 2 * _TERMS + 16)


def _product(left: Complexes, right: Complexes) -> Complexes:
    """left @ right in pieces so small that the library does not start threads, which cost more than they save here."""
    value = np.zeros((left.shape[0], right.shape[1]), dtype=complex)
    for row in range(0, left.shape[0], _ROWS):
        for column in range(0, left.shape[1], _COLUMNS):
            piece = slice(column, column + _COLUMNS)
            value[row : row + _ROWS] += left[row : row + _ROWS, piece] @ right[piece]
    return value


def _powers(angles: Reals, count: int) -> Complexes:
    """e^(i n angle) for n = 0 ... count - 1, by doubling: each row is a product of at most log2(count) exponentials."""
    rows = np.empty((count, len(angles)), dtype=complex)
    rows[0] = 1
    known = 1
    while known < count:
        more = min(known, count - known)
        rows[known : known + more] = rows[:more] * np.exp(1j * known * angles)
        known += more
    return rows
