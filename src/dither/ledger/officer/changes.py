"""What an officer's entries do to the book, and which of them cannot be.

One rule for all: whoever writes is refused by it, and whoever follows, opens or verifies a ledger finds damage by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.errors import LedgerCorrupt
from dither.ledger import caps
from dither.ledger.accounts import Name
from dither.ledger.chain import Link
from dither.ledger.officer.orders import Order, is_key, ledger_name
from dither.ledger.units import Units, limit_units
from dither.ledger.values import Charge

if TYPE_CHECKING:
    from dither.ledger.book import Account, Book

SINCE = 5  # the version of entries from which on these have a meaning
KINDS = ("officer", "grant", "lower", "close")


def concerns(link: Link) -> bool:
    """Whether an entry is an officer's: of these kinds, or a freeze or thaw of one analyst alone."""
    of_one = link.kind in ("freeze", "thaw") and link.body.get("analyst") is not None
    return link.version >= SINCE and (link.kind in KINDS or of_one)


def note(book: Book, link: Link, *, figures: bool = False) -> None:
    """Follow an officer's entry; with `figures`, hold it to what was spent and reserved at its time too."""
    wrong = objection(book, link.kind, link.body, figures=figures)
    if wrong:
        raise LedgerCorrupt(f"entry {link.sequence} of the ledger {wrong}")
    standing, body = book.standing, link.body
    if link.kind == "officer":
        book.standing = replace(standing, officer=body["key"], orders=standing.orders + 1)
        return
    name = _name(body)
    account = book.accounts[name]
    if link.kind in ("grant", "lower"):
        book.accounts[name] = replace(account, now=_cap(body), terms_now=body["terms"])
        book.standing = replace(standing, orders=standing.orders + (link.kind == "grant"))
    elif link.kind == "close":
        book.accounts[name] = replace(account, closed=True)
        book.standing = replace(standing, closed=standing.closed | {name})
    elif link.kind == "freeze":
        book.standing = replace(standing, frozen=standing.frozen | {name})
    else:
        book.standing = replace(standing, frozen=standing.frozen - {name})


def catch_up(book: Book, link: Link) -> None:
    """Of a grant that was lost and is given again, count as spent what an anchor has seen spent of it."""
    if link.kind != "grant" or not book.lost:
        return
    account = book.accounts[_name(link.body)]
    seen = book.lost.get(book.identity(account)[:16])
    if seen is not None:
        known, limit = account.spent, account.limit
        spent = Units(
            max(known.cost, min(seen.spent.cost, limit.cost)), max(known.delta, min(seen.spent.delta, limit.delta))
        )
        book.accounts[_name(link.body)] = replace(account, spent=spent)


def objection(book: Book, kind: str, body: Mapping[str, Any], *, figures: bool = True) -> str | None:
    """Why there cannot be such an entry next; None if there can."""
    standing = book.standing
    if kind == "officer":
        if not is_key(body["key"]):
            return "has no public key of an officer."
        if standing.officer is not None and not is_signed(book, kind, body):
            return "replaces the officer without the signature of the one before."
        return None
    name = _name(body)
    account = book.accounts.get(name)
    if account is None:
        return "is about somebody who has no account."
    if standing.is_closed(*name):
        return "changes an account that is closed for good."
    if kind in ("grant", "lower"):
        return _of_a_cap(book, account, kind, body, figures)
    if kind == "freeze" and name in standing.frozen:
        return "freezes an analyst who is frozen."
    return None


def _of_a_cap(book: Book, account: Account, kind: str, body: Mapping[str, Any], figures: bool) -> str | None:
    if _cap(body).delta and not account.cap.delta:
        return "gives a delta to an account that was opened without one."
    limit = limit_units(_cap(body), account.cap)
    if kind == "grant" and limit.fits(account.limit):
        return "grants nothing more than there was."
    if kind == "lower" and not limit.fits(account.limit):
        return "raises a cap without being a grant."
    if kind == "grant" and body.get("was", figures_of(account.cap_now)) != figures_of(account.cap_now):
        return "was signed as a raise of another cap than the one in force."
    if kind == "grant" and not is_signed(book, kind, body):
        return "does not bear the signature of the officer for this grant, at this place."
    if figures and not account.spent.fits(limit):
        return "lowers a cap below what is spent of it."
    if figures and not _has_room(book, account, body, limit):
        return "takes what is reserved for analysts."
    return None


def is_signed(book: Book, kind: str, body: Mapping[str, Any]) -> bool:
    """Whether the officer has signed this very entry, as the next order of this very ledger."""
    order = Order(ledger_name(book.key), kind, body)
    return body.get("number") == book.standing.orders and order.is_signed(book.standing.officer, body.get("signature"))


def _has_room(book: Book, account: Account, body: Mapping[str, Any], limit: Units) -> bool:
    """Whether all caps still fit into their people's budget; no matter where they may exceed it, or if it gets room."""
    people = book.accounts[account.people, None]
    gets = account.limit.fits(limit) if account.analyst is None else limit.fits(account.limit)
    if gets or people.oversubscribed:
        return True
    changed, accounts = replace(account, now=_cap(body)), book.accounts.copy()
    accounts[account.people, account.analyst] = changed
    rest = caps.unreserved(changed if account.analyst is None else people, accounts)
    return rest.cost >= 0 and rest.delta >= 0


def _name(body: Mapping[str, Any]) -> Name:
    return body["people"], body.get("analyst")


def figures_of(cap: Charge) -> dict[str, str]:
    """A cap as entries state it."""
    return {"cost": str(cap.cost), "delta": str(cap.delta)}


def _cap(body: Mapping[str, Any]) -> Charge:
    return Charge(Fraction(body["cost"]), Fraction(body["delta"]))
