"""The picture of coverage: for every cell how often its 95% interval held the exact answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from coverage_report import PROFILES
from coverage_results import Figures
from dither.plot import style

LEVEL, STEP = "0.95", 0.005


def draw(figures: Figures, path: Path) -> None:
    """Write an SVG: one dot for all cells of a kind with the same coverage, larger for more of them."""
    alt = style.load()
    counted: Counter[tuple[str, str, float]] = Counter()
    for place, levels in figures.items():
        tally = levels.get(LEVEL)
        if tally is None:
            continue
        found = (
            [tally.picked / tally.repetitions] if place.selects else [tally.held[k] / tally.seen[k] for k in tally.seen]
        )
        for coverage in found:
            counted[place.kind, PROFILES[place.profile], round(coverage / STEP) * STEP] += 1
    kinds = list(dict.fromkeys(place.kind for place in figures))
    rows = [{"kind": k, "profile": p, "coverage": c, "cells": n} for (k, p, c), n in counted.items()]
    least = min(0.85, *(row["coverage"] for row in rows)) - 0.02
    across = alt.X(
        "coverage:Q", title="held the exact answer", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[least, 1])
    )
    dots = (
        alt.Chart()
        .mark_circle(opacity=0.6, color=style.FIRST)
        .encode(
            x=across,
            y=alt.Y("kind:N", title=None, sort=kinds),
            size=alt.Size("cells:Q", scale=alt.Scale(type="log", range=[12, 260]), legend=None),
        )
        .properties(width=style.WIDTH / 2, height=22 * len(kinds))
    )
    line = alt.Chart().mark_rule(color=style.SECOND, strokeWidth=2).encode(x=alt.datum(float(LEVEL)))
    columns = alt.Column("profile:N", title=None, sort=list(PROFILES.values()))
    repetitions = min(levels[LEVEL].repetitions for levels in figures.values() if LEVEL in levels)
    title = alt.TitleParams(
        "How often 95% intervals held the exact answer",
        subtitle=[
            f"every group of the tables, budgets and prices that were run, at least {repetitions} repetitions each",
            "larger dots for more groups; the line is at 95%; dots scatter around their coverage by chance",
        ],
    )
    data = alt.Data(values=rows)
    style.styled(alt.layer(dots, line, data=data).facet(column=columns).properties(title=title)).save(str(path))
