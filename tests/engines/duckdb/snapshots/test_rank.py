"""Ranks depend on an owner's own stored values and the key alone. Each check must catch its planted bug."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dither.engines.duckdb.snapshots import snapshot
from dither.engines.duckdb.snapshots.rank import _packed
from dither.errors import PolicyError
from dither.policy.columns import Fixed, Int, Text

COLUMNS = {"x": Int(0, 1000), "y": Fixed(-10, 10, decimals=3), "note": Text()}


def records(owners: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    generator = random.Random(seed)
    found = []
    for owner in range(owners):
        for _ in range(generator.randrange(1, 30)):
            found.append(
                {
                    "id": owner,
                    "x": generator.choice([None, *range(40)]),
                    "y": generator.uniform(-12, 12),
                    "note": generator.choice([None, "", "a", "a|b", "~", "1:a"]),
                }
            )
    return found


def chosen(loaded: Any, most: int) -> Counter[tuple[Any, ...]]:
    """The multiset of rows that queries with this limit see."""
    return Counter(loaded.rows('"_owner", "x", "y", "note"', f'"_rank" <= {most}'))


def check_order_and_threads(load: Any, shuffles: int, threads: list[int]) -> None:
    rows = records()
    reference = load(pa.Table.from_pylist(rows), COLUMNS, threads=1)
    for round_ in range(shuffles):
        random.Random(round_).shuffle(rows)
        loaded = load(pa.Table.from_pylist(rows), COLUMNS, threads=threads[round_ % len(threads)])
        assert Counter(loaded.rows()) == Counter(reference.rows())


def check_other_owners(load: Any) -> None:
    rows = records()
    everybody = load(pa.Table.from_pylist(rows), COLUMNS)
    without = load(pa.Table.from_pylist([row for row in rows if row["id"] != 17]), COLUMNS)
    for most in (1, 2, 5, 10):
        difference = chosen(everybody, most)
        difference.subtract(chosen(without, most))
        assert {row[0] for row, count in difference.items() if count} == {17}
        assert sum(difference.values()) <= most


def test_row_order_and_threads_change_nothing(load: Any) -> None:
    check_order_and_threads(load, shuffles=8, threads=[1, 2, 3, 4, 16])


def test_an_owner_changes_only_its_own_rows(load: Any) -> None:
    check_other_owners(load)


PACKED: dict[int, dict[str, Any]] = {
    1: {"a": Int(-3, 3), "b": Int(0, 2), "c": Fixed(-1, 1, decimals=1)},
    2: {"a": Int(-(2**62), 2**62 - 1), "b": Int(0, 2), "c": Int(-2, 2)},
    4: {"a": Int(0, 2), "b": Int(-(2**62), 2**62), "c": Int(0, 2**40), "d": Int(0, 2**22), "e": Int(0, 2**22)},
}


@pytest.mark.parametrize("numbers", PACKED)
def test_rows_that_differ_are_packed_into_numbers_that_differ(numbers: int) -> None:
    columns = PACKED[numbers]
    digits = [sorted({column.low, column.low + 1, 0, 1, column.high - 1, column.high}) for column in columns.values()]
    made = list(itertools.product(*([None, *values] for values in digits)))
    with duckdb.connect() as connection:
        named = ", ".join(f"CAST({name} AS HUGEINT) AS {name}" for name in columns)
        texts = {name: [None if row[k] is None else str(row[k]) for row in made] for k, name in enumerate(columns)}
        connection.register("made", pa.table(texts, pa.schema([(name, pa.string()) for name in columns])))
        packed = _packed(columns)
        found = connection.sql(f"SELECT {', '.join(packed)} FROM (SELECT {named} FROM made)").fetchall()
    assert len(packed) == numbers
    assert len(set(found)) == len(made)


def by_position(owner_type: str, columns: Any) -> str:
    return 'CAST(row_number() OVER (PARTITION BY "_owner" ORDER BY rowid) + 0 * length($key) AS INTEGER)'


def by_global_position(owner_type: str, columns: Any) -> str:
    return "CAST(row_number() OVER (ORDER BY sha256(concat($key, x, y, note))) % 40 + 1 AS INTEGER)"


def test_planted_bug_rank_by_position(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "rank_expression", by_position)
    with pytest.raises(AssertionError):
        check_order_and_threads(load, shuffles=3, threads=[1, 2])


def test_planted_bug_rank_across_owners(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "rank_expression", by_global_position)
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        check_other_owners(load)
    monkeypatch.setattr(snapshot, "_RANKS", 'SELECT COUNT(*) FILTER ("_rank" = 1), 0 FROM rows_file.rows')
    with pytest.raises(AssertionError):
        check_other_owners(load)


def test_ranks_run_from_one_to_the_number_of_rows(load: Any) -> None:
    rows = records()
    loaded = load(pa.Table.from_pylist(rows), COLUMNS, most=4)
    sizes = Counter(row["id"] for row in rows)
    ranks: dict[int, list[int]] = {owner: [] for owner in sizes}
    for owner, rank in loaded.rows('"_owner", "_rank"'):
        ranks[owner].append(rank)
    assert {owner: sorted(found) for owner, found in ranks.items()} == {
        owner: list(range(1, size + 1)) for owner, size in sizes.items()
    }
    assert loaded.report.beyond_max_rows_per_owner == sum(max(0, size - 4) for size in sizes.values())
    for most in (1, 3, 100):
        counted = loaded.one(f'SELECT COUNT(*) AS m0 FROM "rows" WHERE "_rank" <= {most}')
        assert counted == sum(min(most, size) for size in sizes.values())


def test_the_order_is_a_keyed_one(load: Any, tmp_path: Any) -> None:
    """Another key chooses other rows, and no value is preferred."""
    rows = [{"id": owner, "x": x, "y": 0.0, "note": ""} for owner in range(400) for x in (1, 2, 3, 4)]
    source = pa.Table.from_pylist(rows)
    first = load(source, COLUMNS)
    (tmp_path / "rank.key").write_bytes(b"k" * 32)
    second = load(source, COLUMNS)
    picks = [dict(one.rows('"_owner", "x"', '"_rank" = 1')) for one in (first, second)]
    agree = sum(picks[0][owner] == picks[1][owner] for owner in picks[0])
    assert 35 < agree < 165  # 100 expected, standard deviation 8.7
    for pick in picks:
        assert all(35 < count < 165 for count in Counter(pick.values()).values())


def test_rows_that_differ_are_written_differently(load: Any) -> None:
    """The separator inside text must not make two rows look alike: each keeps its own place."""
    notes = ["a", "a|1:b", "1:a", "~", None, "", "|"]
    rows = [{"id": 1, "x": 1, "y": 0.0, "note": note} for note in notes]
    orders = set()
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        loaded = load(pa.Table.from_pylist(rows), COLUMNS)
        orders.add(tuple(note for _, note in sorted(loaded.rows('"_rank", "note"'))))
    assert len(orders) == 1
