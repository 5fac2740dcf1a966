"""What two neighbours can look like to the mechanisms: the pairs on which their exact distributions are compared."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile, ListedQuantiles
from dither.mechanisms.quantiles.quantile import Quantile, Quantiles
from dither.mechanisms.sparse.sparse_vector import SparseVector
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.stability.propose_test_release import ProposeTestRelease
from dither.mechanisms.stability.stable_release import StableRelease
from dither.neighbours import Relation


def score_pairs(mechanism: Any) -> list[tuple[Any, Any]]:
    """Every way in which three scores move by up to the sensitivity, around several tables."""
    return _shifted(mechanism, [(0, 0, 0), (0, 1, 3), (5, 5, 0), (0, -40, -80)])


def stream_pairs(mechanism: SparseVector) -> list[tuple[Any, Any]]:
    """The same for three queries in a row."""
    return _shifted(mechanism, [(0, 0, 0), (-4, 0, 4), (3, -3, -3)])


def _shifted(mechanism: Any, tables: list[tuple[int, int, int]]) -> list[tuple[Any, Any]]:
    """Each up or not at all if they are monotone, otherwise in its own direction."""
    moves = (0, 1) if mechanism.monotone else (-1, 0, 1)
    step = mechanism.sensitivity
    return [
        ([u * step for u in table], [(u + change) * step for u, change in zip(table, moved, strict=True)])
        for table in tables
        for moved in product(moves, repeat=3)
    ]


def stable_pairs(mechanism: StableRelease) -> list[tuple[Any, Any]]:
    """The same value at distances that differ by one, or another value at distance 0."""
    last = 2 * mechanism.threshold
    same = [(("a", d), ("a", d + 1)) for d in range(last)]
    return [(("a", 0), ("b", 0)), *same]


def tested_pairs(mechanism: ProposeTestRelease) -> list[tuple[Any, Any]]:
    """Only between two datasets at distance 0 may the value move by more than the bound."""
    last, bound = 2 * mechanism.threshold, int(mechanism.bound)
    return [((0, 0), (9 * bound, 0)), *(((0, d), (bound, d + 1)) for d in range(last))]


def bounded_pairs(mechanism: BoundedLocalSensitivity) -> list[tuple[Any, Any]]:
    """The value moves by at most the smaller of the two local sensitivities, they by at most the slope."""
    slope = int(mechanism.slope)
    return [((0, 3), (3, 3 + slope)), ((0, 3), (0, 3 + slope)), ((0, 0), (0, slope)), ((0, 5), (5, 5))]


def key_pairs(mechanism: KeySelection) -> list[tuple[Any, Any]]:
    """One owner more, in at most keys_per_owner of two keys; a count of 0 is a key that nobody has.

    Under replace an owner leaves one key for another, or takes the place of one who had none.
    """
    near = mechanism.even_chance if mechanism.method == "optimal" else mechanism.threshold + 5
    one = [((n, 3), (n + 1, 3)) for n in (0, 1, 2, near)]
    if mechanism.relation is Relation.REPLACE:
        return one + [((n, m + 1), (n + 1, m)) for n in (0, 1, near) for m in (0, 1, near)]
    two = [((0, 0), (1, 1)), ((near, 0), (near + 1, 1)), ((near, near), (near + 1, near + 1))]
    return one if mechanism.keys_per_owner == 1 else one + two


def record_pairs(mechanism: Quantile) -> list[tuple[Any, Any]]:
    """Records come, go or change at either end and in the middle; on one side of a few there is a wide gap."""
    tables = [[], [5], [5, 5], [5, 5, 5, 6], [0, 5, 30], [3] * 20, [5, 60], [55], [55, 55], [58, 58, 60], [59, 59]]
    return _moved(mechanism, tables, (0, 5, 6, 60), mechanism.grid.step)


def few_record_pairs(mechanism: Quantiles) -> list[tuple[Any, Any]]:
    """The same for a small grid, on which the distribution of two answers together can be listed."""
    return _moved(mechanism, _FEW, (0, 2, 5), mechanism.grid.step)


def listed_record_pairs(mechanism: ListedQuantile) -> list[tuple[Any, Any]]:
    """Records at candidates, between them and beyond them all."""
    tables = [[], [5], [5, 5], [5, 5, 5, 6], [0, 5, 30], [3] * 20, [5, 70], [55], [58, 58, 60], [-9, 40, 41, 99]]
    return _moved(mechanism, tables, (-9, 5, 6, 60, 99), Fraction(1))


def few_listed_record_pairs(mechanism: ListedQuantiles) -> list[tuple[Any, Any]]:
    """The same for a few candidates, of which the distribution of two together can be listed."""
    return _moved(mechanism, _FEW, (0, 2, 5), Fraction(1))


_FEW = [[], [2], [1, 1, 4], [0, 3, 3, 5], [2] * 8, [1, 2, 3, 4, 5], [4, 4], [5] * 4]


def _moved(
    mechanism: Quantile | Quantiles | ListedQuantile | ListedQuantiles,
    tables: list[list[int]],
    values: tuple[int, ...],
    step: Fraction,
) -> list[tuple[Any, Any]]:
    """Each table with one record, or all rows of an owner, more; under replace with one record changed."""
    rows = mechanism.rows_per_owner
    if mechanism.relation is Relation.REPLACE:
        pairs = [
            (table, [*table[:i], value, *table[i + 1 :]])
            for table in tables
            for i in {0, len(table) - 1}
            for value in values
            if table
        ]
    else:
        pairs = [(table, [*table, *[value] * rows]) for table in tables for value in values]
    return [([code * step for code in one], [code * step for code in two]) for one, two in pairs]
