"""A tour of the museum: each exhibit against its check, and a table of what was caught."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dither.exact.parameters import Number
from dither.lab.audit.checking import check
from dither.lab.audit.verdict import Verdict
from dither.lab.museum.catalogue import EXHIBITS
from dither.lab.museum.exhibit import AnyExhibit, Exhibit, Reckoning

# Called with the name of an exhibit and the share of the tour that is done.
Progress = Callable[[str, float], None]
# So many tours can be made without a false alarm that one would be news.
_CONFIDENCE = "0.999999"


@dataclass(frozen=True)
class Row:
    """What came of one exhibit: certified lower bounds beside the claim, for the broken one and for its fixed twin."""

    name: str
    measure: str
    claimed: float
    found: float
    caught: bool
    fixed_claimed: float
    fixed_found: float
    fixed_passes: bool

    @property
    def as_it_should_be(self) -> bool:
        return self.caught and self.fixed_passes

    def document(self) -> dict[str, Any]:
        """The row for JSON, which knows no infinite numbers."""
        document = {
            name: _figure(value) if value in (math.inf, -math.inf) else value for name, value in asdict(self).items()
        }
        return document | {"passed": self.as_it_should_be}


def run(
    exhibits: Sequence[AnyExhibit] = EXHIBITS, *, confidence: Number = _CONFIDENCE, progress: Progress | None = None
) -> list[Row]:
    """One row for each exhibit."""
    return list(visit(exhibits, confidence=confidence, progress=progress))


def visit(
    exhibits: Sequence[AnyExhibit] = EXHIBITS, *, confidence: Number = _CONFIDENCE, progress: Progress | None = None
) -> Iterator[Row]:
    """The rows one after the other, as they are found."""
    for place, exhibit in enumerate(exhibits):
        if progress is not None:
            progress(exhibit.name, place / len(exhibits))
        yield reckoned(exhibit) if isinstance(exhibit, Reckoning) else audited(exhibit, confidence)
    if progress is not None:
        progress("done", 1.0)


def audited(exhibit: Exhibit, confidence: Number = _CONFIDENCE) -> Row:
    """The auditor's verdicts on both mechanisms."""

    def verdict(mechanism: Any) -> Verdict:
        return check(
            mechanism() if isinstance(mechanism, type) else mechanism,
            neighbours=exhibit.neighbours,
            claimed=exhibit.claimed,
            samples=exhibit.samples,
            confidence=confidence,
            vectorised=True,
        )

    broken, fixed = verdict(exhibit.broken), verdict(exhibit.fixed)
    return Row(
        exhibit.name,
        exhibit.measure,
        broken.claimed_epsilon,
        math.inf if broken.repeats or broken.conduct else broken.lower_bound,
        not broken.passed,
        fixed.claimed_epsilon,
        fixed.lower_bound,
        fixed.passed,
    )


def reckoned(exhibit: Reckoning) -> Row:
    """The figures of both beside those of the oracle."""
    broken, fixed = exhibit.broken(), exhibit.fixed()
    return Row(
        exhibit.name,
        exhibit.measure,
        broken.claimed,
        broken.found,
        broken.caught,
        fixed.claimed,
        fixed.found,
        not fixed.caught,
    )


def table(rows: Iterable[Row]) -> str:
    """The rows as text: what was claimed, what was found, and whether the fixed twin passes."""
    heads = ("exhibit", "caught", "found", "claimed", "fixed twin", "found", "claimed", "figures are")
    listed = [
        (
            row.name,
            "yes" if row.caught else "NO",
            _figure(row.found),
            _figure(row.claimed),
            "passes" if row.fixed_passes else "FALSE ALARM",
            _figure(row.fixed_found),
            _figure(row.fixed_claimed),
            row.measure,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in (heads, *listed)) for i in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *listed)
    ]
    caught, passing = sum(line[1] == "yes" for line in listed), sum(line[4] == "passes" for line in listed)
    lines.append(f"{caught} of {len(listed)} caught; {passing} of {len(listed)} fixed twins pass")
    return "\n".join(line.rstrip() for line in lines)


def _figure(value: float) -> str:
    return "infinite" if value == math.inf else "none" if value == -math.inf else f"{value:.4g}"
