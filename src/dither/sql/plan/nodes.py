"""Plan nodes: frozen, engine-neutral, and few, so that `check` can reason about each of them.

A query becomes aggregations over relations. Every row of a private relation belongs to one owner, who is carried along
without a name. Each measure is an exact integer per group; what the analyst sees is computed from noisy measures
afterwards. A column has one name in the whole query, whatever relation it passes through.
"""

from __future__ import annotations

from dataclasses import dataclass

from dither.policy.catalog import PublicTable, Table
from dither.records import recorded, text_of
from dither.sql.expressions import Boolean, Numeric, Textual
from dither.sql.plan.join_nodes import JoinFull as JoinFull
from dither.sql.plan.join_nodes import JoinOwner as JoinOwner
from dither.sql.plan.join_nodes import JoinPublic as JoinPublic
from dither.sql.plan.join_nodes import SemiJoin as SemiJoin
from dither.sql.plan.join_nodes import UnionAll as UnionAll
from dither.sql.plan.plan_node import Equality as Equality
from dither.sql.plan.plan_node import Named as Named
from dither.sql.plan.plan_node import Node as Node
from dither.sql.plan.window_nodes import OwnerWindow as OwnerWindow


@recorded("Scan", "table.name", "names")
@dataclass(frozen=True)
class Scan(Node):
    """All rows of a table's protected snapshot; `names` are pairs of a declared column and its name in the query."""

    table: Table
    names: tuple[tuple[str, str], ...]


@recorded("PublicScan", "table.name", "names")
@dataclass(frozen=True)
class PublicScan(Node):
    """All rows of a public table."""

    table: PublicTable
    names: tuple[tuple[str, str], ...]


@recorded("OwnerLimit", "child", "rows")
@dataclass(frozen=True)
class OwnerLimit(Node):
    """At most `rows` rows of each owner: those whose rank within the owner is at most `rows`."""

    child: Scan
    rows: int


@recorded("Filter", "child", "predicate")
@dataclass(frozen=True)
class Filter(Node):
    """Rows for which the predicate is true (not false, not NULL)."""

    child: Node
    predicate: Boolean


@recorded("Project", "child", "columns")
@dataclass(frozen=True)
class Project(Node):
    """The same rows with other columns, each a name and what it is computed as."""

    child: Node
    columns: tuple[Named, ...]


@recorded(None, "function", "value", "condition", "least", "most", "nullable")
@dataclass(frozen=True)
class Total:
    """What the rows of one owner (or of a public table) come to: their count (value None), sum, least or greatest
    value, lower median, or number of different values, clamped last."""

    function: str  # "count", "sum", "min", "max", "median" or "distinct"
    value: Numeric | Textual | None
    condition: Boolean | None
    least: int
    most: int
    nullable: bool

    @property
    def text(self) -> str:
        """The total as it is recorded, in its place within a node."""
        return text_of(self)


@recorded("OwnerAggregate", "child", "keys", "totals")
@dataclass(frozen=True)
class OwnerAggregate(Node):
    """One row for each owner and combination of keys that the owner has, with totals over the owner's own rows."""

    child: Node
    keys: tuple[Named, ...]
    totals: tuple[tuple[str, Total], ...]


@recorded("PublicAggregate", "child", "keys", "totals")
@dataclass(frozen=True)
class PublicAggregate(Node):
    """One row for each combination of keys that a public relation has, with totals over its rows; without keys one."""

    child: Node
    keys: tuple[Named, ...]
    totals: tuple[tuple[str, Total], ...]


@recorded("Retruncate", "child", "rows")
@dataclass(frozen=True)
class Retruncate(Node):
    """At most `rows` rows of each owner, chosen by the ranks that the owner's rows were given when loaded."""

    child: Node
    rows: int


@dataclass(frozen=True)
class Key:
    """A group key. Public: codes low..high, and NULL after them if nullable. Otherwise its values come from data."""

    code: Numeric | Textual
    public: bool
    low: int = 0
    high: int = 0
    nullable: bool = False

    @property
    def count(self) -> int:
        """How many values there are; for public keys only."""
        return self.high - self.low + 1 + self.nullable


@dataclass(frozen=True)
class Measure:
    """An exact integer per group, or a value chosen from the group's own values."""

    @property
    def text(self) -> str:
        """The same for equal measures only: what a stored release calls it."""
        return text_of(self)


@recorded("CountRows", "condition")
@dataclass(frozen=True)
class CountRows(Measure):
    """How many rows there are (`condition` None), or for how many the condition is true."""

    condition: Boolean | None = None


@recorded("SumRows", "value")
@dataclass(frozen=True)
class SumRows(Measure):
    """The sum of a value over the rows where it is not NULL. It ends in a clamp, or is a stored column."""

    value: Numeric


@recorded("CountOwners")
@dataclass(frozen=True)
class CountOwners(Measure):
    """How many owners have at least one row."""


@recorded("CountDistinct", "value")
@dataclass(frozen=True)
class CountDistinct(Measure):
    """How many different values there are, NULL not counted."""

    value: Numeric | Textual


@recorded("OwnerTotal", "value", "condition", "least", "most")
@dataclass(frozen=True)
class OwnerTotal(Measure):
    """The sum over owners of each one's total in the group, clamped to [least, most]; `value` None counts rows."""

    value: Numeric | None
    condition: Boolean | None
    least: int
    most: int


@dataclass(frozen=True)
class Choice(Measure):
    """A value chosen privately with the help of how often each value occurs; NULL does not take part."""

    value: Numeric


@recorded("QuantileRows", "value", "numerator", "denominator")
@dataclass(frozen=True)
class QuantileRows(Choice):
    """The value below which about `numerator / denominator` of the values lie."""

    numerator: int
    denominator: int


@recorded("ModeRows", "value")
@dataclass(frozen=True)
class ModeRows(Choice):
    """The value that occurs most often."""


@dataclass(frozen=True)
class Aggregate(Node):
    """The measures of each group. With public keys every combination of them has a result, empty or not.

    Choices stand alone: all measures of an aggregation are choices from one value, or none is. `asked` is what each
    measure is called by those who asked for it, where the plan computes it in another way.
    """

    child: Node
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    asked: tuple[Measure, ...] = ()

    @property
    def answers(self) -> tuple[Measure, ...]:
        return self.asked or self.measures

    @property
    def public(self) -> bool:
        return all(key.public for key in self.keys)

    @property
    def group_count(self) -> int:
        """How many groups there are; for public keys only."""
        count = 1
        for key in self.keys:
            count *= key.count
        return count

    @property
    def chosen_from(self) -> Numeric | None:
        """The value that choices are made from."""
        first = self.measures[0] if self.measures else None
        return first.value if isinstance(first, Choice) else None
