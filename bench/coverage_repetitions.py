"""One repetition: a fresh curator, a fresh profile, every question once, and its intervals at every level.

What is random is made anew in each repetition by production code: a curator's folder, the profile with its charges,
the plans that follow from it, noise, and how an answer is presented. What is not random is done once, and remembered:
a folder is a copy of one in which the tables were registered; what a text asks, and its price where there is no
profile; and exact aggregates by statement, sealed as they are. Other levels than the first are presented from the same
release, as the same question asked again would be, which is free. From the second repetition of a run on, an answer is
presented from its bytes as they would be stored, without a charge; in the first it is charged, settled and read back.
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
from dither.curator.run import release
from dither.sql.binding.reading import Readings
from dither.sql.pricing.price import PricedQuestion

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


class Prices:
    """What a text asks at a price, if no profile decides how it is planned: the same in all repetitions."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def of(self, price: Callable[..., Any], *asked: Any, **stated: Any) -> Any:
        key = (*asked, *sorted(stated.items()))
        if key not in self._known:
            self._known[key] = price(*asked, **stated)
        return self._known[key]


class Template:
    """A folder with registered tables and one budget, from which each repetition starts afresh."""

    def __init__(self, subject: Subject, budget: str, data: Path, folder: Path) -> None:
        from dither.engines.duckdb.engine import DuckDBEngine
        from dither.engines.routing import Engines

        self.subject, self.budget, self._folder, self._scratch = subject, budget, folder / "template", folder
        with dt.Curator.open(self._folder) as curator, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a budget of 100 is for a bench
            curator.people("all", budget=BUDGETS[budget])
            subject.register(curator, data)
        snapshots = self._folder / "snapshots"
        self.engine = Remembering(Engines(DuckDBEngine(snapshots), snapshots))
        self._readings, self._prices = Readings(), Prices()

    def fresh(self, name: str) -> dt.Curator:
        """A curator who has never been asked anything."""
        folder = self._scratch / name
        shutil.copytree(self._folder, folder, ignore=shutil.ignore_patterns("snapshots"))
        curator = dt.Curator.open(folder)
        curator._engine.close()
        curator._engine = self.engine
        curator._walk._readings = self._readings
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
            if setting.profile == "none":
                curator._walk.price = partial(self._prices.of, curator._walk.price)  # type: ignore[method-assign]
            for one in asked:
                yield from read(curator, one, setting.epsilon, levels)
        shutil.rmtree(self._scratch / name)


Read = Callable[[dt.Curator, Asked, str, Sequence[str]], Iterator[Shown]]


def charged(curator: dt.Curator, asked: Asked, epsilon: str, levels: Sequence[str]) -> Iterator[Shown]:
    """The intervals that an answer states: what `Walk.ask` does, but at several levels."""
    priced, stored, _ = curator._walk.answer(None, _pricing(curator, asked, epsilon, levels), None, asked.sql)
    yield from _presented(asked, priced, stored, levels)


def stated(curator: dt.Curator, asked: Asked, epsilon: str, levels: Sequence[str]) -> Iterator[Shown]:
    """The same without a charge."""
    priced = _pricing(curator, asked, epsilon, levels)()
    limits = curator.limits()
    stored = release(priced, curator._engine, limits.max_cells).within(limits.max_answer_bytes).to_bytes()
    yield from _presented(asked, priced, stored, levels)


def _pricing(curator: dt.Curator, asked: Asked, epsilon: str, levels: Sequence[str]) -> Callable[[], PricedQuestion]:
    named = {"rows_per_owner": asked.rows_per_owner, "over_groups": asked.over_groups}
    return partial(curator._walk.price, asked.sql, None, epsilon=epsilon, confidence=Fraction(levels[0]), **named)


def _presented(asked: Asked, priced: PricedQuestion, stored: bytes, levels: Sequence[str]) -> Iterator[Shown]:
    for level in levels:
        named = {"rows_per_owner": asked.rows_per_owner, "over_groups": asked.over_groups}
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
    read: Read | None = None,
) -> dict[tuple[str, int, str], Tally]:
    """By question, column and level, how often the exact answer was inside of the intervals that are read."""
    tallies: dict[tuple[str, int, str], Tally] = {}
    pick = np.random.default_rng()
    for number in range(repetitions):
        reading = read or (stated if number else charged)
        for cell in template.repetition(setting, number, asked, levels, reading):
            known = exact[cell.asked.sql]
            truth = np.array([known[k][cell.column] if k in known else cell.asked.empty for k in cell.keys])
            tally = tallies.setdefault((cell.asked.sql, cell.column, cell.level), Tally())
            tally.add(cell.keys, cell.lower, cell.upper, truth, pick)
    return tallies
