"""A text that computes with answers: the questions that it asks of people, and what is done with their noisy rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dither.policy.catalog import PublicTable
from dither.sql.plan.question import Question
from dither.sql.text.source import Source


@dataclass(frozen=True)
class Part:
    """One question of people, exactly as it would be asked alone, and the table that its noisy rows become.

    `text` is what to ask to read its answer alone, and `labels` are the analyst's words for columns that have other
    names. `weight` is how many levels of a ROLLUP are computed from it. `present` keeps the rows alone whose number of
    owners is above zero for sure: it asks which keys there are.
    """

    table: str
    question: Question
    text: str
    labels: tuple[tuple[str, str], ...] = ()
    weight: int = 1
    present: bool = False

    @property
    def columns(self) -> tuple[tuple[str, bool], ...]:
        """The names of the table's columns, and whether each is noisy."""
        shown = self.question.order
        if self.present:
            shown = tuple(item for item in shown if item.kind == "key")
        return tuple(
            (self.question.keys[item.index].name, False)
            if item.kind == "key"
            else (self.question.outputs[item.index].name, True)
            for item in shown
        )


@dataclass(frozen=True)
class OverQuestion:
    """The parts, and the query over their tables: every table that it names is one of them, or a public one."""

    text: str
    parts: tuple[Part, ...]
    outer: exp.Query
    source: Source
    prefix: str  # with which names begin that no text has
    public: Mapping[str, PublicTable] = field(default_factory=dict)

    @property
    def people(self) -> str:
        return self.parts[0].question.people
