"""Declared structure is true of every snapshot, chosen by an owner's own rows alone. Each check has a planted bug."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.engines.duckdb.snapshots import snapshot, structure
from dither.errors import DitherError, PolicyError
from dither.policy.columns import Category, Int, Text
from dither.policy.structure import Structure

COLUMNS = {"day": Int(0, 20), "region": Category(["a", "b", "c"]), "note": Text()}
LYING = Structure({"day": 2, "note": 4}, {"region": 1})


def records(owners: int = 50, seed: int = 1) -> list[dict[str, Any]]:
    generator = random.Random(seed)
    found = []
    for owner in range(owners):
        for _ in range(generator.randrange(1, 40)):
            found.append(
                {
                    "id": owner,
                    "day": generator.choice([None, -5, *range(9), 30]),
                    "region": generator.choice([None, "a", "b", "c", "mars"]),
                    "note": generator.choice([None, "", "x", "~", "1:x"]),
                }
            )
    return found


def stored(loaded: Any) -> list[tuple[Any, ...]]:
    return loaded.rows('"_owner", "day", "region", "note"')


def check_limits(load: Any, limits: Structure = LYING) -> None:
    """What is stored keeps to the declaration, and all that is missing is in the report."""
    rows = records()
    loaded = load(pa.Table.from_pylist(rows), COLUMNS, most=20, structure=limits)
    kept = stored(loaded)
    places = {name: place for place, name in enumerate(("_owner", *COLUMNS))}
    for name, most in limits.rows_in.items():
        alike = Counter((row[0], row[places[name]]) for row in kept)
        assert max(alike.values()) == most
    for name, most in limits.values.items():
        different = Counter(owner for owner, _ in {(row[0], row[places[name]]) for row in kept})
        assert max(different.values()) == most
    report = loaded.report
    lost = sum(report.beyond_max_rows_per_owner_in.values()) + sum(report.beyond_max_values_per_owner.values())
    assert (report.rows, report.owners, lost) == (len(kept), 50, len(rows) - len(kept))
    ranks = Counter(owner for (owner,) in loaded.rows('"_owner"', '"_rank" > 20'))
    assert report.beyond_max_rows_per_owner == sum(ranks.values())


def check_order_and_threads(load: Any) -> None:
    rows = records()
    reference = load(pa.Table.from_pylist(rows), COLUMNS, threads=1, structure=LYING)
    for threads in (2, 3, 4):
        random.Random(threads).shuffle(rows)
        loaded = load(pa.Table.from_pylist(rows), COLUMNS, threads=threads, structure=LYING)
        assert Counter(stored(loaded)) == Counter(stored(reference)), "the order of the source shows"


def check_other_owners(load: Any) -> None:
    rows = records()
    everybody = Counter(stored(load(pa.Table.from_pylist(rows), COLUMNS, structure=LYING)))
    without = [row for row in rows if row["id"] != 17]
    everybody.subtract(stored(load(pa.Table.from_pylist(without), COLUMNS, structure=LYING)))
    assert {row[0] for row, count in everybody.items() if count} == {17}, "an owner moves the rows of others"


@pytest.mark.parametrize("limits", [LYING, Structure({"day": 1}), Structure({}, {"note": 2, "day": 3})])
def test_what_is_stored_keeps_to_the_declaration(load: Any, limits: Structure) -> None:
    check_limits(load, limits)


def test_row_order_and_threads_change_nothing(load: Any) -> None:
    check_order_and_threads(load)


def test_an_owner_changes_only_its_own_rows(load: Any) -> None:
    check_other_owners(load)


def test_no_value_is_preferred(load: Any) -> None:
    """Which region of an owner is kept follows from a keyed hash: each is chosen about as often."""
    rows = [{"id": owner, "day": 1, "region": region, "note": ""} for owner in range(600) for region in "abc"]
    kept = Counter(
        row[2] for row in stored(load(pa.Table.from_pylist(rows), COLUMNS, structure=Structure({}, {"region": 1})))
    )
    assert sum(kept.values()) == 600
    assert all(100 < count < 300 for count in kept.values())  # 200 expected, standard deviation 11.5


def test_a_key_comes_first(load: Any) -> None:
    """Structure is enforced on what the other declarations leave: nothing is counted twice."""
    rows = [{"id": 1, "day": day, "region": "a", "note": "x"} for day in (1, 1, 1, 2, 2)]
    loaded = load(pa.Table.from_pylist(rows), COLUMNS, most=3, structure=Structure({"day": 2}))
    assert loaded.report.beyond_max_rows_per_owner_in == {"day": 1}
    assert (loaded.report.rows, loaded.report.beyond_max_rows_per_owner) == (4, 1)


def test_strict_refuses_what_would_be_left_out(load: Any) -> None:
    rows = [{"id": 1, "day": 1, "region": "a", "note": str(number)} for number in range(3)]
    with pytest.raises(DitherError, match="2 records beyond at most 1 row of each owner in each day"):
        load(pa.Table.from_pylist(rows), COLUMNS, structure=Structure({"day": 1}), strict=True)
    load(pa.Table.from_pylist(rows[:1]), COLUMNS, structure=Structure({"day": 1}), strict=True)


# Planted bugs


def test_planted_bug_nothing_is_enforced(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What enforces it does nothing: the rows that are read back tell, and without that the check does."""
    monkeypatch.setattr(
        snapshot, "enforced", lambda load, table, kind, key, relation, rows: structure.Kept(relation, {}, {})
    )
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        check_limits(load)
    monkeypatch.setattr(snapshot, "broken", lambda load, table: 0)
    with pytest.raises(AssertionError):
        check_limits(load)


@pytest.mark.parametrize("what", ["among_alike", "place_of_value"])
def test_planted_bug_chosen_by_position(load: Any, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def by_position(owner_type: str, columns: Any, names: Any) -> str:
        return f'row_number() OVER (PARTITION BY "_owner", {names[0]} ORDER BY rowid + 0 * length($key))'

    def first_value(owner_type: str, name: str, column: Any) -> str:
        first = f'first({name}) OVER (PARTITION BY "_owner" ORDER BY rowid + 0 * length($key))'
        return f"CASE WHEN {name} IS NOT DISTINCT FROM {first} THEN 1 ELSE 2 END"

    monkeypatch.setattr(structure, what, by_position if what == "among_alike" else first_value)
    check_limits(load, Structure({"day": 2}) if what == "among_alike" else Structure({}, {"region": 1}))
    with pytest.raises(AssertionError, match="the order of the source shows"):
        check_order_and_threads(load)


def test_planted_bug_chosen_across_owners(load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So many rows of a day in all, whoever has them."""
    (tmp_path / "rank.key").write_bytes(b"k" * 32)  # the same choices in every run

    def across(owner_type: str, columns: Any, names: Any) -> str:
        keyed = "sha256(concat($key, _owner, day, region, note))"
        return f"row_number() OVER (PARTITION BY {names[0]} ORDER BY {keyed}) // 4"

    monkeypatch.setattr(snapshot, "broken", lambda load, table: 0)
    monkeypatch.setattr(structure, "among_alike", across)
    with pytest.raises(AssertionError, match="an owner moves the rows of others"):
        check_other_owners(load)
