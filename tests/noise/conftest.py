"""Scripted randomness, so that a test can walk every path of a sampler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest


class OutOfBits(Exception):
    """The script ended before the sampler was certain."""


class Script:
    """Random bits chosen by the test. As `fill` it writes whole words; as `learn` it gives one bit at a time."""

    def __init__(self, words=(), bits=()):
        self.words, self.bits = list(words), list(bits)

    def fill(self, array):
        if not array.size:
            return
        if not self.words:
            raise OutOfBits
        array[:] = self.words.pop(0)

    def learn(self):
        if not self.bits:
            raise OutOfBits
        return 1, self.bits.pop(0)


def leaves(run: Callable[[tuple[int, ...]], object], depth: int) -> Iterator[tuple[tuple[int, ...], object]]:
    """Every shortest bit string that lets `run` finish, with its result; None for those of full depth that do not."""
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        bits = waiting.pop()
        try:
            yield bits, run(bits)
        except OutOfBits:
            if len(bits) == depth:
                yield bits, None
            else:
                waiting += [(*bits, 0), (*bits, 1)]


def weight(bits: tuple[int, ...]) -> Fraction:
    return Fraction(1, 1 << len(bits))


@pytest.fixture
def script():
    return Script


@pytest.fixture
def bit_leaves():
    return leaves


@pytest.fixture
def certified():
    """The interval of a ball as exact Fractions, at high precision."""
    from dither.exact.precision import precision

    def fraction(exact_ball):
        mantissa, exponent = exact_ball.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    def interval(make, bits=256):
        with precision(bits):
            number = make()
            return fraction(number.lower()), fraction(number.upper())

    return interval


@pytest.fixture
def kernel_words():
    def make(dtype, count):
        import os

        return np.frombuffer(os.urandom(np.dtype(dtype).itemsize * count), dtype).copy()

    return make
