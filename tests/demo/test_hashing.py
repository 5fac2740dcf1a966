"""Made-up data come out the same everywhere, and look random enough for a demonstration."""

from __future__ import annotations

import numpy as np

from dither.demo.hashing import below, weighted, words

COUNTERS = np.arange(100_000)


def reference(start: int, counter: int) -> int:
    mask = 2**64 - 1
    word = (counter * 0x9E3779B97F4A7C15 + start) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


def test_words_equal_a_reference_in_whole_numbers() -> None:
    from hashlib import sha256

    start = int.from_bytes(sha256(b"age").digest()[:8], "big")
    counters = [0, 1, 2, 999, 10**9]
    assert words("age", np.array(counters)).tolist() == [reference(start, counter) for counter in counters]


def test_streams_differ() -> None:
    assert not np.any(words("age", COUNTERS) == words("fee", COUNTERS))


def test_numbers_stay_below_their_bound_and_reach_all_of_it() -> None:
    for bound in (1, 2, 7, 250):
        drawn = below("x", COUNTERS, bound)
        assert set(drawn.tolist()) == set(range(bound))
    assert below("x", COUNTERS, 2**31).max() < 2**31


def test_weights_are_respected() -> None:
    drawn = weighted("x", COUNTERS, (1, 0, 3))
    counts = np.bincount(drawn, minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / counts[0] - 3) < 0.1
