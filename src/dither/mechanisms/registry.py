"""The mechanisms there are, with what the common suite needs to check them. A new mechanism joins here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.mechanisms.additive import AdditiveNoise
from dither.mechanisms.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.key_selection import KeySelection
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.name_and_shame import NameAndShame
from dither.mechanisms.noisy_max import NoisyMax
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.propose_test_release import ProposeTestRelease
from dither.mechanisms.quantile import Quantile
from dither.mechanisms.randomized_response import RandomizedResponse
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_gaussian import SmoothGaussian
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.mechanisms.smooth_laplace_log_normal import SmoothLaplaceLogNormal
from dither.mechanisms.smooth_lomax import SmoothLomax
from dither.mechanisms.smooth_student_t import SmoothStudentT
from dither.mechanisms.sparse_vector import SparseVector
from dither.mechanisms.stable_release import StableRelease


@dataclass(frozen=True)
class Entry:
    """A mechanism, parameter sets that show its range, and the norm in which its sensitivity counts."""

    make: Callable[..., AdditiveNoise]
    norm: str
    rescaled: Callable[[Any, Fraction], AdditiveNoise]  # the same noise with its scale times a factor
    examples: tuple[Mapping[str, Any], ...]
    # Parameters that must refuse NaN, infinities, negatives, zero, bool and absurd sizes, with a set to vary them in.
    numbers: Mapping[str, Mapping[str, Any]]


def _laplace_times(mechanism: Laplace, factor: Fraction) -> Laplace:
    same: dict[str, Any] = {
        "sensitivity": mechanism.sensitivity,
        "grid": mechanism.grid,
        "relation": mechanism.relation,
    }
    return Laplace(epsilon=mechanism.epsilon / factor, **same)


def _gaussian_times(mechanism: Gaussian, factor: Fraction) -> Gaussian:
    rho = (mechanism.sensitivity_steps / (mechanism.sigma_steps * factor)) ** 2 / 2
    same: dict[str, Any] = {
        "sensitivity": mechanism.sensitivity,
        "grid": mechanism.grid,
        "relation": mechanism.relation,
    }
    return Gaussian(rho=rho, **same)


_LAPLACE = {"epsilon": 1, "sensitivity": 1}
_GAUSSIAN = {"epsilon": 1, "delta": "1e-6", "sensitivity": 1}
_BY_RHO = {"rho": "0.1", "sensitivity": 1}

MECHANISMS: tuple[Entry, ...] = (
    Entry(
        Laplace,
        "l1",
        _laplace_times,
        (_LAPLACE, {"epsilon": "0.3", "sensitivity": 2}, {"epsilon": 4, "sensitivity": "0.5", "grid": "0.25"}),
        {name: _LAPLACE | {"grid": 1} for name in ("epsilon", "sensitivity", "grid")},
    ),
    Entry(
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


@dataclass(frozen=True)
class LawEntry:
    """A mechanism that is not plain addition of noise: the common suite enumerates its exact law on neighbours."""

    make: Callable[..., Any]
    # What two neighbours can look like to `release`: pairs of its arguments, for a mechanism made from an example.
    neighbours: Callable[[Any], list[tuple[Any, Any]]]
    examples: tuple[Mapping[str, Any], ...]
    numbers: Mapping[str, Mapping[str, Any]]
    # The parameter that, multiplied by the factor, must make the suite's check of the law fail.
    weakens: str = "epsilon"
    factor: Fraction = Fraction(11, 10)


def _score_pairs(mechanism: Any) -> list[tuple[Any, Any]]:
    """Every way in which three scores move by 0 or 1 (all up if monotone), around several tables."""
    moves = (0, 1) if mechanism.monotone else (-1, 0, 1)
    step = mechanism.sensitivity
    tables = [(0, 0, 0), (0, 1, 3), (5, 5, 0), (0, -40, -80)]
    changes = [(a, b, c) for a in moves for b in moves for c in moves]
    return [
        ([u * step for u in table], [(u + change) * step for u, change in zip(table, moved, strict=True)])
        for table in tables
        for moved in changes
    ]


def _stream_pairs(mechanism: SparseVector) -> list[tuple[Any, Any]]:
    moves = (0, 1) if mechanism.monotone else (-1, 0, 1)
    step = mechanism.sensitivity
    tables = [(0, 0, 0), (-4, 0, 4), (3, -3, -3)]
    changes = [(a, b, c) for a in moves for b in moves for c in moves]
    return [
        ([u * step for u in table], [(u + change) * step for u, change in zip(table, moved, strict=True)])
        for table in tables
        for moved in changes
    ]


def _stable_pairs(mechanism: StableRelease) -> list[tuple[Any, Any]]:
    """The same value at distances that differ by one, or another value at distance 0."""
    last = 2 * mechanism.threshold
    same = [(("a", d), ("a", d + 1)) for d in range(last)]
    return [(("a", 0), ("b", 0)), *same]


def _tested_pairs(mechanism: ProposeTestRelease) -> list[tuple[Any, Any]]:
    """Only between two datasets at distance 0 may the value move by more than the bound."""
    last, bound = 2 * mechanism.threshold, int(mechanism.bound)
    return [((0, 0), (9 * bound, 0)), *(((0, d), (bound, d + 1)) for d in range(last))]


def _bounded_pairs(mechanism: BoundedLocalSensitivity) -> list[tuple[Any, Any]]:
    """The value moves by at most the smaller of the two local sensitivities, they by at most the slope."""
    slope = int(mechanism.slope)
    return [((0, 3), (3, 3 + slope)), ((0, 3), (0, 3 + slope)), ((0, 0), (0, slope)), ((0, 5), (5, 5))]


def _key_pairs(mechanism: KeySelection) -> list[tuple[Any, Any]]:
    """One owner more, in at most keys_per_owner of two keys; a count of 0 is a key that nobody has."""
    near = mechanism._optimal.turn if mechanism.method == "optimal" else mechanism.threshold + 5
    one = [((n, 3), (n + 1, 3)) for n in (0, 1, 2, near)]
    two = [((0, 0), (1, 1)), ((near, 0), (near + 1, 1)), ((near, near), (near + 1, near + 1))]
    return one if mechanism.keys_per_owner == 1 else one + two


def _record_pairs(mechanism: Quantile) -> list[tuple[Any, Any]]:
    """Records come and go at either end and in the middle; on one side of the few records there is a wide gap."""
    step = mechanism.grid.step
    tables: list[list[int]] = [[], [5], [5, 5], [5, 5, 5, 6], [0, 5, 30], [3] * 20, [5, 60], [55], [55, 55], [59, 59]]
    return [
        ([code * step for code in table], [code * step for code in [*table, more]])
        for table in tables
        for more in (0, 5, 6, 60)
    ]


def _scores(**more: Any) -> dict[str, Any]:
    return {"epsilon": 1, "sensitivity": 1, **more}


_SELECTION = {name: _scores() for name in ("epsilon", "sensitivity")}
_TESTED = {"epsilon": 1, "delta": "1e-3"}
_RANKS = {"epsilon": 1, "q": "0.5", "lower": 0, "upper": 60}

LAWS: tuple[LawEntry, ...] = (
    LawEntry(
        Exponential,
        _score_pairs,
        (_scores(), _scores(monotone=True), {"epsilon": "0.3", "sensitivity": "0.5"}),
        _SELECTION,
    ),
    LawEntry(PermuteAndFlip, _score_pairs, (_scores(), _scores(epsilon=3, monotone=True)), _SELECTION),
    LawEntry(
        NoisyMax,
        _score_pairs,
        (
            _scores(),
            _scores(noise="laplace"),
            _scores(noise="laplace", monotone=True),
            _scores(noise="gumbel"),
            {"epsilon": 2, "sensitivity": "0.5", "monotone": True},
        ),
        _SELECTION,
    ),
    LawEntry(
        RandomizedResponse,
        lambda mechanism: [(mechanism.values[0], value) for value in mechanism.values[1:]],
        ({"epsilon": 1}, {"epsilon": 2, "values": ("a", "b", "c")}, {"epsilon": "0.5", "values": tuple(range(9))}),
        {"epsilon": {}},
    ),
    LawEntry(
        SparseVector,
        _stream_pairs,
        (_scores(), _scores(positives=2), _scores(positives=2, monotone=True)),
        {name: _scores(grid=1, answer_epsilon=1) for name in ("epsilon", "sensitivity", "grid")}
        | {"positives": _scores(), "threshold_share": _scores()},
        factor=Fraction(3),
    ),
    LawEntry(
        NameAndShame,
        lambda _: [(("a", "x"), ("b", "x"))],
        ({"delta": "0.001"}, {"delta": "0.3"}),
        {"delta": {}},
        weakens="delta",
    ),
    LawEntry(
        StableRelease,
        _stable_pairs,
        (_TESTED, {"epsilon": "0.3", "delta": "1e-5"}),
        dict.fromkeys(("epsilon", "delta"), _TESTED),
    ),
    LawEntry(
        ProposeTestRelease,
        _tested_pairs,
        (_TESTED | {"bound": 2, "grid": 1},),
        {name: _TESTED | {"bound": 2} for name in ("epsilon", "delta", "bound", "test_share")},
    ),
    LawEntry(
        BoundedLocalSensitivity,
        _bounded_pairs,
        (_TESTED | {"grid": 1},),
        {name: _TESTED | {"slope": 1} for name in ("epsilon", "delta", "slope", "bound_share")},
        factor=Fraction(3),
    ),
    LawEntry(
        KeySelection,
        _key_pairs,
        (
            _TESTED,
            _TESTED | {"keys_per_owner": 2},
            _TESTED | {"method": "optimal"},
            _TESTED | {"keys_per_owner": 2, "method": "optimal"},
            _TESTED | {"keys_per_owner": 2, "method": "gaussian"},
        ),
        dict.fromkeys(("epsilon", "delta", "keys_per_owner"), _TESTED) | {"rho": {"delta": "1e-3"}},
        factor=Fraction(3, 2),
    ),
    LawEntry(
        Quantile,
        _record_pairs,
        (_RANKS, _RANKS | {"epsilon": 2, "q": "0.6"}, _RANKS | {"epsilon": "0.5", "grid": "0.5", "upper": 30}),
        {name: _RANKS | {"grid": 1, "rows_per_owner": 1} for name in ("epsilon", "q", "grid", "rows_per_owner")}
        | {"rho": {"q": "0.5", "lower": 0, "upper": 60}},
    ),
)


@dataclass(frozen=True)
class SmoothEntry:
    """A mechanism whose noise follows a smooth sensitivity: the suite compares its exact laws on neighbours."""

    make: Callable[..., Any]
    # Each set of parameters, and the factor by which a scale is so small that some neighbours betray it. Calibrations
    # that are necessary as well as sufficient notice 3 per cent; those from a general bound leave more room.
    examples: tuple[tuple[Mapping[str, Any], Fraction], ...]
    numbers: Mapping[str, Mapping[str, Any]]


_NOTICED = Fraction(97, 100)
_APPROXIMATE = {"epsilon": 1, "delta": "1e-6"}

SMOOTH: tuple[SmoothEntry, ...] = (
    SmoothEntry(
        SmoothCauchy,
        (
            ({"epsilon": 1}, _NOTICED),
            ({"epsilon": "0.1", "beta": "0.02"}, _NOTICED),
            ({"epsilon": 1, "gamma": 4}, Fraction(7, 10)),
            ({"epsilon": 1, "calibration": "textbook"}, Fraction(1, 8)),
        ),
        {name: {"epsilon": 1, "gamma": 3} for name in ("epsilon", "gamma", "beta", "grid")},
    ),
    SmoothEntry(
        SmoothStudentT,
        (({"epsilon": 1}, Fraction(1, 2)), ({"epsilon": 2, "degrees": 1}, Fraction(1, 3))),
        {name: {"epsilon": 1} for name in ("epsilon", "degrees", "beta", "grid")},
    ),
    SmoothEntry(
        SmoothLomax,
        (({"epsilon": 1}, _NOTICED), ({"epsilon": "0.5", "beta": "0.05"}, _NOTICED)),
        {name: {"epsilon": 1} for name in ("epsilon", "shape", "beta", "grid")},
    ),
    SmoothEntry(
        SmoothLaplace,
        (
            (_APPROXIMATE, _NOTICED),
            ({"epsilon": 4, "delta": "1e-3"}, _NOTICED),
            (_APPROXIMATE | {"calibration": "textbook"}, Fraction(7, 10)),
        ),
        dict.fromkeys(("epsilon", "delta", "beta", "grid"), _APPROXIMATE),
    ),
    SmoothEntry(
        SmoothGaussian,
        (
            (_APPROXIMATE, _NOTICED),
            ({"epsilon": 8, "delta": "1e-3", "beta": "0.1"}, _NOTICED),
            (_APPROXIMATE | {"calibration": "textbook"}, Fraction(1, 5)),
        ),
        dict.fromkeys(("epsilon", "delta", "beta", "grid"), _APPROXIMATE),
    ),
    SmoothEntry(
        SmoothLaplaceLogNormal,
        (({"rho": "0.5"}, Fraction(1, 5)), ({"divisor": "0.1", "beta": "0.1", "sigma": "0.5"}, Fraction(1, 5))),
        {
            **{name: {"rho": "0.5"} for name in ("rho", "sigma", "beta", "grid")},
            "divisor": {"beta": "0.1", "sigma": "0.5"},
        },
    ),
)
