"""Many draws of noise with density proportional to 1/(1 + |z|^gamma) on a grid, round by round.

The distribution proposes a number from an envelope and keeps it or not, until one is kept. Here every round proposes
for all places that are still open, and decides in intervals. A place at which they leave doubt, about a proposal or
about the rounding, is drawn again from the same numbers by the code that a release runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither.exact.balls import ball
from dither.lab.audit.draws.intervals import Intervals
from dither.lab.audit.draws.real_draws import again, enclosed, exactly, whole_parts
from dither.noise.entropy import random_words
from dither.noise.lazy_uniform import LazyUniform
from dither.noise.reals.cauchy import GeneralisedCauchy
from dither.noise.reals.rounded_reals import Rounding, Source

_EACH = 3  # uniform numbers of a round: which part of the envelope, where in it, and the coin


@dataclass
class Rounds:
    """A sign for each place, and uniform numbers for the places that are open in each round."""

    size: int
    signs: npt.NDArray[np.int64] = field(init=False)
    handed: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.uint64]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.signs = 1 - 2 * (random_words(np.uint8, self.size) & 1).astype(np.int64)

    def next(self, places: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
        """The first 64 bits of three uniform numbers for each of some places, which are in order."""
        words = random_words(np.uint64, _EACH * places.size).reshape(_EACH, -1)
        self.handed.append((places, words))
        return words

    def again(self, place: int) -> Source:
        """The same numbers for one place, in the order of a draw; further bits and further numbers are fresh."""
        words: list[int] = []
        for places, three in self.handed:
            at = int(np.searchsorted(places, place))
            if at < places.size and places[at] == place:
                words += three[:, at].tolist()
        given, fresh = iter(words), Source()

        def uniform() -> LazyUniform:
            word = next(given, None)
            return fresh.uniform() if word is None else LazyUniform(word, 64)

        return again(uniform, lambda: int(self.signs[place]))


def rejected_draws(
    distribution: GeneralisedCauchy, scale: Fraction, centre: Fraction, size: int
) -> npt.NDArray[np.int64]:
    """`size` independent numbers centre + scale eta, rounded to the nearest whole number."""
    return settled_by_rounds(distribution, Rounding.of(scale, centre), Rounds(size))[0]


def settled_by_rounds(
    distribution: GeneralisedCauchy, rounding: Rounding, rounds: Rounds
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The rounded numbers, and which of them the intervals decided."""
    gamma, edge = distribution.gamma, ball(1 - 1 / distribution.gamma)
    near, far = (ball(1), ball(gamma)), (ball(-1 / (gamma - 1)), ball(gamma / (gamma - 1)))
    floors, decided = np.zeros(rounds.size), np.zeros(rounds.size, np.bool_)
    pending = np.arange(rounds.size)
    while pending.size:
        part, u, coin = (enclosed(words) for words in rounds.next(pending))
        inside, beyond = part.below(edge), part.not_below(edge)
        power, shrink = (Intervals.chosen(inside, one, other) for one, other in zip(near, far, strict=True))
        # With z = u^power, density over envelope is 1/(1 + z^gamma) inside and 1/(1 + z^-gamma) beyond.
        test = coin * (1 + u**shrink)
        known = inside | beyond
        kept, refused = known & test.below(ball(1)), known & test.not_below(ball(1))
        eta = rounds.signs[pending] * u**power
        found, sure = whole_parts(ball(rounding.scale) * (eta + ball(rounding.rest)))
        done = kept & sure
        floors[pending[done]], decided[pending[done]] = found[done], True
        pending = pending[refused]
    return exactly(distribution, rounding, floors, decided, rounds.again), decided
