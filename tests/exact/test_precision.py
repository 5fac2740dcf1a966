"""The working precision of one thread is never that of another, whichever package sets it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from flint import ctx

from dither.exact import balls
from dither.exact.precision import precision
from dither.noise import lazy_uniform

Precision = Callable[[int], AbstractContextManager[object]]


def check_one_at_a_time(first: Precision, second: Precision, patience: float) -> None:
    """While one thread holds a precision, another that wants one has to wait; afterwards it is as it was before."""
    before, inside, leave = ctx.prec, threading.Event(), threading.Event()

    def other() -> None:
        with second(40):
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    try:
        with first(300):
            thread.start()
            inside.wait(patience)  # with a lock nobody comes, however long we wait
            held = ctx.prec
    finally:
        leave.set()
        thread.join()
        after, ctx.prec = ctx.prec, before
    assert held == 300, "another thread changed the precision in use"
    assert after == before, "a precision was left behind"


@pytest.mark.parametrize("second", [balls.precision, lazy_uniform.precision])
@pytest.mark.parametrize("first", [balls.precision, lazy_uniform.precision])
def test_accounting_and_noise_share_one_lock(first: Precision, second: Precision) -> None:
    check_one_at_a_time(first, second, 0.1)


def test_planted_a_precision_without_the_lock_is_caught() -> None:
    with pytest.raises(AssertionError, match="changed the precision in use"):
        check_one_at_a_time(precision, ctx.workprec, 30)
    with pytest.raises(AssertionError, match="changed the precision in use"):
        check_one_at_a_time(ctx.workprec, precision, 30)


def test_threads_at_many_precisions_get_certified_results() -> None:
    wrong: list[object] = []

    def accounted(digits: int) -> None:
        root = math.isqrt(2 * 10 ** (2 * digits))
        for _ in range(40):
            if balls.floor_of(lambda: balls.ball(2).sqrt() * 10**digits) != root:
                wrong.append(digits)

    def drawn(bits: int) -> None:
        # A number known to `bits` bits and the floor of 2^bits times it: certain only at a precision that holds it.
        prefix = (1 << bits) // 3
        for _ in range(40):
            uniform = lazy_uniform.LazyUniform(prefix, bits)
            with precision(bits + 64):
                held = balls.working_bits() == bits + 64
                low, high = balls.outward(uniform.ball() * (1 << bits))
            if not (held and low <= prefix < prefix + 1 <= high and high - low <= 3):
                wrong.append(bits)

    threads = [threading.Thread(target=accounted, args=(digits,)) for digits in (5, 40, 200)]
    threads += [threading.Thread(target=drawn, args=(bits,)) for bits in (64, 500, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
