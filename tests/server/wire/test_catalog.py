"""The catalog: what real clients ask of it is answered, from declarations alone, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
import wire_places as places

from dither.errors import DitherError
from dither.server.wire.catalog import catalog, relations, rewriting
from dither.server.wire.catalog.functions import Session
from dither.server.wire.catalog.identities import table_numbers
from dither.server.wire.catalog.rows import Declarations

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path.stem for path in CORPUS.glob("*.sql"))
SESSION = Session("alice.0123456789abcdef", "clinic", {}, table_numbers(["visits"]))


def texts(name: str) -> list[str]:
    return (CORPUS / f"{name}.sql").read_text(encoding="utf-8").split("\n--------\n")


def test_the_corpora_are_there() -> None:
    assert FILES == [
        "pgjdbc",
        "psql",
        "psql15",
        "psycopg",
        "sqlalchemy",
        "written_dbeaver",
        "written_metabase",
        "written_npgsql",
    ]


@pytest.mark.parametrize("name", FILES)
def test_what_clients_ask_is_answered(shared: places.Wired, name: str) -> None:
    before = shared.spent()
    with shared.connect() as connection:  # without a price: the catalog has none
        for text in texts(name):
            assert connection.execute(text.encode()).description, text
    assert shared.spent() == before


def test_tables_columns_and_comments(alice: Any) -> None:
    query = (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum) FROM pg_attribute a "
        "JOIN pg_class c ON c.oid = a.attrelid WHERE c.oid = 'visits'::regclass ORDER BY attnum"
    )
    found = alice.execute(query).fetchall()
    assert found[:4] == [
        ("pid", "bigint", "the owner of the row: counted, never shown"),
        ("age", "bigint", "Int(0, 120)"),
        ("fee", "numeric(38,2)", "Fixed(0.00, 100.00)"),
        ("region", "text", "Category(['north', 'south'])"),
    ]
    named = (
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position"
    )
    assert [row[1] for row in alice.execute(named, ["visits"])] == [row[1].split("(")[0] for row in found]


def test_statistics_are_empty(alice: Any) -> None:
    for relation in ("pg_stat_user_tables", "pg_stat_all_tables"):
        assert alice.execute(f"SELECT * FROM {relation}").fetchall() == []


def test_parameters_and_binary_results(alice: Any) -> None:
    row = alice.execute(
        "SELECT oid, typname, typlen, typbyval FROM pg_type WHERE oid = %s", [20], binary=True
    ).fetchone()
    assert row == (20, "int8", 8, True)
    assert alice.execute("SELECT current_schemas(true), 1.5, NULL", binary=True).fetchone()[0] == [
        "pg_catalog",
        "public",
    ]


@pytest.mark.parametrize(
    "text",
    [
        'WITH T AS (SELECT oid, relname FROM pg_class), "u" AS (SELECT oid FROM t) '
        "SELECT t.relname FROM t JOIN T AS other ON t.oid = other.oid JOIN u ON u.oid = other.oid",
        "WITH RECURSIVE r(name, n) AS (SELECT relname, 1 FROM pg_class UNION ALL SELECT name, n + 1 FROM r WHERE n < 3)"
        " SELECT name FROM r WHERE n = 3",
        "WITH t AS (SELECT 1) SELECT relname FROM (WITH t AS (SELECT relname FROM pg_class) SELECT * FROM t) AS x",
    ],
)
def test_names_of_ctes(alice: Any, text: str) -> None:
    assert alice.execute(text).fetchall() == [("visits",)]


HOSTILE = Path(__file__).with_name("hostile_catalog.sql").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_else_is_answered(shared: places.Wired, text: str) -> None:
    before = shared.spent()
    with shared.connect() as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute(text.encode())
    assert refused.value.sqlstate in ("0A000", "42P01", "42704", "55000"), refused.value
    assert places.CANARY not in str(refused.value)
    assert shared.spent() == before


@pytest.mark.parametrize(
    "text", ["SELECT * FROM pg_class", "SELECT * FROM '/etc/passwd'", "SELECT * FROM pg_class, visits"]
)
def test_planted_tables_as_they_are(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Whatever the rewriting misses, a name that is no relation of ours goes to no worker."""
    monkeypatch.setattr(rewriting._Rewriting, "_table", lambda self, table, names: None)
    tree = rewriting.parsed(text)
    assert tree is not None
    with pytest.raises(DitherError, match="not answered"):
        rewriting.rewritten(tree, SESSION)


@pytest.mark.parametrize(
    ("text", "is_catalog"),
    [("SELECT 1", True), ("SELECT version()", True), ("SELECT COUNT(*) FROM visits", False),
     ("SELECT 'pg_class' FROM visits", False), ("SELECT COUNT(*) AS pg_count FROM visits", False),
     ("SELECT * FROM pg_class", True), ("SELECT * FROM information_schema.tables", True), ("nonsense", False),
     ("WITH pg_mine AS (SELECT COUNT(*) FROM visits) SELECT * FROM pg_mine", False), ("SELECT (((", False)],
)  # fmt: skip
def test_which_queries_are_the_catalogs(shared: places.Wired, text: str, is_catalog: bool) -> None:
    assert shared.listener._catalog.concerns(text) is is_catalog


def test_a_query_that_takes_long_is_stopped(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the computing that it takes, so that a busy machine stops nobody."""
    many = " CROSS JOIN ".join(f"pg_type t{number}" for number in range(12))
    with shared.connect() as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match="at most 2 seconds"):
            connection.execute(f"SELECT COUNT(*) FROM {many} WHERE t0.oid + t1.oid + t2.oid + t3.oid = 5")
        assert connection.execute("SELECT COUNT(*) > 0 FROM pg_type").fetchone() == (True,)
    assert catalog.SECONDS == 2


def test_an_analyst_sees_own_tables_and_nobody_else(tmp_path: Path) -> None:
    import dither as dt

    with places.wired(tmp_path) as clinic:
        clinic.curator.people("others", budget=dt.PureDP(1))
        declared = {"age": dt.Int(0, 120)}
        clinic.curator.register(
            "secret", places.visits(10), people="others", owner="pid", max_rows_per_owner=1, columns=declared
        )
        with clinic.connect() as connection:
            assert connection.execute("SELECT relname FROM pg_class").fetchall() == [("visits",)]
            assert connection.execute("SELECT COUNT(*) FROM pg_attribute").fetchone() == (len(places.DECLARED) + 1,)
            assert connection.execute("SELECT COUNT(*) FROM pg_roles").fetchone() == (1,)
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT 'secret'::regclass")
        with clinic.connect("curator") as connection:
            assert len(connection.execute("SELECT relname FROM pg_class").fetchall()) == 2


def test_numbers_stay_when_others_come() -> None:
    few, more = table_numbers(["visits", "patients"]), table_numbers(["visits", "patients", "wards"])
    assert few.items() <= more.items()
    assert len(set(more.values())) == 3


def test_empty_catalogs_have_their_columns() -> None:
    known = Declarations([], "alice", "clinic")
    for relation in relations.RELATIONS:
        assert known.relation(relation).schema == relations.schema_of(relation)


def test_refusals_are_the_projects_own(shared: places.Wired) -> None:
    tree = rewriting.parsed("SELECT pg_sleep(1)")
    assert tree is not None
    with pytest.raises(DitherError):
        rewriting.rewritten(tree, SESSION)
