"""A relation as the parts of a SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dither.policy.catalog import MOST_ROWS
from dither.sql.guard.ranges import Schema
from dither.sql.lowering.owner_equalities import Origins


class Rank(NamedTuple):
    """One of the values that the rows of an owner are ordered by: how it is written, and whether it is a text."""

    sql: str
    text: bool = False


@dataclass(frozen=True)
class Block:
    """A relation as the parts of a SELECT: how its columns, owner and ranks are written, FROM what, WHERE what.

    A `plain` one can stand on the right of a join as it is, its conditions among those of the join. `origins` are the
    tables' own columns among its columns. `schema` and `total` are what the guard has proven about the relation.
    """

    source: str
    columns: dict[str, str]
    owner: str = ""
    ranks: tuple[Rank, ...] = ()
    conditions: tuple[str, ...] = ()
    plain: bool = True
    origins: Origins = field(default_factory=dict)
    schema: Schema = field(default_factory=dict)
    total: int = MOST_ROWS

    @property
    def body(self) -> str:
        return self.source + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")


def named(ranks: Sequence[Rank]) -> dict[str, Rank]:
    """Ranks by the names that they have in a subquery."""
    return {f"_r{place}": rank for place, rank in enumerate(ranks)}
