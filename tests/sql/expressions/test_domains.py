"""Values found by rule are those found by trying every value of the columns."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dither.sql import expressions as e
from dither.sql.expressions.domains import Domain, _by_rule, _tried, domain
from dither.sql.scalars import rounding

columns = st.builds(
    lambda name, low, span, null: e.Stored(name, low, low + span, 0, null),
    st.sampled_from("ab"),
    st.integers(-40, 40),
    st.integers(0, 60),
    st.booleans(),
)
constants = st.integers(-12, 12).map(e.Constant)
positive = st.integers(1, 12)


def grown(inner: st.SearchStrategy[e.Numeric]) -> st.SearchStrategy[e.Numeric]:
    return st.one_of(
        st.builds(e.Add, inner, inner),
        st.builds(e.Subtract, inner, inner),
        st.builds(e.Multiply, inner, constants),
        st.builds(lambda value, by: e.Divide(value, e.Constant(by)), inner, positive),
        st.builds(lambda value, by: e.Modulo(value, e.Constant(by)), inner, positive),
        st.builds(rounding.floor_divide, inner, positive),
        st.builds(rounding.rounded, inner, st.just(-1)),
        st.builds(lambda value, low, span: e.Clamp(value, low, low + span), inner, st.integers(-30, 30), positive),
        st.builds(e.Negate, inner),
        st.builds(e.Absolute, inner),
        st.builds(lambda value, other: e.Coalesce((value, other)), inner, constants),
        st.builds(lambda value, n: rounding.bucket(value, e.Constant(-20), e.Constant(20), n), inner, positive),
    )


def one_declaration_a_name(node: e.Numeric) -> bool:
    leaves = {leaf for leaf in node.walk() if isinstance(leaf, e.Stored)}
    return len(leaves) == len({leaf.name for leaf in leaves})


@settings(max_examples=400, deadline=None)
@given(st.recursive(st.one_of(columns, constants), grown, max_leaves=5))
def test_rules_list_no_fewer_values_than_there_are_and_in_their_places(node):
    assume(one_declaration_a_name(node))
    tried, ruled = _tried(node), _by_rule(node)
    assume(tried is not None and ruled is not None)
    assert set(tried.values) <= set(ruled.values)
    assert not tried.null or ruled.null


EXACT = [
    lambda x: x,
    lambda x: e.Multiply(e.Constant(10), x),
    lambda x: rounding.floor_divide(x, 10),
    lambda x: e.Multiply(rounding.floor_divide(x, 7), e.Constant(7)),
    lambda x: rounding.rounded(x, -1),
    lambda x: rounding.bucket(x, e.Constant(0), e.Constant(30), 6),
    lambda x: e.Modulo(e.Add(x, e.Constant(40)), e.Constant(7)),
    lambda x: e.Absolute(x),
    lambda x: e.Add(x, e.Multiply(e.Constant(5), e.Stored("b", 0, 3, 0, False))),
]


@pytest.mark.parametrize("build", EXACT)
def test_rules_are_exact_for_common_keys(build):
    node = build(e.Stored("a", -40, 40, 0, True))
    tried, ruled = _tried(node), _by_rule(node)
    assert tried is not None
    assert ruled is not None
    assert tuple(tried.values) == tuple(ruled.values)


def test_nothing_is_claimed_about_values_that_are_too_many_and_uneven():
    big = e.Stored("a", 0, 10**6, 0, False)
    assert domain(e.Multiply(big, big)) is None
    assert domain(e.Multiply(big, e.Constant(3))) == Domain(range(0, 3 * 10**6 + 1, 3), False)
