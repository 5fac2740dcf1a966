"""Sparse vector: four published algorithms that are wrong, numbered as by Lyu, Su and Li, and two more ways."""

from __future__ import annotations

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import Ints, Reals, laplace
from dither.lab.museum.exhibit import Exhibit, Outputs, Sampler

Queries = tuple[int, ...]
_PAPER = "Lyu, Su and Li, Understanding the sparse vector technique for differential privacy, PVLDB 2017"


def above(queries: Queries, size: int, threshold_noise: float, query_noise: float) -> tuple[Ints, Reals]:
    """For each run and query whether query + noise >= 0 + (one noise of the threshold), and query + noise."""
    threshold = laplace(threshold_noise, (size, 1)) if threshold_noise else np.zeros((size, 1))
    noise = laplace(query_noise, (size, len(queries))) if query_noise else 0.0
    noisy = np.array(queries) + np.zeros((size, 1)) + noise
    return (noisy >= threshold).astype(np.int64), noisy


def transcript(answers: Ints, most: int) -> Ints:
    """What is seen until `most` answers were "above", as one number: later answers are not given."""
    given = np.cumsum(answers, axis=1) - answers < most
    return (np.where(given, answers, 2) @ 3 ** np.arange(answers.shape[1])).astype(np.int64)


def algorithm_3(queries: Queries, size: int) -> Outputs:
    answers, noisy = above(queries, size, 2, 2)
    only_the_last = (answers[:, -1] == 1) & (answers[:, :-1].sum(axis=1) == 0)
    return np.where(only_the_last, np.floor(noisy[:, -1]), -100)  # the noisy value is shown with "above"


def algorithm_4(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 4, 4 / 3)[0], most=5)


def algorithm_5(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 2, 0)[0], most=len(queries))


def algorithm_6(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 2, 2)[0], most=len(queries))


def sharp_threshold(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 0, 4)[0], most=1)


def monotone_noise(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 2, 2)[0], most=1)


def algorithm_1(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 2, 4)[0], most=1)


def algorithm_1_five_times(queries: Queries, size: int) -> Outputs:
    return transcript(above(queries, size, 2, 20)[0], most=5)


def _exhibit(name: str, story: str, broken: Sampler, fixed: Sampler, *pairs: tuple[Queries, Queries]) -> Exhibit:
    return Exhibit(name, story, _PAPER, broken, fixed, pairs, PureDP(1, "replace"), samples=600_000)


EXHIBITS = (
    _exhibit(
        "sparse vector, Algorithm 3",
        'Lecture notes of 2011: with each "above" the noisy value that was compared is shown. It says that the noisy '
        'threshold is no higher, and so that all earlier "below" were close calls.',
        algorithm_3,
        algorithm_1,
        ((0,) * 7, (1,) * 6 + (0,)),
    ),
    _exhibit(
        "sparse vector, Algorithm 4",
        'Published 2014: the noise of the queries does not grow with the number of times "above" may be said. The loss '
        "is (1 + 6c)/4 times the epsilon claimed; here c = 5.",
        algorithm_4,
        algorithm_1_five_times,
        ((0,) * 10, (1,) * 5 + (-1,) * 5),
    ),
    _exhibit(
        "sparse vector, Algorithm 5",
        'Published 2014: no noise on the queries. "Below, above" on (0, 1) excludes (1, 0).',
        algorithm_5,
        algorithm_1,
        ((0, 1), (1, 0)),
    ),
    _exhibit(
        "sparse vector, Algorithm 6",
        'Published 2015: no limit on how often "above" is said, and no more noise for it.',
        algorithm_6,
        algorithm_1,
        ((0,) * 10, (1,) * 5 + (-1,) * 5),
    ),
    _exhibit(
        "sparse vector with a sharp threshold",
        'No noise on the threshold: every "below" is a fresh question about the data and none of them was paid for.',
        sharp_threshold,
        algorithm_1,
        ((0,) * 8, (1,) * 8),
    ),
    _exhibit(
        "sparse vector with the noise of monotone queries",
        "Queries that all move the same way need half the noise. These do not: five rise, and the sixth falls.",
        monotone_noise,
        algorithm_1,
        ((0,) * 6, (1,) * 5 + (-1,)),
    ),
)
