"""Noise that is not fresh, not independent, or not all there."""

from __future__ import annotations

import copy

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import Ints, steps
from dither.lab.museum.exhibit import Exhibit, Finding, Outputs, Reckoning
from dither.noise.entropy import random_words


class Seeded:
    """A small generator with a state that lives in memory (Knuth's constants): what not to draw noise from."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self, size: int) -> Outputs:
        found = np.empty(size)
        for place in range(size):
            self.state = (6364136223846793005 * self.state + 1442695040888963407) % 2**64
            found[place] = ((self.state >> 11) + 0.5) * 2.0**-53
        return found


def seeded_noise(count: int, size: int) -> Outputs:
    two = Seeded(seed=7).uniform(2 * size).reshape(2, size)
    geometric = np.floor(-np.log(two)).astype(np.int64)  # P[k] proportional to e^-k
    noise: Ints = geometric[0] - geometric[1]
    return count + noise


def fresh_noise(count: int, size: int) -> Outputs:
    return count + steps(1, size)


def one_noise_for_two_answers(counts: tuple[int, int], size: int) -> Outputs:
    return np.array(counts) + steps(2, (size, 1))


def noise_for_each_answer(counts: tuple[int, int], size: int) -> Outputs:
    return np.array(counts) + steps(2, (size, 2))


def generator_kept_across_a_fork() -> Finding:
    parent = Seeded(seed=int.from_bytes(random_words(np.uint8, 8).tobytes(), "little"))
    child = copy.deepcopy(parent)  # what a fork does to memory
    return Finding(claimed=0, found=int((parent.uniform(64) == child.uniform(64)).sum()))


def keyed_for_every_batch() -> Finding:
    parent, child = random_words(np.uint64, 64), random_words(np.uint64, 64)  # there is no state to copy
    return Finding(claimed=0, found=int((parent == child).sum()))


def drawn_again_below_zero(count: int, size: int) -> Outputs:
    noisy = count + steps(2, size)
    while (noisy < 0).any():
        noisy = np.where(noisy < 0, count + steps(2, size), noisy)
    return noisy


def zero_at_least(count: int, size: int) -> Outputs:
    return np.maximum(0, count + steps(2, size))


def noise_cut_off(count: int, size: int) -> Outputs:
    return count + np.clip(steps(2, size), -5, 5)


def answer_cut_off(count: int, size: int) -> Outputs:
    return np.clip(count + steps(2, size), -5, 5)


def fresh_answer_for_every_retry(count: int, size: int) -> Outputs:
    return (count + steps(1, (size, 10))).sum(axis=1)


def stored_answer_for_every_retry(count: int, size: int) -> Outputs:
    return 10 * (count + steps(1, size))


_PAIR = ((0, 1),)
EXHIBITS = (
    Exhibit(
        "a reused seed",
        "The generator was seeded with a constant, so that results could be reproduced. They can: by everyone.",
        "written for the museum; the auditor asks twice and compares",
        seeded_noise,
        fresh_noise,
        _PAIR,
        PureDP(1),
        samples=20_000,
    ),
    Exhibit(
        "one noise for two answers",
        "The noise of a request was drawn once and added to both columns. Their difference is exact.",
        "written for the museum",
        one_noise_for_two_answers,
        noise_for_each_answer,
        (((5, 5), (6, 5)), ((5, 5), (6, 6))),
        PureDP(1),
        samples=50_000,
    ),
    Reckoning(
        "noise kept across a fork",
        "A process forks after its generator was keyed: parent and child draw the same noise for different answers.",
        "a well-known trap of user-space generators; threat 14 of docs/evidence/threats.md",
        "equal draws of 64",
        generator_kept_across_a_fork,
        keyed_for_every_batch,
    ),
    Exhibit(
        "negative counts drawn again",
        "A count cannot be negative, so noise was drawn until the answer was not. How often that takes depends on the "
        "count. Cutting the finished answer off at 0 is post-processing and costs nothing.",
        "written for the museum",
        drawn_again_below_zero,
        zero_at_least,
        _PAIR,
        PureDP("0.5"),
    ),
    Exhibit(
        "noise cut off",
        "Noise was limited to 5 either way, so that no answer is far off. From 1 it reaches 6, from 0 it does not.",
        "written for the museum",
        noise_cut_off,
        answer_cut_off,
        _PAIR,
        PureDP("0.5"),
    ),
    Exhibit(
        "a fresh answer for every retry",
        "A request that timed out was answered again, with fresh noise and without a charge: ten retries, one "
        "price. The average of the ten answers is almost exact. Retries must get the stored answer.",
        "written for the museum; threat 22 of docs/evidence/threats.md",
        fresh_answer_for_every_retry,
        stored_answer_for_every_retry,
        _PAIR,
        PureDP(1),
    ),
)
