"""Writes a protected snapshot: sanitise every record, rank each owner's rows, verify the result.

The table `rows` is sorted by rank, so that `"_rank" <= K` skips or takes whole row groups and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.columns import Category, Coded, Column
from dither.engines.protocol import MOST_ROWS, LoadReport, Progress
from dither.engines.rank import rank_expression
from dither.engines.sanitise import LABELS, quoted, read_column, read_owner
from dither.engines.sources import Source, open_source, parquet_by_arrow
from dither.engines.watch import watched
from dither.errors import DitherError, PolicyError
from dither.sql.catalog import Table
from dither.sql.physical import physical_type

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Settings:
    """What the loading connection may use."""

    threads: int | None = None
    memory_limit: str | None = None

    def config(self) -> dict[str, str | bool | int | float | list[str]]:
        """As connection options; extensions are never fetched."""
        chosen = {"threads": self.threads, "memory_limit": self.memory_limit}
        return {
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            **{name: str(value) for name, value in chosen.items() if value is not None},
        }


def write_snapshot(
    table: Table,
    source: Any,
    work: Path,
    *,
    key: str,
    settings: Settings,
    strict: bool,
    progress: Progress | None,
) -> LoadReport:
    """Write the snapshot to work/rows.duckdb. Anything wrong raises PolicyError, whose text never contains data."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(":memory:", config=settings.config())
    try:
        return _Load(connection, table, strict, progress).run(source, work, key)
    except DitherError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError):
        raise PolicyError(
            f"table {table.name!r} could not be copied (a damaged source, a full disk or too little memory); "
            "nothing was stored."
        ) from None
    finally:
        connection.close()


# How many owners there are, and how many have ranks other than 1, 2, ... up to the number of their rows, each once:
# no rank is below 1, so that is so exactly if the largest, their number and the number of different ones are the same.
_RANKS = (
    'SELECT COUNT(*), COUNT(*) FILTER (largest <> total OR different <> total) FROM (SELECT MAX("_rank") AS largest, '
    "SUM(alike) AS total, COUNT(*) AS different FROM "
    '(SELECT "_owner", "_rank", COUNT(*) AS alike FROM rows_file.rows GROUP BY "_owner", "_rank") GROUP BY "_owner")'
)


@dataclass(frozen=True)
class _Load:
    connection: duckdb.DuckDBPyConnection
    table: Table
    strict: bool
    progress: Progress | None

    def run(self, source: Any, work: Path, key: str) -> LoadReport:
        self._do("SET TimeZone = 'UTC'")
        self._do(f"SET temp_directory = {quoted(str(work / 'spill'), mark=chr(39))}")
        for name in ("staged", "rows"):
            self._do(f"ATTACH {quoted(str(work / (name + '.duckdb')), mark=chr(39))} AS {name}_file")
        self._declare_labels()
        rejected, owner_type = self._stage(source, work)
        report = self._count(rejected)
        if self.strict:
            self._refuse_changes(report)
        self._rank(owner_type, key)
        report = self._verify(report, owner_type)
        self._do("CHECKPOINT rows_file")
        self._do("DETACH rows_file")
        return report

    def _declare_labels(self) -> None:
        """An ENUM a Category: codes are positions in the declared order."""
        import pyarrow as pa

        for position, column in enumerate(self.table.columns.values()):
            if isinstance(column, Category):
                self.connection.register(
                    "declared", pa.table({"label": column.values, "code": range(len(column.values))})
                )
                self._do(f"CREATE TYPE {LABELS}{position} AS ENUM (SELECT label FROM declared ORDER BY code)")
                self.connection.unregister("declared")

    def _stage(self, source: Any, work: Path) -> tuple[int, str]:
        """Every record sanitised, with what was changed; the number of lines that are no records; the owner's type."""
        import duckdb

        wanted = [self.table.owner, *self.table.columns]
        opened = open_source(self.connection, source, wanted, work)
        sql, owner_type = self._staging(opened)
        try:
            self._watch("sanitising", 0.0, 0.4, sql)
        except duckdb.InvalidInputException:  # text that is not UTF-8, which only Arrow can read as bytes
            if not opened.parquet:
                raise
            self._do("DROP TABLE IF EXISTS staged_file.records")
            sql, owner_type = self._staging(parquet_by_arrow(self.connection, str(source), wanted))
            self._watch("sanitising", 0.0, 0.4, sql)
        return (self._rejected() if opened.rejects else 0), owner_type

    def _rejected(self) -> int:
        """Lines that are no records. A quotation mark without its pair may swallow other people's, so it is refused."""
        lines, torn = self._one(
            "SELECT COUNT(DISTINCT (scan_id, file_id, line)), COUNT(*) FILTER (error_type = 'UNQUOTED VALUE') "
            "FROM reject_errors"
        )
        if torn:
            raise PolicyError(
                f"table {self.table.name!r}: {torn} lines of the CSV source have quotation marks that do not pair, so "
                'records cannot be told apart; write a quotation mark inside a quoted field as "".'
            )
        return int(lines)

    def _staging(self, source: Source) -> tuple[str, str]:
        own = source.column(self.table.owner)
        owner, owner_type = read_owner(quoted(own), source.types[own])
        readings = []
        for position, (name, column) in enumerate(self.table.columns.items()):
            own = source.column(name)
            readings.append(read_column(name, column, f'"_source{position}"', source.types[own], position))
        outer = ['"_owner"']
        for position, reading in enumerate(readings):
            outer.append(f"{reading.stored()} AS {quoted(reading.name)}")
            outer.append(f'{reading.change()} AS "_change{position}"')
        taken = [
            f'{quoted(source.column(name))} AS "_source{position}"' for position, name in enumerate(self.table.columns)
        ]
        inner = f'SELECT {owner} AS "_owner", {", ".join(taken)} FROM {source.relation}'
        for depth in range(max(len(reading.steps) for reading in readings)):
            steps = [reading.steps[depth] for reading in readings if depth < len(reading.steps)]
            inner = f"SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in steps)} FROM ({inner})"
        return f"CREATE TABLE staged_file.records AS SELECT {', '.join(outer)} FROM ({inner})", owner_type

    def _count(self, rejected: int) -> LoadReport:
        counts = ["COUNT(*)", 'COUNT("_owner")']
        for position in range(len(self.table.columns)):
            counts += [
                f'COUNT(*) FILTER ("_owner" IS NOT NULL AND "_change{position}" = {change})' for change in (1, 2)
            ]
        total, kept, *changes = self._one(f"SELECT {', '.join(counts)} FROM staged_file.records")
        if not kept:
            raise PolicyError(
                f"table {self.table.name!r}: the source has no row with an owner, so there is nothing to ask about."
            )
        if kept > MOST_ROWS:
            raise PolicyError(f"table {self.table.name!r} has more than {MOST_ROWS} rows; load it in parts.")
        names = list(self.table.columns)
        return LoadReport(
            rows=kept,
            owners=0,
            dropped_without_owner=total - kept + rejected,
            clamped=dict(zip(names, changes[0::2], strict=True)),
            replaced=dict(zip(names, changes[1::2], strict=True)),
            beyond_max_rows_per_owner=0,
        )

    def _refuse_changes(self, report: LoadReport) -> None:
        found = [f"{count} values of {name!r} out of range" for name, count in report.clamped.items() if count]
        found += [f"{count} values of {name!r} unusable" for name, count in report.replaced.items() if count]
        if report.dropped_without_owner:
            found.append(f"{report.dropped_without_owner} records without an owner")
        if found:
            raise PolicyError(
                f"table {self.table.name!r} is refused, as strict=True asks: {'; '.join(found)}. "
                "Correct the source or the declarations, or load it without strict=True to have them sanitised."
            )

    def _rank(self, owner_type: str, key: str) -> None:
        columns = dict(self.table.columns)
        names = ", ".join(quoted(name) for name in columns)
        declared = [f'"_owner" {owner_type} NOT NULL', *(_stored_column(*item) for item in columns.items())]
        self._do(f'CREATE TABLE rows_file.rows ({", ".join(declared)}, "_rank" INTEGER NOT NULL)')
        self._watch(
            "ranking",
            0.4,
            0.95,
            f'INSERT INTO rows_file.rows SELECT "_owner", {names}, {rank_expression(owner_type, columns)} AS "_rank" '
            'FROM staged_file.records WHERE "_owner" IS NOT NULL ORDER BY "_rank"',
            {"key": key},
        )

    def _verify(self, report: LoadReport, owner_type: str) -> LoadReport:
        """Read back what queries rely on: every bound, every NULL, every owner's ranks. Anything else is refused."""
        asked = [
            "COUNT(*)",
            'COUNT(*) FILTER ("_rank" = 1)',
            f'COUNT(*) FILTER ("_rank" > {self.table.max_rows_per_owner})',
        ]
        asked += ['COALESCE(MIN("_rank"), 0)', 'COUNT("_owner")']
        outside = [_outside(name, column) for name, column in self.table.columns.items()]
        rows, owners, beyond, first, owned, *wrong = self._one(
            f"SELECT {', '.join(asked + outside)} FROM rows_file.rows"
        )
        counted, misranked = self._one(_RANKS)
        if (rows, first, owned, counted) != (report.rows, 1, report.rows, owners) or any(wrong) or misranked:
            raise PolicyError(
                f"table {self.table.name!r}: the snapshot does not hold what was declared; nothing was stored."
            )
        if self.progress is not None:
            self.progress("verified", 1.0)
        return LoadReport(rows, owners, report.dropped_without_owner, report.clamped, report.replaced, beyond)

    def _watch(self, what: str, start: float, end: float, sql: str, parameters: dict[str, str] | None = None) -> None:
        watched(self.connection, sql, parameters, what, start, end, self.progress)

    def _do(self, sql: str) -> None:
        self.connection.execute(sql).fetchall()

    def _one(self, sql: str) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.connection.execute(sql).fetchall()[0]
        return found


def _stored_column(name: str, column: Column) -> str:
    return f"{quoted(name)} {physical_type(column)}{'' if column.nullable else ' NOT NULL'}"


def _outside(name: str, column: Column) -> str:
    """SQL counting stored values that break the declaration."""
    broken = [] if column.nullable else [f"{quoted(name)} IS NULL"]
    if isinstance(column, Coded):
        broken.append(f"{quoted(name)} < {column.low} OR {quoted(name)} > {column.high}")
    return f"COUNT(*) FILTER ({' OR '.join(broken) or 'false'})"
