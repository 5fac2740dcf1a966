"""The page of the bug museum, written from the exhibits themselves: stories, sources, and the code as it runs.

python tools/museum_page.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from dither.lab.museum.catalogue import EXHIBITS, ROOMS
from dither.lab.museum.exhibit import AnyExhibit, Reckoning

PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "museum.md"

_MOST_PAIRS = 10

HEAD = f"""# The bug museum

{len(EXHIBITS)} exhibits, each a small mechanism, accountant, plan or account that breaks its promise, beside the fixed
twin that keeps it. `dither audit --museum` holds all of them against their checks and prints a table: every broken one
must be caught, and every fixed twin must pass. So the museum is also the test of the auditor.

Most exhibits are mechanisms. The auditor sees nothing but their outputs on two neighbours, chooses the set of outputs
that betrays most on one half of the samples, and certifies what it betrays on the other half. Exhibits that are not
random (a sensitivity, a sum of losses, a plan, an account) state a figure, and an oracle that shares no code with them
computes what is really reached: by trying all neighbours, or by an exact divergence, or by playing the analyst.

In the code below `steps` is exact discrete Laplace noise of the given scale, `laplace`, `exponential` and `cauchy` are
continuous noise rounded to a public grid, `uniform` is uniform in (0, 1), and `choose` draws positions by weights.

```python
from dither.lab import museum

rows = museum.run([exhibit for exhibit in museum.EXHIBITS if exhibit.name == "a threshold off by one"])
print(museum.table(rows))
```

This page is written from the exhibits by `python tools/museum_page.py`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(part for name, exhibits in ROOMS.items() for part in _room(name, exhibits))]) + "\n"


def _room(name: str, exhibits: tuple[AnyExhibit, ...]) -> Iterator[str]:
    yield f"## {name}\n"
    shown: set[Callable[..., Any]] = set()
    for exhibit in exhibits:
        yield from _exhibit(exhibit, shown)


def _exhibit(exhibit: AnyExhibit, shown: set[Callable[..., Any]]) -> Iterator[str]:
    yield f"### {exhibit.name[0].upper()}{exhibit.name[1:]}\n"
    yield _wrapped(exhibit.story) + "\n"
    if isinstance(exhibit, Reckoning):
        yield _wrapped(f"Figures: {exhibit.measure}. Source: {exhibit.source}.") + "\n"
    else:
        pairs = "; ".join(f"`{one}` and `{other}`" for one, other in exhibit.neighbours[:_MOST_PAIRS])
        pairs += f"; {len(exhibit.neighbours) - _MOST_PAIRS} more" if len(exhibit.neighbours) > _MOST_PAIRS else ""
        yield _wrapped(f"Neighbours: {pairs}. Claimed: `{_claim(exhibit.claimed)}`. Source: {exhibit.source}.") + "\n"
    helpers = [helper for helper in _helpers(exhibit.broken, exhibit.fixed) if helper not in shown]
    if helpers:
        yield _code("Helpers", helpers)
    yield _code("Broken", [exhibit.broken])
    yield _code("Fixed", [exhibit.fixed])
    shown |= {*helpers, exhibit.broken, exhibit.fixed}


def _claim(guarantee: Any) -> str:
    epsilon, delta = float(guarantee.basic().epsilon), float(guarantee.basic().delta)
    figures = f"epsilon {epsilon:.4g}" + (f", delta {delta:g}" if delta else "")
    return f"{figures}, {guarantee.relation.value}"


def _helpers(*functions: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The functions and classes of the same file that these call, in the order in which they stand there."""
    found: list[Callable[..., Any]] = []

    def visit(function: Any) -> None:
        for name in _names(inspect.unwrap(function)):
            used = getattr(sys.modules[function.__module__], name, None)
            if not inspect.isfunction(used) and not inspect.isclass(used):
                continue
            if used.__module__ == function.__module__ and used not in found and used not in functions:
                found.append(used)
                visit(used)

    for function in functions:
        visit(function)
    return sorted(found, key=lambda one: inspect.getsourcelines(one)[1])


def _names(function: Any) -> list[str]:
    """Global names, those of inner functions included."""
    if inspect.isclass(function):
        return []
    pending, names = [function.__code__], []
    while pending:
        code = pending.pop(0)
        names += code.co_names
        pending += [constant for constant in code.co_consts if hasattr(constant, "co_names")]
    return [name for name in names if isinstance(name, str)]


def _code(label: str, functions: list[Callable[..., Any]] | list[FunctionType]) -> str:
    sources = (re.sub(r" -> [^\n]*:\n", ":\n", inspect.getsource(function), count=1) for function in functions)
    return f"{label}:\n\n```py\n" + "\n\n".join(source.rstrip() + "\n" for source in sources) + "```\n"


def _wrapped(text: str) -> str:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > 120:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
