"""Bounds on work hold on data that go to every limit, and what is above a limit is refused before it is charged."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import dither as dt
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.sql import expressions as e
from dither.sql.admission.gate import admit
from dither.sql.admission.work import Work, work
from dither.sql.binding.reading import read
from dither.sql.bounding import flow as flows
from dither.sql.bounding import row_flow
from dither.sql.bounding.aggregations import plan
from dither.sql.bounding.flow import flow
from dither.sql.guard.facts import most_found
from dither.sql.lowering.block import Block
from dither.sql.lowering.blocks import Blocks
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.lower import lower, used
from dither.sql.plan.nodes import (
    Aggregate,
    Filter,
    JoinFull,
    JoinOwner,
    JoinPublic,
    Node,
    Project,
    Retruncate,
    SemiJoin,
)

OWNERS, KEPT, STORED, LONGEST = 7, 3, 5, 4
COLUMNS = {"x": dt.Int(0, 5), "id": dt.Int(0, 99), "name": dt.Text(max_length=LONGEST)}
VISITS = Table("visits", "people", "pid", KEPT, COLUMNS, 1, owner_type="BIGINT", max_rows=OWNERS * STORED)
KEYED = replace(VISITS, name="keyed", key=("id",))
CODES = PublicTable("codes", {"code": dt.Int(0, 9), "label": dt.Text(max_length=2)}, ("code",), 1, max_rows=6)
CATALOG = Catalog({"visits": VISITS, "keyed": KEYED}, {"codes": CODES})

QUESTIONS = """
SELECT COUNT(*) FROM visits
SELECT x, COUNT(*), SUM(id) FROM visits WHERE x > 1 GROUP BY x
SELECT name, COUNT(*) FROM visits GROUP BY name
SELECT x, name, COUNT(*) FROM visits GROUP BY x, name
SELECT COUNT(DISTINCT name || name) FROM visits
SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.pid = b.pid
SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.pid = b.pid JOIN visits AS c ON b.pid = c.pid
SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.pid = b.pid AND a.x < b.x
SELECT COUNT(*) FROM visits AS a LEFT JOIN visits AS b ON a.pid = b.pid AND a.x = b.x
SELECT COUNT(*) FROM visits AS a JOIN keyed AS b ON a.pid = b.pid AND a.id = b.id
SELECT COUNT(*) FROM keyed AS a LEFT JOIN visits AS b ON a.pid = b.pid AND a.id = b.id
SELECT label, COUNT(*) FROM visits JOIN codes ON x = code GROUP BY label
SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM visits AS b WHERE a.pid = b.pid AND a.x < b.x)
SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM visits AS b WHERE a.pid = b.pid AND a.x = b.x)
SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM codes AS c WHERE c.code > a.x)
SELECT COUNT(*) FROM (SELECT pid, x FROM visits UNION ALL SELECT pid, id FROM keyed) AS u
SELECT n, COUNT(*) FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) AS d GROUP BY n
SELECT COUNT(*) FROM (SELECT c || c AS d FROM (SELECT name || '-' || name AS c FROM visits) AS q) AS z WHERE d LIKE 'a%'
SELECT LEFT(name || name || name, 5) AS k, COUNT(*) FROM visits GROUP BY k
SELECT SUM(LENGTH(a.name || b.name)) FROM visits AS a JOIN visits AS b ON a.pid = b.pid
SELECT COUNT(*) FROM visits AS a FULL JOIN visits AS b ON a.pid = b.pid
SELECT COUNT(*) FROM visits AS a FULL JOIN keyed AS b ON a.pid = b.pid AND a.x > 100
SELECT label, COUNT(*) FROM visits CROSS JOIN codes GROUP BY label
SELECT COUNT(*) FROM visits LEFT JOIN codes ON x < code
SELECT COUNT(*) FROM visits WHERE x > (SELECT AVG(code) FROM codes)
SELECT COUNT(*) FROM visits AS a WHERE x > (SELECT AVG(x) FROM visits AS b WHERE b.pid = a.pid)
SELECT MEDIAN(x) FROM visits
SELECT x, MODE() WITHIN GROUP (ORDER BY id) FROM visits GROUP BY x
""".strip().splitlines()


@pytest.fixture(scope="module")
def stored() -> Iterator[duckdb.DuckDBPyConnection]:
    """Snapshots in which every owner has as many rows as there may be, texts at their longest among them."""
    drawn = random.Random(5)
    with duckdb.connect() as connection:
        for name in ("visits", "keyed"):
            connection.execute(
                f"ATTACH ':memory:' AS t_{name}; CREATE TABLE t_{name}.\"rows\" "
                '("_owner" BIGINT, x INTEGER, id INTEGER, name VARCHAR, "_rank" INTEGER)'
            )
            rows = [
                (owner, drawn.choice([0, 3, 3, 5, None]), place, drawn.choice(["aaaa", "aaaa", "b", None]), place + 1)
                for owner in range(OWNERS)
                for place in range(STORED)
            ]
            connection.executemany(f'INSERT INTO t_{name}."rows" VALUES (?, ?, ?, ?, ?)', rows)
        connection.execute("ATTACH ':memory:' AS t_codes; CREATE TABLE t_codes.\"rows\" (code INTEGER, label VARCHAR)")
        connection.execute("INSERT INTO t_codes.\"rows\" SELECT i, 'ab' FROM range(6) AS t(i)")
        yield connection


def planned(text: str, **stated: int) -> tuple[Aggregate, ...]:
    return plan(read(text, CATALOG), **stated)


class Real:
    """What the relations of an aggregation really have, by running them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, aggregate: Aggregate) -> None:
        ranked = any(isinstance(node, Retruncate) for node in aggregate.walk())
        self.connection, self.blocks = connection, Blocks(DUCKDB, used(aggregate), ranked)

    def one(self, block: Block, asked: str) -> int:
        (found,) = self.connection.execute(f"SELECT {asked} FROM {block.body}").fetchone()
        return int(found or 0)

    def rows(self, node: Node) -> int:
        return self.one(self.blocks.of(node), "COUNT(*)")

    def of_one_owner(self, node: Node) -> int:
        block = self.blocks.of(node)
        counted = f"SELECT COUNT(*) AS n FROM {block.body} GROUP BY {block.owner}"
        (found,) = self.connection.execute(f"SELECT MAX(n) FROM ({counted})").fetchone()
        return int(found or 0)


def check_bounds(connection: duckdb.DuckDBPyConnection, aggregates: tuple[Aggregate, ...]) -> int:
    """Nothing real is above its bound; how many bounds were attained."""
    found, attained = work(aggregates), 0
    for aggregate in aggregates:
        real = Real(connection, aggregate)
        for node in aggregate.child.walk():
            rows = real.rows(node)
            assert rows <= flow(node).rows, type(node)
            attained += rows == flow(node).rows
            many = isinstance(node, JoinPublic) and most_found(node) > 1
            if many or isinstance(node, (JoinOwner, JoinFull)):
                assert real.of_one_owner(node) <= found.met
                assert rows <= flow(node).made
            if isinstance(node, SemiJoin) and not flows.looked_up(node):
                pairs = (
                    real.rows(node.child) * real.rows(node.other) // (OWNERS if real.blocks.of(node.other).owner else 1)
                )
                assert pairs <= flow(node).looked
            if isinstance(node, (Filter, Project)):
                attained += check_texts(real, node)
        groups = len(connection.execute(lower(aggregate).sql).fetchall())
        assert groups <= found.groups or aggregate.chosen_from is not None
    return attained


def check_texts(real: Real, node: Filter | Project) -> int:
    values = [node.predicate] if isinstance(node, Filter) else [value for _, value in node.columns]
    attained = 0
    block = real.blocks.of(node.child)
    for value in values:
        total = 0
        for inner in value.walk():
            if isinstance(inner, row_flow._COMPUTED):
                text = real.blocks.writer(block).any(inner)
                size = real.one(block, f"MAX(LENGTH({text}))")
                assert size <= inner.longest
                attained += size == inner.longest
                total += size
        assert total <= row_flow.characters(value) <= flow(node).characters
    return attained


@pytest.mark.parametrize("text", QUESTIONS)
def test_nothing_is_above_its_bound(stored: duckdb.DuckDBPyConnection, text: str) -> None:
    for rows in (None, 1, 2):
        aggregates = planned(text) if rows is None else planned(text, rows_per_owner=rows)
        assert check_bounds(stored, aggregates) >= 1, "a bound that nothing attains may be far off"


def test_planted_bug_a_join_that_does_not_multiply(
    stored: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "_pairs", lambda left, mine, right, theirs: min(left, right))
    with pytest.raises(AssertionError):
        check_bounds(stored, planned("SELECT SUM(a.x) FROM visits AS a JOIN visits AS b ON a.pid = b.pid"))


def test_planted_bug_texts_that_do_not_grow(stored: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e.Joined, "longest", LONGEST)
    text = "SELECT COUNT(*) FROM visits WHERE x > 0 AND name || name || name LIKE 'ab%'"
    with pytest.raises(AssertionError):
        check_bounds(stored, planned(text))


def test_numbers_of_one_question() -> None:
    join = work(
        planned(
            "SELECT x, COUNT(*), SUM(b.id) FROM visits AS a JOIN (SELECT pid, id FROM visits) AS b"
            " ON a.pid = b.pid GROUP BY x"
        )
    )
    assert (join.met, join.groups, join.measures, join.cells) == (KEPT**2, 7, 2, 14)
    assert (join.declared, join.selected) == (True, False)
    assert join.rows == 2 * OWNERS * STORED
    texts = work(planned("SELECT COUNT(*) FROM visits WHERE name || 'abc' || name = 'a' OR LEFT(name, 2) = 'b'"))
    assert texts.characters == (LONGEST + 3) + (LONGEST + 3 + LONGEST) + 2
    assert texts.cost > work(planned("SELECT COUNT(*) FROM visits")).cost


def test_more_takes_more() -> None:
    """The cost is monotone: in rows, joins, groups and measures."""
    texts = [
        "SELECT COUNT(*) FROM visits",
        "SELECT x, COUNT(*) FROM visits GROUP BY x",
        "SELECT x, COUNT(*), SUM(id) FROM visits GROUP BY x",
        "SELECT x, id, COUNT(*), SUM(id) FROM visits GROUP BY x, id",
    ]
    costs = [work(planned(text)).cost for text in texts]
    assert costs == sorted(set(costs))
    larger = Catalog({"visits": replace(VISITS, max_rows=10**9)})
    assert work(plan(read(texts[0], larger))).cost > costs[0]
    unknown = Catalog({"visits": replace(VISITS, max_rows=None)})
    assert work(plan(read(texts[0], unknown))).rows == 2**36
    assert not work(plan(read(texts[0], unknown))).declared


# Refusals, by a curator


Make = Callable[..., dt.Curator]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    opened: list[dt.Curator] = []

    def make(max_rows: int | None = None, per_owner: int = 200) -> dt.Curator:
        curator = dt.Curator.open(tmp_path / f"shop{len(opened)}")
        opened.append(curator)
        curator.people("people", budget=dt.ApproxDP(9, "1e-6"))
        columns = {"x": dt.Int(0, 9_999), "y": dt.Int(0, 99), "name": dt.Text()}
        source = pa.table({"pid": [1, 1, 2], "x": [1, 2, 3], "y": [1, 2, 3], "name": ["a", "b", None]})
        declared = {"people": "people", "owner": "pid", "max_rows_per_owner": per_owner, "columns": columns}
        curator.register("visits", source, max_rows=max_rows, **declared)
        codes = pa.table({"code": [1, 2]})
        curator.register_public("codes", codes, columns={"code": dt.Int(0, 99_999)}, key="code")
        return curator

    yield make
    for curator in opened:
        curator.close()


JOINED = "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.pid = b.pid"
JOINED_THRICE = f"{JOINED} JOIN visits AS c ON b.pid = c.pid JOIN visits AS d ON c.pid = d.pid"
FILTERS = ", ".join(f"COUNT(*) FILTER (WHERE y = {value})" for value in range(6))
LONG = " || ".join(["name"] * 15)
NESTED = "SELECT pid, name FROM visits"
for _ in range(3):
    NESTED = f"SELECT pid, {LONG} AS name FROM ({NESTED}) AS q"
REFUSED = {
    "a join": (JOINED, "bring 40,000 rows of one owner together; at most 10,000 are. With rows_per_owner=100 it fits"),
    "joins of joins": (JOINED_THRICE, r"rows of one owner together; .* With rows_per_owner=\d+ it fits"),
    "a search": (
        "SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM visits AS b WHERE a.pid = b.pid AND a.x < b.x)",
        'one owner together; at most 10,000 are. With rows_per_owner=50, limit_rows="before_where" it fits',
    ),
    "a search in a public table": (
        "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM codes WHERE code > x)",
        "at most 10,000 are. .*may declare what tables really have",
    ),
    "cells": (
        f"SELECT x, y, {FILTERS} FROM visits GROUP BY x, y",
        "1,010,101 groups of 6 noisy numbers each make 6,060,606; at most 5,000,000 .* 833,333 groups fit",
    ),
    "texts": (f"SELECT COUNT(*) FROM ({NESTED}) AS q WHERE name LIKE 'a%'", r"[\d,]+ characters; at most"),
    "values to tell apart": (
        "SELECT " + ", ".join(f"COUNT(DISTINCT x + {value})" for value in range(140)) + " FROM visits",
        "280 rows of each row that is read; at most 128 are made",
    ),
    "a long statement": (
        "SELECT SUM(m) FROM (SELECT pid, n * n AS m FROM (SELECT pid, y * y AS n FROM visits) AS q) AS z",
        r"written out for the engine this has [\d,]+ characters; at most 500,000 are run",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_could_take_too_much_is_refused_and_not_charged(make: Make, kind: str) -> None:
    curator = make()
    text, words = REFUSED[kind]
    check_refused(curator, text, words)


THREE = "{0}name || {0}name || {0}name"
HELD = {  # texts that are computed to number rows, to tell values apart, or to look rows up
    "a window": f"SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid, {THREE.format('')} ORDER BY x) AS n FROM visits",
    "different texts of owners": f"SELECT pid, COUNT(DISTINCT {THREE.format('')}) AS n FROM visits GROUP BY pid",
    "a join": "SELECT a.pid, b.x AS n FROM visits AS a JOIN visits AS b"
    f" ON a.pid = b.pid AND {THREE.format('a.')} = {THREE.format('b.')}",
    "a full join": "SELECT COALESCE(a.pid, b.pid) AS pid, b.x AS n FROM visits AS a FULL JOIN visits AS b"
    " ON a.pid = b.pid AND a.name || a.name = b.name || b.name",
    "a search": "SELECT pid, x AS n FROM visits AS a WHERE NOT EXISTS"
    f" (SELECT 1 FROM visits AS b WHERE a.pid = b.pid AND {THREE.format('a.')} = {THREE.format('b.')})",
}


@pytest.mark.parametrize("kind", HELD)
def test_computed_texts_that_are_held_are_bounded(make: Make, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Whoever computes a text to look rows up by holds it for each of them, as if it were a column."""
    text = f"SELECT SUM(n) FROM ({HELD[kind]}) AS q"
    curator = make(per_owner=2)
    check_refused(
        curator, text, r"may hold texts of [3-9],[0-9]{3} characters for each row that is read; at most 2,048"
    )
    short = re.sub(r"(\w?\.?name)( \|\| \1)+", r"\1", text)
    assert short != text
    curator.sql(short, epsilon="0.1")
    monkeypatch.setattr(flows, "_looked_up_by", lambda node: ())
    with pytest.raises(pytest.fail.Exception):
        check_refused(make(per_owner=2), text, "may hold")


def test_texts_of_joined_rows_that_take_too_long_are_refused(make: Make) -> None:
    """All rows that a join makes count, so none are held to be truncated; comparing them takes its time."""
    curator = make(per_owner=50)
    text = "SELECT COUNT(DISTINCT a.name) FROM visits AS a JOIN visits AS b ON a.pid = b.pid AND a.name < b.name"
    check_refused(curator, text, r"this may take [\d,]+ seconds; a question may take 600")
    curator.sql(text, epsilon="0.1", rows_per_owner=10)
    curator.sql("SELECT COUNT(DISTINCT name) FROM visits", epsilon="0.1")


def check_refused(curator: dt.Curator, text: str, words: str) -> None:
    alice = curator.analyst("alice", budget=dt.ApproxDP(1, "1e-7"))
    before = [entry.kind for entry in curator.ledger()]
    messages = []
    for ask in (curator.explain, curator.sql, alice.sql):
        with pytest.raises(dt.UnsupportedQuery, match=words) as raised:
            ask(text, epsilon="0.1")
        messages.append(str(raised.value))
    assert len(set(messages)) == 1
    assert [entry.kind for entry in curator.ledger()] == before


@pytest.mark.parametrize("kind", ["a join", "joins of joins", "a search"])
def test_what_the_refusal_names_fits(make: Make, kind: str) -> None:
    curator = make()
    text, words = REFUSED[kind]
    with pytest.raises(dt.UnsupportedQuery, match=words) as raised:
        curator.sql(text, epsilon="0.1")
    rows = int(re.search(r"rows_per_owner=(\d+)", str(raised.value))[1])
    order = {"limit_rows": "before_where"} if "before_where" in str(raised.value) else {}
    curator.sql(text, epsilon="0.1", rows_per_owner=rows, **order)
    with pytest.raises(dt.UnsupportedQuery):
        curator.sql(text, epsilon="0.1", rows_per_owner=rows + 1, **order)


def test_a_refusal_names_the_order_that_fits(make: Make) -> None:
    curator = make()
    text, _ = REFUSED["a search"]
    with pytest.raises(dt.UnsupportedQuery, match='With limit_rows="before_where" it fits'):
        curator.sql(text, epsilon="0.1", rows_per_owner=50)
    curator.sql(text, epsilon="0.1", rows_per_owner=50, limit_rows="before_where")


@pytest.mark.parametrize(
    ("limit", "text", "words"),
    [
        ({"max_cells": 99}, "SELECT y, COUNT(*) FROM visits GROUP BY y", "99 groups fit"),
        ({"max_cells": 1}, "SELECT COUNT(*), SUM(x) FROM visits", "Ask for fewer numbers"),
        ({"max_characters": 1000}, "SELECT COUNT(*) FROM visits WHERE name || 'a' = 'b'", "1,001 characters; at most"),
        ({"max_answer_bytes": 66_000}, "SELECT y, COUNT(*) FROM visits GROUP BY y", "About [0-9]+ groups fit"),
        ({"max_growth": 1}, "SELECT COUNT(DISTINCT x), COUNT(DISTINCT y) FROM visits", "make 4 rows of each row"),
    ],
)
def test_every_limit_is_the_curators(make: Make, limit: dict[str, int], text: str, words: str) -> None:
    curator = make()
    curator.sql(text, epsilon="0.1")
    curator.limits(dt.Limits(**limit))
    check_refused(curator, text, words)
    curator.limits(dt.Limits())
    curator.sql(text, epsilon="0.1")


def test_all_statements_count_where_tables_declare_no_size(make: Make) -> None:
    """Each median is a statement of its own: one is admitted, and many together could be stopped."""
    costly = "MEDIAN(x + {}) FILTER (WHERE name LIKE '%a__b%')"
    one, many = (", ".join(costly.format(i) for i in range(count)) for count in (1, 34))
    make(None).explain(f"SELECT {one} FROM visits", epsilon="0.1")
    check_refused(make(None), f"SELECT {many} FROM visits", "on 3,000,000 rows this may take [0-9,]+ seconds")
    make(1000).explain(f"SELECT {many} FROM visits", epsilon="0.1")


def test_time_counts_where_tables_declare_their_size(make: Make) -> None:
    text = "SELECT x, COUNT(DISTINCT y) FROM visits GROUP BY x"
    make(None).explain(text, epsilon="0.1")
    make(10**6).explain(text, epsilon="0.1")
    check_refused(make(10**10), text, "this may take [0-9,]+ seconds; a question may take 600")


def test_of_keys_from_the_data_no_more_are_shown_than_fit(make: Make) -> None:
    """However many rows a table may have, an ordinary question by text is answered."""
    text = "SELECT name, COUNT(*), AVG(x), AVG(y) FROM visits GROUP BY name"
    for rows in (None, 10**6, 10**7, 10**8):
        make(rows).explain(text, epsilon="0.1", delta="1e-7")
        priced = make(rows)._walk.price(text, epsilon="0.1", delta="1e-7")
        assert work(priced.aggregates, 7_000).cells <= 7_000


@pytest.mark.parametrize("kind", ["a join", "cells", "a long statement"])
def test_planted_bugs_are_seen(make: Make, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Joins whose products, groups whose cells, and statements whose characters are not counted: the check fails."""
    from dither.sql.admission import gate

    if kind == "cells":
        monkeypatch.setattr(Work, "cells", property(lambda self: self.measures))
    elif kind == "a long statement":
        for limit in ("MOST_WRITTEN", "MOST_WORDS", "_TOGETHER"):
            monkeypatch.setattr(gate, limit, 10**12)
    else:
        monkeypatch.setattr(gate, "work", lambda aggregates, most: replace(work(aggregates, most), met=0, made=0))
    with pytest.raises(pytest.fail.Exception):
        check_refused(make(1_000), *REFUSED[kind])


def test_bounds_come_from_the_plan_that_is_run(make: Make) -> None:
    priced = make()._walk.price("SELECT COUNT(*) FROM visits", epsilon="0.1")
    assert admit(priced, dt.Limits(), DUCKDB) == work(priced.aggregates)
    assert priced.statements == tuple(map(lower, priced.aggregates))
