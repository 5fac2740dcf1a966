"""The ledger: charges are durable before data are touched, answers before they are returned."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dither.errors import BudgetExceeded, PolicyError
from dither.ledger import caps, index
from dither.ledger.answers import Answers
from dither.ledger.book import Account
from dither.ledger.breaker import Breaker
from dither.ledger.checks import (
    CURRENCIES,
    account_of,
    canonical_names,
    check_asked,
    check_cap,
    check_reserve,
    check_texts,
    does_not_fit,
    prices,
    whose,
)
from dither.ledger.history import History, Places
from dither.ledger.journal import Journal
from dither.ledger.officer.desk import Desk
from dither.ledger.officer.refusals import AccountClosed
from dither.ledger.officer.standing import check_standing
from dither.ledger.page import Page, check_row
from dither.ledger.restore import count_as_spent
from dither.ledger.storage.address import anchor_of, place_of
from dither.ledger.storage.leave import leave_now
from dither.ledger.storage.protocol import Connection, Place
from dither.ledger.units import Units, cap_units, exact_charge
from dither.ledger.values import Balance, Charge, Reservation
from dither.ledger.verify import verify_page


class Ledger(Answers, History):
    """Exactly-once charging: no budget is ever overrun, and whatever was released was charged.

    reserved -> settled with the stored answer -> returned. A charge is never given back. Any number of processes and
    threads may share a ledger.
    """

    def __init__(self, folder: Place, journal: Journal, key: bytes) -> None:
        self._folder, self._journal, self._key, self._places = folder, journal, key, Places()

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        anchor: Path | str | None = None,
        create: bool = False,
        ledger: str | None = None,
        weak_anchor: bool = False,
    ) -> Ledger:
        """The ledger of that folder, if it can be trusted; with create=True made first if there is none.

        The anchor may be kept elsewhere (`anchor=`): a folder restored from a backup is then refused even if the whole
        folder went back in time. It must then be given at every opening. With create=True, `ledger` may name a database
        of PostgreSQL (postgresql://HOST/DATABASE) to keep it in, which the folder remembers; an anchor may be in one
        too, of another cluster unless `weak_anchor`.
        """
        place = place_of(Path(folder), ledger)
        if create:
            place.prepare()
        journal, origin, key = cls._journal_of(place, anchor, weak_anchor)
        try:
            if create:
                journal.create(origin)
            cls._upgrade(journal, place)
            journal.open(origin)
        except BaseException:
            journal.close()
            raise
        return cls(place, journal, key)

    @classmethod
    def restore_anchor(cls, folder: Path | str, *, anchor: Path | str | None = None, weak_anchor: bool = False) -> None:
        """Make a new anchor for a ledger whose anchor file is lost; the curator's decision, and recorded as an event.

        The whole ledger is verified first. Charges that were cut from its end together with the anchor cannot be
        noticed: do this only for a copy known to be the newest.
        """
        place = place_of(Path(folder))
        journal, origin, _ = cls._journal_of(place, anchor, weak_anchor)
        try:
            cls._upgrade(journal, place)
            journal.restore_anchor(origin, lambda page: verify_page(page, place))
        finally:
            journal.close()
        with cls.open(folder, anchor=anchor, weak_anchor=weak_anchor) as ledger:
            ledger.record("anchor_restored", {})

    @classmethod
    def restore(cls, folder: Path | str, *, anchor: Path | str | None = None, weak_anchor: bool = False) -> None:
        """Go on with an older copy of a ledger, or with none, where its newer anchor is all that is left of the rest.

        The curator's decision, and recorded as an entry: every account has spent at least what the anchor has seen. The
        answers since the copy are lost, what it holds open ends as failed, and its people are frozen until they are
        thawed. An account that the copy does not know can only be opened again under its old terms, and has spent then
        what the anchor has seen. The key must be the ledger's own.
        """
        place = place_of(Path(folder))
        place.prepare(key=False)
        journal, origin, _ = cls._journal_of(place, anchor, weak_anchor)
        try:
            with journal.restoring(origin, *cls._older(place)) as (page, mark):
                verify_page(page, None)
                count_as_spent(page, mark)
        finally:
            journal.close()

    @staticmethod
    def _older(place: Place) -> tuple[Callable[[Connection], None], Callable[[Page], int]]:
        """How the tables of an older dither are counted and proven: answers are proven when they are returned."""
        return lambda connection: index.count_all(connection, place), lambda page: verify_page(page, None)

    @classmethod
    def _upgrade(cls, journal: Journal, place: Place) -> None:
        journal.upgrade(*cls._older(place))

    @staticmethod
    def _journal_of(place: Place, anchor: Path | str | None, weak: bool) -> tuple[Journal, str, bytes]:
        place.check()
        key = place.read_key()
        marks, origin = anchor_of(place, anchor, key, weak=weak)
        return Journal(place, key, marks), origin, key

    def open_account(
        self, people: str, analyst: str | None, *, kind: str, cap: Charge, terms: Mapping[str, str]
    ) -> None:
        """Give people, or an analyst within them, a budget for good: it is never reset, raised or removed here.

        Opening it again under the same terms changes nothing; under other terms it is refused. A cap is reserved: it
        must fit into what is neither spent nor reserved of the people's budget, unless they are oversubscribed.
        """
        people, analyst = canonical_names(people, analyst)
        if kind not in CURRENCIES:
            raise PolicyError(f"a budget is of kind {', '.join(CURRENCIES)}; got {kind!r}.")
        if kind == "pure" and cap.delta:
            raise PolicyError("a pure budget has no delta; use an approximate one.")
        limit = cap_units(cap)
        check_texts(terms, "terms")
        with self._journal.writing() as page:
            known = page.book.accounts.get((people, analyst))
            if known is not None:
                if (known.kind, known.cap_now, dict(known.terms_in_force)) != (kind, cap, dict(terms)):
                    has = f"already has a budget under other terms: {dict(known.terms_in_force)}."
                    raise PolicyError(f"{whose(people, analyst)} {has} Only an officer changes one.")
                return
            if page.book.standing.is_closed(people, None):
                raise AccountClosed(people, None)
            spent = page.book.seen(Account(0, people, analyst, kind, cap, terms))
            if spent is None:
                raise PolicyError(f"the lost budget of {whose(people, analyst)} had other terms; open it with those.")
            check_cap(page.book, people, analyst, kind, cap, spent)
            body = {"people": people, "analyst": analyst, "kind": kind, "terms": dict(terms)}
            entry = page.append("account", body | {"cost": str(cap.cost), "delta": str(cap.delta)})
            page.connection.execute(
                "INSERT INTO accounts (opened, cap, cap_delta, spent, spent_delta) VALUES (?, ?, ?, ?, ?)",
                (entry.sequence, limit.cost, limit.delta, spent.cost, spent.delta),
            )

    def terms(self, people: str, analyst: str | None = None) -> Mapping[str, str]:
        """What was recorded of the cap in force."""
        return MappingProxyType(dict(self._read_account(people, analyst).terms_in_force))

    def kind(self, people: str) -> str:
        """The kind of the people's budget: "pure", "zcdp" or "basic"."""
        return self._read_account(people, None).kind

    def balance(self, people: str, analyst: str | None = None) -> Balance:
        """Exact figures from the account's whole units: spent never understated, left never overstated."""
        people, analyst = canonical_names(people, analyst)
        with self._journal.reading() as page:
            whole, account = account_of(page.book, people, None), account_of(page.book, people, analyst)
            free = caps.free(account, page.book.accounts)
        granted, spent = (exact_charge(units, account.cap) for units in (account.limit, account.spent))
        return Balance(granted, spent, *(caps.payable(units, account, whole) for units in (account.left, free)))

    def fits(self, people: str, analyst: str | None, charge: Charge) -> bool:
        """Whether a charge fits into an analyst's own cap, or into what the curator itself may spend."""
        people, analyst = canonical_names(people, analyst)
        with self._journal.reading() as page:
            account, price = prices(page.book, people, analyst, charge)[-1]
            return price.fits(caps.free(account, page.book.accounts))

    def reserve(
        self,
        people: str,
        analyst: str | None,
        charge: Charge,
        *,
        question: str,
        snapshot: str,
        plan: str,
        request: str | None = None,
        principal: str | None = None,
        time: int | None = None,
        sql: str | None = None,
        alias: str | None = None,
    ) -> Reservation:
        """Charge the people and, unless it is the curator's own, the analyst; durable and anchored on return.

        BudgetExceeded if it does not fit, PolicyError for an analyst without an account, PeopleFrozen, AnalystFrozen or
        AccountClosed if nothing new may be run, or what `leave_now` says of a leave that has ended; then nothing is
        charged. A request id seen before gives back its reservation, whatever became of it, and charges nothing; with
        another question or charge it is refused.
        Recorded beside it if given: who asked for the analyst, when (whole seconds since 1970, UTC; no clock is read
        here), the text as asked, and the caller's own name for the request.
        """
        people, analyst = canonical_names(people, analyst)
        check_reserve(charge, question, snapshot, plan, request)
        asked, leave = check_asked(principal, time, sql, alias), leave_now()

        def change(page: Page) -> Reservation:
            each = prices(page.book, people, analyst, charge)
            known = index.by_request(page, people, analyst, request)
            if known is not None:
                return self._reserved(page, known, question, charge, request)
            leave()
            check_standing(page.book, people, analyst)
            for account, _ in each:
                check_row(page, account)
            account, price = each[-1]
            if not price.fits(rest := caps.free(account, page.book.accounts)):
                raise BudgetExceeded(does_not_fit(account, charge, rest, each[0][0]))
            for account, price in each:
                self._charge(page, account, price, charge)
            body: dict[str, Any] = {"people": people, "analyst": analyst, "question": question, "snapshot": snapshot}
            body |= {
                "plan": plan,
                "request": request,
                "cost": str(charge.cost),
                "delta": str(charge.delta),
                "units": [[account.opened, price.cost, price.delta] for account, price in each],
                "nonce": secrets.token_hex(16),
                **asked,
            }
            entry = page.append("reserve", body)
            index.add(page, entry)
            return index.reservation(page, self._folder, entry.sequence)

        return self._journal.write(change)

    def _reserved(self, page: Page, known: int, question: str, charge: Charge, request: str | None) -> Reservation:
        """The reservation of a request that was seen before, if it is for the same and may still be run."""
        reservation = index.reservation(page, self._folder, known)
        if (reservation.question, reservation.charge) != (question, charge):
            raise PolicyError(f"request {request!r} was used before with another question or price.")
        if reservation.state == "reserved":
            check_standing(page.book, reservation.people, reservation.analyst)
        return reservation

    @property
    def breaker(self) -> Breaker:
        """Incidents, and who is frozen because of them."""
        return Breaker(self._journal)

    @property
    def desk(self) -> Desk:
        """What an officer decides about accounts."""
        return Desk(self._journal, self._folder.path)

    def close(self) -> None:
        """Let go of the files. Everything that was returned is durable already."""
        self._journal.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_account(self, people: str, analyst: str | None) -> Account:
        people, analyst = canonical_names(people, analyst)
        with self._journal.reading() as page:
            return account_of(page.book, people, analyst)

    def _charge(self, page: Page, account: Account, price: Units, charge: Charge) -> None:
        """Add the price to what the account has spent, in one conditional statement, or raise BudgetExceeded."""
        charged = page.connection.execute(
            "UPDATE accounts SET spent = spent + :cost, spent_delta = spent_delta + :delta"
            " WHERE opened = :opened AND spent <= cap - :cost AND spent_delta <= cap_delta - :delta",
            {"opened": account.opened, "cost": price.cost, "delta": price.delta},
        )
        if charged.rowcount != 1:
            raise BudgetExceeded("the price does not fit. Nothing was charged.")  # nor is said what others have left
