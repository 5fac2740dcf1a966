"""The neighbour harness: one question on D and on D' = D without one owner; all that shows before the noise must agree.

It follows the curator's own steps up to the exact aggregates and opens them; it never runs noise, and nothing in the
package can switch noise off. Every step is a field of `Side`, so that a planted bug is one replaced step.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import threats_population as population

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency import Currency
from dither.answer.released import NoisyMeasure, Released
from dither.curator import Curator
from dither.engines.protocol import Engine
from dither.errors import DitherError, QueryFailed
from dither.mechanisms import Gaussian, KeySelection, Laplace, Quantile
from dither.mechanisms.exact import Exact, _unseal
from dither.mechanisms.groups import _Groups, _Histogram
from dither.present import present
from dither.sql.notes import limits
from dither.sql.plan import Aggregate, Choice
from dither.sql.price import PricedQuestion, price
from dither.sql.statement import Statement

CONFIDENCE = Fraction(19, 20)
BUDGET = ApproxDP(4, "1e-6")  # keys from the data need delta
CURRENCIES = (Currency.of(PureDP(4)), Currency.of(ApproxDP(4, "1e-6")))
Vector = dict[Any, int]  # where an exact result is not 0: by place, by key, or by group and value


class Leak(AssertionError):
    """Something that must not depend on one owner does."""


class Listening:
    """An engine as the curator sees it, with a record of every statement it was handed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.heard: list[str] = []

    def run(self, statement: Statement) -> Sequence[Exact]:
        self.heard.append(statement.sql)
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@dataclass(frozen=True)
class Side:
    """One of two neighbouring databases, and the walk over it, step by step."""

    curator: Curator
    engine: Listening
    price: Callable[..., PricedQuestion]
    explain: Callable[..., Any]
    run: Callable[[Statement], Sequence[Any]]
    failure: Callable[[Exception], Exception]
    size: Callable[[Sequence[Exact]], list[int]]

    @classmethod
    def of(cls, curator: Curator) -> Side:
        engine = Listening(curator._engine)
        curator._engine = engine  # type: ignore[assignment]
        return cls(curator, engine, curator._price, curator.explain, engine.run, lambda _: QueryFailed(), _sizes)


def _sizes(exact: Sequence[Exact]) -> list[int]:
    """How many numbers each result has, if that shows: all of it that may shape an answer before keys are selected."""
    return [int(sealed.size or 0) for sealed in exact]


@dataclass(frozen=True)
class Observed:
    """All that an analyst can see of a question except the noisy numbers, and (never compared) the exact ones."""

    status: str
    error: bytes = b""
    price: tuple[Any, ...] = ()
    recipe: str = ""
    statements: tuple[str, ...] = ()
    explanation: str = ""
    columns: tuple[str, ...] = ()
    rows: int = 0
    stored_bytes: int = 0
    shown_bytes: int = 0
    exact: tuple[Vector, ...] = field(default=(), compare=False)
    priced: PricedQuestion | None = field(default=None, compare=False)

    def compared(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("exact", "priced")}


def make_side(folder: Path, sources: Any, like: Side | None = None, budget: Any = BUDGET) -> Side:
    """A curator with the tables of the population on a real engine and a real ledger.

    `sources` may be the events alone. Ranks are drawn with the key of `like`.
    """
    curator = Curator.open(folder)
    if like is not None:
        snapshots = folder / "snapshots"
        snapshots.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(like.curator._engine._folder / "rank.key", snapshots / "rank.key")  # type: ignore[attr-defined]
    curator.people("everybody", budget=budget)
    tables = sources if isinstance(sources, dict) else {"t": sources}
    for name, source in tables.items():
        if name == "pub":
            curator.register_public(name, source, columns=population.CODES, key="code")
        else:
            curator.register(name, source, people="everybody", **population.DECLARED[name])
    return Side.of(curator)


def wire(error: BaseException) -> bytes:
    """An error as it would leave a server."""
    return f"{type(error).__name__}: {error}".encode()


def observe(side: Side, text: str, *, explained: bool = True, **stated: Any) -> Observed:
    """Walk up to the exact aggregates and note everything on the way; the explanation costs about as much again."""
    stated = stated or {"epsilon": "1"}
    side.engine.heard.clear()
    try:
        priced = side.price(text, **stated)
        explanation = str(side.explain(text, **stated)) if explained else ""
    except DitherError as refusal:
        return Observed("refused", wire(refusal), statements=tuple(side.engine.heard))
    paid = (priced.price.cost, priced.price.delta, tuple(priced.asked.items()))
    known = {"price": paid, "recipe": priced.recipe(), "explanation": explanation}
    try:
        results = [side.run(statement) for statement in priced.statements]
        sizes = [side.size(exact) for exact in results]
        stored = _without_noise(priced, sizes).to_bytes()
        shown = present(priced.question, stored, CONFIDENCE)
        vectors = [vector for parts in zip(priced.aggregates, results, strict=True) for vector in _vectors(*parts)]
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is what is looked at
        return Observed("failed", wire(side.failure(error)), statements=tuple(side.engine.heard), **known)
    return Observed(
        "answered",
        statements=tuple(side.engine.heard),
        columns=tuple(f"{name}: {kind}" for name, kind in _schema(shown)),
        rows=len(shown),
        stored_bytes=len(stored),
        shown_bytes=len(str(shown)) + len(shown.to_json()) + len(shown.to_bytes()),
        exact=tuple(vectors),
        priced=priced,
        **known,
    )


def _without_noise(priced: PricedQuestion, sizes: Sequence[Sequence[int]]) -> Released:
    """A release that is 0 everywhere: what the numbers are does not matter, how many there are does.

    Which keys a selection keeps is released under its own guarantee, so one group of NULL stands for them.
    """
    question = priced.question
    counts: list[int] = []
    for aggregate, found in zip(priced.aggregates, sizes, strict=True):
        dense = question.public and aggregate.chosen_from is None
        counts += found if dense else [aggregate.group_count if question.public else 1] * len(aggregate.measures)
    noisy = [
        NoisyMeasure(item.measure.text, np.full(count, _middle(item.measure), dtype=np.int64), item.parameters())
        for item, count in zip(priced.measures, counts, strict=True)
    ]
    keys = None if question.public else tuple([None] for _ in question.keys)
    return Released(priced.asked, noisy, keys, limits(priced.aggregates))


def _middle(measure: Any) -> int:
    return measure.value.bounds[0] if isinstance(measure, Choice) else 0


def check_neighbours(one: Side, other: Side, text: str, *, explained: bool = True, **stated: Any) -> Observed:
    """Raise `Leak` unless the question looks the same on both sides and its exact answers are as close as proven."""
    seen, beside = (observe(side, text, explained=explained, **stated) for side in (one, other))
    there = beside.compared()
    for name, value in seen.compared().items():
        if value != there[name]:
            raise Leak(f"{name} differs between neighbours on {text!r}")
    if seen.status == "failed":
        raise Leak(f"status: a supported question must not fail: {text!r}")
    if seen.priced is not None:
        check_gap(seen.priced, [difference(*pair) for pair in zip(seen.exact, beside.exact, strict=True)])
    return seen


def difference(one: Vector, other: Vector) -> Vector:
    """Where and by how much two exact results differ."""
    return {place: step for place in {*one, *other} if (step := one.get(place, 0) - other.get(place, 0))}


def check_gap(priced: PricedQuestion, gap: Sequence[Vector]) -> None:
    """The distance of two exact answers is within the proven norms, and costs no more privacy than is charged."""
    text = priced.question.canonical()
    for item, moved in zip(priced.measures, gap, strict=True):
        steps = list(moved.values())
        norms = sum(map(abs, steps)), sum(step * step for step in steps), max(map(abs, steps), default=0)
        proven = item.sensitivity.l1, item.sensitivity.l2_squared, item.sensitivity.linf
        for name, found, bound in zip(("L1", "L2", "Linf"), norms, proven, strict=True):
            if not found <= bound:
                raise Leak(f"{name} gap {found} exceeds {bound} on {text}")
        if isinstance(item.mechanism, KeySelection):
            check_keys(item.mechanism, moved, text)
    for stated in (priced, *_in_every_currency(priced)):
        if not stated.price.cost > 0:
            raise Leak(f"price: a question about data must cost something: {text}")
        loss = sum(
            (_loss(stated.currency, item.mechanism, moved) for item, moved in zip(stated.measures, gap, strict=True)),
            Fraction(0),
        )
        if not loss <= stated.price.cost:
            raise Leak(f"the joint privacy loss {float(loss)} exceeds the price {float(stated.price.cost)} on {text}")


def check_keys(selection: KeySelection, moved: Vector, text: str) -> None:
    """One owner is counted once in each key, and in no more keys than the selection was made for."""
    if len(moved) > selection.keys_per_owner:
        raise Leak(f"keys: one owner is in {len(moved)} keys, not in {selection.keys_per_owner}, on {text}")
    if any(abs(step) != 1 for step in moved.values()):
        raise Leak(f"keys: one owner counts more than once on {text}")


def _in_every_currency(priced: PricedQuestion) -> Iterator[PricedQuestion]:
    """The question at epsilon=1 under each kind of budget that can pay for it."""
    for currency in CURRENCIES:
        with suppress(DitherError):  # noise too wide to be drawn, or keys from the data under a pure budget
            yield price(priced.question, currency, epsilon=1, strategy=priced.strategy)


def check_same_aggregates(one: Side, other: Side, text: str, **stated: Any) -> None:
    """Raise `Leak` unless the exact answers are equal: both sides hold the same rows."""
    seen, beside = observe(one, text, **stated), observe(other, text, **stated)
    if seen != beside or seen.exact != beside.exact:
        raise Leak(f"order: the same rows give different answers on {text!r}")


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


def _vectors(aggregate: Aggregate, results: Sequence[Any]) -> list[Vector]:
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


def _rows(keys: Sequence[Any]) -> list[Any]:
    return list(zip(*(key.to_pylist() for key in keys), strict=True))


def _sparse(items: Iterable[tuple[Any, Any]]) -> Vector:
    return {place: int(value) for place, value in items if value}


def _schema(shown: Any) -> list[tuple[str, str]]:
    table = shown.to_arrow(intervals=True)
    return [(name, str(kind)) for name, kind in zip(table.schema.names, table.schema.types, strict=True)]
