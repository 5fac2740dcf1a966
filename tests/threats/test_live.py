"""Threats 11, 18, 36, 47, 55 and 70 on live tables, which are bounded inside each statement and never verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import threats_harness as harness
import threats_population as population
import threats_queries as queries
from tests_live_tables import written
from threats_generator import Generator, supported
from threats_harness import Leak, Side, check_neighbours

import dither as dt
from dither.curator.curator import Curator
from dither.sql.lowering import live_postgresql_dialect as live_module
from dither.sql.lowering.live_postgresql_dialect import LivePostgreSQL
from dither.sql.lowering.statement import OWNER

RANDOM = 40 * population.CAMPAIGN
STEP = 1 if population.CAMPAIGN > 1 else 4
# Of the declarations of the population, those of one table by itself that rows cannot break.
DECLARED = {
    "t": {**population.DECLARED["t"], "key": ()},
    "p": population.DECLARED["p"],
}


def numbers(rows: pa.Table) -> pa.Table:
    """A number must be one: a column of texts is read as none of them while it is live."""

    def number(text: str | None) -> float | None:
        try:
            return None if text is None else float(text)
        except ValueError:
            return None

    place = rows.schema.get_field_index("n")
    return rows.set_column(place, "n", pa.array(map(number, rows["n"].to_pylist()), pa.float64()))


def make_side(cluster: Any, folder: Path, database: str, sources: dict[str, pa.Table]) -> Side:
    """A curator of live tables: schemas have one name, so that statements can be compared."""
    settings = cluster.live(database)
    curator = Curator.open(folder, create=True, engines={"live": settings})
    curator.people("everybody", budget=harness.BUDGET)
    for name, declared in DECLARED.items():
        source = numbers(sources[name]) if name == "t" else sources[name]
        place = written(cluster, settings.schema, name, source, database)
        curator.register(name, place, people="everybody", engine="live", **declared)
    return Side.of(curator)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory, clusters: Any) -> Iterator[tuple[Side, Side]]:
    """A live database, and another without one owner, of whom nothing else is different."""
    folder, rows = tmp_path_factory.mktemp("live"), population.few()
    one = make_side(clusters("first"), folder / "one", "live_one", rows)
    other = make_side(clusters("first"), folder / "other", "live_other", population.without(rows, population.NASTY))
    yield one, other
    for side in (one, other):
        side.curator.close()


def check_all(sides: tuple[Side, Side], texts: list[str]) -> Counter[str]:
    return Counter(check_neighbours(*sides, text, explained=False).status for text in texts)


def test_nothing_shows_one_owner(sides: tuple[Side, Side]) -> None:
    """Statements, shapes and sizes agree, and gaps are within what was proven."""
    texts = [*(queries.FORMS | queries.NASTY).values()][::STEP]
    assert check_all(sides, texts)["answered"] > len(texts) / 3


def test_random_questions(sides: tuple[Side, Side]) -> None:
    generator = Generator(population.SEED, population.declared(), supported())
    assert check_all(sides, [generator.question() for _ in range(RANDOM)])["answered"] > RANDOM / 4


def test_a_public_table_is_refused_before_it_costs(sides: tuple[Side, Side], tmp_path: Path) -> None:
    curator = sides[0].curator
    curator.register_public("pub", pa.table({"code": [1, 2]}), columns={"code": dt.Int(0, 9)}, key="code")
    try:
        spent = curator.budget("everybody").spent
        with pytest.raises(dt.PolicyError, match="nothing is stored"):
            curator.sql("SELECT COUNT(*) FROM t JOIN pub ON t.n = pub.code", epsilon="0.001")
        assert curator.budget("everybody").spent == spent
    finally:
        curator.drop("pub")


# Relations that are written wrong: each shows one owner, or fails by what a row holds

WIDE = "SELECT g, COUNT(*) FROM t GROUP BY g"
PLANTED: dict[str, tuple[Any, str, Callable[..., Any], str]] = {
    "places within a part of an owner": (
        LivePostgreSQL,
        "rows",
        lambda rows: (
            lambda self, table: rows(self, table).replace(
                f'PARTITION BY "{OWNER}"', f'PARTITION BY "{OWNER}", "g", "h", "n"'
            )
        ),
        WIDE,
    ),
    "places among all rows": (
        LivePostgreSQL,
        "rows",
        lambda rows: (
            lambda self, table: (
                rows(self, table)
                .replace(f'row_number() OVER (PARTITION BY "{OWNER}"', "least(row_number() OVER (PARTITION BY NULL", 1)
                .replace(' AS "_place"', ', 2) AS "_place"', 1)
            )
        ),
        WIDE,
    ),
    "bounds that are forgotten": (
        live_module,
        "_clamped",
        lambda clamped: lambda column, known, value, decimals: f"(CASE WHEN {known} THEN {value} END)",
        "SELECT SUM(x) FROM t",
    ),
    "numbers that are cast before they are clamped": (
        live_module,
        "_clamped",
        lambda clamped: (
            lambda column, known, value, decimals: clamped(column, known, f"CAST({value} AS BIGINT)", decimals)
        ),
        "SELECT SUM(x) FROM t",
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted(sides: tuple[Side, Side], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, change, text = PLANTED[kind]
    monkeypatch.setattr(where, name, change(getattr(where, name)))
    with pytest.raises(Leak):
        check_neighbours(*sides, text, explained=False)


# Through the whole walk


def test_statements_change_nothing_and_show_nothing(cluster: Any, tmp_path: Path) -> None:
    """The role may write nothing there; the server's log has no value, no owner and no key; a repeat is free, and a
    refresh makes the same words a new question."""
    settings, canary, owner = cluster.live(), "CANARY-4217", 742_174_217
    source = pa.table({"id": [owner, owner, 2, 3], "x": [5, 6, 7, 8], "s": [canary, "", None, "plain"]})
    place = written(cluster, settings.schema, "t", source)
    begun = (cluster.folder / "log").stat().st_size
    cluster.set(log_statement="all", log_min_messages="debug1")
    try:
        with dt.Curator.open(tmp_path / "folder", create=True, engines={"live": settings}) as curator:
            curator.people("p", budget=dt.PureDP(9))
            named: dict[str, Any] = {"owner": "id", "max_rows_per_owner": 1, "people": "p", "engine": "live"}
            report = curator.register("t", place, columns={"x": dt.Int(0, 9), "s": dt.Text(max_length=20)}, **named)
            assert (report.rows, report.owners, report.beyond_max_rows_per_owner) == (4, 3, 1)
            first = curator.sql("SELECT COUNT(*), SUM(x) FROM t", epsilon=1)
            assert curator.sql("SELECT COUNT(*), SUM(x) FROM t", epsilon=1).to_dicts() == first.to_dicts()
            assert curator.budget("p").spent.epsilon == 1
            curator.refresh("t", place)
            curator.sql("SELECT COUNT(*), SUM(x) FROM t", epsilon=1)
            assert curator.budget("p").spent.epsilon == 2
            with pytest.raises(dt.PolicyError, match="is live"):
                curator.profile("t")
            with pytest.raises(dt.PolicyError, match="Load a copy"):
                curator.copy("t", to="duckdb")
            session = curator._engine.named("live")._sessions  # type: ignore[attr-defined]
            with session.slot() as held, pytest.raises(psycopg.Error):
                held.raw.execute(f"DELETE FROM {place}")
        # The folder remembers where the table is, and no secret.
        with dt.Curator.open(tmp_path / "folder") as again:
            assert again.sql("SELECT SUM(x) FROM t", epsilon=1).to_dicts()
    finally:
        cluster.set(log_statement="none", log_min_messages="warning")
    logged = (cluster.folder / "log").read_bytes()[begun:].decode(errors="replace")
    assert "hash_record_extended" in logged
    key = tmp_path / "folder" / "snapshots" / "rank.key"
    for secret in (canary, str(owner), *([key.read_text().strip()] if key.exists() else [])):
        assert secret not in logged
