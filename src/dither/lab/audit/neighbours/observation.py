"""All that an analyst can see of a question except the noisy numbers, on one side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.curator.present import present
from dither.curator.run import release, released
from dither.engines.protocol import Engine
from dither.errors import DitherError
from dither.lab.audit.neighbours.gaps import Vector, shape_of, vectors_of
from dither.lab.audit.neighbours.sides import Side
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.lower import lower
from dither.sql.lowering.statement import Statement
from dither.sql.plan.nodes import Choice
from dither.sql.pricing.price import PricedQuestion

_CONFIDENCE = Fraction(19, 20)


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
    shapes: tuple[tuple[str, ...], ...] = ()  # of the exact results, one a statement
    exact: tuple[Vector, ...] = field(default=(), compare=False)
    priced: PricedQuestion | None = field(default=None, compare=False)

    def compared(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("exact", "priced")}


def wire(error: BaseException) -> bytes:
    """An error as it would leave a server."""
    document = error.document() if isinstance(error, DitherError) else str(error)
    return f"{type(error).__name__}: {document}".encode()


def observe(side: Side, text: str, *, explained: bool = True, drawn: bool = False, **stated: Any) -> Observed:
    """Walk up to the exact aggregates and note everything on the way; the explanation costs about as much again.

    With `drawn` the noise is drawn too, to see that nothing fails between the engine and the answer.
    """
    stated = stated or {"epsilon": "1"}
    side.engine.heard.clear()
    try:
        priced = side.price(text, **stated)
        explanation = str(side.explain(text, **stated)) if explained else ""
    except DitherError as refusal:
        return Observed("refused", wire(refusal), statements=tuple(side.engine.heard))
    paid = (priced.price.cost, priced.price.delta, tuple(priced.asked.items()))
    known: dict[str, Any] = {"price": paid, "recipe": priced.recipe(), "explanation": explanation}
    try:
        dialect = side.engine.dialect_of(priced.question.engine)
        results = [side.run(lower(aggregate, dialect)) for aggregate in priced.aggregates]
        sizes = [side.size(exact) for exact in results]
        stored = _without_noise(priced, sizes).to_bytes()
        shown = present(priced.question, stored, _CONFIDENCE)
        vectors = [vector for parts in zip(priced.aggregates, results, strict=True) for vector in vectors_of(*parts)]
        shapes = tuple(map(shape_of, results))
        if drawn:
            answering = _Answering(dialect, results)
            present(priced.question, release(priced, cast(Engine, answering)).to_bytes(), _CONFIDENCE)
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is what is looked at
        return Observed("failed", wire(side.failure(error)), statements=tuple(side.engine.heard), **known)
    return Observed(
        "answered",
        statements=tuple(side.engine.heard),
        columns=tuple(f"{name}: {kind}" for name, kind in _schema(shown)),
        rows=len(shown),
        stored_bytes=len(stored),
        shown_bytes=len(str(shown)) + len(shown.to_json()),
        shapes=shapes,
        exact=tuple(vectors),
        priced=priced,
        **known,
    )


class _Answering:
    """An engine that gives results that are there already, one statement after the other."""

    def __init__(self, dialect: Dialect, results: Sequence[Sequence[Any]]) -> None:
        self._dialect, self._left = dialect, list(results)

    def dialect_of(self, on: str) -> Dialect:
        return self._dialect

    def run(self, statement: Statement) -> Sequence[Any]:
        return self._left.pop(0)


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
    keys: Any = None if question.public else tuple([None] for _ in question.keys)
    return released(priced, noisy, keys)


def _middle(measure: Any) -> int:
    return measure.value.bounds[0] if isinstance(measure, Choice) else 0


def _schema(shown: Any) -> list[tuple[str, str]]:
    table = shown.to_arrow(intervals=True)
    return [(name, str(kind)) for name, kind in zip(table.schema.names, table.schema.types, strict=True)]
