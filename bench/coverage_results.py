"""What runs have found so far, in a file that is added to: a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from coverage_repetitions import Setting
from coverage_statistics import Tally
from coverage_tables import Asked


class Place(NamedTuple):
    """Where a column of numbers was asked for: the setting, and the question."""

    table: str
    budget: str
    epsilon: str
    profile: str
    kind: str
    sql: str
    column: int
    selects: bool

    def __str__(self) -> str:
        return f"{self.table}, {self.budget}, epsilon {self.epsilon}, profile {self.profile}: {self.sql}"


Figures = Mapping[Place, Mapping[str, Tally]]


class Results:
    """By place, by level, what all runs in a file found together. A line has all that some repetitions found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.figures: dict[Place, dict[str, Tally]] = {}
        written = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = written[: written.rfind("\n") + 1]
        if whole != written:  # it was stopped while it wrote
            path.write_text(whole, encoding="utf-8")
        for line in whole.splitlines():
            self._take(json.loads(line))

    def least(self, table: str, setting: Setting, asked: Sequence[Asked], levels: Sequence[str]) -> int:
        """How many repetitions all of these questions have had at all of these levels."""
        found: dict[tuple[str, str], int] = {}
        for place, by_level in self.figures.items():
            if (place.table, place.budget, place.epsilon, place.profile) == (table, *_named(setting)):
                found.update({(place.sql, level): tally.repetitions for level, tally in by_level.items()})
        return min((found.get((one.sql, level), 0) for one in asked for level in levels), default=0)

    def add(
        self, table: str, setting: Setting, asked: Sequence[Asked], found: Mapping[tuple[str, int, str], Tally]
    ) -> None:
        by_text = {one.sql: one for one in asked}
        record = []
        for (text, column, level), tally in found.items():
            place = Place(table, *_named(setting), by_text[text].kind, text, column, by_text[text].selects)
            record.append({"place": place, "level": level, **tally.to_dict()})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self._take(record)

    def _take(self, record: Sequence[Mapping[str, object]]) -> None:
        for one in record:
            by_level = self.figures.setdefault(Place(*one["place"]), {})  # type: ignore[misc]
            by_level.setdefault(str(one["level"]), Tally()).merge(one)


def _named(setting: Setting) -> tuple[str, str, str]:
    return setting.budget, setting.epsilon, setting.profile
