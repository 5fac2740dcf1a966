"""Turns at a number of workers: no analyst has all of them at once, and none waits for ever behind another.

So the slow questions of one analyst do not refuse those of all others. Slots are those of one process, as workers are.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from dither.errors import Busy


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A thread that waits for a slot."""

    analyst: str | None


class Slots:
    """At most so many are taken at once, and by one analyst all but one of them; the curator (None) may take all."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most, self._changed = most, threading.Condition()
        self._taken = Counter[str | None]()
        self._waiting: list[_Waiting] = []  # in the order they came
        self._turns: dict[str | None, int] = {}  # when each was last given a slot

    @property
    def taken(self) -> int:
        """How many are taken now."""
        return self._taken.total()

    def take(self, analyst: str | None, patience: float | None) -> None:
        """Take one, which `give` gives back; Busy if the analyst's turn does not come within so many seconds."""
        waiting = _Waiting(analyst)
        with self._changed:
            self._waiting.append(waiting)
            try:
                if not self._changed.wait_for(lambda: self._next() is waiting, patience):
                    raise Busy(self._most(), share(self._most()), waited=patience)
                self._taken[analyst] += 1
                self._turns[analyst] = 1 + max(self._turns.values(), default=0)
            finally:
                self._waiting.remove(waiting)
                self._changed.notify_all()

    def give(self, analyst: str | None) -> None:
        """Give back what was taken."""
        with self._changed:
            self._taken[analyst] -= 1
            self._changed.notify_all()

    def _next(self) -> _Waiting | None:
        """Whose turn it is: of those below their share who has the fewest, then who had none for longest."""
        most = self._most()
        if self.taken >= most:
            return None
        able = [one for one in self._waiting if one.analyst is None or self._taken[one.analyst] < share(most)]
        return min(able, key=lambda one: (self._taken[one.analyst], self._turns.get(one.analyst, 0)), default=None)


def share(most: int) -> int:
    """How many of all slots one analyst may have."""
    return max(1, most - 1)
