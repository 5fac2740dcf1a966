"""What the figures of a run say: coverage by kind of question, failures, and widths with and without a profile."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coverage_results import Figures, Place
from coverage_statistics import FAMILY, Claim, Tally, claims, detectable, rejected

LEVELS = ("0.5", "0.9", "0.95", "0.99")
PROFILES = {
    "none": "Without a profile",
    "rows": "After a profile of rows",
    "columns": "After a profile of rows and a column",
}
ERRORS = 5  # standard errors: hundreds of widths that follow from noisy numbers are compared
TENFOLD, HALF = "flights6000", 0.5  # its declared maximum is ten times too large


def report(figures: Figures) -> int:
    """Print tables in Markdown; 1 if a coverage is below its level, or a width beyond its limit."""
    for profile, title in PROFILES.items():
        chosen = {place: levels for place, levels in figures.items() if place.profile == profile}
        if chosen:
            print(f"\n{title}: coverage over all cells (of the one covered least often)\n")
            _coverages(chosen)
    wide = _widths(figures)
    made = [
        claim for place, levels in figures.items() for level, t in levels.items() for claim in _claims(place, level, t)
    ]
    low = rejected(made)
    state = "FAIL" if low else "PASS"
    print(f"\n{state}  {len(low)} of {len(made):,} exact tests rejected, family-wise error {FAMILY:g}")
    fewest = min(tally.repetitions for levels in figures.values() for tally in levels.values())
    found = ", ".join(f"{detectable(fewest, level, len(made)):.0%} at {float(level):.0%}" for level in LEVELS)
    print(f"      {fewest} repetitions find a cell whose coverage is no more than: {found}")
    worst: dict[str, list[Claim]] = {}
    for claim in low:
        worst.setdefault(claim.what, []).append(claim)
    for what, all_of_it in worst.items():
        print(f"      {len(all_of_it)} of {what}\n        {min(all_of_it, key=lambda claim: claim.held / claim.of)}")
    return 1 if low or wide else 0


def _claims(place: Place, level: str, tally: Tally) -> list[Claim]:
    return claims(str(place), tally, level, place.selects)


def _coverages(figures: Figures) -> None:
    print("| question | " + " | ".join(f"{float(level):.0%}" for level in LEVELS) + " | repetitions |")
    print("|---" * (len(LEVELS) + 2) + "|")
    for kind in dict.fromkeys(place.kind for place in figures):
        cells, repetitions = [], 0
        for level in LEVELS:
            found = [
                (place, levels[level]) for place, levels in figures.items() if place.kind == kind and level in levels
            ]
            if not found:
                cells.append("")
                continue
            repetitions = min(tally.repetitions for _, tally in found)
            held, seen = (sum(sum(getattr(tally, name).values()) for _, tally in found) for name in ("held", "seen"))
            each = [tally.picked / tally.repetitions if place.selects else tally.least for place, tally in found]
            cells.append(f"{held / max(1, seen):.1%} ({min(each):.0%})")
        print(f"| {kind} | " + " | ".join(cells) + f" | {repetitions} |")


@dataclass(frozen=True)
class Width:
    """Of intervals at 95% with a profile, over those at K = M."""

    place: Place
    ratio: float
    widest: float
    chance: float  # how much larger the ratio may be by chance

    def __str__(self) -> str:
        return f"{self.ratio:.2f} ({self.widest:.2f})"

    @property
    def kept(self) -> bool:
        if not self.chance and not self.widest <= 1 + 1e-9:  # the same in all repetitions without a profile
            return False
        half = self.place.table == TENFOLD and self.place.epsilon == "0.1" and self.place.profile == "rows"
        return self.ratio <= (
            HALF if half and self.place.kind in ("COUNT", "COUNT, more groups", "SUM") else 1 + self.chance
        )


def widths(figures: Figures) -> Iterator[Width]:
    for place, levels in figures.items():
        plain = figures.get(place._replace(profile="none"), {}).get("0.95")
        tally = levels.get("0.95")
        if place.profile == "none" or plain is None or tally is None or not plain.widths or not tally.widths:
            continue
        mean, widest = sum(plain.widths) / len(plain.widths), max(plain.widths)
        if 0 < mean < float("inf"):
            steady = min(plain.widths) == widest
            errors = [statistics.pstdev(one.widths) / len(one.widths) ** 0.5 for one in (plain, tally)]
            chance = 0.0 if steady else ERRORS * math.hypot(*errors) / mean
            yield Width(place, statistics.fmean(tally.widths) / mean, max(tally.widths) / widest, chance)


def _widths(figures: Figures) -> int:
    found = list(widths(figures))
    if not found:
        return 0
    print("\nWidth at 95% after a profile over that at K = M: mean of all repetitions (the widest)\n")
    settings = sorted({(one.place.budget, one.place.epsilon) for one in found})
    print("| table, profile, question | " + " | ".join(f"{b}, {e}" for b, e in settings) + " |")
    print("|---" * (len(settings) + 1) + "|")
    rows: dict[tuple[Any, ...], dict[Any, Width]] = {}
    for one in found:
        place = one.place
        rows.setdefault((place.table, place.profile, place.kind, place.sql, place.column), {})[
            place.budget, place.epsilon
        ] = one
    for (table, profile, kind, *_), cells in rows.items():
        shown = (str(cells[setting]) if setting in cells else "" for setting in settings)
        print(f"| {table}, {profile}, {kind} | " + " | ".join(shown) + " |")
    for one in found:
        if not one.kept:
            print(f"WIDE  {one}: column {one.place.column + 1} of {one.place}")
    wide = sum(not one.kept for one in found)
    print(f"\n{'FAIL' if wide else 'PASS'}  {wide} of {len(found)} widths beyond their limit")
    return wide
