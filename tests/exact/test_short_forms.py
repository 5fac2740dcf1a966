"""What objects are on one line: every mechanism, release and sensitivity, as a terminal and a notebook show them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.exact.intervals import Interval
from dither.exact.short_forms import figure
from dither.lab.registry import EVERY
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.release import Release


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.make.__name__)
def test_every_mechanism_is_one_short_line(entry):
    for example in entry.examples:
        mechanism = entry.make(**example)
        shown = repr(mechanism)
        assert shown.startswith(type(mechanism).__name__ + "(")
        assert len(shown) < 200
        assert "Fraction" not in shown
        assert "Relation" not in shown
        assert mechanism._repr_html_().startswith("<code>")


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (dt.Laplace(epsilon="0.5", sensitivity=1), "Laplace(epsilon=0.5, sensitivity=1)"),
        (dt.Gaussian(epsilon=1, delta="1e-6", sensitivity=1), "Gaussian(epsilon=1, delta=1e-6, sensitivity=1)"),
        (dt.Laplace(epsilon="1/3", sensitivity=1, grid="1/8"), "Laplace(epsilon=0.333334, sensitivity=1, grid=0.125)"),
        (
            dt.Laplace(epsilon=1, sensitivity=1, relation="replace"),
            "Laplace(epsilon=1, sensitivity=1, relation='replace')",
        ),
        (dt.Quantile(q="0.9", lower=0, upper=100, epsilon=1), "Quantile(q=0.9, lower=0, upper=100, epsilon=1)"),
        (dt.KeySelection(epsilon=1, delta="1e-6"), "KeySelection(delta=1e-6, epsilon=1, method='threshold')"),
        (dt.sensitivity.sum(0, 10), "Sensitivity(l1=10, l2_squared=100, linf=10)"),
        (
            dt.ListedQuantile(epsilon=1, q="0.5", candidates=range(9)),
            "ListedQuantile(q=0.5, candidates=[0, 1, 2, 3, 4, 5, ... 3 more], epsilon=1)",
        ),
        (dt.RDP({2: "0.2"}), "RDP(curve=...)"),
        (dt.PLD.pure("0.1"), "PLD(distributions=[[TwoPoint(0.1, 0), 1]])"),
    ],
)
def test_parameters_left_at_their_defaults_are_not_written(made, shown):
    assert repr(made) == shown


def test_releases_say_value_error_and_price():
    noise = dt.Laplace(epsilon="0.5", sensitivity=1, grid="0.1")
    release = Release(53, noise)
    assert repr(release) == "Laplace release 5.3 ± 6.0 (95%), epsilon 0.5"
    assert release.value == Fraction(53, 10), "and exactly on request"
    assert release._repr_html_() == f"<span>{release!r}</span>"
    assert repr(Release(np.array([1, 2]), noise)).startswith("Laplace release [0.1, 0.2] ± ")
    assert repr(Outcome("b", dt.Exponential(epsilon=1, sensitivity=1))) == "Exponential release 'b', epsilon 1"
    hostile = Outcome("<b>\x1b", dt.Exponential(epsilon=1, sensitivity=1))
    assert "<b>" not in hostile._repr_html_()
    assert "\x1b" not in repr(hostile)


def test_figures():
    assert figure(float("inf")) == "inf"
    assert figure(True) == "True"
    assert len(figure("x" * 1000)) == 200


def test_an_interval_is_the_same_object_everywhere():
    noise = dt.Laplace(epsilon="0.5", sensitivity=1)
    ends = [
        noise.release(3).interval(),
        dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", grid=1).release(100, 3).interval(),
        dt.stats.mean([1, 2, 3], lower=0, upper=10, epsilon=1).interval(),
        dt.stats.quantiles(range(100), [0.2, 0.8], lower=0, upper=100, epsilon=1, interval=True).interval(),
        dt.stats.histogram(["a"], categories=["a"], epsilon=1).interval(),
    ]
    for found in ends:
        assert type(found) is Interval
        low, high = found
        assert (low, high) == (found.lower, found.upper)


def test_ends_are_rounded_outward_where_they_are_shown():
    assert repr(Interval(Fraction(1, 3), Fraction(2, 3))) == "Interval(lower=0.333333, upper=0.666667)"
    assert repr(Interval(3, 4)) == "Interval(lower=3, upper=4)"
    assert repr(Interval((Fraction(1, 3),), (Fraction(7),))) == "Interval(lower=(0.333333), upper=(7))"
