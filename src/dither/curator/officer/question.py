"""One question of the statement, whole: what was asked, planned and paid, and the answer that was released."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.errors import DitherError
from dither.escape import visible, visible_lines

if TYPE_CHECKING:
    from dither.curator.officer.statement import Line
    from dither.curator.walk import Walk
    from dither.ledger import Reservation

_CONFIDENCE = Fraction(19, 20)
_MOST_VALUES = 20  # of a release that is shown as it is stored


@dataclass(frozen=True)
class WholeQuestion:
    """A line of the statement with everything behind it."""

    line: Line
    snapshot: str
    answer: str | None  # as it is shown now; None: there is none

    def document(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**self.line.document(), "snapshot": self.snapshot, "released": self.answer}

    def __str__(self) -> str:
        line = self.line
        said = {
            "question": str(line.number),
            "reserved": f"{line.reserved} UTC" if line.reserved else "not recorded",
            "analyst": line.analyst or "(curator)",
            "people": line.people,
            "tables": self.snapshot,
            "request": line.request or "none",
            "price": line.shown_price,
            "state": line.state,
            "answer": line.answer or "none",
        }
        parts = [f"{name + ':':10}{visible(value)}" for name, value in said.items()]
        parts += ["", visible_lines(line.sql)]
        return "\n".join(parts + ([] if self.answer is None else ["", self.answer]))

    __repr__ = __str__


def whole(walk: Walk, line: Line, reservation: Reservation) -> WholeQuestion:
    """The question behind a line."""
    stored = reservation.answer
    shown = None if stored is None else _presented(walk, reservation, stored) or _as_stored(stored)
    return WholeQuestion(line, reservation.snapshot, shown)


def _presented(walk: Walk, reservation: Reservation, stored: bytes) -> str | None:
    """The answer as its asker saw it, if the text still means the question that the release answers."""
    from dither.curator.present import present
    from dither.sql.text.dialects.vocabularies import VOCABULARIES

    meant, rows = _asked(reservation.question)
    for dialect in (None, *VOCABULARIES):  # which one it was in is not recorded; its meaning is
        try:
            question = walk.read(reservation.analyst, reservation.sql or "", dialect)
            if question.canonical() == meant:
                return str(present(question, stored, _CONFIDENCE, rows_per_owner=rows))
        except DitherError:  # tables are gone, or declared otherwise; or it computes with answers
            continue
    return None


def _asked(key: str) -> tuple[str, int | None]:
    """What the ledger calls a question, without what was stated with it; and the rows of each owner, if stated."""
    rows = None
    while "question" in (found := json.loads(key)):
        key, rows = found["question"], found.get("rows_per_owner", rows)
    return key, rows


def _as_stored(stored: bytes) -> str:
    """The noisy numbers as the ledger has them."""
    from dither.answer.noisy_measures import Released

    released, lines = Released.from_bytes(stored), ["released, as stored:"]
    for measure in released.measures:
        values = [str(int(value)) for value in measure.values[:_MOST_VALUES]]
        more = ["..."] if len(measure.values) > _MOST_VALUES else []
        lines.append(visible(f"  {measure.measure}: {', '.join([*values, *more])}"))
    return "\n".join(lines)
