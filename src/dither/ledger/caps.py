"""Caps of analysts are reserved of the people's budget: what fits into a cap fits into the budget, whatever others do.

Costs have one unit everywhere. A unit of delta is a part of the account's own cap, so a price is first rounded up into
the people's units, p, and from there into the analyst's, o = ceil(p D / d) for caps of delta D and d. A cap with r
units left reserves floor(r d / D) of the people's units. A charge adds p to what the people have spent and takes at
least p off what is reserved, since floor((r - o) d / D) <= floor(r d / D - p); and o <= r implies p <= floor(r d / D).
So "spent plus reserved is within the budget" stays true with every charge that fits its cap, and such a charge fits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dither.errors import LedgerCorrupt
from dither.ledger.chain import Link
from dither.ledger.units import NOTHING, Units, cap_units, charge_units, exact_charge
from dither.ledger.values import Charge

if TYPE_CHECKING:
    from dither.ledger.accounts import Accounts
    from dither.ledger.book import Account

RESERVING = 2  # the version of entries from which on analysts have accounts and their caps are reserved


def prices(people: Account, own: Account | None, charge: Charge) -> list[tuple[Account, Units]]:
    """What a charge takes from the people's account and from the analyst's own, if an analyst asks."""
    whole = charge_units(charge, people.cap)
    if own is None:
        return [(people, whole)]
    rounded = exact_charge(whole, people.cap) if people.cap.delta else charge
    return [(people, whole), (own, charge_units(rounded, own.cap))]


def reserved(left: Units, cap: Charge, people: Charge) -> Units:
    """What an analyst with that much left of a cap may still take, in units of the people's account."""
    if not (cap.delta and people.delta):
        return left  # people without delta have no unit of it: any delta at all is too much
    return Units(left.cost, left.delta * cap.delta // people.delta)


def payable(rest: Units, account: Account, people: Account) -> Charge:
    """The largest price that so many units of an account can pay; the last part of a unit of delta cannot be paid."""
    if not (account.cap.delta and people.cap.delta):
        return exact_charge(rest, account.cap)
    return exact_charge(reserved(rest, account.cap, people.cap), people.cap)


def reserved_by(account: Account, people: Account) -> Units:
    """The same of an account; nothing if it is no analyst's of these people."""
    if account.analyst is None or account.people != people.people:
        return NOTHING
    return reserved(account.left, account.cap, people.cap)


def unreserved(people: Account, accounts: Accounts) -> Units:
    """What is neither spent nor reserved of the people's budget; below zero where caps exceed it."""
    return people.left - accounts.reserved(people)


def free(account: Account, accounts: Accounts) -> Units:
    """What its holder may spend: an analyst all that is left, the curator what is not reserved for analysts.

    Nothing is reserved where caps exceed the budget: as the curator allowed, or in a ledger older than this rule.
    """
    if account.analyst is not None or account.oversubscribed:
        return account.left
    rest = unreserved(account, accounts)
    return account.left if rest.cost < 0 or rest.delta < 0 else rest


def check(link: Link, accounts: Accounts, spent: Units = NOTHING) -> None:
    """Refuse an entry that charges somebody without an account, or another price, or what others have reserved.

    An account that was lost has `spent` so much of its cap already.
    """
    body = link.body
    if link.version < RESERVING or link.kind not in ("account", "reserve"):
        return
    people, own = accounts.get((body["people"], None)), accounts.get((body["people"], body["analyst"]))
    charge = Charge(Fraction(body["cost"]), Fraction(body["delta"]))
    if link.kind == "account":
        if body["analyst"] is None:
            return
        if people is None:
            raise LedgerCorrupt(f"entry {link.sequence} of the ledger caps an analyst of people without a budget.")
        fits = people.oversubscribed or reserved(cap_units(charge) - spent, charge, people.cap).fits(
            unreserved(people, accounts)
        )
    else:
        if people is None or own is None:
            raise LedgerCorrupt(f"entry {link.sequence} of the ledger charges somebody who has no account.")
        each = prices(people, None if own is people else own, charge)
        if body["units"] != [[account.opened, units.cost, units.delta] for account, units in each]:
            raise LedgerCorrupt(f"entry {link.sequence} of the ledger charges another price than it states.")
        fits = each[-1][1].fits(free(own, accounts))
    if not fits:
        raise LedgerCorrupt(f"entry {link.sequence} of the ledger takes what is reserved for an analyst.")
