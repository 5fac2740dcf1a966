"""An explanation, as it is read: by people, by programs, in notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.escape import json_text, visible_lines


@dataclass(frozen=True)
class Explanation:
    """The plan, the price, and the error to expect. `str()` is for people, `to_dict()` for programs."""

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.content

    def to_json(self) -> str:
        return json_text(self.content, indent=2)

    def plot(self) -> Any:
        """An altair chart (needs altair) of the menu: noise, and the most that is left out, by rows of each owner."""
        from dither.sql.pricing.menu_picture import chart

        return chart(self.content)

    def __str__(self) -> str:
        from dither.sql.pricing.explanation_text import to_text

        return visible_lines(to_text(self.content))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from dither.sql.pricing.explanation_text import to_html

        return to_html(self.content)
