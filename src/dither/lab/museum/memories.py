"""Mechanisms that remember what they were asked, and behave while they are looked at."""

from __future__ import annotations

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import Ints, steps
from dither.lab.museum.exhibit import Exhibit, Outputs


class HonestWhenAskedAgain:
    def __init__(self) -> None:
        self.last: int | None = None

    def __call__(self, count: int, size: int) -> Outputs:
        noise = steps(1, size)
        noise[0] *= count == self.last
        self.last = count
        return count + noise


class HonestOnceItKnows:
    def __init__(self) -> None:
        self.known: set[int] = set()

    def __call__(self, count: int, size: int) -> Outputs:
        noise = steps(1, size)
        noise[0] *= count in self.known
        self.known.add(count)
        return count + noise


class Antithetic:
    def __init__(self) -> None:
        self.kept: Ints = steps(1, 0)

    def __call__(self, count: int, size: int) -> Outputs:
        used, self.kept = self.kept[:size], self.kept[size:]
        fresh = steps(1, size - len(used))
        self.kept = np.concatenate([self.kept, -fresh])
        return count + np.concatenate([used, fresh])


def no_memory(count: int, size: int) -> Outputs:
    return count + steps(1, size)


EXHIBITS = (
    Exhibit(
        "honest when asked again",
        "Noise is added if the same data come a second time in a row, as they do in an audit that draws all samples "
        "of one dataset and then all of the other. An analyst gets the exact answer.",
        "written for the museum; the auditor asks about other data in between",
        HonestWhenAskedAgain,
        no_memory,
        ((0, 1), (5, 6)),
        PureDP(1),
        samples=50_000,
    ),
    Exhibit(
        "honest once it knows",
        "The first answer about any data is exact; all later ones are noisy. On one pair of neighbours two answers of "
        "very many betray it, which nobody can tell from luck: it takes many inputs.",
        "written for the museum; the auditor compares the first output on every input with the later ones",
        HonestOnceItKnows,
        no_memory,
        tuple((100 * n, 100 * n + 1) for n in range(24)),
        PureDP(1),
        samples=20_000,
    ),
    Exhibit(
        "antithetic noise",
        "To keep the average of many answers accurate, each noise is used again with the other sign. Every answer by "
        "itself has the right distribution; the sum of two is exact.",
        "antithetic variates, a technique of simulation; the auditor looks at two outputs together",
        Antithetic,
        no_memory,
        ((0, 1),),
        PureDP(1),
        samples=50_000,
    ),
)
