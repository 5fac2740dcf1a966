"""Neighbours on which mechanisms spend what they claim.

A mechanism is tight if some neighbours spend all of its claim, or come as near to it as one likes. The auditor holds it
to that: it must find at least 95 per cent of the claim in ten million samples, unless `slack` says why it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dither.mechanisms.additive.gaussian import Gaussian
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.quantiles.candidates import published
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile
from dither.mechanisms.quantiles.quantile import Quantile
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.noisy_max import NoisyMax
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.mechanisms.sparse.sparse_vector import SparseVector
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.stability.propose_test_release import ProposeTestRelease
from dither.mechanisms.stability.stable_release import StableRelease
from dither.neighbours import Relation

Pair = tuple[Any, Any]


def worst_pairs(mechanism: Any) -> list[Pair]:
    """One or two pairs of what `release` can be given on two neighbours, expected to betray most; none if unknown."""
    return next((make(mechanism) for kind, make in _WORST.items() if isinstance(mechanism, kind)), [])


def _apart(mechanism: Any, gap: int, others: int) -> Pair:
    """A candidate that is `gap` below equal others and comes nearer by as much as it may."""
    step, falls = mechanism.sensitivity, 0 if mechanism.monotone else 1
    return [0 * step, *[gap * step] * others], [step, *[(gap - falls) * step] * others]


def _exponential(mechanism: Any) -> list[Pair]:
    """All of epsilon is spent on a candidate that is never chosen; this one is chosen once in a hundred times."""
    rate = mechanism.epsilon / (1 if mechanism.monotone else 2)
    return [_apart(mechanism, round((3 + mechanism.epsilon) / rate), 2)]


def _flip(mechanism: Any) -> list[Pair]:
    """The coin of a candidate below the best falls heads e^epsilon times as often once it is as good."""
    return [_apart(mechanism, 1 if mechanism.monotone else 2, 1)]


def _noisy_max(mechanism: NoisyMax) -> list[Pair]:
    if mechanism.noise == "gumbel":
        return _exponential(mechanism)
    if mechanism.noise == "exponential":
        return _flip(mechanism)
    # Against so many a candidate wins by noise above 0 only, where the density falls by e^-1 in each scale.
    return [_apart(mechanism, 1 if mechanism.monotone else 2, 10)]


def _sparse(mechanism: SparseVector) -> list[Pair]:
    """Queries that stay below push the noisy threshold up, where those that follow are above by noise alone."""
    step, many = mechanism.sensitivity, mechanism.positives
    low = -1 if mechanism.epsilon > 2 else 0  # with less noise, where they still stay below
    last = low + (1 if mechanism.monotone else 0)
    return [([low * step] * 7 + [(low + 1) * step] * many, [(low + 1) * step] * 7 + [last * step] * many)]


def _stable(mechanism: StableRelease) -> list[Pair]:
    """The test passes e^epsilon times as often one step farther."""
    return [(("a", mechanism.threshold - 1), ("a", mechanism.threshold))]


def _proposed(mechanism: ProposeTestRelease) -> list[Pair]:
    """The value moves by the bound, and the test passes more often."""
    last = mechanism.threshold
    return [((0, last - 1), (int(mechanism.bound), last))]


def _bounded(mechanism: BoundedLocalSensitivity) -> list[Pair]:
    """A local sensitivity so large that the published bound is hardly above it."""
    slope = int(mechanism.slope)
    return [((0, 1000 * slope), (1000 * slope, 1001 * slope))]


def _keys(mechanism: KeySelection) -> list[Pair]:
    """By Gaussian noise: keys so large that all are kept, and every one that may move does."""
    if not isinstance(noise := None if mechanism.method == "optimal" else mechanism.noise, Gaussian):
        return []
    many, half = mechanism.threshold + math.ceil(10 * noise.sigma_steps), mechanism.keys_per_owner
    if mechanism.relation is Relation.REPLACE:
        return [((many,) * half + (many + 1,) * half, (many + 1,) * half + (many,) * half)]
    return [((many,) * half, (many + 1,) * half)]


def _quantile(mechanism: Quantile) -> list[Pair]:
    """Nearly all answers are on one side of the target, and a record at the other end moves all distances."""
    step, first, last, rows = mechanism.grid.step, mechanism.grid.first, mechanism.grid.last, mechanism.rows_per_owner
    if mechanism.relation is Relation.REPLACE:
        return [([first * step, (last - 3) * step], [last * step, (last - 3) * step])]
    tables = [[first, last - 3], [last - 3]]
    ends = [last, last - 1]
    return [
        ([code * step for code in table], [code * step for code in [*table, *[end] * rows]])
        for table, end in zip(tables, ends, strict=True)
    ]


def _listed(mechanism: ListedQuantile) -> list[Pair]:
    """Two candidates by themselves, one right and one 2 D ranks away; the neighbour makes them equal."""
    exactly = [Fraction(published(one)) for one in mechanism.candidates]
    at = (len(exactly) - 1) // 2
    # Between the two and their own neighbours in the list, and between each other.
    before, between, after = ((exactly[i] + exactly[i + 1]) / 2 for i in (at - 1, at, at + 1))
    apart, many = round(2 * mechanism.sensitivity), mechanism.q.denominator * 50
    below = int(mechanism.q * many)
    records = [before] * below + [between] * apart + [after] * (many - below - apart)
    if mechanism.relation is Relation.REPLACE:
        return [(records, [*records[1:], exactly[-1]])]
    return [(records, [*records, *[exactly[-1]] * mechanism.rows_per_owner])]


_WORST: dict[type, Callable[[Any], list[Pair]]] = {
    Exponential: _exponential,
    PermuteAndFlip: _flip,
    NoisyMax: _noisy_max,
    SparseVector: _sparse,
    StableRelease: _stable,
    ProposeTestRelease: _proposed,
    BoundedLocalSensitivity: _bounded,
    KeySelection: _keys,
    Quantile: _quantile,
    ListedQuantile: _listed,
}
