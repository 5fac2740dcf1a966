"""One text for one question, however it is worded. `normal` has already given equal meanings equal expressions."""

from __future__ import annotations

import json

from dither.sql.question import Question


def canonical(question: Question) -> str:
    """JSON of the relation, the keys, the measures of each output, and the order of columns.

    Aliases, letter case, comments and layout are gone. The snapshot is not part of it: the ledger adds that. Nor is
    what is done after the noise.
    """
    parts = {
        "people": json.dumps(question.people),
        "from": question.source.text,
        "keys": f"[{','.join(key.code.text for key in question.keys)}]",
        "outputs": f"[{','.join(output.aggregate.text for output in question.outputs)}]",
        "order": json.dumps([f"{shown.kind} {shown.index}" for shown in question.order]),
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}"
