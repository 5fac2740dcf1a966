"""What must hold for mechanisms whose noise follows a smooth sensitivity: exact laws on neighbours, and secrecy."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from mechanisms_wrong_parameters import check_hostile_parameters_are_refused
from scipy import stats

from dither import sensitivity
from dither.accounting import ApproxDP, PureDP
from dither.errors import NotPublic, ParameterError, RelationMismatch
from dither.exact.balls import precision
from dither.neighbours import Relation
from dither.noise.reals.laplace_log_normal import LaplaceLogNormal

FALSE_ALARM = 1e-9
HERE = (Fraction(0), Fraction(1))


def cells(mechanism):
    """Edges for values 0 to 1 and a smooth sensitivity of 1: ever finer towards the values, ever wider outward."""
    sides = np.concatenate([np.geomspace(1e-3, 0.1, 20), np.arange(0.2, 12, 0.1), np.geomspace(13, 1e5, 40)])
    sides /= float(mechanism.divisor)
    ladder = np.concatenate([-sides[::-1], [0], sides])
    return np.unique(np.concatenate([value + ladder for value in (0, 0.5, 1)]))


def upper_tail(noise, z):
    """P[eta > z] for z >= 0 as floats."""
    if isinstance(noise, LaplaceLogNormal):
        # The trapezoidal rule converges geometrically here, and is thousands of times quicker than rigorous integrals.
        y = np.arange(-9, 9.01, 0.05)
        rates = np.exp(-float(noise.sigma) * y)
        return np.array([(stats.norm.pdf(y) * 0.025 * np.exp(-at * rates)).sum() for at in z])
    with precision(80):
        return np.array([float(noise.above(Fraction(at))) for at in z])


def law(mechanism, edges, value, smooth_sensitivity):
    """The masses of the cells and of the two tails, each computed from the side where it keeps its digits."""
    centre, scale = (float(steps * mechanism.grid) for steps in mechanism.in_steps(value, smooth_sensitivity))
    sides = upper_tail(mechanism.distribution, np.abs(edges - centre) / scale)
    upper = np.concatenate([[1], np.where(edges >= centre, sides, 1 - sides), [0]])
    lower = np.concatenate([[0], np.where(edges < centre, sides, 1 - sides), [1]])
    return np.where(np.concatenate([[edges[0]], edges]) >= centre, -np.diff(upper), np.diff(lower))


def neighbours(mechanism):
    """(value, S) of neighbours of HERE: values apart by up to the smaller S, one S larger by up to e^beta."""
    for share in (0, Fraction(1, 2), 1):
        wider = Fraction(math.exp(float(mechanism.beta * share)) * (1 - 1e-14)) if share else Fraction(1)
        for move in (0, Fraction(1, 2), 1):
            if share or move:
                yield Fraction(move), wider


def excess(mechanism, claim):
    """How far the exact laws on neighbours are above the claim, relative to it; not above 0 if it holds."""
    edges = cells(mechanism)
    worst = -1.0
    p = law(mechanism, edges, *HERE)
    for other in neighbours(mechanism):
        q = law(mechanism, edges, *other)
        for one, two in ((p, q), (q, p)):
            if isinstance(claim, ApproxDP):
                found = np.maximum(0, one - math.exp(claim.epsilon) * two).sum() / float(claim.delta)
            else:
                # Cells so rare that floats leave them no digits are left out: that can only hide, never invent.
                kept = np.minimum(one, two) > 1e-13
                ratio = np.log(one[kept]) - np.log(two[kept])
                if isinstance(claim, PureDP):
                    found = ratio.max() / float(claim.epsilon)
                else:
                    orders = (1.01, 1.5, 2, 4, 8)
                    moments = [np.log((one[kept] * np.exp((a - 1) * ratio)).sum()) / (a - 1) / a for a in orders]
                    found = max(moments) / float(claim.rho)
            worst = max(worst, found - 1)
    return worst


def rescaled(mechanism, factor):
    """The same claim with the noise scale times a factor."""
    other = copy.copy(mechanism)
    object.__setattr__(other, "divisor", mechanism.divisor / factor)
    return other


def noticed(entry, example):
    return entry.noticed[entry.examples.index(example)]


def check_exact_laws_on_neighbours_keep_the_claim_and_a_scale_too_small_does_not(entry, example):
    mechanism = entry.make(**example)
    assert excess(mechanism, mechanism.guarantee) <= 1e-9
    assert excess(rescaled(mechanism, noticed(entry, example)), mechanism.guarantee) > 1e-3


def check_a_smooth_bound_that_is_not_smooth_enough_is_noticed(entry, example):
    """The claim depends on beta: with a bound several times as steep, some neighbours betray it."""
    mechanism = entry.make(**example)
    steep = copy.copy(mechanism)
    object.__setattr__(steep, "beta", mechanism.beta * (3 if noticed(entry, example) > Fraction(9, 10) else 16))
    assert excess(steep, mechanism.guarantee) > 1e-3


def check_releases_have_the_exact_law_and_another_scale_is_told_apart(entry, example):
    mechanism = entry.make(**example, grid="0.25")
    value, bound = Fraction(10, 3), Fraction(7, 2)
    released = np.array([float(mechanism.release(value, bound).value) for _ in range(15_000)])
    inner = np.unique((np.quantile(released, [0.08, 0.25, 0.4, 0.6, 0.75, 0.92]) * 4).round()) / 4 + 0.125

    def p_value(candidate):
        chances = law(candidate, inner, value, bound)
        seen = np.bincount(np.searchsorted(inner, released), minlength=chances.size)
        return stats.chisquare(seen, chances * released.size).pvalue

    assert p_value(mechanism) > FALSE_ALARM
    assert p_value(rescaled(mechanism, Fraction(6, 5))) < FALSE_ALARM
    assert p_value(rescaled(mechanism, Fraction(5, 6))) < FALSE_ALARM


def check_the_probability_of_each_multiple_of_the_grid_is_that_of_the_law(entry, example):
    mechanism = entry.make(**example, grid="0.25")
    value, bound = Fraction(1, 3), Fraction(2)
    edges = np.array([k / 4 - 0.125 for k in range(-3, 6)])
    expected = law(mechanism, edges, value, bound)
    for k in range(-3, 5):
        low, high = mechanism.pmf(k, value, bound)
        assert 0 < low <= high < low * (1 + Fraction(1, 10**9))
        assert float(low) == pytest.approx(expected[k + 4], rel=1e-9)


def check_the_relation_is_carried(entry, example):
    assert entry.make(**example).guarantee.relation is Relation.REPLACE
    assert entry.make(**example, relation="edge").release(1, 1).guarantee.zcdp().relation is Relation.EDGE
    with pytest.raises(RelationMismatch):
        entry.make(**example, relation="friends")


def hides_its_scale(mechanism):
    """Whether everything about the noise that depends on the data is refused."""
    answer = mechanism.release(Fraction(1, 3), 2)
    questions = (
        lambda: mechanism.scale,
        lambda: mechanism.interval("0.95"),
        lambda: mechanism.error("0.95"),
        lambda: answer.scale,
        lambda: answer.interval("0.95"),
    )
    for ask in questions:
        try:
            ask()
        except NotPublic:
            continue
        return False
    fields = {field.name for thing in (answer, mechanism) for field in dataclasses.fields(thing)}
    return not fields & {"scale", "smooth_sensitivity", "centre"}


def check_scale_error_and_interval_are_not_public(entry, example):
    """Threat 54."""
    assert hides_its_scale(entry.make(**example))


def check_answers_lie_on_a_grid_that_only_public_parameters_decide(entry, example):
    """Threat 10: no data choose the grid, and every multiple of it can come out."""
    for more in ({}, {"grid": "0.3"}, {"lower": -5, "upper": 95}, {"lower": 0, "upper": "1e-9"}):
        mechanism = entry.make(**example, **more)
        for value, bound in ((Fraction(1, 7), Fraction(1, 11)), (10**9, Fraction(10**12, 7)), (0, 0)):
            answer = mechanism.release(value, bound).value
            assert (Fraction(answer) / mechanism.grid).denominator == 1
    assert entry.make(**example).grid == Fraction(1, 1 << 30)
    assert entry.make(**example, lower=-5, upper=95).grid == Fraction(64, 1 << 40)
    assert entry.make(**example, lower=0, upper=1).grid == Fraction(1, 1 << 40)
    on_the_half = entry.make(**example, grid=1)
    seen = {on_the_half.release(Fraction(1, 2), 0).value for _ in range(60)}
    assert {0, 1} <= seen, "a smooth sensitivity of 0 does not switch the noise off"
    assert on_the_half.pmf(3, 0, 0)[0] > 0 or entry.make.__name__ in ("SmoothLaplace", "SmoothGaussian")


def check_declared_bounds_clamp_the_value_and_the_smooth_sensitivity(entry, example):
    mechanism = entry.make(**example, lower=0, upper=10, grid=1)
    assert mechanism.pmf(4, 25, 2) == mechanism.pmf(4, 10, 2)
    assert mechanism.pmf(4, -25, 2) == mechanism.pmf(4, 0, 2)
    assert mechanism.pmf(4, 5, 10**9) == mechanism.pmf(4, 5, 10)
    assert mechanism.pmf(4, 4, 0) == mechanism.pmf(4, 4, Fraction(1, 1024))
    free = entry.make(**example, grid=1)
    assert free.pmf(25, 25, 2) == free.pmf(0, 0, 2)


def check_inexact_and_negative_numbers_are_refused_without_being_shown(entry, example):
    mechanism = entry.make(**example)
    for bad in (1.5, np.float64(1), "1", None, True, Decimal("nan"), -1, Fraction(-987654321, 2)):
        with pytest.raises(ParameterError) as caught:
            mechanism.release(3, bad)
        assert "98765" not in str(caught.value)
        if not isinstance(bad, (int, Fraction)) or isinstance(bad, bool):
            with pytest.raises(ParameterError):
                mechanism.release(bad, 3)


def check_nothing_is_remembered_about_private_numbers(entry, example):
    """No cache in the package grows with new values or new smooth sensitivities."""

    def sizes():
        found = [item for item in gc.get_objects() if isinstance(item, functools._lru_cache_wrapper)]
        return sum(item.cache_info().currsize for item in found if str(item.__module__).startswith("dither"))

    mechanism = entry.make(**example)
    mechanism.release(1, 1)
    before = sizes()
    for i in range(20):
        mechanism.release(Fraction(i, 7), Fraction(i + 1, 13))
    assert sizes() == before


def check_the_spread_is_the_half_width_in_units_of_the_smooth_sensitivity(entry, example):
    mechanism = entry.make(**example)
    for confidence in ("0.5", "0.95"):
        width = mechanism.spread(confidence)
        with precision(80):
            outside = 2 * float(mechanism.distribution.above(width * mechanism.divisor))
        assert outside == pytest.approx(1 - float(confidence), rel=1e-4)
        assert outside <= 1 - float(confidence)
    with pytest.raises(ParameterError):
        mechanism.spread(1)


def check_it_takes_what_the_smooth_sensitivities_return(entry, example):
    mechanism = entry.make(**example, lower=0, upper=10)
    x = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    bound = sensitivity.median.smooth(x, mechanism.beta, 0, 10)
    assert isinstance(mechanism.release(sensitivity.median.value(x, 0, 10), bound).value, Fraction)


def check_bounds_and_grids_that_do_not_fit_are_refused(entry):
    example = dict(entry.examples[0])
    for more in ({"lower": 0}, {"upper": 0}, {"lower": 2, "upper": 1}, {"lower": 0, "upper": 1, "grid": 2}):
        with pytest.raises(ParameterError):
            entry.make(**example, **more)


OF_AN_ENTRY = (
    check_hostile_parameters_are_refused,
    check_bounds_and_grids_that_do_not_fit_are_refused,
)
OF_AN_EXAMPLE = (
    check_exact_laws_on_neighbours_keep_the_claim_and_a_scale_too_small_does_not,
    check_a_smooth_bound_that_is_not_smooth_enough_is_noticed,
    check_releases_have_the_exact_law_and_another_scale_is_told_apart,
    check_the_probability_of_each_multiple_of_the_grid_is_that_of_the_law,
    check_the_relation_is_carried,
    check_scale_error_and_interval_are_not_public,
    check_answers_lie_on_a_grid_that_only_public_parameters_decide,
    check_declared_bounds_clamp_the_value_and_the_smooth_sensitivity,
    check_inexact_and_negative_numbers_are_refused_without_being_shown,
    check_nothing_is_remembered_about_private_numbers,
    check_the_spread_is_the_half_width_in_units_of_the_smooth_sensitivity,
    check_it_takes_what_the_smooth_sensitivities_return,
)
