"""Threat 9: what declared structure promises holds between neighbours, and only where it was declared."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from threats_harness import Leak, Side, check_neighbours, observe

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.engines.duckdb.snapshots import snapshot
from dither.engines.duckdb.snapshots.structure import Kept
from dither.policy.columns import Category, Date, Int, Text
from dither.sql.guard import check
from dither.sql.guard.facts import RULES, several_relations
from dither.sql.plan.nodes import JoinOwner

HEAVY = 4217
COLUMNS = {
    "day": Date("2024-01-01", "2024-02-29"),
    "amount": Int(0, 9),
    "region": Category(["north", "south", "west"]),
    "town": Text(),
}
LIMITS = {"max_rows_per_owner_in": {"day": 2}, "max_values_per_owner": {"region": 1, "town": 2}}
QUESTIONS = {
    "by day": "SELECT day, COUNT(*), SUM(amount), COUNT(DISTINCT amount) FROM t GROUP BY day",
    "by day and region": "SELECT day, region, COUNT(*) FROM t GROUP BY day, region",
    "by some days": "SELECT day, COUNT(*) FROM t WHERE day >= '2024-01-20' AND region IS NOT NULL GROUP BY day",
    "by month": "SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*), SUM(amount) FROM t GROUP BY 1",
    "owners by region": "SELECT region, COUNT(DISTINCT person) FROM t GROUP BY region",
    "owners by a computed region": "SELECT region = 'west' AS r, COUNT(DISTINCT person) FROM t GROUP BY 1",
    "owners by town": "SELECT town, COUNT(DISTINCT person), COUNT(*) FROM t GROUP BY town",
    "with themselves": "SELECT a.day, COUNT(*) FROM t a JOIN t b ON a.person = b.person GROUP BY a.day",
    "totals": "SELECT region, COUNT(*), AVG(s) FROM "
    "(SELECT person, region, SUM(amount) AS s FROM t GROUP BY person, region) x GROUP BY region",
    "days of owners": "SELECT d, COUNT(*) FROM "
    "(SELECT person, day AS d, COUNT(*) AS n FROM t GROUP BY person, day) x GROUP BY d",
    "several times": "SELECT day, COUNT(*) FROM (SELECT day FROM t UNION ALL SELECT day FROM t) x GROUP BY day",
}


def rows() -> list[dict[str, Any]]:
    """One owner has many rows of every day of January and of every region and town; others have a few."""
    found = [
        {
            "person": HEAVY,
            "day": f"2024-01-{1 + n % 31:02}",
            "amount": 9,
            "region": LABELS[n % 4],
            "town": f"town {n % 5}",
        }
        for n in range(400)
    ]
    found += [
        {
            "person": person,
            "day": f"2024-02-{1 + (person * n) % 28:02}",
            "amount": n % 10,
            "region": "north",
            "town": "a",
        }
        for person in range(30)
        for n in range(person % 7)
    ]
    return found


LABELS = ["north", "south", "west", None]


def make_pair(folder: Path, **limits: Any) -> tuple[Side, Side]:
    made: list[Side] = []
    for name, kept in (("with", rows()), ("without", [row for row in rows() if row["person"] != HEAVY])):
        curator = Curator.open(folder / name)
        if made:
            (folder / name / "snapshots").mkdir(mode=0o700, exist_ok=True)
            shutil.copy(folder / "with" / "snapshots" / "rank.key", folder / name / "snapshots" / "rank.key")
        curator.people("everybody", budget=ApproxDP(4, "1e-6"))
        source = pa.Table.from_pylist(kept)
        curator.register(
            "t", source, people="everybody", owner="person", max_rows_per_owner=40, columns=COLUMNS, **limits
        )
        made.append(Side.of(curator))
    return made[0], made[1]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    sides = make_pair(tmp_path_factory.mktemp("structure"), **LIMITS)
    yield sides
    for side in sides:
        side.curator.close()


def sensitivities(side: Side, name: str) -> list[tuple[Any, ...]]:
    priced = side.price(QUESTIONS[name], epsilon=1)
    return [(item.sensitivity.l1, item.sensitivity.l2_squared, item.sensitivity.linf) for item in priced.measures]


@pytest.mark.parametrize("name", QUESTIONS)
def test_gaps_are_within_what_structure_promises(pair: tuple[Side, Side], name: str) -> None:
    seen = check_neighbours(*pair, QUESTIONS[name])
    assert seen.status == "answered", seen.error


def test_what_structure_promises(pair: tuple[Side, Side]) -> None:
    one, _ = pair
    assert sensitivities(one, "by day")[0] == (40, 80, 2)
    assert sensitivities(one, "by day and region")[0] == (40, 80, 2)
    assert sensitivities(one, "by some days")[0] == (40, 80, 2)
    assert sensitivities(one, "by month")[0] == (40, 1600, 40)
    assert sensitivities(one, "owners by region") == [(1, 1, 1)]
    assert sensitivities(one, "owners by a computed region") == [(1, 1, 1)]
    assert sensitivities(one, "owners by town")[0] == (2, 2, 1)
    assert sensitivities(one, "totals")[0] == (1, 1, 1)


def test_it_is_nearly_used_up(pair: tuple[Side, Side]) -> None:
    """The promise is no looser than it looks: the heavy owner has two rows of each day, and forty in all."""
    exact = [observe(side, QUESTIONS["by day"]).exact[0] for side in pair]
    moved = [exact[0].get(place, 0) - exact[1].get(place, 0) for place in {*exact[0], *exact[1]}]
    assert (sum(moved), max(moved)) == (40, 2)


# Planted bugs


def test_planted_structure_of_a_coarser_key(pair: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch) -> None:
    """A month is taken for the days that it is computed from."""

    def any_column(aggregate: Any) -> set[str]:
        return {part.name for key in aggregate.keys for part in key.code.walk() if hasattr(part, "name")}

    monkeypatch.setattr(check, "told_apart", any_column)
    with pytest.raises(Leak, match="gap"):
        check_neighbours(*pair, QUESTIONS["by month"])


def test_planted_structure_after_a_join_that_multiplies(
    pair: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = several_relations.joined_owner

    def keeping(node: JoinOwner, facts: Any) -> Any:
        return replace(joined(node, facts), alike=facts(node.child).alike)

    monkeypatch.setitem(RULES, JoinOwner, keeping)
    with pytest.raises(Leak, match="gap"):
        check_neighbours(*pair, QUESTIONS["with themselves"])


@pytest.mark.parametrize("name", ["by day", "owners by region", "owners by town"])
def test_planted_structure_that_is_not_enforced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Declared, known to the guard, and not true of the snapshot."""
    monkeypatch.setattr(snapshot, "enforced", lambda load, table, kind, key, relation, rows: Kept(relation, {}, {}))
    monkeypatch.setattr(snapshot, "broken", lambda load, table: 0)
    sides = make_pair(tmp_path, **LIMITS)
    try:
        with pytest.raises(Leak, match=r"gap|keys"):
            check_neighbours(*sides, QUESTIONS[name])
    finally:
        for side in sides:
            side.curator.close()
