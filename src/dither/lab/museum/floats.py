"""Computers are not real numbers: what rounding and underflow give away."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import Reals, choose, steps, uniform
from dither.lab.museum.exhibit import Exhibit, Finding, Outputs, Reckoning


def reachable_from_zero(outputs: Reals) -> Outputs:
    """The attack: 1 if the output is 0 + noise for some uniform number on the generator's grid, else 0."""
    nearest = np.rint(np.exp(-np.abs(outputs)) * 2.0**53)
    tried = (np.maximum(nearest + shift, 1.0) for shift in range(-3, 4))
    return np.any([-np.log(k * 2.0**-53) == np.abs(outputs) for k in tried], axis=0).astype(np.int64)


def float_laplace(count: int, size: int) -> Outputs:
    sign = np.where(uniform(size) < 0.5, -1.0, 1.0)
    on_the_grid = np.ceil(uniform(size) * 2.0**53) * 2.0**-53
    return reachable_from_zero(count + sign * -np.log(on_the_grid))


def grid_laplace(count: int, size: int) -> Outputs:
    return reachable_from_zero((count + steps(1, size)).astype(np.float64))


def noise_beside_the_grid(mean: float, size: int) -> Outputs:
    return mean + steps(1, size)


def rounded_first(mean: float, size: int) -> Outputs:
    return np.floor(mean + 0.5) + steps(1, size)


def weights_that_vanish(scores: tuple[int, ...], size: int) -> Outputs:
    weights = np.exp(np.array(scores) / 2)
    if not weights.sum() > 0:
        return np.full(size, -1)  # "division by zero", which the analyst sees
    return choose(weights, size)


def largest_subtracted(scores: tuple[int, ...], size: int) -> Outputs:
    return choose(np.exp((np.array(scores) - max(scores)) / 2), size)


LARGEST = 2.0**53
NEIGHBOURS = [0.0] + [1.25] * 1000, [LARGEST] + [1.25] * 1000


def float_sum() -> Finding:
    here, there = (reduce(add, rows) for rows in NEIGHBOURS)
    return Finding(claimed=0, found=abs(there - here) - LARGEST)


def fixed_point_sum() -> Finding:
    here, there = (sum(round(4 * value) for value in rows) for rows in NEIGHBOURS)
    return Finding(claimed=0, found=abs(there - here) / 4 - LARGEST)


EXHIBITS = (
    Exhibit(
        "floating-point Laplace",
        "Noise made by a logarithm lands on few of the doubles around it. From 0 the noise is published as it is; "
        "from 1 the sum is rounded, and lands on doubles that no noise around 0 ever reaches: some answers "
        "exclude a neighbour.",
        "Mironov, On significance of the least significant bits for differential privacy, CCS 2012",
        float_laplace,
        grid_laplace,
        ((0, 1),),
        PureDP(1),
    ),
    Exhibit(
        "grid noise beside the grid",
        "Whole-number noise was added to a mean that is not a whole number: the digits behind the point are published "
        "exactly. Round to the grid first, and let the sensitivity count the rounding.",
        "written for the museum",
        noise_beside_the_grid,
        rounded_first,
        ((2.0, 2.5),),
        PureDP(1),
    ),
    Exhibit(
        "weights that vanish",
        "Weights exp(epsilon score / 2) were not divided by the largest. At a score of -1490 they are the "
        "smallest double; with one more record all of them are 0, and choosing raises an error: an exact answer "
        "to one question.",
        "written for the museum; quantiles of about 1,490 records and more meet it",
        weights_that_vanish,
        largest_subtracted,
        (((-1490, -1491), (-1491, -1492)),),
        PureDP(1),
    ),
    Reckoning(
        "a sum in floating point",
        "Each value was clamped, so the sum was taken to move by no more than the range. But every addition "
        "rounds: after one large value each 1.25 counts as 2, and the sums differ by more than the range.",
        "Casacuberta, Shoemate, Vadhan and Wagaman, Widespread underestimation of sensitivity in differentially "
        "private libraries and how to fix it, CCS 2022",
        "distance of neighbours beyond the range",
        float_sum,
        fixed_point_sum,
    ),
)
