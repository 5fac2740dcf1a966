"""Noise of the wrong size: sensitivities for another relation, another norm, another unit, or none at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import laplace, steps
from dither.lab.museum.exhibit import Exhibit, Outputs
from dither.noise import rounded_gaussian


def histogram_for_add_remove(cells: tuple[int, ...], size: int) -> Outputs:
    return np.array(cells) + steps(1, (size, len(cells)))


def histogram_for_replace(cells: tuple[int, ...], size: int) -> Outputs:
    return np.array(cells) + steps(2, (size, len(cells)))


def sum_by_the_width(values: tuple[int, ...], size: int) -> Outputs:
    return sum(values) + steps(100 - 40, size)


def sum_by_the_largest(values: tuple[int, ...], size: int) -> Outputs:
    return sum(values) + steps(100, size)


def counts_by_the_euclidean_norm(counts: tuple[int, ...], size: int) -> Outputs:
    return np.array(counts) + steps(2, (size, 4))  # sqrt 4


def counts_by_the_sum_norm(counts: tuple[int, ...], size: int) -> Outputs:
    return np.array(counts) + steps(4, (size, 4))


def one_row_of_an_owner(rows_per_owner: tuple[int, ...], size: int) -> Outputs:
    return sum(rows_per_owner) + steps(1, size)


def at_most_ten_rows_of_an_owner(rows_per_owner: tuple[int, ...], size: int) -> Outputs:
    return sum(min(10, rows) for rows in rows_per_owner) + steps(10, size)


def mean_with_the_true_size(values: tuple[int, ...], size: int) -> Outputs:
    n = len(values)
    return sum(values) / n + laplace(100 / n, size)


def noisy_sum_over_noisy_count(values: tuple[int, ...], size: int) -> Outputs:
    noisy_count = np.maximum(1, len(values) + steps(2, size))
    return (sum(values) + steps(200, size)) / noisy_count


def clamped_to_the_data(values: tuple[int, ...], size: int) -> Outputs:
    low, high = min(values), max(values)
    clamped = [min(max(value, low), high) for value in values]
    return sum(clamped) + laplace(high - low, size)


def clamped_to_the_declared_range(values: tuple[int, ...], size: int) -> Outputs:
    clamped = [min(max(value, 0), 100) for value in values]
    return sum(clamped) + laplace(100, size)


def gaussian_without_delta(count: int, size: int) -> Outputs:
    return count + np.asarray(rounded_gaussian(Fraction(3, 2), size))


def laplace_without_delta(count: int, size: int) -> Outputs:
    return count + steps(1, size)


EXHIBITS = (
    Exhibit(
        "add/remove noise under replace",
        "A person who changes the answer leaves one cell of a histogram and enters another: the counts move by 2, "
        "not 1.",
        "the same confusion of 1 and 2 stands in many lecture notes; threat 38 of docs/evidence/threats.md",
        histogram_for_add_remove,
        histogram_for_replace,
        (((3, 4), (4, 3)),),
        PureDP(1, "replace"),
        samples=100_000,
    ),
    Exhibit(
        "the width of a range for its largest value",
        "Values lie between 40 and 100, so noise was scaled to 60. A person who joins adds up to 100.",
        "written for the museum: the sensitivity of replace under add/remove",
        sum_by_the_width,
        sum_by_the_largest,
        (((), (100,)),),
        PureDP(1),
    ),
    Exhibit(
        "Laplace noise by the Euclidean norm",
        "Four counts, of which one person moves all four: 4 in the sum norm, which Laplace noise needs, and 2 in the "
        "Euclidean norm, which Gaussian noise needs.",
        "written for the museum: the labels of the two norms are easily swapped",
        counts_by_the_euclidean_norm,
        counts_by_the_sum_norm,
        (((0, 0, 0, 0), (1, 1, 1, 1)),),
        PureDP(1),
        samples=100_000,
    ),
    Exhibit(
        "noise for a row, promised to an owner",
        "The noise hides one row. The person has ten.",
        "written for the museum",
        one_row_of_an_owner,
        at_most_ten_rows_of_an_owner,
        (((), (10,)), ((), (1000,))),
        PureDP(1, "owner"),
    ),
    Exhibit(
        "a mean with the true number of records",
        "Noise was scaled to (range)/n with the true n. Under add/remove n is private, and the scale of the noise "
        "tells it.",
        "written for the museum; threat 19 of docs/evidence/threats.md",
        mean_with_the_true_size,
        noisy_sum_over_noisy_count,
        (((100,), (100, 0)),),
        PureDP(1),
    ),
    Exhibit(
        "clamped to the data's own bounds",
        "No range was declared, so values were clamped to the smallest and largest there are, and noise was scaled to "
        "that. One person widens both.",
        "written for the museum",
        clamped_to_the_data,
        clamped_to_the_declared_range,
        (((50, 51, 50), (50, 51, 100)),),
        PureDP(1, "replace"),
    ),
    Exhibit(
        "a delta that was forgotten",
        "Gaussian noise was entered in the books as pure differential privacy. Far out the ratio grows without bound.",
        "written for the museum",
        gaussian_without_delta,
        laplace_without_delta,
        ((0, 1),),
        PureDP(1),
        samples=1_000_000,
    ),
)
