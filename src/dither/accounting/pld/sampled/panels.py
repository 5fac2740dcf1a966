"""Gauss-Legendre panels whose error is certified by how large the integrand is on ellipses around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dither.accounting.pld.distribution import Reals
from dither.exact.precision import precision

NODES = 20
# Each panel looks at an ellipse with foci at its ends; RATIO is the sum of its half-axes, by the half-width.
RATIO = 4.0
ALONG, ACROSS = (RATIO + 1 / RATIO) / 2, (RATIO - 1 / RATIO) / 2
# |integral - rule| <= half-width * largest modulus on the ellipse * this.
LOG_ERROR = math.log(8 / (RATIO - 1)) - (2 * NODES - 1) * math.log(RATIO) + 1e-9


@lru_cache(1)
def _rule() -> tuple[Reals, Reals]:
    from flint import arb

    with precision(128):
        roots = [arb.legendre_p_root(NODES, k, weight=True) for k in range(NODES)]
        return np.array([float(x.mid()) for x, _ in roots]), np.array([float(w.mid()) for _, w in roots])


def nodes_and_weights(edges: Reals) -> tuple[Reals, Reals]:
    """The rule on the panels between the edges, each node to an ulp or two."""
    x, w = _rule()
    half = np.diff(edges) / 2
    middle = edges[:-1] + half
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def reach(log_mass: float, log_tail: Callable[[float], float]) -> float:
    """An x beyond which the tail is at most the mass."""
    low, high = -1e3, 1e3
    while log_tail(high) > log_mass and high < 1e6:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_tail(middle) > log_mass else (low, middle)
    return high
