"""Writes a protected snapshot: sanitise every record, find its owner, rank each owner's rows, verify the result.

The table `rows` is sorted by rank, so that `"_rank" <= K` skips or takes whole row groups and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dither.engines.duckdb.snapshots.loading import (
    RECORDS,
    ROWS,
    Loading,
    Settings,
    Staged,
    loading,
    named,
    stored_column,
    unfit,
    unread,
)
from dither.engines.duckdb.snapshots.owners import Owners
from dither.engines.duckdb.snapshots.rank import first_of_its_key, rank_expression
from dither.engines.duckdb.snapshots.structure import broken, enforced
from dither.engines.load_report import LoadReport, expectations
from dither.engines.protocol import Progress, check_rows
from dither.errors import PolicyError
from dither.exact.digits import counted
from dither.policy.catalog import Table
from dither.sql.lowering.duckdb_dialect import DUCKDB

__all__ = ["Settings", "verified", "write_snapshot"]


def write_snapshot(
    table: Table,
    source: Any,
    work: Path,
    *,
    key: str,
    settings: Settings,
    strict: bool,
    progress: Progress | None,
    parent: Path | None = None,
) -> LoadReport:
    """Write the snapshot to work/rows.duckdb; `parent` is the snapshot in which a foreign key finds owners.

    Anything wrong raises PolicyError, whose text never contains data.
    """
    with loading(table.name, table.columns, work, settings, progress) as made:
        return _Load(made, table, Owners(made, table, parent), strict).run(source, key)


# How many owners there are, and how many have ranks other than 1, 2, ... up to the number of their rows, each once.
# Bits tell the first ranks apart, all that most owners have; the pairs of owner and rank beyond them are counted.
_BITS = 63
_FIRST = f'"_rank" BETWEEN 1 AND {_BITS}'
_RANKS = (
    f"SELECT COUNT(*), COUNT(*) FILTER (largest <> total OR first <> LEAST(total, {_BITS}) "
    f"OR seen <> (1::UBIGINT << LEAST(total, {_BITS})) - 1) FROM ("
    f'SELECT MAX("_rank") AS largest, COUNT(*) AS total, COUNT(*) FILTER ({_FIRST}) AS first, '
    f'BIT_OR(CASE WHEN {_FIRST} THEN 1::UBIGINT << ("_rank" - 1) ELSE 0 END) AS seen FROM {ROWS} GROUP BY "_owner")'
)
_PAIRS = f'SELECT 1 FROM {ROWS} WHERE "_rank" > {_BITS} GROUP BY "_owner", "_rank"'


@dataclass(frozen=True)
class _Load:
    load: Loading
    table: Table
    owners: Owners
    strict: bool

    def run(self, source: Any, key: str) -> LoadReport:
        self.owners.prepare()
        report = self._count(self.load.stage(source, self.owners.wanted, self.owners.records))
        if self.strict:
            self._refuse_changes(report)
        report = self._rank(report, key)
        report = self._verify(report)
        self.load.finish()
        return report

    @property
    def _kept(self) -> str:
        """SQL of what the snapshot takes. A key that was changed would be another row's, so such a row has none."""
        return " AND ".join(['"_owner" IS NOT NULL', *(f"{self.load.change(name)} = 0" for name in self.table.key)])

    def _count(self, staged: Staged) -> LoadReport:
        total, owned, kept = self.load.one(
            f'SELECT COUNT(*), COUNT("_owner"), COUNT(*) FILTER ({self._kept}) FROM {RECORDS}'
        )
        if not kept:
            lost = f"; it has {unread(staged.unreadable_lines)}" if staged.unreadable_lines else ""
            raise PolicyError(
                f"table {self.table.name!r}: {self._nothing(owned)}, so there is nothing to ask about{lost}."
            )
        clamped, replaced = self.load.changes(self._kept)
        different = kept
        if self.table.key:
            groups = f'SELECT DISTINCT "_owner", {named(self.table.key)} FROM {RECORDS} WHERE {self._kept}'
            (different,) = self.load.one(f"SELECT COUNT(*) FROM ({groups})")
        check_rows(self.table, different)
        return LoadReport(
            rows=different,
            owners=0,
            dropped_without_owner=total - owned,
            clamped=clamped,
            replaced=replaced,
            beyond_max_rows_per_owner=0,
            dropped_without_key=owned - kept,
            dropped_as_repeats=kept - different,
            unreadable_lines=staged.unreadable_lines,
            utf8=staged.utf8,
            expected=expectations(self.table.columns, replaced),
        )

    def _nothing(self, owned: int) -> str:
        if owned:
            return f"no row's key ({', '.join(self.table.key)}) fits its declaration"
        return "the source has no row with an owner" + (f" by {self.table.via}" if self.table.via else "")

    def _refuse_changes(self, report: LoadReport) -> None:
        found = unfit(report.clamped, report.replaced)
        if report.unreadable_lines:
            found.append(unread(report.unreadable_lines))
        for count, words in (
            (report.dropped_without_owner, "without an owner"),
            (report.dropped_without_key, "with a key that does not fit"),
            (report.dropped_as_repeats, "with a key that another of their owner has"),
        ):
            if count:
                found.append(f"{counted(count, 'record')} {words}")
        if found and not report.utf8:
            found.append("the source is not all UTF-8")
        self.load.refuse(found)

    def _limit(self, report: LoadReport, key: str, relation: str) -> tuple[str, LoadReport]:
        """What the declared structure leaves, and the report of it."""
        kept = enforced(self.load, self.table, self.owners.kind, key, relation, report.rows)
        if self.strict and kept.left_out:
            self.load.refuse([f"{counted(kept.left_out, 'record')} beyond {self.table.structure}"])
        return kept.relation, replace(
            report,
            rows=report.rows - kept.left_out,
            beyond_max_rows_per_owner_in=kept.beyond_rows,
            beyond_max_values_per_owner=kept.beyond_values,
        )

    def _rank(self, report: LoadReport, key: str) -> LoadReport:
        columns, owner_type = dict(self.table.columns), self.owners.kind
        declared = [f'"_owner" {owner_type} NOT NULL', *(stored_column(*item) for item in columns.items())]
        self.load.do(f'CREATE TABLE {ROWS} ({", ".join(declared)}, "_rank" INTEGER NOT NULL)')
        kept = f"{RECORDS} WHERE {self._kept}"
        if self.table.key:
            kept = f"(SELECT * FROM {kept} QUALIFY {first_of_its_key(owner_type, columns, self.table.key)})"
        if self.table.structure:
            kept, report = self._limit(report, key, kept)
        self.load.watch(
            "ranking",
            0.6 if self.table.structure else 0.4,
            0.95,
            f'INSERT INTO {ROWS} SELECT "_owner", {named(list(columns))}, '
            f'{rank_expression(owner_type, columns)} AS "_rank" FROM {kept} ORDER BY "_rank"',
            {"key": key},
        )
        return report

    def _verify(self, report: LoadReport) -> LoadReport:
        """Read back what queries rely on: bounds, NULLs, keys, structure, owners, ranks. Anything else is refused."""
        asked = [
            "COUNT(*)",
            'COUNT(*) FILTER ("_rank" = 1)',
            f'COUNT(*) FILTER ("_rank" > {self.table.max_rows_per_owner})',
        ]
        asked += ['COALESCE(MIN("_rank"), 0)', 'COUNT("_owner")']
        asked += [DUCKDB.outside(name, column) for name, column in self.table.columns.items()]
        rows, owners, beyond, first, owned, *wrong = self.load.one(f"SELECT {', '.join(asked)} FROM {ROWS}")
        counted, misranked = self.load.one(_RANKS)
        wrong += self.load.one(f"SELECT COUNT(*) FROM ({_PAIRS} HAVING COUNT(*) > 1)")
        if self.table.key:
            alike = f'SELECT 1 FROM {ROWS} GROUP BY "_owner", {named(self.table.key)} HAVING COUNT(*) > 1'
            wrong += self.load.one(f"SELECT COUNT(*) FROM ({alike})")
        wrong += [self.owners.mistaken(), broken(self.load, self.table)]
        if (rows, first, owned, counted) != (report.rows, 1, report.rows, owners) or any(wrong) or misranked:
            raise PolicyError(
                f"table {self.table.name!r}: the snapshot does not hold what was declared; nothing was stored."
            )
        return replace(report, owners=owners, beyond_max_rows_per_owner=beyond)


def verified(load: Loading, table: Table, report: LoadReport) -> LoadReport:
    """The report of rows that were ranked elsewhere, read back as any others are."""
    return _Load(load, table, Owners(load, table, None), strict=False)._verify(report)
