"""When an answer is given, if the curator asks for that: at a time that follows from its plan alone.

The answer is stored and returned at the smallest power-of-two multiple of the grid that its work is bound to fit in,
counted from when it was asked for. A question that cannot begin early enough for that is refused before it is charged.
Until then nobody can see that the answer is there: not its asker, not a repeat, not the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dither.engines.routing import Engines
    from dither.policy.limits import Limits
    from dither.policy.store import PolicyFile
    from dither.sql.pricing.price import PricedQuestion


@dataclass(frozen=True)
class Clock:
    """How time passes."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    date: Callable[[], float] = lambda: time.time()  # seconds since 1970, UTC


@dataclass(frozen=True)
class Release:
    """When answers to a question may be given: multiples of the grid, none before its work must be done."""

    grid: Fraction
    bound: Fraction

    @property
    def patience(self) -> Fraction:
        """How long a question may wait for others: half of what its work leaves, the other half is for the charge."""
        return (doubled(self.grid, self.bound) - self.bound) / 2

    def after(self, begun: Fraction) -> Fraction:
        """Seconds from the question to its answer, whose first statement ran after so many.

        They follow from the plan alone unless reading and charging it took longer than there was room for, which no
        data decide; then, too, how long its own statements ran does not.
        """
        return doubled(self.grid, begun + self.bound)


def release_of(priced: PricedQuestion, limits: Limits) -> Release | None:
    """None if an answer is given as soon as it is there."""
    if limits.answer_on_grid is None:
        return None
    return Release(Fraction(limits.answer_on_grid), seconds_bound(priced, limits))


@contextmanager
def turn(engine: Engines, policy: PolicyFile, analyst: str | None, on: str, due: Release | None) -> Iterator[None]:
    """A place and the shared lock, in this order: whoever waits for a place holds up no refresh, and no commit."""
    from dither.ledger.storage.together import apart

    with ExitStack() as held:
        with apart():
            held.enter_context(_place(engine, analyst, on, due))
            held.enter_context(policy.shared())
        yield


def _place(engine: Engines, analyst: str | None, on: str, due: Release | None) -> AbstractContextManager[object]:
    """Near a worker. With a time to keep it is a worker at once: who is next does not know for how long."""
    if due is None:
        return engine.place(analyst, on)
    return engine.slot(analyst, on, float(due.patience))


def doubled(seconds: Fraction, least: Fraction) -> Fraction:
    """The smallest power-of-two multiple that is not less.

    >>> doubled(Fraction(1, 4), Fraction(3)), doubled(Fraction(5), Fraction(3))
    (Fraction(4, 1), Fraction(5, 1))
    """
    while seconds < least:
        seconds *= 2
    return seconds


def seconds_bound(priced: PricedQuestion, limits: Limits) -> Fraction:
    """The longest a question takes: by its plan or, if a table declares no `max_rows`, by where it is stopped."""
    from dither.sql.admission.work import work

    stopped = Fraction(limits.statement_seconds)
    found = work(priced.aggregates, limits.max_cells)
    return min(found.seconds, stopped) if found.declared else stopped
