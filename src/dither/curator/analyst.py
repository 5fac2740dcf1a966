"""Those who ask: each under a name of its own, within a cap that the curator set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dither.curator.asker import Asker

if TYPE_CHECKING:
    from dither.curator.budgets import BudgetView
    from dither.curator.officer.statement import Statement
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

    def plot_budget(self, people: str) -> Any:
        """An altair chart of what this analyst has spent, question by question."""
        from dither.curator.pictures.budget_over_time import budget_chart

        return budget_chart(self._service.history(self._principal), self.budget(people), people, self.name)

    def profiled(self, table: str) -> Profile:
        """The profile that the curator made of a table's current snapshot."""
        return self._service.profile(self._principal, table)

    def budget(self, people: str | None = None) -> BudgetView:
        """This analyst's own cap."""
        return self._service.budget(self._principal, people)

    def history(self) -> Statement:
        """This analyst's own questions as a statement, numbered by themselves: others' activity does not show."""
        return self._statement()
