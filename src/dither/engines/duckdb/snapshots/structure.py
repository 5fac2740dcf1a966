"""Enforces declared structure before rows are ranked, so that it is true of the snapshot whatever the source holds.

Which rows and which values of an owner are kept follows from a keyed hash of that owner's own rows and values: nobody
else's change with an owner, with the order of a file or with the number of threads. Leaving out more rows breaks none
of these limits, so they are enforced one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from dither.engines.duckdb.snapshots.loading import ROWS, Loading
from dither.engines.duckdb.snapshots.rank import among_alike, place_of_value
from dither.engines.duckdb.snapshots.sanitising import quoted
from dither.policy.catalog import Table


@dataclass(frozen=True)
class Kept:
    """`relation`: SQL of the rows that are left. What was left out, by the column for which it was."""

    relation: str
    beyond_rows: dict[str, int]
    beyond_values: dict[str, int]

    @property
    def left_out(self) -> int:
        return sum(self.beyond_rows.values()) + sum(self.beyond_values.values())


def enforced(load: Loading, table: Table, owner_type: str, key: str, relation: str, rows: int) -> Kept:
    """What the table's structure leaves of a relation of so many rows; `key` is the folder's secret."""
    columns, kept = dict(table.columns), Kept(relation, {}, {})
    steps = [
        (kept.beyond_values, name, f"{place_of_value(owner_type, name, columns[name])} <= {most}")
        for name, most in table.structure.values.items()
    ]
    steps += [
        (kept.beyond_rows, name, f"{among_alike(owner_type, columns, (name,))} <= {most}")
        for name, most in table.structure.rows_in.items()
    ]
    for number, (counts, name, condition) in enumerate(steps):
        made, taken = f"staged_file.kept{number}", 0.4 + 0.2 * number / len(steps)
        sql = f"CREATE TABLE {made} AS SELECT * FROM {relation} QUALIFY {condition}"
        load.watch("limiting", taken, taken + 0.2 / len(steps), sql, {"key": key})
        if number:
            load.do(f"DROP TABLE {relation}")
        (left,) = load.one(f"SELECT COUNT(*) FROM {made}")
        counts[name], relation, rows = rows - left, made, left
    return Kept(relation, kept.beyond_rows, kept.beyond_values)


def broken(load: Loading, table: Table) -> int:
    """How many times the stored rows break the declared structure: read back, whatever enforced it."""
    found = 0
    for name, most in table.structure.rows_in.items():
        alike = f'SELECT 1 FROM {ROWS} GROUP BY "_owner", {quoted(name)} HAVING COUNT(*) > {most}'
        found += load.one(f"SELECT COUNT(*) FROM ({alike})")[0]
    for name, most in table.structure.values.items():
        different = f'SELECT DISTINCT "_owner", {quoted(name)} FROM {ROWS}'
        many = f'SELECT 1 FROM ({different}) GROUP BY "_owner" HAVING COUNT(*) > {most}'
        found += load.one(f"SELECT COUNT(*) FROM ({many})")[0]
    return found
