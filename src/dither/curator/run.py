"""The only place where exact aggregates meet their noise. They arrive sealed; only a mechanism can open them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.engines.protocol import Engine
from dither.errors import ParameterError
from dither.mechanisms import Exponential, KeySelection, Quantile
from dither.mechanisms.keys.groups import choose_values, measures_of, select_groups
from dither.mechanisms.sealed_values import Exact, SealedTable
from dither.policy.catalog import HOME
from dither.sql.lowering.listing import MOST_LISTED, listing
from dither.sql.lowering.lower import lower
from dither.sql.plan.nodes import Aggregate, Choice
from dither.sql.plan.question import Question
from dither.sql.pricing.notes import limits
from dither.sql.pricing.price import PricedMeasure, PricedQuestion


def release(priced: PricedQuestion, engine: Engine, most_cells: int | None = None) -> Released:
    """Run the statements, select the keys if they come from the data, and release each measure as the price bought.

    Of selected keys the first are shown, as many as make `most_cells` noisy numbers.
    """
    # Before any owner's row is read: whether it ends must not follow from what the other statements took.
    listed = _listed(priced.question, engine) if priced.question.public else None
    dialect = engine.dialect_of(priced.question.engine)
    exact = [engine.run(lower(aggregate, dialect)) for aggregate in priced.aggregates]
    left = list(priced.measures)
    shares = [[left.pop(0) for _ in aggregate.measures] for aggregate in priced.aggregates]
    if priced.question.public:
        parts = zip(priced.aggregates, shares, exact, strict=True)
        noisy = [measure for part in parts for measure in _public(*part)]
        return _narrowed(priced.question, released(priced, noisy), listed)
    most = None if most_cells is None else max(1, most_cells // len(priced.measures))
    return _selected(priced, shares, exact, most)


def _public(aggregate: Aggregate, shares: list[PricedMeasure], exact: Sequence[Exact]) -> list[NoisyMeasure]:
    if aggregate.chosen_from is not None:
        return [_chosen(item, exact[0], aggregate.group_count) for item in shares]
    return [_noisy(item, sealed) for item, sealed in zip(shares, exact, strict=True)]


def _listed(question: Question, engine: Engine) -> NDArray[np.intp] | None:
    """The places of the groups that public tables leave; None for all, if that leaves none or cannot be found out."""
    try:
        known = listing(question, engine.dialect_of(HOME))  # where all public tables are
        if known is None:
            return None
        kept = engine.listed(known.statement)
    except Exception:  # noqa: BLE001 - no owner's rows were read, so nothing is told; and all groups are right as well
        return None
    counts = _counts(question)
    asked = [count if place in known.places else 1 for place, count in enumerate(counts)]
    (places,) = np.nonzero(np.broadcast_to(kept.reshape(asked), counts).reshape(-1))
    return places if 0 < len(places) < min(math.prod(counts), MOST_LISTED) else None


def _counts(question: Question) -> list[int]:
    return [high - low + 1 + nullable for low, high, nullable in (key.public_range for key in question.keys)]


def _narrowed(question: Question, found: Released, places: NDArray[np.intp] | None) -> Released:
    """The groups at these places alone: post-processing."""
    if places is None:
        return found
    ranges = [key.public_range for key in question.keys]
    codes: list[list[int | str | None]] = []
    for at, (low, high, _) in zip(np.unravel_index(places, _counts(question)), ranges, strict=True):
        codes.append([low + int(place) if low + place <= high else None for place in at])
    measures = tuple(replace(measure, values=measure.values[places]) for measure in found.measures)
    return replace(found, measures=measures, keys=tuple(codes))


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
    labels = priced.question.labels
    return Released(priced.paid, noisy, keys, said, strategy.bounds, strategy.centres, left_out, labels)


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
