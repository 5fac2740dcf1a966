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


def key_with_rows(question: str, rows: int | None, *, where_first: bool = False) -> str:
    """A question whose asker stated how many rows of each owner count: with another limit it is another question."""
    of = {"of": "rows that conditions keep"} if where_first else {}
    return json.dumps({"question": question, "rows_per_owner": rows, **of})


def key_by_error(question: str, error: Fraction, confidence: Fraction) -> str:
    """A question that was answered because the answers stored under its own name err by more."""
    return json.dumps({"question": question, "error": str(error), "confidence": str(confidence)})


def profile_key(people: str, table: str) -> str:
    """The first question of a profile: how many owners have how many rows, in powers of two."""
    return json.dumps({"profile": table, "people": people, "rows": True}, sort_keys=True)


def histogram_key(people: str, table: str, counted_by: str, edges: Iterable[int]) -> str:
    """Another histogram of a profile: what its owners are counted by, and where its bins begin."""
    what = {"profile": table, "people": people, "histogram": counted_by, "edges": [*edges]}
    return json.dumps(what, sort_keys=True)
