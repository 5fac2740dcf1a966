"""Rules of spelling are passed by where they would change nothing: each of them says by which words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.sql.text import synonyms

ABOUT = sorted(set().union(*(about for about, _ in synonyms.RULES)))
SIGNS = ["(", ")", "+", "-", "*", "/", "%", ",", "'a", "'day", '"b', "2", "10", "x"]
OTHERS = [*SIGNS, "LOG", "LIMIT", "LAST", "FIRST", "DESC", "FETCH", "FROM", "AS"]


@pytest.mark.parametrize(("about", "rule"), synonyms.RULES, ids=[rule.__name__ for _, rule in synonyms.RULES])
@given(words=st.lists(st.sampled_from([*ABOUT, *OTHERS]), min_size=1, max_size=12))
def test_a_rule_changes_nothing_without_its_words(about, rule, words):
    others = [(word, place) for place, word in enumerate(words) if word not in about]
    assert rule(others) == others


@given(words=st.lists(st.sampled_from([*ABOUT, *OTHERS]), min_size=1, max_size=12))
def test_no_rule_is_passed_by_that_would_change_something(words):
    given_words = [(word, place) for place, word in enumerate(words)]
    all_of_them = synonyms._names(given_words)
    for _, rule in synonyms.RULES:
        all_of_them = rule(all_of_them)
    assert synonyms.plain(given_words) == all_of_them
