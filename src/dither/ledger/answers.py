"""What becomes of reservations: each is settled once, by an answer or as failed, and found again by who paid for it."""

from __future__ import annotations

from hashlib import sha256

from dither.errors import QueryFailed
from dither.ledger import index
from dither.ledger.checks import account_of, canonical_names
from dither.ledger.journal import Journal
from dither.ledger.names import canonical_name
from dither.ledger.page import Page
from dither.ledger.storage.protocol import Place
from dither.ledger.units import charge_units
from dither.ledger.values import Charge, Reservation

LARGEST_INLINE_ANSWER = 1_000_000  # bytes; larger ones become files


class Answers:
    """The answers of a ledger."""

    _folder: Place
    _journal: Journal

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        """Store the answer unless one is stored already; returns the stored bytes, read back, durable and anchored.

        The first answer wins and every later one is discarded: one charge never yields two draws of noise.
        QueryFailed if the reservation was settled as failed.
        """

        def change(page: Page) -> None:
            if index.is_open(page, reservation_id):
                large = len(answer) > LARGEST_INLINE_ANSWER
                body = {"reservation": reservation_id, "sha256": sha256(answer).hexdigest(), "file": large}
                if large:
                    self._folder.store_answer(answer)
                index.settle(page, reservation_id, page.append("settle", body))
                if not large:
                    index.store_answer(page, reservation_id, answer)
                index.count_bytes(page, reservation_id, len(answer))

        self._journal.write(change)
        with self._journal.reading() as page:
            stored = index.reservation(page, self._folder, reservation_id).answer
        if stored is None:
            raise QueryFailed
        return stored

    def stored_bytes(self, analyst: str | None) -> int:
        """How many bytes the recorded questions and answers of this very analyst have, of whatever people."""
        known_as = None if analyst is None else canonical_name(analyst, "analyst")
        with self._journal.reading() as page:
            return index.bytes_of(page, known_as)

    def fail(self, reservation_id: int) -> None:
        """Settle as failed: the charge stands, and there will never be an answer. Changes nothing once settled."""

        def change(page: Page) -> None:
            if index.is_open(page, reservation_id):
                index.settle(page, reservation_id, page.append("fail", {"reservation": reservation_id}))

        self._journal.write(change)

    def reservation(self, reservation_id: int) -> Reservation:
        """What was reserved by that entry, and what became of it; PolicyError if it is none."""
        with self._journal.reading() as page:
            index.is_open(page, reservation_id)
            found = index.reservation(page, self._folder, reservation_id)
        self._journal.anchor_up_to(page.head.sequence)
        return found

    def requested(self, people: str, analyst: str | None, request: str) -> Reservation | None:
        """What this very analyst reserved under a request id, whatever became of it; None if there is nothing."""
        people, analyst = canonical_names(people, analyst)
        with self._journal.reading() as page:
            known = index.by_request(page, people, analyst, request)
            found = None if known is None else index.reservation(page, self._folder, known)
        if found is not None:
            self._journal.anchor_up_to(page.head.sequence)
        return found

    def find(self, people: str, analyst: str | None, question: str, snapshot: str, charge: Charge) -> bytes | None:
        """The best settled answer that this very analyst paid at least `charge` for; None if there is none.

        Another analyst's answers are never considered, nor those of another snapshot, nor failures.
        """
        found = self.paid(people, analyst, question, snapshot, charge)
        return None if found is None else found.answer

    def paid(
        self, people: str, analyst: str | None, question: str, snapshot: str, charge: Charge
    ) -> Reservation | None:
        """The reservation that has the answer which `find` gives."""
        people, analyst = canonical_names(people, analyst)
        with self._journal.reading() as page:
            price = charge_units(charge, account_of(page.book, people, None).cap)
            for number in index.by_question(page, people, analyst, question, snapshot, price):
                found = index.reservation(page, self._folder, number)
                # Units are rounded; the exact prices decide.
                paid = found.charge.cost >= charge.cost and found.charge.delta >= charge.delta
                if paid and found.answer is not None:
                    break
            else:
                return None
        self._journal.anchor_up_to(page.head.sequence)
        return found

    def pending(self, people: str | None = None) -> list[Reservation]:
        """Charged but not settled, oldest first: what a crash left behind, or what runs right now."""
        wanted = None if people is None else canonical_name(people, "people")
        with self._journal.reading() as page:
            found = [index.reservation(page, self._folder, number) for number in sorted(page.book.pending)]
        return [reservation for reservation in found if wanted in (None, reservation.people)]
