"""Those who ask: each under a name of its own, within a cap that the curator set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.curator.asker import Asker

if TYPE_CHECKING:
    from dither.curator.budgets import BudgetView
    from dither.ledger import Entry
    from dither.policy.catalog import PublicTable, Table
    from dither.sql.planner.profile import Profile


class Analyst(Asker):
    """Asks questions in one name. Repeating a question that this analyst has paid for is free."""

    @property
    def name(self) -> str:
        return str(self._principal.name)

    def __repr__(self) -> str:
        return f"<Analyst {self.name}>"

    def tables(self) -> list[Table | PublicTable]:
        """What can be asked about: declarations only."""
        return self._service.tables(self._principal)

    def profiled(self, table: str) -> Profile:
        """The profile that the curator made of a table's current snapshot."""
        return self._service.profile(self._principal, table)

    def budget(self, people: str | None = None) -> BudgetView:
        """This analyst's own cap."""
        return self._service.budget(self._principal, people)

    def history(self) -> list[Entry]:
        """This analyst's own entries in the ledger, numbered by themselves: others' activity does not show."""
        return list(self._service.history(self._principal))
