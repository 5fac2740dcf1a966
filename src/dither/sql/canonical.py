"""One text for one question, however it is worded. `normal` has already given equal meanings equal expressions."""

from __future__ import annotations

from dither.records.keys import question_key
from dither.sql.question import Question


def canonical(question: Question) -> str:
    """JSON of the relation, the keys, the measures of each output, and the order of columns.

    Aliases, letter case, comments and layout are gone. The snapshot is not part of it: the ledger adds that. Nor is
    what is done after the noise.
    """
    return question_key(
        question.people,
        question.source.text,
        (key.code.text for key in question.keys),
        (output.aggregate.text for output in question.outputs),
        (f"{shown.kind} {shown.index}" for shown in question.order),
    )
