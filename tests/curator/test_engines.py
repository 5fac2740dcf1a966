"""Tables on several engines: a question goes where its tables are, or is refused before it costs anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.cli.main import main
from dither.curator.registration import Registrar
from dither.policy import catalog as catalogs
from dither.sql.plan import question as questions

VISITS = pa.table({"id": [1, 1, 2, 3], "x": [5, 6, 7, 8], "g": ["n", "s", "n", None], "no": [1, 2, 3, 4]})
COLUMNS = {"x": dt.Int(0, 9), "g": dt.Category(["n", "s"]), "no": dt.Int(0, 99)}
REGIONS = pa.table({"g": ["n", "s"], "name": ["north", "south"]})
PUBLIC = {"g": dt.Category(["n", "s"], nullable=False, default="n"), "name": dt.Text(max_length=9)}
BY_NAME = "SELECT name, COUNT(*) FROM {} JOIN regions ON {}.g = regions.g GROUP BY name"
BOTH = "SELECT COUNT(*) FROM a JOIN b ON a.id = b.id"


@pytest.fixture
def settings(cluster: Any) -> Any:
    return cluster.settings()


@pytest.fixture
def curator(settings: Any, tmp_path: Path) -> Iterator[dt.Curator]:
    """Table a is on PostgreSQL, b on DuckDB; regions tells about nobody."""
    with dt.Curator.open(tmp_path / "c", create=True, engines={"postgres": settings}) as made:
        made.people("p", budget=dt.PureDP(9))
        for name, engine in (("a", "postgres"), ("b", "duckdb")):
            register(made, name, engine)
        made.register_public("regions", REGIONS, columns=PUBLIC, key="g")
        yield made


def register(curator: dt.Curator, name: str, engine: str, source: Any = VISITS, **named: Any) -> None:
    named = {"owner": "id", "max_rows_per_owner": 3, "columns": COLUMNS, "key": "no"} | named
    curator.register(name, source, people="p", engine=engine, **named)


def snapshots(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "c" / "snapshots").glob("*.duckdb"))


def test_a_question_goes_where_its_tables_are(curator: dt.Curator) -> None:
    for name in "ab":
        assert len(curator.sql(BY_NAME.format(name, name), epsilon=1)) == 2
    curator.refresh("regions", pa.table({"g": ["n"], "name": ["nord"]}))
    assert [row["name"] for row in curator.sql(BY_NAME.format("a", "a"), epsilon=1).to_dicts()] == ["nord"]


def check_refused(curator: dt.Curator) -> None:
    spent = curator.budget("p").spent.epsilon
    for ask in (curator.sql, curator.explain):
        with pytest.raises(dt.PolicyError, match="'b' on duckdb and 'a' on postgres"):
            ask(BOTH, epsilon=1)
    assert curator.budget("p").spent.epsilon == spent, "nothing was charged"


def test_tables_on_several_engines_are_not_joined(curator: dt.Curator) -> None:
    check_refused(curator)
    curator.copy("b", to="postgres")
    assert len(curator.sql(BOTH, epsilon=1)) == 1


def test_planted_bug_any_engine_will_do(curator: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "engine_of", lambda tables: next(iter(tables)).engine)
    with pytest.raises((AssertionError, dt.QueryFailed)):
        check_refused(curator)


def test_neither_price_nor_key_depends_on_the_engine(curator: dt.Curator) -> None:
    text = "SELECT g, SUM(x), COUNT(*) FROM a GROUP BY g"
    before = curator._walk.price(text, epsilon=1)
    curator.copy("a", to="duckdb")
    after = curator._walk.price(text, epsilon=1)
    assert (before.known_as, before.snapshot, before.recipe()) == (after.known_as, after.snapshot, after.recipe())
    assert before.price == after.price


def test_what_was_paid_for_stays_paid_for(curator: dt.Curator, tmp_path: Path) -> None:
    paid = curator.sql("SELECT SUM(x) FROM b", epsilon=1).to_dicts(intervals=True)
    for engine in ("postgres", "duckdb"):
        assert curator.copy("b", to=engine) == ["b"]
        assert curator.sql("SELECT SUM(x) FROM b", epsilon=1).to_dicts(intervals=True) == paid
        assert len(curator.sql(f"SELECT COUNT(*) FROM b WHERE x > {len(engine)}", epsilon="1/2")) == 1
    assert curator.budget("p").spent.epsilon == 2
    assert snapshots(tmp_path) == ["b-000002.duckdb", "regions-000003.duckdb"]
    with pytest.raises(dt.PolicyError, match="is on duckdb already"):
        curator.copy("b", to="duckdb")


def test_foreign_keys_stay_within_an_engine(curator: dt.Curator) -> None:
    link = {"owner": "no -> b.no", "columns": {"no": dt.Int(0, 99)}, "key": ()}
    with pytest.raises(dt.PolicyError, match="name the same engine"):
        register(curator, "items", "postgres", pa.table({"no": [1, 1, 3]}), **link)
    register(curator, "items", "duckdb", pa.table({"no": [1, 1, 3]}), **link)
    assert curator.copy("b", to="postgres") == ["b", "items"]
    curator.refresh("items", pa.table({"no": [1, 2, 3]}))
    assert len(curator.sql("SELECT COUNT(*) FROM items JOIN b ON items.no = b.no", epsilon=1)) == 1


def test_a_folder_remembers_its_engines(curator: dt.Curator, settings: Any, tmp_path: Path) -> None:
    curator.close()
    content = json.loads((tmp_path / "c" / "policy.json").read_text())
    assert content["format"] == 5
    assert content["engines"] == {"postgres": settings.declaration()}
    with dt.Curator.open(tmp_path / "c") as again:
        assert len(again.sql("SELECT COUNT(*) FROM a", epsilon=1)) == 1
        table: Any = again._policy.catalog().table("a")
        assert again.copy("a", to="duckdb") == ["a"]
        assert not again._engine.has(table, "postgres"), "the engine is remembered, and what was there deleted"


def test_the_place_of_a_table_is_not_edited(curator: dt.Curator, tmp_path: Path) -> None:
    path = tmp_path / "c" / "policy.json"
    content = json.loads(path.read_text())
    del content["tables"]["a"]["engine"]
    path.write_text(json.dumps(content))
    with pytest.raises(dt.PolicyError, match="was edited"):
        curator.sql("SELECT COUNT(*) FROM a", epsilon=1)


def test_an_engine_that_is_not_there(curator: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="no engine 'spark' here; known are: duckdb, postgres"):
        register(curator, "c", "spark")
    with pytest.raises(dt.PolicyError, match="no engine 'spark'"):
        curator.copy("a", to="spark")
    assert {table.name for table in curator.tables()} == {"a", "b", "regions"}


# Moves that end halfway


class Cut(Exception):
    """Where a move ends."""


def _cut(*_: Any, **__: Any) -> Any:
    raise Cut


MOMENTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "before it is recorded": lambda patch: patch.setattr(Registrar, "_gathered", _cut),
    "before it is declared": lambda patch: patch.setattr(Registrar, "_switch", _cut),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_a_move_that_fails_leaves_the_table_where_it_was(
    curator: dt.Curator, moment: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    moment(monkeypatch)
    with pytest.raises(Cut):
        curator.copy("b", to="postgres")
    monkeypatch.undo()
    table: Any = curator._policy.catalog().table("b")
    assert table.engine == "duckdb"
    assert not curator._engine.has(table, "postgres"), "no forgotten copy of personal data"
    assert len(curator.sql("SELECT COUNT(*) FROM b", epsilon=1)) == 1


def test_what_a_killed_move_has_left_is_replaced(curator: dt.Curator) -> None:
    table: Any = curator._policy.catalog().table("b")
    curator._engine.move(table, "postgres")  # and here the process dies
    assert curator.copy("b", to="postgres") == ["b"]
    assert len(curator.sql("SELECT COUNT(*) FROM b", epsilon=1)) == 1
    curator._engine.move(curator._policy.catalog().table("b"), "duckdb")
    curator.limits(dt.Limits())  # any change deletes what no declaration names
    assert not curator._engine.has(curator._policy.catalog().table("b"), "duckdb")


def test_by_command_line(settings: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, source = str(tmp_path / "cli"), tmp_path / "visits.csv"
    source.write_text("id,x\n1,5\n1,6\n2,7\n")
    assert main(["init", folder, "--people", "p", "--epsilon", "4", "--pure"]) == 0
    stated = ["--people", "p", "--owner", "id", "--max-rows-per-owner", "2", "--column", "x=int:0:9"]
    place = ["--engine", "postgres", "--dsn-env", settings.dsn_env]
    assert main(["register", folder, "v", str(source), *stated, *place]) == 0
    assert main(["query", folder, "SELECT COUNT(*) FROM v", "--epsilon", "1"]) == 0
    assert main(["tables", folder]) == 0
    assert "at most 2 rows of each owner, on postgres" in capsys.readouterr().out
    assert main(["copy", folder, "v", "--to", "duckdb"]) == 0
    assert "v: on duckdb now" in capsys.readouterr().out
    assert main(["copy", folder, "v", "--to", "duckdb", "--dsn-env", settings.dsn_env]) != 0


def test_the_words_of_one_engine() -> None:
    assert catalogs.engine_of([]) == "duckdb"
