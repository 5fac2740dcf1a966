"""What callers may ask of the ledger, and the words in which it refuses."""

from __future__ import annotations

from collections.abc import Mapping

from dither.errors import PolicyError
from dither.ledger.book import Account, Book
from dither.ledger.names import canonical_name
from dither.ledger.units import exact_charge, show
from dither.ledger.values import Charge

CURRENCIES = {"pure": "epsilon", "zcdp": "rho", "basic": "epsilon"}
_LONGEST_REQUEST = 200


def canonical_names(people: str, analyst: str | None) -> tuple[str, str | None]:
    """Both names in their one spelling."""
    return canonical_name(people, "people"), None if analyst is None else canonical_name(analyst, "analyst")


def whose(people: str, analyst: str | None) -> str:
    """The owner of a budget, for messages."""
    return f"people {people!r}" if analyst is None else f"analyst {analyst!r} on people {people!r}"


def account_of(book: Book, people: str, analyst: str | None) -> Account:
    """The account of that name, or a PolicyError that says which exist."""
    found = book.accounts.get((people, analyst))
    if found is None:
        known = ", ".join(name for name, of in book.accounts if of is None) or "none yet"
        raise PolicyError(f"there is no budget for {whose(people, analyst)}; people with a budget: {known}.")
    return found


def does_not_fit(account: Account, charge: Charge) -> str:
    """Price, what is left, and whose budget it is."""
    left = exact_charge(account.limit - account.spent, account.cap)
    price, rest = show(charge.cost), show(left.cost, up=False)
    if charge.delta or account.cap.delta:
        price += f" and delta {show(charge.delta)}"
        rest += f" and delta {show(left.delta, up=False)}"
    return (
        f"the price, {CURRENCIES[account.kind]} {price}, does not fit: {rest} is left in the budget of "
        f"{whose(account.people, account.analyst)}. Nothing was charged. Ask at a lower price."
    )


def check_reserve(charge: Charge, question: str, snapshot: str, plan: str, request: str | None) -> None:
    """Refuse a free reservation and anything that is not text."""
    if not (charge.cost or charge.delta):
        raise PolicyError("a reservation must cost something: every question that touches data has a price.")
    check_texts({"question": question, "snapshot": snapshot, "plan": plan}, "reservation")
    if request is not None and not (isinstance(request, str) and 1 <= len(request) <= _LONGEST_REQUEST):
        raise PolicyError(f"a request id must be text of 1 to {_LONGEST_REQUEST} characters.")


def check_texts(texts: Mapping[str, str], what: str) -> None:
    """Permanent records hold text only."""
    for name, text in texts.items():
        if not (isinstance(name, str) and isinstance(text, str)):
            raise PolicyError(f"every name and value in the {what} must be text; {name!r} is not.")
