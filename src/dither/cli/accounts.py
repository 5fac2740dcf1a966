"""Who the ledger knows: an analyst on the command line is one of them, so that a misspelling never asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dither.errors import PolicyError

if TYPE_CHECKING:
    from pathlib import Path

    from dither import Curator
    from dither.budgets import Budget

Account = tuple[str, str | None]  # people, and an analyst or None for the people's own budget


def accounts(curator: Curator) -> dict[Account, Budget]:
    """Every budget that was granted, in the order of granting."""
    return dict(_granted(curator))


def known_analyst(curator: Curator, name: str, folder: Path) -> str:
    """The analyst of that name, if the ledger has a cap or an earlier question of theirs; refused otherwise."""
    from dither.ledger.names import canonical_name

    wanted = canonical_name(name, "analyst")
    known: dict[str, None] = {}
    for entry in curator.ledger():
        analyst = entry.body.get("analyst")
        if analyst == wanted:
            return wanted
        if analyst is not None:
            known[str(analyst)] = None
    people = [people for people, analyst in accounts(curator) if analyst is None]
    raise PolicyError(
        f"there is no analyst {name!r}; known are: {', '.join(known) or 'none'}. Make one with "
        f"dither init {folder} --people {people[0] if len(people) == 1 else 'PEOPLE'} --analyst {wanted} --epsilon 1."
    )


def shown(account: Account) -> str:
    people, analyst = account
    return people if analyst is None else f"{analyst} (of {people})"


def _granted(curator: Curator) -> Iterator[tuple[Account, Budget]]:
    from dither.budgets import budget_from

    for entry in curator.ledger():
        if entry.kind == "account":
            people, analyst, terms = (entry.body[name] for name in ("people", "analyst", "terms"))
            yield (str(people), None if analyst is None else str(analyst)), budget_from(terms)  # type: ignore[arg-type]
