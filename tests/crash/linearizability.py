"""Whether what clients saw of an account could have happened one operation after the other.

An operation takes effect at one instant between its beginning and its end. Of a budget there are two: `spend` is
granted if the price fits into what is left and refused if it does not; `read` sees what was spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Operation:
    """What a client did, from when to when, and what it saw: True or False of a spend, the sum of a read."""

    begun: float
    ended: float
    seen: bool | Fraction

    def after(self, spent: Fraction, price: Fraction, cap: Fraction) -> Fraction | None:
        """What is spent afterwards, if the operation could have seen this; None if it could not."""
        if not isinstance(self.seen, bool):
            return spent if self.seen == spent else None
        fits = spent + price <= cap
        return None if fits != self.seen else spent + price if fits else spent


def linearizable(history: Sequence[Operation], price: Fraction, cap: Fraction) -> bool:
    """Search for an order that keeps to real time and explains everything (Wing and Gong, 1993).

    Each step takes one of the operations that began before all that are left have ended; places that were found to
    lead nowhere are not searched again.
    """
    waiting = sorted(history, key=lambda one: one.begun)
    # How far all were taken, which were taken beyond that, and what is spent.
    stack: list[tuple[int, frozenset[int], Fraction]] = [(0, frozenset(), Fraction(0))]
    known = {*stack}
    while stack:
        first, beyond, spent = stack.pop()
        if first == len(waiting):
            return True
        for place in _next(waiting, first, beyond):
            then = waiting[place].after(spent, price, cap)
            if then is not None:
                found = (*_taken(first, beyond | {place}), then)
                if found not in known:
                    known.add(found)
                    stack.append(found)
    return False


def _next(waiting: Sequence[Operation], first: int, beyond: frozenset[int]) -> list[int]:
    """Those that no other of those left ended before."""
    found, earliest = [], float("inf")
    for place in range(first, len(waiting)):
        if waiting[place].begun > earliest:
            break
        if place not in beyond:
            found.append(place)
            earliest = min(earliest, waiting[place].ended)
    return [place for place in found if waiting[place].begun <= earliest]


def _taken(first: int, beyond: frozenset[int]) -> tuple[int, frozenset[int]]:
    while first in beyond:
        beyond -= {first}
        first += 1
    return first, beyond
