"""Each command does its one thing, in words and in JSON."""

from __future__ import annotations

import csv
import io
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.cli.columns import column
from dither.cli.tables import column_text
from dither.policy.columns import Category

BY_REGION = "SELECT region, COUNT(*) AS visits, AVG(age) AS age FROM visits GROUP BY region"


def test_init_makes_people_and_caps(call: Any, tmp_path: Path) -> None:
    done = call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    assert done.code == 0
    assert "clinic protects patients with a budget of epsilon 4 at delta 1e-6." in done.out
    assert (tmp_path / "clinic").stat().st_mode & 0o777 == 0o700
    done = call("init", "clinic", "--people", "patients", "--analyst", "alice", "--epsilon", "1", "--delta", "1e-6")
    assert done.out == (
        "alice may spend up to epsilon 1 at delta 1e-6 of the budget of patients. "
        "One question may state epsilon 0.9303 at most.\n"
    )
    budgets = json.loads(call("budget", "clinic", "--json").out)
    assert [(b["people"], b["analyst"], b["kind"], b["total"]["epsilon"]) for b in budgets] == [
        ("patients", None, "zcdp", "4"),
        ("patients", "alice", "zcdp", "1"),
    ]


@pytest.mark.parametrize(
    ("stated", "kind", "total"),
    [
        (["--pure"], "pure", {"epsilon": "2"}),
        (["--delta", "1e-6", "--composition", "basic"], "basic", {"epsilon": "2", "delta": "1e-6"}),
    ],
)
def test_other_kinds_of_budget(call: Any, stated: list[str], kind: str, total: dict[str, str]) -> None:
    assert call("init", "c", "--people", "p", "--epsilon", "2", *stated).code == 0
    (budget,) = json.loads(call("budget", "c", "--json").out)
    assert (budget["kind"], budget["total"]) == (kind, total)


@pytest.mark.parametrize(
    "stated", [["--pure"], ["--delta", "1e-7"], ["--delta", "1e-6", "--composition", "basic"]], ids=" ".join
)
def test_a_cap_is_of_the_kind_of_the_budget_and_has_its_share_of_delta(call: Any, stated: list[str]) -> None:
    assert call("init", "c", "--people", "P", "--epsilon", "2", *stated).code == 0
    assert call("init", "c", "--people", "p", "--analyst", "Alice", "--epsilon", "1").code == 0
    people, alice = json.loads(call("budget", "c", "--json").out)
    assert alice["kind"] == people["kind"]
    shares = [Fraction(each["total"].get("delta", "0")) for each in (alice, people)]
    assert 2 * shares[0] == shares[1]
    assert alice["total"]["epsilon"] == "1"
    done = call("init", "c", "--people", "p", "--analyst", "alice", "--epsilon", "2")
    assert (done.code, "alice (of p) already has a budget of epsilon 1" in done.err) == (2, True)


def test_tables_show_declarations(clinic: Any) -> None:
    assert clinic("tables", "clinic").out == (
        "visits: of patients, owner patient_id, at most 8 rows of each owner\n"
        "  age     int:0:105\n  region  category:north,south\n  fee     fixed:0.00:100.00:2\n"
    )
    (table,) = json.loads(clinic("tables", "clinic", "--json").out)
    assert (table["table"], table["people"], table["owner"]) == ("visits", "patients", "patient_id")
    assert table["max_rows_per_owner"] == 8
    assert table["columns"]["age"] == {"kind": "int", "nullable": True, "lower": 0, "upper": 105}


@pytest.mark.parametrize(
    "text",
    [
        "member=bool default true",
        "day=date:2023-01-01:2024-12-31 default 2023-01-02",
        "seen=timestamp:2023-01-01T00:00:00+00:00/2024-12-31T00:00:00+00:00",
        "note=text:200",
        "fee=fixed:0.00:5.00:2 default 1",
    ],
)
def test_a_shown_declaration_is_read_as_itself(text: str) -> None:
    name, declared = column(text)
    assert column(f"{name}={column_text(declared)}") == (name, declared)
    many = Category([f"l{number}" for number in range(20)])
    assert column_text(many) == "category:l0,l1,l2,l3,l4,l5,l6,l7,... (20 labels)"


def test_frozen_people_are_refused_until_they_are_thawed(clinic: Any) -> None:
    assert clinic("freeze", "clinic", "patients").out == "patients are frozen.\n"
    done = clinic("query", "clinic", BY_REGION, "--epsilon", "0.5")
    assert (done.code, "'patients' are frozen" in done.err, "Nothing was charged" in done.err) == (2, True, True)
    assert json.loads(clinic("thaw", "clinic", "patients", "--json").out) == {"thawed": "patients"}
    assert clinic("query", "clinic", BY_REGION, "--epsilon", "0.5").code == 0
    shown = clinic("ledger", "show", "clinic", "--entries").out
    assert "freeze    incidents 0, people patients" in shown
    assert clinic("thaw", "clinic", "nobody").code == 2


def test_a_dropped_table_is_forgotten_and_what_was_spent_is_not(clinic: Any, tmp_path: Path) -> None:
    clinic("query", "clinic", BY_REGION, "--epsilon", "0.5")
    spent = clinic("budget", "clinic", "--json").out
    assert "what was spent stays spent" in clinic("drop", "clinic", "visits").out
    assert clinic("budget", "clinic", "--json").out == spent
    assert clinic("tables", "clinic").out == "no tables are registered.\n"
    assert clinic("tables", "clinic", "--json").out == "[]\n"
    assert [path.name for path in (tmp_path / "clinic" / "snapshots").rglob("*") if path.is_file()] == ["rank.key"]
    assert clinic("drop", "clinic", "visits").code == 2


def test_the_schema_is_shown_and_set(clinic: Any) -> None:
    asked = "SELECT COUNT(*) FROM records.visits", "--epsilon", "0.5"
    assert clinic("schema", "clinic").out == "tables may be called public.table.\n"
    assert "there is no schema 'records'" in clinic("query", "clinic", *asked).err
    assert json.loads(clinic("schema", "clinic", "records", "--json").out) == {"schema": "records"}
    assert clinic("query", "clinic", *asked).code == 0
    assert "tables are in 'records'" in clinic("query", "clinic", "SELECT COUNT(*) FROM public.visits", *asked[1:]).err
    assert clinic("schema", "clinic", "1st").code == 2


def test_ledger_show_has_a_line_for_each_entry(clinic: Any) -> None:
    clinic("init", "clinic", "--people", "patients", "--analyst", "alice", "--epsilon", "1")
    clinic("query", "clinic", BY_REGION, "--epsilon", "0.5", "--analyst", "alice", "--request", "r1")
    lines = clinic("ledger", "show", "clinic", "--entries").out.splitlines()
    kinds = ["create", "account", "register", "account", "reserve", "settle"]
    assert [line.split()[:2] for line in lines] == [[str(n), kind] for n, kind in enumerate(kinds, 1)]
    assert "patients: epsilon 4, delta 1e-6, zcdp" in lines[1]
    assert "alice (of patients): cost" in lines[4]
    assert "request r1" in lines[4]
    assert lines[5].endswith("question 5")
    entries = json.loads(clinic("ledger", "show", "clinic", "--entries", "--json").out)
    assert [entry["kind"] for entry in entries] == kinds
    assert entries[4]["body"]["analyst"] == "alice"


def test_register_reports_what_sanitising_did(call: Any, raw: Path, register: tuple[str, ...]) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    done = call(*register, "--json")
    report = json.loads(done.out)
    assert report["table"] == "visits"
    assert report["owners"] == 200
    assert report["dropped_without_owner"] == 1
    assert report["clamped"]["age"] == 3
    assert report["replaced"]["region"] == 1
    assert report["beyond_max_rows_per_owner"] == 400
    assert [words.partition(":")[0] for words in report["warnings"]] == ["in no answer at all"]
    again = call("refresh", "clinic", "visits", "visits.parquet")
    assert again.code == 0
    assert again.out.startswith("visits: 2,000 rows of 200 owners\n")
    assert "dropped without an owner: 1 (below 0.1%)" in again.out
    assert "clamped to the bounds, age: 3 (0.1%)" in again.out
    assert "did not fit, region: 1 (below 0.1%)" in again.out
    assert "beyond the rows kept of each owner: 400 (20.0%)" in again.out
    assert again.out.count("WARNING: in no answer at all: 401 (20.0%) of the records") == 1
    assert again.err == "", "said once"


STRUCTURE = ("--max-rows-per-owner-in", "age=1", "--max-values-per-owner", "region=1")


def test_structure_is_declared_as_in_python(call: Any, raw: Path, register: tuple[str, ...]) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    printed = json.loads(call(*register, *STRUCTURE, "--json").out)
    assert printed["beyond_max_rows_per_owner_in"].keys() == {"age"}
    assert printed["beyond_max_values_per_owner"].keys() == {"region"}
    (table,) = json.loads(call("tables", register[1], "--json").out)
    assert (table["max_rows_per_owner_in"], table["max_values_per_owner"]) == ({"age": 1}, {"region": 1})


@pytest.mark.parametrize("stated", ["age", "age=", "=1", "age=x", "age=-1", "age=1.5", "age=99999999999", "age=1=x"])
def test_structure_that_is_none_is_refused(call: Any, register: tuple[str, ...], stated: str) -> None:
    for flag in STRUCTURE[::2]:
        refused = call(*register, flag, stated)
        assert refused.code == 2
        assert f"{flag} takes COLUMN=K" in refused.err
    public = call("register", "clinic", "ages", "ages.csv", "--public", "--key", "age", *STRUCTURE)
    assert f"{STRUCTURE[0]}, {STRUCTURE[2]} cannot be given with --public" in public.err


def test_progress_is_drawn_on_stderr_only_if_asked(call: Any, raw: Path, register: tuple[str, ...]) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    assert call(*register).err == ""
    done = call("refresh", "clinic", "visits", "visits.parquet", "--progress", "--json")
    assert "[###" in done.err
    assert json.loads(done.out)["owners"] == 200


def test_columns_from_a_file(call: Any, raw: Path) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    Path("columns.json").write_text(json.dumps({"age": {"kind": "int", "lower": 0, "upper": 105}}))
    stated = ("--people", "patients", "--owner", "patient_id", "--max-rows-per-owner", "8", "--columns", "columns.json")
    assert call("register", "clinic", "visits", "visits.parquet", *stated).code == 0
    assert call("explain", "clinic", "SELECT AVG(age) FROM visits", "--epsilon", "1").code == 0


def test_query_prints_a_table(clinic: Any) -> None:
    done = clinic("query", "clinic", BY_REGION, "--epsilon", "0.5")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["region", "visits", "age"]
    assert [line.split()[0] for line in lines[2:5]] == ["north", "south", "NULL"]
    assert all("±" in line for line in lines[2:5])
    assert "price: epsilon 0.5" in done.out
    assert "probability 95%" in done.out


def test_query_in_json_and_csv_carries_intervals(clinic: Any) -> None:
    document = json.loads(clinic("query", "clinic", BY_REGION, "--epsilon", "0.5", "--json").out)
    assert [row["region"] for row in document["rows"]] == ["north", "south", None]
    first = document["rows"][0]
    assert first["visits_lower"] < first["visits"] < first["visits_upper"]
    printed = clinic("query", "clinic", BY_REGION, "--epsilon", "0.5", "--csv").out.splitlines(keepends=True)
    rows = list(csv.DictReader(line for line in printed if not line.startswith("#")))
    assert int(rows[0]["visits"]) == first["visits"]
    assert list(rows[0])[:4] == ["region", "visits", "visits_lower", "visits_upper"]


def test_asking_again_is_free_and_changes_nothing(clinic: Any) -> None:
    question = ("query", "clinic", BY_REGION, "--epsilon", "0.5", "--json")
    first = json.loads(clinic(*question).out)
    spent = clinic("budget", "clinic", "--json").out
    assert first["charged"] is True
    assert json.loads(clinic(*question).out) == {**first, "charged": False}
    assert clinic("budget", "clinic", "--json").out == spent


def test_a_retried_request_is_charged_once(clinic: Any) -> None:
    question = ("query", "clinic", BY_REGION, "--epsilon", "0.5", "--request", "r1", "--json")
    first = json.loads(clinic(*question).out)
    spent = clinic("budget", "clinic", "--json").out
    assert first["charged"] is True
    assert json.loads(clinic(*question).out) == {**first, "charged": False}
    assert clinic("budget", "clinic", "--json").out == spent


def test_confidence_widens_the_interval_of_the_same_answer(clinic: Any) -> None:
    question = ("query", "clinic", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.5", "--json")
    (narrow,) = json.loads(clinic(*question).out)["rows"]
    (wide,) = json.loads(clinic(*question, "--confidence", "0.999").out)["rows"]
    assert wide["n"] == narrow["n"]
    assert wide["n_upper"] > narrow["n_upper"]


def test_the_question_can_come_from_standard_input(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT COUNT(*) AS n\nFROM visits\n"))
    assert "price: epsilon 0.5" in clinic("query", "clinic", "-", "--epsilon", "0.5").out
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT COUNT(*) AS n FROM visits"))
    assert json.loads(clinic("explain", "clinic", "-", "--epsilon", "0.5", "--json").out)["columns"][0]["name"] == "n"


def test_explain_spends_nothing(clinic: Any) -> None:
    before = clinic("budget", "clinic", "--json").out
    done = clinic("explain", "clinic", BY_REGION, "--epsilon", "0.5")
    assert done.code == 0
    assert "expected error" in done.out
    assert "epsilon 0.5" in done.out
    document = json.loads(clinic("explain", "clinic", BY_REGION, "--rho", "0.01", "--json").out)
    assert document["tables"] == ["visits"]
    assert clinic("budget", "clinic", "--json").out == before


def test_rows_are_limited_before_where_if_asked(clinic: Any) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE age > 50"
    limited = ("explain", "clinic", text, "--epsilon", "0.5", "--rows-per-owner", "2", "--json")
    before, after = (json.loads(clinic(*limited, *more).out) for more in (("--limit-rows", "before_where"), ()))
    assert before != after
    assert clinic(*limited, "--limit-rows", "sometimes").code == 2


def test_the_price_may_stand_in_the_text(clinic: Any) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, delta=1e-7) COUNT(*) AS n FROM visits"
    assert "price: epsilon 0.5" in clinic("query", "clinic", text, "--dialect", "bigquery").out
    assert clinic("query", "clinic", "SELECT COUNT(*) AS n FROM visits", "--dialect", "bigquery").code != 0


def test_an_analyst_pays_from_both_budgets(clinic: Any) -> None:
    clinic("init", "clinic", "--people", "patients", "--analyst", "alice", "--epsilon", "1", "--delta", "1e-6")
    assert clinic("query", "clinic", BY_REGION, "--epsilon", "0.5", "--analyst", "alice").code == 0
    people, alice = json.loads(clinic("budget", "clinic", "--json").out)
    assert people["spent"]["rho"] == alice["spent"]["rho"]
    (only,) = json.loads(clinic("budget", "clinic", "--analyst", "alice", "--json").out)
    assert only == alice


def test_budget_has_a_bar_that_shows_any_spending(clinic: Any) -> None:
    assert "[" + "." * 30 + "]" in clinic("budget", "clinic").out
    clinic("query", "clinic", BY_REGION, "--epsilon", "0.001")
    shown = clinic("budget", "clinic", "--people", "patients").out
    assert "[#" + "." * 29 + "]" in shown
    assert "patients: epsilon 4, delta 1e-6" in shown
    assert "  rho: 0.296131 granted = 1e-6 spent + 0.29613 left   [#" in shown


def test_ledger_verify(clinic: Any) -> None:
    document = json.loads(clinic("ledger", "verify", "clinic", "--json").out)
    assert document["intact"] is True
    assert document["entries"] >= 2
    assert (
        clinic("ledger", "verify", "clinic").out == f"the ledger of clinic is intact: {document['entries']} entries.\n"
    )


def test_a_lost_folder_comes_back_by_a_backup_and_a_kept_anchor(call: Any, tmp_path: Path) -> None:
    """Where the anchor lies in the folder, the backup says that it has to be kept too; with it all comes back."""
    assert call("init", "c", "--people", "p", "--epsilon", "1", "--pure").code == 0
    done = call("backup", "c", "monday")
    assert "keep c/ledger.anchor on another disk too" in done.out
    assert call("init", "c", "--people", "q", "--epsilon", "1", "--pure").code == 0
    shutil.copy(tmp_path / "c" / "ledger.anchor", tmp_path / "kept")
    shutil.rmtree(tmp_path / "c")
    shutil.copytree(tmp_path / "monday", tmp_path / "again")
    shutil.copy(tmp_path / "kept", tmp_path / "again" / "ledger.anchor")
    assert call("ledger", "restore", "again").code == 0
    assert call("ledger", "verify", "again").code == 0


def test_an_anchor_elsewhere_notices_a_folder_restored_from_a_backup(call: Any, tmp_path: Path) -> None:
    anchor = ("--anchor", str(tmp_path / "safe.anchor"))
    assert call("init", "c", "--people", "p", "--epsilon", "1", "--pure", *anchor).code == 0
    shutil.copytree(tmp_path / "c", tmp_path / "backup")
    assert call("init", "c", "--people", "q", "--epsilon", "1", "--pure", *anchor).code == 0
    assert call("ledger", "verify", "c", *anchor).code == 0
    assert call("ledger", "verify", "c").code == 4
    shutil.rmtree(tmp_path / "c")
    (tmp_path / "backup").rename(tmp_path / "c")
    done = call("ledger", "verify", "c", *anchor)
    assert done.code == 4
    assert done.err.startswith("dither: ")
    assert "dither ledger restore" in done.err
    done = call("ledger", "restore", "c", *anchor)
    assert (done.code, done.out) == (0, "what the anchor of c has seen spent is spent; all people are frozen.\n")
    assert call("ledger", "verify", "c", *anchor).code == 0
    assert "restore   goes on after entry 3" in call("ledger", "show", "c", "--entries", *anchor).out
    done = call("ledger", "restore", "c", *anchor, "--json")
    assert done.code == 4
    assert "not behind its anchor" in done.err


def test_version_and_help(call: Any) -> None:
    assert call("--version").out.startswith("dither 0.")
    assert "from nothing to an answer" in call("--help").out
    for command in (
        "demo",
        "init",
        "register",
        "refresh",
        "query",
        "explain",
        "budget",
        "ledger",
        "tables",
        "schema",
        "drop",
        "price",
    ):
        assert "examples:" in call(command, "--help").out
