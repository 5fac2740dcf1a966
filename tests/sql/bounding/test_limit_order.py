"""WHERE first, then the limit of rows, also where owners are joined: exact beside plain Python that does just that."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from dither.accounting import PureDP
from dither.accounting.currency.currency import Currency
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Int
from dither.sql.binding.reading import read
from dither.sql.bounding import limit_order
from dither.sql.bounding.aggregations import plan
from dither.sql.bounding.owner_limits import Limits
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.lowering.blocks import NODES
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.lower import lower
from dither.sql.plan.nodes import Aggregate, JoinOwner, Node, OwnerAggregate, Retruncate
from dither.sql.plan.question import Question
from dither.sql.pricing.notes import limits
from dither.sql.pricing.price import price

Row = dict[str, int]
Rows = list[Row]
MOST = 7
DRAW = random.Random(11)
SIZES = {1: 2, 3: 5, 4: 1}  # of the public codes; 0 and 2 have none


def rows_of(owner: int) -> Rows:
    """Some rows of an owner in the order of their ranks. Keys are their own, and no order follows another."""
    keys = DRAW.sample(range(10), DRAW.randint(0, MOST))
    return [{"o": owner, "k": key, "x": DRAW.randint(0, 4)} for key in keys]


OWNERS = range(14)
T = [row for owner in OWNERS for row in rows_of(owner)]
S = [{"o": row["o"], "k": row["k"], "y": row["x"]} for owner in OWNERS for row in rows_of(owner)]


def cut(rows: Iterable[Row], most: int, keep: Callable[[Row], bool] = lambda row: True) -> Rows:
    """The first so many rows of each owner among those that are kept."""
    found: dict[int, Rows] = {}
    for row in rows:
        if keep(row):
            found.setdefault(row["o"], []).append(row)
    return [row for own in found.values() for row in own[:most]]


def joined(left: Rows, right: Rows, on: Callable[[Row, Row], bool] = lambda a, b: True) -> Rows:
    """Pairs of rows of one owner, in the order of the left ones."""
    return [{**b, **a} for a in left for b in right if a["o"] == b["o"] and on(a, b)]


def same_key(a: Row, b: Row) -> bool:
    return a["k"] == b["k"]


def outer(left: Rows, right: Rows, on: Callable[[Row, Row], bool] = lambda a, b: True) -> Rows:
    pairs = [(a, joined([a], right, on)) for a in left]
    return [row for a, found in pairs for row in found or [a]]


def kept(rows: Rows, keep: Callable[[Row], bool]) -> Rows:
    return [row for row in rows if keep(row)]


def grouped(rows: Rows, *by: str) -> Rows:
    """Of each owner, and of each value of a column, how many rows there are."""
    found: dict[tuple[int, ...], Row] = {}
    for row in rows:
        group = found.setdefault(tuple(row[name] for name in ("o", *by)), {**row, "n": 0})
        group["n"] += 1
    return list(found.values())


def numbered(rows: Rows) -> Rows:
    """With the place of each among its owner's, the least x first."""
    ordered = sorted(rows, key=lambda row: row["x"])
    return [{**row, "n": sum(one["o"] == row["o"] for one in ordered[:at])} for at, row in enumerate(ordered)]


def nothing_like(a: Row) -> bool:
    return not any(c["o"] == a["o"] and c["y"] == a["x"] for c in S)


# By name: what follows SELECT, and the rows that it is about if at most so many count.
FORMS: dict[str, tuple[str, Callable[[int], Rows]]] = {
    "join": (
        "SUM(a.x), COUNT(*) FROM t a JOIN s b ON a.o = b.o WHERE a.x > 1 AND b.y < 3",
        lambda k: joined(cut(T, k, lambda a: a["x"] > 1), cut(S, k, lambda b: b["y"] < 3)),
    ),
    "join of three": (
        "SUM(a.x), COUNT(*) FROM t a JOIN s b ON a.o = b.o JOIN t c ON b.o = c.o WHERE c.x = 4 AND b.y < 3 AND a.x > 0",
        lambda k: joined(
            joined(cut(T, k, lambda a: a["x"] > 0), cut(S, k, lambda b: b["y"] < 3)), cut(T, k, lambda c: c["x"] == 4)
        ),
    ),
    "condition on both": (
        "SUM(a.x), COUNT(*) FROM t a JOIN s b ON a.o = b.o WHERE a.x > 1 AND a.x < b.y",
        lambda k: kept(joined(cut(T, k, lambda a: a["x"] > 1), cut(S, k)), lambda row: row["x"] < row["y"]),
    ),
    "public rows": (
        "SUM(a.x), COUNT(*) FROM s b JOIN t a ON a.o = b.o JOIN pub p ON a.x = p.code WHERE p.size > 1 AND b.y > 1",
        lambda k: joined(cut(T, k, lambda a: SIZES.get(a["x"], 0) > 1), cut(S, k, lambda b: b["y"] > 1)),
    ),
    "left join": (
        "SUM(a.x), COUNT(*), COUNT(b.y) FROM t a LEFT JOIN s b ON a.o = b.o AND b.y < 2 AND a.x <> b.y WHERE a.x > 1",
        lambda k: outer(
            cut(T, k, lambda a: a["x"] > 1), cut(S, k, lambda b: b["y"] < 2), lambda a, b: a["x"] != b["y"]
        ),
    ),
    "left join, condition on what is found": (
        "SUM(a.x), COUNT(*), COUNT(b.y) FROM t a LEFT JOIN s b ON a.o = b.o WHERE b.y < 2 AND a.x > 1",
        lambda k: kept(outer(cut(T, k, lambda a: a["x"] > 1), cut(S, k)), lambda row: row.get("y", 9) < 2),
    ),
    "one row found": (
        "SUM(a.x), COUNT(*) FROM t a JOIN s b ON a.o = b.o AND a.k = b.k WHERE a.x > b.y AND b.y < 3",
        lambda k: cut(joined(T, S, same_key), k, lambda row: row["x"] > row["y"] and row["y"] < 3),
    ),
    "one row found or none": (
        "SUM(a.x), COUNT(*), COUNT(b.y) FROM t a LEFT JOIN s b ON a.o = b.o AND a.k = b.k WHERE b.y IS NULL",
        lambda k: cut(outer(T, S, same_key), k, lambda row: "y" not in row),
    ),
    "full join": (
        "COUNT(a.x), COUNT(b.y) FROM t a FULL JOIN s b ON a.o = b.o AND a.x = b.y WHERE a.x > 1 OR b.y > 1",
        lambda k: kept(
            full(cut(T, k), cut(S, k), lambda a, b: a["x"] == b["y"]),
            lambda row: row.get("x", 0) > 1 or row.get("y", 0) > 1,
        ),
    ),
    "exists": (
        "SUM(a.x), COUNT(*) FROM t a JOIN s b ON a.o = b.o WHERE b.y = 1 AND NOT EXISTS "
        "(SELECT 1 FROM s c WHERE c.o = a.o AND c.y = a.x)",
        lambda k: joined(cut(T, k, nothing_like), cut(S, k, lambda b: b["y"] == 1)),
    ),
    "union": (
        "SUM(u.v), COUNT(*) FROM (SELECT o, x AS v FROM t WHERE k > 3 UNION ALL SELECT o, y FROM s) u WHERE v > 1",
        lambda k: [
            *cut(T, k, lambda a: a["k"] > 3 and a["x"] > 1),
            *({"x": row["y"]} for row in cut(S, k, lambda b: b["y"] > 1)),
        ],
    ),
    "derived join": (
        "SUM(q.v), COUNT(*) FROM (SELECT a.o, a.x AS v, b.y AS w FROM t a JOIN s b ON a.o = b.o) q "
        "WHERE q.v > 1 AND q.w < 3 AND q.v > q.w",
        lambda k: kept(
            joined(cut(T, k, lambda a: a["x"] > 1), cut(S, k, lambda b: b["y"] < 3)), lambda row: row["x"] > row["y"]
        ),
    ),
    "totals": (
        "SUM(q.n), COUNT(*) FROM (SELECT o, COUNT(*) AS n FROM t WHERE x > 1 GROUP BY o) q WHERE q.n > 1",
        lambda k: kept(grouped(cut(T, k, lambda a: a["x"] > 1)), lambda row: row["n"] > 1),
    ),
    "totals by a key": (
        "SUM(q.x), COUNT(*) FROM (SELECT o, x, COUNT(*) AS n FROM t GROUP BY o, x) q WHERE q.n < 2 AND q.x > 1",
        lambda k: kept(grouped(cut(T, k, lambda a: a["x"] > 1), "x"), lambda row: row["n"] < 2),
    ),
    "joined totals": (
        "SUM(b.y), COUNT(*) FROM (SELECT o, x, COUNT(*) AS n FROM t WHERE k > 2 GROUP BY o, x) q JOIN s b ON q.o = b.o "
        "WHERE q.x > 1 AND b.y < 3 AND q.n < 2",
        lambda k: joined(
            kept(grouped(cut(T, k, lambda a: a["k"] > 2 and a["x"] > 1), "x"), lambda row: row["n"] < 2),
            cut(S, k, lambda b: b["y"] < 3),
        ),
    ),
    "numbered rows": (
        "SUM(q.x), COUNT(*) FROM (SELECT o, x, ROW_NUMBER() OVER (PARTITION BY o ORDER BY x) AS n FROM t WHERE k > 2) "
        "q WHERE q.n < 3",
        lambda k: kept(numbered(cut(T, k, lambda a: a["k"] > 2)), lambda row: row["n"] < 2),
    ),
}  # fmt: skip


def full(left: Rows, right: Rows, on: Callable[[Row, Row], bool]) -> Rows:
    return [*outer(left, right, on), *(b for b in right if not joined(left, [b], on))]


def catalog() -> Catalog:
    column = Int(0, 9, nullable=False, default=0)
    tables = {
        name: Table(name, "people", "o", MOST, {"k": column, values: column}, key=("k",), owner_type="BIGINT")
        for name, values in (("t", "x"), ("s", "y"))
    }
    return Catalog(tables, {"pub": PublicTable("pub", {"code": column, "size": column}, ("code",))})


@pytest.fixture(scope="module")
def stored() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        known = catalog()
        sources: list[tuple[Any, Rows]] = [(known.tables["t"], T), (known.tables["s"], S)]
        for table, rows in sources:
            own = {owner: [row for row in rows if row["o"] == owner] for owner in OWNERS}
            ranked = [(*row.values(), rank) for each in own.values() for rank, row in enumerate(each, 1)]
            fill(connection, DUCKDB.rows(table), ["_owner", "k", [*rows[0]][2], "_rank"], ranked)
        fill(connection, DUCKDB.rows(known.public["pub"]), ["code", "size"], list(SIZES.items()))
        yield connection


def fill(connection: Any, name: str, columns: list[str], rows: list[Any]) -> None:
    connection.execute(f"CREATE SCHEMA {name.rpartition('.')[0]}")
    typed = ", ".join(f"{column} {'BIGINT' if column == '_owner' else 'INTEGER'}" for column in columns)
    connection.execute(f"CREATE TABLE {name} ({typed})")
    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in columns)})", rows)


def found(connection: Any, text: str, rows: int) -> list[int]:
    """The exact numbers, in the order in which they were asked for, of a plan that the guard has passed."""
    question, aggregates = planned(text, rows)
    known = exact(connection, aggregates)
    return [known[output.aggregate.measures()[0].text] for output in question.outputs]


def planned(text: str, rows: int) -> tuple[Question, tuple[Aggregate, ...]]:
    question = read(f"SELECT {text}", catalog())
    return question, plan(question, rows_per_owner=rows, where_first=True)


def exact(connection: Any, aggregates: Iterable[Aggregate]) -> dict[str, int]:
    """The exact number of each measure."""
    known: dict[str, int] = {}
    for aggregate in aggregates:
        check([aggregate])
        (values,) = connection.execute(lower(aggregate).sql).fetchall()
        known |= zip((measure.text for measure in aggregate.answers), map(int, values), strict=True)
    return known


def wanted(text: str, rows: Rows) -> list[int]:
    column = {"u.v": "x", "q.v": "x", "a.x": "x", "q.x": "x", "q.n": "n", "b.y": "y"}
    items = text.partition(" FROM ")[0].split(", ")
    values = [column.get(item.partition("(")[2][:-1], "") for item in items]
    made = []
    for item, name in zip(items, values, strict=True):
        told = [row[name] for row in rows if name in row] if name else [1 for _ in rows]
        made.append(sum(told) if item.startswith("SUM") else len(told))
    return made


@pytest.mark.parametrize("rows", [1, 2, 3, MOST])
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_limited_among_those_that_conditions_keep(stored: Any, form: str, rows: int) -> None:
    text, about = FORMS[form]
    assert found(stored, text, rows) == wanted(text, about(rows))


def limited(text: str, rows: int = 2) -> Node:
    return limit_order.limited_rows(read(f"SELECT {text}", catalog()).source, rows, where_first=True)


def test_each_form_is_limited_after_a_condition() -> None:
    for form, (text, _) in FORMS.items():
        cuts = [node for node in limited(text).walk() if isinstance(node, Retruncate)]
        assert bool(cuts) == (form != "full join"), form
        assert not any(isinstance(node.child, OwnerAggregate) for node in cuts)


@pytest.mark.parametrize("form", FORMS)
def test_one_owner_moves_it_by_what_is_proven_at_most(stored: Any, form: str) -> None:
    check_gaps(stored, FORMS[form][0])


def check_gaps(connection: Any, text: str) -> None:
    """Without any one owner, no number differs by more than the guard has proven."""
    _, aggregates = planned(text, 2)
    proven = [int(one.l1) for part in check(aggregates) for one in part]
    everybody = exact(connection, aggregates).values()
    for owner in OWNERS:
        connection.begin()
        for table in catalog().tables.values():
            connection.execute(f"DELETE FROM {DUCKDB.rows(table)} WHERE _owner = {owner}")
        others = exact(connection, aggregates).values()
        connection.rollback()
        gaps = [abs(one - other) for one, other in zip(everybody, others, strict=True)]
        assert all(gap <= most for gap, most in zip(gaps, proven, strict=True)), f"{owner} moves it by {gaps}"


# Planted bugs


@pytest.mark.parametrize("form", [form for form in FORMS if form != "full join"])
def test_a_limit_before_where_is_noticed(stored: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the rows of a side are limited before its conditions."""
    text, about = FORMS[form]
    monkeypatch.setattr(limit_order._LimitsAfterWhere, "limited", Limits.limited)
    assert any(found(stored, text, rows) != wanted(text, about(rows)) for rows in (1, 2, 3))


@pytest.mark.parametrize("form", ["join", "union", "public rows", "one row found", "left join", "exists"])
def test_a_limit_that_is_left_out_is_noticed(stored: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the plan has the limit, which the guard counts on, and the statement has not."""
    monkeypatch.setitem(NODES, Retruncate, lambda blocks, node: blocks.of(node.child))
    with pytest.raises(AssertionError, match="moves it by"):
        check_gaps(stored, FORMS[form][0])


def test_a_condition_that_goes_too_far_down_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: LEFT JOIN is taken for a join that finds rows, whose conditions go to either side."""
    around = limit_order._around_join

    def inner(node: Any, above: Any) -> Node:
        made = around(replace(node, outer=False), above)
        return replace(made, outer=True) if isinstance(made, JoinOwner) else made

    monkeypatch.setattr(limit_order, "_around_join", inner)
    with pytest.raises(UnsafePlan, match="misstates the column"):
        check(planned(FORMS["left join, condition on what is found"][0], 2)[1])


# What is told


def told(text: str) -> tuple[str, ...]:
    return limits(planned(text, 2)[1])


def test_notes_say_where_a_limit_comes() -> None:
    both = told(FORMS["join"][0])
    for table in "ts":
        alone = f"Of those that conditions on them alone keep, at most 2 rows of each owner in {table} are joined."
        assert alone in both
    assert "At most 2 rows of each owner in s are counted, whichever WHERE keeps of them." in told(
        FORMS["condition on both"][0]
    )
    assert "Of those that WHERE keeps, at most 2 rows of each owner in t are counted." in told(
        FORMS["one row found"][0]
    )
    assert "At most 2 rows of each owner in t are counted, whichever WHERE keeps of them." in told(
        FORMS["full join"][0]
    )


def test_intervals_have_room_for_what_a_limit_leaves_out() -> None:
    """Fewer rows mean smaller counts where rows are joined, and anything where totals or missing rows are asked for."""
    currency = Currency.of(PureDP(4))
    for form in FORMS:
        made = price(planned(FORMS[form][0], 2)[0], currency, epsilon=1, rows_per_owner=2)
        text = next(item.measure.text for item in made.measures if item.measure.text.startswith('["CountRows"'))
        open_below = form.startswith(("left join, ", "totals", "joined totals", "numbered", "full", "left join"))
        assert made.left_out.bounds(text, Fraction(1, 100)) == (None if open_below else 0, None), form
