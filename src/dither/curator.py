"""The curator: the walk of a query, from SQL text to an answer that was paid for.

read -> price -> reserve (durable) -> exact aggregates (sealed) -> noise -> settle (durable) -> show what was stored
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.accounting.currency import Currency
from dither.budgets import Budget, BudgetView, budget_from, terms_of, too_dear, view
from dither.columns import Column
from dither.declared import Owner, Tables, private_table, public_table
from dither.engines.sources import delimited
from dither.errors import BudgetExceeded, PolicyError, QueryFailed
from dither.lazy import importing
from dither.parameters import Number, probability
from dither.policy import PolicyFile
from dither.registration import Registrar
from dither.sql.catalog import PublicTable, Table
from dither.sql.names import meant
from dither.sql.read import Readings

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.declarations import Applied
    from dither.engines.protocol import Engine, LoadReport, Progress
    from dither.ledger import Entry, Ledger, Reservation
    from dither.sql.explain import Explanation
    from dither.sql.planner.profile import Profile
    from dither.sql.price import PricedQuestion
    from dither.sql.question import Question


class Curator:
    """Stands between tables about people and those who ask about them. All state lives in one folder.

    Everything it answers is private for owners: all rows of one owner, in every table of its people, added or removed.
    """

    def __init__(self, ledger: Ledger, engine: Engine, policy: PolicyFile) -> None:
        self._ledger, self._engine, self._policy = ledger, engine, policy
        self._readings = Readings()

    @property
    def _registrar(self) -> Registrar:
        return Registrar(self._policy, self._engine, self._ledger)

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = True, anchor: str | Path | None = None) -> Curator:
        """Open the curator's folder, or make it. An anchor kept elsewhere detects a ledger restored from a backup."""
        with importing():
            from dither.engines.duckdb import DuckDBEngine
            from dither.ledger import Ledger

        path = Path(folder)
        if path.is_dir() and any(path.iterdir()) and not (path / "ledger.sqlite").exists():
            raise PolicyError(f"{path} is not empty and holds no ledger; name a new folder for the curator.")
        ledger = Ledger.open(path, anchor=anchor, create=create)
        return cls(ledger, DuckDBEngine(path / "snapshots"), PolicyFile(path))

    # What the curator declares

    def people(self, name: str, *, budget: Budget) -> None:
        """Name an id-space. It has one budget, for good, for all tables that tell about these people."""
        self._ledger.open_account(name, None, **_terms(budget))

    def register(
        self,
        name: str,
        source: Any,
        *,
        owner: Owner,
        max_rows_per_owner: int | None = None,
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
        max_rows_per_owner is 1. No owner keeps two rows with the same values in all columns of `key`. The fields of a
        CSV file are separated by commas, or by `delimiter`.
        If the load fails, nothing is left behind: no table, no snapshot, no people.
        """
        if (people is None) == (budget is None):
            raise PolicyError(
                "give people=, whose budget pays for this table, or budget= to make people named after it."
            )
        table = private_table(name, people or name, owner, max_rows_per_owner, columns, key)
        if budget is None:
            self._known_people(table.people)
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
        delimiter: str | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> LoadReport:
        """Load a table that tells about nobody: no people, no budget. No two of its rows may have the same `key`."""
        table = public_table(name, columns, key)
        return self._registrar.register(table, delimited(source, delimiter), strict=strict, progress=progress)

    def apply(self, path: str | Path, *, strict: bool = False, progress: Progress | None = None) -> Applied:
        """Make what a policy file (TOML or YAML) declares and is not there yet; refuses what differs from it."""
        from dither.declarations import apply, read_policy

        granted = {account: self._budget(*account) for account in self._ledger.accounts()}
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
        """Someone who asks. A budget caps what this analyst may spend of the people's own, and is of the same kind."""
        from dither.ledger.names import canonical_name

        known_as = canonical_name(name, "analyst")
        if budget is not None:
            whose = people or self._only_people()
            self._ledger.open_account(whose, known_as, **_terms(budget))
        return Analyst(self, known_as)

    def profile(self, table: str, *, share: Number = "0.02", columns: Iterable[str] | None = None) -> Profile:
        """Spend a share of the people's whole budget on noisy facts about a table that better plans follow from.

        How many rows owners have, in powers of two, and quantiles of numbers (of `columns`, or of all). It is charged
        once: asking again for the same share, or for less, costs nothing.
        """
        from dither.profile import parts

        known = self._policy.catalog().table(table)
        currency = Currency.of(self._budget(known.people))
        for part in parts(known, currency, share, columns):
            with self._policy.steady():
                self._stored(None, part.priced(self._policy.catalog(), currency), part.request)
        return self.profiled(table)

    # What anybody asks

    def profiled(self, table: str) -> Profile:
        """The profile that was made of a table's current snapshot: noisy and paid for, so anybody may see it."""
        known = self._policy.catalog().table(table)
        found = self._profile(known, None)
        if found is None:
            raise PolicyError(f"table {known.name!r} has no profile of its current data; make one with profile().")
        return found

    def tables(self) -> list[Table | PublicTable]:
        """The declarations of all tables."""
        declared = self._policy.read()
        return Tables([*declared.tables.values(), *declared.public.values()])

    def explain(self, text: str, **stated: Any) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        return self._explain(None, text, **stated)

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
        """Answer a question on the people's own budget.

        The text is in PostgreSQL's dialect, or in that named by `dialect`. A request id names one charge: a retry under
        it returns the same answer and charges nothing. (A repeat that was free has no charge, so its id is still
        unused.) How many rows of each owner count is chosen by the table's profile, unless `rows_per_owner` states it.
        In place of a price, `error` states how far any number may be off, with this confidence: the least is paid.
        Counts and sums are scaled up for rows that the profile says are left out, unless `adjust` is False.
        """
        stated = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta, "rows_per_owner": rows_per_owner}
        stated["adjust"] = adjust
        return self._ask(None, text, confidence, request, dialect, **stated)

    def budget(self, people: str, analyst: str | None = None) -> BudgetView:
        """What an account was granted, has spent and has left."""
        shown = self._account(people, analyst)
        return shown if analyst is None else shown.within(self._account(people))

    def ledger(self) -> Iterator[Entry]:
        """Every entry of the ledger, in order."""
        return self._ledger.entries()

    def verify(self) -> int:
        """Check the whole ledger against its key and its anchor; the number of entries."""
        return self._ledger.verify()

    def close(self) -> None:
        self._engine.close()
        self._ledger.close()

    def __repr__(self) -> str:
        return f"<Curator of {', '.join(table.name for table in self.tables()) or 'no tables'}>"

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The walk

    def _ask(
        self,
        analyst: str | None,
        text: str,
        confidence: Number,
        request: str | None,
        dialect: str | None = None,
        **stated: Any,
    ) -> Answer:
        with importing():
            from dither.present import present

        level = probability(confidence, "confidence")
        with self._policy.steady():  # no refresh between the charge and the run
            priced = self._price(text, analyst, dialect=dialect, confidence=level, **stated)
            stored, charged = self._stored(analyst, priced, request)
        return present(priced.question, stored, level, charged=charged)

    def _explain(self, analyst: str | None, text: str, **stated: Any) -> Explanation:
        from dither.sql.explain import explain

        confidence = probability(stated.pop("confidence", "0.95"), "confidence")
        priced = self._price(text, analyst, confidence=confidence, **stated)
        explanation, people = explain(priced, confidence), priced.question.people
        accounts = [self._account(people), self._cap_of(people, analyst)]
        left = min((account.left for account in accounts if account is not None), key=lambda amount: amount.adding)
        if priced.price.cost > left.adding:
            short = f"This costs more than is left ({left.shown(up=False)}); only a repeat would be answered."
            explanation.content["notes"].append(short)
        return explanation

    def _price(
        self, text: str, analyst: str | None = None, *, dialect: str | None = None, **stated: Any
    ) -> PricedQuestion:
        with importing():
            import flint  # noqa: F401 - what a price buys is computed with balls

            from dither.sql.price import price

        question = self._readings.read(analyst, text, self._policy.catalog(), dialect=dialect)
        private = [table for table in question.tables if isinstance(table, Table)]
        profile = self._profile_for(question, private)
        return price(question, Currency.of(self._budget(question.people)), profile=profile, **stated)

    def _profile_for(self, question: Question, private: list[Table]) -> Profile | None:
        """Of the table whose rows a question limits."""
        if len(private) != 1:
            from dither.sql.planner.choose import limited_table

            name = limited_table(question)
            private = [table for table in private if table.name == name]
        return self._profile(private[0], question) if private else None

    def _profile(self, table: Table, question: Question | None) -> Profile | None:
        """What has been released about a table (of the columns that a question reads): from settled answers alone."""
        from dither.ledger import Charge
        from dither.profile import known_parts, profile_from

        stored = {
            part: self._ledger.find(table.people, None, part.label, part.snapshot, Charge(Fraction(0)))
            for part in known_parts(table, question)
        }
        return profile_from(table, {part: answer for part, answer in stored.items() if answer is not None})

    def _stored(self, analyst: str | None, priced: PricedQuestion, request: str | None) -> tuple[bytes, bool]:
        """The stored release for this question, already paid for or fresh, and whether it was charged now."""
        from dither.ledger import Charge

        people, charge = priced.question.people, Charge(priced.price.cost, priced.price.delta)
        question, snapshot, plan = priced.known_as, priced.snapshot, priced.recipe()
        if request is None or self._ledger.requested(people, analyst, request) is None:
            repeated = self._ledger.find(people, analyst, question, snapshot, charge)
            if repeated is not None:
                return repeated, False
            for table in priced.question.tables:
                if not self._engine.has(table):
                    # Whether a file is there is the curator's doing, not the data's; nobody should pay for its absence.
                    raise PolicyError(f"the snapshot of {table.name!r} is missing; refresh the table.")
        try:
            reservation = self._ledger.reserve(
                people, analyst, charge, question=question, snapshot=snapshot, plan=plan, request=request
            )
        except BudgetExceeded:
            raise too_dear(priced.asked, charge, self.budget(people), self._cap_of(people, analyst)) from None
        return self._run(reservation, priced), reservation.answer is None

    def _run(self, reservation: Reservation, priced: PricedQuestion) -> bytes:
        """From here on every failure is the same to the analyst, and stays charged."""
        if reservation.answer is not None:
            self._check_labels(reservation, priced)
            return reservation.answer
        stored = self._attempt(reservation, priced)
        if stored is None:
            # Raised here and not where it failed: an exception remembers the one it was raised beside.
            raise QueryFailed
        return stored

    def _check_labels(self, reservation: Reservation, priced: PricedQuestion) -> None:
        """Stored numbers are in the order of the keys declared then; they are never shown under other labels."""
        if reservation.snapshot == priced.snapshot:
            return
        tables = {table.name for table in priced.question.tables}
        for entry in self._ledger.entries():
            table = entry.body.get("table")
            if entry.kind == "register" and table in tables and entry.sequence > reservation.id:
                raise PolicyError(
                    f"request {reservation.request!r} was answered before table {table!r} was dropped and registered "
                    "again, perhaps declared differently; ask anew under another request id."
                )

    def _attempt(self, reservation: Reservation, priced: PricedQuestion) -> bytes | None:
        """Exact aggregates, noise, settle; None if anything at all went wrong."""
        with importing():
            from dither.release import release
            from dither.sql.price import again

        with suppress(Exception):  # whatever goes wrong may depend on data, so nothing about it is told
            if reservation.plan != priced.recipe():  # a profile may have been made since
                priced = again(priced, Currency.of(self._budget(reservation.people)), reservation.plan)
            recorded = (reservation.state, reservation.snapshot, reservation.plan)
            if recorded == ("reserved", priced.snapshot, priced.recipe()):
                return self._ledger.settle(reservation.id, release(priced, self._engine).to_bytes())
        with suppress(Exception):  # a ledger that cannot even be told keeps the charge, and says so to the next caller
            self._ledger.fail(reservation.id)
        return None

    def _budget(self, people: str, analyst: str | None = None) -> Budget:
        return budget_from(self._ledger.terms(people, analyst))

    def _account(self, people: str, analyst: str | None = None) -> BudgetView:
        return view(self._budget(people, analyst), self._ledger.balance(people, analyst), self._budget(people))

    def _cap_of(self, people: str, analyst: str | None) -> BudgetView | None:
        try:
            return None if analyst is None else self._account(people, analyst)
        except PolicyError:  # an analyst without a cap of its own
            return None

    def _known_people(self, name: str) -> None:
        known = [people for people, analyst in self._ledger.accounts() if analyst is None]
        if name not in known:
            hint = meant(name, known) or "Open their budget first."
            raise PolicyError(f"there are no people {name!r}; known are: {', '.join(known) or 'none'}. {hint}")

    def _only_people(self) -> str:
        known = [people for people, analyst in self._ledger.accounts() if analyst is None]
        if len(known) != 1:
            raise PolicyError(
                f"say whose budget the cap belongs to with people=; known are: {', '.join(known) or 'none'}."
            )
        return known[0]


class Analyst:
    """Asks questions in one name. Repeating a question that this analyst has paid for is free."""

    def __init__(self, curator: Curator, name: str) -> None:
        self._curator, self.name = curator, name

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
        return self._curator._ask(self.name, text, confidence, request, dialect, **stated)

    def explain(self, text: str, **stated: Any) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        return self._curator._explain(self.name, text, **stated)

    def tables(self) -> list[Table | PublicTable]:
        """What can be asked about: declarations only."""
        return self._curator.tables()

    def profiled(self, table: str) -> Profile:
        """The profile that the curator made of a table's current snapshot."""
        return self._curator.profiled(table)

    def budget(self, people: str | None = None) -> BudgetView:
        """This analyst's own cap."""
        return self._curator.budget(people or self._curator._only_people(), self.name)

    def history(self) -> list[Entry]:
        """This analyst's own entries in the ledger, numbered by themselves: others' activity does not show."""
        own = [entry for entry in self._curator.ledger() if entry.body.get("analyst") == self.name]
        return [replace(entry, sequence=number) for number, entry in enumerate(own, 1)]


def _terms(budget: Budget) -> dict[str, Any]:
    """A budget as the ledger opens an account for it."""
    from dither.ledger import Charge

    terms, currency = terms_of(budget), Currency.of(budget)
    return {"kind": currency.kind, "cap": Charge(currency.cap_cost, currency.cap_delta), "terms": terms}
