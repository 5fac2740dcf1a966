"""The walk of a question, from SQL text to an answer that was paid for.

read -> price -> a worker and the shared lock -> reserve (durable) -> exact aggregates (sealed) -> noise
-> settle (durable), at its time -> show what was stored
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dither.accounting.currency import Currency
from dither.accounts import Accounts
from dither.budgets import BudgetView, taken_by_others, too_dear
from dither.declared import Tables
from dither.errors import BudgetExceeded, PolicyError, QueryFailed
from dither.grid import Clock, doubled, release_after
from dither.lazy import importing
from dither.parameters import Number, probability
from dither.policy import PolicyFile
from dither.sql.catalog import PublicTable, Table
from dither.sql.read import Readings

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.engines.protocol import Engine
    from dither.ledger import Charge, Entry, Ledger, Reservation
    from dither.sql.explain import Explanation
    from dither.sql.planner.profile import Profile
    from dither.sql.price import PricedQuestion
    from dither.sql.question import Question


class Walk:
    """Answers questions about the tables of one folder: what may be asked, and the steps from a text to its answer."""

    def __init__(self, ledger: Ledger, engine: Engine, policy: PolicyFile, clock: Clock | None = None) -> None:
        self._ledger, self._engine, self._policy, self._clock = ledger, engine, policy, clock or Clock()
        self._readings = Readings()

    @property
    def _accounts(self) -> Accounts:
        return Accounts(self._ledger)

    # What anybody asks

    def profiled(self, table: str, analyst: str | None = None) -> Profile:
        """The profile that was made of a table's current snapshot: noisy and paid for, so all who ask may see it."""
        known = self._policy.catalog().table(table)
        self._accounts.budget(known.people, analyst)
        found = self._profile(known, None)
        if found is None:
            raise PolicyError(f"table {known.name!r} has no profile of its current data; make one with profile().")
        return found

    def tables(self, analyst: str | None = None) -> list[Table | PublicTable]:
        """The declarations of all tables, or of those about which an analyst may ask."""
        declared = self._policy.read()
        people = None if analyst is None else self._accounts.people_of(analyst)
        private = [table for table in declared.tables.values() if people is None or table.people in people]
        return Tables([*private, *declared.public.values()])

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
        return self._accounts.view(people, analyst)

    def ledger(self) -> Iterator[Entry]:
        """Every entry of the ledger, in order."""
        return self._ledger.entries()

    # The steps

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
        self._engine.warm()
        pricing = partial(self._price, text, analyst, dialect=dialect, confidence=level, **stated)
        priced, stored, charged = self._answer(analyst, pricing, request)
        return present(priced.question, stored, level, charged=charged)

    def _explain(self, analyst: str | None, text: str, **stated: Any) -> Explanation:
        from dither.ledger import Charge
        from dither.sql.explain import explain

        confidence = probability(stated.pop("confidence", "0.95"), "confidence")
        priced = self._price(text, analyst, confidence=confidence, **stated)
        explanation, people = explain(priced, confidence), priced.question.people
        if not self._ledger.fits(people, analyst, Charge(priced.price.cost, priced.price.delta)):
            left = self._accounts.view(people, analyst).free.shown(up=False)
            short = f"This costs more than is left ({left}); only a repeat would be answered."
            explanation.content["notes"].append(short)
        return explanation

    def _price(
        self, text: str, analyst: str | None = None, *, dialect: str | None = None, **stated: Any
    ) -> PricedQuestion:
        with importing():
            import flint  # noqa: F401 - what a price buys is computed with balls

            from dither.sql.admission import admit
            from dither.sql.price import price

        question = self._readings.read(analyst, text, self._policy.catalog(), dialect=dialect)
        self._accounts.budget(question.people, analyst)  # refuses an analyst whom the curator gave no cap there
        private = [table for table in question.tables if isinstance(table, Table)]
        profile = self._profile_for(question, private)
        priced = price(question, Currency.of(self._accounts.budget(question.people)), profile=profile, **stated)
        admit(priced, self._policy.read().limits, self._engine.dialect)
        return priced

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

    def _fits(self, asked: dict[str, str], several: Sequence[tuple[PricedQuestion, str]]) -> None:
        """Refuse questions that are asked one after the other if what is still to pay of them exceeds what is left."""
        from dither.ledger import Charge

        people, cost, delta = several[0][0].question.people, Fraction(0), Fraction(0)
        for priced, request in several:
            charge = Charge(priced.price.cost, priced.price.delta)
            stored = self._ledger.find(people, None, priced.known_as, priced.snapshot, charge)
            if stored is None and self._ledger.requested(people, None, request) is None:
                cost, delta = cost + charge.cost, delta + charge.delta
        if not self._ledger.fits(people, None, Charge(cost, delta)):
            raise self._refusal(people, None, asked, Charge(cost, delta))

    def _refusal(self, people: str, analyst: str | None, asked: dict[str, str], charge: Charge) -> BudgetExceeded:
        """In the terms of whoever asks: an analyst hears of the own cap alone."""
        if analyst is not None and self._ledger.fits(people, analyst, charge):
            return taken_by_others(asked, charge)
        whose = "the people's budget" if analyst is None else "this analyst's own cap"
        return too_dear(asked, charge, self._accounts.view(people, analyst), whose)

    def _answer(
        self, analyst: str | None, pricing: Callable[[], PricedQuestion], request: str | None
    ) -> tuple[PricedQuestion, bytes, bool]:
        """The question as priced, its stored release, paid for already or fresh, and whether it was charged now."""
        asked = self._clock.now()
        while True:
            declared = self._policy.read()
            question, priced, stored = self._recalled(analyst, pricing(), request)
            if stored is not None:
                return priced, stored, False
            after = release_after(priced, declared.limits)
            # In this order: whoever waits for a worker holds up no refresh, and nobody who pays waits for one.
            with self._engine.slot(analyst), self._policy.steady():
                begun = self._clock.now()
                if self._policy.read() == declared:  # no refresh between the price and the run
                    reservation, drawn = self._stored(analyst, priced, request, question)
                    break
        return priced, self._settled(reservation, drawn, asked, begun, after), reservation.answer is None

    def _recalled(
        self, analyst: str | None, priced: PricedQuestion, request: str | None
    ) -> tuple[str, PricedQuestion, bytes | None]:
        """What the ledger calls this question, the noise recorded for its request id, and an answer paid for before."""
        from dither.ledger import Charge
        from dither.recall import as_recorded, at_charge, keeps_to, repriced

        people, charge = priced.question.people, Charge(priced.price.cost, priced.price.delta)
        question, snapshot = priced.known_as, priced.snapshot
        known = None if request is None else self._ledger.requested(people, analyst, request)
        if known is not None:
            if known.question == priced.known_by_error:
                question = known.question
            if known.question == question and known.charge.delta != charge.delta:
                priced = as_recorded(priced, Currency.of(self._accounts.budget(people)), known)
            if known.question == question and repriced(priced, known):
                if priced.price.cost > known.charge.cost:
                    self._ledger.fail(known.id)
                priced = at_charge(priced, known)
            answered = self._reserve(analyst, priced, request, question) if known.state == "settled" else known
            return question, priced, answered.answer
        repeated = self._ledger.find(people, analyst, question, snapshot, charge)
        if repeated is not None and not keeps_to(priced, repeated):
            question = priced.known_by_error
            repeated = self._ledger.find(people, analyst, question, snapshot, charge)
        return question, priced, repeated

    def _reserve(self, analyst: str | None, priced: PricedQuestion, request: str | None, question: str) -> Reservation:
        """The charge, durable; or the reservation that was made under this request id."""
        from dither.ledger import Charge
        from dither.recall import check_labels

        people, charge = priced.question.people, Charge(priced.price.cost, priced.price.delta)
        snapshot, plan = priced.snapshot, priced.recipe()
        try:
            reservation = self._ledger.reserve(
                people, analyst, charge, question=question, snapshot=snapshot, plan=plan, request=request
            )
        except BudgetExceeded:
            raise self._refusal(people, analyst, priced.asked, charge) from None
        if reservation.answer is not None:
            check_labels(self._ledger, reservation, priced)
        return reservation

    def _stored(
        self, analyst: str | None, priced: PricedQuestion, request: str | None, question: str
    ) -> tuple[Reservation, bytes | None]:
        """Charge the question, run it and draw its noise; what was drawn is not settled yet, and None if it failed."""
        if request is None or self._ledger.requested(priced.question.people, analyst, request) is None:
            for table in priced.question.tables:
                if not self._engine.has(table):
                    # Whether a file is there is the curator's doing, not the data's; nobody should pay for its absence.
                    raise PolicyError(f"the snapshot of {table.name!r} is missing; refresh the table.")
            self._room(analyst, priced, request, question)
        reservation = self._reserve(analyst, priced, request, question)
        return reservation, None if reservation.answer is not None else self._attempt(reservation, priced)

    def _room(self, analyst: str | None, priced: PricedQuestion, request: str | None, question: str) -> None:
        """Refuse a question that may not fit, with its answer, beside those that this very analyst has stored."""
        from dither.ledger.index import recorded
        from dither.sql.work import work

        limits, stored = self._policy.read().limits, self._ledger.stored_bytes(analyst)
        most = min(work(priced.aggregates, limits.max_cells).bytes, limits.max_answer_bytes)
        texts = {"question": question, "snapshot": priced.snapshot, "plan": priced.recipe(), "request": request}
        most += recorded(texts)
        if stored + most > limits.max_stored_bytes:
            raise PolicyError(
                f"your stored questions and answers have {stored:,} bytes, and this one may have {most:,}; at most "
                f"{limits.max_stored_bytes:,} are kept for an analyst. Ask for fewer groups."
            )

    def _attempt(self, reservation: Reservation, priced: PricedQuestion) -> bytes | None:
        """Exact aggregates and noise; None if anything at all went wrong, which is then recorded."""
        with importing():
            from dither.engines.protocol import StatementStopped
            from dither.recall import as_planned
            from dither.release import release

        reason = None
        try:
            planned = as_planned(priced, Currency.of(self._accounts.budget(reservation.people)), reservation)
            # Another plan or no snapshot any more, after a crash, say, is the curator's doing: no data decide that, so
            # it is a failure and no incident. From the first statement on they may.
            if planned is not None and all(self._engine.has(table) for table in planned.question.tables):
                limits, reason = self._policy.read().limits, "failed"
                return release(planned, self._engine, limits.max_cells).within(limits.max_answer_bytes).to_bytes()
        except StatementStopped:
            reason = "stopped"
        except Exception:  # noqa: BLE001 - whatever goes wrong may depend on data, so nothing about it is told
            pass
        with suppress(Exception):  # a ledger that cannot even be told keeps the charge, and says so to the next caller
            if reason is None:
                self._ledger.fail(reservation.id)
            else:
                self._incident(reservation, reason)
        return None

    def _incident(self, reservation: Reservation, reason: str) -> None:
        """Its end may have told one bit; after some of them the people are frozen."""
        self._ledger.breaker.incident(reservation.id, reason, most=self._policy.read().limits.max_incidents)

    def _settled(
        self, reservation: Reservation, drawn: bytes | None, asked: float, begun: float, after: Fraction | None
    ) -> bytes:
        """Store what was drawn once it is time, and return what is stored.

        It is late if it took more than its bound since it had a worker: that one has to start, or that others keep all
        of them busy, must not freeze the people. From the charge on every failure is the same to the analyst, and
        stays charged.
        """
        if reservation.answer is not None:
            return reservation.answer
        if after is not None:
            now = self._clock.now()
            taken = Fraction(now - asked)
            if Fraction(now - begun) > after:
                with suppress(Exception):
                    self._incident(reservation, "late")
            self._clock.sleep(float(doubled(after, taken) - taken))
        if drawn is not None:
            with suppress(Exception):
                return self._ledger.settle(reservation.id, drawn)
            with suppress(Exception):  # no incident: what was drawn is private already, and so is its size
                self._ledger.fail(reservation.id)
        # Raised here and not where it failed: an exception remembers the one it was raised beside.
        raise QueryFailed
