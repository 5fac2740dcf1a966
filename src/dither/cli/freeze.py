"""`dither freeze` and `dither thaw`: whether anything new is answered about people."""

from __future__ import annotations

import argparse

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json

_FREEZE = """\
Answer nothing new about these people until they are thawed. Answers that were paid for
can still be asked for again. People freeze by themselves after some incidents: questions
whose statement had to be stopped, or was late."""

_THAW = """\
Answer questions about these people again, and count incidents from none. Each incident
can have told its asker one bit about one person: look first at who asked what, with
dither ledger show."""


def add_freeze(commands: Commands) -> None:
    _add(commands, "freeze", "answer nothing new about people", _FREEZE)


def add_thaw(commands: Commands) -> None:
    _add(commands, "thaw", "answer questions about frozen people again", _THAW)


def _add(commands: Commands, name: str, summary: str, description: str) -> None:
    parser = command(commands, name, summary, description=description, examples=f"  dither {name} clinic patients")
    add_folder(parser)
    parser.add_argument("people", help="whom the tables tell about")
    add_json(parser)
    parser.set_defaults(run=run, action=name)


def run(arguments: argparse.Namespace) -> None:
    """Freeze or thaw."""
    done = "frozen" if arguments.action == "freeze" else "thawed"
    with open_curator(arguments) as curator:
        getattr(curator, arguments.action)(arguments.people)
    if arguments.json:
        print_json({done: arguments.people})
    else:
        print(f"{arguments.people} are {done}.")
