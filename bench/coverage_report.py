"""What the figures of a run say: coverage by kind of question, failures, and widths with and without a profile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from coverage_statistics import FAMILY, Claim, Tally, claims, rejected

SETTING = ("table", "budget", "epsilon", "profile", "kind", "sql", "column", "selects")
LEVELS = ("0.5", "0.9", "0.95", "0.99")


def read(path: Path) -> dict[tuple[Any, ...], dict[str, Tally]]:
    """By setting and question, by level, what all runs in a file found together."""
    found: dict[tuple[Any, ...], dict[str, Tally]] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            key = tuple(record[name] for name in SETTING)
            found.setdefault(key, {}).setdefault(record["level"], Tally()).merge(record)
    return found


def named(key: tuple[Any, ...]) -> str:
    table, budget, epsilon, profile, kind, _, column, _ = key
    return f"{table}, {budget}, epsilon {epsilon}, profile {profile}, {kind}" + (f" ({column + 1})" if column else "")


def tested(figures: Mapping[tuple[Any, ...], Mapping[str, Tally]]) -> Iterable[Claim]:
    for key, levels in figures.items():
        for level, tally in levels.items():
            yield from claims(f"{named(key)}: {key[5]}", tally, level, key[-1])


def report(path: Path) -> int:
    """Print tables in Markdown; 1 if a coverage is below its level."""
    figures = read(path)
    made = list(tested(figures))
    low = rejected(made)
    for profile in ("none", "rows", "columns"):
        chosen = {key: levels for key, levels in figures.items() if key[3] == profile}
        if chosen:
            print(f"\nProfile: {profile}. Coverage over all cells (of the cell covered least often)\n")
            _coverages(chosen)
    _widths(figures)
    print(f"\n{len(made):,} exact tests, family-wise error {FAMILY:g}: {len(low)} rejected")
    for test in low[:40]:
        print(f"FAIL  {test}")
    return 1 if low else 0


def _coverages(figures: Mapping[tuple[Any, ...], Mapping[str, Tally]]) -> None:
    print("| question | " + " | ".join(f"{float(level):.0%}" for level in LEVELS) + " | repetitions |")
    print("|---" * (len(LEVELS) + 2) + "|")
    for kind in dict.fromkeys(key[4] for key in figures):
        cells, repetitions = [], 0
        for level in LEVELS:
            tallies = [levels[level] for key, levels in figures.items() if key[4] == kind and level in levels]
            held, seen = (sum(sum(getattr(t, name).values()) for t in tallies) for name in ("held", "seen"))
            repetitions = min((t.repetitions for t in tallies), default=0)
            selects = any(key[-1] for key in figures if key[4] == kind)
            least = min((t.picked / t.repetitions if selects else t.least for t in tallies), default=1.0)
            cells.append(f"{held / max(1, seen):.1%} ({least:.0%})")
        print(f"| {kind} | " + " | ".join(cells) + f" | {repetitions} |")


def _widths(figures: Mapping[tuple[Any, ...], Mapping[str, Tally]]) -> None:
    """Mean widths at 95% with a profile over those without."""
    print("\nWidth with a profile over that at K = M, 95%: mean, and the widest of any repetition\n")
    print("| table | budget | epsilon | profile | question | ratio of means | widest |\n|---|---|---|---|---|---|---|")
    for key, levels in figures.items():
        table, budget, epsilon, profile, kind, sql, column, selects = key
        plain = figures.get((table, budget, epsilon, "none", kind, sql, column, selects), {}).get("0.95")
        tally = levels.get("0.95")
        if profile == "none" or plain is None or tally is None or not plain.widths or not tally.widths:
            continue
        mean = sum(plain.widths) / len(plain.widths)
        if mean > 0:
            ratio, widest = sum(tally.widths) / len(tally.widths) / mean, max(tally.widths) / max(plain.widths)
            print(f"| {table} | {budget} | {epsilon} | {profile} | {kind} | {ratio:.3f} | {widest:.3f} |")
