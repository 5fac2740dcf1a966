"""Time as a channel: how long a draw takes against its noise, and a question on two neighbours."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.exact.parameters import whole
from dither.lab.audit.neighbours.sides import Side

_INTERRUPTED = 3  # medians: a draw that took longer was interrupted, and counts as this long
_DOUBTFUL = 5.0  # standard deviations of the correlation of independent pairs


@dataclass(frozen=True)
class Timing:
    """The correlation of the size of noise with the time it took to draw it."""

    correlation: float
    draws: int
    median_seconds: float

    @property
    def passed(self) -> bool:
        """Whether the correlation is no larger than chance, or a machine with other work, makes it."""
        return bool(abs(self.correlation) < max(0.05, _DOUBTFUL / math.sqrt(self.draws)))

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        word = "passed" if self.passed else "FAILED"
        return f"{word}: correlation {self.correlation:+.4f} of noise and time over {self.draws:,} draws"


def timing(draw: Callable[[], Any], *, draws: int = 8000) -> Timing:
    """Call `draw` many times and compare the size of what it returns with the time that it took.

    >>> from dither.noise import discrete_laplace
    >>> timing(lambda: discrete_laplace(10), draws=500).draws
    500
    """
    count = whole(draws, "draws", least=100)
    sizes, times = np.empty(count), np.empty(count)
    draw()
    for place in range(count):
        start = time.perf_counter_ns()
        value = draw()
        times[place] = time.perf_counter_ns() - start
        sizes[place] = abs(float(getattr(value, "value", value)))
    middle = float(np.median(times))
    cut = np.minimum(times, _INTERRUPTED * middle)
    varied = float(sizes.std()) > 0 and float(cut.std()) > 0
    found = float(np.corrcoef(sizes, cut)[0, 1]) if varied else 0.0
    return Timing(found, count, middle / 1e9)


@dataclass(frozen=True)
class QuestionTimes:
    """How long the engine took for one question on two neighbours: medians, in seconds."""

    question: str
    seconds: tuple[float, float]
    repetitions: int

    @property
    def ratio(self) -> float:
        """The slower over the quicker."""
        return max(self.seconds) / max(min(self.seconds), 1e-9)

    def __str__(self) -> str:
        one, other = (f"{1000 * seconds:.2f} ms" for seconds in self.seconds)
        return f"{one} against {other}, {self.ratio:.2f} to 1: {self.question}"


def question_times(one: Side, other: Side, question: str, *, repetitions: int = 20) -> QuestionTimes:
    """Run a question's statements on two neighbours, in turn, and compare how long they take.

    Nothing is charged and no noise is drawn. Time depends on how many rows there are, and rows are private: this
    measures what a clock can tell; only answers released on a grid of times hide it.
    """
    times: tuple[list[float], list[float]] = ([], [])
    statements = [side.price(question, epsilon="1").statements for side in (one, other)]
    for _ in range(whole(repetitions, "repetitions")):
        for side, asked, kept in zip((one, other), statements, times, strict=True):
            start = time.perf_counter()
            for statement in asked:
                side.run(statement)
            kept.append(time.perf_counter() - start)
    middle = [float(np.median(kept)) for kept in times]
    return QuestionTimes(question, (middle[0], middle[1]), repetitions)
