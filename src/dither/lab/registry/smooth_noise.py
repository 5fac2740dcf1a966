"""Mechanisms whose noise follows a smooth sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.mechanisms.smooth.cauchy import SmoothCauchy
from dither.mechanisms.smooth.gaussian import SmoothGaussian
from dither.mechanisms.smooth.laplace import SmoothLaplace
from dither.mechanisms.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dither.mechanisms.smooth.lomax import SmoothLomax
from dither.mechanisms.smooth.student_t import SmoothStudentT


@dataclass(frozen=True)
class SmoothEntry:
    """A mechanism whose noise follows a smooth sensitivity: the suite compares its exact distributions on
    neighbours."""

    make: Callable[..., Any]
    examples: tuple[Mapping[str, Any], ...]
    # For each example a factor by which its scale is so small that some neighbours betray it. Calibrations that are
    # necessary as well as sufficient notice 3 per cent; those from a general bound leave more room.
    noticed: tuple[Fraction, ...]
    numbers: Mapping[str, Mapping[str, Any]]


_NOTICED = Fraction(97, 100)
_APPROXIMATE = {"epsilon": 1, "delta": "1e-6"}
# Deltas that samples can tell: nothing to recommend.
_ESTIMABLE = [{"epsilon": 1, "delta": "0.01"}, {"epsilon": 1, "delta": "0.05"}]

SMOOTH: tuple[SmoothEntry, ...] = (
    SmoothEntry(
        SmoothCauchy,
        (
            {"epsilon": 1},
            {"epsilon": "0.1", "beta": "0.02"},
            {"epsilon": 1, "gamma": 4},
            {"epsilon": 1, "calibration": "textbook"},
        ),
        (
            _NOTICED,
            _NOTICED,
            Fraction(7, 10),
            Fraction(1, 8),
        ),
        {name: {"epsilon": 1, "gamma": 3} for name in ("epsilon", "gamma", "beta", "grid")},
    ),
    SmoothEntry(
        SmoothStudentT,
        (
            {"epsilon": 1},
            {"epsilon": 2, "degrees": 1},
        ),
        (
            _NOTICED,
            _NOTICED,
        ),
        {name: {"epsilon": 1} for name in ("epsilon", "degrees", "beta", "grid")},
    ),
    SmoothEntry(
        SmoothLomax,
        (
            {"epsilon": 1},
            {"epsilon": "0.5", "beta": "0.05"},
        ),
        (
            _NOTICED,
            _NOTICED,
        ),
        {name: {"epsilon": 1} for name in ("epsilon", "shape", "beta", "grid")},
    ),
    SmoothEntry(
        SmoothLaplace,
        (
            _APPROXIMATE,
            {"epsilon": 4, "delta": "1e-3"},
            _APPROXIMATE | {"calibration": "textbook"},
            _ESTIMABLE[0],
        ),
        (
            _NOTICED,
            _NOTICED,
            Fraction(7, 10),
            _NOTICED,
        ),
        dict.fromkeys(("epsilon", "delta", "beta", "grid"), _APPROXIMATE),
    ),
    SmoothEntry(
        SmoothGaussian,
        (
            _APPROXIMATE,
            {"epsilon": 8, "delta": "1e-3", "beta": "0.1"},
            _APPROXIMATE | {"calibration": "textbook"},
            _ESTIMABLE[1],
        ),
        (
            _NOTICED,
            _NOTICED,
            Fraction(1, 5),
            _NOTICED,
        ),
        dict.fromkeys(("epsilon", "delta", "beta", "grid"), _APPROXIMATE),
    ),
    SmoothEntry(
        SmoothLaplaceLogNormal,
        (
            {"rho": "0.5"},
            {"divisor": "0.1", "beta": "0.1", "sigma": "0.5"},
        ),
        (
            Fraction(1, 5),
            Fraction(1, 5),
        ),
        {
            **{name: {"rho": "0.5"} for name in ("rho", "sigma", "beta", "grid")},
            "divisor": {"beta": "0.1", "sigma": "0.5"},
        },
    ),
)
