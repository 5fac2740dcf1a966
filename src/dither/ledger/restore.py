"""A ledger behind its anchor, or gone: what the anchor has seen spent is spent, and what was lost is never answered."""

from __future__ import annotations

from dataclasses import astuple

from dither.errors import LedgerCorrupt
from dither.ledger import index
from dither.ledger.page import Page
from dither.ledger.storage.protocol import Mark
from dither.ledger.totals import unpack
from dither.ledger.units import NOTHING, Units


def count_as_spent(page: Page, mark: Mark) -> None:
    """Go on from the mark: every account has spent at least what the anchor says.

    A reservation that is open here may have been answered before the loss, so it ends as failed: run again, one charge
    would buy two draws of noise. Incidents may be lost too, so nothing is answered until the curator thaws the people.
    """
    accounts = {page.book.identity(account)[:16]: account for account in page.book.accounts.each()}
    units, lost = [], []
    if mark.totals is None:  # an anchor of an older dither: what is left may be spent
        units = [[account.opened, *astuple(account.left)] for account in accounts.values() if account.left != NOTHING]
    for total in unpack(mark.totals or b""):
        account = accounts.get(total.name)
        if account is None:
            lost.append(total.fields)
            continue
        if account.closed:  # its total is all that it had, not what was spent of it
            continue
        if page.book.identity(account) != total.identity:
            raise LedgerCorrupt("the anchor has seen an account under other terms.")
        if not total.spent.fits(account.limit):  # of a grant that is lost: counted once that is given again
            lost.append(total.fields)
        more = Units(*map(min, astuple(total.spent), astuple(account.limit))) - account.spent
        if more.cost > 0 or more.delta > 0:
            units.append([account.opened, max(more.cost, 0), max(more.delta, 0)])
    body = {"sequence": mark.sequence, "mac": mark.mac.hex(), "units": units, "lost": lost}
    page.append("restore", body | ({"unknown": True} if mark.totals is None else {}))
    for opened, cost, delta in units:
        page.connection.execute(
            "UPDATE accounts SET spent = spent + ?, spent_delta = spent_delta + ? WHERE opened = ?",
            (cost, delta, opened),
        )
    end_open(page)
    freeze_all(page)


def end_open(page: Page) -> None:
    """Settle every open reservation as failed."""
    for number in sorted(page.book.pending):
        index.settle(page, number, page.append("fail", {"reservation": number}))


def freeze_all(page: Page) -> None:
    """Freeze all people who are not frozen yet."""
    for people, analyst in list(page.book.accounts):
        if analyst is None and people not in page.book.frozen:
            incidents = len(page.book.incidents.get(people, ()))
            page.append("freeze", {"people": people, "incidents": incidents})
