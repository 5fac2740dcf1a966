"""Whatever a curator or an analyst gets wrong is said clearly, and nothing is lost by it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.ledger import Charge

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
COUNT = "SELECT COUNT(*) FROM visits"


def state(curator: dt.Curator, folder: Path) -> Any:
    """All that must survive a mistake."""
    snapshots = sorted(path.name for path in (folder / "snapshots").glob("*.duckdb"))
    spending = [entry for entry in curator.ledger() if entry.kind in ("account", "reserve", "settle", "fail")]
    return curator.tables(), snapshots, spending


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dt.Curator, Path]]:
    """One clinic for all mistakes, since none may change it."""
    folder = tmp_path_factory.mktemp("lasting") / "clinic"
    with dt.Curator.open(folder) as curator:
        curator.people("patients", budget=dt.PureDP(4))
        curator.analyst("bob", budget=dt.PureDP("0.1"))
        columns = {
            "age": dt.Int(0, 120),
            "paid": dt.Fixed(0, 100),
            "region": dt.Category(["north"]),
            "remark": dt.Text(),
        }
        columns["ward"] = dt.Int(1, 3)
        curator.register("visits", _rows(), people="patients", owner="patient", max_rows_per_owner=2, columns=columns)
        curator.sql(COUNT, epsilon="0.1")
        yield curator, folder


@pytest.fixture
def unharmed(lasting: tuple[dt.Curator, Path]) -> Iterator[dt.Curator]:
    """A clinic that must be as it was, and still answer, when the test is over."""
    clinic, folder = lasting
    before = state(clinic, folder)
    yield clinic
    assert state(clinic, folder) == before
    clinic.verify()
    assert len(clinic.sql(COUNT, epsilon="0.1")) == 1
    assert clinic.budget("patients").spent.epsilon == Fraction(1, 10)


# Sources

SOURCES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing file": (lambda at: at / "nosuch.parquet", "there is no file"),
    "missing csv": (lambda at: str(at / "nosuch.csv"), "there is no file"),
    "not parquet": (lambda at: _file(at / "bad.parquet", b"not parquet"), "cannot be read as Parquet"),
    "some other file": (lambda at: _file(at / "notes.txt", b"hello"), "neither .parquet nor .csv"),
    "no file at all": (lambda at: 42, "cannot read a table from int"),
    "no column": (
        lambda at: pa.table({"patient": [1], "age": [3]}),
        "the source has no column 'paid'; it has: patient, age",
    ),
    "no owner column": (lambda at: _without("patient"), "the source has no column 'patient'"),
    "empty": (lambda at: _rows().slice(0, 0), "no row with an owner"),
    "no owner in any row": (lambda at: _owners([None] * 30), "no row with an owner"),
}


def _rows() -> pa.Table:
    values = {"age": 30, "paid": 1.5, "region": "north", "ward": 1, "seen": "2024-01-01", "urgent": True, "remark": "x"}
    return pa.table({"patient": range(30)} | {name: [value] * 30 for name, value in values.items()})


def _without(column: str) -> pa.Table:
    return _rows().drop_columns([column])


def _owners(owners: list[int | None]) -> pa.Table:
    return _rows().set_column(0, "patient", pa.array(owners, pa.int64()))


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", SOURCES)
def test_bad_sources(unharmed: dt.Curator, tmp_path: Path, declared: Any, name: str) -> None:
    make, words = SOURCES[name]
    for act in (
        lambda: unharmed.register("more", make(tmp_path), people="patients", **declared),
        lambda: unharmed.register("more", make(tmp_path), budget=dt.PureDP(7), **declared),
        lambda: unharmed.refresh("visits", make(tmp_path)),
    ):
        with pytest.raises(dt.PolicyError, match=words):
            act()


def test_owners_that_are_null_are_dropped_and_reported(clinic: dt.Curator, declared: Any) -> None:
    source = _owners([None, None, *range(28)])
    report = clinic.register("more", source, people="patients", **declared)
    assert (report.rows, report.owners, report.dropped_without_owner) == (28, 28, 2)
    with pytest.raises(dt.PolicyError, match="2 records without an owner"):
        clinic.register("strict", source, people="patients", strict=True, **declared)
    assert [table.name for table in clinic.tables()] == ["visits", "more"]


def test_a_failed_registration_does_not_fix_a_budget(clinic: dt.Curator, visits: Any, declared: Any) -> None:
    with pytest.raises(dt.PolicyError, match="there is no file"):
        clinic.register("more", "nosuch.parquet", budget=dt.PureDP(7), **declared)
    clinic.register("more", visits(), budget=dt.PureDP(2), **declared)
    assert clinic.budget("more").total.epsilon == 2


# Declarations

DECLARATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no columns": ({"columns": {}}, "declares no columns"),
    "no bounds": ({"columns": {"age": int}}, r"needs a declaration such as dt.Int\(0, 120\); got type"),
    "words for bounds": ({"columns": {"age": "int"}}, "needs a declaration"),
    "a private name": ({"columns": {"_rank": dt.Int(0, 1)}}, "starts with a letter"),
    "a name with a blank": ({"columns": {"my col": dt.Int(0, 1)}}, "say source='my col'"),
    "a name twice": ({"columns": {"age": dt.Int(0, 1), "AGE": dt.Int(0, 1)}}, "declared twice"),
    "no owner": ({"owner": ""}, "needs owner="),
    "no people": ({"people": None}, "give people="),
    "unknown people": ({"people": "nobody"}, "nobody"),
    "people and budget": ({"budget": dt.PureDP(1)}, "give people="),
    "rows as text": ({"max_rows_per_owner": "3"}, "max_rows_per_owner must be a whole number"),
    "no rows": ({"max_rows_per_owner": 0}, "max_rows_per_owner must be between 1"),
    "too many rows": ({"max_rows_per_owner": 2**31}, "max_rows_per_owner must be between 1"),
    "registered before": ({"name": "visits"}, "registered already"),
    "in other letters": ({"name": "VISITS"}, "registered already"),
    "a path for a name": ({"name": "../visits"}, "a table name starts with a letter"),
    "a budget of another kind": ({"people": None, "budget": 4}, "a budget is PureDP"),
    "a budget without end": ({"people": None, "budget": dt.PureDP(10**6)}, "a budget must be between"),
    "other people's name": ({"people": None, "budget": dt.PureDP(1), "name": "Patients"}, "under other terms"),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_bad_declarations(unharmed: dt.Curator, visits: Any, declared: Any, name: str) -> None:
    changed, words = DECLARATIONS[name]
    given = {"name": "more", "source": visits(), "people": "patients"} | declared | changed
    with pytest.raises((dt.PolicyError, dt.ParameterError), match=words):
        unharmed.register(given.pop("name"), given.pop("source"), **given)


def test_bounds_cannot_be_left_out() -> None:
    for missing in (dt.Int, dt.Fixed, dt.Date, dt.Timestamp, dt.Category):
        with pytest.raises(TypeError, match="missing"):
            missing()


def test_bad_accounts(unharmed: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="Only an officer changes"):
        unharmed.people("patients", budget=dt.PureDP(40))
    with pytest.raises(dt.PolicyError, match="must be too"):
        unharmed.analyst("alice", budget=dt.ApproxDP(1, "1e-6"), people="patients")
    with pytest.raises(dt.PolicyError, match="nobody"):
        unharmed.analyst("alice", budget=dt.PureDP(1), people="nobody")
    for name in ("", "al ice", "аlice", "ali\u200bce", None, 7):
        with pytest.raises(dt.PolicyError, match="name"):
            unharmed.analyst(name)  # type: ignore[arg-type]
    with pytest.raises(dt.PolicyError, match="there is no table 'nosuch'; registered are: visits"):
        unharmed.drop("nosuch")
    with pytest.raises(dt.RelationMismatch, match="owners"):
        unharmed.people("others", budget=dt.PureDP(1, relation="replace"))


def test_whose_cap_must_be_clear(clinic: dt.Curator) -> None:
    clinic.people("staff", budget=dt.PureDP(1))
    with pytest.raises(dt.PolicyError, match="people=; known are: patients, staff"):
        clinic.analyst("alice", budget=dt.PureDP(1))


# Questions

QUESTIONS: dict[str, tuple[Any, str]] = {
    "unknown column": (
        "SELECT SUM(nosuch) FROM visits",
        r"line 1, column 12: there is no column 'nosuch'.*Declared are: age",
    ),
    "unknown table": ("SELECT COUNT(*) FROM nosuch", "there is no table 'nosuch'; registered are: visits"),
    "a sum of text": ("SELECT SUM(remark) FROM visits", "a number is needed here, not text"),
    "an undeclared label": ("SELECT COUNT(*) FROM visits WHERE region = 'west'", "west"),
    "nothing": ("", "the query is empty"),
    "no text": (None, "a query is text; got NoneType"),
    "bytes": (b"SELECT", "a query is text; got bytes"),
    "half a query": ("SELECT COUNT(* FROM visits", "cannot be understood"),
    "an open quote": ("SELECT COUNT(*) FROM visits WHERE remark = 'x", "cannot be read to its end"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_bad_questions(unharmed: dt.Curator, name: str) -> None:
    text, words = QUESTIONS[name]
    for act in (unharmed.sql, unharmed.explain, unharmed.analyst("bob").sql):
        with pytest.raises((dt.UnsupportedQuery, dt.PolicyError), match=words):
            act(text, epsilon=1)


PRICES: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({}, "state the price of the query once"),
    "two": ({"epsilon": 1, "rho": 1}, "state the price of the query once"),
    "words": ({"epsilon": "abc"}, "epsilon must be a finite number; got 'abc'"),
    "no number": ({"epsilon": float("nan")}, "epsilon must be finite; got nan"),
    "negative": ({"epsilon": -1}, "epsilon must be greater than 0; got -1"),
    "tiny": ({"epsilon": 1e-320}, "epsilon must be 0 or of a magnitude between"),
    "small": ({"epsilon": "1e-30"}, "larger price"),
    "huge": ({"epsilon": 10**400}, "epsilon must be 0 or of a magnitude|too many digits"),
    "large": ({"epsilon": 10**6}, "smaller price"),
    "true": ({"epsilon": True}, "epsilon must be a number, not True"),
    "1e400": ({"epsilon": "1e400"}, "epsilon must be 0 or of a magnitude"),
    "rho on a pure budget": ({"rho": "0.1"}, "give epsilon= instead of rho="),
    "delta": ({"epsilon": 1, "delta": "1e-9"}, "leave it out"),
    "sure": ({"epsilon": 1, "confidence": 1}, "confidence must lie strictly between 0 and 1"),
    "more than is left": ({"epsilon": 5}, r"price epsilon=5 does not fit.*epsilon at most 3.8"),
}


@pytest.mark.parametrize("name", PRICES)
def test_bad_prices(unharmed: dt.Curator, name: str) -> None:
    stated, words = PRICES[name]
    with pytest.raises((dt.ParameterError, dt.BudgetExceeded), match=words):
        unharmed.sql("SELECT SUM(age) FROM visits", **stated)


# Folders


def as_somebody(function: Callable[[], object]) -> str:
    """What a function says when it is run by a user without special rights (root may write anywhere)."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            try:
                said = str(function())
            except dt.DitherError as error:
                said = f"{type(error).__name__}: {error}"
            os.write(write, said.encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that an ordinary user owns and can reach."""
    place = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(place, 65534, 65534)
    yield place
    place.chmod(0o700)
    shutil.rmtree(place)


@pytest.mark.parametrize("locked", ["folder", "above"])
def test_a_read_only_folder(shared: Path, clinic: dt.Curator, visits: Any, declared: Any, locked: str) -> None:
    clinic.sql(COUNT, epsilon=1)  # everything is imported now: the other user may not be able to read the packages
    folder = shared / "clinic"

    def charge(curator: dt.Curator) -> None:  # and no more: to run it takes a worker, and so the right to run Python
        curator._ledger.reserve("visits", None, Charge(Fraction(1)), question="q", snapshot="1", plan="{}")

    def make() -> str:
        with dt.Curator.open(folder) as curator:
            curator.register("visits", visits(), budget=dt.PureDP(4), **declared)
            charge(curator)
        return "made"

    def ask() -> str:
        with dt.Curator.open(folder) as curator:
            charge(curator)
            return str(curator.budget("visits").spent.epsilon)

    assert as_somebody(make) == "made"
    if locked == "folder":
        folder.chmod(0o500)
        assert "read-only; charges could not be recorded" in as_somebody(ask)
        folder.chmod(0o700)
    else:
        shared.chmod(0o500)
        assert as_somebody(lambda: dt.Curator.open(shared / "new")).startswith("LedgerError: ")
        shared.chmod(0o700)
    assert as_somebody(ask) == "2", "nothing is lost, and what was refused was not charged"


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(dt.PolicyError, match="not empty and holds no ledger"):
        dt.Curator.open(tmp_path)
    with pytest.raises(dt.LedgerError, match="dither init"):
        dt.Curator.open(tmp_path / "nosuch", create=False)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_open_to_others(clinic: dt.Curator, folder: Path) -> None:
    clinic.close()
    folder.chmod(0o755)
    with pytest.raises(dt.LedgerError, match="open to others"):
        dt.Curator.open(folder)


@pytest.mark.parametrize("key", ["remark", "paid"])
def test_keys_from_the_data_need_a_delta(clinic: dt.Curator, key: str) -> None:
    with pytest.raises(dt.ParameterError, match=r"need a delta.*ApproxDP"):
        clinic.sql(f"SELECT {key}, COUNT(*) FROM visits GROUP BY {key}", epsilon=1)
