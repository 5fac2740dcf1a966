"""The curator: declares tables and budgets, and answers those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.accounting.currency.currency import Currency
from dither.curator.accounts import Accounts
from dither.curator.analyst import Analyst
from dither.curator.asker import Asker
from dither.curator.budgets import Budget, BudgetView, terms_of
from dither.curator.principal import Principal
from dither.curator.registration import Registrar
from dither.curator.service import Service
from dither.curator.walk import Walk
from dither.engines.duckdb.sources.sources import delimited
from dither.errors import PolicyError
from dither.exact.parameters import Number
from dither.lazy import importing
from dither.policy.columns import Column
from dither.policy.limits import Limits
from dither.policy.store import PolicyFile
from dither.policy.tables import Owner, private_table, public_table

if TYPE_CHECKING:
    from dither.curator.policy_files import Applied
    from dither.curator.profiling import Part
    from dither.engines.protocol import Engine, LoadReport, Progress
    from dither.ledger import Entry, Ledger
    from dither.policy.catalog import PublicTable, Table
    from dither.sql.planner.profile import Profile
    from dither.sql.pricing.price import PricedQuestion


class Curator(Asker):
    """Stands between tables about people and those who ask about them. All state lives in one folder.

    Everything it answers is private for owners: all rows of one owner, in every table of its people, added or removed.
    """

    def __init__(self, ledger: Ledger, engine: Engine, policy: PolicyFile) -> None:
        self._ledger, self._policy, self._accounts = ledger, policy, Accounts(ledger)
        self._walk = Walk(ledger, engine, policy)
        super().__init__(Service(ledger, self._walk), Principal.curator())

    @property
    def _engine(self) -> Engine:
        """The one that the walk uses; an audit puts one in its place that listens."""
        return self._walk._engine

    @_engine.setter
    def _engine(self, engine: Engine) -> None:
        self._walk._engine = engine

    @property
    def _registrar(self) -> Registrar:
        return Registrar(self._policy, self._engine, self._ledger)

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = True, anchor: str | Path | None = None) -> Curator:
        """Open the curator's folder, or make it. An anchor kept elsewhere detects a ledger restored from a backup."""
        with importing():
            from dither.engines.duckdb.engine import DuckDBEngine
            from dither.ledger import Ledger

        path = Path(folder)
        if path.is_dir() and any(path.iterdir()) and not (path / "ledger.sqlite").exists():
            raise PolicyError(f"{path} is not empty and holds no ledger; name a new folder for the curator.")
        ledger = Ledger.open(path, anchor=anchor, create=create)
        policy = PolicyFile(path)
        engine = DuckDBEngine(path / "snapshots", limits=lambda: policy.read().limits)
        return cls(ledger, engine, policy)

    # What the curator declares

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
        columns: Mapping[str, Column],
        key: str | Iterable[str] = (),
        people: str | None = None,
        budget: Budget | None = None,
        delimiter: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> LoadReport:
        """Load a table into a protected snapshot. Without people=, budget= makes people named after the table.

        The owner of a row is in a column, or where a dt.ForeignKey leads, or with dt.EACH_ROW each row is its own and
        max_rows_per_owner is 1. No owner keeps two rows with the same values in all columns of `key`. A source with
        more than `max_rows` rows is refused, and by it questions that would take too much are. The fields of a CSV file
        are separated by commas, or by `delimiter`.
        If the load fails, nothing is left behind: no table, no snapshot, no people.
        """
        if (people is None) == (budget is None):
            raise PolicyError(
                "give people=, whose budget pays for this table, or budget= to make people named after it."
            )
        table = private_table(name, people or name, owner, max_rows_per_owner, columns, key, max_rows)
        if budget is None:
            self._accounts.known(table.people)
            opening = None
        else:
            terms_of(budget)
            Currency.of(budget)
            if (table.people, None) in self._ledger.accounts():
                self.people(table.people, budget=budget)  # refuses other terms before a long load
            opening = partial(self.people, table.people, budget=budget)
        read = delimited(source, delimiter)
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

    def apply(self, path: str | Path, *, strict: bool = False, progress: Progress | None = None) -> Applied:
        """Make what a policy file (TOML or YAML) declares and is not there yet; refuses what differs from it."""
        from dither.curator.policy_files import apply, read_policy

        granted = {account: self._ledger.terms(*account) for account in self._ledger.accounts()}
        return apply(self, read_policy(path), granted, strict=strict, progress=progress)

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
        currency = Currency.of(self._accounts.budget(known.people))
        asked, find = Asked.of(known, currency, share, columns), partial(settled, self._ledger)
        with self._policy.steady():
            catalog = self._policy.catalog()
            priced = [(part.priced(catalog, currency), part.request) for part, _ in asked.parts(find)]
            check_fits(self._accounts, {"share": str(share)}, priced)
        for place in range(len(priced)):
            part, _ = asked.parts(find)[place]

            def pricing(part: Part = part) -> PricedQuestion:
                return part.priced(self._policy.catalog(), currency)

            self._walk.answer(None, pricing, part.request)
        return self.profiled(table)

    # What the curator sees

    def tables(self, analyst: str | None = None) -> list[Table | PublicTable]:
        """The declarations of all tables, or of those about which an analyst may ask."""
        return self._service.tables(self._known(analyst))

    def profiled(self, table: str, analyst: str | None = None) -> Profile:
        """The profile that was made of a table's current snapshot."""
        return self._service.profile(self._known(analyst), table)

    def budget(self, people: str, analyst: str | None = None) -> BudgetView:
        """What an account was granted, has spent and has left."""
        return self._service.budget(self._known(analyst), people)

    def ledger(self) -> Iterator[Entry]:
        """Every entry of the ledger, in order."""
        return self._service.history(self._principal)

    def freeze(self, people: str) -> None:
        """Answer nothing new about these people until they are thawed; what was paid for can still be asked again."""
        self._ledger.breaker.freeze(people)

    def thaw(self, people: str) -> None:
        """Answer questions about these people again, and count incidents from none."""
        self._ledger.breaker.thaw(people)

    def verify(self) -> int:
        """Check the whole ledger against its key and its anchor; the number of entries."""
        return self._ledger.verify()

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
