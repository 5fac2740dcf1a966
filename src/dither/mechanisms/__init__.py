"""Mechanisms: frozen objects that know their guarantee, their noise and their error before they see any data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.lazy import loader

if TYPE_CHECKING:
    from dither.mechanisms.bounded_local_sensitivity import BoundedLocalSensitivity as BoundedLocalSensitivity
    from dither.mechanisms.exact import Exact as Exact
    from dither.mechanisms.exact import seal as seal
    from dither.mechanisms.exponential import Exponential as Exponential
    from dither.mechanisms.gaussian import Gaussian as Gaussian
    from dither.mechanisms.key_selection import KeySelection as KeySelection
    from dither.mechanisms.laplace import Laplace as Laplace
    from dither.mechanisms.listed_quantile import ListedQuantile as ListedQuantile
    from dither.mechanisms.listed_quantiles import ListedQuantiles as ListedQuantiles
    from dither.mechanisms.noisy_max import NoisyMax as NoisyMax
    from dither.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dither.mechanisms.propose_test_release import ProposeTestRelease as ProposeTestRelease
    from dither.mechanisms.quantile import Quantile as Quantile
    from dither.mechanisms.quantiles import Quantiles as Quantiles
    from dither.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dither.mechanisms.refused import REFUSED as REFUSED
    from dither.mechanisms.release import Release as Release
    from dither.mechanisms.smooth_cauchy import SmoothCauchy as SmoothCauchy
    from dither.mechanisms.smooth_gaussian import SmoothGaussian as SmoothGaussian
    from dither.mechanisms.smooth_laplace import SmoothLaplace as SmoothLaplace
    from dither.mechanisms.smooth_laplace_log_normal import SmoothLaplaceLogNormal as SmoothLaplaceLogNormal
    from dither.mechanisms.smooth_lomax import SmoothLomax as SmoothLomax
    from dither.mechanisms.smooth_student_t import SmoothStudentT as SmoothStudentT
    from dither.mechanisms.sparse_vector import SparseVector as SparseVector
    from dither.mechanisms.stable_release import StableRelease as StableRelease

HOMES = {
    "BoundedLocalSensitivity": "dither.mechanisms.bounded_local_sensitivity",
    "Exact": "dither.mechanisms.exact",
    "Exponential": "dither.mechanisms.exponential",
    "Gaussian": "dither.mechanisms.gaussian",
    "KeySelection": "dither.mechanisms.key_selection",
    "Laplace": "dither.mechanisms.laplace",
    "ListedQuantile": "dither.mechanisms.listed_quantile",
    "ListedQuantiles": "dither.mechanisms.listed_quantiles",
    "NoisyMax": "dither.mechanisms.noisy_max",
    "PermuteAndFlip": "dither.mechanisms.permute_and_flip",
    "ProposeTestRelease": "dither.mechanisms.propose_test_release",
    "Quantile": "dither.mechanisms.quantile",
    "Quantiles": "dither.mechanisms.quantiles",
    "RandomizedResponse": "dither.mechanisms.randomized_response",
    "REFUSED": "dither.mechanisms.refused",
    "Release": "dither.mechanisms.release",
    "seal": "dither.mechanisms.exact",
    "SmoothCauchy": "dither.mechanisms.smooth_cauchy",
    "SmoothGaussian": "dither.mechanisms.smooth_gaussian",
    "SmoothLaplace": "dither.mechanisms.smooth_laplace",
    "SmoothLaplaceLogNormal": "dither.mechanisms.smooth_laplace_log_normal",
    "SmoothLomax": "dither.mechanisms.smooth_lomax",
    "SmoothStudentT": "dither.mechanisms.smooth_student_t",
    "SparseVector": "dither.mechanisms.sparse_vector",
    "StableRelease": "dither.mechanisms.stable_release",
}
__all__ = [*HOMES]
__getattr__ = loader(__name__, HOMES)
