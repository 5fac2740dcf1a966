"""What callers may ask of the ledger, and the words in which it refuses."""

from __future__ import annotations

from collections.abc import Mapping

from dither.errors import CapMissing, PolicyError
from dither.ledger import caps
from dither.ledger.book import Account, Book
from dither.ledger.names import canonical_name
from dither.ledger.units import NOTHING, SMALLEST_DELTA, Units, cap_units, exact_charge, show
from dither.ledger.values import Charge

CURRENCIES = {"pure": "epsilon", "zcdp": "rho", "basic": "epsilon"}
_LONGEST_REQUEST = 200
_LONGEST_SQL = 2**20


def canonical_names(people: str, analyst: str | None) -> tuple[str, str | None]:
    """Both names in their one spelling."""
    return canonical_name(people, "people"), None if analyst is None else canonical_name(analyst, "analyst")


def whose(people: str, analyst: str | None) -> str:
    """The owner of a budget, for messages."""
    return f"people {people!r}" if analyst is None else f"analyst {analyst!r} on people {people!r}"


def account_of(book: Book, people: str, analyst: str | None) -> Account:
    """The account of that name, or a PolicyError that says which exist."""
    found = book.accounts.get((people, analyst))
    if found is None and analyst is not None:
        raise CapMissing(analyst, people)
    if found is None:
        known = ", ".join(name for name, of in book.accounts if of is None) or "none yet"
        raise PolicyError(f"there is no budget for {whose(people, analyst)}; people with a budget: {known}.")
    return found


def prices(book: Book, people: str, analyst: str | None, charge: Charge) -> list[tuple[Account, Units]]:
    """What a charge takes from the people's account and from the analyst's own; refused if one has no account."""
    whole = account_of(book, people, None)
    return caps.prices(whole, None if analyst is None else account_of(book, people, analyst), charge)


def does_not_fit(account: Account, charge: Charge, rest: Units, people: Account) -> str:
    """Price, what may be spent, and whose budget it is."""
    left = caps.payable(rest, account, people)
    reserved = " and not reserved" if rest != account.left else ""
    return (
        f"the price, {_figures(account, charge)}, does not fit: {_figures(account, left, up=False)} is left{reserved} "
        f"in the budget of {whose(account.people, account.analyst)}. Nothing was charged. Ask at a lower price."
    )


def check_cap(book: Book, people: str, analyst: str | None, kind: str, cap: Charge, spent: Units = NOTHING) -> None:
    """Refuse a delta too small to count in; for an analyst, another kind than the people's, and what finds no room."""
    if 0 < cap.delta < SMALLEST_DELTA:
        raise PolicyError(
            f"the delta of a budget must be 0 or at least {show(SMALLEST_DELTA)}, twice that where rhos add up; "
            f"got {show(cap.delta)}."
        )
    if analyst is None:
        return
    whole = account_of(book, people, None)
    if whole.kind != kind:
        raise PolicyError(f"the budget of {people!r} is {whole.kind}; that of {analyst!r} must be too, not {kind}.")
    if whole.oversubscribed:
        return
    rest = caps.unreserved(whole, book.accounts)
    if not caps.reserved(cap_units(cap) - spent, cap, whole.cap).fits(rest):
        left = exact_charge(Units(max(rest.cost, 0), max(rest.delta, 0)), whole.cap)
        raise PolicyError(
            f"the cap of {analyst!r}, {_figures(whole, cap)}, does not fit into the budget of people {people!r}: "
            f"{_figures(whole, left, up=False)} is neither spent nor reserved for analysts. Caps that together exceed "
            "a budget need people made with oversubscribe=True."
        )


def _figures(account: Account, charge: Charge, *, up: bool = True) -> str:
    delta = f" and delta {show(charge.delta, up=up)}" if charge.delta or account.cap.delta else ""
    return f"{CURRENCIES[account.kind]} {show(charge.cost, up=up)}{delta}"


def check_reserve(charge: Charge, question: str, snapshot: str, plan: str, request: str | None) -> None:
    """Refuse a free reservation and anything that is not text."""
    if not (charge.cost or charge.delta):
        raise PolicyError("a reservation must cost something: every question that touches data has a price.")
    check_texts({"question": question, "snapshot": snapshot, "plan": plan}, "reservation")
    if request is not None and not (isinstance(request, str) and 1 <= len(request) <= _LONGEST_REQUEST):
        raise PolicyError(f"a request id must be text of 1 to {_LONGEST_REQUEST} characters.")


def check_asked(principal: str | None, time: int | None, sql: str | None, alias: str | None) -> dict[str, str | int]:
    """What is recorded beside a reservation, if it is of the right form; what is not given is left out."""
    stated = {"principal": principal, "sql": sql, "alias": alias}
    texts = {name: text for name, text in stated.items() if text is not None}
    check_texts(texts, "reservation")
    for name, most in (("principal", _LONGEST_REQUEST), ("alias", _LONGEST_REQUEST), ("sql", _LONGEST_SQL)):
        if not len(texts.get(name, "")) <= most:
            raise PolicyError(f"the {name} of a reservation has at most {most:,} characters.")
    if time is None:
        return dict(texts)
    if type(time) is not int or not 0 <= time < 2**63:
        raise PolicyError("the time of a reservation is in whole seconds since 1970, UTC.")
    return {**texts, "time": time}


def check_texts(texts: Mapping[str, str], what: str) -> None:
    """Permanent records hold text only."""
    for name, text in texts.items():
        if not (isinstance(name, str) and isinstance(text, str)):
            raise PolicyError(f"every name and value in the {what} must be text; {name!r} is not.")
