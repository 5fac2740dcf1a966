"""Every mechanism of the registry, audited on many pairs of neighbours with as many samples as fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dither.lab.audit.checking import check
from dither.lab.audit.pairs import Pair, pairs_of
from dither.lab.audit.sampling import sampler_of
from dither.lab.audit.verdict import Verdict
from dither.lab.registry import EVERY, AnyEntry
from dither.lab.registry.slack import looseness
from dither.lab.registry.worst_pairs import worst_pairs

_TRIAL = 10
_LONG_ENOUGH = 0.2
_TRYING = 0.01  # of a row's time, for a trial of what is slow to draw
_ANALYSIS = 2e-7  # seconds that looking at one sample takes
_CERTIFIED = 2  # of the pairs, the most suspicious ones, besides those known to be worst
_SCREENING = 50  # one sample in so many looks at every pair
_SEARCHING = 8  # one sample in so many looks for the worst event
_TIGHT = 0.95  # the share of its claim that a tight mechanism must be seen to spend
_FEW = 50_000  # samples that look for events, or at every pair, if there are as many
_FAMILY = Fraction(1, 1000)  # the chance that any row of a table claims too much


@dataclass(frozen=True)
class Case:
    """Something to audit: made when its turn comes, with its pairs of neighbours and its claim."""

    name: str
    parameters: str
    make: Callable[[], tuple[Any, list[Pair], Any]]
    # Why it is not expected to spend its whole claim: None if it is, and empty if nobody said.
    loose: str | None = ""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    parameters: str
    verdict: Verdict
    seconds: float
    screened: int
    loose: str | None = ""

    @property
    def short(self) -> bool:
        """Whether a tight mechanism was seen to spend less than 95 per cent of its claim."""
        return self.loose is None and self.verdict.tightness < _TIGHT

    def document(self) -> dict[str, Any]:
        """Everything of interest, as JSON."""
        verdict = self.verdict
        return {
            "name": self.name,
            "parameters": self.parameters,
            "pairs": verdict.pairs,
            "screened": self.screened,
            "samples": verdict.samples,
            "lower_bound": verdict.lower_bound,
            "claimed": verdict.claimed_epsilon,
            "delta": verdict.delta,
            "delta_lower_bound": verdict.delta_at(verdict.claimed_epsilon),
            "tightness": verdict.tightness,
            "tight": None if self.loose == "" else self.loose is None,
            "loose": self.loose or None,
            "short": self.short,
            "passed": verdict.passed,
            "seconds": round(self.seconds, 1),
            "evidence": str(verdict.counterexample or verdict.strongest),
        }


def cases(only: str | None = None, *, every: bool = False) -> list[Case]:
    """The first example of each mechanism, or every one; or those of one mechanism, `Laplace` or `Laplace:1`."""
    found = [_case(entry, place) for entry in EVERY for place in range(len(entry.examples) if every or only else 1)]
    if only is None:
        return found
    return [case for case in found if only.casefold() in (case.name.casefold(), case.name.partition(":")[0].casefold())]


def _case(entry: AnyEntry, place: int) -> Case:
    example = dict(entry.examples[place])

    def make() -> tuple[Any, list[Pair], Any]:
        mechanism = entry.make(**example)
        return mechanism, pairs_of(entry, mechanism), mechanism.guarantee

    parameters = ", ".join(f"{name}={value}" for name, value in example.items())
    loose = looseness(entry.make.__name__, place)
    return Case(f"{entry.make.__name__}:{place}", parameters, make, None if loose is None else str(loose))


def confidence_of(rows: int) -> Fraction:
    """The confidence of each row of a table, so that all rows hold together with probability 0.999."""
    return 1 - _FAMILY / max(1, rows)


def audit(
    case: Case,
    *,
    samples: int,
    seconds: float,
    confidence: Fraction,
) -> Row:
    """One mechanism: all pairs with few samples, then all samples for those known to be worst and the most suspicious.

    If they would take more than `seconds` of computing, fewer are drawn; the row says so. A tight mechanism that comes
    out short is looked at once more, on its worst pair with twice the samples: each look may err half as often.
    """
    started = time.perf_counter()
    mechanism, pairs, claimed = case.make()
    worst = len(worst_pairs(mechanism))
    size, screening = _sizes(mechanism, pairs, worst + _CERTIFIED, samples, seconds)
    each = confidence if case.loose is not None else 1 - (1 - confidence) / 2

    def look(at: list[Pair], count: int, certified: int, screened: int | None) -> Verdict:
        return check(
            mechanism,
            neighbours=at,
            claimed=claimed,
            samples=count,
            confidence=each,
            screening=screened,
            searching=max(count // _SEARCHING, min(count // 2, _FEW)),
            certified_pairs=certified,
            sure_pairs=worst,
        )

    verdict = look(pairs, size, worst + _CERTIFIED, screening)
    if case.loose is None and size == samples and verdict.tightness < _TIGHT:
        nearest = pairs[:worst] or [verdict.strongest.pair if verdict.strongest else pairs[0]]
        verdict = _both(verdict, look(nearest, 2 * size, len(nearest), None), confidence)
    return Row(case.name, case.parameters, verdict, time.perf_counter() - started, screening, case.loose)


def _both(first: Verdict, second: Verdict, confidence: Fraction) -> Verdict:
    """All that two looks certified, each with half of the error; read where either comes nearest to the claim."""
    better = max(first, second, key=lambda verdict: verdict.tightness)
    return replace(
        better,
        evidence=(*first.evidence, *second.evidence),
        pairs=first.pairs,
        confidence=confidence,
        repeats=first.repeats or second.repeats,
    )


def _sizes(mechanism: Any, pairs: list[Pair], certified: int, samples: int, seconds: float) -> tuple[int, int]:
    """How many samples fit, and how many of them choose the pairs: a third of the time, if there is not enough."""
    enough = min(samples // 2, max(samples // _SCREENING, _FEW))
    average, fixed, more = _trial(mechanism, pairs[0][0], samples, enough, seconds)
    # Every side of a pair is drawn once to screen it, and twice if it is among the certified ones.
    draws = 2 * (len(pairs) + 2 * certified)
    if fixed * draws + (more + _ANALYSIS) * 2 * (len(pairs) * enough + certified * samples) <= seconds:
        return samples, enough
    each = average + _ANALYSIS
    screening = max(50, int(seconds / 3 / (each * 2 * len(pairs))))
    fitting = max(200, int(seconds * 2 / 3 / (each * 2 * certified)))
    return min(samples, fitting), min(enough, screening)


def _trial(mechanism: Any, data: Any, samples: int, enough: int, seconds: float) -> tuple[float, float, float]:
    """Seconds that a sample of a short trial took on average; what a larger draw costs, and each further sample.

    Several quantiles cost the less the more are drawn at once: so the last two sizes that were tried tell how they go
    on, and a trial that leaves most of the time goes on up to the size that screens a pair.
    """
    draw = sampler_of(mechanism)
    size, took, before = _TRIAL, 0.0, 0.0
    while size < samples and (took < _LONG_ENOUGH or (took < seconds * _TRYING and size < enough)):
        size, before = 4 * size, took
        draw(data, size)  # what is worked out once for a size
        start = time.process_time()
        draw(data, size)
        took = time.process_time() - start
    more = max(0.0, took - before) / (size - size // 4)
    return took / size, max(0.0, took - more * size), more


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    head = ("mechanism", "pairs", "screened", "samples", "lower bound", "claimed", "at delta", "tightness", "tight", "")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["name"],
        str(row["pairs"]),
        f"{row['screened']:,}",
        f"{row['samples']:,}",
        f"{row['lower_bound']:.4f}",
        f"{row['claimed']:.4f}",
        f"{row['delta']:g}",
        f"{row['tightness']:.3f}",
        "" if row["tight"] is None else "yes" if row["tight"] else "no",
        "REFUTED" if not row["passed"] else "SHORT" if row["short"] else "",
    )


def audits(
    chosen: list[Case],
    *,
    samples: int,
    seconds: float,
    progress: Callable[[str, float], None] | None = None,
) -> Iterator[Row]:
    """A row for each case; all their bounds hold together with probability 0.999."""
    for place, case in enumerate(chosen):
        if progress is not None:
            progress(case.name, place / len(chosen))
        yield audit(case, samples=samples, seconds=seconds, confidence=confidence_of(len(chosen)))
