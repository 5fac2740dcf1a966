"""`dither budget`: what was granted, what is spent and what is left."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dither.cli.accounts import Account, accounts, shown
from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.serving.remote import remote_service
from dither.cli.usage import RemoteParser
from dither.errors import PolicyError

if TYPE_CHECKING:
    from dither.curator.budgets import BudgetView

_DESCRIPTION = """\
Show budgets: of all people and analysts, or of those named. Granted = spent + left, in
what the budget counts in: epsilon, or under zcdp rho; spent is rounded up. Epsilon is then
what that rho is worth, which does not add up. What caps of analysts reserve of the people's
budget is left, but only they may spend it. Every grant and lowering is listed."""

_EXAMPLES = """\
  dither budget clinic
  dither budget clinic --analyst alice --json"""


def add(commands: Commands) -> None:
    parser = command(commands, "budget", "show what is spent and left", description=_DESCRIPTION, examples=_EXAMPLES)
    add_folder(parser)
    parser.add_argument("--people", help="only these people")
    if not isinstance(parser, RemoteParser):
        parser.add_argument("--analyst", help="only this analyst's cap")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the accounts that were asked for."""
    views = _views(arguments)
    if arguments.json:
        print_json([_document(people, analyst, view) for (people, analyst), view in views])
        return
    for account, view in views:
        print(budget_text(shown(account), view))


def budget_text(name: str, account: BudgetView) -> str:
    """An account in a few lines, with a bar."""
    return str(account).replace("granted", name, 1)


def _views(arguments: argparse.Namespace) -> list[tuple[Account, BudgetView]]:
    if arguments.url is not None:
        views = remote_service(arguments).accounts()
        chosen = _of_people([*views], arguments.people)
        return [(account, views[account]) for account in chosen]
    with open_curator(arguments) as curator:
        known = list(accounts(curator))
        analyst = None if arguments.analyst is None else curator.analyst(arguments.analyst).name
        known = [account for account in known if analyst in (None, account[1])]
        return [(account, curator.budget(*account)) for account in _of_people(known, arguments.people)]


def _of_people(known: list[Account], stated: str | None) -> list[Account]:
    people = None if stated is None else stated.lower()
    chosen = [account for account in known if people in (None, account[0])]
    if not chosen:
        listed = ", ".join(shown(account) for account in known)
        raise PolicyError(f"there is no such budget; there are: {listed or 'none'}.")
    return chosen


def _document(people: str, analyst: str | None, account: BudgetView) -> dict[str, object]:
    return {
        "people": people,
        "analyst": analyst,
        "kind": account.kind,
        "total": account.total.figures(up=False, digits=15),
        "spent": account.spent.figures(up=True, digits=15),
        "left": account.left.figures(up=False, digits=15),
        "unreserved": account.free.figures(up=False, digits=15),
        "state": account.state,
        "changes": list(account.changes),
    }
