"""The price and error of a text that computes with answers, before anything is paid: those of its parts together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dither.exact.digits import counted
from dither.sql.over.engine_text import engine_text
from dither.sql.over.over_question import OverQuestion
from dither.sql.over.provenance import traced
from dither.sql.pricing.explain import explain
from dither.sql.pricing.explanation import Explanation
from dither.sql.pricing.price import PricedQuestion

_FREE = "What is computed from the noisy answer costs nothing: asked otherwise over the same questions, it is free."


def explain_parts(
    over: OverQuestion, priced: Sequence[PricedQuestion], confidence: Fraction, asked: Mapping[str, str]
) -> Explanation:
    """One explanation of all parts: the columns of each, what they share of the price, and the price once."""
    each = [explain(one, confidence).content for one in priced]
    content: dict[str, Any] = dict(each[0])
    total = sum((one.price.cost for one in priced), Fraction(0))
    columns, notes = [], []
    for number, (part, one, found) in enumerate(zip(over.parts, priced, each, strict=True), 1):
        labels = dict(part.labels)
        for column in found["columns"]:
            name = labels.get(column["name"], column["name"])
            columns.append({**column, "name": name if len(each) == 1 else f"question {number}: {name}"})
        if len(each) > 1:
            share = float(one.price.cost / total)
            notes.append(f"Question {number} gets {share:.3g} of the price: {part.text}")
        notes += [note for note in found["notes"] if note not in notes]
    if len(each) > 1:
        groups = [found["groups"] for found in each]
        content |= {
            "tables": list(dict.fromkeys(table for found in each for table in found["tables"])),
            "groups": None if None in groups else sum(groups),
            "selected_keys": next((found["selected_keys"] for found in each if found["selected_keys"]), None),
            "price": {**asked, priced[0].currency: f"{float(total):.15g}"},
            "strategy": f"{counted(len(each), 'question')} are asked of people for one price.",
            "menu": [],
            "structure": [],
        }
    statements = [sql for found in each for sql in found["statements"]]
    content |= {
        "columns": columns,
        "notes": [*notes, _FREE],
        "statements": [*statements, engine_text(traced(over, lists=False).tree)],
    }
    return Explanation(content)
