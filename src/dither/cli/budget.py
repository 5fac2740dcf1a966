"""`dither budget`: what was granted, what is spent and what is left."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.errors import PolicyError

if TYPE_CHECKING:
    from dither import Curator
    from dither.budgets import Amount, BudgetView

_DESCRIPTION = """\
Show budgets: of all people and analysts, or of those named. Spent is rounded up and
left is rounded down. Under zcdp, rho adds up and the bar counts it; epsilon is what
that rho is worth, which does not add up."""

_EXAMPLES = """\
  dither budget clinic
  dither budget clinic --analyst alice --json"""

_WIDTH = 30


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
    spent, total = _currency(account.spent), _currency(account.total)
    share = spent / total if total else Fraction(1)
    full = -(-_WIDTH * share.numerator // share.denominator)
    bar = "#" * full + "." * (_WIDTH - full)
    return "\n".join(
        [
            f"{name}: {_amount(account.total, up=False)}",
            f"  [{bar}] {float(share):.1%} spent: {_amount(account.spent, up=True)}",
            f"  left: {_amount(account.left, up=False)}",
        ]
    )


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


def _currency(amount: Amount) -> Fraction:
    """What adds up in this kind of budget."""
    return (amount.epsilon or Fraction(0)) if amount.rho is None else amount.rho


def _parts(amount: Amount) -> Iterator[tuple[str, Fraction]]:
    for name, value in (("epsilon", amount.epsilon), ("delta", amount.delta), ("rho", amount.rho)):
        if value is not None:
            yield name, value


def _amount(amount: Amount, *, up: bool) -> str:
    return ", ".join(f"{name} {decimal_text(value, up=up)}" for name, value in _parts(amount))


def _document(people: str, analyst: str | None, account: BudgetView) -> dict[str, object]:
    def plain(amount: Amount, up: bool) -> dict[str, str]:
        return {name: decimal_text(value, up=up, digits=15) for name, value in _parts(amount)}

    return {
        "people": people,
        "analyst": analyst,
        "kind": account.kind,
        "total": plain(account.total, False),
        "spent": plain(account.spent, True),
        "left": plain(account.left, False),
    }


def decimal_text(value: Fraction, *, up: bool, digits: int = 4) -> str:
    """A few significant digits, rounded to the side that promises less.

    >>> decimal_text(Fraction(1, 3), up=True), decimal_text(Fraction(1, 3), up=False)
    ('0.3334', '0.3333')
    """
    with localcontext(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR):
        number = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
    return f"{number:f}" if Decimal("0.0001") <= abs(number) < 10**digits or not number else f"{number:e}"
