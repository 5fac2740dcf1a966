"""Those who ask: each under a name of its own, within a cap that the curator set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.budgets import BudgetView
    from dither.ledger import Entry
    from dither.parameters import Number
    from dither.sql.catalog import PublicTable, Table
    from dither.sql.explain import Explanation
    from dither.sql.planner.profile import Profile
    from dither.walk import Walk


class Analyst:
    """Asks questions in one name. Repeating a question that this analyst has paid for is free."""

    def __init__(self, walk: Walk, name: str) -> None:
        self._walk, self.name = walk, name

    def __repr__(self) -> str:
        return f"<Analyst {self.name}>"

    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        delta: Number | None = None,
        confidence: Number = "0.95",
        request: str | None = None,
        dialect: str | None = None,
        rows_per_owner: int | None = None,
        adjust: bool = True,
    ) -> Answer:
        """Answer a question; its price is charged to the people and to this analyst before any data are read."""
        stated = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta, "rows_per_owner": rows_per_owner}
        stated["adjust"] = adjust
        return self._walk._ask(self.name, text, confidence, request, dialect, **stated)

    def explain(self, text: str, **stated: Any) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        return self._walk._explain(self.name, text, **stated)

    def tables(self) -> list[Table | PublicTable]:
        """What can be asked about: declarations only."""
        return self._walk.tables(self.name)

    def profiled(self, table: str) -> Profile:
        """The profile that the curator made of a table's current snapshot."""
        return self._walk.profiled(table, self.name)

    def budget(self, people: str | None = None) -> BudgetView:
        """This analyst's own cap."""
        return self._walk.budget(people or self._walk._accounts.only_people(self.name), self.name)

    def history(self) -> list[Entry]:
        """This analyst's own entries in the ledger, numbered by themselves: others' activity does not show."""
        own = [entry for entry in self._walk.ledger() if entry.body.get("analyst") == self.name]
        # Units name accounts by their place in the ledger, which counts what others did before.
        bodies = [{name: value for name, value in entry.body.items() if name != "units"} for entry in own]
        return [replace(entry, sequence=n, body=bodies[n - 1]) for n, entry in enumerate(own, 1)]
