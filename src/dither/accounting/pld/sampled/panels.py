"""Gauss-Legendre panels whose error is certified by how large the integrand is on ellipses around them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dither.accounting.pld.distribution import Reals

NODES = 20
# Each panel looks at an ellipse with foci at its ends; RATIO is the sum of its half-axes, by the half-width.
RATIO = 4.0
ALONG, ACROSS = (RATIO + 1 / RATIO) / 2, (RATIO - 1 / RATIO) / 2
# |integral - rule| <= half-width * largest modulus on the ellipse * this.
LOG_ERROR = math.log(8 / (RATIO - 1)) - (2 * NODES - 1) * math.log(RATIO) + 1e-9
# The positive half of the roots of Legendre's polynomial of degree NODES, and the weights, to the nearest float.
_HALF = {
    0.9931285991850949: 0.017614007139152118,
    0.9639719272779138: 0.04060142980038694,
    0.912234428251326: 0.06267204833410907,
    0.8391169718222188: 0.08327674157670475,
    0.7463319064601508: 0.10193011981724044,
    0.636053680726515: 0.11819453196151841,
    0.5108670019508271: 0.13168863844917664,
    0.37370608871541955: 0.14209610931838204,
    0.22778585114164507: 0.14917298647260374,
    0.07652652113349734: 0.15275338713072584,
}
_ROOTS: Reals = np.array([*_HALF, *(-x for x in reversed(_HALF))])
_WEIGHTS: Reals = np.array([*_HALF.values(), *reversed(_HALF.values())])


def nodes_and_weights(edges: Reals) -> tuple[Reals, Reals]:
    """The rule on the panels between the edges, each node to an ulp or two."""
    half = np.diff(edges) / 2
    middle = edges[:-1] + half
    return (middle[:, None] + half[:, None] * _ROOTS).ravel(), (half[:, None] * _WEIGHTS).ravel()


def reach(log_mass: float, log_tail: Callable[[float], float]) -> float:
    """An x beyond which the tail is at most the mass."""
    low, high = -1e3, 1e3
    while log_tail(high) > log_mass and high < 1e6:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_tail(middle) > log_mass else (low, middle)
    return high
