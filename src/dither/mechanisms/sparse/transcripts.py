"""The exact distribution of what a sparse vector session says: a sum over the noise on its threshold."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, lower, upper
from dither.exact.precision import precision
from dither.mechanisms.discrete_laplace import mass, upper_tail

if TYPE_CHECKING:
    from dither.mechanisms.sparse.sparse_vector import SparseVector

Pair = tuple[Fraction, Fraction]
Transcript = tuple[bool, ...]

_BITS = 160
_SCALES = 60  # noise beyond this many scales has probability below e^-60, which the bounds allow for
_MOST_POINTS = 50_000
_MOST_TRANSCRIPTS = 1024


def transcript_distribution(mechanism: SparseVector, steps: list[int]) -> dict[Transcript, Pair]:
    """Certified bounds of the probability of each transcript; `steps` are the values less the threshold."""
    reach = math.ceil(_SCALES * mechanism.threshold_scale)
    if reach > _MOST_POINTS:
        raise ParameterError(
            "the noise on the threshold has too many grid steps to list its distribution; give a larger grid=."
        )
    if _transcripts(len(steps), mechanism.positives) > _MOST_TRANSCRIPTS:
        raise ParameterError(f"there are more than {_MOST_TRANSCRIPTS} transcripts to list; give fewer values.")
    with precision(_BITS):
        noises = range(-reach, reach + 1)
        weights = [mass(mechanism.threshold_scale, noise) for noise in noises]
        above = [[upper_tail(mechanism.query_scale, noise - step) for noise in noises] for step in steps]
        rest = 2 * upper_tail(mechanism.threshold_scale, reach + 1)
        found: dict[Transcript, Pair] = {}
        open_ends: list[tuple[Transcript, list[Ball]]] = [((), weights)]
        while open_ends:
            transcript, joint = open_ends.pop()
            if len(transcript) == len(steps) or sum(transcript) == mechanism.positives:
                total = sum(joint, ball(0))
                found[transcript] = (lower(total) or Fraction(0), upper(total + rest) or Fraction(1))
                continue
            chances = above[len(transcript)]
            open_ends.append(((*transcript, False), [p * (1 - a) for p, a in zip(joint, chances, strict=True)]))
            open_ends.append(((*transcript, True), [p * a for p, a in zip(joint, chances, strict=True)]))
        return found


def _transcripts(values: int, positives: int) -> int:
    """How many there are: those with fewer positives, and those that end with the last one allowed."""
    open_to_the_end = sum(math.comb(values, found) for found in range(min(positives, values + 1)))
    return open_to_the_end + math.comb(values, positives)
