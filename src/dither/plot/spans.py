"""How far an answer may be off, alternative by alternative: its noise on both sides, and what else comes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dither.errors import ParameterError
from dither.plot.bars import number_format, wrapped
from dither.plot.style import FIRST, INK, SECOND, WIDTH, load, safe, safe_labels, styled

_PARTS = {"noise": FIRST, "left out at most": SECOND}
_ROW = 26


@dataclass(frozen=True)
class Span:
    """One alternative: noise on both sides of an answer, and how far the exact one may lie beyond; None: no bound."""

    label: str
    noise: float
    below: float | None = 0.0
    above: float | None = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        return -self.noise - (self.below or 0), self.noise + (self.above or 0)


def spans(title: str, subtitle: str, panels: Sequence[tuple[str, Sequence[Span]]]) -> Any:
    """An altair chart with one bar for each alternative in each panel, around the answer at 0.

    Where nothing bounds one side, an arrow leaves the picture there.
    """
    alt = load()
    if not any(drawn for _, drawn in panels):
        raise ParameterError("there is nothing to choose from, so there is nothing to draw.")
    width = WIDTH if len(panels) == 1 else max(220, WIDTH // len(panels))
    charts = [
        _panel(alt, safe(name), drawn, labels=not place).properties(width=width, height=alt.Step(_ROW))
        for place, (name, drawn) in enumerate(panels)
    ]
    heading = alt.Title(safe(title), subtitle=wrapped(subtitle))
    return styled((charts[0] if len(charts) == 1 else alt.hconcat(*charts, spacing=24)).properties(title=heading))


def _panel(alt: Any, name: str, drawn: Sequence[Span], *, labels: bool) -> Any:
    shown = safe_labels([span.label for span in drawn])
    edge = 1.1 * max(max(map(abs, span.ends)) for span in drawn)
    parts, arrows = [], []
    for span in drawn:
        low, high = span.ends
        row = shown[span.label]
        ends = {"noise": [(-span.noise, span.noise)], "left out at most": [(low, -span.noise), (span.noise, high)]}
        parts += [
            {"row": row, "lower": start, "upper": end, "part": part}
            for part, pieces in ends.items()
            for start, end in pieces
            if start < end
        ]
        arrows += [{"row": row, "at": low, "to": -edge, "end": "◂"}] if span.below is None else []
        arrows += [{"row": row, "at": high, "to": edge, "end": "▸"}] if span.above is None else []
    across = {
        "title": name,
        "scale": alt.Scale(domain=[-edge, edge], nice=False),
        "axis": alt.Axis(tickCount=5, format=number_format([{**part, "value": 0} for part in parts])),
    }
    down = alt.Y(
        "row:N", sort=list(shown.values()), title=None, axis=alt.Axis(labels=labels, ticks=False, labelLimit=320)
    )
    colour = alt.Color("part:N", scale=alt.Scale(domain=list(_PARTS), range=list(_PARTS.values())))
    bars = alt.Chart(alt.Data(values=parts)).mark_bar(opacity=0.8, height={"band": 0.6})
    zero = alt.Chart(alt.Data(values=[{"at": 0}])).mark_rule(color=INK).encode(x=alt.X("at:Q", **across))
    layers = [bars.encode(x=alt.X("lower:Q", **across), x2="upper:Q", y=down, color=colour), zero]
    if arrows:
        open_ = alt.Chart(alt.Data(values=arrows))
        layers.append(
            open_.mark_rule(color=SECOND, strokeWidth=2, strokeDash=[4, 3]).encode(
                x=alt.X("at:Q", **across), x2="to:Q", y=down
            )
        )
        layers.append(
            open_.mark_text(color=SECOND, fontSize=14).encode(x=alt.X("to:Q", **across), y=down, text="end:N")
        )
    return alt.layer(*layers)
