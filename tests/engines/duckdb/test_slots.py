"""Who gets the next worker: told by events, never by the clock."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from dither.engines.duckdb import slots as module
from dither.engines.duckdb.slots import Slots
from dither.errors import Busy


class Room:
    """Slots, and threads that take them and say so."""

    def __init__(self, most: int) -> None:
        self.slots, self.taken = Slots(lambda: most), queue.Queue[str]()

    @contextmanager
    def asker(self, name: str, *, waits: bool) -> Iterator[Callable[[], None]]:
        """Somebody who has taken a slot, or waits for one; what is yielded lets go of it."""
        leave, analyst = threading.Event(), None if name == "curator" else name

        def ask() -> None:
            self.slots.take(analyst, None)
            self.taken.put(name)
            leave.wait()
            self.slots.give(analyst)

        before = self.waiting()
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()

        def end() -> None:
            leave.set()
            thread.join()

        if waits:
            while self.waiting() == before:
                assert self.taken.empty(), "nobody has all, or goes before those who have fewer"
                time.sleep(0.001)
        else:
            assert self.taken.get() == name
        try:
            yield end
        finally:
            leave.set()

    def waiting(self) -> int:
        with self.slots._changed:  # whoever is on the list has let go of this, and waits
            return len(self.slots._waiting)


def check_share() -> None:
    room = Room(3)
    with ExitStack() as all_of_them:
        for waits in (False, False, True, True):
            all_of_them.enter_context(room.asker("alice", waits=waits))
        room.slots.take("bob", 0)
        with pytest.raises(Busy, match="3 run at once, and at most 2 for one analyst"):
            room.slots.take("alice", 0)
        room.slots.give("bob")


def check_turns() -> None:
    """One worker, asked for by alice all the time: bob is next."""
    room = Room(1)
    with ExitStack() as all_of_them:
        ends = [all_of_them.enter_context(room.asker("alice", waits=False))]
        ends += [all_of_them.enter_context(room.asker(name, waits=True)) for name in ("alice", "alice", "bob")]
        ends[0]()
        assert room.taken.get() == "bob", "bob waits behind all that alice asks"
        ends[3]()
        assert room.taken.get() == "alice"


def check_fewest() -> None:
    """A slot that gets free goes to who has fewer, also if that one had a turn later and came later."""
    room = Room(4)
    with ExitStack() as all_of_them:
        for name in ("alice", "alice", "bob"):
            all_of_them.enter_context(room.asker(name, waits=False))
        end = all_of_them.enter_context(room.asker("curator", waits=False))
        for name in ("alice", "bob"):
            all_of_them.enter_context(room.asker(name, waits=True))
        end()
        assert room.taken.get() == "bob", "who has more gets more"


CHECKS = {"share": check_share, "turns": check_turns, "fewest": check_fewest}


@pytest.mark.parametrize("check", CHECKS)
def test_no_analyst_holds_up_all_others(check: str) -> None:
    """Threat 59."""
    CHECKS[check]()


def first_come(self: Slots) -> Any:
    """Planted bug."""
    return self._waiting[0] if self._waiting and self.taken < self._most() else None


def fewest_alone(self: Slots) -> Any:
    """Planted bug: of those who have none, who came first."""
    able = self._waiting if self.taken < self._most() else []
    return min(able, key=lambda one: self._taken[one.analyst], default=None)


def turns_alone(self: Slots) -> Any:
    """Planted bug: who had no turn for longest, however many that one has."""
    able = self._waiting if self.taken < self._most() else []
    return min(able, key=lambda one: self._turns.get(one.analyst, 0), default=None)


@pytest.mark.parametrize(
    ("check", "broken", "words"),
    [
        ("share", first_come, "nobody has all"),
        ("turns", fewest_alone, "bob waits behind"),
        ("fewest", turns_alone, "who has more gets more"),
    ],
)
def test_planted_bugs_of_turns(check: str, broken: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slots, "_next", broken)
    with pytest.raises(AssertionError, match=words):
        CHECKS[check]()


def test_the_curator_may_have_all_and_a_single_one_is_anybodys() -> None:
    both = Slots(lambda: 2)
    both.take(None, 0)
    both.take(None, 0)
    assert both.taken == 2
    one = Slots(lambda: 1)
    one.take("alice", 0)
    with pytest.raises(Busy, match="1 run at once, and at most 1"):
        one.take("bob", 0)
    one.give("alice")
    one.take("bob", 0)
    assert [module.share(most) for most in (1, 2, 3, 4)] == [1, 1, 2, 3]


def test_who_is_refused_holds_nobody_back() -> None:
    slots = Slots(lambda: 1)
    slots.take("alice", 0)
    with pytest.raises(Busy):
        slots.take("bob", 0)
    slots.give("alice")
    slots.take("alice", 0)
