"""Whose a row is: a column says it, a foreign key leads to a row that knows, or each row is its own owner.

A foreign key is followed in the other table's current snapshot, where every row has its owner already. Its key must
have one owner only: a row that belonged to two people could not be taken away with either of them. (A key that gave no
owner because two have it would give one again as soon as the other goes, so it is refused and not passed over.)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dither.engines.duckdb.snapshots.loading import ROWS, Loading, Settings
from dither.engines.duckdb.snapshots.sanitising import may_be_whole, quoted, read_owner, whole_number
from dither.engines.duckdb.sources.sources import Source, source_names
from dither.errors import PolicyError
from dither.exact.digits import counted
from dither.policy.catalog import ForeignKey, Table

_PARENT = "parent_file.rows"


@dataclass
class Owners:
    """Finds the owners of one table's records."""

    load: Loading
    table: Table
    parent: Path | None
    kind: str = ""  # the stored type, known once the source is open

    @property
    def wanted(self) -> list[str]:
        """The columns that the source must have."""
        by_column = self.table.via is None and not self.table.row_level
        return [*([self.table.owner] if by_column else []), *source_names(self.table.columns)]

    def prepare(self) -> None:
        """Open the snapshot that a foreign key leads to, and check that each key there has one owner."""
        via = self.table.via
        if via is None:
            return
        if self.parent is None or not self.parent.is_file():
            raise PolicyError(f"the snapshot of {via.table!r} is missing; refresh that table first.")
        self.load.do(f"ATTACH {quoted(str(self.parent), mark=chr(39))} AS parent_file (READ_ONLY)")
        (self.kind,) = self.load.one(f'SELECT typeof("_owner") FROM {_PARENT} LIMIT 1')
        (shared,) = self.load.one(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {_PARENT} WHERE {quoted(via.key)} IS NOT NULL "
            f"GROUP BY {quoted(via.key)} HAVING COUNT(*) > 1)"
        )
        if shared:
            raise PolicyError(
                f"table {self.table.name!r}: several owners have the same {via.table}.{via.key} "
                f"({counted(shared, 'value')}), so it cannot say whose a row is; correct {via.table!r} and refresh it, "
                "or name another owner."
            )

    def records(self, sources: list[Source]) -> str:
        """SQL of every record with its owner; NULL is nobody."""
        if self.table.via is not None:
            return self._by_foreign_key(sources, self.table.via)
        if self.table.row_level:
            # Any numbers will do, as long as they differ: nothing may depend on which row has which.
            self.kind = "BIGINT"
            return f'SELECT row_number() OVER () AS "_owner", * FROM ({self.load.all_sanitised(sources)})'
        return self._by_column(sources)

    def mistaken(self) -> int:
        """How many stored rows have another owner than their foreign key says."""
        if self.table.via is None:
            return 0
        link, key = quoted(self.table.via.column), quoted(self.table.via.key)
        (count,) = self.load.one(
            f"SELECT COUNT(*) FROM {ROWS} AS mine LEFT JOIN {_PARENT} AS theirs ON mine.{link} = theirs.{key} "
            'WHERE mine."_owner" IS DISTINCT FROM theirs."_owner"'
        )
        return int(count)

    def _by_column(self, sources: list[Source]) -> str:
        """In the type that the people's owners are stored in; if they have none yet, by the source's schema."""
        read = []
        for source in sources:
            own = source.column(self.table.owner)
            read.append((source, own, *read_owner(source.sql[own], source.types[own])))
        by_schema = "BIGINT" if all(kind == "BIGINT" for *_, kind in read) else "VARCHAR"
        self.kind = self.table.owner_type or by_schema
        return " UNION ALL ".join(
            self.load.sanitised(source, self._stored(source, own, owner, kind)) for source, own, owner, kind in read
        )

    def _stored(self, source: Source, own: str, owner: str, kind: str) -> str:
        """SQL of an owner in the stored type. Which columns can be read in it is settled by their types."""
        if (kind, self.kind) == ("BIGINT", "VARCHAR"):  # a whole number is the same owner when written as text
            return f"CAST({owner} AS VARCHAR)"
        if kind == self.kind:
            return owner
        if own in source.untyped or may_be_whole(source.types[own]):
            return whole_number(f"({owner})")
        raise PolicyError(
            f"table {self.table.name!r}: the owners of {self.table.people!r} are stored as whole numbers, and {own!r} "
            "holds text; cast it to whole numbers in the source. (Where owners are text in the first table of their "
            "people, later ones may have either.)"
        )

    def _by_foreign_key(self, sources: list[Source], via: ForeignKey) -> str:
        # A value that was clamped or replaced is not what the record said: it leads nowhere.
        return (
            f'SELECT theirs."_owner", mine.* FROM ({self.load.all_sanitised(sources)}) AS mine '
            f"LEFT JOIN {_PARENT} AS theirs ON mine.{self.load.change(via.column)} = 0 "
            f"AND mine.{quoted(via.column)} = theirs.{quoted(via.key)}"
        )


def stored_type(snapshot: Path, settings: Settings) -> str:
    """How a snapshot stores owners."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config=settings.config()) as connection:
            connection.execute(f"ATTACH {quoted(str(snapshot), mark=chr(39))} AS snapshot (READ_ONLY)").fetchall()
            found = connection.execute('SELECT typeof("_owner") FROM snapshot.rows LIMIT 1').fetchall()
            return str(found[0][0])
    except (duckdb.Error, IndexError):
        raise PolicyError(f"the snapshot {snapshot.name} cannot be read; refresh its table.") from None
