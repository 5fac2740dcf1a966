"""What every load shares: one connection of its own, the declared labels, and records sanitised into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.engines.duckdb.load_progress import watched
from dither.engines.duckdb.snapshots.sanitising import LABELS, quoted, read_column
from dither.engines.duckdb.sources.csv_files import BROKEN, TORN
from dither.engines.duckdb.sources.sources import Source, open_sources
from dither.engines.protocol import Progress
from dither.errors import DitherError, PolicyError, RecordsRefused
from dither.exact.digits import counted
from dither.policy.columns import Category, Column
from dither.sql.lowering.duckdb_dialect import DUCKDB

if TYPE_CHECKING:
    import duckdb

RECORDS, ROWS = "staged_file.records", "rows_file.rows"


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


@contextmanager
def loading(
    name: str, columns: Mapping[str, Column], work: Path, settings: Settings, progress: Progress | None
) -> Iterator[Loading]:
    """A connection that can write work/rows.duckdb. Anything wrong raises PolicyError, whose text never has data."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(":memory:", config=settings.config())
    try:
        made = Loading(connection, name, columns, work, progress)
        made.prepare()
        yield made
    except DitherError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError):
        raise PolicyError(
            f"table {name!r} could not be copied (a damaged source, a full disk or too little memory); "
            "nothing was stored."
        ) from None
    finally:
        connection.close()


@dataclass(frozen=True)
class Staged:
    """What the reader of a source says: lines of CSV that are no records, and whether its text is all UTF-8."""

    unreadable_lines: int = 0
    utf8: bool = True


@dataclass(frozen=True)
class Loading:
    """One load under way."""

    connection: duckdb.DuckDBPyConnection
    table: str
    columns: Mapping[str, Column]
    work: Path
    progress: Progress | None

    def prepare(self) -> None:
        self.do("SET TimeZone = 'UTC'")
        self.do(f"SET temp_directory = {quoted(str(self.work / 'spill'), mark=chr(39))}")
        self.do("ATTACH ':memory:' AS staged_file")  # what memory does not hold spills to the folder above
        self.do(f"ATTACH {quoted(str(self.work / 'rows.duckdb'), mark=chr(39))} AS rows_file")
        self.declare_labels()

    def declare_labels(self) -> None:
        """An ENUM a Category: codes are positions in the declared order."""
        import pyarrow as pa

        for position, column in enumerate(self.columns.values()):
            if isinstance(column, Category):
                self.connection.register(
                    "declared", pa.table({"label": column.values, "code": range(len(column.values))})
                )
                self.do(f"CREATE TYPE {LABELS}{position} AS ENUM (SELECT label FROM declared ORDER BY code)")
                self.connection.unregister("declared")

    def stage(self, source: Any, wanted: list[str], records: Callable[[list[Source]], str]) -> Staged:
        """Every record as `records` selects it; refused unless each that was read is there, and once."""
        opened = open_sources(self.connection, source, wanted)
        selected = records(opened)
        self.do("SET enable_external_access = false")  # readers of ours bring in all that is read from here on
        self.watch("sanitising", 0.0, 0.4, f"CREATE TABLE {RECORDS} AS {selected}")
        tallies = [part.tally for part in opened]
        for refused in (tally.refused for tally in tallies if tally.refused is not None):
            raise refused
        for trouble, words in (("torn", TORN), ("broken", BROKEN)):
            if any(getattr(tally, trouble) for tally in tallies):
                raise PolicyError(words.format(f"the source of table {self.table!r}"))
        (staged,) = self.one(f"SELECT COUNT(*) FROM {RECORDS}")
        if not all(tally.complete for tally in tallies) or staged != sum(tally.records for tally in tallies):
            raise PolicyError(f"table {self.table!r}: not every record of the source arrived; nothing was stored.")
        return Staged(sum(tally.unreadable for tally in tallies), all(tally.utf8 for tally in tallies))

    def all_sanitised(self, sources: list[Source]) -> str:
        """SQL of the records of all parts of a source."""
        return " UNION ALL ".join(self.sanitised(source) for source in sources)

    def sanitised(self, source: Source, owner: str = "") -> str:
        """SQL of each record's stored values and of what was changed in each; `owner` is SQL over the source."""
        owners = [f'{owner} AS "_owner"'] if owner else []
        taken, readings = [*owners], []
        for position, (name, column) in enumerate(self.columns.items()):
            own = source.column(column.source or name)
            taken.append(f'{source.sql[own]} AS "_source{position}"')
            readings.append(read_column(name, column, f'"_source{position}"', source.types[own], position))
        inner = f"SELECT {', '.join(taken)} FROM {source.relation}"
        for depth in range(max(len(reading.steps) for reading in readings)):
            steps = [reading.steps[depth] for reading in readings if depth < len(reading.steps)]
            inner = f"SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in steps)} FROM ({inner})"
        outer = ['"_owner"'] if owner else []
        for reading in readings:
            outer.append(f"{reading.stored()} AS {quoted(reading.name)}")
            outer.append(f"{reading.change()} AS {self.change(reading.name)}")
        return f"SELECT {', '.join(outer)} FROM ({inner})"

    def change(self, name: str) -> str:
        """The staged column that says what was changed in a declared one: 1 clamped, 2 replaced, 0 nothing."""
        return f'"_change{list(self.columns).index(name)}"'

    def changes(self, of: str) -> tuple[dict[str, int], dict[str, int]]:
        """How many values of each column were clamped and replaced, in the staged records that `of` (SQL) selects."""
        asked = [f"COUNT(*) FILTER ({self.change(name)} = {change})" for name in self.columns for change in (1, 2)]
        counts = self.one(f"SELECT {', '.join(asked)} FROM {RECORDS} WHERE {of}")
        names = list(self.columns)
        return dict(zip(names, counts[0::2], strict=True)), dict(zip(names, counts[1::2], strict=True))

    def refuse(self, found: list[str]) -> None:
        """What strict=True found, if anything: counts, never values."""
        if found:
            raise RecordsRefused(self.table, found)

    def finish(self) -> None:
        """Everything is in work/rows.duckdb."""
        self.do("CHECKPOINT rows_file")
        self.do("DETACH rows_file")
        if self.progress is not None:
            self.progress("verified", 1.0)

    def watch(self, what: str, start: float, end: float, sql: str, parameters: dict[str, str] | None = None) -> None:
        watched(self.connection, sql, parameters, what, start, end, self.progress)

    def do(self, sql: str) -> None:
        self.connection.execute(sql).fetchall()

    def one(self, sql: str) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.connection.execute(sql).fetchall()[0]
        return found


def unfit(clamped: Mapping[str, int], replaced: Mapping[str, int]) -> list[str]:
    """In words, what sanitising would change."""
    found = [f"{counted(count, 'value')} of {name!r} out of range" for name, count in clamped.items() if count]
    return found + [f"{counted(count, 'value')} of {name!r} unusable" for name, count in replaced.items() if count]


def unread(lines: int) -> str:
    """In words, lines of CSV that are no records."""
    return f"{counted(lines, 'unreadable line')} (more or fewer fields than the header, say)"


def stored_column(name: str, column: Column) -> str:
    """A declared column as the snapshot's table defines it."""
    return f"{quoted(name)} {DUCKDB.stored(column)}{'' if column.nullable else ' NOT NULL'}"


def named(names: tuple[str, ...] | list[str]) -> str:
    """Column names as a list in SQL."""
    return ", ".join(quoted(name) for name in names)
