"""One question on D and on D' = D without one owner: all that shows before the noise must agree.

`recorded` is the grey-box audit of a whole query: which noise it would draw, how far the exact answers of two
neighbours are apart, and whether that is within the sensitivity that the noise was scaled to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.curator.curator import Curator
from dither.lab.audit.neighbours.gaps import Norms, check_gap, difference, norms
from dither.lab.audit.neighbours.observation import Observed, observe
from dither.lab.audit.neighbours.sides import Leak, Side
from dither.sql.pricing.price import PricedMeasure


def check_neighbours(one: Side, other: Side, text: str, **how: Any) -> Observed:
    """Raise `Leak` unless the question looks the same on both sides and its exact answers are as close as proven.

    `how` is a price, and what `observe` takes.
    """
    seen, beside = (observe(side, text, **how) for side in (one, other))
    return compare(seen, beside, text)


def compare(seen: Observed, beside: Observed, text: str) -> Observed:
    """Raise `Leak` unless two observations of a question look the same and are as close as proven."""
    there = beside.compared()
    for name, value in seen.compared().items():
        if value != there[name]:
            raise Leak(f"{name} differs between neighbours on {text!r}")
    if seen.status == "failed":
        raise Leak(f"status: a supported question must not fail: {text!r}")
    if seen.priced is not None:
        check_gap(seen.priced, [difference(*pair) for pair in zip(seen.exact, beside.exact, strict=True)])
    return seen


def check_same_aggregates(one: Side, other: Side, text: str, **stated: Any) -> None:
    """Raise `Leak` unless the exact answers are equal: both sides hold the same rows."""
    seen, beside = observe(one, text, **stated), observe(other, text, **stated)
    if seen != beside or seen.exact != beside.exact:
        raise Leak(f"order: the same rows give different answers on {text!r}")


@dataclass(frozen=True)
class Call:
    """Noise that a question would draw: the mechanism, the proven norms of what it hides, and the gap that was found.

    Norms are L1, the square of L2 and the largest coordinate, in steps of the measure's own grid.
    """

    measure: str
    mechanism: Any
    sensitivity: Norms
    gap: Norms

    @property
    def scale(self) -> Any:
        """The scale of the noise, None for a choice."""
        return getattr(self.mechanism, "scale", None)

    @property
    def within(self) -> bool:
        return all(found <= proven for found, proven in zip(self.gap, self.sensitivity, strict=True))

    def __str__(self) -> str:
        scale = "" if self.scale is None else f" of scale {float(self.scale):.4g}"
        what = f"{self.measure}: {type(self.mechanism).__name__}{scale}"
        return f"{what}, L1 gap {self.gap[0]} of at most {self.sensitivity[0]}"


@dataclass(frozen=True)
class Recording:
    """The noise of one question on two neighbours. What it shows is exact: made for synthetic data."""

    question: str
    status: str
    calls: tuple[Call, ...]
    leak: str | None
    refusal: str = ""  # why it was refused or failed, as the analyst would read it

    @property
    def passed(self) -> bool:
        """Whether nothing that shows differs, and every gap is within what the noise was scaled to."""
        return self.leak is None

    def __bool__(self) -> bool:
        return self.passed


def recorded(one: Curator | Side, other: Curator | Side, question: str, **stated: Any) -> Recording:
    """Walk a question up to its noise on two neighbours, for instance with and without one owner, and compare.

    `stated` is a price as for Curator.sql, epsilon=1 if nothing is stated. Nothing is charged and no noise is drawn.
    Both curators must rank rows by the same key: `dither.lab.audit.neighbours.rehearsal.twins` makes such a pair.
    """
    sides = [side if isinstance(side, Side) else Side.of(side) for side in (one, other)]
    seen, beside = (observe(side, question, **stated) for side in sides)
    calls: list[Call] = []
    if seen.priced is not None and beside.priced is not None:
        moved = zip(seen.priced.measures, seen.exact, beside.exact, strict=True)
        calls = [_call(item, norms(difference(here, there))) for item, here, there in moved]
    return Recording(question, seen.status, tuple(calls), _leak(seen, beside, question), seen.error.decode())


def _call(item: PricedMeasure, gap: Norms) -> Call:
    proven = item.sensitivity
    return Call(item.measure.text, item.mechanism, (proven.l1, proven.l2_squared, proven.linf), gap)  # type: ignore[arg-type]


def _leak(seen: Observed, beside: Observed, question: str) -> str | None:
    try:
        compare(seen, beside, question)
    except Leak as leak:
        return str(leak)
    return None
