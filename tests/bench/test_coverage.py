"""Stated intervals hold the exact answer as often as they say: the short form of bench/coverage.py.

Heavy owners sit in one group, so that whoever guesses what limits leave out guesses wrong. All tests together fail a
correct program with probability 1e-9 at most. `DITHER_CAMPAIGN=100` multiplies the repetitions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dither as dt

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # last: a module there is called coverage, as a package is
from coverage_repetitions import Setting, Shown, Template, measure, shown, stated
from coverage_statistics import Tally, claims, rejected
from coverage_tables import Asked, Subject
from coverage_visits import Visits

FAMILY = 1e-9 / 4
REPETITIONS = 25 * int(os.environ.get("DITHER_CAMPAIGN", "1"))
LEVELS = ("0.9", "0.99")
MOST, HEAVY, KEPT = 1000, 100, 10  # rows of an owner as declared, there are, and to which the planted scaling limits


def rows(drawn: np.random.Generator) -> Any:
    return np.concatenate([drawn.integers(1, 3, 800), drawn.integers(70, HEAVY + 1, 60)])


SUBJECT = Visits("a few heavy owners", MOST, rows, heavy=50, calls=4).subject()
Made = Callable[[str], tuple[Template, Subject, dict[str, Any]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    data = tmp_path_factory.mktemp("data")
    SUBJECT.make(data)
    exact, templates = SUBJECT.exact(data), {}

    def template(budget: str) -> tuple[Template, Subject, dict[str, Any]]:
        if budget not in templates:
            templates[budget] = Template(SUBJECT, budget, data, tmp_path_factory.mktemp(budget))
        return templates[budget], SUBJECT, exact

    yield template
    for one in templates.values():
        one.engine.end()


def setting(budget: str, profile: str) -> Setting:
    """After a profile that is expensive enough to certify that few rows are left out of cheap plans."""
    return Setting(budget, "1", profile, times=60)


def too_low(made: Made, budget: str, profile: str, read: Any = stated, kinds: tuple[str, ...] = ()) -> list[Any]:
    template, subject, exact = made(budget)
    asked = [
        one
        for one in subject.asked
        if not (one.private_keys and budget == "PureDP") and (not kinds or one.kind in kinds)
    ]
    found = measure(template, exact, setting(budget, profile), asked, REPETITIONS, LEVELS, read)
    by_text = {one.sql: one.selects for one in asked}
    counted = [claims(text, tally, level, by_text[text]) for (text, _, level), tally in found.items()]
    return rejected([test for each in counted for test in each], FAMILY)


@pytest.mark.parametrize("budget", ["PureDP", "ApproxDP", "basic"])
def test_intervals_hold_the_exact_answer(made: Made, budget: str) -> None:
    assert too_low(made, budget, "columns") == []


@pytest.mark.parametrize("budget", ["PureDP", "ApproxDP", "basic"])
def test_plans_leave_rows_out_here(made: Made, budget: str) -> None:
    """Otherwise the intervals would have nothing to hold but noise. A profile may be unlucky; not every one of ten."""
    template, subject, _ = made(budget)

    def limited(number: int) -> bool:
        with template.fresh(f"plan {number}") as curator:
            template.profile(curator, setting(budget, "columns"))
            planned = curator.explain(subject.asked[0].sql, epsilon=1).to_dict()
        return bool(planned["rows_per_owner"] < MOST)

    assert any(map(limited, range(10)))


def test_one_factor_for_all_groups_is_caught(made: Made) -> None:
    """The scaling of old, with the factor that is exactly right for all rows together."""
    owned = rows(np.random.default_rng(20261))
    factor = owned.sum() / np.minimum(owned, KEPT).sum()

    def scaled(curator: dt.Curator, asked: Asked, epsilon: str, levels: Sequence[str]) -> Iterator[Shown]:
        for level in levels:
            answer = curator.sql(asked.sql, epsilon=epsilon, confidence=level, rows_per_owner=KEPT)
            for cell in shown(asked, answer, level, answer.noise):
                yield Shown(cell.asked, cell.column, level, cell.keys, cell.lower * factor, cell.upper * factor)

    found = too_low(made, "ApproxDP", "none", scaled, ("COUNT",))
    assert any("r7" in test.cell for test in found)


def test_the_noise_alone_is_caught(made: Made) -> None:
    """Where a question states fewer rows of an owner than heavy ones have, as peers' intervals do."""

    def alone(curator: dt.Curator, asked: Asked, epsilon: str, levels: Sequence[str]) -> Iterator[Shown]:
        for level in levels:
            named: dict[str, Any] = {"confidence": level, "rows_per_owner": asked.rows_per_owner}
            answer = curator.sql(asked.sql, epsilon=epsilon, **named)
            yield from shown(asked, answer, level, answer.noise)

    found = too_low(made, "ApproxDP", "columns", alone, ("a stated K",))
    assert any("r7" in test.cell for test in found)


def test_intervals_of_selected_groups_at_their_own_level_are_caught() -> None:
    """Of 200 groups with nothing in them, the five with the most noise: what LIMIT did before it widened intervals."""
    drawn = np.random.default_rng(1)
    tally, pick = Tally(), np.random.default_rng(2)
    for _ in range(REPETITIONS):
        noisy = np.sort(drawn.normal(0, 1, 200))[-5:]
        tally.add([(str(n),) for n in range(5)], noisy - 1.96, noisy + 1.96, np.zeros(5), pick)
    assert rejected(claims("LIMIT", tally, "0.95", True), FAMILY)
