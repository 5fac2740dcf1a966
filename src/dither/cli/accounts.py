"""Who the ledger knows: an analyst on the command line is one of them, so that a misspelling never asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.budgets import Budget, budget_from
from dither.errors import PolicyError

if TYPE_CHECKING:
    from pathlib import Path

    from dither import Curator

Account = tuple[str, str | None]  # people, and an analyst or None for the people's own budget


def accounts(curator: Curator) -> dict[Account, Budget]:
    """Every budget that was granted, in the order of granting."""
    ledger = curator._ledger
    return {account: budget_from(ledger.terms(*account)) for account in ledger.accounts()}


def known_analyst(curator: Curator, name: str, folder: Path) -> str:
    """The analyst of that name, if the curator made one; refused otherwise."""
    from dither.ledger.names import canonical_name

    wanted = canonical_name(name, "analyst")
    granted = accounts(curator)
    known = dict.fromkeys(analyst for _, analyst in granted if analyst is not None)
    if wanted in known:
        return wanted
    people = [people for people, analyst in granted if analyst is None]
    raise PolicyError(
        f"there is no analyst {name!r}; known are: {', '.join(known) or 'none'}. Make one with "
        f"dither init {folder} --people {people[0] if len(people) == 1 else 'PEOPLE'} --analyst {wanted} --epsilon 1."
    )


def shown(account: Account) -> str:
    people, analyst = account
    return people if analyst is None else f"{analyst} (of {people})"
