"""`dither ledger verify`, `show` and `restore`: entries checked against key and anchor, read, or counted as spent."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.curator.budgets import decimal_text
from dither.escape import visible

if TYPE_CHECKING:
    from dither.ledger import Entry

_VERIFY = """\
Check every entry of the ledger against its key, its chain, the budgets and the
anchor. A ledger that was edited, cut or rolled back is reported and not served."""

_VERIFY_EXAMPLES = """\
  dither ledger verify clinic
  dither ledger verify clinic --anchor /safe/clinic.anchor"""

_SHOW = """\
Show every entry of the ledger, one a line: budgets granted, tables loaded and dropped,
questions charged (at their exact cost) and how each ended. It tells who asked what, so
it is for the curator. Answers are not in it."""

_SHOW_EXAMPLES = """\
  dither ledger show clinic
  dither ledger show clinic --json"""

_RESTORE = """\
Go on with an older copy of a ledger whose newest copy is lost, or with none: everything
that the anchor has seen spent counts as spent. Answers since the copy are lost, and
nothing is answered about anybody until you have looked at the budgets and thawed them
(dither thaw). Use it only if no newer copy can be found: that one is refused from then on."""

_RESTORE_EXAMPLES = """\
  dither ledger restore clinic
  dither ledger restore clinic --anchor /safe/clinic.anchor"""


def add(commands: Commands) -> None:
    examples = f"{_VERIFY_EXAMPLES}\n{_SHOW_EXAMPLES}\n{_RESTORE_EXAMPLES}"
    about = "What can be done with the ledger."
    ledger = command(commands, "ledger", "check, show or restore the ledger", description=about, examples=examples)
    ledger.set_defaults(run=lambda _: ledger.print_help())
    actions = ledger.add_subparsers(title="actions", metavar="ACTION")
    for name, summary, description, shown, run in (
        ("verify", "check the whole ledger", _VERIFY, _VERIFY_EXAMPLES, verify),
        ("show", "show its entries", _SHOW, _SHOW_EXAMPLES, show),
        ("restore", "count what was lost as spent", _RESTORE, _RESTORE_EXAMPLES, restore),
    ):
        parser = command(actions, name, summary, description=description, examples=shown)
        add_folder(parser)
        add_json(parser)
        parser.set_defaults(run=run)


def verify(arguments: argparse.Namespace) -> None:
    """Print how many entries were found intact; an error otherwise."""
    with open_curator(arguments) as curator:
        entries = curator.verify()
    if arguments.json:
        print_json({"entries": entries, "intact": True})
    else:
        print(f"the ledger of {arguments.folder} is intact: {entries:,} {_entries(entries)}.")


def restore(arguments: argparse.Namespace) -> None:
    """Count as spent what the anchor has seen and the ledger has not."""
    from dither.ledger import Ledger

    Ledger.restore(arguments.folder, anchor=arguments.anchor)
    if arguments.json:
        print_json({"restored": str(arguments.folder)})
    else:
        print(f"what the anchor of {arguments.folder} has seen spent is spent; all people are frozen.")


def show(arguments: argparse.Namespace) -> None:
    """Print the entries in order."""
    with open_curator(arguments) as curator:
        entries = list(curator.ledger())
    if arguments.json:
        print_json([{"sequence": entry.sequence, "kind": entry.kind, "body": dict(entry.body)} for entry in entries])
        return
    width = len(str(entries[-1].sequence))
    for entry in entries:
        print(visible(f"{entry.sequence:>{width}}  {entry.kind:8}  {_about(entry)}").rstrip())


def _about(entry: Entry) -> str:
    """What an entry says, in words; exact costs are shortened upward."""
    body = entry.body
    whose = str(body.get("people", "")) if body.get("analyst") is None else f"{body['analyst']} (of {body['people']})"
    if entry.kind == "account":
        terms: Any = body["terms"]
        stated = ", ".join(f"{name} {_figure(terms[name])}" for name in ("epsilon", "delta") if name in terms)
        return f"{whose}: {stated}, {body['kind']}"
    if entry.kind == "reserve":
        request = "" if body["request"] is None else f", request {body['request']}"
        asked = " ".join(str(body.get("sql", body["question"])).split())
        delta = "" if body["delta"] == "0" else f", delta {_figure(body['delta'])}"
        return f"{whose}: cost {_figure(body['cost'])}{delta}{request}, {body['snapshot']}: {asked}"
    if entry.kind == "restore":
        return f"goes on after entry {body['sequence']}, up to which the anchor has seen what was spent"
    if "reservation" in body:
        return f"question {body['reservation']}"
    return ", ".join(f"{name} {value}" for name, value in body.items())


def _figure(exact: object) -> str:
    return decimal_text(Fraction(str(exact)), up=True)


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"
