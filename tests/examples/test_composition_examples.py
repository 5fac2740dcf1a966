"""Worked examples of composition."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dither as dt


def test_compose_repeat(example):
    """The mean of m answers has m times the variance of one answer at the whole price."""
    given, expected, fine = example.given, example.expected, {"sensitivity": example.given.sensitivity, "grid": "1e-9"}
    each = dt.Laplace(epsilon=str(given.eps), **fine)
    total = (each.guarantee * given.m).basic().epsilon
    assert total == expected.total_eps
    assert each.variance / given.m == example.near(expected.variance_mean)
    assert dt.Laplace(epsilon=total, **fine).variance == example.near(expected.variance_single)


def test_compose_sequential(example):
    total = dt.compose([dt.PureDP(str(epsilon)) for epsilon in example.given.eps]).basic().epsilon
    assert float(total) == example.near(example.expected.total)


def test_compose_parallel(example):
    given, expected = example.given, example.expected

    def cost(stated="add_remove", **how):
        return float(dt.parallel([dt.PureDP(str(epsilon), stated) for epsilon in given.eps], **how).epsilon)

    assert cost() == example.near(expected.value_add_remove)
    assert cost(relation="replace") == example.near(expected.value_replace_general)
    both = cost(relation="replace", private_under_both=True)
    assert both == example.near(expected.value_replace_if_private_under_both)
    assert cost("replace", by="position") == example.near(expected.position_replace)
    assert expected.position_add_remove.startswith("not parallel")
    with pytest.raises(dt.ParameterError):
        cost(by="position")


def test_advanced_composition(example):
    given, expected = example.given, example.expected
    steps = {"epsilon": str(given.eps), "k": given.k, "delta_prime": str(given.delta_prime)}
    kept = dt.PureDP(str(given.eps)) * given.k
    assert kept.basic().epsilon == expected.basic
    assert float(dt.accounting.advanced(**steps, mean="textbook").epsilon) == example.near(expected.advanced)
    assert float(dt.accounting.advanced(**steps).epsilon) == example.near(expected.advanced_tight_mean)
    assert kept.epsilon_at(str(given.delta_prime)) < expected.advanced_tight_mean, "keeping the parts does better"


def test_inverse_composition(example):
    """Four rules for the epsilon of each step; the last is the best there can be."""
    given, expected, accounting = example.given, example.expected, dt.accounting
    total = {"epsilon": str(given.eps_total), "k": given.k, "delta_prime": str(given.delta_prime)}
    found = [
        accounting.closed_inverse(**total),
        accounting.closed_inverse(**total, rule="short root"),
        accounting.advanced_inverse(**total),
        accounting.optimal_inverse(epsilon=total["epsilon"], k=given.k, at=total["delta_prime"]),
    ]
    stated = [expected.dwork_roth, expected.notes, expected.advanced_inverted, expected.optimal]
    assert list(map(float, found)) == example.near(stated)
    assert found == sorted(found)
    for each in found:
        assert accounting.optimal(epsilon=each, k=given.k, at=total["delta_prime"]).lower <= given.eps_total
    # Where the larger closed form is not what advanced composition allows, it is refused.
    with pytest.raises(dt.ParameterError, match="advanced_inverse"):
        accounting.closed_inverse(epsilon=1, k=100, delta_prime="0.9", rule="short root")
    with pytest.raises(dt.ParameterError, match="rule"):
        accounting.closed_inverse(**total, rule="other")


def test_rho_adds_for_two_releases_of_the_same_data():
    """Another matter than going through a third law."""
    assert dt.compose([dt.ZCDP("0.02"), dt.ZCDP("0.03")]).zcdp().rho == Fraction(5, 100)


def test_the_two_halves_of_propose_test_release_add():
    assert dt.compose([dt.ApproxDP("0.5", "1e-6"), dt.PureDP("0.5")]).basic() == dt.ApproxDP(1, "1e-6")
