"""A tag says what is written of a class, for good; whatever can stand in a record has one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args, get_type_hints

import pytest

from dither.policy.catalog import PublicTable, Table
from dither.policy.columns import Column
from dither.records import recorded, tags, text_of
from dither.records.tags import tagged
from dither.sql.expressions import Expression
from dither.sql.expressions.base import Boolean, Numeric, Opaque, Textual
from dither.sql.expressions.choices import Several
from dither.sql.expressions.numbers import Binary, Divided
from dither.sql.plan.aggregates import Aggregator
from dither.sql.plan.nodes import Aggregate, Choice, Measure, Node
from dither.sql.postprocess.formulas.terms import Condition, Term
from dither.sql.postprocess.recorded_mechanisms import _RECORDED, Mechanism
from dither.sql.postprocess.value_column import ValueColumn

# What all of a kind have in common: none of them stands anywhere by itself.
BASES = {Expression, Numeric, Opaque, Boolean, Textual, Binary, Divided, Several, Term, Condition}
BASES |= {Node, Measure, Choice, Aggregator}
NOT_RECORDED = {Aggregate, Table, PublicTable, Column, ValueColumn}  # a plan's end; written by name; declarations


@pytest.fixture(autouse=True)
def _own_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tags, "_TAGS", dict(tags._TAGS))


def subclasses(kind: type) -> Iterator[type]:
    yield kind
    for sub in kind.__subclasses__():
        if sub.__module__.startswith("dither."):
            yield from subclasses(sub)


def parts_of(hint: Any) -> Iterator[type]:
    """The classes of ours in a type."""
    if isinstance(hint, type) and hint.__module__.startswith("dither."):
        yield hint
    for inner in get_args(hint):
        yield from parts_of(inner)


def reachable(*roots: type) -> set[type]:
    """These classes and their subclasses, and whatever can stand in a field of one of them."""
    found: set[type] = set()
    left = list(roots)
    while left:
        for kind in set(subclasses(left.pop())) - found - NOT_RECORDED:
            found.add(kind)
            held = {part for hint in get_type_hints(kind).values() for part in parts_of(hint)}
            left += held - NOT_RECORDED
    return found


def check_all_tagged() -> None:
    found = reachable(Node, Expression, Aggregator, Measure)
    assert len(found) > 90
    assert not found - BASES - set(tagged())
    assert not BASES & set(tagged())
    assert set(_RECORDED) == set(get_args(Mechanism))


def test_whatever_can_be_recorded_has_a_tag() -> None:
    check_all_tagged()


def test_planted_bug_a_class_without_a_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    check_all_tagged()
    for kind in list(tagged()):
        with monkeypatch.context() as planted:
            planted.delitem(tags._TAGS, kind)
            with pytest.raises(AssertionError):
                check_all_tagged()


@dataclass(frozen=True)
class Written:
    @property
    def text(self) -> str:
        return text_of(self)


def test_the_order_is_that_of_the_tag() -> None:
    @recorded("Pair", "first", "second.name", family="one")
    @dataclass(frozen=True)
    class Pair(Written):
        first: int
        second: Any
        seen: bool = field(default=False, compare=False)

    @recorded("Pair", "first", "second.name", family="other")
    @dataclass(frozen=True)
    class Turned(Written):
        second: Any
        first: int

    @recorded(None, "name")
    @dataclass(frozen=True)
    class Named(Written):
        name: tuple[str, ...]

    assert Pair(1, Named(("é", "b"))).text == Turned(Named(("é", "b")), 1).text == '["Pair",1,["\\u00e9","b"]]'
    assert json.loads(Named(("x",)).text) == [["x"]]


def test_a_later_field_is_left_out_at_its_default() -> None:
    @recorded("Grown", "size", later=("shape", "hue"))
    @dataclass(frozen=True)
    class Grown(Written):
        size: int
        shape: str = "round"
        hue: int | None = None

    assert Grown(1).text == '["Grown",1]'
    assert Grown(1, hue=3).text == '["Grown",1,{"hue":3}]'
    assert Grown(1, "flat", 3).text == '["Grown",1,{"shape":"flat"},{"hue":3}]'


@dataclass(frozen=True)
class Bare:
    value: Any


def test_tags_are_refused_that_do_not_say_all() -> None:
    for names, options in (((), {}), (("value", "other"), {}), ((), {"later": ("value",)})):
        with pytest.raises(TypeError, match=r"differ|default"):
            recorded("Bare", *names, **options)(Bare)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'CountRows' is taken"):
        recorded("CountRows", "value")(Bare)
    recorded("CountRows", "value", family="bare")(Bare)


def test_what_has_no_tag_has_no_text() -> None:
    for value in (Bare(1), 3, None):
        with pytest.raises(TypeError, match="has no tag"):
            text_of(value)
    recorded("Bare", "value")(Bare)
    for value in (1.5, [1], {1: 2}, Written()):
        with pytest.raises(TypeError, match="has no tag"):
            text_of(Bare(value))
