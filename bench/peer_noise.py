"""The noise of peers that are installed, by their own word: its deviation, and the 95% interval that they state.

Each is calibrated by the library itself, for a sensitivity of `UNIT`, and divided by it. OpenDP's own queries need
another release of polars than the one that is installed, so its mechanisms are asked; so are PyDP's, whose counts and
sums cannot hand an interval to Python. Not run: SmartNoise (needs an older pandas), Tumult (needs a Java machine) and
Qrlew (not in the registry); PipelineDP's noise is PyDP's.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scipy.stats import laplace, norm

from sql_accuracy import DELTA, EPSILON, Noise

BY_RHO = "Gaussian by rho"
UNIT = 20
SURE = 0.95


@dataclass(frozen=True)
class Stated(Noise):
    """Noise for sensitivity 1 as a peer says that it is, with the half-width that it states for 95%, if it does."""

    peer: str = ""
    half_width: float | None = None

    @property
    def coverage(self) -> float | None:
        """How often the stated interval really holds the number without its noise."""
        if self.half_width is None:
            return None
        shape, scale = (norm, self.deviation) if self.euclidean else (laplace, self.deviation / math.sqrt(2))
        return float(1 - 2 * shape.sf(self.half_width / scale))


def of_peers(rho: float) -> Iterator[Stated]:
    """Laplace noise for `EPSILON`, Gaussian noise for it and `DELTA`, and Gaussian noise for rho."""
    for name, noises in {"opendp": _opendp, "diffprivlib": _diffprivlib, "pydp": _pydp}.items():
        if importlib.util.find_spec(name) is not None:
            yield from noises(rho)


def _opendp(rho: float) -> Iterator[Stated]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    euclidean = dp.atom_domain(T=int), dp.absolute_distance(T=float)

    def gaussian(scale: float) -> dp.Measurement:
        return dp.m.make_gaussian(*euclidean, scale)

    def approximate(scale: float) -> dp.Measurement:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian(scale)), DELTA)

    scale = dp.binary_search_param(lambda s: dp.m.make_laplace(*whole, s), d_in=UNIT, d_out=EPSILON)
    width = dp.discrete_laplacian_scale_to_accuracy(scale=scale, alpha=1 - SURE)
    yield Stated("Laplace", math.sqrt(2) * scale / UNIT, False, "OpenDP", width / UNIT)
    for name, made, bound in (("Gaussian", approximate, (EPSILON, DELTA)), (BY_RHO, gaussian, rho)):
        scale = dp.binary_search_param(made, d_in=float(UNIT), d_out=bound, bounds=(0.1 * UNIT, 1e4 * UNIT))
        width = dp.gaussian_scale_to_accuracy(scale=scale, alpha=1 - SURE)
        yield Stated(name, scale / UNIT, True, "OpenDP", width / UNIT)


def _diffprivlib(rho: float) -> Iterator[Stated]:
    from diffprivlib.mechanisms import GaussianAnalytic, Laplace

    made: dict[str, Callable[[], float]] = {
        "Laplace": lambda: Laplace(epsilon=EPSILON, delta=0.0, sensitivity=UNIT).variance(0),
        "Gaussian": lambda: GaussianAnalytic(epsilon=EPSILON, delta=DELTA, sensitivity=UNIT).variance(0),
    }
    for name, variance in made.items():
        yield Stated(name, math.sqrt(variance()) / UNIT, name == "Gaussian", "diffprivlib")


def _pydp(rho: float) -> Iterator[Stated]:
    from pydp._pydp import _mechanisms

    noise = _mechanisms.LaplaceMechanism(epsilon=EPSILON, sensitivity=float(UNIT))
    width = noise.noise_confidence_interval(SURE, 0.0).upper_bound
    yield Stated("Laplace", math.sqrt(2) * noise.diversity / UNIT, False, "PyDP", width / UNIT)
    noise = _mechanisms.GaussianMechanism(EPSILON, DELTA, float(UNIT))
    width = noise.noise_confidence_interval(SURE, 0.0).upper_bound
    yield Stated("Gaussian", noise.std / UNIT, True, "PyDP", width / UNIT)
