"""The tag of each class that is recorded, and what is recorded of it in which order.

A stored answer is found by the text of its question, so a text must never change: not if a class is renamed, moved, or
its fields are put in another order. Therefore tags and lists of fields are stated here, beside each class, once and
for good:

    @recorded("Constant", "value", "decimals")
    @dataclass(frozen=True)
    class Constant: ...

A tag is never used again for something else, and its list never changes. A field that a class gets afterwards needs a
default and is named with `later=`: it is left out of the text at its default, so that all older texts stay as they
are, and is otherwise written last, under its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True)
class Tag:
    """What is written of a class: its name in records (None where its place says what it is), and what follows.

    `later` are fields that it got afterwards, each with the default at which it is left out.
    """

    name: str | None
    family: str
    read: tuple[Callable[[Any], Any], ...]
    later: tuple[tuple[str, Any], ...]


_TAGS: dict[type, Tag] = {}


def recorded(
    tag: str | None, *names: str, later: tuple[str, ...] = (), without: tuple[str, ...] = (), family: str = ""
) -> Callable[[_Class], _Class]:
    """Give a dataclass its tag. Every field that tells equal from unequal is listed, or left out by name (`without`).

    A dotted name is read through: "table.name" is the name of what the field `table` holds. Classes of different
    families never stand in the same place, so that they may have the same tag.
    """

    def register(kind: _Class) -> _Class:
        own = {field.name: field for field in fields(kind)}
        listed = {name.partition(".")[0] for name in (*names, *later, *without)}
        compared = {name for name, field in own.items() if field.compare}
        if not compared <= listed <= set(own):
            raise TypeError(f"{kind.__qualname__}: fields and what is recorded of them differ: {compared ^ listed}.")
        if tag is not None and any((known.name, known.family) == (tag, family) for known in _TAGS.values()):
            raise TypeError(f"{kind.__qualname__}: the tag {tag!r} is taken.")
        defaults = tuple((name, own[name].default) for name in later)
        if any(default is MISSING for _, default in defaults):
            raise TypeError(f"{kind.__qualname__}: what is recorded later needs a default.")
        _TAGS[kind] = Tag(tag, family, tuple(map(attrgetter, names)), defaults)
        return kind

    return register


def tagged() -> Mapping[type, Tag]:
    """Every class that has a tag."""
    return MappingProxyType(_TAGS)


def text_of(value: Any) -> str:
    """A recorded object as JSON, the same for equal ones only. A class without a tag is refused: it has no text."""
    tag = _TAGS.get(type(value))
    if tag is None:
        raise TypeError(f"{type(value).__qualname__} has no tag, so it cannot be recorded.")
    parts = [] if tag.name is None else [json.dumps(tag.name)]
    parts += [_part(read(value)) for read in tag.read]
    for name, default in tag.later:
        found = getattr(value, name)
        if found != default:
            parts.append(f"{{{json.dumps(name)}:{_part(found)}}}")
    return f"[{','.join(parts)}]"


def _part(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(map(_part, value))}]"
    if value is None or isinstance(value, (bool, int, str)):
        return json.dumps(value)
    if type(value) not in _TAGS:
        raise TypeError(f"{type(value).__qualname__} has no tag, so it cannot be recorded.")
    found: str = value.text  # remembered there
    return found
