"""What an engine is handed: SQL that dither generated, and the shape of its result."""

from __future__ import annotations

from dataclasses import dataclass

from dither.policy.catalog import PublicTable, Table
from dither.sql.plan.nodes import Key


def schema_name(table: Table | PublicTable) -> str:
    """What generated SQL calls the place where a table's snapshot, the table `rows`, is found."""
    return f"t_{table.name.lower()}"


OWNER, RANK = "_owner", "_rank"  # the columns of a snapshot beside those declared
PLACE = "_place"  # of a row among its owner's, or of a candidate
CANDIDATES = "_candidates"  # what `TwoSteps.measures` calls a table of keys k0.. and the place of each


@dataclass(frozen=True)
class TwoSteps:
    """A statement by keys from the data in two steps, for selections that only few keys come near to pass.

    `bounds`: the keys, and in m0 a number that the first measure does not exceed, which is quick to find. `measures`:
    those of the candidates alone; k0 is the place of a candidate.
    """

    bounds: str
    measures: str


@dataclass(frozen=True)
class Statement:
    """Generated SQL over snapshots. Result columns: k0.. the keys (codes, texts or NULL), then m0.. the measures.

    A histogram has the values that choices are made from in v, and in m0 how often each occurs in its group.
    `steps` are another way to the same result, where it may be a quicker one.
    """

    tables: tuple[Table | PublicTable, ...]
    sql: str
    keys: tuple[Key, ...]
    measures: int
    histogram: bool = False
    steps: TwoSteps | None = None

    @property
    def public(self) -> bool:
        """Whether the groups are known beforehand, so that the result is dense."""
        return all(key.public for key in self.keys)
