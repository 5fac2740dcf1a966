"""`dither budget`: what was granted, what is spent and what is left."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.errors import PolicyError

if TYPE_CHECKING:
    from dither import Curator
    from dither.budgets import BudgetView

_DESCRIPTION = """\
Show budgets: of all people and analysts, or of those named. Spent is rounded up and
left is rounded down. Under zcdp, rho adds up and the bar counts it; epsilon is what
that rho is worth, which does not add up."""

_EXAMPLES = """\
  dither budget clinic
  dither budget clinic --analyst alice --json"""


def add(commands: Commands) -> None:
    parser = command(commands, "budget", "show what is spent and left", description=_DESCRIPTION, examples=_EXAMPLES)
    add_folder(parser)
    parser.add_argument("--people", help="only these people")
    parser.add_argument("--analyst", help="only this analyst's cap")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the accounts that were asked for."""
    with open_curator(arguments) as curator:
        shown = [(account, curator.budget(*account)) for account in _accounts(curator, arguments)]
    if arguments.json:
        print_json([_document(people, analyst, account) for (people, analyst), account in shown])
        return
    for (people, analyst), account in shown:
        print(budget_text(people if analyst is None else f"{analyst} (of {people})", account))


def budget_text(name: str, account: BudgetView) -> str:
    """An account in three lines, with a bar."""
    return str(account).replace("granted", name, 1)


def _accounts(curator: Curator, arguments: argparse.Namespace) -> list[tuple[str, str | None]]:
    known = list(_known(curator))
    chosen = [
        (people, analyst)
        for people, analyst in known
        if arguments.people in (None, people) and arguments.analyst in (None, analyst)
    ]
    if not chosen:
        listed = ", ".join(people if analyst is None else f"{analyst} (of {people})" for people, analyst in known)
        raise PolicyError(f"there is no such budget; there are: {listed or 'none'}.")
    return chosen


def _known(curator: Curator) -> Iterator[tuple[str, str | None]]:
    for entry in curator.ledger():
        if entry.kind == "account":
            analyst = entry.body["analyst"]
            yield str(entry.body["people"]), None if analyst is None else str(analyst)


def _document(people: str, analyst: str | None, account: BudgetView) -> dict[str, object]:
    return {
        "people": people,
        "analyst": analyst,
        "kind": account.kind,
        "total": account.total.figures(up=False, digits=15),
        "spent": account.spent.figures(up=True, digits=15),
        "left": account.left.figures(up=False, digits=15),
    }
