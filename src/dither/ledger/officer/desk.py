"""Where an officer's decisions are written: each is one entry, durable and anchored on return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.errors import PolicyError
from dither.ledger.checks import account_of, canonical_names, check_texts
from dither.ledger.index import entry_of
from dither.ledger.journal import Journal
from dither.ledger.officer.changes import figures_of, is_signed, objection
from dither.ledger.officer.orders import Order, ledger_name
from dither.ledger.officer.refusals import SignatureRefused
from dither.ledger.officer.standing import Standing
from dither.ledger.page import NOTES, Page
from dither.ledger.values import Charge, Entry

LONGEST_REASON = 1000


@dataclass(frozen=True)
class Desk:
    """Freezes, lowers and closes at once; grants more only by an order that the officer has signed."""

    journal: Journal
    folder: Path

    def standing(self) -> Standing:
        """Who may sign, who is frozen and who is closed."""
        with self.journal.reading() as page:
            return page.book.standing

    def opening(self, people: str, analyst: str | None) -> Mapping[str, str]:
        """What was recorded when an account was opened, whatever it has now."""
        with self.journal.reading() as page:
            return dict(account_of(page.book, *canonical_names(people, analyst)).terms)

    def decisions(self, *kinds: str) -> list[Entry]:
        """The entries of these kinds, in order, found without a walk over all."""
        with self.journal.reading() as page:
            links = [page.entry(number) for (number,) in page.connection.execute(NOTES).fetchall()]
        return [entry_of(link) for link in links if link.kind in kinds]

    def draft(self, people: str, analyst: str | None, *, cap: Charge, terms: Mapping[str, str], reason: str) -> Order:
        """The order that would give an account this cap in all, to be signed."""
        people, analyst = canonical_names(people, analyst)
        check_reason(reason)
        with self.journal.reading() as page:
            was = figures_of(account_of(page.book, people, analyst).cap_now)
            number, ledger = page.book.standing.orders, ledger_name(page.key)
        stated = {"people": people, "analyst": analyst, "terms": dict(terms), "reason": reason, "number": number}
        return Order(ledger, "grant", stated | figures_of(cap) | {"was": was})

    def draft_key(self, public: str, *, reason: str) -> Order:
        """The order that would put another officer's key in the place of the one that signs it."""
        check_reason(reason)
        with self.journal.reading() as page:
            body = {"key": public, "reason": reason, "number": page.book.standing.orders}
            return Order(ledger_name(page.key), "officer", body)

    def signed(self, order: Order, key: Path | str) -> str:
        """The signature by the officer's key, which is kept anywhere but in the curator's folder."""
        if Path(key).resolve().is_relative_to(self.folder.resolve()):
            raise PolicyError(
                f"the officer's key {key} lies in the curator's folder; keep it outside, with the officer."
            )
        return order.signed(key)

    def enrol(self, public: str, *, reason: str, time: int | None = None) -> None:
        """Hold grants to this key from now on; only if there is none yet. The same again changes nothing."""
        check_reason(reason)
        with self.journal.writing() as page:
            if page.book.standing.officer == public:
                return
            if page.book.standing.officer is not None:
                raise SignatureRefused("there is an officer's key already, and only its holder can sign for another.")
            self._append(page, "officer", {"key": public, "reason": reason, "number": 0}, time)

    def carry_out(self, order: Order, signature: str, *, time: int | None = None) -> None:
        """Do what the officer has signed, once."""
        if not order.formed:
            raise SignatureRefused("this order does not say what an officer's order says; draft it anew.")
        check_reason(order.body["reason"])
        check_texts(order.body.get("terms", {}), "terms")
        with self.journal.writing() as page:
            body = {**order.body, "signature": signature}
            # Said before anything else that may be wrong: what is not signed tells nothing of the ledger.
            if order.ledger != ledger_name(page.key) or not is_signed(page.book, order.kind, body):
                raise SignatureRefused(_why(page, order))
            self._append(page, order.kind, body, time)
            if order.kind == "grant":
                _tabulate(page, body)

    def lower(
        self,
        people: str,
        analyst: str | None,
        *,
        cap: Charge,
        terms: Mapping[str, str],
        reason: str,
        time: int | None = None,
    ) -> None:
        """Lower a cap at once; never below what is spent, nor below what is reserved for analysts."""
        people, analyst = canonical_names(people, analyst)
        check_reason(reason)
        check_texts(terms, "terms")
        with self.journal.writing() as page:
            account = account_of(page.book, people, analyst)
            if (account.cap_now, dict(account.terms_in_force)) == (cap, dict(terms)):
                return
            body = {"people": people, "analyst": analyst, "terms": dict(terms), "reason": reason, **figures_of(cap)}
            self._append(page, "lower", body, time)
            _tabulate(page, body)

    def close(self, people: str, analyst: str | None = None, *, reason: str, time: int | None = None) -> None:
        """Charge an account no more, for good; of people, all that ask about them."""
        people, analyst = canonical_names(people, analyst)
        check_reason(reason)
        with self.journal.writing() as page:
            account_of(page.book, people, analyst)
            if (people, analyst) not in page.book.standing.closed:
                self._append(page, "close", {"people": people, "analyst": analyst, "reason": reason}, time)

    def freeze(self, people: str, analyst: str, *, reason: str, time: int | None = None) -> None:
        """Charge an analyst nothing more about these people until thawed."""
        self._set_frozen("freeze", people, analyst, reason, time)

    def thaw(self, people: str, analyst: str, *, reason: str, time: int | None = None) -> None:
        """Let an analyst ask about these people again."""
        self._set_frozen("thaw", people, analyst, reason, time)

    def _set_frozen(self, kind: str, people: str, analyst: str, reason: str, time: int | None) -> None:
        who, name = canonical_names(people, analyst)
        check_reason(reason)
        with self.journal.writing() as page:
            account_of(page.book, who, name)
            if ((who, name) in page.book.standing.frozen) == (kind == "freeze"):
                return
            body: dict[str, Any] = {"people": who, "analyst": name, "reason": reason}
            self._append(page, kind, body | ({"incidents": 0} if kind == "freeze" else {}), time)

    def _append(self, page: Page, kind: str, body: Mapping[str, Any], time: int | None) -> None:
        wrong = objection(page.book, kind, body)
        if wrong:
            raise PolicyError(f"nothing was changed: such an entry {wrong}")
        page.append(kind, dict(body) | ({} if time is None else {"time": time}))


def check_reason(reason: str) -> None:
    """Whoever reads the ledger later wants to know why."""
    if not isinstance(reason, str) or not len(reason.strip()) >= 1 or len(reason) > LONGEST_REASON:
        raise PolicyError(f"say why: a reason of 1 to {LONGEST_REASON} characters.")


def _tabulate(page: Page, body: Mapping[str, Any]) -> None:
    """Bring an account's row up to what the book says of it; caps and what is spent never change at once."""
    account = page.book.accounts[body["people"], body["analyst"]]
    opened, *row = account.row
    for names, values in (("cap = ?, cap_delta = ?", row[:2]), ("spent = ?, spent_delta = ?", row[2:])):
        page.connection.execute(f"UPDATE accounts SET {names} WHERE opened = ?", (*values, opened))


def _why(page: Page, order: Order) -> str:
    if page.book.standing.officer is None:
        return "a budget is raised only by an officer's signature, and this ledger knows no officer; enrol a key first."
    if order.ledger != ledger_name(page.key):
        return "this order was signed for another ledger."
    if order.body.get("number") != page.book.standing.orders:
        return "this order was carried out before, or another one since it was drafted; draft and sign it anew."
    return "this order does not bear the signature of the officer whose key is enrolled; nothing was changed."
