"""Inversion by table: one random word gives one draw, by certified boundaries between the words of neighbouring values.

A word w of `width` bits stands for the uniform numbers U in [w, w + 1) / 2**width. With F(k) = P[X <= k], the word that
contains F(k) is the boundary word of k. Words between two boundary words belong to one value; a boundary word is
decided by learning more bits. The top `guide` bits alone decide most draws: low bits are drawn only where they matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact.balls import ball, whole_part
from dither.exact.precision import precision
from dither.noise.entropy import Fill, Learn, keystream, learn_bits, random_bits
from dither.noise.integers.distribution import Distribution, locate
from dither.noise.lazy_uniform import LazyUniform

WIDTH = 32
GUIDE = 16
# Draws per piece (its arrays stay in cache), and per round of settling what the top words leave undecided.
CHUNK = 1 << 15
BATCH = 1 << 20
UNDECIDED = -(1 << 15)


@dataclass(frozen=True)
class Table:
    """Draws of one distribution. `direct[top]` is the value, or UNDECIDED where the top bits alone leave a choice."""

    distribution: Distribution
    width: int
    guide: int
    first_value: int
    boundaries: NDArray[np.uint32]
    direct: NDArray[np.int16]
    # For each top word, how many boundaries lie before it.
    before: NDArray[np.int32]

    def one(self, source: Callable[[int], int] = random_bits, learn: Learn = learn_bits) -> int:
        """One draw, by a search whose length does not depend on what is found."""
        word = source(self.width)
        rank = bisect_left(self.boundaries, word)
        if word == self.boundaries[rank]:
            return locate(self.distribution, LazyUniform(word, self.width, learn))
        return self.first_value + rank

    def finish(self, top: NDArray[np.uint16], fill: Fill, learn: Learn = learn_bits) -> NDArray[np.int64]:
        """The values of draws whose top bits left a choice: their low bits are drawn now."""
        low_bits = self.width - self.guide
        low = np.empty(top.size, np.uint16)
        fill(low)
        word = (top.astype(np.uint32) << np.uint32(low_bits)) | (low >> np.uint16(16 - low_bits))
        rank = self.before[top]
        # One corrective comparison settles the words of a top word with a single boundary.
        # (The last boundary word is the last word of all, so no rank runs past the end.)
        rank += word > self.boundaries[rank]
        further = np.flatnonzero(word > self.boundaries[rank])
        rank[further] = np.searchsorted(self.boundaries, word[further])
        values = rank.astype(np.int64) + self.first_value
        for i in np.flatnonzero(word == self.boundaries[rank]):
            values[i] = locate(self.distribution, LazyUniform(int(word[i]), self.width, learn))
        return values


def draw_from_table(table: Table, count: int) -> NDArray[np.int64]:
    """`count` draws, all from one batch of random bits."""
    out = np.empty(count, np.int64)
    fill = keystream(2 * count)
    for start in range(0, count, BATCH):
        fill_from_table(table, out[start : start + BATCH], fill)
    return out


def fill_from_table(table: Table, out: NDArray[np.int64], fill: Fill, learn: Learn = learn_bits) -> None:
    """Top words in cache-sized pieces, then the few draws they leave undecided, together."""
    size = min(out.size, CHUNK)
    words, index, value = np.empty(size, np.uint16), np.empty(size, np.intp), np.empty(size, np.int16)
    undecided = np.empty(size, bool)
    where, top = [], []
    for start in range(0, out.size, CHUNK):
        piece = out[start : start + CHUNK]
        if piece.size < words.size:
            words, index, value = words[: piece.size], index[: piece.size], value[: piece.size]
            undecided = undecided[: piece.size]
        fill(words)
        if table.guide < 16:
            np.right_shift(words, 16 - table.guide, out=words)
        np.copyto(index, words)
        np.take(table.direct, index, out=value, mode="clip")
        np.copyto(piece, value)
        np.equal(value, UNDECIDED, out=undecided)
        left = np.flatnonzero(undecided)
        where.append(left + start)
        top.append(words[left])
    out[np.concatenate(where)] = table.finish(np.concatenate(top), fill, learn)


def build_table(distribution: Distribution, width: int = WIDTH, guide: int = GUIDE) -> Table:
    """A table for any distribution whose boundary words cover fewer than 2**15 values; width - guide <= 16 bits."""
    upper = _boundary_words(distribution, width)
    if len(upper) >= -UNDECIDED:
        raise ParameterError(
            f"a table holds fewer than {-UNDECIDED} values on a side; this distribution needs {len(upper)}."
        )
    last_word = (1 << width) - 1
    # P[X <= -k-1] = 1 - P[X <= k]: the boundary words below zero are the mirror image.
    lower = [last_word - word for word in reversed(upper)] if distribution.symmetric else []
    first_value = -len(lower)
    boundaries = np.array(lower + upper, np.uint32)
    starts = np.arange(1 << guide, dtype=np.int64) << (width - guide)
    before = np.searchsorted(boundaries, starts).astype(np.int32)
    after = np.searchsorted(boundaries, starts + (1 << (width - guide)))
    direct = np.where(before == after, before + first_value, UNDECIDED).astype(np.int16)
    return Table(distribution, width, guide, first_value, boundaries, direct, before)


def _boundary_words(distribution: Distribution, width: int) -> list[int]:
    """floor(2**width P[X <= k]) for k = 0, 1, ... until the last word is reached; certified."""
    words: list[int] = []
    last_word = (1 << width) - 1
    with precision(width + 32):
        unit = ball(1 << width)
        while not words or words[-1] != last_word:
            # From the tail, because what is left of a tiny tail is still a positive number.
            tail_word = whole_part(distribution.tail(len(words)) * unit)
            words.append(
                last_word - (_certified_floor(distribution, len(words), width) if tail_word is None else tail_word)
            )
    return words


def _certified_floor(distribution: Distribution, k: int, width: int) -> int:
    """floor(2**width P[X > k]) where the usual precision leaves two candidates."""
    bits = width + 32
    while True:
        bits *= 2
        with precision(bits):
            word = whole_part(distribution.tail(k) * ball(1 << width))
        if word is not None:
            return word
