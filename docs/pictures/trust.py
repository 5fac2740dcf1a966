"""Draw trust.svg, exact_sum.svg and lookups.svg, as on the pages about studies and look-ups. All are exact.

python docs/pictures/trust.py
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dither.lookup.lwe import SECRET, Upright
from dither.lookup.xor import Square
from dither.plot.style import WIDTH, load, styled
from dither.study.price_of_trust import price_of_trust

HERE = Path(__file__).parent
CELL = 8  # bytes


def drawn(title: str, subtitle: list[str], points: list[dict[str, Any]], across: str, up: str, names: list[str]) -> Any:
    """Lines over logarithmic axes."""
    alt = load()
    scale = alt.Scale(type="log", nice=False)
    return styled(
        alt.Chart(alt.Data(values=points), width=WIDTH, height=300)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=across, scale=scale, axis=alt.Axis(tickCount=6, format="~s", grid=False)),
            y=alt.Y("y:Q", title=up, scale=scale, axis=alt.Axis(tickCount=6, format="~s")),
            color=alt.Color("name:N", sort=names, legend=alt.Legend(columns=2)),
        )
        .properties(title=alt.Title(title, subtitle=subtitle))
    )


def trust() -> Any:
    """The error of a count, by whom participants trust."""
    points = []
    for tenth in range(8, 25):
        count = round(10 ** (tenth / 4))
        points += [{"x": count, "y": error, "name": who} for who, error in price_of_trust(count, 1).items()]
    names = list(price_of_trust(100, 1))
    told = [
        "The error of a count of participants, root mean square, at epsilon 1 under replace.",
        "With a shuffler delta is 1e-6.",
    ]
    return drawn("The price of trust: who is trusted with the answers", told, points, "participants", "error", names)


def exact_sum() -> Any:
    """What the others see who know their own answers, if Alice says yes and if she says no."""
    alt, q, points = load(), math.exp(-1), []
    for shown in range(-3, 8):
        for name, sum_ in (("Alice says no", 1), ("Alice says yes", 2)):
            noisy = (1 - q) / (1 + q) * q ** abs(shown - sum_)
            points.append(
                {"x": shown, "y": float(shown == sum_), "name": name, "panel": "secure computation: the exact sum"}
            )
            points.append(
                {"x": shown, "y": noisy, "name": name, "panel": "with noise, epsilon 1: at most e times as likely"}
            )
    chart = (
        alt.Chart(alt.Data(values=points), width=WIDTH // 2 - 20, height=200)
        .mark_bar()
        .encode(
            x=alt.X("x:O", title="the sum that is shown", axis=alt.Axis(labelAngle=0)),
            xOffset="name:N",
            y=alt.Y("y:Q", title="probability"),
            color=alt.Color("name:N"),
        )
        .facet(facet=alt.Facet("panel:N", title=None), columns=2)
        .properties(
            title=alt.Title(
                "Three people, one of the other two says yes",
                subtitle="What the other two learn of Alice",
            )
        )
    )
    return styled(chart)


def lookups() -> Any:
    """Bytes that reading one cell moves."""
    names = ["the whole release", "one server, first look-up", "one server, later", "two servers"]
    points = []
    for tenth in range(16, 29):
        cells = round(10 ** (tenth / 4))
        square, upright = Square(cells, CELL), Upright(cells, CELL)
        later = 4 * upright.columns + 4 * upright.rows
        moved = [CELL * cells, later + 4 * SECRET * upright.rows, later]
        moved.append(2 * (-(-square.rows // 8) + square.per_row * CELL))
        points += [{"x": cells, "y": bytes_, "name": name} for name, bytes_ in zip(names, moved, strict=True)]
    told = [
        "A computation that must not show which cell it reads has to touch every cell:",
        "in general it moves them all.",
    ]
    return drawn("What it takes to read one cell in private", told, points, "cells of 8 bytes", "bytes moved", names)


def main() -> None:
    trust().save(HERE / "trust.svg")
    exact_sum().save(HERE / "exact_sum.svg")
    lookups().save(HERE / "lookups.svg")


if __name__ == "__main__":
    main()
