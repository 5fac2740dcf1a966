"""Writes a protected snapshot of a DataFrame within Spark: sanitise, find owners, rank, verify. Only counts come back.

Records are written once as they were sanitised, so that a source that changes meanwhile is read once; they are removed
with the folder of the load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dither.engines.duckdb.snapshots.loading import unfit
from dither.engines.load_report import LoadReport, expectations
from dither.engines.protocol import Progress, check_rows
from dither.engines.spark.ranking import first_of_each_key, limited, limits, ranked
from dither.engines.spark.records import Chain, Hasher, Sanitiser, change
from dither.engines.spark.verification import refused, verify
from dither.engines.spark.warehouse import OWNER_TYPES, described, stored_columns, write
from dither.errors import PolicyError, RecordsRefused
from dither.exact.digits import counted
from dither.policy.catalog import ForeignKey, Table
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import OWNER

_name = SPARK.name


@dataclass(frozen=True)
class Load:
    """One load of a DataFrame under way, in a session of its own; `parent` is the view where a foreign key leads."""

    session: Any
    table: Table
    work: Path
    key: str
    strict: bool
    progress: Progress | None
    parent: str = ""
    parent_type: str = ""

    def run(self, frame: Any) -> tuple[LoadReport, Path]:
        """The report, and where the finished rows are."""
        owner_type = self._stage(frame)
        report = self._count()
        if self.strict:
            self._refuse_changes(report)
        self._tell("ranking", 0.5)
        kept, report = self._limited(report)
        rows = self.work / "rows"
        write(self.session.sql(ranked(self.table, kept)), rows)
        self._tell("verifying", 0.8)
        self._view("rows", stored_columns(self.table, owner_type))
        owners, beyond = verify(self.one, self.table, "rows", report.rows)
        if self.table.via is not None and self._mistaken(self.table.via):
            raise refused(self.table)
        self._tell("verified", 1.0)
        return replace(report, owners=owners, beyond_max_rows_per_owner=beyond), rows

    def one(self, sql: str) -> tuple[Any, ...]:
        (found,) = self.session.sql(sql).toArrow().to_pylist()
        return tuple(found.values())

    def _tell(self, what: str, done: float) -> None:
        if self.progress is not None:
            self.progress(what, done)

    def _stage(self, frame: Any) -> str:
        """Sanitised records with owners and hashes, as the view `records`."""
        self._tell("sanitising", 0.0)
        sanitiser = Sanitiser(self.table)
        columns, owner_type = sanitiser.columns(frame.limit(0).toArrow().schema)
        owner_type = self.parent_type or owner_type
        hasher = Hasher(self.table, owner_type, self.key)
        if sanitiser.owned:
            made = frame.mapInArrow(Chain(sanitiser, hasher), described(columns | hasher.columns))
        else:  # the frame has a session of its own, so its records are read again in this one
            write(frame.mapInArrow(sanitiser, described(columns)), self.work / "found")
            self._view("found", columns)
            columns = {OWNER: OWNER_TYPES[owner_type], **columns}
            made = self.session.sql(self._with_owners()).mapInArrow(hasher, described(columns | hasher.columns))
        write(made, self.work / "records")
        self._view("records", columns | hasher.columns)
        return owner_type

    def _view(self, name: str, columns: dict[str, str]) -> None:
        """A folder of the load as a view."""
        read = self.session.read.schema(described(columns)).parquet(str(self.work / name))
        read.createOrReplaceTempView(name)

    def _with_owners(self) -> str:
        """SQL of each record with its owner; where each is its own, any numbers will do as long as they differ."""
        via = self.table.via
        if via is None:
            return f"SELECT monotonically_increasing_id() AS {OWNER}, * FROM found"
        same = f"mine.{change(self.table, via.column)} = 0 AND mine.{_name(via.column)} = theirs.{_name(via.key)}"
        return f"SELECT theirs.{OWNER}, mine.* FROM found AS mine LEFT JOIN {self.parent} AS theirs ON {same}"

    def _mistaken(self, via: ForeignKey) -> int:
        """How many stored rows have another owner than their foreign key says."""
        (count,) = self.one(
            f"SELECT COUNT(*) AS n FROM rows AS mine LEFT JOIN {self.parent} AS theirs "
            f"ON mine.{_name(via.column)} = theirs.{_name(via.key)} WHERE NOT (mine.{OWNER} <=> theirs.{OWNER})"
        )
        return int(count)

    @property
    def _kept(self) -> str:
        """SQL of what the snapshot takes. A key that was changed would be another row's, so such a row has none."""
        return " AND ".join([f"{OWNER} IS NOT NULL", *(f"{change(self.table, name)} = 0" for name in self.table.key)])

    def _count(self) -> LoadReport:
        asked = ["COUNT(*)", f"COUNT({OWNER})", f"COUNT(*) FILTER (WHERE {self._kept})"]
        for name in self.table.columns:
            marked = f"{self._kept} AND {change(self.table, name)}"
            asked += [f"COUNT(*) FILTER (WHERE {marked} = {kind})" for kind in (1, 2)]
        if self.table.key:
            alike = ", ".join(_name(name) for name in (OWNER, *self.table.key))
            asked.append(f"COUNT(DISTINCT struct({alike})) FILTER (WHERE {self._kept})")
        shown = ", ".join(f"{sql} AS n{place}" for place, sql in enumerate(asked))
        total, owned, kept, *counts = self.one(f"SELECT {shown} FROM records")
        if not kept:
            why = "no row's key fits its declaration" if owned else "the source has no row with an owner"
            raise PolicyError(f"table {self.table.name!r}: {why}, so there is nothing to ask about.")
        different = counts.pop() if self.table.key else kept
        check_rows(self.table, different)
        names = list(self.table.columns)
        clamped, replaced = (dict(zip(names, counts[place::2], strict=True)) for place in (0, 1))
        expected = expectations(self.table.columns, replaced)
        return LoadReport(
            different, 0, total - owned, clamped, replaced, 0, owned - kept, kept - different, expected=expected
        )

    def _refuse_changes(self, report: LoadReport) -> None:
        found = unfit(report.clamped, report.replaced)
        for count, words in (
            (report.dropped_without_owner, "without an owner"),
            (report.dropped_without_key, "with a key that does not fit"),
            (report.dropped_as_repeats, "with a key that another of their owner has"),
        ):
            found += [f"{counted(count, 'record')} {words}"] if count else []
        if found:
            raise RecordsRefused(self.table.name, found)

    def _limited(self, report: LoadReport) -> tuple[str, LoadReport]:
        """SQL of the records that are left by key and structure, and the report of it."""
        kept = f"(SELECT * FROM records WHERE {self._kept})"
        if self.table.key:
            kept = f"(SELECT * EXCEPT (`_kept`) FROM {first_of_each_key(self.table, kept)})"
        rows, beyond = report.rows, {"values": dict[str, int](), "rows": dict[str, int]()}
        for kind, name, condition in limits(self.table):
            kept = f"(SELECT * EXCEPT (`_kept`) FROM {limited(kept, condition)})"
            (left,) = self.one(f"SELECT COUNT(*) AS n FROM {kept}")
            beyond[kind][name], rows = rows - left, left
        left_out = report.rows - rows
        if self.strict and left_out:
            words = f"{counted(left_out, 'record')} beyond {self.table.structure}"
            raise RecordsRefused(self.table.name, [words])
        return kept, replace(
            report, rows=rows, beyond_max_rows_per_owner_in=beyond["rows"], beyond_max_values_per_owner=beyond["values"]
        )
