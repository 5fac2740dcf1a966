"""The only place where exact aggregates meet their noise. They arrive sealed; only a mechanism can open them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.engines.protocol import Engine
from dither.errors import ParameterError
from dither.mechanisms import Exponential, KeySelection, Quantile
from dither.mechanisms.keys.groups import choose_values, measures_of, select_groups
from dither.mechanisms.sealed_values import Exact, SealedTable
from dither.sql.lowering.lower import lower
from dither.sql.plan.nodes import Aggregate, Choice
from dither.sql.pricing.notes import limits
from dither.sql.pricing.price import PricedMeasure, PricedQuestion


def release(priced: PricedQuestion, engine: Engine, most_cells: int | None = None) -> Released:
    """Run the statements, select the keys if they come from the data, and release each measure as the price bought.

    Of selected keys the first are shown, as many as make `most_cells` noisy numbers.
    """
    exact = [engine.run(lower(aggregate, engine.dialect)) for aggregate in priced.aggregates]
    left = list(priced.measures)
    shares = [[left.pop(0) for _ in aggregate.measures] for aggregate in priced.aggregates]
    if priced.question.public:
        parts = zip(priced.aggregates, shares, exact, strict=True)
        noisy = [measure for part in parts for measure in _public(*part)]
        return released(priced, noisy)
    most = None if most_cells is None else max(1, most_cells // len(priced.measures))
    return _selected(priced, shares, exact, most)


def _public(aggregate: Aggregate, shares: list[PricedMeasure], exact: Sequence[Exact]) -> list[NoisyMeasure]:
    if aggregate.chosen_from is not None:
        return [_chosen(item, exact[0], aggregate.group_count) for item in shares]
    return [_noisy(item, sealed) for item, sealed in zip(shares, exact, strict=True)]


def _selected(
    priced: PricedQuestion, shares: list[list[PricedMeasure]], exact: Sequence[Sequence[Exact]], most: int | None
) -> Released:
    """The first measure of the first aggregation says which keys may be shown; the rest is asked of those alone."""
    selection = shares[0][0].mechanism
    first = exact[0][0]
    if not isinstance(selection, KeySelection) or not isinstance(first, SealedTable):
        raise ParameterError("keys from the data need a selection.")
    selected = select_groups(first, selection, most)
    size = len(selected.owners)
    noisy = [NoisyMeasure(shares[0][0].measure.text, np.asarray(selected.owners), shares[0][0].parameters())]
    noisy += [_noisy(item, sealed) for item, sealed in zip(shares[0][1:], selected.measures, strict=True)]
    for aggregate, items, results in zip(priced.aggregates[1:], shares[1:], exact[1:], strict=True):
        sealed_table: Any = results[0]
        if aggregate.chosen_from is not None:
            noisy += [_chosen(item, sealed_table, size, selected.keys) for item in items]
        else:
            sealed = measures_of(sealed_table, selected.keys)
            noisy += [_noisy(item, part) for item, part in zip(items, sealed, strict=True)]
    keys = tuple(key.to_pylist() for key in selected.keys)
    found = released(priced, noisy, keys)
    return found if selected.whole else found.first(size)


def released(
    priced: PricedQuestion, noisy: Sequence[NoisyMeasure], keys: tuple[list[int | str | None], ...] | None = None
) -> Released:
    """Noisy measures with what it takes to show them."""
    strategy, left_out = priced.strategy, priced.left_out.document()
    said = limits(priced.aggregates)
    return Released(priced.paid, noisy, keys, said, strategy.bounds, strategy.centres, left_out)


def _noisy(item: PricedMeasure, sealed: Exact) -> NoisyMeasure:
    mechanism: Any = item.mechanism
    return NoisyMeasure(item.measure.text, np.asarray(mechanism.release(sealed).value), item.parameters())


def _chosen(item: PricedMeasure, sealed: Any, groups: int, shown: Sequence[Any] = ()) -> NoisyMeasure:
    mechanism, measure = item.mechanism, item.measure
    if not isinstance(mechanism, (Quantile, Exponential)) or not isinstance(measure, Choice):
        raise ParameterError("a value is chosen by the exponential mechanism.")
    low, high = measure.value.bounds
    values = choose_values(sealed, mechanism, groups, low, high, shown)
    return NoisyMeasure(measure.text, values, item.parameters())
