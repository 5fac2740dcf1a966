"""Right theorems used where their conditions do not hold: parallel parts, samples, and coins of the local model."""

from __future__ import annotations

import math

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import steps, uniform
from dither.lab.museum.exhibit import Exhibit, Outputs

Rows = tuple[int, ...]
_FINE = 10**12


def _pure(epsilon: float, relation: str) -> PureDP:
    """Rounded up, so that what is exactly epsilon-DP stays within the claim."""
    return PureDP(str(math.ceil(epsilon * _FINE) / _FINE), relation)


def parts_by_position(rows: Rows, size: int) -> Outputs:
    parts = [sum(rows[place : place + 1]) for place in range(4)]  # the first row, the second, ...
    return np.array(parts) + steps(2, (size, 4))


def parts_by_value(rows: Rows, size: int) -> Outputs:
    parts = [rows.count(value) for value in range(2)]
    return np.array(parts) + steps(2, (size, 2))


RATE = 0.25
SAMPLED_EPSILON = math.log1p(RATE * math.expm1(2))


def _response(bit: int, epsilon: float, size: int) -> Outputs:
    truthful = uniform(size) < 1 / (1 + math.exp(-epsilon))
    return np.where(truthful, bit, 1 - bit)


def sample_that_shows(bit: int, size: int) -> Outputs:
    return np.where(uniform(size) < RATE, _response(bit, 2, size), -1)  # -1: not in the sample


def sample_that_does_not_show(bit: int, size: int) -> Outputs:
    return np.where(uniform(size) < RATE, _response(bit, 2, size), _response(0, 0, size))


ROWS_SAMPLED = math.log1p(0.1 * math.expm1(1))


def rows_sampled(rows: int, size: int) -> Outputs:
    owner_is_in = (uniform((size, 10))[:, :rows] < 0.1).any(axis=1)
    return owner_is_in + steps(1, size)


def owners_sampled(rows: int, size: int) -> Outputs:
    owner_is_in = (uniform(size) < 0.1) & (rows > 0)
    return owner_is_in + steps(1, size)


def truth_or_a_coin(bit: int, size: int) -> Outputs:
    return np.where(uniform(size) < 0.75, bit, uniform(size) < 0.5)


def truth_or_the_opposite(bit: int, size: int) -> Outputs:
    return np.where(uniform(size) < 0.75, bit, 1 - bit)


def ten_values_by_the_coin_of_two(value: int, size: int) -> Outputs:
    other = (value + 1 + np.floor(uniform(size) * 9).astype(np.int64)) % 10
    return np.where(uniform(size) < math.e / (math.e + 1), value, other)


def ten_values_by_their_own_coin(value: int, size: int) -> Outputs:
    other = (value + 1 + np.floor(uniform(size) * 9).astype(np.int64)) % 10
    return np.where(uniform(size) < math.e / (math.e + 9), value, other)


EXHIBITS = (
    Exhibit(
        "parallel composition by row number",
        "Four counts over the first, second, third and fourth row were charged as one, as their rows are disjoint. "
        "Remove the first row and every other row moves up: all four counts change.",
        "an example in lecture notes; parts must be made by value",
        parts_by_position,
        parts_by_value,
        (((1, 0, 1, 0, 1), (0, 1, 0, 1)),),
        PureDP("0.5"),
        samples=100_000,
    ),
    Exhibit(
        "amplification by sampling under replace",
        "A sample of rate 1/4 was charged ln(1 + (e^epsilon - 1)/4), the figure of add/remove, under replace, "
        "where sizes are public. The size of the sample of one says whether the answer is about that one.",
        "written for the museum",
        sample_that_shows,
        sample_that_does_not_show,
        ((0, 1),),
        _pure(SAMPLED_EPSILON, "replace"),
    ),
    Exhibit(
        "rows sampled, owners promised",
        "Every tenth row was sampled and the amplified figure promised to owners. An owner of ten rows is in the "
        "sample with probability 0.65.",
        "written for the museum",
        rows_sampled,
        owners_sampled,
        ((0, 10),),
        _pure(ROWS_SAMPLED, "owner"),
        samples=1_000_000,
    ),
    Exhibit(
        "truth or a coin",
        "The truth with probability 3/4, else the toss of a coin, which is the truth half of the time: 7 to 1, "
        "not 3 to 1.",
        "written for the museum; Warner 1965 has the opposite in place of the coin",
        truth_or_a_coin,
        truth_or_the_opposite,
        ((0, 1),),
        _pure(math.log(3), "replace"),
    ),
    Exhibit(
        "ten values by the coin of two",
        "The truth with probability e^epsilon/(e^epsilon + 1), as for yes and no, else one of nine other values: "
        "each of them is nine times rarer than the one opposite would be.",
        "written for the museum",
        ten_values_by_the_coin_of_two,
        ten_values_by_their_own_coin,
        ((0, 1),),
        PureDP(1, "replace"),
    ),
)
