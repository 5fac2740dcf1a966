"""The walk of a question, from SQL text to an answer that was paid for.

read -> price -> a place and the shared lock -> reserve (durable) -> a worker -> exact aggregates (sealed) -> noise
-> settle (durable), at its time -> show what was stored
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dither.accounting.currency.currency import Currency
from dither.answer.privacy import bought
from dither.curator.accounts import Accounts
from dither.curator.catalogs import Catalogs
from dither.curator.repeats import Repeats
from dither.curator.request_options import EACH, OVER_GROUPS, over_groups_of
from dither.curator.time_grid import Clock, Release, doubled, release_of, turn
from dither.errors import BudgetExceeded, PolicyError, QueryFailed
from dither.exact.parameters import Number, probability
from dither.lazy import importing
from dither.policy.store import PolicyFile
from dither.sql.binding.reading import Readings

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.engines.routing import Engines
    from dither.ledger import Ledger, Reservation
    from dither.sql.plan.question import Question
    from dither.sql.pricing.explanation import Explanation
    from dither.sql.pricing.price import PricedQuestion


class Walk:
    """The steps from a text to its answer, for whoever pays: an analyst by name, or None for the curator."""

    def __init__(self, ledger: Ledger, engine: Engines, policy: PolicyFile, clock: Clock | None = None) -> None:
        self._ledger, self._engine, self._policy, self._clock = ledger, engine, policy, clock or Clock()
        self._accounts, self._readings = Accounts(ledger), Readings()
        self.catalogs = Catalogs(policy, self._accounts)
        self.repeats: Repeats | None = Repeats(policy.folder, ledger)  # None where a server keeps the ids
        self.computing: Callable[[str | None], AbstractContextManager[object]] = lambda analyst: nullcontext()

    def ask(
        self,
        analyst: str | None,
        text: str,
        *,
        confidence: Number = "0.95",
        coverage: str = EACH,
        request: str | None = None,
        dialect: str | None = None,
        **stated: Any,
    ) -> Answer:
        """The whole walk."""
        with importing():
            from dither.curator.present import present

        level, over_groups = probability(confidence, "confidence"), over_groups_of(coverage)
        self._engine.warm()
        named = {"dialect": dialect, "confidence": level, "over_groups": over_groups, **stated}
        priced, stored, charged = self.answer(analyst, partial(self.price, text, analyst, **named), request, text)
        ways: dict[str, Any] = {"rows_per_owner": stated.get("rows_per_owner"), "over_groups": over_groups}
        with self.computing(analyst):
            shown = present(priced.question, stored, level, charged=charged, **ways)
        return replace(shown, bought=(bought(shown.price, self._accounts.budget(priced.question.people)),))

    def explain(self, analyst: str | None, text: str, **stated: Any) -> Explanation:
        """The walk up to the price; whether that would fit is said too."""
        from dither.curator.recall import few_owners
        from dither.ledger import Charge
        from dither.sql.pricing.explain import explain

        confidence = probability(stated.pop("confidence", "0.95"), "confidence")
        over_groups = over_groups_of(stated.pop("coverage", EACH))
        priced = self.price(text, analyst, confidence=confidence, over_groups=over_groups, **stated)
        explanation, people = explain(priced, confidence), priced.question.people
        notes = explanation.content["notes"]
        notes += [*few_owners(self._ledger, priced), *([OVER_GROUPS] if over_groups and priced.question.keys else [])]
        if not self._ledger.fits(people, analyst, Charge(priced.price.cost, priced.price.delta)):
            left = self._accounts.view(people, analyst).free.shown(up=False)
            notes.append(f"This costs more than is left ({left}); only a repeat would be answered.")
        return explanation

    def price(
        self, text: str, analyst: str | None = None, *, dialect: str | None = None, **stated: Any
    ) -> PricedQuestion:
        """What the text asks, planned and priced from declarations and noisy profiles alone."""
        with importing():
            import flint  # noqa: F401 - what a price buys is computed with balls

        question = self.read(analyst, text, dialect)
        if stated.pop("delta_for_keys", False) and question.public:
            stated["delta"] = None
        return self.price_question(question, analyst, **stated)

    def read(self, analyst: str | None, text: str, dialect: str | None = None) -> Question:
        with self.computing(analyst):
            return self._readings.read(analyst, text, self.catalogs.of(analyst), dialect=dialect)

    def price_question(self, question: Question, analyst: str | None, **stated: Any) -> PricedQuestion:
        """The same for a question that was read already."""
        with importing():
            from dither.curator.recall import profile_for
            from dither.sql.admission.gate import admit
            from dither.sql.pricing.price import price

        self._accounts.budget(question.people, analyst)  # refuses an analyst whom the curator gave no cap there
        currency = Currency.of(self._accounts.budget(question.people))
        with self.computing(analyst):
            priced = price(question, currency, profile=profile_for(self._ledger, question), **stated)
            admit(priced, self._policy.read().limits, self._engine.dialect_of(question.engine))
        return priced

    def answer(
        self, analyst: str | None, pricing: Callable[[], PricedQuestion], request: str | None, text: str | None = None
    ) -> tuple[PricedQuestion, bytes, bool]:
        """The question as priced, its stored release, paid for already or fresh, and whether it was charged now."""
        asked = self._clock.now()
        while True:
            declared = self._policy.read()
            question, priced, stored = self._recalled(analyst, pricing(), request)
            if stored is not None:
                return priced, stored, False
            due = release_of(priced, declared.limits)
            with turn(self._engine, self._policy, analyst, priced.question.engine, due):
                if self._policy.read() == declared:  # no refresh between the price and the run
                    reservation, drawn, begun = self._stored(analyst, priced, request, question, text)
                    break
        return priced, self._settled(reservation, drawn, asked, begun, due), reservation.answer is None

    def _recalled(
        self, analyst: str | None, priced: PricedQuestion, request: str | None
    ) -> tuple[str, PricedQuestion, bytes | None]:
        """What the ledger calls this question, the noise recorded for its request id, and an answer paid for before."""
        from dither.curator.recall import as_recorded, at_charge, check_labels, keeps_to, relabelled, repriced
        from dither.ledger import Charge

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
            return question, priced, relabelled(priced, answered)
        if request is not None and self.repeats is not None:
            bound = self.repeats.find(analyst, request, priced)
            if bound is not None:
                check_labels(self._ledger, replace(bound, request=request), priced)
                return bound.question, priced, bound.answer
        repeated = self._ledger.paid(people, analyst, question, snapshot, charge)
        if repeated is not None and not keeps_to(priced, repeated.answer or b""):
            question = priced.known_by_error
            repeated = self._ledger.paid(people, analyst, question, snapshot, charge)
        if repeated is not None and request is not None and self.repeats is not None:
            repeated = self.repeats.bind(analyst, request, priced, repeated)
        return question, priced, None if repeated is None else relabelled(priced, repeated)

    def _reserve(
        self,
        analyst: str | None,
        priced: PricedQuestion,
        request: str | None,
        question: str,
        text: str | None = None,
    ) -> Reservation:
        """The charge, durable; or the reservation that was made under this request id."""
        from dither.curator.recall import check_labels
        from dither.ledger import Charge

        people, charge = priced.question.people, Charge(priced.price.cost, priced.price.delta)
        asked: dict[str, Any] = {"question": question, "snapshot": priced.snapshot, "plan": priced.recipe()}
        try:
            # The time is for who reads the ledger, and decides nothing: this clock may say what it likes.
            asked |= {"request": request, "sql": text, "time": max(int(self._clock.date()), 0)}
            reservation = self._ledger.reserve(people, analyst, charge, **asked)
        except BudgetExceeded:
            raise self._accounts.refusal(people, analyst, priced.asked, charge) from None
        if reservation.answer is not None:
            check_labels(self._ledger, reservation, priced)
        return reservation

    def _stored(
        self, analyst: str | None, priced: PricedQuestion, request: str | None, question: str, text: str | None
    ) -> tuple[Reservation, bytes | None, float]:
        """Charge the question, run it and draw its noise: not settled yet, None if it failed; and when it was begun."""
        from dither.ledger import LedgerAway

        if request is None or self._ledger.requested(priced.question.people, analyst, request) is None:
            for table in priced.question.tables:
                if not self._engine.has(table, priced.question.engine):
                    # Whether a file is there is the curator's doing, not the data's; nobody should pay for its absence.
                    raise PolicyError(f"the snapshot of {table.name!r} is missing; refresh the table.")
            self._room(analyst, priced, request, question, text)
        reservation = self._reserve(analyst, priced, request, question, text)
        if reservation.answer is not None:
            return reservation, None, self._clock.now()
        with ExitStack() as held:
            try:
                held.enter_context(self._engine.slot(analyst, priced.question.engine))
            except PolicyError:  # no data decide that: the charge stands, and is answered under its request id
                raise LedgerAway("no worker process could be started to run the question.") from None
            begun = self._clock.now()
            return reservation, self._attempt(reservation, priced), begun

    def _room(
        self, analyst: str | None, priced: PricedQuestion, request: str | None, question: str, text: str | None
    ) -> None:
        """Refuse a question that may not fit, with its answer, beside those that this very analyst has stored."""
        from dither.ledger.index import recorded
        from dither.sql.admission.work import work

        limits, stored = self._policy.read().limits, self._ledger.stored_bytes(analyst)
        most = min(work(priced.aggregates, limits.max_cells).bytes, limits.max_answer_bytes)
        texts = {"question": question, "snapshot": priced.snapshot, "plan": priced.recipe()}
        most += recorded({**texts, "request": request, "sql": text})
        if stored + most > limits.max_stored_bytes:
            raise PolicyError(
                f"your stored questions and answers have {stored:,} bytes, and this one may have {most:,}; at most "
                f"{limits.max_stored_bytes:,} are kept for an analyst. Ask for fewer groups."
            )

    def _attempt(self, reservation: Reservation, priced: PricedQuestion) -> bytes | None:
        """Exact aggregates and noise; None if anything at all went wrong, which is then recorded."""
        with importing():
            from dither.curator.recall import as_planned
            from dither.curator.run import release
            from dither.engines.protocol import StatementStopped
            from dither.ledger import LedgerAway

        reason, on = None, priced.question.engine
        try:
            planned = as_planned(priced, Currency.of(self._accounts.budget(reservation.people)), reservation)
            # Another plan or no snapshot any more, after a crash, say, is the curator's doing: no data decide that, so
            # it is a failure and no incident. From the first statement on they may.
            if planned is not None and all(self._engine.has(table, on) for table in planned.question.tables):
                limits, reason = self._policy.read().limits, "failed"
                return release(planned, self._engine, limits.max_cells).within(limits.max_answer_bytes).to_bytes()
        except LedgerAway:
            raise  # no data decide that: the charge stands, and is answered under its request id
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

    def _incident(self, reservation: Reservation, reason: str) -> None:  # its end may have told one bit
        self._ledger.breaker.incident(reservation.id, reason, most=self._policy.read().limits.max_incidents)

    def _settled(
        self, reservation: Reservation, drawn: bytes | None, asked: float, begun: float, due: Release | None
    ) -> bytes:
        """Store what was drawn once it is time, and return what is stored.

        It is late if it took more than its bound once it had begun: a charge that waits for others freezes nobody.
        From the charge on every failure is the same to the analyst, and stays charged.
        """
        from dither.ledger import LedgerAway

        if reservation.answer is not None:
            return reservation.answer
        if due is not None:
            after, taken = due.after(Fraction(begun - asked)), Fraction(self._clock.now() - asked)
            if taken > after:
                with suppress(Exception):
                    self._incident(reservation, "late")
            self._clock.sleep(float(doubled(after, taken) - taken))
        if drawn is not None:
            try:
                return self._ledger.settle(reservation.id, drawn)
            except LedgerAway:
                raise
            except Exception:  # noqa: BLE001 - from the charge on every failure is the same
                pass
            with suppress(Exception):  # no incident: what was drawn is private already, and so is its size
                self._ledger.fail(reservation.id)
        with suppress(Exception):  # somebody else who ran it too, after a crash, was first: that is the answer
            answer = self._ledger.reservation(reservation.id).answer
            if answer is not None:
                return answer
        # Raised here and not where it failed: an exception remembers the one it was raised beside.
        raise QueryFailed
