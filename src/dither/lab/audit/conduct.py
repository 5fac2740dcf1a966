"""Whether outputs are what the auditor takes them for: of one law whatever was asked before, and independent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dither.lab.audit.columns import Outputs, read_outputs
from dither.lab.audit.confidence import at_least, at_most
from dither.lab.audit.draws.samplers import Sampler
from dither.lab.audit.events import Event, Target, search
from dither.noise.entropy import random_words

Batches = tuple[Outputs, Outputs]

_MOST_COLUMNS = 3  # of each of two outputs that are looked at together
_TESTS = 4
_SHARES = (0.125, 0.25, 0.5, 0.75)  # of the outputs around the middle one


def conduct(draw: Sampler, data: Any, others: Sequence[Any], calls: int, error: float) -> Iterator[str]:
    """What contradicts fresh and independent outputs, in words; false with probability at most `error` for all of it.

    Two batches on the same data are drawn one after the other, and single outputs in calls that come after a call on
    other data, chosen at random: first one and then another on the same data.
    """
    first, second = (read_outputs(draw(data, 3 * calls), 3 * calls) for _ in range(2))
    after, again = _single_calls(draw, data, others, calls)
    share = error / _TESTS
    if (event := differ(after, first, share)) is not None:
        yield f"outputs depend on what was asked before: {event} is not as likely after a call on other data"
    within = (first.part(slice(0, None, 2)), first.part(slice(1, None, 2))), _halves(second)
    for (drawn, apart), words in (
        (within, "of one call"),
        (_far_apart(first, second), "of two calls"),
        (_far_apart(after, again), "of two single calls"),
    ):
        # Of independent outputs, pairs as they were drawn and pairs that were drawn far apart have one law.
        if (event := differ(_together(*drawn), _together(*apart), share)) is not None:
            yield f"outputs {words} on the same data are not independent: {event}"


def differ(one: Outputs, other: Outputs, error: float) -> Event | None:
    """An event whose probability is certainly not the same in both: chosen on one half of either, counted on the other.

    If all outputs are independent and have one law, there is one with probability at most `error`.
    """
    halves = [len(side) // 2 for side in (one, other)]
    looked = [side.part(slice(half)) for side, half in zip((one, other), halves, strict=True)]
    counted = [side.part(slice(half, None)) for side, half in zip((one, other), halves, strict=True)]
    found = search(looked[0], looked[1], [Target(epsilon=0.0)], min(map(len, counted)))
    best = max(found, key=lambda candidate: candidate.promise)
    if not best.promise > 0:
        return None
    likely, rare = counted[best.likelier], counted[1 - best.likelier]
    least = at_least(int(best.event.holds(likely).sum()), len(likely), error / 2)[0]
    most = at_most(int(best.event.holds(rare).sum()), len(rare), error / 2)[0]
    return best.event if least > most else None


def _halves(outputs: Outputs) -> Batches:
    half = len(outputs) // 2
    return outputs.part(slice(half)), outputs.part(slice(half, 2 * half))


def _far_apart(one: Outputs, other: Outputs) -> tuple[Batches, Batches]:
    """Outputs of the same place in two batches, and outputs of other places that are far from each other."""
    (first, rest), (same, others) = _halves(one), _halves(other)
    return (first, same), (_halves(rest)[0], _halves(others)[1])


def _together(one: Outputs, other: Outputs) -> Outputs:
    named = {"first": one, "second": other}
    return Outputs(
        {
            f"{which} {name}": side.columns[name]
            for which, side in named.items()
            for name in [*side.columns][:_MOST_COLUMNS]
        }
    )


def _single_calls(draw: Sampler, data: Any, others: Sequence[Any], calls: int) -> Batches:
    places = random_words(np.uint32, calls).astype(np.int64) % len(others)
    after, again = [], []
    for place in places.tolist():
        draw(others[place], 1)
        after.append(_only(draw(data, 1)))
        again.append(_only(draw(data, 1)))
    return _read(after), _read(again)


def fresh_calls(draw: Sampler, pair_of: Callable[[int], tuple[Any, Any]], calls: int, start: int = 0) -> Batches:
    """One call for each number, on a pair of neighbours of its own; in random order, as many on either side."""
    sides = np.repeat([0, 1], calls)
    sides = sides[np.argsort(random_words(np.uint64, 2 * calls), kind="stable")]
    drawn: tuple[list[Any], list[Any]] = ([], [])
    for number, side in enumerate(sides.tolist(), start):
        drawn[side].append(_only(draw(pair_of(number)[side], 1)))
    return _read(drawn[0]), _read(drawn[1])


def rank(first: Outputs, batch: Outputs) -> float | None:
    """Where an output lies among others on the same data: uniform in (0, 1) if it was drawn as they were.

    By the first column that is a number, ties in random order; None if there is none.
    """
    numbers = (name for name, column in first.columns.items() if column.labels is None and name in batch.columns)
    name = next((name for name in numbers if batch.columns[name].labels is None), None)
    if name is None:
        return None
    value, others = first.columns[name].values[0], batch.columns[name].values
    below, ties = int((others < value).sum()), int((others == value).sum())
    coin = (int(random_words(np.uint64, 1)[0] >> np.uint64(11)) + 0.5) * 2.0**-53
    return (below + coin * (ties + 1)) / (len(others) + 1)


def first_calls(ranks: Sequence[float], error: float) -> Iterator[str]:
    """What the first outputs on each input show, beside later ones on it; false with probability at most `error`."""
    off = np.abs(2 * np.array(ranks) - 1)
    for share in _SHARES:
        for words, count, chance in (
            ("like the middle of", int((off < share).sum()), share),
            ("far from", int((off >= share).sum()), 1 - share),
        ):
            if at_least(count, max(1, len(off)), error / (2 * len(_SHARES)))[0] > chance:
                yield f"first outputs on an input are {words} later ones on it: {count} of {len(off)} inputs"
                return


def _only(drawn: Any) -> Any:
    read_outputs(drawn, 1)  # refuses more than one
    return drawn[0]


def _read(items: list[Any]) -> Outputs:
    plain = all(isinstance(item, (np.ndarray, np.generic)) for item in items)
    return read_outputs(
        np.array(items) if plain and len({np.shape(item) for item in items}) == 1 else items, len(items)
    )
