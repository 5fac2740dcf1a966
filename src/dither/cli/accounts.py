"""Whom the ledger knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.curator.budgets import Budget, budget_from

if TYPE_CHECKING:
    from dither import Curator

Account = tuple[str, str | None]  # people, and an analyst or None for the people's own budget


def accounts(curator: Curator) -> dict[Account, Budget]:
    """Every budget that was granted, in the order of granting."""
    ledger = curator._ledger
    return {account: budget_from(ledger.terms(*account)) for account in ledger.accounts()}


def shown(account: Account) -> str:
    people, analyst = account
    return people if analyst is None else f"{analyst} (of {people})"
