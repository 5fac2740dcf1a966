"""The neighbour harness of the package, and databases of the population to run it on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import threats_population as population

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.lab.audit.neighbours.gaps import Vector, check_gap, check_keys, difference
from dither.lab.audit.neighbours.observation import Observed, observe, wire
from dither.lab.audit.neighbours.recorder import check_neighbours, check_same_aggregates
from dither.lab.audit.neighbours.sides import Leak, Listening, Side

__all__ = [
    "Leak",
    "Listening",
    "Observed",
    "Side",
    "Vector",
    "check_gap",
    "check_keys",
    "check_neighbours",
    "check_same_aggregates",
    "difference",
    "make_side",
    "observe",
    "wire",
]

BUDGET = ApproxDP(4, "1e-6")  # keys from the data need delta


def make_side(folder: Path, sources: Any, like: Side | None = None, budget: Any = BUDGET) -> Side:
    """A curator with the tables of the population on a real engine and a real ledger.

    `sources` may be the events alone. Ranks are drawn with the key of `like`.
    """
    curator = Curator.open(folder)
    if like is not None:
        snapshots = folder / "snapshots"
        snapshots.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(like.curator._engine.home._folder / "rank.key", snapshots / "rank.key")  # type: ignore[attr-defined]
    curator.people("everybody", budget=budget)
    tables = sources if isinstance(sources, dict) else {"t": sources}
    for name, source in tables.items():
        if name == "pub":
            curator.register_public(name, source, columns=population.CODES, key="code")
        else:
            curator.register(name, source, people="everybody", **population.DECLARED[name])
    return Side.of(curator)
