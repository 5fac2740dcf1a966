"""How the rows of a public snapshot lie, read off the stored rows when they are loaded: as public as the table itself.

It bounds how many rows of a public table one row of somebody's can find, where it does not find one by the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Shape:
    """`rows` there are, 0 if nobody counted them; `alike` of them at most have the same value of a column, NULL being
    one; and for columns (a, b) at most `around` rows have a <= p <= b for the same p, and a < p <= b or a <= p < b."""

    rows: int = 0
    alike: Mapping[str, int] = field(default_factory=dict)
    around: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def declaration(self) -> dict[str, Any]:
        around = [[*columns, *most] for columns, most in self.around.items()]
        return {"rows": self.rows, "alike": dict(self.alike), "around": around}


def shape_from(declared: Mapping[str, Any]) -> Shape:
    """The shape that `declaration` described; that of older declarations is not known."""
    around = {(first, second): (closed, open_) for first, second, closed, open_ in declared.get("around", ())}
    return Shape(declared.get("rows", 0), declared.get("alike", {}), around)
