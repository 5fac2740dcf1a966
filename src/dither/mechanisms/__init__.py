"""Mechanisms: frozen objects that know their guarantee, their noise and their error before they see any data."""

from __future__ import annotations

from dither.mechanisms.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.exact import Exact, seal
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.key_selection import KeySelection
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.name_and_shame import NameAndShame
from dither.mechanisms.noisy_max import NoisyMax
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.propose_test_release import ProposeTestRelease
from dither.mechanisms.quantile import Quantile
from dither.mechanisms.quantiles import Quantiles
from dither.mechanisms.randomized_response import RandomizedResponse
from dither.mechanisms.refused import REFUSED
from dither.mechanisms.release import Release
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_gaussian import SmoothGaussian
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.mechanisms.smooth_laplace_log_normal import SmoothLaplaceLogNormal
from dither.mechanisms.smooth_lomax import SmoothLomax
from dither.mechanisms.smooth_student_t import SmoothStudentT
from dither.mechanisms.sparse_vector import SparseVector
from dither.mechanisms.stable_release import StableRelease

__all__ = [
    "REFUSED",
    "BoundedLocalSensitivity",
    "Exact",
    "Exponential",
    "Gaussian",
    "KeySelection",
    "Laplace",
    "NameAndShame",
    "NoisyMax",
    "PermuteAndFlip",
    "ProposeTestRelease",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "Release",
    "SmoothCauchy",
    "SmoothGaussian",
    "SmoothLaplace",
    "SmoothLaplaceLogNormal",
    "SmoothLomax",
    "SmoothStudentT",
    "SparseVector",
    "StableRelease",
    "seal",
]
