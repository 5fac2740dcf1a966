"""Threats 63 and 69: what a load saw stays with the curator, and a load reads nothing but what it was given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from threats_clinic import COLUMNS, COUNT, add_table, open_clinic, patients

from dither.curator import registration
from dither.curator.analyst import Analyst
from dither.curator.curator import Curator
from dither.engines.duckdb.sources import files, relations
from dither.errors import DitherError, PolicyError

CANARY = "canary4217"
HOSTILE = {
    "patient": [None, 4217],
    "age": [10**6, None],
    "visits": [-5, None],
    "region": ["mars"] * 2,
    "remark": [CANARY] * 2,
}


# Threat 63


def seen(curator: Curator) -> list[str]:
    """Everything that an analyst is shown before noise: declarations, budgets, history, explanations, refusals."""
    alice = curator.analyst("alice")
    shown = [repr(alice), str(alice.tables()), repr(alice.tables()), str(alice.history())]
    for ask in (
        lambda: alice.explain(COUNT, epsilon=1),
        lambda: alice.explain("SELECT region, AVG(age) FROM visits GROUP BY region", epsilon=1),
        lambda: alice.budget("patients"),
        lambda: alice.profiled("visits"),
        lambda: alice.sql("SELECT nothing FROM visits", epsilon=1),
        lambda: alice.sql("SELECT remark FROM visits", epsilon=1),
    ):
        try:
            shown.append(str(ask()))
        except DitherError as error:
            shown.append(f"{type(error).__name__}: {error}")
    return shown


def check_nothing_travels(folder: Path) -> None:
    """With records that are clamped, replaced and dropped, and without them: analysts are shown the same."""
    usual = patients().to_pandas()
    hostile = pd.concat([usual, pd.DataFrame(HOSTILE)], ignore_index=True)
    shown = []
    for name, frame in (("usual", usual), ("hostile", hostile)):
        with open_clinic(folder / name, source=frame) as curator:
            curator.refresh("visits", frame)
            shown.append(seen(curator))
    assert shown[0] == shown[1], "an analyst is shown what a load saw"


def test_what_a_load_saw_does_not_travel(tmp_path: Path) -> None:
    check_nothing_travels(tmp_path)


def test_planted_bug_a_warning_in_the_explanation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, explain, reports = registration.Registrar._load, Analyst.explain, []

    def listening(self: Any, *given: Any, **named: Any) -> Any:
        reports.append(load(self, *given, **named))
        return reports[-1]

    def warning(self: Any, *given: Any, **named: Any) -> Any:
        return f"{explain(self, *given, **named)}\n{reports[-1].rows} rows were loaded"

    monkeypatch.setattr(registration.Registrar, "_load", listening)
    monkeypatch.setattr(Analyst, "explain", warning)
    with pytest.raises(AssertionError, match="an analyst is shown what a load saw"):
        check_nothing_travels(tmp_path)


# Threat 69


def outside(folder: Path) -> Path:
    """A file of somebody else's, beside a folder of data."""
    (folder / "data").mkdir(parents=True)
    (folder / "secret").mkdir()
    pq.write_table(patients(3, remark=CANARY), folder / "secret" / "a.parquet")
    pa.csv.write_csv(patients(3, remark=CANARY), folder / "secret" / "a.csv")
    return folder / "data"


def view(folder: Path, body: str) -> Any:
    data = outside(folder)
    with duckdb.connect(str(data / "clinic.db")) as connection:
        connection.execute("CREATE TABLE own (patient INTEGER, age INTEGER, visits INTEGER, region TEXT, remark TEXT)")
        connection.execute(f"CREATE VIEW visits AS {body.format(folder / 'secret')}").fetchall()
    return data / "clinic.db", "visits"


def linked(folder: Path, name: str, asked: str, target: str = "a") -> Any:
    data = outside(folder)
    os.symlink(folder / "secret" / f"{target}{Path(name).suffix}" if target else folder / "secret", data / name)
    return str(data / asked)


SOURCES: dict[str, Any] = {
    "a view of a CSV file": lambda f: view(f, "FROM read_csv('{}/a.csv')"),
    "a view of a Parquet file": lambda f: view(f, "FROM '{}/a.parquet'"),
    "a view of a text": lambda f: view(f, "SELECT 1 AS patient, 1 AS age, 1 AS visits, 'north' AS region, content AS "
                                          "remark FROM read_text('{}/a.csv')"),
    "a view of names of files": lambda f: view(f, "SELECT 1 AS patient, 1 AS age, 1 AS visits, 'north' AS region, "
                                                  "file AS remark FROM glob('{}/*')"),
    "a link in a folder": lambda f: linked(f, "b.parquet", ""),
    "a link in a pattern": lambda f: linked(f, "b.csv", "*.csv"),
    "a linked folder in a pattern": lambda f: linked(f, "more", "*/*.csv", ""),
}  # fmt: skip


def check_hostile_source(folder: Path, name: str) -> None:
    with open_clinic(folder / "clinic") as curator:
        with pytest.raises(PolicyError) as caught:
            add_table(curator, "more", SOURCES[name](folder / "files"))
        assert CANARY not in str(caught.value)
        assert [table.name for table in curator.tables()] == ["visits"]


@pytest.mark.parametrize("name", SOURCES)
def test_hostile_sources_are_refused(tmp_path: Path, name: str) -> None:
    check_hostile_source(tmp_path, name)


def test_what_was_named_is_read(tmp_path: Path) -> None:
    """A view of its own file, a link that is named itself, and links that stay inside."""
    with open_clinic(tmp_path / "clinic") as curator:
        data = outside(tmp_path / "files")
        with duckdb.connect(str(data / "own.db")) as connection:
            connection.register("given", patients(3))
            connection.execute("CREATE TABLE own AS FROM given; CREATE VIEW mine AS FROM own WHERE age >= 0").fetchall()
        add_table(curator, "a", (data / "own.db", "mine"))
        os.symlink(tmp_path / "files" / "secret" / "a.csv", tmp_path / "files" / "named.csv")
        add_table(curator, "b", tmp_path / "files" / "named.csv")
        pq.write_table(patients(3), data / "x.parquet")
        os.symlink("x.parquet", data / "y.parquet")
        add_table(curator, "c", data)
        assert len(curator.tables()) == 4


def test_planted_bug_views_that_read_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_LOCKED", ())
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_hostile_source(tmp_path, "a view of a CSV file")


def test_planted_bug_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_inside", lambda name, folder: True)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_hostile_source(tmp_path, "a link in a folder")


def test_formats_that_guess_are_refused_in_datasets(tmp_path: Path) -> None:
    """Arrow's reader of CSV takes types from values, and splits quoted line feeds."""
    data = outside(tmp_path / "files")
    pa.csv.write_csv(patients(3), data / "a.csv")
    with open_clinic(tmp_path / "clinic") as curator, pytest.raises(PolicyError, match="give CSV files by their path"):
        add_table(curator, "more", pa.dataset.dataset(data / "a.csv", format="csv"))
    assert set(COLUMNS) < set(patients(1).column_names)
