"""What an analyst's notebook does, with every method: the one line that differs between a folder and a server is given.

python notebook.py 'alice = dt.connect("http://127.0.0.1:8000", "...")' 0.01
prints the shape of everything that it got: types, names and sizes, no figures.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import dither as dt

GROUPS = "SELECT CASE WHEN age < 40 THEN 0 ELSE 1 END AS half, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY 1"
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age >= 65"
TOTAL = "SELECT COUNT(*) AS n FROM visits"


def notebook(alice: Any, epsilon: str) -> dict[str, Any]:
    """Every cell by its name."""
    counted = alice.sql(COUNT, epsilon=epsilon, request=f"count at {epsilon}", confidence="0.9", dialect="duckdb")
    groups = alice.sql(GROUPS, epsilon=epsilon, coverage="groups", rows_per_owner=1)
    halves = alice.sql(GROUPS, rho="0.00001")
    explained = alice.explain(GROUPS, error=100, confidence="0.9")
    profile = alice.profiled("visits")
    view = alice.budget()
    return {
        "name": alice.name,
        "who": repr(alice),
        "tables": alice.tables(),
        "tables shown": len(str(alice.tables())),
        "explained": [explained.to_dict(), str(explained).splitlines()[0]],
        "value": counted.value,
        "again": alice.sql(COUNT, epsilon=epsilon, confidence="0.9", dialect="duckdb").value == counted.value,
        "interval": [counted.interval("n"), counted.noise("n"), counted.claim, counted.charged, counted.price],
        "columns": [groups.names, groups.to_arrow(intervals=True).schema.to_string(), groups.notes],
        "rows": [groups.to_dicts(intervals=True), json.loads(groups.to_json()), groups.to_text()],
        "worked": [halves.nonnegative().to_dicts(), halves.consistent(alice.sql(TOTAL, rho="0.00001")).names],
        "profile": [profile.to_dict(), str(profile), profile.details()],
        "budget": [view.kind, view.total, view.spent, view.left, view.free, alice.budget("patients").kind],
        "picture": callable(alice.plot_budget),  # drawn where altair is
        "history": [[entry.kind, sorted(entry.body)] for entry in alice.history()][:3],
        "statement": [line.state for line in alice.history().questions][:1],
        "question": sorted(alice.question(alice.history().questions[0].number).document()),
        "errors": [_error(alice, *asked) for asked in (("SELECT *", "1"), (COUNT, "1000"), (COUNT, "nan"), ("x", "1"))],
    }


def _error(alice: Any, text: str, epsilon: str) -> list[Any]:
    try:
        alice.sql(text, epsilon=epsilon)
    except dt.DitherError as error:
        return [type(error).__name__, error.code, str(error)]
    raise AssertionError("not refused")


def shape(found: Any) -> Any:
    """Types, names and sizes; texts of few words as they are, since numbers are not in them."""
    if isinstance(found, dict):
        return {key: shape(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [type(found).__name__, *map(shape, found)]
    if isinstance(found, str) and not any(sign.isdigit() for sign in found):
        return found
    return type(found).__name__


if __name__ == "__main__":
    line, price = sys.argv[1:]
    names: dict[str, Any] = {"dt": dt}
    exec(line, names)
    print(json.dumps(shape(notebook(names["alice"], price))))
