"""The curator: declares tables and budgets, and answers those who ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.accounting.currency.currency import Currency
from dither.curator.accounts import Accounts
from dither.curator.analyst import Analyst
from dither.curator.asker import Asker
from dither.curator.budgets import Budget, BudgetView
from dither.curator.officer.oversight import Overseen
from dither.curator.principal import Principal
from dither.curator.registration import Registrar
from dither.curator.service import Service
from dither.curator.walk import Walk
from dither.engines.duckdb.sources.sources import delimited
from dither.errors import PolicyError
from dither.exact.parameters import Number
from dither.lazy import importing
from dither.policy.catalog import HOME
from dither.policy.columns import Column
from dither.policy.limits import Limits
from dither.policy.store import PolicyFile
from dither.policy.tables import Owner, private_table, public_table

if TYPE_CHECKING:
    from dither.curator.policy_files import Applied, Planned
    from dither.engines.protocol import LoadReport, Progress
    from dither.engines.routing import Engines
    from dither.engines.settings import EngineSettings
    from dither.ledger import Ledger
    from dither.policy.catalog import PublicTable, Table
    from dither.sql.planner.profile import Profile


class Curator(Asker, Overseen):
    """Stands between tables about people and those who ask about them. All state lives in one folder.

    Everything it answers is private for owners: all rows of one owner, in every table of its people, added or removed.
    """

    def __init__(self, ledger: Ledger, engine: Engines, policy: PolicyFile) -> None:
        self._ledger, self._policy, self._accounts = ledger, policy, Accounts(ledger)
        self._walk = Walk(ledger, engine, policy)
        super().__init__(Service(ledger, self._walk), Principal.curator())

    @property
    def _engine(self) -> Engines:
        """The one that the walk uses; an audit puts one in its place that listens."""
        return self._walk._engine

    @_engine.setter
    def _engine(self, engine: Engines) -> None:
        self._walk._engine = engine

    @property
    def _registrar(self) -> Registrar:
        return Registrar(self._policy, self._engine, self._ledger)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        create: bool | None = None,
        anchor: str | Path | None = None,
        ledger: str | None = None,
        weak_anchor: bool = False,
        engines: Mapping[str, EngineSettings] | None = None,
    ) -> Curator:
        """Open the curator's folder, or make it, which a warning says; create=True makes it silently, False refuses.

        An anchor kept elsewhere detects a ledger restored from a backup. A new folder may have its ledger in a
        PostgreSQL database (postgresql://HOST/DATABASE), which it remembers, and an anchor in another cluster's.
        Engines beside DuckDB are named here when tables are first put on them: engines={"postgres": ...}.
        """
        with importing():
            from dither.curator.folders import open_engines, open_ledger

        path = Path(folder)
        opened = open_ledger(path, create=create, anchor=anchor, ledger=ledger, weak_anchor=weak_anchor)
        policy = PolicyFile(path)
        return cls(opened, open_engines(policy, engines), policy)

    def people(self, name: str, *, budget: Budget, oversubscribe: bool = False) -> None:
        """Name an id-space. It has one budget, for good, for all tables that tell about these people.

        Caps of analysts are reserved of it. With `oversubscribe` they may together exceed it: then what one analyst may
        ask depends on what others have spent, and shows it.
        """
        self._accounts.open(name, None, budget, oversubscribe=oversubscribe)

    def register(
        self,
        name: str,
        source: Any,
        *,
        owner: Owner,
        max_rows_per_owner: int | None = None,
        max_rows: int | None = None,
        max_rows_per_owner_in: Mapping[str, int] | None = None,
        max_values_per_owner: Mapping[str, int] | None = None,
        columns: Mapping[str, Column],
        key: str | Iterable[str] = (),
        people: str | None = None,
        budget: Budget | None = None,
        engine: str = HOME,
        delimiter: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> LoadReport:
        """Load a table into a protected snapshot. Without people=, budget= makes people named after the table.

        The owner of a row is in a column, or where a dt.ForeignKey leads, or with dt.EACH_ROW each row is its own and
        max_rows_per_owner is 1. No owner keeps two rows with the same values in all columns of `key`. With
        max_rows_per_owner_in={"day": 1} an owner keeps one row of each day, with max_values_per_owner={"region": 1} the
        rows of one region, which makes questions by day or by region err by less. A source with more than `max_rows`
        rows is refused, and by it questions that would take too much are. The fields of a CSV file are separated by
        commas, or by `delimiter`. Tables that are joined are on one `engine`.
        If the load fails, nothing is left behind: no table, no snapshot, no people.
        """
        if (people is None) == (budget is None):
            raise PolicyError(
                "give people=, whose budget pays for this table, or budget= to make people named after it."
            )
        structure = {"max_rows_per_owner_in": max_rows_per_owner_in, "max_values_per_owner": max_values_per_owner}
        table = private_table(name, people or name, owner, max_rows_per_owner, columns, key, max_rows, **structure)
        opening = self._accounts.opening(table.people, budget)
        read, table = delimited(source, delimiter), replace(table, engine=engine)
        return self._registrar.register(table, read, strict=strict, progress=progress, opening=opening)

    def register_public(
        self,
        name: str,
        source: Any,
        *,
        columns: Mapping[str, Column],
        key: str | Iterable[str],
        max_rows: int | None = None,
        delimiter: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> LoadReport:
        """Load a table that tells about nobody: no people, no budget. No two of its rows may have the same `key`."""
        table = public_table(name, columns, key, max_rows)
        return self._registrar.register(table, delimited(source, delimiter), strict=strict, progress=progress)

    def plan(self, path: str | Path) -> Planned:
        """What a policy file would do if it were applied with a reason; nothing is changed."""
        from dither.curator.policy_files import planned, read_policy

        return planned(self, read_policy(path), self._accounts.granted(), self.officer)

    def apply(
        self,
        path: str | Path,
        *,
        reason: str | None = None,
        key: str | Path | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> Applied:
        """Make what a policy file (TOML or YAML) declares and is not there yet; refuses what differs from it.

        With a reason, budgets that it states otherwise are changed; to raise any, with the file of the officer's key.
        """
        from dither.curator.policy_files import Changing, apply, read_policy

        changing = None if reason is None else Changing(self.officer, reason, key)
        granted = self._accounts.granted()
        return apply(self, read_policy(path), granted, strict=strict, progress=progress, changing=changing)

    def refresh(
        self,
        name: str,
        source: Any,
        *,
        delimiter: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> LoadReport:
        """Replace a table's data; the declaration and the budget stay."""
        return self._registrar.refresh(name, delimited(source, delimiter), strict=strict, progress=progress)

    def copy(self, name: str, *, to: str, progress: Progress | None = None) -> list[str]:
        """Move a table to another engine, with all that foreign keys tie to it; answers stay paid for. Their names."""
        return self._registrar.copy(name, to, progress=progress)

    def drop(self, name: str) -> None:
        """Forget a table and delete its snapshot; what was spent stays spent."""
        self._registrar.drop(name)

    def analyst(self, name: str, *, budget: Budget | None = None, people: str | None = None) -> Analyst:
        """Someone who asks. With a budget the analyst is made, and that much of the people's own budget reserved.

        A cap is of the same kind as the people's budget. Without one, the analyst must have been made before.
        """
        from dither.ledger.names import canonical_name

        known_as = canonical_name(name, "analyst")
        if budget is not None:
            self._accounts.open(people or self._accounts.only_people(), known_as, budget)
        elif people is not None:
            self._accounts.budget(people, known_as)
        self._accounts.check_analyst(known_as)
        return Analyst(self._service, Principal.analyst(known_as))

    def limits(self, limits: Limits | None = None) -> Limits:
        """What one question may take; with an argument, change it from the next question on."""
        return self._policy.read().limits if limits is None else self._registrar.limit(limits)

    def schema(self, name: str | None = None) -> str:
        """What may stand before the name of any table: `public`, or the name that is given here."""
        return self._policy.read().schema if name is None else self._registrar.call_schema(name)

    def profile(self, table: str, *, share: Number = "0.02", columns: Iterable[str] | None = None) -> Profile:
        """Spend a share of the people's whole budget on noisy histograms of a table's owners.

        They tell how many rows owners have and, of `columns` of numbers, what their values and totals are, so that
        later intervals are shorter: it is certified how much fewer rows or tighter bounds leave out. It is charged
        once: asking again for the same share of the same columns, or for less, costs nothing. If it does not fit into
        what is left, nothing is.
        """
        from dither.curator.profiling import Asked
        from dither.curator.recall import check_fits, settled

        known = self._policy.catalog().table(table)
        if not self._engine.stores(known):
            raise PolicyError(f"table {known.name!r} is live: its rows change, and a profile is of one snapshot alone.")
        currency = Currency.of(self._accounts.budget(known.people))
        asked, find = Asked.of(known, currency, share, columns), partial(settled, self._ledger)
        with self._policy.shared():
            catalog = self._policy.catalog()
            priced = [(part.priced(catalog, currency), part.request) for part, _ in asked.parts(find)]
            check_fits(self._accounts, {"share": str(share)}, priced)
        for place in range(len(priced)):
            part, _ = asked.parts(find)[place]
            self._walk.answer(None, lambda part=part: part.priced(self._policy.catalog(), currency), part.request)  # type: ignore[misc]
        return self.profiled(table)

    def tables(self, analyst: str | None = None) -> list[Table | PublicTable]:
        """The declarations of all tables, or of those about which an analyst may ask."""
        return self._service.tables(self._known(analyst))

    def profiled(self, table: str, analyst: str | None = None) -> Profile:
        """The profile that was made of a table's current snapshot."""
        return self._service.profile(self._known(analyst), table)

    def budget(self, people: str | None = None, analyst: str | None = None) -> BudgetView:
        """What an account was granted, has spent and has left; `people` may be left out where there are no others."""
        return self._service.budget(self._known(analyst), people)

    def plot_budget(self, people: str, analyst: str | None = None) -> Any:
        """An altair chart of what was spent of an account, question by question and by whom."""
        from dither.curator.pictures.budget_over_time import budget_chart

        return budget_chart(self._ledger.entries(), self.budget(people, analyst), people, analyst)

    def warm(self) -> None:
        """Start a worker, so that the first question does not wait for one."""
        self._engine.warm()

    def charge_ahead(self, times: int, computing: Callable[[str | None], AbstractContextManager[object]]) -> None:
        """Charge so many times more questions at once than there are workers, so that they share durable commits.

        For servers, where each question has a request id: what waits for a worker is charged already, and if the
        process dies it is answered under that id. Servers keep the ids of free repeats themselves. Whoever asks reads
        and prices within a turn of `computing`.
        """
        self._engine.charge_ahead(times)
        self._walk.repeats, self._walk.computing = None, computing

    def close(self) -> None:
        self._engine.close()
        self._ledger.close()

    def _known(self, analyst: str | None) -> Principal:
        """The analyst of that name, or the curator. Who asks here is the curator, so that it may be said who is not."""
        if analyst is None:
            return self._principal
        self._accounts.check_analyst(analyst)
        return Principal.analyst(analyst)

    def __repr__(self) -> str:
        return f"<Curator of {', '.join(table.name for table in self.tables()) or 'no tables'}>"

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
