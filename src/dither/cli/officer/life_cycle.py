"""`dither freeze`, `thaw`, `lower`, `grant` and `close`: the life of an account, each step an entry of the ledger."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dither.cli.accounts import shown
from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json

if TYPE_CHECKING:
    from dither import Curator
    from dither.curator.budgets import Budget
    from dither.ledger.officer.orders import Order

_FREEZE = """\
Answer nothing new about these people, or to one analyst about them, until they are thawed.
Answers that were paid for can still be asked for again. People freeze by themselves after
some incidents: questions whose statement had to be stopped, or was late."""

_THAW = """\
Answer questions about these people again, and count incidents from none; or those of one
analyst. Each incident can have told its asker one bit about one person: look first at who
asked what, with dither ledger show."""

_LOWER = """\
Give people, or an analyst, less from now on: never less than is spent, nor of people less
than is reserved for analysts. What an analyst no longer has is free for others again."""

_GRANT = """\
Give people, or an analyst, more, or the budget of a new period. The epsilon stated is
what the account has in all from then on. Only an officer's signature does this: with
--key in one step; or --draft writes an order, `dither officer sign` signs it wherever the
key is, and --order carries it out."""

_CLOSE = """\
Charge nothing more about these people, or to an analyst about them, for good: nothing
opens them again. Answers that were paid for can still be asked for again."""


def add_freeze(commands: Commands) -> None:
    _add(commands, "freeze", "answer nothing new about people, or to an analyst", _FREEZE, freeze, reason=False)


def add_thaw(commands: Commands) -> None:
    _add(commands, "thaw", "answer questions about frozen people again", _THAW, freeze, reason=False)


def add_close(commands: Commands) -> None:
    _add(commands, "close", "charge an account no more, for good", _CLOSE, close)


def add_lower(commands: Commands) -> None:
    parser = _add(commands, "lower", "give an account less from now on", _LOWER, lower, more=" --epsilon 2")
    _add_budget(parser, required=True)


def add_grant(commands: Commands) -> None:
    parser = _add(
        commands, "grant", "give an account more, by signature", _GRANT, grant, more=" --epsilon 6 --key officer.pem"
    )
    parser.set_defaults(parser=parser)
    for action in parser._actions:
        if action.dest in ("people", "reason"):  # an order says them
            action.required = False
            action.nargs = "?" if action.dest == "people" else None
    _add_budget(parser, required=False)
    parser.add_argument("--key", type=Path, metavar="FILE", help="the officer's private key, kept outside the folder")
    parser.add_argument("--draft", type=Path, metavar="FILE", help="write an order to be signed, and change nothing")
    parser.add_argument("--order", type=Path, metavar="FILE", help="carry out an order that was signed")


def _add(
    commands: Commands,
    name: str,
    summary: str,
    description: str,
    run: object,
    *,
    reason: bool = True,
    more: str = "",
) -> argparse.ArgumentParser:
    why = ' --reason "2027: epsilon 2 more"' if name == "grant" else ' --reason "the study has ended"' if reason else ""
    examples = f"  dither {name} clinic patients{more}{why}\n  dither {name} clinic patients --analyst alice{more}{why}"
    parser = command(commands, name, summary, description=description, examples=examples)
    add_folder(parser)
    parser.add_argument("people", help="whom the tables tell about")
    parser.add_argument("--analyst", help="only this analyst's account")
    default = None if reason else "by the curator"
    parser.add_argument("--reason", required=reason, default=default, help="why; it stands in the ledger for good")
    add_json(parser)
    parser.set_defaults(run=run, action=name)
    return parser


def _add_budget(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--epsilon", required=required, help="what the account has in all from then on")
    parser.add_argument("--delta", help="its delta in all; as it was, unless stated")


def freeze(arguments: argparse.Namespace) -> None:
    """Freeze or thaw."""
    done = "frozen" if arguments.action == "freeze" else "thawed"
    with open_curator(arguments) as curator:
        stated = {"analyst": arguments.analyst, "reason": arguments.reason}
        getattr(curator, arguments.action)(arguments.people, **stated)
    _print(arguments, done, f"{arguments.people} are {done}.")


def close(arguments: argparse.Namespace) -> None:
    """Close an account."""
    with open_curator(arguments) as curator:
        curator.officer.close(arguments.people, arguments.analyst, reason=arguments.reason)
    _print(arguments, "closed", f"{arguments.people} are closed for good.")


def lower(arguments: argparse.Namespace) -> None:
    """Lower a cap."""
    with open_curator(arguments) as curator:
        budget = _budget(curator, arguments)
        curator.officer.lower(arguments.people, arguments.analyst, budget=budget, reason=arguments.reason)
        _show(curator, arguments)


def grant(arguments: argparse.Namespace) -> None:
    """Raise a cap by an order: drafted, signed here, or signed elsewhere."""
    stated = [name for name in ("people", "epsilon", "reason") if getattr(arguments, name) is None]
    given = [name for name in ("key", "draft", "order") if getattr(arguments, name) is not None]
    if len(given) != 1:
        arguments.parser.error("give one of --key, --draft and --order")
    if arguments.order is None and stated:
        arguments.parser.error(f"the following arguments are required: {', '.join(stated)}")
    with open_curator(arguments) as curator:
        if arguments.order is not None:
            order, signature = read_order(arguments.order)
            curator.officer.carry_out(order, signature)
            arguments.people, arguments.analyst = order.body.get("people"), order.body.get("analyst")
        else:
            asked = {"budget": _budget(curator, arguments), "reason": arguments.reason}
            if arguments.draft is not None:
                order = curator.officer.draft(arguments.people, arguments.analyst, **asked)
                write_order(arguments.draft, order, None)
                print(f"{arguments.draft} is to be signed: dither officer sign {arguments.draft} --key FILE")
                return
            curator.officer.grant(arguments.people, arguments.analyst, key=arguments.key, **asked)
        if arguments.people is not None:  # an order can be about the officer's key
            _show(curator, arguments)


def read_order(path: Path) -> tuple[Order, str]:
    """The order in a file, and its signature; "" if it has none."""
    from dither.ledger.officer.orders import Order

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    return Order.read(found), str(found.get("signature") or "")


def write_order(path: Path, order: Order, signature: str | None) -> None:
    """An order as a file."""
    path.write_text(json.dumps(order.document(signature), indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _budget(curator: Curator, arguments: argparse.Namespace) -> Budget:
    from dither.curator.officer.decisions import changed

    known = curator._accounts.budget(arguments.people, arguments.analyst)
    return changed(known, arguments.epsilon, arguments.delta)


def _show(curator: Curator, arguments: argparse.Namespace) -> None:
    view = curator.budget(arguments.people, arguments.analyst)
    if arguments.json:
        figures = {"granted": view.total.figures(up=False, digits=15), "changes": list(view.changes)}
        print_json({"people": arguments.people, "analyst": arguments.analyst, **figures})
    else:
        print(str(view).replace("granted", shown((arguments.people, arguments.analyst)), 1))


def _print(arguments: argparse.Namespace, done: str, words: str) -> None:
    if arguments.json:
        who = {} if arguments.analyst is None else {"analyst": arguments.analyst}
        print_json({done: arguments.people, **who})
    elif arguments.analyst is None:
        print(words)
    else:
        print(f"{shown((arguments.people, arguments.analyst))} is {words.partition(' are ')[2]}")
