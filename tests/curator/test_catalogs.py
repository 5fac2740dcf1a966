"""The tables that an asker may name: made once, and anew as soon as declarations or caps are others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.curator.accounts import Accounts
from dither.curator.catalogs import Catalogs

COUNT = "SELECT COUNT(*) AS n FROM visits"
STAFF = "SELECT COUNT(*) AS n FROM payroll"


@pytest.fixture
def alice(clinic: dt.Curator) -> Any:
    clinic.people("staff", budget=dt.PureDP(4))
    columns = {"salary": dt.Int(0, 99)}
    payroll = pa.table({"sid": ["a"], "salary": [1]})
    clinic.register("payroll", payroll, people="staff", owner="sid", max_rows_per_owner=1, columns=columns)
    days = pa.table({"day": [1, 2]})
    clinic.register_public("days", days, columns={"day": dt.Int(0, 9, nullable=False, default=0)}, key="day")
    return clinic.analyst("alice", budget=dt.PureDP(1), people="patients")


def names(catalog: Any) -> list[str]:
    return [*catalog.tables, *catalog.public]


def test_each_asker_has_the_own_tables_and_public_ones(clinic: dt.Curator, alice: Any) -> None:
    catalogs = clinic._walk.catalogs
    assert names(catalogs.of("alice")) == ["visits", "days"]
    assert names(catalogs.of("mallory")) == ["days"]
    assert names(catalogs.of(None)) == ["visits", "payroll", "days"]


def test_a_catalogue_is_made_once_for_the_same_people(clinic: dt.Curator, alice: Any) -> None:
    clinic.analyst("bob", budget=dt.PureDP(1), people="patients")
    catalogs = clinic._walk.catalogs
    first = catalogs.of("alice")
    assert catalogs.of("alice") is first is catalogs.of("bob")
    clinic.drop("payroll")
    assert catalogs.of("alice") is not first
    assert catalogs.of("alice") == first, "so that what was read stays read"


def check_a_new_cap(clinic: dt.Curator, alice: Any) -> None:
    before = alice.sql(COUNT, epsilon="0.25", request="r1")
    with pytest.raises(dt.PolicyError, match=r"no table 'payroll'; registered are: days, visits\."):
        alice.explain(STAFF, epsilon="0.25")
    clinic.analyst("alice", budget=dt.PureDP(1), people="staff")
    assert [table.name for table in alice.tables()] == ["visits", "payroll", "days"]
    assert alice.explain(STAFF, epsilon="0.25")
    again = alice.sql(COUNT, epsilon="0.25", request="r1")
    assert (again.to_dicts(), again.charged) == (before.to_dicts(), False)


def test_a_new_cap_shows_the_tables_at_once(clinic: dt.Curator, alice: Any) -> None:
    check_a_new_cap(clinic, alice)


def test_planted_bug_caps_are_looked_up_once(clinic: dt.Curator, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Accounts, "people_of", lambda self, _: ["patients"])
    with pytest.raises(AssertionError):
        check_a_new_cap(clinic, alice)


def test_a_question_is_read_anew_with_other_tables(clinic: dt.Curator, alice: Any) -> None:
    """What was read with more tables is never given to one who may name fewer."""
    walk = clinic._walk
    kept = walk._readings.read("alice", STAFF, walk.catalogs.of(None))
    assert walk._readings.read("alice", STAFF, walk.catalogs.of(None)) is kept
    with pytest.raises(dt.PolicyError, match="no table 'payroll'"):
        walk.price(STAFF, "alice", epsilon="0.25")
    assert isinstance(walk.catalogs, Catalogs)


def test_a_schema_of_the_policy(tmp_path: Path) -> None:
    """It stands for all tables and for every asker, is kept, and makes no other question of the same one."""
    with dt.Curator.open(tmp_path / "c") as curator:
        rows = pa.table({"uid": [1, 2], "x": [1, 2]})
        curator.register("t", rows, owner="uid", max_rows_per_owner=1, columns={"x": dt.Int(0, 9)}, budget=dt.PureDP(9))
        first = curator.sql("SELECT COUNT(*) FROM public.t", epsilon=1)
        assert curator.schema("clinic") == "clinic"
        curator.analyst("alice", budget=dt.PureDP(1))
    with dt.Curator.open(tmp_path / "c") as again:
        assert again.schema() == "clinic"
        assert again.sql("SELECT COUNT(*) FROM clinic.t WHERE clinic.t.x >= 0 OR x IS NULL", epsilon=1)
        assert again.sql("SELECT COUNT(*) FROM Clinic.T", epsilon=1).to_arrow() == first.to_arrow()
        assert again.analyst("alice").sql("SELECT COUNT(*) FROM clinic.t", epsilon=1)
        with pytest.raises(dt.UnsupportedQuery, match="no schema 'public'; tables are in 'clinic'"):
            again.sql("SELECT COUNT(*) FROM public.t", epsilon=1)
        for name in ("", "a b", "9a", "x" * 64, 5):
            with pytest.raises(dt.PolicyError, match="a schema is a name"):
                again.schema(name)  # type: ignore[arg-type]
