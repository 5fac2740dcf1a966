"""The charges of an account, from its entries in the ledger, as a picture brings them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.curator.budgets import BudgetView

if TYPE_CHECKING:
    from dither.ledger import Entry

_CURATOR = "the curator"


def budget_chart(entries: Iterable[Entry], seen: BudgetView, people: str, analyst: str | None) -> Any:
    """An altair chart of what an account has spent over time; over its questions, where their times are not known.

    What was reserved counts as spent, answered or not. Times are those that were written with a charge: informative.
    """
    from dither.plot.budgets import Spent, budget

    charges = [
        entry.body
        for entry in entries
        if entry.kind == "reserve"
        and entry.body["people"] == people
        and (analyst is None or entry.body["analyst"] == analyst)
    ]
    temporal = bool(charges) and all(isinstance(body.get("time"), int) for body in charges)
    whole = seen.total.adding
    drawn = [
        Spent(
            datetime.fromtimestamp(int(str(body["time"])), UTC).isoformat() if temporal else number,
            str(body["analyst"] or _CURATOR),
            float(Fraction(str(body["cost"])) / whole) if whole else 0.0,
        )
        for number, body in enumerate(charges, 1)
    ]
    title = f"The budget of {people}" if analyst is None else f"What {analyst} has spent on {people}"
    said = f"granted {seen.total.shown(up=False)}; left {seen.left.shown(up=False)}"
    return budget(title, said, drawn, temporal=temporal)
