"""What was published where it is no number: the words themselves, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dither.errors import ParameterError
from dither.plot.style import FIRST, WIDTH, load, safe, styled

_MOST_LINES = 60
_LINE = 34


def words(title: str, subtitle: str, lines: Sequence[str]) -> Any:
    """An altair chart that says what was published."""
    alt = load()
    if len(lines) > _MOST_LINES:
        raise ParameterError(f"at most {_MOST_LINES} outcomes can be drawn; got {len(lines)}.")
    data = [{"place": place, "said": safe(line)} for place, line in enumerate(lines)]
    shown = (
        alt.Chart(alt.Data(values=data))
        .mark_text(align="left", fontSize=20, fontWeight=600, color=FIRST, limit=WIDTH)
        .encode(y=alt.Y("place:O", axis=None), x=alt.value(0), text="said:N")
        .properties(width=WIDTH, height=alt.Step(_LINE), title=alt.Title(safe(title), subtitle=safe(subtitle)))
    )
    return styled(shown)
