"""Threat 16: keys come from declarations and public tables, never from what people have."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from threats_harness import Leak, Side, check_neighbours

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.engines.duckdb.engine import DuckDBEngine
from dither.errors import PolicyError
from dither.policy.columns import Int, Text
from dither.sql.plan.question import Question

QUESTIONS = (
    "SELECT p.name, COUNT(*), COUNT(DISTINCT person) FROM t JOIN places p ON t.place = p.code GROUP BY p.name",
    "SELECT name, SUM(place) FROM t LEFT JOIN places p ON t.place = p.code WHERE name <> 'far away' GROUP BY name",
    "SELECT n, COUNT(*) FROM (SELECT name AS n, place + 1 AS k FROM t JOIN places p ON place = p.code) x GROUP BY n",
)
MODE = "SELECT MODE() WITHIN GROUP (ORDER BY place), p.name FROM t JOIN places p ON place = p.code GROUP BY 2"
PLACES = pa.table({"code": [1, 2, 3, 4], "name": ["near", "far away", "nowhere", None]})


def make_side(folder: Path, people: list[int], like: Path | None = None) -> Side:
    """One person alone has been far away."""
    curator = Curator.open(folder)
    if like is not None:
        (folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(like / "snapshots" / "rank.key", folder / "snapshots" / "rank.key")
    curator.people("everybody", budget=PureDP(4))  # without a delta for keys from the data
    visits = pa.table({"person": people, "place": [2 if person == 4217 else 1 for person in people]})
    columns = {"place": Int(0, 9)}
    curator.register("t", visits, people="everybody", owner="person", max_rows_per_owner=2, columns=columns)
    curator.register_public("places", PLACES, key="code", columns={"code": Int(0, 9), "name": Text()})
    return Side.of(curator)


def check_groups(folder: Path) -> None:
    one = make_side(folder / "one", [1, 1, 2, 3, 4217])
    other = make_side(folder / "other", [1, 1, 2, 3], folder / "one")
    try:
        for question in QUESTIONS:
            seen = check_neighbours(one, other, question)
            assert (seen.status, seen.rows) == ("answered", 4), "all names and NULL, whoever has been there"
    finally:
        one.curator.close()
        other.curator.close()


def test_public_values_are_groups_whoever_has_them(tmp_path: Path) -> None:
    check_groups(tmp_path)


def test_planted_only_values_that_people_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list made shorter by a look at the data."""
    listed = DuckDBEngine.labels

    def of_people(self: Any, table: Any) -> dict[str, tuple[str, ...]]:
        self.close()
        with duckdb.connect(str(next(self._folder.glob("t-*.duckdb"))), read_only=True) as connection:
            been = {place for (place,) in connection.execute("SELECT DISTINCT place FROM rows").fetchall()}
        names = [name for code, name in zip(*PLACES.to_pydict().values(), strict=True) if code in been]
        return {"name": tuple(label for label in listed(self, table)["name"] if label in names)}

    monkeypatch.setattr(DuckDBEngine, "labels", of_people)
    with pytest.raises(Leak, match="differs between neighbours"):
        check_groups(tmp_path)


def test_a_refresh_of_the_public_table_brings_its_values(tmp_path: Path) -> None:
    side = make_side(tmp_path, [1, 2])
    with side.curator as curator:
        answer = curator.sql(QUESTIONS[0], epsilon=1)
        assert answer.to_arrow()["name"].to_pylist() == ["far away", "near", "nowhere", None]
        curator.refresh("places", pa.table({"code": [1], "name": ["Near"]}))
        assert curator.sql(QUESTIONS[0], epsilon=1).to_arrow()["name"].to_pylist() == ["Near"]


def check_retry(folder: Path) -> None:
    """The texts of two places change places in the public table: no number may be shown under the other one's."""
    with make_side(folder, [1, 2, 4217]).curator as curator:
        asked = {text: curator.sql(text, epsilon="0.5", request=text).to_dicts() for text in (*QUESTIONS, MODE)}
        curator.refresh("places", PLACES)
        for text, shown in asked.items():
            assert curator.sql(text, epsilon="0.5", request=text).to_dicts() == shown, "the labels are the same"
        curator.refresh("places", pa.table({"code": [1, 2, 3, 4], "name": ["zero", "far away", "nowhere", None]}))
        for text in asked:
            with pytest.raises(PolicyError, match="under another request id"):
                curator.sql(text, epsilon="0.5", request=text)
        assert curator.budget("everybody").spent.epsilon == 2


def test_a_retry_shows_numbers_under_their_own_labels(tmp_path: Path) -> None:
    check_retry(tmp_path)


def test_a_retry_of_an_answer_that_names_no_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they were stored before: any refresh of a table with listed texts may have changed their order."""
    with make_side(tmp_path, [1, 2]).curator as curator:
        with monkeypatch.context() as earlier:
            earlier.setattr(Question, "labels", None)
            shown = curator.sql(QUESTIONS[0], epsilon=1, request="r1").to_dicts()
        assert curator.sql(QUESTIONS[0], epsilon=1, request="r1").to_dicts() == shown
        curator.refresh("places", PLACES)
        with pytest.raises(PolicyError, match="'r1' was answered before table 'places' was loaded again"):
            curator.sql(QUESTIONS[0], epsilon=1, request="r1")


def test_planted_numbers_under_the_labels_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.curator.present._check_labels", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_retry(tmp_path)
