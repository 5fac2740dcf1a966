"""What a query may know before it is charged: declared metadata only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from dither.errors import PolicyError
from dither.policy.columns import Category, Column
from dither.policy.names import meant
from dither.policy.shape import Shape
from dither.policy.structure import Structure

# Registration refuses larger tables, so sums of small values provably fit 64 bits.
MOST_ROWS = 2**36
HOME = "duckdb"  # the engine that is always there, and holds every public table
PUBLIC = "public"  # the schema of all tables, unless the policy has another
MOST_GROUPS = 10_000_000  # that one answer may have
MOST_CODE = 2**62  # in size, of a group's key: results come in words of 64 bits


@dataclass(frozen=True)
class ForeignKey:
    """A row's owner is the owner of the row of `table` whose `key` equals this row's `column`."""

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column} -> {self.table}.{self.key}"


class EachRow(Enum):
    """Says that every row of a table is its own owner."""

    EACH_ROW = "each row"


EACH_ROW = EachRow.EACH_ROW


@dataclass(frozen=True)
class Table:
    """A registered private table. `snapshot` counts loads: new at every refresh, never derived from content.

    `owner` is what queries call the owner of a row: a column of the source, or with `via` the name that the table at
    the end of the foreign key uses; empty in a row-level table, whose rows are each their own owner. No owner has two
    rows with the same values in all columns of `key`.

    `owner_type` is how owners are stored, BIGINT or VARCHAR: the same in all tables of one people, so that an owner is
    found in another table by plain equality. (Declarations of an older format do not say, and it is empty.)
    `parent_snapshot` is the snapshot in which a foreign key found the owners of this one; 0 if there is none to name.
    `max_rows` bounds the rows of all owners together, None if nothing was declared. `structure` says how the rows of an
    owner may lie. `engine` is the name of the one that holds the snapshot.
    """

    name: str
    people: str
    owner: str
    max_rows_per_owner: int
    columns: Mapping[str, Column]
    snapshot: int = 0
    key: tuple[str, ...] = ()
    via: ForeignKey | None = None
    owner_type: str = ""
    parent_snapshot: int = 0
    max_rows: int | None = None
    structure: Structure = field(default_factory=Structure)
    engine: str = HOME

    @property
    def row_level(self) -> bool:
        return not self.owner


@dataclass(frozen=True)
class PublicTable:
    """A registered table that tells about nobody. No two rows have the same values in all columns of `key`.

    `labels` are the values that its text columns have in this snapshot, in the order of code points: those of columns
    that have few enough of them. They are as public as the table, and so is how its rows lie, its `shape`.
    """

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    snapshot: int = 0
    max_rows: int | None = None
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    shape: Shape = field(default_factory=Shape, repr=False)

    @cached_property
    def stored(self) -> Mapping[str, Column]:
        """The columns of the snapshot: those declared, and the place of each text among its column's labels."""
        return {**self.columns, **{code_of(name): self._code(name) for name in self.labels}}

    def _code(self, name: str) -> Category:
        labels, nullable = self.labels[name], self.columns[name].nullable
        return Category(labels, nullable=nullable, default=None if nullable else labels[0])


def code_of(name: str) -> str:
    """What the column is called that has the places of a column's texts; no declared name begins like it."""
    return f"_code_{name}"


def most_rows(table: Table | PublicTable) -> int:
    """How many rows a table's snapshot has at most: as declared, or as many as any table may have."""
    return MOST_ROWS if table.max_rows is None else table.max_rows


def engine_of(tables: Iterable[Table | PublicTable]) -> str:
    """The engine that can answer about these tables: the one that all private ones are on; public ones are with it."""
    places = {table.engine: table.name for table in tables if isinstance(table, Table)}
    if len(places) > 1:
        said = " and ".join(f"{name!r} on {engine}" for engine, name in sorted(places.items()))
        raise PolicyError(
            f"a question is answered by one engine, and its tables are on several: {said}. The curator can bring them "
            "together with `dither copy`."
        )
    return next(iter(places), HOME)


@dataclass(frozen=True)
class Catalog:
    """The tables an analyst can name. Identifiers are matched without regard to case, as in SQL."""

    tables: Mapping[str, Table]
    public: Mapping[str, PublicTable] = field(default_factory=dict)
    schema: str = PUBLIC  # what may stand before the name of any table

    def table(self, name: str) -> Table:
        """The private table of that name."""
        found = self.find(name)
        if isinstance(found, PublicTable):
            raise PolicyError(f"{found.name!r} is a public table; name one that belongs to people.")
        return found

    def find(self, name: str) -> Table | PublicTable:
        """The table of that name, private or public."""
        known: dict[str, Table | PublicTable] = {**self.tables, **self.public}
        for own, table in known.items():
            if own.lower() == name.lower():
                return table
        listed = ", ".join(sorted(known)) or "none"
        error = PolicyError(f"there is no table {name!r}; registered are: {listed}. {meant(name, known)}".rstrip())
        error.unknown_table = name
        raise error
