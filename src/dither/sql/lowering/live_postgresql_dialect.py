"""TRUSTED. A live table of PostgreSQL as a protected relation: what a load does to records, done in the statement.

Nothing is stored, so nothing can be read back and verified: what the guard knows about a table's rows has to hold by
the way the relation is written. What cannot be written so is refused (docs/proofs/live.md).
"""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.policy.columns import Bool, Category, Coded, Column, Date, Text, Timestamp
from dither.sql.lowering.postgresql_dialect import PostgreSQL
from dither.sql.lowering.statement import OWNER, PLACE, RANK

_NUMBERS = "BETWEEN -1.8e308 AND 1.8e308"  # as far as doubles go: neither infinite nor NaN, which is above all
_SECONDS = "BETWEEN -62135596800 AND 1e15"  # since 1970, from the year 1 on
_LONGEST_OWNER = 10**6  # bytes: a text of more than 2**27 cannot be trimmed, and one of megabytes is nobody's name
_NOT_TEXT = 0xFDD0  # a code point that no text of a snapshot has


@dataclass(frozen=True)
class LivePostgreSQL(PostgreSQL):
    """PostgreSQL's SQL, over the tables of one schema that others write to."""

    schema: str = ""

    def rows(self, table: Table | PublicTable) -> str:
        """The rows that count, with owner and rank: at most `max_rows_per_owner` of each owner."""
        named = ", ".join(self._names(table := provable(table)))
        shown = f"{named}, CAST({self.name(PLACE)} AS INTEGER) AS {self.name(RANK)}"
        order = f"hash_record_extended(ROW({named}), 0), {named}"
        place = f"row_number() OVER (PARTITION BY {self.name(OWNER)} ORDER BY {order}) AS {self.name(PLACE)}"
        owned = f"SELECT {named}, {place} FROM {self.records(table)} AS owned WHERE {self.name(OWNER)} IS NOT NULL"
        return f"(SELECT {shown} FROM ({owned}) AS placed WHERE {self.name(PLACE)} <= {table.max_rows_per_owner})"

    def records(self, table: Table) -> str:
        """Every record of the table with its owner, NULL for nobody, each value made what is declared by itself."""
        columns = table.columns.items()
        read = [f"{self._owner(table)} AS {self.name(OWNER)}"]
        read += [f"{self._read(column, self.name(name))} AS {self.name(name)}" for name, column in columns]
        kept = [
            self.name(OWNER),
            *(f"{self._kept(column, self.name(name))} AS {self.name(name)}" for name, column in columns),
        ]
        return f"(SELECT {', '.join(kept)} FROM (SELECT {', '.join(read)} FROM ONLY {self.place(table)}) AS found)"

    def place(self, table: Table | PublicTable) -> str:
        """The live table: the one of the same name."""
        return f"{self.name(self.schema)}.{self.name(table.name)}"

    def _names(self, table: Table) -> list[str]:
        return [self.name(name) for name in (OWNER, *table.columns)]

    def _owner(self, table: Table) -> str:
        """As `read_owner` of a load has it: text without the blanks around it, a whole number without its decimals."""
        owner = self.name(table.owner)
        if table.owner_type == "BIGINT":
            return self.cast(owner, "BIGINT")
        text = self._text(owner)
        whole = f"regexp_replace(BTRIM({text}, {self.text(_blanks())}), '^(-?[0-9]+)[.]0*$', '\\1')"
        fits = f"OCTET_LENGTH({text}) <= {_LONGEST_OWNER} AND {_is_text(text)}"
        return f"NULLIF(CASE WHEN {fits} THEN {whole} END, '')"

    def _text(self, value: str) -> str:
        return f'({self.cast(value, "TEXT")} COLLATE "C")'

    def _read(self, column: Column, value: str) -> str:
        """A double by its shortest decimal form, exactly; an instant by seconds, exactly; anything else as it is."""
        if isinstance(column, (Text, Category)):
            return self._text(value)
        if isinstance(column, Timestamp):
            return f"EXTRACT(EPOCH FROM {value})"
        return value if isinstance(column, (Bool, Date)) else self.cast(self.cast(value, "TEXT"), "NUMERIC")

    def _kept(self, column: Column, value: str) -> str:
        """The stored form of what was read: within the declared bounds, NULL only where that is declared."""
        kept = self._coded(column, value) if isinstance(column, Coded) else self._fitting(column, value)
        default = column.stored_default
        if default is not None:
            kept = f"COALESCE({kept}, {self.text(default) if isinstance(default, str) else default})"
        return self.cast(kept, self.stored(column))

    def _fitting(self, column: Column, value: str) -> str:
        if not isinstance(column, Text):
            raise PolicyError(f"{type(column).__name__} has no stored form.")
        return f"CASE WHEN LENGTH({value}) <= {column.max_length} AND {_is_text(value)} THEN {value} END"

    def _coded(self, column: Coded, value: str) -> str:
        if isinstance(column, Bool):
            return f"CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END"
        if isinstance(column, Category):
            labels = ", ".join(map(self.text, column.values))
            return f"(array_position(ARRAY[{labels}], {value}) - 1)"
        if isinstance(column, Date):
            known = f"isfinite({value}) AND {value} >= DATE '0001-01-01'"
            return _clamped(column, known, self.cast(f"({value} - DATE '1970-01-01')", "NUMERIC"), 0)
        if isinstance(column, Timestamp):
            return _clamped(column, f"{value} {_SECONDS}", f"({value} * 1000000)", 0)
        return _clamped(column, f"{value} {_NUMBERS}", value, column.decimals)


def provable(table: Table | PublicTable) -> Table:
    """The table, if all that its declaration says of its rows holds of any rows at all that are read by `rows`."""
    if not isinstance(table, Table):
        raise PolicyError(
            f"{table.name!r} is a public table, and the question asks a live table of PostgreSQL, beside which nothing "
            "is stored. Ask about the live table alone, or have a copy of it loaded (engine='postgres' or 'duckdb')."
        )
    declared = {
        "an owner found through a foreign key": table.via is not None,
        "each row its own owner": table.row_level,
        "key=": bool(table.key),
        "max_rows=": table.max_rows is not None,
        "max_rows_per_owner_in= and max_values_per_owner=": bool(table.structure.rows_in or table.structure.values),
    }
    if wrong := [words for words, stated in declared.items() if stated]:
        raise PolicyError(
            f"table {table.name!r} is live, so nothing proves {', '.join(wrong)}: rows change after they were looked "
            "at. Leave that out, or load a copy (engine='postgres' or 'duckdb'), in which it is enforced."
        )
    return table


def _clamped(column: Coded, known: str, value: str, decimals: int) -> str:
    """The nearest of the declared values; clamped first, so that what is rounded has few digits."""
    low, high = (f"{Decimal(bound).scaleb(-decimals):f}" for bound in (column.low, column.high))
    rounded = f"ROUND(LEAST(GREATEST({value}, {low}), {high}), {decimals})"
    return f"CASE WHEN {known} THEN {rounded} * {10**decimals} END"


def _is_text(text: str) -> str:
    return f"strpos({text}, chr({_NOT_TEXT})) = 0"


@lru_cache(maxsize=1)
def _blanks() -> str:
    """Spaces and invisible characters of every script."""
    every = map(chr, range(1, sys.maxunicode + 1))
    return "".join(one for one in every if one.isspace() or unicodedata.category(one) in ("Zs", "Zl", "Zp", "Cc", "Cf"))
