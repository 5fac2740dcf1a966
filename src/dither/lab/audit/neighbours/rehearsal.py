"""A curator's own declarations on synthetic neighbours: `dither audit --neighbours`.

Only policy.json of the folder is read: neither its data nor its ledger. Two new curators get the same tables, drawn
from the declared domains, the second without one owner, and every question is compared on both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.errors import PolicyError
from dither.lab.audit.neighbours.questions import questions
from dither.lab.audit.neighbours.recorder import Recording, recorded
from dither.lab.audit.neighbours.sides import Side
from dither.lab.audit.neighbours.synthetic_tables import Drawn, draw
from dither.policy.catalog import EACH_ROW, PublicTable, Table
from dither.policy.store import PolicyFile

_BUDGET = ApproxDP(4, "1e-6")
_EXTREME = 4217
_WIDTH = 78


@contextmanager
def twins(tables: Sequence[Table | PublicTable]) -> Iterator[tuple[Side, Side]]:
    """Two neighbours with these declarations: one with the owner who holds every extreme, one without."""
    drawn = draw(tables, extreme=_EXTREME)
    with TemporaryDirectory(prefix="dither-audit-") as place:
        one = _curator(Path(place) / "with", drawn, None)
        other = _curator(Path(place) / "without", drawn, _EXTREME, like=Path(place) / "with")
        try:
            yield Side.of(one), Side.of(other)
        finally:
            one.close()
            other.close()


def _curator(folder: Path, drawn: dict[str, Drawn], without: int | None, like: Path | None = None) -> Curator:
    """Ranks within an owner are drawn with a key: neighbours must share it."""
    curator = Curator.open(folder, create=True)
    if like is not None:
        (folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(like / "snapshots" / "rank.key", folder / "snapshots" / "rank.key")
    for people in sorted({part.table.people for part in drawn.values() if isinstance(part.table, Table)}):
        curator.people(people, budget=_BUDGET)
    for name, part in drawn.items():
        table, source = part.table, part.without(without)
        if isinstance(table, PublicTable):
            curator.register_public(name, source, columns=table.columns, key=table.key)
        else:
            curator.register(
                name,
                source,
                people=table.people,
                owner=EACH_ROW if table.row_level else table.via or table.owner,
                max_rows_per_owner=table.max_rows_per_owner,
                max_rows_per_owner_in=table.structure.rows_in,
                max_values_per_owner=table.structure.values,
                columns=table.columns,
                key=table.key,
            )
    return curator


def rehearse(folder: Path, asked: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """A row for each question: whether it looks the same on both sides, and how far its exact answers are apart."""
    declared = PolicyFile(folder).read()
    tables: list[Table | PublicTable] = [*declared.tables.values(), *declared.public.values()]
    if not declared.tables:
        raise PolicyError(f"{folder} declares no tables of people; name a curator's folder that has some.")
    listed = list(dict.fromkeys([*asked, *questions(tables)]))
    with twins(tables) as (one, other):
        for place, question in enumerate(listed):
            yield _row(recorded(one, other, question)) | {"done": (place + 1) / len(listed)}


def _row(found: Recording) -> dict[str, Any]:
    shares = [float(call.gap[0] / call.sensitivity[0]) for call in found.calls if call.sensitivity[0]]
    return {
        "name": found.question,
        "status": found.status,
        "noise": [str(call) for call in found.calls],
        "largest_gap": max(shares, default=0.0),
        "passed": found.passed,
        "leak": found.leak,
        "refusal": found.refusal,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text; a gap of 1 is all of the sensitivity that the noise was scaled to."""
    lines = [f"{'question':{_WIDTH}}  {'status':8}  {'gap':>5}"]
    for row in rows:
        text = row["name"] if len(row["name"]) <= _WIDTH else row["name"][: _WIDTH - 3] + "..."
        gap = f"{row['largest_gap']:.3f}" if row["noise"] else ""
        leak = "" if row["passed"] else f"  LEAK: {row['leak']}"
        lines.append(f"{text:{_WIDTH}}  {row['status']:8}  {gap:>5}{leak}".rstrip())
        if row["refusal"]:
            lines.append(f"  {row['refusal']}")
    answered = sum(row["status"] == "answered" for row in rows)
    passed = sum(row["passed"] for row in rows)
    lines.append(f"{passed} of {len(rows)} questions look the same on two neighbours; {answered} were answered")
    return "\n".join(lines)
