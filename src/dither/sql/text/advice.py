"""What to write instead, in the words of the table that was asked about. Declarations are all this looks at."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from dither.policy.catalog import MOST_GROUPS, Catalog, Table
from dither.policy.names import quoted
from dither.sql.text.source import Source


@dataclass(frozen=True)
class Advice:
    """Examples about one table; about no table in particular where none is registered."""

    table: Table | None

    @classmethod
    def about(cls, source: Source, catalog: Catalog) -> Advice:
        """Advice about the first registered table after FROM, JOIN or a comma, else about any that is registered."""
        by_name = {name.lower(): table for name, table in catalog.tables.items()}
        for before, token in zip(source.tokens, source.tokens[1:], strict=False):
            named = before.text.upper() in ("FROM", "JOIN", ",") and token.token_type != TokenType.STRING
            if named and token.text.lower() in by_name:
                return cls(by_name[token.text.lower()])
        return cls(catalog.tables[min(catalog.tables)] if catalog.tables else None)

    def fill(self, hint: str) -> str:
        """The hint with this table's names in the places of {question}, {keys} and {owner}."""
        keys = ", ".join(self._fewest(2))
        owner = "owner" if self.table is None else quoted(self.table.owner)
        return (
            hint.replace("{question}", self._question())
            .replace("{keys}", f"Name the columns: GROUP BY {keys}." if keys else "Leave GROUP BY out.")
            .replace("{owner}", owner)
        )

    @property
    def keys(self) -> list[str]:
        """The columns whose public values are few enough to be groups."""
        return list(self._counts())

    def _question(self) -> str:
        if self.table is None:
            return "SELECT COUNT(*) FROM a registered table."
        table = quoted(self.table.name)
        for key in self._fewest(1):
            return f"SELECT {key}, COUNT(*) FROM {table} WHERE ... GROUP BY {key}."
        return f"SELECT COUNT(*) FROM {table} WHERE ..."

    def _fewest(self, most: int) -> list[str]:
        """The keys with the fewest values, as they are written: the likeliest that someone would group by."""
        counts = self._counts()
        return [quoted(name) for name in sorted(counts, key=lambda name: counts[name])[:most]]

    def _counts(self) -> dict[str, int]:
        columns = {} if self.table is None else self.table.columns
        counts = {name: column.key_count for name, column in columns.items()}
        return {name: count for name, count in counts.items() if count is not None and count <= MOST_GROUPS}
