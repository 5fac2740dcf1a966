"""One of two neighbouring databases: a curator whose engine is listened to, and its walk up to the exact aggregates.

Nothing here runs noise, and nothing in the package can switch noise off. Every step is a field, so that a planted bug
is one replaced step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dither.curator.curator import Curator
from dither.engines.protocol import Engine
from dither.errors import DitherError, QueryFailed
from dither.mechanisms.sealed_values import Exact
from dither.sql.lowering.statement import Statement
from dither.sql.pricing.price import PricedQuestion


class Leak(DitherError, AssertionError):
    """Something that must not depend on one owner does."""

    code = "leak"


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
        return cls(curator, engine, curator._walk.price, curator.explain, engine.run, lambda _: QueryFailed(), _sizes)


def _sizes(exact: Sequence[Exact]) -> list[int]:
    """How many numbers each result has, if that shows: all of it that may shape an answer before keys are selected."""
    return [int(sealed.size or 0) for sealed in exact]
