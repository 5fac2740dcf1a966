"""Threads that computed with balls leave nothing behind when they end, but what they computed."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dither.exact.balls import ball
from dither.exact.precision import precision

LARGE = Fraction(2**200 + 1, 3**150)
FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class Memory(ctypes.Structure):
    """What glibc says of its memory."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in FIELDS)


def bytes_in_use() -> int:
    """Bytes that were allocated outside of Python's own objects, and are not freed."""
    count = ctypes.CDLL(None).mallinfo2
    count.restype = Memory
    found = count()
    return int(found.uordblks + found.hblkhd)


def run_threads(work: Callable[[], Any], number: int) -> None:
    """One thread after the other, each of which ends."""
    for _ in range(number):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def compute() -> None:
    with precision(300):
        ball(LARGE).exp()


def only_a_ball() -> None:
    ball(2**200)


@pytest.mark.parametrize("work", [compute, only_a_ball])
def test_a_thread_that_ends_keeps_nothing(work: Callable[[], None]) -> None:
    run_threads(work, 3)
    before = bytes_in_use()
    run_threads(work, 100)
    assert bytes_in_use() - before < 100 * 10_000  # without it some 230,000 each


def test_numbers_outlive_their_threads() -> None:
    kept = list[Any]()
    run_threads(lambda: kept.append(ball(2**300 + len(kept))), 20)
    assert [int(one.unique_fmpz()) for one in kept] == [2**300 + number for number in range(20)]


def test_a_forked_child_computes_on() -> None:
    """The room of a thread that a child does not have is not freed there, and the child's own stays whole."""
    done, leave = threading.Event(), threading.Event()

    def other() -> None:
        compute()
        done.set()
        leave.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert done.wait(60)
        number = ball(2**300)
        child = os.fork()
        if not child:
            compute()
            os._exit(int(int(number.unique_fmpz()) != 2**300))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        leave.set()
        thread.join()
