"""Distances to instability against the definition, and the two properties that releasing the winner relies on."""

from __future__ import annotations

import itertools
import math

import pytest

from dither.errors import ParameterError
from dither.sensitivity import brute_force, distance


def tally(votes, candidates):
    return [votes.count(candidate) for candidate in range(candidates)]


def winner(votes, candidates):
    counts = tally(votes, candidates)
    return counts.index(max(counts))


@pytest.mark.parametrize("candidates", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_argmax(candidates, relation):
    """One vote per person: equal to the definition."""
    space = brute_force.Space(
        lambda votes: winner(votes, candidates),
        range(candidates),
        relation,
        largest=12 if relation == "add_remove" else None,
    )
    for n in range(6):
        for votes in brute_force.datasets(range(candidates), n):
            # Nobody's vote can change when there is none; how many records there are is not seen from the counts.
            truth = space.distance(votes) if votes or candidates == 1 else 0
            assert distance.argmax(tally(votes, candidates), relation) == truth
            assert distance.mode(votes, range(candidates), relation) == truth


def valid_for_release(found, statistic, space, datasets):
    """A distance that may stand in for the true one: 0 beside another answer, 1-Lipschitz beside the same."""
    for x in datasets:
        for y in space.around(x) & datasets:
            if statistic(x) != statistic(y):
                if found(x) != 0 or found(y) != 0:
                    return False
            elif found(x) != found(y) and abs(found(x) - found(y)) > 1:
                return False
    return True


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("k", [1, 2])
def test_top_k(relation, k):
    def chosen(votes):
        counts = tally(votes, 3)
        return frozenset(sorted(range(3), key=lambda i: (-counts[i], i))[:k])

    space = brute_force.Space(chosen, range(3), relation)
    everything = {x for n in range(8) for x in brute_force.datasets(range(3), n)}
    assert valid_for_release(lambda x: distance.top_k(tally(x, 3), k, relation), chosen, space, everything)
    if relation == "replace":  # the add_remove formula, used where a gap moves by 2
        assert not valid_for_release(lambda x: distance.top_k(tally(x, 3), k), chosen, space, everything)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_several_votes_per_person(relation):
    """Each person likes any of three things: the same formulas are valid lower bounds."""
    people = list(itertools.product((0, 1), repeat=3))

    def likes(x):
        return [sum(person[i] for person in x) for i in range(3)]

    def best(x):
        return likes(x).index(max(likes(x)))

    space = brute_force.Space(best, people, relation)
    everything = {x for n in range(4) for x in brute_force.datasets(people, n)}
    assert valid_for_release(lambda x: distance.argmax(likes(x), relation), best, space, everything)


def test_model_selection_is_a_changed_vote_under_every_relation():
    for counts in itertools.product(range(4), repeat=3):
        if any(counts):
            assert distance.model_selection(counts) == distance.argmax(counts, "replace")


def test_special_cases():
    assert distance.argmax([7]) == math.inf
    assert distance.argmax([0, 0]) == 0
    assert distance.argmax([2, 2]) == 0
    assert distance.argmax([3, 2]) == 1
    assert distance.top_k([5, 4], 2) == distance.top_k([5, 4], 3, "replace") == math.inf
    assert distance.mode(["a", "b", "a", None, float("nan"), [1]], ["a", "b"]) == 1
    assert distance.mode([None, "x"], ["a", "b"], "replace") == 0


def test_refusals_show_no_data():
    for wrong in ([], "", "31", [4, -7], [4, "7"], [4, 7.5], [4, float("nan")], [True, 7]):
        with pytest.raises(ValueError, match="counts") as refused:
            distance.argmax(wrong)
        assert "7" not in str(refused.value)
    for k in (0, -1, 1.5):
        with pytest.raises(ValueError, match="k must be"):
            distance.top_k([1, 2], k)
    with pytest.raises(ValueError, match="twice"):
        distance.mode([1], [1, 1])
    with pytest.raises(ValueError, match="known for add_remove"):
        distance.argmax([1, 2], "edge")


@pytest.mark.parametrize("wrong", [None, 5, "12", b"1", [], {}, [1.5], [-1], [None], ["a"], [10**400, math.nan]])
def test_what_are_no_counts_is_refused_without_being_shown(wrong):
    for refused in (distance.argmax, lambda counts: distance.top_k(counts, 1), distance.model_selection):
        with pytest.raises(ParameterError) as raised:
            refused(wrong)
        assert "1.5" not in str(raised.value)
    with pytest.raises(ParameterError):
        distance.mode(5, "ab")
