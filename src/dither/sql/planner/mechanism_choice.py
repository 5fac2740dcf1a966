"""What a share of a price buys: the mechanism for a measure, in the currency of the budget."""

from __future__ import annotations

from fractions import Fraction

from dither.mechanisms import Exponential, Gaussian, KeySelection, Laplace, Quantile
from dither.mechanisms.quantiles.quantile import epsilon_of_rho
from dither.sensitivity import Sensitivity
from dither.sql.plan.nodes import Choice, QuantileRows
from dither.sql.postprocess.recorded_mechanisms import (
    FACTOR,
    MECHANISM,
    OWNER,
    Mechanism,
    factor_from,
    half_width,
    mechanism_from,
    noise_of,
    parameters_of,
    scale_of,
    tag_of,
)

__all__ = [
    "FACTOR",
    "MECHANISM",
    "OWNER",
    "Mechanism",
    "additive",
    "choosing",
    "factor_from",
    "half_width",
    "mechanism_from",
    "noise_of",
    "parameters_of",
    "scale_of",
    "selecting",
    "tag_of",
]


def additive(kind: str, share: Fraction, sensitivity: Sensitivity) -> Mechanism:
    """Noise for exact integers: Gaussian by rho and the L2 sensitivity, Laplace by epsilon and the L1 sensitivity."""
    if kind == "zcdp":
        return Gaussian(rho=share, sensitivity=sensitivity.l2, relation=OWNER)
    return Laplace(epsilon=share, sensitivity=sensitivity.l1, relation=OWNER)


def choosing(kind: str, share: Fraction, measure: Choice, sensitivity: Sensitivity) -> Mechanism:
    """A choice in every group. An owner's rows are spread over groups, so all groups together cost one share.

    With r_g of the owner's R rows in group g, group g costs epsilon r_g / R, which add up to epsilon, and
    (epsilon r_g / R)^2 / 8 of rho, which add up to at most epsilon^2 / 8.
    """
    epsilon = epsilon_of_rho(share) if kind == "zcdp" else share
    rows, (low, high) = int(sensitivity.l1), measure.value.bounds
    if isinstance(measure, QuantileRows):
        q = Fraction(measure.numerator, measure.denominator)
        return Quantile(epsilon=epsilon, q=q, lower=low, upper=high, relation=OWNER, rows_per_owner=rows)
    return Exponential(epsilon=epsilon, sensitivity=rows, monotone=True, relation=OWNER)


def selecting(kind: str, share: Fraction, sensitivity: Sensitivity, delta: Fraction) -> KeySelection:
    """Which keys are shown, by the number of their owners; an owner has at most as many keys as the L1 sensitivity."""
    keys = int(sensitivity.l1)
    if kind == "zcdp":
        return KeySelection(rho=share, delta=delta, keys_per_owner=keys, relation=OWNER)
    return KeySelection(epsilon=share, delta=delta, keys_per_owner=keys, relation=OWNER)
