"""Mechanisms that are not plain addition of noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.lab.registry.neighbours import (
    bounded_pairs,
    few_listed_record_pairs,
    few_record_pairs,
    key_pairs,
    listed_record_pairs,
    record_pairs,
    score_pairs,
    stable_pairs,
    stream_pairs,
    tested_pairs,
)
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.local.local_hashing import LocalHashing
from dither.mechanisms.local.randomized_response import RandomizedResponse
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile, ListedQuantiles
from dither.mechanisms.quantiles.quantile import Quantile, Quantiles
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.noisy_max import NoisyMax
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.mechanisms.sparse.sparse_vector import SparseVector
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.stability.propose_test_release import ProposeTestRelease
from dither.mechanisms.stability.stable_release import StableRelease


@dataclass(frozen=True)
class DistributionEntry:
    """A mechanism that is not plain addition of noise: the common suite enumerates its exact distribution on
    neighbours."""

    make: Callable[..., Any]
    # What two neighbours can look like to `release`: pairs of its arguments, for a mechanism made from an example.
    neighbours: Callable[[Any], list[tuple[Any, Any]]]
    examples: tuple[Mapping[str, Any], ...]
    numbers: Mapping[str, Mapping[str, Any]]
    # By what epsilon is multiplied to make the suite's check of the distribution fail.
    factor: Fraction = Fraction(11, 10)


def _scores(**more: Any) -> dict[str, Any]:
    return {"epsilon": 1, "sensitivity": 1, **more}


_SELECTION = {name: _scores() for name in ("epsilon", "sensitivity")}
_TESTED = {"epsilon": 1, "delta": "1e-3"}
_RANKS = {"epsilon": 1, "q": "0.5", "lower": 0, "upper": 60}
_SEVERAL = {"epsilon": 5, "q": ("0.3", "0.7"), "lower": 0, "upper": 5}
_LISTED = {"epsilon": 1, "q": "0.5", "candidates": tuple(range(0, 63, 3))}
_SEVERAL_LISTED = {"epsilon": 5, "q": ("0.3", "0.7"), "candidates": (0, "1.5", 2, 4, 5)}
_REPLACE = {"relation": "replace"}

DISTRIBUTIONS: tuple[DistributionEntry, ...] = (
    DistributionEntry(
        Exponential,
        score_pairs,
        (_scores(), _scores(monotone=True), {"epsilon": "0.3", "sensitivity": "0.5"}, _scores(**_REPLACE)),
        _SELECTION,
    ),
    DistributionEntry(
        PermuteAndFlip,
        score_pairs,
        (_scores(), _scores(epsilon=3, monotone=True), _scores(epsilon=2, **_REPLACE)),
        _SELECTION,
    ),
    DistributionEntry(
        NoisyMax,
        score_pairs,
        (
            _scores(),
            _scores(noise="laplace"),
            _scores(noise="laplace", monotone=True),
            _scores(noise="gumbel"),
            {"epsilon": 2, "sensitivity": "0.5", "monotone": True},
            _scores(noise="laplace", **_REPLACE),
        ),
        _SELECTION,
    ),
    DistributionEntry(
        RandomizedResponse,
        lambda mechanism: [(mechanism.values[0], value) for value in mechanism.values[1:]],
        ({"epsilon": 1}, {"epsilon": 2, "values": ("a", "b", "c")}, {"epsilon": "0.5", "values": tuple(range(9))}),
        {"epsilon": {}},
    ),
    DistributionEntry(
        LocalHashing,
        lambda mechanism: [(mechanism.values[0], value) for value in mechanism.values[1:]],
        ({"epsilon": 1, "values": ("a", "b", "c", "d")}, {"epsilon": 2, "values": tuple(range(7))}),
        {"epsilon": {"values": ("a", "b")}},
    ),
    DistributionEntry(
        SparseVector,
        stream_pairs,
        (
            _scores(),
            _scores(positives=2),
            _scores(positives=2, monotone=True),
            _scores(epsilon=2, **_REPLACE),
            _scores(epsilon=4, positives=2),
            _scores(epsilon=4, positives=2, monotone=True),
        ),
        {name: _scores(grid=1, answer_epsilon=1) for name in ("epsilon", "sensitivity", "grid")}
        | {"positives": _scores(), "threshold_share": _scores()},
        factor=Fraction(3),
    ),
    DistributionEntry(
        StableRelease,
        stable_pairs,
        (_TESTED, {"epsilon": "0.3", "delta": "1e-5"}),
        dict.fromkeys(("epsilon", "delta"), _TESTED),
    ),
    DistributionEntry(
        ProposeTestRelease,
        tested_pairs,
        (_TESTED | {"bound": 2, "grid": 1},),
        {name: _TESTED | {"bound": 2} for name in ("epsilon", "delta", "bound", "test_share")},
    ),
    DistributionEntry(
        BoundedLocalSensitivity,
        bounded_pairs,
        (_TESTED | {"grid": 1},),
        {name: _TESTED | {"slope": 1} for name in ("epsilon", "delta", "slope", "bound_share")},
        factor=Fraction(3),
    ),
    DistributionEntry(
        KeySelection,
        key_pairs,
        (
            _TESTED,
            _TESTED | {"keys_per_owner": 2},
            _TESTED | {"method": "optimal"},
            _TESTED | {"keys_per_owner": 2, "method": "optimal"},
            _TESTED | {"keys_per_owner": 2, "method": "gaussian"},
            _TESTED | _REPLACE,
            _TESTED | _REPLACE | {"method": "optimal"},
            _TESTED | _REPLACE | {"method": "gaussian"},
        ),
        dict.fromkeys(("epsilon", "delta", "keys_per_owner"), _TESTED) | {"rho": {"delta": "1e-3"}},
        factor=Fraction(3, 2),
    ),
    DistributionEntry(
        Quantile,
        record_pairs,
        (
            _RANKS,
            _RANKS | {"epsilon": 2, "q": "0.6"},
            _RANKS | {"epsilon": "0.5", "grid": "0.5", "upper": 30},
            _RANKS | _REPLACE,
            _RANKS | {"relation": "owner", "rows_per_owner": 2},
        ),
        {name: _RANKS | {"grid": 1, "rows_per_owner": 1} for name in ("epsilon", "q", "grid", "rows_per_owner")}
        | {"rho": {"q": "0.5", "lower": 0, "upper": 60}},
    ),
    DistributionEntry(
        Quantiles,
        few_record_pairs,
        (_SEVERAL, _SEVERAL | _REPLACE, _SEVERAL | {"relation": "owner", "rows_per_owner": 2}),
        {name: _SEVERAL | {"grid": 1, "rows_per_owner": 1} for name in ("epsilon", "grid", "rows_per_owner")}
        | {"rho": {"q": ("0.3", "0.7"), "lower": 0, "upper": 5}},
        factor=Fraction(4),
    ),
    DistributionEntry(
        ListedQuantile,
        listed_record_pairs,
        (
            _LISTED,
            _LISTED | {"epsilon": 2, "q": "0.6", "candidates": ("0.5", 5, 6, "6.5", 30, 70)},
            _LISTED | _REPLACE,
            _LISTED | {"relation": "owner", "rows_per_owner": 2},
        ),
        {name: _LISTED | {"rows_per_owner": 1} for name in ("epsilon", "q", "rows_per_owner")}
        | {"rho": {"q": "0.5", "candidates": (1, 2)}},
    ),
    DistributionEntry(
        ListedQuantiles,
        few_listed_record_pairs,
        (_SEVERAL_LISTED, _SEVERAL_LISTED | _REPLACE, _SEVERAL_LISTED | {"relation": "owner", "rows_per_owner": 2}),
        {name: _SEVERAL_LISTED | {"rows_per_owner": 1} for name in ("epsilon", "rows_per_owner")}
        | {"rho": {"q": ("0.3", "0.7"), "candidates": (1, 2)}},
        factor=Fraction(4),
    ),
)
