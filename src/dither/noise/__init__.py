"""Exact noise: every draw has exactly the stated law, given uniform bits from the kernel-keyed cipher. TRUSTED."""

from __future__ import annotations

from dither.noise.bernoulli import bernoulli_exp
from dither.noise.discrete_gaussian import discrete_gaussian
from dither.noise.gaussian import rounded_gaussian
from dither.noise.geometric import geometric
from dither.noise.laplace import discrete_laplace
from dither.noise.uniform import uniform_below

__all__ = [
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "rounded_gaussian",
    "uniform_below",
]
