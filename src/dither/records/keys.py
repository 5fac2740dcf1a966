"""What the ledger finds a stored answer by, together with its snapshot: every form that a question's name has.

These texts are permanent. They have no version: another form is another name, under which nothing is stored yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction


def question_key(people: str, source: str, keys: Iterable[str], outputs: Iterable[str], order: Iterable[str]) -> str:
    """A question, from the texts of its parts."""
    parts = {
        "people": json.dumps(people),
        "from": source,
        "keys": f"[{','.join(keys)}]",
        "outputs": f"[{','.join(outputs)}]",
        "order": json.dumps(list(order)),
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}"


def key_with_rows(question: str, rows: int | None) -> str:
    """A question whose asker stated how many rows of each owner count: with another limit it is another question."""
    return json.dumps({"question": question, "rows_per_owner": rows})


def key_unadjusted(question: str) -> str:
    """A question whose answer is not scaled up for what a limit leaves out."""
    return json.dumps({"question": question, "adjust": False})


def key_by_error(question: str, error: Fraction, confidence: Fraction) -> str:
    """A question that was answered because the answers stored under its own name err by more."""
    return json.dumps({"question": question, "error": str(error), "confidence": str(confidence)})


def profile_key(people: str, table: str, column: str | None) -> str:
    """One question of a profile: about the rows of owners, or about a column."""
    what = {"rows": True} if column is None else {"column": column}
    return json.dumps({"profile": table, "people": people, **what}, sort_keys=True)
