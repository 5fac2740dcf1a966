"""`dither init`: a curator's folder, people and their budget, and caps for analysts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dither.accounting import PureDP
from dither.cli.accounts import Account, accounts, shown
from dither.cli.common import Commands, add_budget, add_folder, command, open_curator, read_budget
from dither.curator.budgets import Budget, cap_of, decimal_text
from dither.errors import PolicyError

if TYPE_CHECKING:
    from dither import Curator

_DESCRIPTION = """\
Make a curator's folder and name the people it will protect, with one budget for
everything that will ever be asked about them. A budget is never changed or reset;
naming the same people with the same budget again changes nothing.

With --analyst, make an analyst instead, and reserve what this one may spend of that
budget. Such a cap is of the same kind, and has the same share of delta as of epsilon
unless another delta is given. Caps together may exceed the budget only if --oversubscribe
was given with the people: then what others have spent can show.

With --from, draft a policy file instead, from the names and types of a file's columns
and never from its values; what only values could tell is left to fill in."""

_EXAMPLES = """\
  dither init clinic --people patients --epsilon 4 --delta 1e-6
  dither init clinic --people patients --analyst alice --epsilon 1
  dither init census --people residents --epsilon 2 --pure
  dither init clinic --people staff --epsilon 1 --delta 1e-6 --anchor /safe/clinic.anchor
  dither init clinic --from visits.parquet"""


def add(commands: Commands) -> None:
    parser = command(
        commands, "init", "make a folder, people and budgets", description=_DESCRIPTION, examples=_EXAMPLES
    )
    add_folder(parser)
    parser.add_argument(
        "--ledger", metavar="ADDRESS", help="keep the ledger of a new folder in PostgreSQL: postgresql://HOST/DATABASE"
    )
    parser.add_argument("--people", help="the name of those whose privacy is protected")
    parser.add_argument("--analyst", help="make this analyst, with a cap on what may be spent of the people's budget")
    parser.add_argument(
        "--oversubscribe", action="store_true", help="allow caps of analysts that together exceed these people's budget"
    )
    parser.add_argument(
        "--from",
        dest="sources",
        action="append",
        type=Path,
        metavar="FILE",
        help="draft a policy file for this .parquet or .csv file without reading its values; may be repeated",
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="where the draft is written (default: FOLDER.toml beside the folder)",
    )
    add_budget(parser, required=False)
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> None:
    """Everything is checked before anything is made."""
    if arguments.sources is not None:
        _draft(arguments)
        return
    if arguments.policy is not None:
        arguments.parser.error("--policy says where the draft of --from is written")
    missing = [flag for flag in ("people", "epsilon") if getattr(arguments, flag) is None]
    if missing:
        arguments.parser.error(f"the following arguments are required: {', '.join('--' + flag for flag in missing)}")
    if arguments.analyst is not None:
        if arguments.oversubscribe:
            arguments.parser.error("--oversubscribe is said of people, not of an analyst")
        _cap(arguments)
        return
    budget = read_budget(arguments)
    _account(arguments)  # names are checked too before there is a folder
    with open_curator(arguments, create=True) as curator, _readable(curator, arguments):
        curator.people(arguments.people, budget=budget, oversubscribe=arguments.oversubscribe)
        largest = _largest(curator, arguments)
    print(f"{arguments.folder} protects {arguments.people} with a budget of {_shown(budget)}.{largest}")
    print(f"Next: dither register {arguments.folder} TABLE FILE --people {arguments.people} --owner COLUMN ...")


def _draft(arguments: argparse.Namespace) -> None:
    """Write a policy file to fill in; an existing file is never touched."""
    from dither.curator.policy_files import draft

    if arguments.analyst is not None:
        arguments.parser.error("--analyst cannot be given with --from; write the cap into the draft")
    if arguments.oversubscribe:
        arguments.parser.error("--oversubscribe cannot be given with --from; write oversubscribe = true into the draft")
    file = arguments.policy or Path(f"{arguments.folder}.toml")
    if file.suffix != ".toml":
        raise PolicyError(f"a draft is TOML: name it {file.with_suffix('.toml')}, say; got {file}.")
    budget = None
    if arguments.epsilon is not None:
        read_budget(arguments)
        stated = {"epsilon": arguments.epsilon, "delta": arguments.delta, "composition": arguments.composition}
        budget = {name: value for name, value in stated.items() if value} | ({"pure": "true"} if arguments.pure else {})
    text = draft(arguments.sources, file, people=arguments.people or "people", budget=budget)
    try:
        with open(file, "x", encoding="utf-8") as made:
            made.write(text)
    except FileExistsError:
        raise PolicyError(f"{file} exists already; choose another place with --policy, or remove it.") from None
    print(f"{file} is drafted. Fill it in, then: dither register {arguments.folder} --policy {file}")


def _cap(arguments: argparse.Namespace) -> None:
    """Make an analyst; what is not stated about the cap follows from the people's budget."""
    with open_curator(arguments) as curator, _readable(curator, arguments):
        people = accounts(curator).get((_account(arguments)[0], None))
        if isinstance(people, PureDP):
            arguments.pure = arguments.pure or (arguments.delta is None and arguments.composition is None)
        elif people is not None and not arguments.pure:
            arguments.delta = arguments.delta or cap_of(people, arguments.epsilon).delta
            arguments.composition = arguments.composition or people.composition
        cap = read_budget(arguments)
        curator.analyst(arguments.analyst, budget=cap, people=arguments.people)
        largest = _largest(curator, arguments)
    print(f"{arguments.analyst} may spend up to {_shown(cap)} of the budget of {arguments.people}.{largest}")


def _largest(curator: Curator, arguments: argparse.Namespace) -> str:
    """Under rho a single question cannot state all of the epsilon, so say what it can."""
    account = curator.budget(*_account(arguments))
    if account.kind != "zcdp" or not account.free.epsilon:
        return ""
    return f" One question may state epsilon {decimal_text(account.free.epsilon, up=False)} at most."


@contextmanager
def _readable(curator: Curator, arguments: argparse.Namespace) -> Iterator[None]:
    """Where the account has another budget already, say which."""
    try:
        yield
    except PolicyError:
        account = _account(arguments)
        granted = accounts(curator).get(account)
        if granted is None:
            raise
        raise PolicyError(
            f"{shown(account)} already has a budget of {_shown(granted)}, and init never changes one; dither lower and "
            "dither grant do."
        ) from None


def _account(arguments: argparse.Namespace) -> Account:
    from dither.ledger.checks import canonical_names

    return canonical_names(arguments.people, arguments.analyst)


def _shown(budget: Budget) -> str:
    epsilon = f"epsilon {decimal_text(budget.epsilon, up=False, digits=6)}"
    if isinstance(budget, PureDP):
        return f"{epsilon}, pure"
    adding = ", basic composition" if budget.composition == "basic" else ""
    return f"{epsilon} at delta {decimal_text(budget.delta, up=False, digits=6)}{adding}"
