"""What must hold for every mechanism that adds noise on a grid."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mechanisms_enumeration as enumeration
import numpy as np
import pytest
from mechanisms_wrong_parameters import check_hostile_parameters_are_refused

from dither.accounting import PureDP
from dither.errors import ParameterError
from dither.mechanisms import seal
from dither.neighbours import Relation

# A sum of certified bounds is exact to this; the claims compared with it are 1e-6 and larger, or pure.
SLACK = Fraction(1, 10**12)
DRAWS = 400_000
FALSE_ALARM = 1e-12

INEXACT = [1.0, np.float64(1), "1", b"1", None, True, [1.0], [True], np.ones(2), np.ones(2, bool), {"a": 1}]


def steps_apart(mechanism):
    """How many whole grid steps two neighbours' numbers can be apart."""
    return math.floor(mechanism.sensitivity / mechanism.grid)


def fine(entry, example):
    """The same mechanism on a grid so fine that rounding the noise hides nothing."""
    return entry.make(**example | {"grid": Fraction(example["sensitivity"]) / 40})


def check_no_mechanism_without_a_sensitivity(entry):
    """Threat 6: a missing bound must never mean no noise, nor rounding be less than nothing."""
    with pytest.raises(ParameterError):
        entry.make(**dict(entry.examples[0]) | {"rounded_coordinates": -1})
    for example in entry.examples:
        with pytest.raises(TypeError):
            entry.make(**{name: value for name, value in example.items() if name != "sensitivity"})


def check_the_relation_is_carried(entry, example):
    for relation in (Relation.REPLACE, "owner"):
        mechanism = entry.make(**example, relation=relation)
        assert mechanism.guarantee.relation is mechanism.guarantee.zcdp().relation is Relation.read(relation)
    assert entry.make(**example).guarantee.relation is Relation.ADD_REMOVE


def check_the_exact_law_keeps_the_claim_on_every_shift(entry, example):
    mechanism = entry.make(**example)
    claim = mechanism.guarantee
    for shift in range(1, steps_apart(mechanism) + 1):
        for epsilon in {Fraction(getattr(claim, "epsilon", 1)), Fraction(1, 10), Fraction(1), Fraction(3)}:
            assert enumeration.hockey_stick(mechanism, shift, epsilon)[1] <= Fraction(claim.delta_at(epsilon)) + SLACK
        for order in (1.001, 1.5, 2, 8, 30):
            assert enumeration.renyi_over_order(mechanism, shift, order) <= float(claim.zcdp().rho) * (1 + 1e-9) + 1e-12


def check_the_same_check_catches_a_scale_three_per_cent_too_small(entry, example):
    honest = fine(entry, example)
    shift, claim = steps_apart(honest), honest.guarantee
    epsilons = [Fraction(getattr(claim, "epsilon", 1)), Fraction(1)]
    assert all(enumeration.hockey_stick(honest, shift, e)[1] <= Fraction(claim.delta_at(e)) + SLACK for e in epsilons)
    assert enumeration.renyi_over_order(honest, shift, 1.001) <= float(claim.zcdp().rho) * (1 + 1e-9)
    broken = entry.rescaled(honest, Fraction(97, 100))
    assert any(enumeration.hockey_stick(broken, shift, e)[0] > Fraction(claim.delta_at(e)) + SLACK for e in epsilons)
    assert enumeration.renyi_over_order(broken, shift, 1.001) > float(claim.zcdp().rho) * 1.01


def check_the_stated_delta_is_kept(entry, example):
    mechanism = entry.make(**example)
    stated = mechanism.guarantee
    if hasattr(stated, "epsilon"):
        worst = enumeration.hockey_stick(mechanism, steps_apart(mechanism), stated.epsilon)[1]
        assert worst <= stated.delta + SLACK
        assert stated.epsilon_at(stated.delta) <= float(stated.epsilon) * (1 + 1e-12)
    if isinstance(stated, PureDP):
        _, low, high = enumeration.distribution(mechanism)
        ratio = max(high[i] / low[i + steps_apart(mechanism)] for i in range(len(low) - steps_apart(mechanism)))
        assert math.log(ratio) <= float(stated.epsilon) * (1 + 1e-12)


def check_the_law_is_a_law_with_full_support(entry, example):
    mechanism = entry.make(**example)
    reach, low, high = enumeration.distribution(mechanism)
    assert sum(low) <= 1 <= sum(high) + Fraction(2, 10**14)
    assert min(low) > 0, "every grid point can be reached from every value, so neighbours have the same support"
    second = sum(k * k * p for k, p in zip(range(-reach, reach + 1), high, strict=True)) * mechanism.grid**2
    assert mechanism.variance == pytest.approx(float(second), rel=1e-9)
    assert mechanism.pmf(3) == mechanism.pmf(-3)


def check_the_error_is_the_smallest_half_width(entry, example):
    mechanism = entry.make(**example)
    reach, low, high = enumeration.distribution(mechanism)

    def outside(bound, w):
        return 1 - sum(bound[reach - w : reach + w + 1])

    for confidence in ("0.5", "0.95", 0.999):
        steps, allowed = mechanism.error(confidence) / mechanism.grid, 1 - Fraction(str(confidence))
        assert steps.denominator == 1
        assert outside(low, int(steps)) <= allowed + SLACK
        assert steps == 0 or outside(high, int(steps) - 1) > allowed


def check_the_error_of_the_largest_of_many(entry, example):
    mechanism = entry.make(**example)
    reach, low, high = enumeration.distribution(mechanism)
    steps = int(mechanism.error("0.95", count=100) / mechanism.grid)
    inside = [float(sum(bound[reach - w : reach + w + 1])) for bound, w in ((low, steps), (high, steps - 1))]
    assert inside[0] ** 100 >= 0.95 - 1e-9
    assert inside[1] ** 100 < 0.95
    for bad in (0, -1, True, 1.5):
        with pytest.raises(ParameterError):
            mechanism.error("0.95", count=bad)
    for bad in (0, 1, math.nan, True):
        with pytest.raises(ParameterError):
            mechanism.error(bad)


def check_released_noise_has_the_exact_law(entry, example):
    mechanism = entry.make(**example)
    sample = mechanism.release(np.zeros(DRAWS, np.int64)).steps
    assert enumeration.chi_square(sample, mechanism) > FALSE_ALARM
    for factor in (Fraction(97, 100), Fraction(103, 100)):
        assert enumeration.chi_square(sample, entry.rescaled(mechanism, factor)) < FALSE_ALARM


def check_scalars_vectors_and_sealed_values(entry, example):
    mechanism = entry.make(**example)
    wide = mechanism.error("0.999999999999")
    three = 3 * mechanism.grid
    forms = [three, Decimal(str(float(three)))] + ([3, np.int32(3)] if mechanism.grid == 1 else [])
    for value in forms:
        answer = mechanism.release(value)
        assert isinstance(answer.value, int if mechanism.grid == 1 else (int, Fraction))
        assert abs(answer.value - three) <= wide
        low, high = answer.interval("0.95")
        assert high - answer.value == answer.value - low == mechanism.error("0.95")
        assert answer.scale == mechanism.scale > 0
        assert answer.guarantee == mechanism.guarantee
    for value in ([three, -three], (three, -three), np.array([three, -three], object), seal([3, -3])):
        answer = mechanism.release(value)
        assert answer.value.shape == (2,)
        assert not answer.steps.flags.writeable
        assert all(abs(a - b) <= wide for a, b in zip(answer.value, [three, -three], strict=True))
        low, high = answer.interval("0.9", together=True)
        assert high[1] - low[1] == 2 * mechanism.error("0.9", count=2)
    assert isinstance(mechanism.release(seal(3)).steps, int)
    assert mechanism.release(np.zeros((2, 3), np.int16)).value.shape == (2, 3)
    assert mechanism.release([]).value.shape == (0,)


def check_large_results_become_python_ints_and_never_wrap(entry, example):
    mechanism = entry.make(**example)
    wide = mechanism.error("0.999999999999") / mechanism.grid
    top, bottom = 2**63 - 1, -(2**63)
    for values in ([top] * 40, [bottom] * 40, [2**200, -(2**200)], [top, 0]):
        noisy = mechanism.release(seal(values)).steps
        assert all(abs(int(got) - put) <= wide for got, put in zip(noisy, values, strict=True))
        assert (noisy.dtype == np.int64) == all(bottom <= int(got) <= top for got in noisy)
    unsigned = np.array([2**64 - 1, 5], np.uint64)
    assert abs(int(mechanism.release(seal(unsigned)).steps[0]) - (2**64 - 1)) <= wide
    low, high = mechanism.release(seal([top] * 3)).interval("0.95")
    assert all(high > low)


def check_a_release_never_changes_its_input(entry, example):
    mechanism = entry.make(**example)
    steps = np.arange(100)
    sealed = seal(steps)
    for _ in range(3):
        mechanism.release(sealed)
    assert (steps == np.arange(100)).all()
    steps[:] = 10**9
    assert abs(int(mechanism.release(sealed).steps[7])) < 10**6, "a sealed aggregate keeps its own copy"
    if mechanism.grid == 1:
        mechanism.release(steps)
        assert (steps == 10**9).all()


def check_values_that_are_not_exact_are_refused_without_being_shown(entry, example):
    mechanism = entry.make(**example)
    for value in INEXACT:
        with pytest.raises(ParameterError, match="exact values"):
            mechanism.release(value)


def check_values_off_the_grid_are_refused_without_being_shown(entry, example):
    mechanism = entry.make(**example)
    canary = mechanism.grid * Fraction(987654321, 2)
    for value in (canary, [canary], np.array([canary], object)):
        with pytest.raises(ParameterError, match="multiple of the grid") as caught:
            mechanism.release(value)
        assert "98765" not in str(caught.value)
        assert "49382" not in str(caught.value)
    for number in (Decimal("nan"), Decimal("inf")):
        with pytest.raises(ParameterError, match="exact values"):
            mechanism.release(number)


def check_rounding_is_paid_for(entry, example):
    plain, paying = entry.make(**example), entry.make(**example, rounded_coordinates=4)
    assert paying.scale > plain.scale
    off = plain.grid * Fraction(7, 3)
    assert abs(paying.release([off] * 4).value[0] - off) <= paying.error("0.999999999999") + paying.grid
    assert abs(paying.release(off).value - off) <= paying.error("0.999999999999") + paying.grid
    with pytest.raises(ParameterError, match="rounded_coordinates"):
        paying.release([off] * 5)


def check_scales_outside_the_samplers_range_are_refused_with_help(entry, example):
    with pytest.raises(ParameterError, match="smaller grid"):
        entry.make(**example | {"grid": Fraction(example["sensitivity"]) * 10**6})
    with pytest.raises(ParameterError, match="larger grid"):
        entry.make(**example | {"grid": Fraction(example["sensitivity"]) / 2**80})


OF_AN_ENTRY = (
    check_hostile_parameters_are_refused,
    check_no_mechanism_without_a_sensitivity,
)
OF_AN_EXAMPLE = (
    check_the_relation_is_carried,
    check_the_exact_law_keeps_the_claim_on_every_shift,
    check_the_same_check_catches_a_scale_three_per_cent_too_small,
    check_the_stated_delta_is_kept,
    check_the_law_is_a_law_with_full_support,
    check_the_error_is_the_smallest_half_width,
    check_the_error_of_the_largest_of_many,
    check_released_noise_has_the_exact_law,
    check_scalars_vectors_and_sealed_values,
    check_large_results_become_python_ints_and_never_wrap,
    check_a_release_never_changes_its_input,
    check_values_that_are_not_exact_are_refused_without_being_shown,
    check_values_off_the_grid_are_refused_without_being_shown,
    check_rounding_is_paid_for,
    check_scales_outside_the_samplers_range_are_refused_with_help,
)
