"""A coverage run that was stopped goes on where it was, and its shortcut states the same intervals."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # last: a module there is called coverage, as a package is
from coverage_repetitions import Setting, Template, charged, stated
from coverage_results import Results
from coverage_statistics import Tally
from coverage_tables import Asked
from coverage_visits import Visits

SETTING = Setting("PureDP", "1", "none")
ASKED = (Asked("COUNT", "first"), Asked("HAVING", "second", selects=True))


def tally(held: int, repetitions: int) -> Tally:
    return Tally(repetitions, {("a",): held}, {("a",): repetitions}, held, [1.5] * repetitions)


def test_what_was_found_is_added_up_over_runs(tmp_path: Path) -> None:
    path = tmp_path / "coverage.jsonl"
    results = Results(path)
    assert results.least("t", SETTING, ASKED, ["0.95"]) == 0
    results.add("t", SETTING, ASKED, {("first", 0, "0.95"): tally(3, 4), ("second", 0, "0.95"): tally(4, 4)})
    again = Results(path)
    assert again.figures == results.figures
    assert again.least("t", SETTING, ASKED, ["0.95"]) == 4
    again.add("t", SETTING, ASKED[:1], {("first", 0, "0.95"): tally(5, 6)})
    (place,) = [place for place in Results(path).figures if place.sql == "first"]
    found = Results(path).figures[place]["0.95"]
    assert (found.repetitions, found.held, len(found.widths)) == (10, {("a",): 8}, 10)
    assert again.least("t", SETTING, ASKED, ["0.95"]) == 4, "the other question has had no more"
    assert again.least("t", SETTING, ASKED[:1], ["0.95"]) == 10
    assert again.least("t", SETTING, ASKED, ["0.95", "0.99"]) == 0
    assert again.least("t", Setting("PureDP", "0.1", "none"), ASKED, ["0.95"]) == 0


def test_a_line_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "coverage.jsonl"
    Results(path).add("t", SETTING, ASKED, {("first", 0, "0.95"): tally(3, 4)})
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2])
    assert Results(path).least("t", SETTING, ASKED[:1], ["0.95"]) == 4
    assert path.read_text() == whole


def test_answers_without_a_charge_have_the_intervals_of_those_that_are_charged(tmp_path: Path) -> None:
    """As wide, by question and level: the numbers themselves have noise of their own."""
    subject = Visits("small", 20, lambda drawn: drawn.integers(1, 9, 60), heavy=8, calls=4).subject()
    data, folder = tmp_path / "data", tmp_path / "curators"
    data.mkdir()
    folder.mkdir()
    subject.make(data)
    template, asked = Template(subject, "PureDP", data, folder), [subject.asked[0], subject.asked[1]]
    widths = [
        [(cell.asked.sql, cell.level, (cell.upper - cell.lower).tolist()) for cell in found]
        for number, read in enumerate((charged, stated))
        for found in [list(template.repetition(SETTING, number, asked, ("0.95", "0.5"), read))]
    ]
    template.engine.end()
    assert widths[0] == widths[1]
    assert len(widths[0]) == 4
    assert all(np.isfinite(width).all() for _, _, width in widths[0])
