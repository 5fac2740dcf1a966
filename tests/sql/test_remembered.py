"""What is remembered is remembered of one object, and for one asker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dither.columns import Int
from dither.errors import UnsupportedQuery
from dither.sql.catalog import Catalog, Table
from dither.sql.read import Readings
from dither.sql.remembered import remembered

TABLE = Table("t", "people", "uid", 9, {"age": Int(0, 120)}, 1)
CATALOG = Catalog({"t": TABLE})
TEXT = "SELECT SUM(age) FROM t"


class Counted:
    def __init__(self) -> None:
        self.calls: list[object] = []

    def __call__(self, first: object, *others: object, **named: object) -> object:
        self.calls.append((first, others, named))
        return object()


def test_results_are_of_the_very_object_and_its_other_arguments():
    counted = Counted()
    ask = remembered(8)(lambda first, *others, **named: counted(first, *others, **named))
    one, equal = [1], [1]
    assert ask(one) is ask(one)
    assert ask(one) is not ask(equal)  # equal, and another object
    assert ask(one, 2) is not ask(one, 3)
    assert ask(one, k=2) is ask(one, k=2)
    assert len(counted.calls) == 5


def test_memory_is_bounded_and_never_confuses_objects_that_were_made_one_after_another():
    ask = remembered(4)(lambda first: tuple(first))
    for number in range(1000):
        assert ask([number]) == (number,)  # ids are given out again and again


def test_failures_are_not_remembered():
    tried = []

    @remembered(4)
    def ask(first: object) -> object:
        tried.append(first)
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            ask(CATALOG)
    assert len(tried) == 2


def test_a_question_is_read_once_for_each_asker():
    readings = Readings()
    first = readings.read("alice", TEXT, CATALOG)
    assert readings.read("alice", TEXT, CATALOG) is first
    assert readings.read("bob", TEXT, CATALOG) is not first  # the time must not tell what others ask
    assert readings.read(None, TEXT, CATALOG) is not first
    assert readings.read("alice", TEXT, CATALOG, dialect="mysql") is not first


def test_a_question_is_read_anew_when_declarations_change():
    readings = Readings()
    before = readings.read("alice", TEXT, CATALOG)
    for later in (
        replace(TABLE, snapshot=2),
        replace(TABLE, columns={"age": Int(0, 90)}),
        replace(TABLE, key=("age",)),
    ):
        after = readings.read("alice", TEXT, Catalog({"t": later}))
        assert after is not before
        assert after.tables == (later,)


def test_what_was_refused_is_refused_again():
    readings = Readings()
    for text in ("SELECT age FROM t", 7, ["x"], None):
        for _ in range(2):
            with pytest.raises(UnsupportedQuery):
                readings.read("alice", text, CATALOG)


def test_the_memory_of_questions_is_bounded(monkeypatch):
    monkeypatch.setattr(Readings, "MOST", 3)
    readings = Readings()
    kept = readings.read("bob", TEXT, CATALOG)
    for number in range(10):
        readings.read("alice", f"{TEXT} WHERE age < {number}", CATALOG)
        assert len(readings._known["alice"]) <= 3
    assert readings.read("bob", TEXT, CATALOG) is kept  # whoever asks much takes no room from others
