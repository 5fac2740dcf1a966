"""A budget over time: what was spent of it, question by question, and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dither.errors import ParameterError
from dither.plot.bars import COLOURS, wrapped
from dither.plot.style import ALARM, WIDTH, load, safe, safe_labels, styled

_HEIGHT = 220
_MOST_NAMES = len(COLOURS)
_OTHERS = "others"


@dataclass(frozen=True)
class Spent:
    """One charge: where it stands on the axis (its number, or a time as ISO text), who paid, and its share of all."""

    place: int | str
    who: str
    share: float


def budget(title: str, subtitle: str, charges: Sequence[Spent], *, temporal: bool) -> Any:
    """An altair chart of what was spent so far, in per cent of the budget, stacked by who spent it, up to all of it."""
    alt = load()
    if not charges:
        raise ParameterError("nothing was spent yet, so there is nothing to draw.")
    totals: dict[str, float] = {}
    for charge in charges:
        totals[charge.who] = totals.get(charge.who, 0.0) + charge.share
    largest = sorted(totals, key=totals.__getitem__, reverse=True)
    # A colour for each, as far as there are colours: those who spent least share one.
    kept = largest if len(largest) <= _MOST_NAMES else largest[: _MOST_NAMES - 1]
    shown = safe_labels(kept) | ({} if len(kept) == len(largest) else {_OTHERS: _OTHERS})
    sums = dict.fromkeys(shown, 0.0)
    points: dict[int | str, dict[str, float]] = {} if temporal else {0: dict(sums)}
    for charge in charges:
        sums[charge.who if charge.who in kept else _OTHERS] += charge.share
        points[charge.place] = dict(sums)  # once for each place: what stands twice at one would be stacked twice
    if temporal:
        points[_after([str(place) for place in points])] = dict(sums)  # the last charge is seen too
    rows = [
        {"place": place, "who": shown[who], "spent": part}
        for place, sums in points.items()
        for who, part in sums.items()
    ]
    names = list(shown.values())
    across = alt.X(
        f"place:{'T' if temporal else 'Q'}",
        title="time" if temporal else "question",
        axis=alt.Axis(tickCount=8, grid=False, **({} if temporal else {"format": "d", "tickMinStep": 1})),
        scale=alt.Scale(type="utc") if temporal else alt.Scale(zero=False, nice=False),
    )
    up = {"title": "spent of the budget", "axis": alt.Axis(format="%", tickCount=5)}
    area = (
        alt.Chart(alt.Data(values=rows))
        .mark_area(opacity=0.8, interpolate="step-after" if temporal else "step-before", line={"strokeWidth": 1})
        .encode(
            x=across,
            y=alt.Y("spent:Q", stack="zero", scale=alt.Scale(domain=[0, 1]), **up),
            color=alt.Color("who:N", scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)]))),
        )
    )
    limit = alt.Chart(alt.Data(values=[{"all": 1}])).mark_rule(color=ALARM, strokeDash=[5, 4]).encode(y="all:Q")
    heading = alt.Title(safe(title), subtitle=wrapped(subtitle))
    return styled(alt.layer(area, limit).properties(width=WIDTH, height=_HEIGHT, title=heading))


def _after(times: Sequence[str]) -> str:
    """A time somewhat after the last one, as wide as a twentieth of what is shown, or a minute."""
    known = [datetime.fromisoformat(time) for time in times]
    return (max(known) + max((max(known) - min(known)) / 20, timedelta(minutes=1))).isoformat()
