"""`dither init`: a curator's folder, people and their budget, and caps for analysts."""

from __future__ import annotations

import argparse

from dither.cli.common import Commands, add_budget, add_folder, command, open_curator, read_budget

_DESCRIPTION = """\
Make a curator's folder and name the people it will protect, with one budget for
everything that will ever be asked about them. A budget is never changed or reset;
naming the same people with the same budget again changes nothing.

With --analyst, cap what one analyst may spend of it instead."""

_EXAMPLES = """\
  dither init clinic --people patients --epsilon 4 --delta 1e-6
  dither init clinic --people patients --analyst alice --epsilon 1 --delta 1e-6
  dither init census --people residents --epsilon 2 --pure
  dither init clinic --people staff --epsilon 1 --delta 1e-6 --anchor /safe/clinic.anchor"""


def add(commands: Commands) -> None:
    parser = command(
        commands, "init", "make a folder, people and budgets", description=_DESCRIPTION, examples=_EXAMPLES
    )
    add_folder(parser)
    parser.add_argument("--people", required=True, help="the name of those whose privacy is protected")
    parser.add_argument("--analyst", help="cap what this analyst may spend of the people's budget")
    add_budget(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Everything is checked before anything is made."""
    budget = read_budget(arguments)
    with open_curator(arguments, create=arguments.analyst is None) as curator:
        if arguments.analyst is not None:
            curator.analyst(arguments.analyst, budget=budget, people=arguments.people)
            print(f"{arguments.analyst} may spend up to {_shown(arguments)} of the budget of {arguments.people}.")
            return
        curator.people(arguments.people, budget=budget)
    print(f"{arguments.folder} protects {arguments.people} with a budget of {_shown(arguments)}.")
    print(f"Next: dither register {arguments.folder} TABLE FILE --people {arguments.people} --owner COLUMN ...")


def _shown(arguments: argparse.Namespace) -> str:
    return f"epsilon {arguments.epsilon}" + (f" at delta {arguments.delta}" if arguments.delta else "")
