"""Mechanisms that add noise on a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.additive.gaussian import Gaussian
from dither.mechanisms.additive.laplace import Laplace


@dataclass(frozen=True)
class NoiseEntry:
    """A mechanism, parameter sets that show its range, and the norm in which its sensitivity counts."""

    make: Callable[..., AdditiveNoise]
    norm: str
    rescaled: Callable[[Any, Fraction], AdditiveNoise]  # the same noise with its scale times a factor
    examples: tuple[Mapping[str, Any], ...]
    # Parameters that must refuse NaN, infinities, negatives, zero, bool and absurd sizes, with a set to vary them in.
    numbers: Mapping[str, Mapping[str, Any]]


def _same(mechanism: AdditiveNoise) -> dict[str, Any]:
    return {name: getattr(mechanism, name) for name in ("sensitivity", "grid", "relation")}


def _laplace_times(mechanism: Laplace, factor: Fraction) -> Laplace:
    return Laplace(epsilon=mechanism.epsilon / factor, **_same(mechanism))


def _gaussian_times(mechanism: Gaussian, factor: Fraction) -> Gaussian:
    rho = (mechanism.sensitivity_steps / (mechanism.sigma_steps * factor)) ** 2 / 2
    return Gaussian(rho=rho, **_same(mechanism))


_LAPLACE = {"epsilon": 1, "sensitivity": 1}
_GAUSSIAN = {"epsilon": 1, "delta": "1e-6", "sensitivity": 1}
_BY_RHO = {"rho": "0.1", "sensitivity": 1}

NOISES: tuple[NoiseEntry, ...] = (
    NoiseEntry(
        Laplace,
        "l1",
        _laplace_times,
        (_LAPLACE, {"epsilon": "0.3", "sensitivity": 2}, {"epsilon": 4, "sensitivity": "0.5", "grid": "0.25"}),
        {name: _LAPLACE | {"grid": 1} for name in ("epsilon", "sensitivity", "grid")},
    ),
    NoiseEntry(
        Gaussian,
        "l2",
        _gaussian_times,
        (
            _GAUSSIAN,
            {"epsilon": 8, "delta": "1e-6", "sensitivity": 1},
            {"epsilon": "0.5", "delta": "1e-3", "sensitivity": 2, "calibration": "classical"},
            {"rho": "0.5", "sensitivity": "0.5", "grid": "0.25"},
        ),
        {
            **{name: _GAUSSIAN | {"grid": 1} for name in ("epsilon", "delta", "sensitivity", "grid")},
            "rho": _BY_RHO,
        },
    ),
)
