"""What mechanisms of the local model share: every respondent is by themselves, and who responds is public."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError, RelationMismatch
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive
from dither.neighbours import Relation
from dither.sensitivity.columns.reading import listed, place_of

UNDECLARED = -1  # the place of an answer that is none of the values


@dataclass(frozen=True, init=False, repr=False)
class Respondents(Frozen):
    """The values that can be answered, and epsilon for each respondent under replace."""

    epsilon: Fraction
    values: tuple[Hashable, ...]
    relation: Relation

    def __init__(
        self, *, epsilon: Number, values: Sequence[Hashable] = (0, 1), relation: Relation | str = Relation.REPLACE
    ) -> None:
        held = Relation.read(relation)
        if held is not Relation.REPLACE:
            raise RelationMismatch(
                "the local model protects what a respondent answers, not who responds: "
                f"its relation is replace, not {held.value}."
            )
        if isinstance(values, (str, bytes)) or len(set(values)) != len(values) or len(values) < 2:
            raise ParameterError("give at least two different values that can be answered, as values=[...].")
        self._keep(epsilon=positive(epsilon, "epsilon"), values=tuple(values), relation=held)

    def _is_single(self, answers: Any) -> bool:
        """Text, a number and the like are one answer; a tuple too if the declared values are tuples. By type alone."""
        kinds = {str, bytes, *map(type, self.values)}
        return isinstance(answers, tuple(kinds)) or not isinstance(answers, Iterable)

    def _positions(self, answers: Iterable[Any]) -> npt.NDArray[np.int64]:
        known = {value: i for i, value in enumerate(self.values)}
        places = (place_of(answer, known) for answer in answers)
        return np.array([UNDECLARED if place is None else place for place in places], np.int64)


def listed_answers(answers: Any) -> list[Any]:
    """A list, an array or a column of answers or reports as a list."""
    if isinstance(answers, (str, bytes)) or not isinstance(answers, Iterable):
        raise ParameterError("give reports as a list, an array or a column.")
    return listed(answers)
