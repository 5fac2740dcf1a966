"""Sums that promise less loss than there is, beside a certified lower bound of the loss."""

from __future__ import annotations

import math

from dither import divergence
from dither.accounting import GDP, ZCDP, PureDP, advanced, compose, group, optimal
from dither.lab.museum.exhibit import Finding, Reckoning
from dither.mechanisms import Laplace, PermuteAndFlip

DELTA = "1e-6"
LOG = math.log(1e6)
_EACH, _TIMES = 0.1, 100


def _of_a_hundred(claimed: float) -> Finding:
    """A hundred randomised responses with epsilon 0.1 each: no theorem can promise less than this."""
    return Finding(claimed, found=optimal(epsilon=str(_EACH), k=_TIMES, at=DELTA).lower)


def count_forgotten() -> Finding:
    loss = {"laplace": _EACH * _TIMES, "exponential": _EACH}  # one case of many, without its count
    return _of_a_hundred(loss["exponential"])


def count_multiplied_once() -> Finding:
    return _of_a_hundred(compose([PureDP(str(_EACH))] * _TIMES).epsilon_at(DELTA))


def advanced_without_the_two() -> Finding:
    return _of_a_hundred(math.sqrt(_TIMES * LOG) * _EACH + _TIMES * _EACH * math.tanh(_EACH / 2))


def advanced_with_the_two() -> Finding:
    return _of_a_hundred(float(advanced(epsilon=str(_EACH), k=_TIMES, delta_prime=DELTA).epsilon))


_RHO = 0.1


def _of_gaussian(claimed: float) -> Finding:
    """Gaussian noise with rho 0.1: its exact epsilon at delta, rounded down."""
    return Finding(claimed, found=GDP(mu_squared="0.2").bounds_at(delta=DELTA)[0])


def conversion_without_the_two() -> Finding:
    return _of_gaussian(_RHO + math.sqrt(_RHO * LOG))


def one_order_read_as_epsilon() -> Finding:
    return _of_gaussian(2 * _RHO)  # the divergence of order 2


def conversion_of_the_curve() -> Finding:
    return _of_gaussian(ZCDP(str(_RHO)).epsilon_at(DELTA))


def _of_ten_people(claimed: float) -> Finding:
    """Gaussian noise with rho 0.001 for one person, when ten change at once: mu is ten times as large."""
    return Finding(claimed, found=GDP(mu_squared="0.2").bounds_at(delta=DELTA)[0])


def rho_of_a_group_ten_times() -> Finding:
    return _of_ten_people(ZCDP("0.01").epsilon_at(DELTA))


def rho_of_a_group_by_squares() -> Finding:
    return _of_ten_people(group(ZCDP("0.001"), 10).epsilon_at(DELTA))


def _of_discrete_laplace(claimed: float) -> Finding:
    """The least rho that covers the divergence of order 1.001 of the noise really drawn."""
    mechanism = Laplace(epsilon=1, sensitivity=1)
    here, there = (divergence.distribution(mechanism, value, lower=-20, upper=21) for value in (0, 1))
    return Finding(claimed, found=divergence.renyi([*here.values()], [*there.values()], "1.001").lower / 1.001)


def rho_of_continuous_laplace() -> Finding:
    return _of_discrete_laplace(1 + math.exp(-1) - 1)


def rho_of_the_noise_drawn() -> Finding:
    return _of_discrete_laplace(float(Laplace(epsilon=1, sensitivity=1).guarantee.zcdp().rho))


def _of_permute_and_flip(claimed: float) -> Finding:
    """The least rho that covers the divergence of order 1.001 between two neighbours' choices of two."""
    # Behind by 2, a candidate is chosen with probability e^-1/2, here rounded down to nine digits.
    even, behind = ("0.5", "0.5"), ("0.183939721", "0.816060279")
    return Finding(claimed, found=divergence.renyi(even, behind, "1.001").lower / 1.001)


def rho_of_the_exponential_mechanism() -> Finding:
    return _of_permute_and_flip(1 / 8)


def rho_of_any_pure_mechanism() -> Finding:
    return _of_permute_and_flip(float(PermuteAndFlip(epsilon=1, sensitivity=1).guarantee.zcdp().rho))


_EPSILON = "epsilon at delta 1e-6"
EXHIBITS = (
    Reckoning(
        "a count forgotten in composition",
        "An accountant added up each kind of event in a branch of its own, and one branch forgot how often the event "
        "happens: a hundred releases for the price of one.",
        "written for the museum; a long chain of cases is where it happens",
        _EPSILON,
        count_forgotten,
        count_multiplied_once,
    ),
    Reckoning(
        "advanced composition without the 2",
        "sqrt(k ln(1/delta)) epsilon where the theorem has sqrt(2 k ln(1/delta)) epsilon.",
        "Dwork, Rothblum and Vadhan 2010 have the theorem; Kairouz, Oh and Viswanath 2015 the exact figure",
        _EPSILON,
        advanced_without_the_two,
        advanced_with_the_two,
    ),
    Reckoning(
        "a conversion without the 2",
        "rho + sqrt(rho ln(1/delta)) where the theorem has rho + 2 sqrt(rho ln(1/delta)).",
        "Bun and Steinke 2016, Proposition 1.3, has the theorem",
        _EPSILON,
        conversion_without_the_two,
        conversion_of_the_curve,
    ),
    Reckoning(
        "one Renyi order read as epsilon",
        "The divergence of order 2 was reported as epsilon. It averages over the loss; delta has to pay for the tail.",
        "written for the museum; Mironov 2017 has the conversion",
        _EPSILON,
        one_order_read_as_epsilon,
        conversion_of_the_curve,
    ),
    Reckoning(
        "rho of a group taken ten times",
        "For ten people epsilon is ten times as large, and rho a hundred times: it was taken ten times.",
        "Bun and Steinke 2016 have the theorem",
        _EPSILON,
        rho_of_a_group_ten_times,
        rho_of_a_group_by_squares,
    ),
    Reckoning(
        "rho of another noise",
        "Discrete Laplace noise was drawn and the smaller rho of continuous Laplace noise was charged.",
        "written for the museum",
        "rho",
        rho_of_continuous_laplace,
        rho_of_the_noise_drawn,
    ),
    Reckoning(
        "rho of another choice",
        "Permute-and-flip was charged epsilon^2/8, which belongs to the exponential mechanism.",
        "written for the museum",
        "rho",
        rho_of_the_exponential_mechanism,
        rho_of_any_pure_mechanism,
    ),
)
