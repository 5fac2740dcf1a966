"""Charges without an answer, left by a process that died: their questions are run again under the same request id.

Who runs a question has it in hand for a while, and renews that as long as it lives. Running one twice would be safe,
since the ledger keeps the first answer alone; it is only work done twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dither.curator.principal import Principal
from dither.errors import DitherError
from dither.ledger import Reservation
from dither.server.questions import LEASE, Questions, key_of
from dither.server.store import Store


@dataclass(frozen=True)
class Recovery:
    """Takes up what is charged and waits for an answer that nobody works on."""

    pending: Callable[[], list[Reservation]]
    questions: Questions
    store: Store

    def renew(self, now: int) -> None:
        """Keep in hand what this process answers."""
        running = [*self.questions.running]
        if running:
            self.store.renew_requests(running, now + LEASE)

    def take_up(self, now: int) -> int:
        """Answer what was left; how many there were. Whoever has no token any more has paid all the same."""
        taken = 0
        for reservation in self.pending():
            principal = _principal(reservation.analyst)
            if reservation.request is None:
                continue
            whose, request = key_of(principal), reservation.request
            body = self.store.take_request(whose, request, now, now + LEASE)
            with suppress(DitherError):  # of people who are frozen, say: it is tried again
                if body is not None:
                    taken += 1
                    self.questions.asked(principal, {**json.loads(body), "request": request})
                elif self.store.request(whose, request) is None:
                    taken += 1
                    self._as_charged(principal, reservation)
        return taken

    def _as_charged(self, principal: Principal, reservation: Reservation) -> None:
        """Answer what was asked just before the machine stopped, so that its body is lost, from what the ledger has.

        Its id is not bound to a body here: whoever asks again under it states the one that was lost.
        """
        if reservation.sql is not None:
            price = self.questions.service.price_of(reservation)
            self.questions.service.ask(principal, reservation.sql, request=reservation.request, **price)


def _principal(analyst: str | None) -> Principal:
    return Principal.curator() if analyst is None else Principal.analyst(analyst)
