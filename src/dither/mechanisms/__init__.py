"""TRUSTED. Frozen objects that know their guarantee, their noise and their error before they see any data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.lazy import listing, loader

if TYPE_CHECKING:
    from dither.mechanisms.additive.gaussian import Gaussian as Gaussian
    from dither.mechanisms.additive.laplace import Laplace as Laplace
    from dither.mechanisms.keys.key_selection import KeySelection as KeySelection
    from dither.mechanisms.local.local_hashing import LocalHashing as LocalHashing
    from dither.mechanisms.local.randomized_response import RandomizedResponse as RandomizedResponse
    from dither.mechanisms.quantiles.listed_quantile import ListedQuantile as ListedQuantile
    from dither.mechanisms.quantiles.listed_quantile import ListedQuantiles as ListedQuantiles
    from dither.mechanisms.quantiles.quantile import Quantile as Quantile
    from dither.mechanisms.quantiles.quantile import Quantiles as Quantiles
    from dither.mechanisms.refusal import REFUSED as REFUSED
    from dither.mechanisms.release import Release as Release
    from dither.mechanisms.sealed_values import Exact as Exact
    from dither.mechanisms.sealed_values import seal as seal
    from dither.mechanisms.selection.exponential import Exponential as Exponential
    from dither.mechanisms.selection.noisy_max import NoisyMax as NoisyMax
    from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dither.mechanisms.smooth.cauchy import SmoothCauchy as SmoothCauchy
    from dither.mechanisms.smooth.gaussian import SmoothGaussian as SmoothGaussian
    from dither.mechanisms.smooth.laplace import SmoothLaplace as SmoothLaplace
    from dither.mechanisms.smooth.laplace_log_normal import SmoothLaplaceLogNormal as SmoothLaplaceLogNormal
    from dither.mechanisms.smooth.lomax import SmoothLomax as SmoothLomax
    from dither.mechanisms.smooth.student_t import SmoothStudentT as SmoothStudentT
    from dither.mechanisms.sparse.sparse_vector import SparseVector as SparseVector
    from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity as BoundedLocalSensitivity
    from dither.mechanisms.stability.propose_test_release import ProposeTestRelease as ProposeTestRelease
    from dither.mechanisms.stability.stable_release import StableRelease as StableRelease

HOMES = {
    "BoundedLocalSensitivity": "dither.mechanisms.stability.bounded_local_sensitivity",
    "Exact": "dither.mechanisms.sealed_values",
    "Exponential": "dither.mechanisms.selection.exponential",
    "Gaussian": "dither.mechanisms.additive.gaussian",
    "KeySelection": "dither.mechanisms.keys.key_selection",
    "Laplace": "dither.mechanisms.additive.laplace",
    "ListedQuantile": "dither.mechanisms.quantiles.listed_quantile",
    "ListedQuantiles": "dither.mechanisms.quantiles.listed_quantile",
    "LocalHashing": "dither.mechanisms.local.local_hashing",
    "NoisyMax": "dither.mechanisms.selection.noisy_max",
    "PermuteAndFlip": "dither.mechanisms.selection.permute_and_flip",
    "ProposeTestRelease": "dither.mechanisms.stability.propose_test_release",
    "Quantile": "dither.mechanisms.quantiles.quantile",
    "Quantiles": "dither.mechanisms.quantiles.quantile",
    "RandomizedResponse": "dither.mechanisms.local.randomized_response",
    "REFUSED": "dither.mechanisms.refusal",
    "Release": "dither.mechanisms.release",
    "seal": "dither.mechanisms.sealed_values",
    "SmoothCauchy": "dither.mechanisms.smooth.cauchy",
    "SmoothGaussian": "dither.mechanisms.smooth.gaussian",
    "SmoothLaplace": "dither.mechanisms.smooth.laplace",
    "SmoothLaplaceLogNormal": "dither.mechanisms.smooth.laplace_log_normal",
    "SmoothLomax": "dither.mechanisms.smooth.lomax",
    "SmoothStudentT": "dither.mechanisms.smooth.student_t",
    "SparseVector": "dither.mechanisms.sparse.sparse_vector",
    "StableRelease": "dither.mechanisms.stability.stable_release",
}
__all__ = [*HOMES]
__getattr__ = loader(__name__, HOMES)
__dir__ = listing(__all__)
