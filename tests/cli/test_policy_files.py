"""`register --policy`, `init --from`, and the flags for tables by foreign key, by row and public ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

POLICY = """
[people.patients]
epsilon = 4
delta = "1e-6"
analysts.alice.epsilon = 1

[tables.visits]
source = "visits.parquet"
people = "patients"
owner = "patient_id"
max_rows_per_owner = 8
columns.age = { kind = "int", lower = 0, upper = 105 }
"""

KEYED = (
    *("register", "clinic", "visits", "keyed.parquet", "--people", "patients", "--owner", "patient_id"),
    *("--max-rows-per-owner", "8", "--key", "id", "--column", "id=int:0:99999"),
)


@pytest.fixture
def keyed(call: Any, raw: Path, tmp_path: Path) -> Any:
    """A folder, and visits with a number each."""
    visits = pq.read_table(raw)
    pq.write_table(visits.append_column("id", pa.array(range(visits.num_rows))), tmp_path / "keyed.parquet")
    assert call("init", "clinic", "--people", "patients", "--epsilon", "4", "--pure").code == 0
    return call


def test_a_policy_file_makes_everything(call: Any, raw: Path, tmp_path: Path) -> None:
    (tmp_path / "clinic.toml").write_text(POLICY)
    done = call("register", "clinic", "--policy", "clinic.toml")
    assert done.code == 0
    assert done.out.startswith("patients: budget opened\nalice (of patients): budget opened\nvisits: 2,000 rows of 200")
    assert done.out.endswith("keep them from analysts.\n")
    again = call("register", "clinic", "--policy", "clinic.toml")
    assert (again.code, again.out) == (0, "visits: is registered like this already\n")
    shown = json.loads(call("register", "clinic", "--policy", "clinic.toml", "--json").out)
    assert shown == {"opened": [], "loaded": [], "kept": ["visits"]}
    assert call("query", "clinic", "SELECT COUNT(*) FROM visits", "--epsilon", "0.5", "--analyst", "alice").code == 0


def test_a_wrong_file_makes_no_folder(call: Any, tmp_path: Path) -> None:
    for old, new, words in [
        ("upper = 105", "uper = 105", "clinic.toml: tables.visits.columns.age: unknown name 'uper'"),
        ('people = "patients"', 'people = "staff"', "clinic.toml: tables.visits: there are no people 'staff'"),
        ("visits.parquet", "nosuch.parquet", "there is no file nosuch.parquet"),
    ]:
        (tmp_path / "clinic.toml").write_text(POLICY.replace(old, new))
        done = call("register", "clinic", "--policy", "clinic.toml")
        assert done.code == 2
        assert words in done.err
        assert not (tmp_path / "clinic").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["visits", "--policy", "x.toml"], "table cannot be given with --policy"),
        (["--policy", "x.toml", "--people", "p", "--key", "a"], "--people, --key cannot be given with --policy"),
        (["t", "x.csv", "--public", "--owner", "a"], "--owner cannot be given with --public"),
        (["t", "x.csv", "--public"], "required: --key"),
        (["t", "x.csv", "--each-row", "--people", "p", "--owner", "a"], "--owner cannot be given with --each-row"),
        (["t"], "required: source, --people, --owner, --max-rows-per-owner"),
        (["t", "x.csv"], "required: --people, --owner, --max-rows-per-owner"),
        (["--strict", "t", "--people", "p", "x.csv"], "required: --owner, --max-rows-per-owner"),
    ],
)
def test_flags_that_do_not_go_together(call: Any, arguments: list[str], words: str) -> None:
    done = call("register", "clinic", *arguments)
    assert done.code == 2
    assert words in done.err


def test_tables_of_every_kind(keyed: Any, tmp_path: Path) -> None:
    (tmp_path / "drugs.csv").write_text("visit,dose\n0,3\n11,4\n99999,5\n")
    (tmp_path / "regions.csv").write_text("code,name\n1,north\n2,south\n")
    assert keyed(*KEYED).code == 0
    child = keyed(
        *("register", "clinic", "drugs", "drugs.csv", "--people", "patients", "--owner", "visit -> visits.id"),
        *("--max-rows-per-owner", "9", "--column", "visit=int:0:99999", "--column", "dose=int:0:9"),
    )
    assert (child.code, child.out.splitlines()[1]) == (0, "  dropped without an owner: 1 (33.3%)")
    rows = (
        "register",
        "clinic",
        "doses",
        "drugs.csv",
        "--people",
        "patients",
        "--each-row",
        "--column",
        "dose=int:0:9",
    )
    assert keyed(*rows).code == 0
    public = ("register", "clinic", "regions", "regions.csv", "--public", "--key", "code", "--column", "code=int:0:9")
    assert "declared with max_rows=1, and the source has more rows" in keyed(*public, "--max-rows", "1").err
    assert keyed(*public, "--max-rows", "2").out.startswith("regions: 2 rows\n")
    assert keyed("tables", "clinic").out.split("\n\n") == [
        "visits: of patients, owner patient_id, at most 8 rows of each owner, key id\n  id  int:0:99999",
        "drugs: of patients, owner patient_id by visit -> visits.id, at most 9 rows of each owner\n"
        "  visit  int:0:99999\n  dose   int:0:9",
        "doses: of patients, each row its own owner\n  dose  int:0:9",
        "regions: public, 2 rows, at most 2 rows in all, key code\n  code  int:0:9\n",
    ]
    listed = {table["table"]: table for table in json.loads(keyed("tables", "clinic", "--json").out)}
    assert listed["regions"] == {
        "table": "regions",
        "public": True,
        "max_rows": 2,
        "rows": 2,
        "key": ["code"],
        "columns": {"code": {"kind": "int", "nullable": True, "lower": 0, "upper": 9}},
    }
    assert (listed["doses"]["owner"], listed["doses"]["each_row"]) == (None, True)
    assert (listed["drugs"]["owner"], listed["drugs"]["foreign_key"]) == ("patient_id", "visit -> visits.id")
    assert keyed("refresh", "clinic", "regions", "regions.csv").code == 0
    assert keyed("drop", "clinic", "regions").code == 0


def test_a_draft(call: Any, raw: Path, tmp_path: Path) -> None:
    done = call("init", "clinic", "--from", "visits.parquet")
    assert (done.code, done.out) == (
        0,
        "clinic.toml is drafted. Fill it in, then: dither register clinic --policy clinic.toml\n",
    )
    refused = call("register", "clinic", "--policy", "clinic.toml")
    assert refused.code == 2
    assert "still to be filled in: people.people.epsilon, " in refused.err
    assert "tables.visits.columns.age.lower" in refused.err
    assert not (tmp_path / "clinic").exists()
    again = call("init", "clinic", "--from", "visits.parquet")
    assert again.code == 2
    assert "clinic.toml exists already" in again.err


def test_a_draft_takes_what_is_stated(call: Any, raw: Path, tmp_path: Path) -> None:
    stated = ("--people", "patients", "--epsilon", "4", "--delta", "1e-6", "--policy", "p.toml")
    assert call("init", "clinic", "--from", "visits.parquet", *stated).code == 0
    assert '[people.patients]\nepsilon = "4"\ndelta = "1e-6"\n\n[tables.visits]' in (tmp_path / "p.toml").read_text()
    stated = ("--epsilon", "2", "--pure", "--policy", "q.toml")
    assert call("init", "clinic", "--from", "visits.parquet", *stated).code == 0
    assert '[people.people]\nepsilon = "2"\npure = true\n' in (tmp_path / "q.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "p.toml", "--people", "p", "--epsilon", "1"], "--policy says where the draft of --from"),
        (["--people", "p"], "required: --epsilon"),
        ([], "required: --people, --epsilon"),
        (["--from", "visits.parquet", "--analyst", "alice"], "--analyst cannot be given with --from"),
        (["--from", "visits.parquet", "--policy", "p.yaml"], "a draft is TOML"),
        (["--from", "nosuch.parquet"], "there is no file nosuch.parquet"),
    ],
)
def test_drafts_that_cannot_be(call: Any, raw: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = call("init", "clinic", *arguments)
    assert done.code == 2
    assert words in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["visits.parquet"]
