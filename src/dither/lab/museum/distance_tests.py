"""Propose-test-release and stability: tests that let too much through, or say too much."""

from __future__ import annotations

import math

import numpy as np

from dither.accounting import ApproxDP
from dither.lab.museum.draws import laplace, steps
from dither.lab.museum.exhibit import Exhibit, Outputs

REFUSED = -(10**6)
EPSILON, DELTA = 0.5, 0.01  # of the test; the answer has as much epsilon of its own
THRESHOLD = math.log(1 / (2 * DELTA)) / EPSILON
_CLAIMED = ApproxDP(1, "0.01", relation="replace")
Answer = tuple[int, int]  # the value, and the distance to data whose local sensitivity exceeds the bound


def _released(answer: Answer, threshold: float, noise: float, size: int) -> Outputs:
    value, distance = answer
    passes = distance + laplace(1 / EPSILON, size) > threshold
    return np.where(passes, value + laplace(noise, size), REFUSED)


def threshold_without_epsilon(answer: Answer, size: int) -> Outputs:
    return _released(answer, math.log(1 / (2 * DELTA)), 1 / EPSILON, size)


def threshold_over_epsilon(answer: Answer, size: int) -> Outputs:
    return _released(answer, THRESHOLD, 1 / EPSILON, size)


def refusal_with_its_reason(answer: Answer, size: int) -> Outputs:
    released = threshold_over_epsilon(answer, size)
    return np.where(released == REFUSED, REFUSED - answer[1], released)  # "refused at distance ..."


BOUND = 10


def noise_without_the_bound(answer: Answer, size: int) -> Outputs:
    return _released(answer, THRESHOLD, 1 / EPSILON, size)


def noise_for_the_bound(answer: Answer, size: int) -> Outputs:
    return _released(answer, THRESHOLD, BOUND / EPSILON, size)


def bound_without_a_margin(answer: tuple[int, int], size: int) -> Outputs:
    value, local = answer
    bound = np.maximum(0.01, local + laplace(1 / EPSILON, size))
    return value + laplace(bound / EPSILON, size)


def bound_with_a_margin(answer: tuple[int, int], size: int) -> Outputs:
    value, local = answer
    bound = np.maximum(0.01, local + laplace(1 / EPSILON, size) + THRESHOLD)
    return value + laplace(bound / EPSILON, size)


# Stability: epsilon 2, delta 0.003; with q = e^-2 the first tail below delta is P[noise >= 3] = q^3/(1 + q) = 0.0022.
_STABLE = ApproxDP(2, "0.003", relation="replace")


def _winner(votes: Answer) -> tuple[int, int]:
    """Who has more votes (ties to the first), and how many votes must be added to change that."""
    first, second = votes
    return (0, first - second + 1) if first >= second else (1, second - first)


def published_when_not_refuted(votes: Answer, size: int) -> Outputs:
    winner, added = _winner(votes)
    distance = math.ceil(added / 2) - 1
    return np.where(distance + steps("0.5", size) > 0, winner, -1)


def distance_in_added_votes(votes: Answer, size: int) -> Outputs:
    winner, added = _winner(votes)
    return np.where(added - 1 + steps("0.5", size) >= 3, winner, -1)


def distance_in_changed_votes(votes: Answer, size: int) -> Outputs:
    winner, added = _winner(votes)
    return np.where(math.ceil(added / 2) - 1 + steps("0.5", size) >= 3, winner, -1)


_VOTES = (((6, 5), (5, 6)),)
EXHIBITS = (
    Exhibit(
        "propose-test-release with the wrong threshold",
        "The threshold is ln(1/(2 delta))/epsilon; it was ln(1/(2 delta)). Data whose sensitivity is above the "
        "bound pass the test seven times as often as delta allows.",
        "written for the museum; the mechanism is that of Dwork and Lei, STOC 2009",
        threshold_without_epsilon,
        threshold_over_epsilon,
        (((0, 0), (100, 0)),),
        _CLAIMED,
    ),
    Exhibit(
        "propose-test-release that says why",
        "A refusal came with a helpful message: how far the data are from breaking the bound. The distance is a "
        "secret.",
        "written for the museum; threat 54 of docs/evidence/threats.md",
        refusal_with_its_reason,
        threshold_over_epsilon,
        (((0, 1), (1, 2)),),
        _CLAIMED,
    ),
    Exhibit(
        "propose-test-release without the bound in the noise",
        "A proof writes Lap(1/epsilon) for the noise of the answer. It is Lap(bound/epsilon), and the bound is 10.",
        "a misprint in lecture notes",
        noise_without_the_bound,
        noise_for_the_bound,
        (((0, 1000), (10, 1000)),),
        _CLAIMED,
    ),
    Exhibit(
        "a private bound without its margin",
        "Local sensitivity plus noise was used as a bound of local sensitivity. Half of the time it is below it; "
        "once in three times almost nothing is left. The bound needs a margin that the noise exceeds with "
        "probability delta.",
        "written for the museum",
        bound_without_a_margin,
        bound_with_a_margin,
        (((0, 1), (1, 1)),),
        _CLAIMED,
    ),
    Exhibit(
        "stability without a threshold",
        "The winner was published whenever the noisy distance to another winner was above 0.",
        "written for the museum; the mechanism is that of Thakurta and Smith, COLT 2013",
        published_when_not_refuted,
        distance_in_changed_votes,
        _VOTES,
        _STABLE,
    ),
    Exhibit(
        "stability counted in added votes",
        "The distance was counted in votes added, under a relation in which votes are changed. One changed vote "
        "does what two added votes do.",
        "written for the museum",
        distance_in_added_votes,
        distance_in_changed_votes,
        _VOTES,
        _STABLE,
    ),
)
