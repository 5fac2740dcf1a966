"""The noise of single cells of answers, and of what is added up from them: intervals of what is linear in them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from dither.answer import Answer, Value
from dither.answer.noisy_measures import Released
from dither.curator.answer_columns import Allowance, Columns
from dither.sql.over.over_question import Part
from dither.sql.over.terms_of_cells import MOST_COLUMNS
from dither.sql.plan.question import Output
from dither.sql.postprocess.left_out import Bounds
from dither.sql.postprocess.noise_of_sums import reach_of_terms
from dither.sql.postprocess.recorded_mechanisms import Mechanism, mechanism_from

Term = tuple[int, float]  # the number of a cell, and its factor


@dataclass(frozen=True, eq=False)
class PartAnswer:
    """A part as it was answered: the stored release, the rows shown of it, and the number of the first one."""

    part: Part
    stored: bytes
    answer: Answer
    first: int
    charged: bool = False

    @cached_property
    def columns(self) -> Columns:
        return Columns(Released.from_bytes(self.stored))

    @cached_property
    def outputs(self) -> list[Output]:
        """The noisy columns of its table, in their order."""
        question = self.part.question
        return [question.outputs[item.index] for item in question.order if item.kind == "output"]

    def value(self, place: int, share: Fraction) -> Value | None:
        """A noisy column as it is shown, its intervals for rows of which noise shows this share; None: has none."""
        shown = [column for column in self.answer.columns if isinstance(column, Value)]
        found = next((one for one in shown if one.name == self.outputs[place].name), None)
        if share == 1 or found is None or self.part.question.after is not None or self.answer.covers != "each":
            return found if share == 1 else None
        return self.columns.value(self.outputs[place], Allowance(1 - self.answer.confidence, share))


@dataclass(frozen=True, eq=False)
class Cells:
    """All cells of the parts of one text."""

    parts: Sequence[PartAnswer]

    def place(self, cell: int) -> tuple[int, int, int]:
        """The number of a cell's part, its row there, and its place among the noisy columns."""
        row, column = divmod(cell, MOST_COLUMNS)
        number = next(place for place in range(len(self.parts) - 1, -1, -1) if self.parts[place].first <= row)
        return number, row - self.parts[number].first, column

    @cached_property
    def _releases(self) -> list[int]:
        """For each part the first one with its release: asked for under other names, it is the same noise."""
        stored = [part.stored for part in self.parts]
        return [stored.index(one) for one in stored]

    def half_widths(self, terms: Sequence[Term], missed: Fraction) -> tuple[float, float] | None:
        """How far the exact number may lie below and above a sum of cells; None where that is not known."""
        noises: dict[tuple[int, str, int], float] = defaultdict(float)
        mechanisms: dict[tuple[int, str, int], Mechanism] = {}
        below, above = 0.0, 0.0
        for cell, factor in terms:
            number, row, column = self.place(cell)
            known = self._linear(number, column)
            if known is None:
                return None
            for text, mechanism, coefficient in known.measures:
                drawn = self._releases[number], text, row
                noises[drawn] += factor * coefficient * known.unit
                mechanisms[drawn] = mechanism
            for end, side in zip(known.left, (-1, 1), strict=True):
                far = math.inf if end is None else abs(end) * abs(factor) * known.unit
                below, above = (below + far, above) if side * factor < 0 else (below, above + far)
        width = reach_of_terms([(mechanisms[key], factor) for key, factor in noises.items()], missed)
        return None if width is None else (width + below, width + above)

    @lru_cache(maxsize=256)  # noqa: B019 - as long as one answer is made
    def _linear(self, number: int, place: int) -> _Linear | None:
        """What a column of a part is a sum of; None where it is none, or where noise chose its rows."""
        part = self.parts[number]
        if not part.part.question.public or part.part.question.after is not None or part.answer.covers != "each":
            return None
        found = part.columns.linear(part.outputs[place], Allowance(1 - part.answer.confidence))
        shown = part.value(place, Fraction(1))
        if found is None or shown is None:
            return None
        measured, left = found
        named = tuple((item.measure, mechanism_from(item.mechanism), factor) for item, factor in measured)
        return _Linear(named, left, 10.0**-shown.decimals)


class _Linear(NamedTuple):
    """The measures of a column with their coefficients, what was left out of it, and what one of its units is worth."""

    measures: tuple[tuple[str, Mechanism, int], ...]
    left: Bounds
    unit: float
