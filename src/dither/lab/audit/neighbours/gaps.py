"""How far apart the exact answers of two neighbours are, against what was proven and what is charged.

The only place outside the mechanisms that opens sealed aggregates: those of synthetic neighbours, to measure them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency.currency import Currency
from dither.errors import DitherError
from dither.lab.audit.neighbours.sides import Leak
from dither.mechanisms import Gaussian, KeySelection, Laplace, Quantile
from dither.mechanisms.keys.groups import _Groups, _Histogram
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.mechanisms.values import add
from dither.sql.plan.nodes import Aggregate
from dither.sql.pricing.price import PricedQuestion, price

_CURRENCIES = (Currency.of(PureDP(4)), Currency.of(ApproxDP(4, "1e-6")))
Vector = dict[Any, int]  # where an exact result is not 0: by place, by key, or by group and value
Norms = tuple[int, int, int]  # L1, the square of L2, and the largest
_BEYOND = 2**63


def difference(one: Vector, other: Vector) -> Vector:
    """Where and by how much two exact results differ."""
    return {place: step for place in {*one, *other} if (step := one.get(place, 0) - other.get(place, 0))}


def norms(moved: Vector) -> Norms:
    """L1, the square of L2, and the largest coordinate."""
    steps = list(moved.values())
    return sum(map(abs, steps)), sum(step * step for step in steps), max(map(abs, steps), default=0)


def check_gap(priced: PricedQuestion, gap: Sequence[Vector]) -> None:
    """The distance of two exact answers is within the proven norms, and costs no more privacy than is charged."""
    text = priced.question.canonical()
    for item, moved in zip(priced.measures, gap, strict=True):
        proven = item.sensitivity.l1, item.sensitivity.l2_squared, item.sensitivity.linf
        for name, found, bound in zip(("L1", "L2", "Linf"), norms(moved), proven, strict=True):
            if not found <= bound:
                raise Leak(f"{name} gap {found} exceeds {bound} on {text}")
        if isinstance(item.mechanism, KeySelection):
            check_keys(item.mechanism, moved, text)
    for stated in (priced, *_in_every_currency(priced)):
        if not stated.price.cost > 0:
            raise Leak(f"price: a question about data must cost something: {text}")
        unit, paid = stated.split
        loss = sum(
            (_loss(unit, item.mechanism, moved) for item, moved in zip(stated.measures, gap, strict=True)), Fraction(0)
        )
        if not loss <= paid:
            raise Leak(f"the joint privacy loss {float(loss)} exceeds the price {float(paid)} on {text}")


def check_keys(selection: KeySelection, moved: Vector, text: str) -> None:
    """One owner is counted once in each key, and in no more keys than the selection was made for."""
    if len(moved) > selection.keys_per_owner:
        raise Leak(f"keys: one owner is in {len(moved)} keys, not in {selection.keys_per_owner}, on {text}")
    if any(abs(step) != 1 for step in moved.values()):
        raise Leak(f"keys: one owner counts more than once on {text}")


def _in_every_currency(priced: PricedQuestion) -> Iterator[PricedQuestion]:
    """The question at epsilon=1 under each kind of budget that can pay for it."""
    for currency in _CURRENCIES:
        with suppress(DitherError):  # noise too wide to be drawn, or keys from the data under a pure budget
            yield price(priced.question, currency, epsilon=1, strategy=replace(priced.strategy, gaussian=False))


def _loss(currency: str, mechanism: Any, moved: Vector) -> Fraction:
    """Privacy loss between two exact results: of noise by its scale, of a choice by its rows in each group."""
    if isinstance(mechanism, KeySelection):
        mechanism = mechanism.noise
    steps = moved.values()
    if isinstance(mechanism, Gaussian):
        return Fraction(sum(step * step for step in steps)) / (2 * mechanism.scale**2)
    if isinstance(mechanism, Laplace):
        return Fraction(sum(map(abs, steps))) / mechanism.scale
    rows = Fraction(mechanism.rows_per_owner if isinstance(mechanism, Quantile) else mechanism.sensitivity)
    in_groups: dict[Any, int] = {}
    for (group, _), step in moved.items():
        in_groups[group] = in_groups.get(group, 0) + abs(step)
    losses = [mechanism.epsilon * count / rows for count in in_groups.values()]
    return sum((loss**2 / 8 if currency == "rho" else loss for loss in losses), Fraction(0))


def vectors_of(aggregate: Aggregate, results: Sequence[Any]) -> list[Vector]:
    """The exact result of each measure of an aggregation."""
    opened = [_unseal(sealed) if isinstance(sealed, Exact) else sealed for sealed in results]
    first: Any = opened[0]
    if isinstance(first, _Histogram):
        groups = first.places.tolist() if first.places is not None else _rows(first.keys)
        counted: Vector = {}
        for group, code, count in zip(groups, first.codes.tolist(), first.counts.tolist(), strict=True):
            counted[group, code] = counted.get((group, code), 0) + int(count)
        return [counted for _ in aggregate.measures]
    if isinstance(first, _Groups):
        keys = _rows(first.keys)
        return [_sparse(zip(keys, measure.tolist(), strict=True)) for measure in first.measures]
    return [_sparse(enumerate(np.asarray(values).reshape(-1).tolist())) for values in opened]


def shape_of(results: Sequence[Any]) -> tuple[str, ...]:
    """All of sealed results that numbers drawn to the same noisy values could still show: sizes, kinds and types.

    Of groups whose keys come from the data that is the type of each key, not how many there are.
    """
    return tuple(_shape(_unseal(sealed) if isinstance(sealed, Exact) else sealed) for sealed in results)


def _shape(found: Any) -> str:
    if isinstance(found, (_Groups, _Histogram)):
        columns = found.measures if isinstance(found, _Groups) else (found.codes, found.counts)
        return f"{len(columns)} columns by keys of {[str(key.type) for key in found.keys]}"
    values = np.asarray(found).reshape(-1)
    ends = values[[values.argmin(), values.argmax()]]
    # However wide the exact numbers are, noise that takes them to the same values must give the same types.
    stored = [np.asarray(add(ends, noisy - ends.astype(object))).dtype for noisy in (0, _BEYOND)]
    return f"{values.size} numbers, stored as {stored}"


def _rows(keys: Sequence[Any]) -> list[Any]:
    return list(zip(*(key.to_pylist() for key in keys), strict=True))


def _sparse(items: Iterable[tuple[Any, Any]]) -> Vector:
    return {place: int(value) for place, value in items if value}
