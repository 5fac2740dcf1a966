"""Every guarantee carries one relation; mixing relations is refused (threat 38)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dither.errors import ParameterError, RelationMismatch
from dither.neighbours import Relation, common_relation


@pytest.mark.parametrize("relation", list(Relation))
def test_a_relation_is_read_from_itself_and_from_its_name(relation):
    assert Relation.read(relation) is relation
    assert Relation.read(relation.value) is relation


@pytest.mark.parametrize("value", ["bounded", "", None, 1, "ADD_REMOVE"])
def test_an_unknown_relation_lists_what_exists(value):
    with pytest.raises(RelationMismatch, match="add_remove, replace, edge, edge_weight, owner"):
        Relation.read(value)


def test_one_relation_is_shared_or_refused():
    add, replace = (SimpleNamespace(relation=relation) for relation in (Relation.ADD_REMOVE, Relation.REPLACE))
    assert common_relation([add, add]) is Relation.ADD_REMOVE
    with pytest.raises(RelationMismatch, match="add_remove, replace"):
        common_relation([add, replace])
    with pytest.raises(RelationMismatch, match="nothing to combine"):
        common_relation([])


def test_a_mismatch_is_a_parameter_error():
    assert issubclass(RelationMismatch, ParameterError)
