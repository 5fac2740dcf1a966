# ruff: noqa: E501
"""Threats 2, 3 and 9 where a text computes with answers: its parts are questions, and the rest sees noisy rows alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlglot import exp
from threats_harness import Leak, Side, check_neighbours

from dither.answer.wire import to_bytes
from dither.curator.over import over_walk
from dither.curator.over.over_walk import OverWalk, _Asking
from dither.errors import UnsupportedQuery
from dither.sql.over import outer_grammar

Sides = dict[str, Side]
INNER = "SELECT g, COUNT(*) AS c, SUM(x) AS s FROM t GROUP BY g"
FORMS = {
    "a query over an answer": f"SELECT AVG(c) AS a FROM ({INNER}) AS q",
    "WITH": f"WITH q AS ({INNER}) SELECT g, c FROM q WHERE c > 3",
    "rank": f"SELECT g, RANK() OVER (ORDER BY c DESC) AS r FROM ({INNER}) AS q",
    "lag": f"SELECT g, c - LAG(c) OVER (ORDER BY g) AS d FROM ({INNER}) AS q",
    "running": f"SELECT g, SUM(c) OVER (ORDER BY g) AS r FROM ({INNER}) AS q",
    "share": f"SELECT g, c / SUM(c) OVER () AS part FROM ({INNER}) AS q",
    "windows over groups": "SELECT g, COUNT(*) AS c, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY g QUALIFY r < 3",
    "labels": "SELECT g, CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END AS size, LOG(COUNT(*)) AS l FROM t GROUP BY g",
    "expressions of keys": "SELECT UPPER(g) || '!' AS k, 1 AS one, COUNT(*) AS c FROM t GROUP BY g",
    "union all": "SELECT COUNT(*) AS c FROM t UNION ALL SELECT SUM(x) FROM t WHERE flag",
    "distinct": "SELECT DISTINCT g, flag FROM t",
    "distinct private keys": "SELECT DISTINCT s FROM t",
    "keys alone": "SELECT h FROM t GROUP BY h",
    "rollup": "SELECT g, flag, COUNT(*) AS c FROM t GROUP BY ROLLUP (g, flag)",
    "cube": "SELECT g, flag, AVG(x) AS a, GROUPING(g) AS b FROM t GROUP BY CUBE (g, flag)",
    "grouping sets": "SELECT g, h, COUNT(DISTINCT uid) AS c FROM t GROUP BY GROUPING SETS (g, h, ())",
    "rollup of private keys": "SELECT s, COUNT(*) AS c FROM t GROUP BY ROLLUP (s)",
    "a public table beside": "SELECT h, c, weight FROM (SELECT h, COUNT(*) AS c FROM t GROUP BY h) AS q JOIN pub ON pub.code = q.h",
    "a public table inside": "SELECT h, c FROM (SELECT h, COUNT(*) AS c FROM t GROUP BY h) AS q WHERE h IN (SELECT code FROM pub)",
    "queries alone": "SELECT (SELECT COUNT(*) FROM t) - (SELECT SUM(x) FROM t WHERE flag) AS d, 2.0 * (SELECT COUNT(*) FROM t) / (SELECT COUNT(*) FROM p) AS e",
    "cut sides of a union": "(SELECT g, COUNT(*) AS c FROM t GROUP BY g ORDER BY c DESC LIMIT 1) UNION ALL (SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY 2 LIMIT 1)",
    "a scalar of another answer": f"SELECT g, c FROM ({INNER}) AS q WHERE c > (SELECT COUNT(*) / 5 FROM t)",
}


DIALECTS = {  # of texts that are in another one
    "sqlite": ("sqlite", f"WITH q AS ({INNER}) SELECT g, RANK() OVER (ORDER BY s) AS r FROM q ORDER BY s LIMIT 3"),
    "levels in mysql": ("mysql", "SELECT h, flag, COUNT(*) AS c FROM t GROUP BY h, flag WITH ROLLUP"),
    "top in tsql": ("tsql", "SELECT TOP 2 h, COUNT(*) AS c, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY h"),
}
FORMS |= {name: text for name, (_, text) in DIALECTS.items()}


def dialect_of(text: str) -> str | None:
    return next((dialect for dialect, known in DIALECTS.values() if known == text), None)


def asking(side: Side, text: str) -> _Asking:
    walk = OverWalk(side.curator._walk, UnsupportedQuery(""))
    return _Asking.of(walk, None, text, {"epsilon": "1", "dialect": dialect_of(text)})


def pairs(sides: Sides) -> list[tuple[Side, Side]]:
    few = [(sides["few"], side) for name, side in sides.items() if name.startswith("few without")]
    return [(sides["D"], sides["without 4217"]), *few[:2]]


def check_parts(one: Side, other: Side, text: str) -> int:
    """Every part of a text looks the same on both sides, and its exact answers are as close as its noise hides."""
    here, there = asking(one, text), asking(other, text)
    over = here._current()[1]
    if over_walk.engine_text(over.outer) != over_walk.engine_text(there._current()[1].outer):
        raise Leak("what is computed differs between neighbours")
    for number, part in enumerate(over.parts):
        sides = [
            replace(side, price=lambda text, asked=asked, number=number, **stated: asked.part(number))
            for side, asked in ((one, here), (other, there))
        ]
        seen = check_neighbours(*sides, part.text, explained=False)
        assert seen.status == "answered"
        assert seen.statements
    return len(over.parts)


@pytest.mark.parametrize("name", FORMS)
def test_every_part_is_a_question_of_its_own(sides: Sides, name: str) -> None:
    for one, other in pairs(sides):
        check_parts(one, other, FORMS[name])


def given_the_same(one: Side, other: Side, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, bytes]:
    """Both answers, where both sides have drawn the very same noisy numbers."""
    drawn: list[Any] = []

    def first(analyst: Any, pricing: Callable[[], Any], request: Any, asked: Any = None) -> Any:
        priced = pricing()
        from dither.curator.run import release

        drawn.append(release(priced, one.curator._engine).to_bytes())
        return priced, drawn[-1], True

    def again(analyst: Any, pricing: Callable[[], Any], request: Any, asked: Any = None) -> Any:
        return pricing(), left.pop(0), True

    monkeypatch.setattr(one.curator._walk, "answer", first)
    found = to_bytes(one.curator.sql(text, epsilon="1", dialect=dialect_of(text)))
    left = list(drawn)
    monkeypatch.setattr(other.curator._walk, "answer", again)
    return found, to_bytes(other.curator.sql(text, epsilon="1", dialect=dialect_of(text)))


@pytest.mark.parametrize("name", FORMS)
def test_given_the_noisy_numbers_nothing_else_shows(sides: Sides, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = given_the_same(*pairs(sides)[0], FORMS[name], monkeypatch)
    assert here == there


def test_planted_bytes_under_nulls(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker's memory holds under a NULL is noticed where it travels."""
    import pyarrow as pa

    def dirty(table: Any) -> Any:
        left = pa.py_buffer(os.urandom(8 * table.num_rows))
        under = pa.Array.from_buffers(pa.int64(), table.num_rows, [pa.py_buffer(bytes(table.num_rows)), left])
        return table.set_column(0, table.column_names[0], under)

    monkeypatch.setattr(over_walk, "_values_alone", dirty)
    here, there = given_the_same(*pairs(sides)[0], FORMS["grouping sets"], monkeypatch)
    assert here != there


def test_planted_a_window_over_private_rows(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that sees rows of people beside the noisy ones is noticed."""
    honest = OverWalk._computed

    def broken(walk: OverWalk, *given: Any) -> Any:
        made = honest(walk, *given)
        (statement,) = walk.walk.price("SELECT COUNT(*) FROM t", epsilon=1).statements
        from dither.mechanisms.sealed_values import _unseal

        rows = int(_unseal(walk.walk._engine.run(statement)[0])[0])
        import pyarrow as pa

        ranked = pa.array([rows] * made.table.num_rows, pa.int64())
        return replace(made, table=made.table.set_column(1, made.table.column_names[1], ranked))

    monkeypatch.setattr(OverWalk, "_computed", broken)
    here, there = given_the_same(*pairs(sides)[0], FORMS["rank"], monkeypatch)
    assert here != there


def test_planted_a_part_with_too_little_noise(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level whose proven sensitivity is a part of the true one is noticed."""
    honest = _Asking.part

    def broken(self: _Asking, number: int) -> Any:
        priced = honest(self, number)
        small = tuple(
            replace(item, sensitivity=type(item.sensitivity)("1e-6", "1e-12", "1e-6", item.sensitivity.relation))
            for item in priced.measures
        )
        return replace(priced, measures=small)

    monkeypatch.setattr(_Asking, "part", broken)
    with pytest.raises(Leak):
        check_parts(*pairs(sides)[0], FORMS["rollup"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g, RANK() OVER (ORDER BY x) FROM t",
        "SELECT uid, x - LAG(x) OVER (ORDER BY uid) FROM t",
        "SELECT DISTINCT RANK() OVER (ORDER BY x) AS r FROM t",
        "SELECT r, COUNT(*) FROM (SELECT uid, RANK() OVER (ORDER BY x) AS r FROM t) AS q GROUP BY r",
        "SELECT g, c, x FROM (SELECT g, x, COUNT(*) OVER () AS c FROM t) AS q",
        f"SELECT t.x, q.c FROM t JOIN ({INNER}) AS q ON t.g = q.g",
        f"SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(c) FROM ({INNER}) AS q)",
        f"SELECT g, (SELECT x FROM t LIMIT 1) AS one FROM ({INNER}) AS q",
        f"SELECT g, (SELECT MAX(y.x) FROM t AS y WHERE y.g = q.g) AS m FROM ({INNER}) AS q",
        "SELECT m FROM (SELECT uid, MAX(x) AS m FROM t GROUP BY uid) AS q",
        "SELECT SUM(x) OVER (), COUNT(*) FROM t",
        "SELECT (SELECT MAX(x) FROM t WHERE x > (SELECT AVG(x) FROM t)) AS m",
        "SELECT (SELECT x FROM t LIMIT 1) AS one",
        "SELECT (SELECT COUNT(*) FROM t) AS n, (SELECT x FROM t) AS x",
        "WITH p AS (SELECT g AS uid, COUNT(*) AS n FROM t GROUP BY g), a AS (SELECT h, COUNT(*) AS n FROM t WHERE uid IN (SELECT uid FROM p) GROUP BY h) SELECT a.n, p.n FROM a JOIN p ON p.uid = a.h",
        f"SELECT q.c, t.x FROM ({INNER}) AS q, pub, t WHERE pub.code = t.h",
        f"WITH pub AS (SELECT uid, x FROM t) SELECT g, c FROM ({INNER}) AS q WHERE c IN (SELECT x FROM pub)",
    ],
)
def test_rows_of_people_stay_behind_the_border(sides: Sides, text: str) -> None:
    side = sides["D"]
    side.engine.heard.clear()
    entries = len([*side.curator.ledger()])
    with pytest.raises(UnsupportedQuery):
        side.curator.sql(text, epsilon="1")
    assert not side.engine.heard
    assert len([*side.curator.ledger()]) == entries


CATALOGS = [
    "WITH pg_settings AS (SELECT g AS name, h AS setting, COUNT(*) AS n FROM t GROUP BY g, h) "
    "SELECT name, setting FROM pg_catalog.pg_settings",
    "WITH pg_settings AS (SELECT g AS name, COUNT(*) AS n FROM t GROUP BY g) "
    "SELECT g, (SELECT MAX(name) FROM pg_catalog.pg_settings) AS most FROM (SELECT g, COUNT(*) AS c FROM t GROUP BY g) AS q",
    "WITH tables AS (SELECT g AS table_name, COUNT(*) AS n FROM t GROUP BY g) SELECT table_name FROM information_schema.tables",
    "WITH a AS (SELECT g, COUNT(*) AS n FROM t GROUP BY g) SELECT g FROM main.a",
]


@pytest.mark.parametrize("text", CATALOGS)
def test_an_answer_has_a_name_alone(sides: Sides, text: str) -> None:
    """A name with a schema before it would be one of the engine's own tables."""
    test_rows_of_people_stay_behind_the_border(sides, text)


def test_planted_names_of_the_engine(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exp.Table, "db", property(lambda table: ""))
    monkeypatch.setitem(outer_grammar.ALLOWED, exp.Table, frozenset({"this", "alias", "db"}))
    with pytest.raises(pytest.fail.Exception):
        test_an_answer_has_a_name_alone(sides, CATALOGS[0])
