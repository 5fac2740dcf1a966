"""What the ledger knows of a question already: whether a stored answer, or a recorded plan, is still the one meant."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dither.accounting.currency import Currency
from dither.errors import ParameterError, PolicyError
from dither.present import keeps
from dither.sql.price import PricedQuestion, again

if TYPE_CHECKING:
    from dither.ledger import Ledger, Reservation


def as_recorded(priced: PricedQuestion, currency: Currency, known: Reservation) -> PricedQuestion:
    """With the noise that was decided for this request: a profile that was made since may decide for another."""
    with suppress(ParameterError):  # the delta that it took is not stated now: refused as another price
        return again(priced, currency, known.plan)
    return priced


def keeps_to(priced: PricedQuestion, stored: bytes) -> bool:
    """Whether a stored release errs by no more than was asked for; a price is kept by any that cost as much."""
    return priced.target is None or keeps(priced.question, stored, priced.target)


def check_labels(ledger: Ledger, reservation: Reservation, priced: PricedQuestion) -> None:
    """Stored numbers are in the order of the keys declared then; they are never shown under other labels."""
    if reservation.snapshot == priced.snapshot:
        return
    tables = {table.name for table in priced.question.tables}
    for entry in ledger.events(["register"], after=reservation.id):
        table = entry.body.get("table")
        if table in tables:
            raise PolicyError(
                f"request {reservation.request!r} was answered before table {table!r} was dropped and registered "
                "again, perhaps declared differently; ask anew under another request id."
            )
