"""Which events are looked for: level sets of an evened-out ratio, as rare as the certifying samples can tell."""

from __future__ import annotations

import numpy as np

from dither.lab.audit import events
from dither.lab.audit.columns import read_outputs
from dither.lab.audit.events import Target, search

SIZE = 200_000


def drawn(draw):
    return read_outputs(draw, SIZE)


def found(one, other, certifying):
    """The best event for epsilon at delta 0 that is likelier on the first side."""
    return next(c for c in search(one, other, [Target(delta=0.0)], certifying) if c.likelier == 0).event


def test_ratios_are_evened_out_over_a_share_of_the_mass():
    up, down = np.array([1, 2, 3, 4, 50, 60]), np.array([4, 3, 2, 1, 70, 80])
    share = np.cumsum((up + down)[:4]) / 20  # the last two cells hold labels
    one, other = events._evened(share, 0.25, up, down)
    assert one.tolist() == [3, 6, 9, 7, 50, 60]
    assert other.tolist() == [7, 9, 6, 3, 70, 80]
    narrow = list(events._evened(share, 0.1, up, down))
    assert [side.tolist() for side in narrow] == [up.tolist(), down.tolist()]


def test_more_certifying_samples_are_worth_rarer_events():
    """Two normal laws apart by 1: the farther out, the larger the ratio, and the rarer."""
    rng = np.random.default_rng(7)
    one, other = drawn(rng.normal(1, 1, SIZE)), drawn(rng.normal(0, 1, SIZE))
    fresh = rng.normal(1, 1, SIZE)
    few, many = (float(found(one, other, size).holds(fresh).mean()) for size in (SIZE, 10**8))
    assert 0 < many < 0.7 * few


def middle(monkeypatch, windows):
    """The event of two laws whose ratio has its peak in the middle, and in how many ranges it is."""
    monkeypatch.setattr(events, "_WINDOWS", windows)
    rng = np.random.default_rng(8)
    narrow, wide = (np.round(300 * rng.laplace(0, scale, SIZE)).astype(np.int64) for scale in (1, 2))
    event = found(drawn(narrow), drawn(wide), 10**7)
    return event, int((np.diff(event.chosen.astype(int), prepend=0) == 1).sum())


def test_an_event_in_the_middle_hangs_together(monkeypatch):
    """Noise does not tear it apart, as it does where every cell has a ratio of its own."""
    event, ranges = middle(monkeypatch, events._WINDOWS)
    assert event.holds(np.zeros(1, np.int64)).all()
    assert not event.holds(np.array([-2700, 2700])).any()
    monkeypatch.setattr(events, "_COARSER", ())
    assert ranges <= 8 < middle(monkeypatch, ())[1]
