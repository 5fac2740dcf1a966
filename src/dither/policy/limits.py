"""What one question may take: work that follows from its plan before it is charged, and a circuit breaker above that.

None of these protects a secret by itself. They keep the time and memory that a question takes, which may depend on one
person's rows, so far from their ends that nobody can tell by a failure whether that person is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from dither.errors import PolicyError
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive, whole


@dataclass(frozen=True, kw_only=True)
class Limits(Frozen):
    """The limits of one curator's folder; stated once, and for every question from then on.

    Refused before the charge, from declarations and the plan alone: `max_cells` (groups times measures of an answer),
    `max_join_rows_per_owner` (rows of one owner that a join may make before they are limited), `max_growth` (rows that
    joins make and aggregates hold for each row that is read), `max_characters` (of all texts computed for each row),
    `max_held_characters` (of texts that joins and groups hold for each row, if its tables have no longer ones),
    `max_answer_bytes` (stored for one answer) and `max_stored_bytes` (for all questions of one analyst).

    The circuit breaker: a statement that takes more than `statement_memory` bytes is stopped, and so is one that takes
    more than is left of the `statement_seconds` of computing that all statements of a question have together. That, and
    any other failure once data were read, is an incident; after `max_incidents` the people's questions are refused
    until they are thawed. `workers` is how many statements run at once, of one analyst all but one of them, and
    `wait_seconds` how long a question waits for one before it is refused. With `answer_on_grid`, in seconds, when an
    answer is given follows from its plan alone, and a question waits for a worker only as long as that leaves.
    """

    max_cells: int = 5_000_000
    max_join_rows_per_owner: int = 10_000
    max_growth: int = 128
    max_characters: int = 65_536
    max_held_characters: int = 2_048
    max_answer_bytes: int = 256 * 2**20
    max_stored_bytes: int = 4 * 2**30
    statement_memory: int = 4 * 2**30
    statement_seconds: int = 600
    max_incidents: int = 3
    workers: int = 4
    wait_seconds: int = 10
    answer_on_grid: Number | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "answer_on_grid":
                whole(getattr(self, field.name), field.name)
        if self.answer_on_grid is not None:
            self._keep(answer_on_grid=positive(self.answer_on_grid, "answer_on_grid"))

    def patience(self, own: float | None = None) -> float:
        """How long a question waits for a worker, of which its own patience may leave less."""
        return self.wait_seconds if own is None else min(own, self.wait_seconds)

    def declaration(self) -> dict[str, int | str | None]:
        """As JSON can hold it; `limits_from` reads it."""
        stated = asdict(self)
        grid = stated["answer_on_grid"]
        return {**stated, "answer_on_grid": None if grid is None else str(Fraction(grid))}


def limits_from(declared: Mapping[str, Any]) -> Limits:
    """The limits that `declaration` wrote; what it does not name has its default."""
    unknown = set(declared) - {field.name for field in fields(Limits)}
    if unknown:
        raise PolicyError(f"{min(unknown)!r} is not a limit; limits are: {', '.join(f.name for f in fields(Limits))}.")
    return Limits(**declared)
