"""Request ids under which an answer was given that was paid for before: each stays with that very answer.

The ledger binds the ids of charges. An id that got its answer for nothing is bound here, by a small file, before the
answer is returned: asked again under it, after a refresh say, the same answer is returned and nothing is charged.
Servers keep the ids of their principals themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import LedgerCorrupt, PolicyError
from dither.records.versions import REPEAT, VERSION, version_of

if TYPE_CHECKING:
    from dither.ledger import Ledger, Reservation
    from dither.sql.pricing.price import PricedQuestion


@dataclass(frozen=True)
class Repeats:
    """The files of one curator's folder."""

    folder: Path
    ledger: Ledger

    def bind(self, analyst: str | None, request: str, priced: PricedQuestion, paid: Reservation) -> Reservation:
        """Durably bind the id to what was paid for, and return that; if it is bound already, that stays."""
        from dither.ledger.storage.files import write_durably

        document = {
            VERSION: REPEAT,
            "reservation": paid.id,
            "question": paid.question,
            "cost": str(priced.price.cost),
            "delta": str(priced.price.delta),
        }
        path = self._path(paid.people, analyst, request)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_durably(path, json.dumps(document).encode(), replace=False)
        return self.find(analyst, request, priced) or paid

    def find(self, analyst: str | None, request: str, priced: PricedQuestion) -> Reservation | None:
        """What was paid for and given under this id; PolicyError if it was given for another question or price."""
        people = priced.question.people
        try:
            content = self._path(people, analyst, request).read_bytes()
        except FileNotFoundError:
            return None
        document = json.loads(content)
        version_of(document, REPEAT, "the request id of a repeat")
        paid = self.ledger.reservation(document["reservation"])
        if (paid.people, paid.analyst, paid.question) != (people, analyst, document["question"]) or not paid.answer:
            raise LedgerCorrupt("what a request id is bound to was changed.")
        price = Fraction(document["cost"]), Fraction(document["delta"])
        same = paid.question in (priced.known_as, priced.known_by_error)
        if not same or (priced.target is None and price != (priced.price.cost, priced.price.delta)):
            raise PolicyError(f"request {request!r} was used before with another question or price.")
        return paid

    def _path(self, people: str, analyst: str | None, request: str) -> Path:
        return self.folder / "repeats" / sha256(json.dumps([people, analyst, request]).encode()).hexdigest()
