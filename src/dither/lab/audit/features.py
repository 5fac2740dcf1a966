"""Ways to look at an output: functions of it alone, some learned from samples, each a column that is cut into cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dither.lab.audit.cells import MOST_CELLS, Partition, learn
from dither.lab.audit.columns import Column, Outputs

Reals = npt.NDArray[np.float64]

_MOST_PAIRED = 6  # coordinates whose differences are looked at
_MOST_JOINT = 5  # coordinates that are looked at together, cell by cell
_FEW_CELLS = 64


@dataclass(frozen=True)
class Feature:
    """A name and a function from outputs to a column."""

    name: str
    read: Callable[[Outputs], Column]


Builder = Callable[[Outputs, Outputs], Feature]


def catalogue(one: Outputs, other: Outputs) -> dict[str, Builder]:
    """Everything worth looking at in outputs drawn on two neighbours, by name; some of it is learned from them."""
    names = sorted(one.columns.keys() | other.columns.keys())
    found: dict[str, Builder] = {}
    for name in names:
        plain = Feature(name, partial(_column, name=name))
        known = [plain, *_digits(name, (plain.read(one), plain.read(other)))]
        found |= {feature.name: _ready(feature) for feature in known}
    numeric = [name for name in names if _is_numeric(one, name) and _is_numeric(other, name)]
    if len(names) > 1:
        found["likelihood score"] = partial(_likelihood, names)
        if len(names) <= _MOST_JOINT:
            found["combination"] = partial(_joint, names)
    if len(numeric) > 1:
        found |= {feature.name: _ready(feature) for feature in _of_vectors(numeric)}
        found["linear score"] = partial(_linear, numeric)
    return found


def _ready(feature: Feature) -> Builder:
    return lambda _, __: feature


def _column(outputs: Outputs, name: str) -> Column:
    found = outputs.columns.get(name)
    if found is not None:
        return found
    return Column(np.full(len(outputs), np.nan), np.full(len(outputs), "absent", dtype=object))


def _is_numeric(outputs: Outputs, name: str) -> bool:
    return name in outputs.columns and outputs.columns[name].labels is None and name != "length"


def _digits(name: str, columns: tuple[Column, Column]) -> Iterator[Feature]:
    """The last digits of a number, where noise that was rounded carelessly shows what it was added to."""
    if any(np.isnan(column.values).all() for column in columns if len(column)):
        return
    fractional = any(column.values.dtype.kind == "f" for column in columns)
    spread = max(float(np.ptp(column.values[:4096])) for column in columns) if len(columns[0]) else 0.0
    if fractional or not spread < MOST_CELLS:
        yield Feature(f"lowest binary digit of {name}", partial(_lowest_bit, name=name))
    if fractional:
        yield Feature(f"fractional part of {name}", partial(_fraction, name=name))


def _lowest_bit(outputs: Outputs, name: str) -> Column:
    """The exponent of the last digit that is not 0: the grid on which a number lies."""
    column = _column(outputs, name)
    mantissa, exponent = np.frexp(column.values.astype(np.float64))
    finite = np.isfinite(mantissa)
    whole = np.ldexp(np.where(finite, mantissa, 0.0), 53).astype(np.int64)
    low = np.frexp((whole & -whole).astype(np.float64))[1].astype(np.int64)
    return Column(np.where(whole == 0, 2000, low + exponent - 54), column.labels)


def _fraction(outputs: Outputs, name: str) -> Column:
    column = _column(outputs, name)
    with np.errstate(invalid="ignore"):
        rest = np.mod(column.values.astype(np.float64), 1.0)
    return Column(np.where(np.isnan(rest), -1.0, rest), column.labels)


def _matrix(outputs: Outputs, names: list[str]) -> Reals:
    return np.column_stack([outputs.columns[name].values.astype(np.float64) for name in names])


def _of_vectors(names: list[str]) -> Iterator[Feature]:
    """What joins coordinates: differences, sums, the largest, the smallest and where they are, and ties."""
    for first, second in combinations(names[:_MOST_PAIRED], 2):
        yield Feature(f"{first} - {second}", partial(_difference, names=(first, second)))
    plain: dict[str, Callable[[Reals], npt.NDArray[np.generic]]] = {
        "sum": lambda rows: rows.sum(axis=1),
        "largest": lambda rows: rows.max(axis=1),
        "smallest": lambda rows: rows.min(axis=1),
        "place of the largest": lambda rows: rows.argmax(axis=1),
        "place of the smallest": lambda rows: rows.argmin(axis=1),
        "zeros": lambda rows: (rows == 0).sum(axis=1),
    }
    for name, function in plain.items():
        yield Feature(name, partial(_summary, names=names, function=function))


def _difference(outputs: Outputs, names: tuple[str, str]) -> Column:
    one, other = (outputs.columns[name].values for name in names)
    with np.errstate(invalid="ignore"):
        moved = one - other
    return Column(np.where(np.isnan(moved), 0, moved) if moved.dtype.kind == "f" else moved)


def _summary(outputs: Outputs, names: list[str], function: Callable[[Reals], npt.NDArray[np.generic]]) -> Column:
    with np.errstate(invalid="ignore"):
        found = np.asarray(function(_matrix(outputs, names)))
    return Column(np.nan_to_num(found.astype(np.float64)) if found.dtype.kind == "f" else found.astype(np.int64))


def _linear(names: list[str], one: Outputs, other: Outputs) -> Feature:
    """The direction that best separates two clouds of points (Fisher), far values cut off."""
    both = [_matrix(side, names) for side in (one, other)]
    pooled = np.concatenate([rows[:: max(1, len(rows) >> 16)] for rows in both])
    low, high = np.quantile(pooled, [0.01, 0.99], axis=0)
    cut = [np.clip(rows, low, high) for rows in both]
    spread = np.cov(np.concatenate(cut), rowvar=False) + 1e-9 * np.eye(len(names))
    weights = np.linalg.lstsq(spread, cut[0].mean(axis=0) - cut[1].mean(axis=0), rcond=None)[0]

    def score(outputs: Outputs) -> Column:
        return Column(np.clip(_matrix(outputs, names), low, high) @ weights)

    return Feature("linear score", score)


def _cut(names: list[str], one: Outputs, other: Outputs, cells: int) -> list[tuple[str, Partition]]:
    return [(name, learn(_column(one, name), _column(other, name), cells)) for name in names]


def _likelihood(names: list[str], one: Outputs, other: Outputs) -> Feature:
    """The sum over columns of the logarithm of the ratio of their frequencies."""
    parts = []
    for name, partition in _cut(names, one, other, _FEW_CELLS):
        counts = [partition.counts(_column(side, name)) for side in (one, other)]
        ratio = np.log((counts[0] + 1.0) / (len(one) + partition.size))
        ratio -= np.log((counts[1] + 1.0) / (len(other) + partition.size))
        parts.append((name, partition, ratio))

    def score(outputs: Outputs) -> Column:
        total = np.zeros(len(outputs))
        for name, partition, ratio in parts:
            total += ratio[partition.cells(_column(outputs, name))]
        return Column(total)

    return Feature("likelihood score", score)


def _joint(names: list[str], one: Outputs, other: Outputs) -> Feature:
    """All columns together, each in so few cells that their combinations can be counted."""
    parts = _cut(names, one, other, max(4, int((MOST_CELLS // 2) ** (1 / len(names)))))

    def code(outputs: Outputs) -> Column:
        total = np.zeros(len(outputs), dtype=np.int64)
        for name, partition in parts:
            total = total * partition.size + partition.cells(_column(outputs, name))
        return Column(total)

    return Feature("combination", code)
