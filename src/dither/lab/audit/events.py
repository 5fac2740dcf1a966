"""Events worth certifying: unions of cells with the largest likelihood ratios, chosen on samples of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.lab.audit.cells import Partition, learn
from dither.lab.audit.columns import Outputs, read_outputs
from dither.lab.audit.confidence import Reals, roughly_at_least, roughly_at_most
from dither.lab.audit.features import Builder, Feature, catalogue

Counts = npt.NDArray[np.int64]

_COARSER = (256, 32)  # parts of equal mass into which cells are also merged: their ratios are less noisy
_WINDOWS = (256, 64, 16)  # shares of the mass over which ratios are evened out, so that neighbouring cells agree
_DEVIATIONS = 4.5  # by which a certified bound is below what was counted, about
_LUCK = 2.0  # deviations by which the best of many events was counted too often, about
_FEW_FEATURES = 4
_HEAD = 1 << 15


@dataclass(frozen=True)
class Target:
    """What an event is good for: epsilon at a delta (`delta` given), or delta at an epsilon."""

    delta: float | None = None
    epsilon: float | None = None

    def value(self, likely: Any, rare: Any) -> Any:
        """The epsilon or delta that P(event) >= likely on one side and <= rare on the other side prove."""
        with np.errstate(all="ignore"):
            if self.delta is not None:
                return np.where(likely > self.delta, np.log((likely - self.delta) / rare), -np.inf)
            return likely - math.exp(min(self.epsilon or 0.0, 700.0)) * rare


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose feature lies in the chosen cells."""

    feature: Feature
    partition: Partition
    chosen: npt.NDArray[np.bool_]

    def holds(self, drawn: Any) -> npt.NDArray[np.bool_]:
        """For each output whether it is in the set."""
        outputs = drawn if isinstance(drawn, Outputs) else read_outputs(drawn, len(drawn))
        return self.chosen[self.partition.cells(self.feature.read(outputs))]

    def __str__(self) -> str:
        words = self.partition.describe(self.chosen)
        return f"{self.feature.name} {words}" if words[0] in "=<>i" else f"{self.feature.name} is {words}"


@dataclass(frozen=True)
class Candidate:
    """An event, the side on which it is likelier (0 or 1), the target it was chosen for and what it promised there."""

    event: Event
    likelier: int
    target: Target
    promise: float


def search(one: Outputs, other: Outputs, targets: Sequence[Target], certifying: int | None = None) -> list[Candidate]:
    """For each direction and target the event that promises most, to as many outputs as will certify it.

    Where there are many features, those that promise little on the first outputs are left out.
    """
    ways = catalogue(one, other)
    if len(ways) > _FEW_FEATURES and max(len(one), len(other)) > _HEAD:
        first = one.part(slice(_HEAD)), other.part(slice(_HEAD))
        ways = {name: ways[name] for name in _promising(list(_look(*first, targets, catalogue(*first).values())))}
    best: dict[tuple[int, Target], Candidate] = {}
    for candidate in _look(one, other, targets, ways.values(), certifying):
        held = best.get((candidate.likelier, candidate.target))
        if held is None or candidate.promise > held.promise:
            best[candidate.likelier, candidate.target] = candidate
    return list(best.values())


def _promising(candidates: list[Candidate]) -> list[str]:
    """The features that are among the best three for some direction and target."""
    kept: dict[str, None] = {}
    for key in {(candidate.likelier, candidate.target) for candidate in candidates}:
        rivals = [one for one in candidates if (one.likelier, one.target) == key]
        rivals.sort(key=lambda candidate: -candidate.promise)
        kept |= dict.fromkeys(candidate.event.feature.name for candidate in rivals[:3])
    return list(kept)


def _look(
    one: Outputs,
    other: Outputs,
    targets: Sequence[Target],
    ways: Iterable[Builder],
    certifying: int | None = None,
) -> Iterator[Candidate]:
    """For each feature, direction and target the event that promises most.

    Cells and their order are learned on every second output, and what they promise is counted on the others: otherwise
    outputs that never come twice would promise everything.
    """
    learned, fresh = ([side.part(slice(start, None, 2)) for side in (one, other)] for start in (0, 1))
    trials = [len(side) for side in fresh]
    # Rare events promise little to few outputs, and more to many.
    away = _DEVIATIONS if certifying is None else _LUCK + _DEVIATIONS * math.sqrt(min(1.0, min(trials) / certifying))
    for build in ways:
        feature = build(*learned)
        columns = [feature.read(side) for side in learned]
        partition = learn(columns[0], columns[1])
        known = [partition.counts(column) for column in columns]
        counts = [partition.counts(feature.read(side)) for side in fresh]
        for likelier in (0, 1):
            rarer = 1 - likelier
            best: dict[Target, tuple[float, npt.NDArray[Any]]] = {}
            for order, stops in _orders(partition, known[likelier], known[rarer]):
                likely = roughly_at_least(np.cumsum(counts[likelier][order])[stops], trials[likelier], away)
                rare = roughly_at_most(np.cumsum(counts[rarer][order])[stops], trials[rarer], away)
                for target in targets:
                    value = target.value(likely, rare)
                    place = int(np.argmax(value))
                    if target not in best or value[place] > best[target][0]:
                        best[target] = float(value[place]), order[: stops[place] + 1]
            for target, (promise, cells) in best.items():
                chosen = np.zeros(partition.size, dtype=bool)
                chosen[cells] = True
                yield Candidate(Event(feature, partition, chosen), likelier, target, promise)


def _orders(partition: Partition, up: Counts, down: Counts) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Orders of the cells, and the places at which they may be cut: every beginning of an order is an event."""
    size = partition.size
    everywhere = np.arange(size - 1)
    yield np.arange(size), everywhere
    yield np.arange(size)[::-1], everywhere
    yield _by_ratio(up, down), everywhere
    mass = (up + down).astype(np.float64)
    share = np.cumsum(mass) / max(1.0, float(mass.sum()))
    for parts in _COARSER:
        if parts < partition.numbers():
            group = np.minimum((share * parts).astype(np.int64), parts - 1)
            beyond = np.arange(size) >= partition.numbers()
            group = np.where(beyond, parts + np.arange(size), group)
            merged = [np.bincount(group, weights=side).astype(np.int64) for side in (up, down)]
            rank = np.empty(len(merged[0]), dtype=np.int64)
            rank[_by_ratio(*merged)] = np.arange(len(rank))
            order = np.argsort(rank[group], kind="stable")
            yield order, np.flatnonzero(np.diff(rank[group][order]))
    for parts in _WINDOWS:
        if parts < partition.numbers():
            yield _by_ratio(*_evened(share[: partition.numbers()], 0.5 / parts, up, down)), everywhere


def _evened(share: Reals, width: float, *sides: Counts) -> Iterator[Counts]:
    """What lies within so much of the mass on either side of each cell of numbers; labels stay as they are."""
    first = np.searchsorted(share, share - width, side="left")
    last = np.searchsorted(share, share + width, side="right")
    for side in sides:
        upto = np.concatenate([[0], np.cumsum(side[: len(share)])])
        yield np.concatenate([upto[last] - upto[first], side[len(share) :]])


def _by_ratio(up: Reals | Counts, down: Reals | Counts) -> npt.NDArray[np.intp]:
    return np.argsort(-(up + 1.0) / (down + 1.0), kind="stable")
