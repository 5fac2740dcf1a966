"""Certified arithmetic rounds outward, whatever the precision in force."""

from __future__ import annotations

import math
import os
import threading
import warnings
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dither.exact import balls
from dither.exact.balls import (
    ball,
    bounds,
    ceil_of,
    dyadic_up,
    float_down,
    float_up,
    floor_of,
    outward,
    sign,
    whole_part,
    zero_to,
)
from dither.exact.precision import precision

fractions = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(fractions)
def test_a_ball_holds_its_number(value):
    with precision(30):
        inside = ball(value)
        assert balls.lower(inside) <= value <= balls.upper(inside)


@given(st.fractions())
def test_floats_round_outward(value):
    assert float_down(value) <= value <= float_up(value)
    assert math.nextafter(float_up(value), -math.inf) < value or float_up(value) == value


def test_floats_beyond_the_range():
    huge = Fraction(10**400)
    assert float_up(huge) == math.inf
    assert float_down(huge) == float_up(Fraction(2**1024 - 2**971)) == 1.7976931348623157e308
    assert float_up(-huge) == -1.7976931348623157e308
    assert float_down(-huge) == -math.inf


@given(fractions)
def test_dyadic_numbers_round_up_by_one_part_in_2_to_the_52(value):
    rounded = dyadic_up(value)
    assert value <= rounded <= value * (1 + Fraction(1, 2**51))
    assert Fraction(float(rounded)) == rounded


def test_floors_and_ceilings_of_irrational_numbers():
    assert floor_of(lambda: ball(2).sqrt() * 10**40) == math.isqrt(2 * 10**80)
    assert ceil_of(lambda: ball(2).sqrt() * 10**40) == math.isqrt(2 * 10**80) + 1


def test_a_tie_goes_outward():
    """sqrt(4) is a ball around 2 whose rounding no precision can decide."""

    def nearly_two():
        return (ball(2).sqrt() * ball(8).sqrt()) / 2 * 1

    assert floor_of(nearly_two) in (1, 2)
    assert ceil_of(nearly_two) in (2, 3)
    assert sign(lambda: nearly_two() - 2, undecided=7) == 7
    assert sign(lambda: nearly_two() - 3, undecided=7) == -1
    assert sign(lambda: nearly_two() - 1, undecided=7) == 1
    low, high = bounds(lambda: nearly_two() - 2)
    assert low <= 0 <= high


def test_a_ball_that_never_shrinks_is_rounded_outward():
    assert floor_of(lambda: arb(2, 0.75)) == 1
    assert ceil_of(lambda: arb(2, 0.75)) == 3
    low, high = bounds(lambda: arb(2, 0.75))
    assert low <= Fraction(5, 4)
    assert high >= Fraction(11, 4)


def test_values_without_an_enclosure_are_refused():
    for rounding in (floor_of, ceil_of, bounds):
        with pytest.raises(ArithmeticError):
            rounding(lambda: arb.nan())
        with pytest.raises(ArithmeticError):
            rounding(lambda: ball(10**30).exp())


def test_numbers_of_absurd_exponents_move_outward():
    tiny = (-ball(10**30)).exp()
    assert balls.lower(tiny) <= 0 < balls.upper(tiny) == Fraction(1, 2**40000)
    assert balls.lower(-tiny) == -Fraction(1, 2**40000)
    assert balls.upper(arb(2) ** (10**6)) is None
    assert balls.lower(ball(0)) == balls.upper(ball(0)) == 0


def test_precision_is_restored_also_after_an_error():
    before = ctx.prec
    with pytest.raises(ZeroDivisionError), precision(777):
        ctx.prec // (ctx.prec - 777)
    assert ctx.prec == before


def test_a_result_does_not_depend_on_a_precision_set_elsewhere():
    stop = threading.Event()

    def meddle():
        while not stop.is_set():
            ctx.prec = 20

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        found = {floor_of(lambda: ball(2).sqrt() * 10**30) for _ in range(300)}
    finally:
        stop.set()
        meddler.join()
        ctx.prec = 53
    assert found <= {math.isqrt(2 * 10**60), math.isqrt(2 * 10**60) - 1}


def test_a_child_of_a_busy_process_is_not_locked_out():
    held, done = threading.Event(), threading.Event()

    def hold():
        with precision(100):
            held.set()
            done.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of exactly the danger that is tested here
        child = os.fork()
    if child == 0:
        with precision(100):
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    holder.join()
    assert status == 0


@pytest.mark.parametrize(
    ("low", "high", "integers"),
    [(Fraction(-7, 2), Fraction(-5, 2), (-4, -2)), (Fraction(5, 2), Fraction(7, 2), (2, 4)), (3, 3, (3, 3))],
)
def test_integers_around_a_ball(low, high, integers):
    assert outward(ball(low).union(ball(high))) == integers


def test_the_whole_part_is_told_only_where_it_is_certain():
    assert whole_part(ball(Fraction(-7, 2))) == -4
    assert whole_part(ball(Fraction(5, 4)).union(ball(Fraction(7, 4)))) == 1
    assert whole_part(ball(Fraction(7, 4)).union(ball(Fraction(9, 4)))) is None


def test_from_zero_to_a_ball():
    found = zero_to(ball(Fraction(3, 2)))
    assert all(found.contains(ball(number)) for number in (0, 1, Fraction(3, 2)))
    assert not found.contains(ball(2))
    assert not found.contains(ball(-1))
