"""Every small dataset with every neighbour: smooth sensitivity of the median, then noise, against the claim."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither import SmoothCauchy, SmoothLaplace, SmoothLomax, SmoothStudentT, sensitivity
from dither.exact.balls import precision

DOMAIN = (0, 1, 3, 6)
EDGES = np.concatenate([np.arange(-40, 46.1, 0.25), [60, 100, 1000, 1e5]])
DATASETS = list(itertools.combinations_with_replacement(DOMAIN, 5))


def law(mechanism, value, bound):
    """The masses of the cells of EDGES and of the two tails, with their digits."""
    centre, scale = (steps * mechanism.grid for steps in mechanism.in_steps(value, bound))
    with precision(64):
        above = [mechanism.distribution.above((Fraction(edge) - centre) / scale) for edge in EDGES]
        masses = [1 - above[0], *(a - b for a, b in itertools.pairwise(above)), above[-1]]
        return np.array([float(mass) for mass in masses])


def neighbours(x):
    return {tuple(sorted((*x[:i], *x[i + 1 :], v))) for i in range(len(x)) for v in DOMAIN}


def worst(mechanism, bound):
    """The largest log-ratio (pure) or hockey stick at epsilon, over all neighbours of all datasets."""
    median = sensitivity.median
    laws = {x: law(mechanism, median.value(x, 0, 6), bound(x)) for x in DATASETS}
    pairs = [(laws[x], laws[y]) for x in DATASETS for y in neighbours(x)]
    if hasattr(mechanism, "delta"):
        return max(np.maximum(0, p - math.exp(mechanism.epsilon) * q).sum() for p, q in pairs)
    return max(np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300)).max() for p, q in pairs)


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (SmoothCauchy(epsilon=1, lower=0, upper=6), 1),
        (SmoothStudentT(epsilon=2, lower=0, upper=6), 2),
        (SmoothLomax(epsilon=1, lower=0, upper=6), 1),
        (SmoothLaplace(epsilon=1, delta="1e-2", lower=0, upper=6), 0.01),
    ],
    ids=lambda item: type(item).__name__,
)
def test_smooth_sensitivity_and_noise_keep_the_claim_and_local_sensitivity_does_not(mechanism, claim):
    median = sensitivity.median
    assert worst(mechanism, lambda x: median.smooth(x, mechanism.beta, 0, 6)) <= claim * (1 + 1e-9)
    # Planted bugs: noise for the local sensitivity, and for a bound that is not as smooth as beta says.
    assert worst(mechanism, lambda x: median.local(x, 0, 6)) > 2 * claim
    assert worst(mechanism, lambda x: median.smooth(x, 6 * mechanism.beta, 0, 6)) > claim * 1.01
