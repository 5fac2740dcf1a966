"""Choosing by scores: noise that fits another kind of scores, and answers that say more than the winner's name."""

from __future__ import annotations

import numpy as np

from dither.accounting import PureDP
from dither.lab.museum.draws import Ints, choose, exponential, laplace, steps, uniform
from dither.lab.museum.exhibit import Exhibit, Outputs

# Two counts, after one of ten votes was changed: one score rises and the other falls.
_REPLACED = (((3, 7), (4, 6)),)
Counts = tuple[int, ...]


def noisy_max_without_the_factor(counts: Counts, size: int) -> Outputs:
    return (np.array(counts) + laplace(1, (size, 2))).argmax(axis=1)


def noisy_max_with_the_factor(counts: Counts, size: int) -> Outputs:
    return (np.array(counts) + laplace(2, (size, 2))).argmax(axis=1)


def exponential_noise_of_mean_one(counts: Counts, size: int) -> Outputs:
    return (np.array(counts) + exponential(1, (size, 2))).argmax(axis=1)


def exponential_noise_of_mean_two(counts: Counts, size: int) -> Outputs:
    return (np.array(counts) + exponential(2, (size, 2))).argmax(axis=1)


def full_exponent(counts: Counts, size: int) -> Outputs:
    return choose(np.exp(np.array(counts)), size)


def half_exponent(counts: Counts, size: int) -> Outputs:
    return choose(np.exp(np.array(counts) / 2), size)


def winner_with_its_noisy_count(counts: Counts, size: int) -> Outputs:
    noisy = np.array(counts) + steps(2, (size, len(counts)))
    return np.column_stack([noisy.argmax(axis=1), noisy.max(axis=1)])


def winner_measured_again(counts: Counts, size: int) -> Outputs:
    winner = (np.array(counts) + laplace(4, (size, len(counts)))).argmax(axis=1)
    return np.column_stack([winner, np.array(counts)[winner] + steps(4, size)])


def among_the_values_seen(values: tuple[int, ...], size: int) -> Outputs:
    seen = np.array(sorted(set(values)))
    return seen[choose(np.exp([values.count(value) / 2 for value in seen]), size)]


def among_all_values(values: tuple[int, ...], size: int) -> Outputs:
    return choose(np.exp([values.count(value) / 2 for value in range(5)]), size)


def _best_three(counts: Counts, epsilon_each: float, size: int) -> Outputs:
    """Three choices by Gumbel noise, each by the exponential mechanism, as the set of the chosen."""
    noisy = np.array(counts) * epsilon_each / 2 - np.log(-np.log(uniform((size, 6))))
    chosen = np.argsort(-noisy, axis=1)[:, :3]
    return (1 << chosen).sum(axis=1)


def three_for_the_price_of_one(counts: Counts, size: int) -> Outputs:
    return _best_three(counts, 1, size)


def three_that_share_the_price(counts: Counts, size: int) -> Outputs:
    return _best_three(counts, 1 / 3, size)


def median_between_the_extremes(values: tuple[int, ...], size: int) -> Outputs:
    codes = np.arange(min(values), max(values) + 1)
    return codes[choose(_closeness(values, codes), size)]


def median_in_the_declared_range(values: tuple[int, ...], size: int) -> Outputs:
    return choose(_closeness(values, np.arange(101)), size)


def _closeness(values: tuple[int, ...], codes: Ints) -> object:
    """exp(-epsilon/2 |values below - values above|/2), epsilon = 1: one replaced value moves the difference by 2."""
    sides = np.sign(codes[:, None] - np.array(values)).sum(axis=1)
    return np.exp(-np.abs(sides) / 4)


EXHIBITS = (
    Exhibit(
        "noisy max without the factor 2",
        "Laplace noise of scale 1/epsilon is enough when all scores move the same way, as counts do when someone "
        "joins. When a vote is changed one count rises and another falls, and the loss is up to 2 epsilon.",
        "the condition of Dwork and Roth 2014, Claim 3.9, which is easily left out",
        noisy_max_without_the_factor,
        noisy_max_with_the_factor,
        _REPLACED,
        PureDP(1, "replace"),
    ),
    Exhibit(
        "exponential noise without the factor 2",
        "The same with one-sided exponential noise, whose loss really reaches 2 epsilon.",
        "written for the museum; the right means are those of Ding et al. 2021 (permute-and-flip is report noisy max "
        "with exponential noise)",
        exponential_noise_of_mean_one,
        exponential_noise_of_mean_two,
        _REPLACED,
        PureDP(1, "replace"),
    ),
    Exhibit(
        "the monotone exponential mechanism under replace",
        "exp(epsilon score) instead of exp(epsilon score / 2): right for counts under add/remove, wrong under replace.",
        "written for the museum",
        full_exponent,
        half_exponent,
        _REPLACED,
        PureDP(1, "replace"),
    ),
    Exhibit(
        "the winner with its noisy count",
        "Noisy max pays for the winner's name. The noisy count that won was published with it; that it is the "
        "largest of five says something about all five.",
        "written for the museum",
        winner_with_its_noisy_count,
        winner_measured_again,
        (((3, 3, 3, 3, 3), (4, 4, 4, 4, 4)),),
        PureDP("0.5"),
        samples=100_000,
    ),
    Exhibit(
        "candidates taken from the data",
        "The exponential mechanism chose among the values that occur. A value that only one person has can be chosen "
        "only if that person is there.",
        "written for the museum",
        among_the_values_seen,
        among_all_values,
        (((0, 0, 1), (0, 0, 4)),),
        PureDP(1, "replace"),
    ),
    Exhibit(
        "three winners for the price of one",
        "The best three were read off one list of noisy scores, at the price of one choice. It is three choices.",
        "written for the museum; Durfee and Rogers 2019 show that noising once is like choosing three times",
        three_for_the_price_of_one,
        three_that_share_the_price,
        (((5, 5, 5, 5, 5, 5), (6, 6, 6, 4, 4, 4)),),
        PureDP(1, "replace"),
    ),
    Exhibit(
        "a median between the data's extremes",
        "The exponential mechanism for the median looked for answers between the smallest and the largest value "
        "there is.",
        "written for the museum",
        median_between_the_extremes,
        median_in_the_declared_range,
        (((10, 50, 60), (10, 50, 90)),),
        PureDP(1, "replace"),
    ),
)
