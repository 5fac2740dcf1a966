"""What is remembered is remembered of one object, and for one asker: bounded, and in nobody else's way."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import weakref
from dataclasses import replace

import pytest

import dither
from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Int
from dither.sql.binding.reading import Readings, read, weight
from dither.sql.memo import MOST, remembered

TABLE = Table("t", "people", "uid", 9, {"age": Int(0, 120)}, 1)
CATALOG = Catalog({"t": TABLE})
TEXT = "SELECT SUM(age) FROM t"
GROUPED = f"{TEXT} GROUP BY age"


class Plan:
    """Something that never changes, equal to all others."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan)

    __hash__ = object.__hash__


def test_results_are_of_the_very_object_and_its_other_arguments():
    calls = []

    @remembered
    def ask(first: object, *others: object, **named: object) -> object:
        calls.append((others, named))
        return object()

    one, equal = Plan(), Plan()
    assert ask(one) is ask(one)
    assert ask(one) is not ask(equal)  # equal, and another object
    assert ask(one, 2) is not ask(one, 3)
    assert ask(one, k=2) is ask(one, k=2)
    assert len(calls) == 5


def test_functions_do_not_share_what_they_remember():
    one = Plan()
    assert [remembered(lambda _, number=number: number)(one) for number in (1, 2)] == [1, 2]


def test_tuples_are_told_apart_although_they_begin_alike_and_take_the_place_of_others():
    one = Plan()
    ask = remembered(lambda first: len(first))
    for size in [*range(1, 40)] * 3:
        assert ask((one, *(Plan() for _ in range(size)))) == size + 1  # ids are given out again and again


def test_what_is_remembered_is_bounded_and_goes_with_its_object():
    @remembered
    def ask(first: object, other: int) -> Plan:
        return Plan()

    one = Plan()
    for number in range(1000):
        ask(one, number)
    assert sum(len(kept) for kept in vars(one).values()) <= MOST
    gone = weakref.ref(ask(one, 1))
    assert gone() is not None
    del one
    gc.collect()
    assert gone() is None


def test_failures_are_not_remembered():
    tried = []

    @remembered
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


def test_so_is_its_size(monkeypatch):
    long = f"{TEXT} WHERE age < 7 AND {' OR '.join(['age = 9'] * 50)}"
    monkeypatch.setattr(Readings, "MOST_BYTES", 3 * weight(long, read(long, CATALOG)))
    readings = Readings()
    for number in range(10):
        readings.read("alice", long.replace("7", str(number)), CATALOG)
        assert len(readings._known["alice"]) <= 3
    assert len(readings._known["alice"]) == 1
    assert weight(TEXT, read(TEXT, CATALOG)) < weight(GROUPED, read(GROUPED, CATALOG)) - 121 * 60, "keys weigh too"


def test_every_other_cache_of_the_library_is_bounded():
    for module in pkgutil.walk_packages(dither.__path__, "dither."):
        if module.name.startswith(("dither.sql", "dither.noise", "dither.mechanisms", "dither.accounting")):
            found = vars(importlib.import_module(module.name))
            sizes = [cached.cache_parameters()["maxsize"] for cached in found.values() if hasattr(cached, "cache_info")]
            assert all(size is not None and size <= 1024 for size in sizes), module.name
