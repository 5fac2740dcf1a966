"""Windows within one owner keep every row, and add columns that follow from the rows of its owner alone."""

from __future__ import annotations

from dataclasses import replace

from dither.sql import expressions as e
from dither.sql.guard.facts.knowledge import Facts, Of, Stored, computed
from dither.sql.guard.ranges import UnsafePlan, verify
from dither.sql.plan.window_nodes import OwnerWindow, Window

RANKS, ROWS = ("row_number", "rank", "dense_rank"), ("lag", "lead")


def windowed(node: OwnerWindow, facts: Of) -> Facts:
    known = facts(node.child)
    if not known.private:
        raise UnsafePlan("windows within one owner need rows that have owners.")
    schema: dict[str, Stored] = dict(known.schema)
    for name, window in node.windows:
        if name in schema:
            raise UnsafePlan(f"two columns are called {name!r}.")
        schema[name] = _column(name, window, known)
    return replace(known, schema=schema)


def _column(name: str, window: Window, known: Facts) -> Stored:
    for value in (*window.partition, *(by for by, _, _ in window.order)):
        verify(value, known.schema)
        if not isinstance(value, (e.Numeric, e.Textual)):
            raise UnsafePlan("rows are ordered by numbers and texts.")
    if not window.order:
        raise UnsafePlan("a window has an order.")
    if window.function in RANKS and window.value is None and window.most >= 1:
        return e.Stored(name, 1, window.most, 0, False)  # written as a clamp
    if window.function in ROWS and window.value is not None and window.away >= 1:
        return replace(computed(name, window.value, known.schema), may_be_null=True)
    raise UnsafePlan(f"the window {name!r} is not known.")
