"""Exact integers whatever one owner holds, in any order and on any number of threads. Each check catches its bug."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from dither.engines.duckdb.snapshots import owners
from dither.engines.protocol import EngineError
from dither.policy.columns import Category, Fixed, Int, Text
from dither.sql.expressions import Stored
from dither.sql.plan.nodes import Key

SPECIAL = [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**63), 1.7976931348623157e308, 5e-324, None]
COLUMNS = {
    "amount": Fixed(0, 100, decimals=2),
    "wide": Int(-(2**62), 2**62),
    "region": Category(["north", "south"]),
    "note": Text(max_length=20),
}
REGION = Key(Stored("region", 0, 1, 0, True), True, 0, 1, True)
MOST = 5


def others() -> list[dict[str, Any]]:
    generator = random.Random(7)
    return [
        {
            "id": generator.randrange(50),
            "amount": generator.uniform(-5, 120),
            "wide": generator.choice(["1", "-3", "4611686018427387904", "-4611686018427387904"]),
            "region": generator.choice(["north", "south"]),
            "note": "ordinary",
        }
        for _ in range(600)
    ]


def owner_4217(rows: int) -> list[dict[str, Any]]:
    wide = ["9223372036854775808", "-9223372036854775809", "abc", "", "nan", "1e308", None, "4611686018427387904"]
    return [
        {
            "id": 4217,
            "amount": SPECIAL[k % len(SPECIAL)],
            "wide": wide[k % len(wide)],
            "region": ["nowhere-else", None, "north"][k % 3],
            "note": "CANARY-4217 " * (k % 3),
        }
        for k in range(rows)
    ]


def source(rows: list[dict[str, Any]]) -> pa.Table:
    schema = pa.schema(
        [("id", pa.int64()), ("amount", pa.float64()), ("wide", "string"), ("region", "string"), ("note", "string")]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def measured(loaded: Any) -> list[list[int]]:
    sql = (
        'SELECT "region" AS k0, COUNT(*) AS m0, COUNT("amount") AS m1, '
        'CAST(COALESCE(SUM("amount"), 0) AS BIGINT) AS m2, COALESCE(SUM("wide"), 0) AS m3 '
        f'FROM "rows" WHERE "_rank" <= {MOST} GROUP BY "region"'
    )
    return [[int(value) for value in column] for column in loaded.ask(sql, (REGION,), 4)]


def check_one_owner_moves_measures_within_bounds(load: Any, rows: int) -> None:
    """Threats 7, 11, 18: without 4217 the counts move by at most K rows and the sums by K times the largest value."""
    base = others()
    with_, without = load(source(base + owner_4217(rows)), COLUMNS), load(source(base), COLUMNS)
    gaps = [
        sum(abs(a - b) for a, b in zip(left, right, strict=True))
        for left, right in zip(measured(with_), measured(without), strict=True)
    ]
    assert with_.one('SELECT COUNT(*) AS m0 FROM "rows" WHERE "_owner" = 4217') == rows
    assert gaps[0] == MOST
    assert gaps[1] <= MOST
    assert gaps[2] <= MOST * COLUMNS["amount"].high
    assert gaps[3] <= MOST * 2**62


def test_the_worst_owner_stays_within_bounds(load: Any) -> None:
    check_one_owner_moves_measures_within_bounds(load, rows=20_000)


def test_planted_bug_dropping_nan_instead_of_null(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read_owner = owners.read_owner

    def dropping(raw: str, source_type: str) -> tuple[str, str]:
        owner, type_ = read_owner(raw, source_type)
        return f"CASE WHEN isfinite(c1) THEN {owner} END", type_

    monkeypatch.setattr(owners, "read_owner", dropping)
    with pytest.raises(AssertionError):
        check_one_owner_moves_measures_within_bounds(load, rows=400)


def test_planted_bug_clamps_that_pass_over_null(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """LEAST and GREATEST ignore NULL, so a clamp made of them turns NULL into a bound."""
    from dither.engines.duckdb.snapshots import sanitising

    stored = sanitising.Reading.stored

    def careless(self: Any) -> str:
        if self.name != "amount":
            return stored(self)
        return f"CAST(GREATEST({self.column.low}, LEAST({self.value}, {self.column.high})) AS SMALLINT)"

    rows = owner_4217(24)
    assert load(source(rows), COLUMNS).one('SELECT COUNT("amount") AS m0 FROM "rows"') == 12
    monkeypatch.setattr(sanitising.Reading, "stored", careless)
    assert load(source(rows), COLUMNS).one('SELECT COUNT("amount") AS m0 FROM "rows"') == 24


def check_shuffles(load: Any, sql: str, shuffles: int) -> None:
    """Threats 12 and 36: order and threads change no sum. Owners are shuffled too, so that the stored order differs."""
    generator = random.Random(3)
    amounts = [generator.lognormvariate(0, 4) % 100 for _ in range(3000)]
    seen = set()
    for round_ in range(shuffles):
        generator.shuffle(amounts)
        rows = [{"id": k, "amount": amount} for k, amount in enumerate(amounts)]
        loaded = load(source(rows), COLUMNS, threads=1 + round_ % 4)
        seen.add(int(loaded.ask(sql)[0][0]))
    assert len(seen) == 1


def test_order_and_threads_change_no_sum(load: Any) -> None:
    check_shuffles(load, 'SELECT CAST(COALESCE(SUM("amount"), 0) AS BIGINT) AS m0 FROM "rows"', shuffles=6)


def test_planted_bug_sums_of_floats(load: Any) -> None:
    """The last bits of a float sum, shown by scaling up, depend on the order of rows."""
    floating = 'SELECT CAST(SUM(CAST("amount" AS DOUBLE) / 1e2) * 1e12 AS HUGEINT) AS m0 FROM "rows"'
    with pytest.raises(AssertionError):
        check_shuffles(load, floating, shuffles=6)


def check_wide_sum(load: Any, sql: str) -> None:
    """Threat 13: sums far beyond 64 bits equal Python's."""
    generator = random.Random(5)
    values = [generator.randrange(2**61, 2**62) for _ in range(3000)] + [-(2**62), 2**62]
    loaded = load(source([{"id": k, "wide": str(value)} for k, value in enumerate(values)]), COLUMNS)
    assert loaded.one(sql) == sum(values) > 2**70


def test_sums_beyond_64_bits(load: Any) -> None:
    check_wide_sum(load, 'SELECT COALESCE(SUM("wide"), 0) AS m0 FROM "rows"')


def test_planted_bugs_in_wide_sums(load: Any) -> None:
    with pytest.raises(AssertionError):
        check_wide_sum(load, 'SELECT CAST(SUM(CAST("wide" AS DOUBLE)) AS HUGEINT) AS m0 FROM "rows"')
    with pytest.raises(EngineError):
        check_wide_sum(load, 'SELECT SUM(CAST("wide" AS DOUBLE)) AS m0 FROM "rows"')
    with pytest.raises(EngineError):
        check_wide_sum(load, 'SELECT CAST(SUM("wide") AS BIGINT) AS m0 FROM "rows"')


def test_negative_wide_sums_by_group(load: Any) -> None:
    rows = [{"id": k, "wide": str(-(2**62) + k), "region": ["north", "south", None][k % 3]} for k in range(300)]
    loaded = load(source(rows), COLUMNS)
    (sums,) = loaded.ask('SELECT "region" AS k0, SUM("wide") AS m0 FROM "rows" GROUP BY "region"', (REGION,))
    assert [int(value) for value in sums] == [
        sum(-(2**62) + k for k in range(300) if k % 3 == group) for group in range(3)
    ]


def test_averages_come_from_exact_parts(load: Any) -> None:
    base = others()
    loaded = load(source(base), COLUMNS, most=1000)
    total, count = (int(part[0]) for part in loaded.ask(
        'SELECT CAST(COALESCE(SUM("amount"), 0) AS BIGINT) AS m0, COUNT("amount") AS m1 FROM "rows"', measures=2
    ))  # fmt: skip
    assert count == len(base)
    assert abs(Fraction(total, 100) - sum(Fraction(min(max(row["amount"], 0), 100)) for row in base)) <= Fraction(
        len(base), 200
    )


def test_no_data_in_any_error(load: Any, capfd: pytest.CaptureFixture[str]) -> None:
    loaded = load(source(owner_4217(30)), COLUMNS)
    for sql in ('SELECT CAST("note" AS BIGINT) AS m0 FROM "rows"', 'SELECT error("note") AS m0 FROM "rows"'):
        with pytest.raises(EngineError) as caught:
            loaded.ask(sql)
        assert "CANARY" not in repr(caught.value)
    assert "CANARY" not in "".join(capfd.readouterr())
