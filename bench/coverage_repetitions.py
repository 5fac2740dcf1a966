"""One repetition: a fresh curator, a fresh profile, every question once, and its intervals at every level.

What is production code: all of it but three shortcuts. Opening a folder, profiling, reading, planning, pricing,
charging, noise, settling and presenting are those of `Curator.open`, `profile` and `sql`. The shortcuts: a repetition's
folder is a copy of one in which the tables were registered once, so that ranks within owners are the same in all; exact
aggregates, which have no randomness, are remembered by statement, sealed as they are; and other levels than the first
are presented from the stored release at once, as the same question asked again would be, which is free.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dither as dt
from coverage_statistics import Tally
from coverage_tables import Asked, Subject
from dither.accounting.currency.currency import Currency
from dither.answer import Answer
from dither.curator.present import present

Floats = NDArray[np.float64]
LEVELS = ("0.95", "0.5", "0.9", "0.99")  # asked at the first, which the plan is made for
BUDGETS = {
    "PureDP": dt.PureDP(100),
    "ApproxDP": dt.ApproxDP(100, "1e-6"),
    "basic": dt.ApproxDP(100, "1e-6", composition="basic"),
}
PROFILE_EPSILON = "0.3"  # three times the cheaper question; where rhos add up, nine times its rho
CHEAPER = "0.1"


@dataclass(frozen=True)
class Setting:
    """Under which budget questions are asked, at which price, and after a profile of what: none, rows or columns."""

    budget: str
    epsilon: str
    profile: str
    times: int = 1  # the usual price of the profile

    def __str__(self) -> str:
        return f"{self.budget}, epsilon {self.epsilon}, {'no profile' if self.profile == 'none' else self.profile}"


class Remembering:
    """An engine that runs a statement once, and then hands out the same sealed result again."""

    def __init__(self, engine: Any) -> None:
        self._engine, self._known = engine, {}

    def run(self, statement: Any) -> Any:
        key = statement.sql, statement.steps
        if key not in self._known:
            self._known[key] = self._engine.run(statement)
        return self._known[key]

    def close(self) -> None:
        """Curators come and go; the engine stays until `end`."""

    def end(self) -> None:
        self._engine.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@dataclass(frozen=True)
class Shown:
    """The cells of one column at one level, under their keys."""

    asked: Asked
    column: int
    level: str
    keys: list[tuple[str, ...]]
    lower: Floats
    upper: Floats


class Template:
    """A folder with registered tables and one budget, from which each repetition starts afresh."""

    def __init__(self, subject: Subject, budget: str, data: Path, folder: Path) -> None:
        from dither.engines.duckdb.engine import DuckDBEngine

        self.subject, self.budget, self._folder, self._scratch = subject, budget, folder / "template", folder
        with dt.Curator.open(self._folder) as curator, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a budget of 100 is for a bench
            curator.people("all", budget=BUDGETS[budget])
            subject.register(curator, data)
        self.engine = Remembering(DuckDBEngine(self._folder / "snapshots"))

    def fresh(self, name: str) -> dt.Curator:
        """A curator who has never been asked anything."""
        folder = self._scratch / name
        shutil.copytree(self._folder, folder, ignore=shutil.ignore_patterns("snapshots"))
        curator = dt.Curator.open(folder)
        curator._engine.close()
        curator._engine = self.engine
        return curator

    def profile(self, curator: dt.Curator, setting: Setting) -> None:
        """The profile that a setting wants, of rows alone or with one column."""
        if setting.profile == "none":
            return
        currency = Currency.of(BUDGETS[self.budget])
        cost = Fraction(PROFILE_EPSILON)
        if currency.kind == "zcdp":
            cost = 9 * currency.price_of(epsilon=CHEAPER).cost
        share = f"{float(setting.times * cost / currency.cap_cost):.15f}"
        columns = (self.subject.column,) if setting.profile == "columns" else ()
        curator.profile(self.subject.profiled, share=share, columns=columns)

    def repetition(
        self, setting: Setting, number: int, asked: Sequence[Asked], levels: Sequence[str], read: Read
    ) -> Iterator[Shown]:
        """Every question once, under a curator and a profile of this repetition alone."""
        name = f"repetition {number}"
        with self.fresh(name) as curator:
            self.profile(curator, setting)
            for one in asked:
                yield from read(curator, one, setting.epsilon, levels)
        shutil.rmtree(self._scratch / name)


Read = Callable[[dt.Curator, Asked, str, Sequence[str]], Iterator[Shown]]


def stated(curator: dt.Curator, asked: Asked, epsilon: str, levels: Sequence[str]) -> Iterator[Shown]:
    """The intervals that an answer states: what `Walk.ask` does, but at several levels."""
    walk = curator._walk
    first, limited = Fraction(levels[0]), asked.rows_per_owner
    pricing = partial(walk.price, asked.sql, None, epsilon=epsilon, confidence=first, rows_per_owner=limited)
    priced, stored, _ = walk.answer(None, pricing, None, asked.sql)
    for level in levels:
        named = {"rows_per_owner": limited, "over_groups": asked.over_groups}
        answer = present(priced.question, stored, Fraction(level), **named)
        yield from shown(asked, answer, level, answer.interval)


def shown(asked: Asked, answer: Answer, level: str, interval: Callable[[str], Any]) -> Iterator[Shown]:
    """Intervals of every column of numbers; a missing end is infinite: nothing is claimed there."""
    named = [column.shown().tolist() for column in answer.columns[: asked.keys]]
    keys = [tuple(map(str, key)) for key in zip(*named, strict=True)] if named else [()] * len(answer)
    for place, column in enumerate(answer.columns[asked.keys :]):
        ends = interval(column.name)
        yield Shown(asked, place, level, keys, _end(ends.lower, -np.inf), _end(ends.upper, np.inf))


def _end(values: NDArray[Any], missing: float) -> Floats:
    numbers = np.array([missing if value is None else float(value) for value in values.tolist()])
    return np.where(np.isnan(numbers), missing, numbers)


def measure(
    template: Template,
    exact: Mapping[str, Mapping[tuple[str, ...], Sequence[float]]],
    setting: Setting,
    asked: Sequence[Asked],
    repetitions: int,
    levels: Sequence[str] = LEVELS,
    read: Read = stated,
) -> dict[tuple[str, int, str], Tally]:
    """By question, column and level, how often the exact answer was inside."""
    tallies: dict[tuple[str, int, str], Tally] = {}
    pick = np.random.default_rng()
    for number in range(repetitions):
        for cell in template.repetition(setting, number, asked, levels, read):
            known = exact[cell.asked.sql]
            truth = np.array([known[k][cell.column] if k in known else cell.asked.empty for k in cell.keys])
            tally = tallies.setdefault((cell.asked.sql, cell.column, cell.level), Tally())
            tally.add(cell.keys, cell.lower, cell.upper, truth, pick)
    return tallies
