"""Neighbour relations: which two datasets a guarantee compares. Every guarantee carries one; mixing them is refused."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Protocol

from dither.errors import RelationMismatch


class Relation(Enum):
    """When two datasets are neighbours."""

    ADD_REMOVE = "add_remove"  # one record added or deleted; the size is private
    REPLACE = "replace"  # same public size, one record changed
    EDGE = "edge"  # graphs on the same vertices, one edge toggled
    EDGE_WEIGHT = "edge_weight"  # same graph, one weight changed within its bounds
    OWNER = "owner"  # all records of one owner, in every table of its people, added or deleted

    @classmethod
    def read(cls, value: Relation | str) -> Relation:
        """The relation itself or its name; an unknown name lists what exists."""
        if isinstance(value, Relation):
            return value
        for relation in cls:
            if relation.value == value:
                return relation
        known = ", ".join(relation.value for relation in cls)
        raise RelationMismatch(f"unknown neighbour relation {value!r}; known are {known}.")


class HasRelation(Protocol):
    @property
    def relation(self) -> Relation: ...


def common_relation(items: Iterable[HasRelation]) -> Relation:
    """The one relation shared by all items; refuses none and refuses several."""
    found = {item.relation for item in items}
    if len(found) == 1:
        return found.pop()
    if not found:
        raise RelationMismatch("there is nothing to combine: give at least one guarantee.")
    names = ", ".join(sorted(relation.value for relation in found))
    raise RelationMismatch(
        f"guarantees under different neighbour relations cannot be combined: {names}. State all under one relation."
    )
