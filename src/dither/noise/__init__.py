"""TRUSTED. Exact noise: every draw has exactly the stated distribution, given uniform bits from the kernel-keyed
cipher."""

from __future__ import annotations

from dither.noise.integers.bernoulli import bernoulli_exp
from dither.noise.integers.discrete_gaussian import discrete_gaussian
from dither.noise.integers.gaussian import rounded_gaussian
from dither.noise.integers.geometric import geometric
from dither.noise.integers.laplace import discrete_laplace
from dither.noise.integers.uniform import uniform_below

__all__ = [
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "rounded_gaussian",
    "uniform_below",
]
