"""The menu of an explanation as a picture: for each number of rows, the noise and the most that is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dither.exact.digits import counted
from dither.plot.spans import Span, spans


def chart(content: Mapping[str, Any]) -> Any:
    """An altair chart with a panel for each count and sum; what could be declared is its last row."""
    menu = content["menu"]
    names = [column["name"] for column in menu[0]["columns"]] if menu else []
    panels = [(name, [*_limits(content, place), *_declared(content, place)]) for place, name in enumerate(names)]
    price = ", ".join(f"{name} {value}" for name, value in content["price"].items())
    sure = f"{float(content['confidence']) * 100:.10g}%"
    return spans(
        "How far the exact number may be from the answer, by how many rows of each owner count",
        f"price {price}; with probability {sure}; an arrow: nothing certifies how much is left out",
        panels,
    )


def _limits(content: Mapping[str, Any], place: int) -> list[Span]:
    found = []
    for item in content["menu"]:
        column = item["columns"][place]
        chosen = " (this plan)" if item["chosen"] else ""
        below, above = column["left_out"]
        found.append(Span(f"{counted(item['rows_per_owner'], 'row')}{chosen}", column["noise"], below, above))
    return found


def _declared(content: Mapping[str, Any], place: int) -> list[Span]:
    """With structure that could be declared all rows count, and the noise is that of this plan times a factor."""
    most = content["menu"][-1]["rows_per_owner"]
    noise = next(item["columns"][place]["noise"] for item in content["menu"] if item["chosen"])
    return [
        Span(f"{counted(most, 'row')}, {kept} in each {column}, if declared", noise * item["noise_times"])
        for item in content["structure"]
        for column, kept in item["max_rows_per_owner_in"].items()
    ]
