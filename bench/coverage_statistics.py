"""How often intervals held the exact answer, and whether chance explains how often they did not.

A cell whose group is always shown is covered with the stated probability in each repetition, independently: an exact
binomial test for each cell. Where noisy numbers select which groups are shown, the claim is about the share of shown
cells that are not covered (false coverage rate): one of the shown, picked at random, is not covered with probability at
most 1 - level, and so is a repetition that shows none. All tests together err with probability `FAMILY` at most, by
Holm's correction, however they depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

FAMILY = 1e-3
SLACK = 1e-9  # of an average or a formula in floating point, relative

Key = tuple[str, ...]


@dataclass
class Tally:
    """Of one column at one level: repetitions, how often each cell was covered, and the widths of its intervals."""

    repetitions: int = 0
    held: dict[Key, int] = field(default_factory=dict)
    seen: dict[Key, int] = field(default_factory=dict)
    picked: int = 0  # repetitions in which the shown cell that was picked was covered, or none was shown
    widths: list[float] = field(default_factory=list)  # the mean over cells, of each repetition
    unstated: int = 0  # cells with an infinite end

    def add(
        self, keys: list[Key], lower: NDArray[Any], upper: NDArray[Any], truth: NDArray[Any], pick: np.random.Generator
    ) -> None:
        self.repetitions += 1
        off = SLACK * np.maximum(1, np.abs(truth))
        stated = ~np.isnan(truth)  # an average of no rows has no exact answer
        held = (lower - off <= truth) & (truth <= upper + off)
        for key, inside, counted in zip(keys, held.tolist(), stated.tolist(), strict=True):
            if counted:
                self.seen[key] = self.seen.get(key, 0) + 1
                self.held[key] = self.held.get(key, 0) + inside
        among = held[stated]
        self.picked += bool(among[pick.integers(len(among))]) if len(among) else True
        ends = (upper - lower)[stated]
        self.unstated += int(np.isinf(ends).sum())
        if len(ends):
            self.widths.append(float(ends.mean()))

    @property
    def coverage(self) -> float:
        """Of all cells that were seen."""
        return sum(self.held.values()) / max(1, sum(self.seen.values()))

    @property
    def least(self) -> float:
        """Of the cell that was covered least often."""
        return min((self.held[key] / self.seen[key] for key in self.seen), default=1.0)

    def to_dict(self) -> dict[str, Any]:
        counts = [[list(key), self.held[key], self.seen[key]] for key in self.seen]
        rest = {"picked": self.picked, "widths": self.widths, "unstated": self.unstated}
        return {"repetitions": self.repetitions, "cells": counts, **rest}

    def merge(self, record: Mapping[str, Any]) -> None:
        """Add what another run has written."""
        self.repetitions += record["repetitions"]
        for key, held, seen in record["cells"]:
            self.held[tuple(key)] = self.held.get(tuple(key), 0) + held
            self.seen[tuple(key)] = self.seen.get(tuple(key), 0) + seen
        self.picked += record["picked"]
        self.widths += record["widths"]
        self.unstated += record["unstated"]


@dataclass(frozen=True)
class Claim:
    """That a coverage is at least the level: its p-value is exact."""

    what: str
    cell: Key
    level: float
    held: int
    of: int

    @property
    def p(self) -> float:
        return float(binom.cdf(self.held, self.of, self.level))

    def __str__(self) -> str:
        named = f" [{', '.join(self.cell)}]" if self.cell else ""
        return f"{self.what}{named}: {self.held} of {self.of} at {self.level:.0%} (p = {self.p:.1e})"


def claims(what: str, tally: Tally, level: str, selects: bool) -> list[Claim]:
    """One test for each cell; or one for all of them, where noisy numbers select those that are shown."""
    if selects:
        return [Claim(what, ("one of the shown",), float(level), tally.picked, tally.repetitions)]
    return [Claim(what, key, float(level), tally.held[key], seen) for key, seen in tally.seen.items()]


def rejected(made: Iterable[Claim], family: float = FAMILY) -> list[Claim]:
    """Those that chance does not explain, by Holm's step-down procedure."""
    ordered = sorted(made, key=lambda test: test.p)
    found: list[Claim] = []
    for place, test in enumerate(ordered):
        if not test.p <= family / (len(ordered) - place):
            break
        found.append(test)
    return found


def detectable(repetitions: int, level: str, tested: int, family: float = FAMILY) -> float:
    """The largest coverage that so many repetitions would reject at least every other time."""
    most = int(binom.ppf(family / tested, repetitions, float(level))) - 1
    return max(0.0, math.floor(1000 * most / repetitions) / 1000)
