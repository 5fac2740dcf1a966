"""Bad input: one line that says how to fix it, the right exit code, nothing charged, never a traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COUNT = "SELECT COUNT(*) AS n FROM visits"


def assert_refused(done: Any, code: int, *words: str) -> None:
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("dither: ")
    assert len(done.err.splitlines()) == 1
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epsilon", "4"), ("--delta 1e-6", "--pure")),
        (("--epsilon", "4", "--pure", "--delta", "1e-6"), ("drop --delta",)),
        (("--epsilon", "abc", "--delta", "1e-6"), ("epsilon", "'abc'")),
        (("--epsilon", "nan", "--delta", "1e-6"), ("epsilon",)),
        (("--epsilon", "4", "--delta", "2"), ("delta",)),
        (("--epsilon", "0", "--pure"), ("epsilon",)),
    ],
)
def test_a_wrong_budget_makes_no_folder(call: Any, tmp_path: Path, arguments: tuple[str, ...], words: Any) -> None:
    assert_refused(call("init", "clinic", "--people", "patients", *arguments), 2, *words)
    assert not (tmp_path / "clinic").exists()


def test_a_wrong_name_makes_no_folder(call: Any, tmp_path: Path) -> None:
    assert_refused(call("init", "clinic", "--people", "my patients", "--epsilon", "1", "--pure"), 2, "cannot name")
    assert not (tmp_path / "clinic").exists()


def test_a_budget_is_never_changed(clinic: Any) -> None:
    done = clinic("init", "clinic", "--people", "patients", "--epsilon", "40", "--delta", "1e-6")
    assert_refused(done, 2, "never changes")


def test_a_foreign_folder_is_left_alone(call: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    done = call("init", "mine", "--people", "p", "--epsilon", "1", "--pure")
    assert_refused(done, 2, "mine", "not empty")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("command", [("query", "nosuch", COUNT, "--epsilon", "1"), ("budget", "nosuch")])
def test_a_missing_folder_is_not_made(call: Any, tmp_path: Path, command: tuple[str, ...]) -> None:
    assert_refused(call(*command), 4, "nosuch")
    assert not (tmp_path / "nosuch").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"visits.parquet": "nosuch.parquet"}, ("nosuch.parquet",)),
        ({"patient_id": "nosuch_id"}, ("nosuch_id", "patient_id")),
        ({"age=int:0:105": "aeg=int:0:105"}, ("aeg", "age")),
        ({"age=int:0:105": "age=int"}, ("age=int:LOWER:UPPER",)),
        ({"age=int:0:105": "age=int:105:0"}, ("column 'age'", "the lower bound 105 is above the upper bound 0")),
        ({"age=int:0:105": "region=category:x"}, ("twice",)),
        ({"patients": "staff"}, ("staff",)),
        ({"8": "0"}, ("--max-rows-per-owner must", "at least 1|between 1")),
        ({"visits.parquet": "clinic"}, ("clinic",)),
    ],
)
def test_a_wrong_registration_registers_nothing(
    call: Any, raw: Path, register: tuple[str, ...], change: dict[str, str], words: tuple[str, ...]
) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    done = call(*(change.get(word, word) for word in register))
    assert done.code == 2
    assert done.err.startswith("dither: ")
    assert len(done.err.splitlines()) == 1
    for word in words:
        assert any(option in done.err for option in word.split("|")), done.err
    assert_refused(call("query", "clinic", COUNT, "--epsilon", "1"), 2, "there is no table 'visits'")
    assert call(*register).code == 0


def test_strict_refuses_what_does_not_fit(call: Any, raw: Path, register: tuple[str, ...]) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    done = call(*register, "--strict")
    assert done.code == 2
    assert "atlantis" not in done.err
    assert call("query", "clinic", COUNT, "--epsilon", "1").code == 2


def test_registering_twice_points_to_refresh(clinic: Any, register: tuple[str, ...]) -> None:
    assert_refused(clinic(*register), 2, "`dither refresh`", "`dither drop`")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT * FROM visits", ("line 1",)),
        ("SELECT COUNT(*) FROM nosuch", ("nosuch", "visits")),
        ("SELECT COUNT(nosuch) FROM visits", ("nosuch",)),
        ("DROP TABLE visits", ("line 1",)),
        ("", ()),
        ("SELECT COUNT(*) FROM visits; SELECT 1", ()),
    ],
)
def test_refused_sql_costs_nothing(clinic: Any, sql: str, words: tuple[str, ...]) -> None:
    before = clinic("budget", "clinic", "--json").out
    for command in ("query", "explain"):
        assert_refused(clinic(command, "clinic", sql, "--epsilon", "0.5"), 2, *words)
    assert clinic("budget", "clinic", "--json").out == before


@pytest.mark.parametrize("epsilon", ["abc", "-1", "0", "nan", "1e400", ""])
def test_a_wrong_price_costs_nothing(clinic: Any, epsilon: str) -> None:
    before = clinic("budget", "clinic", "--json").out
    assert_refused(clinic("query", "clinic", COUNT, f"--epsilon={epsilon}"), 2, "epsilon")
    assert clinic("budget", "clinic", "--json").out == before


@pytest.mark.parametrize("asked", ["AVG(fee)", "MEDIAN(fee)"])
def test_an_error_that_no_price_can_be_found_for(clinic: Any, asked: str) -> None:
    done = clinic("query", "clinic", f"SELECT {asked} FROM visits", "--error", "5")
    assert_refused(done, 2, "state --epsilon, or --rho where the budget counts in it.")
    assert "=" not in done.err
    assert "()" not in done.err


def test_a_profile_that_is_not_there(clinic: Any) -> None:
    assert_refused(clinic("profile", "clinic", "visits", "--show"), 2, "make one with `dither profile`.")


def test_over_budget(clinic: Any) -> None:
    before = clinic("budget", "clinic", "--json").out
    assert_refused(
        clinic("query", "clinic", COUNT, "--epsilon", "5"), 3, "Nothing was charged", "price --epsilon 5", "at most"
    )
    assert clinic("budget", "clinic", "--json").out == before


def test_no_such_account(clinic: Any) -> None:
    assert_refused(clinic("budget", "clinic", "--people", "staff"), 2, "there are: patients")
    assert [clinic("budget", "clinic", "--people", name).code for name in ("patients", "Patients")] == [0, 0]


def test_a_misspelt_analyst_asks_nothing(clinic: Any) -> None:
    clinic("init", "clinic", "--people", "patients", "--analyst", "alice", "--epsilon", "1", "--delta", "1e-6")
    before = clinic("budget", "clinic", "--json").out
    make = "dither init clinic --people patients --analyst alcie --epsilon"
    for command in ("query", "explain"):
        done = clinic(command, "clinic", COUNT, "--epsilon", "0.1", "--analyst", "alcie")
        assert_refused(done, 2, "no analyst 'alcie'", "known are: alice.", make)
    assert clinic("explain", "clinic", COUNT, "--epsilon", "0.1", "--analyst", "Alice").code == 0
    assert_refused(clinic("budget", "clinic", "--analyst", "alcie"), 2, "known are: alice.", make)
    assert clinic("budget", "clinic", "--json").out == before


def test_caps_that_do_not_fit_together(clinic: Any, call: Any) -> None:
    made = "init", "clinic", "--people", "patients", "--analyst", "bob", "--epsilon"
    assert_refused(clinic(*made, "5"), 2, "the cap of 'bob'", "is neither spent nor reserved for analysts")
    assert call("init", "crowd", "--people", "p", "--epsilon", "1", "--pure", "--oversubscribe").code == 0
    for name in ("alice", "bob"):
        assert call("init", "crowd", "--people", "p", "--analyst", name, "--epsilon", "1").code == 0
    for more, words in (
        (("--people", "p", "--analyst", "alice", "--epsilon", "1"), "of people"),
        (("--from", "x.csv"), "draft"),
    ):
        done = call("init", "crowd", *more, "--oversubscribe")
        assert (done.code, words in done.err) == (2, True)


def test_a_changed_ledger_is_not_served(clinic: Any, tmp_path: Path) -> None:
    clinic("query", "clinic", COUNT, "--epsilon", "0.5")
    anchor = tmp_path / "clinic" / "ledger.anchor"
    anchor.write_bytes(bytes(len(anchor.read_bytes())))
    assert_refused(clinic("query", "clinic", COUNT, "--epsilon", "0.1"), 4)
    assert_refused(clinic("ledger", "verify", "clinic"), 4)


def test_usage_errors_exit_with_2_and_name_the_option(call: Any) -> None:
    for arguments, word in (
        (("query", "clinic", COUNT), "--epsilon"),
        (("query", "clinic", COUNT, "--epsilon", "1", "--rho", "1"), "--rho"),
        (("register", "clinic"), "--owner"),
        (("nosuch",), "nosuch"),
    ):
        done = call(*arguments)
        assert done.code == 2
        assert word in done.err
        document = json.loads(call(*arguments, "--json").err)
        assert document["error"] in ("UsageError", "ParameterError")
        assert word in document["message"]


def test_a_missing_price_suggests_one(clinic: Any) -> None:
    for command in ("query", "explain"):
        assert_refused(clinic(command, "clinic", COUNT), 2, "--epsilon 0.1")


def test_without_a_command_there_is_help(call: Any) -> None:
    assert "from nothing to an answer" in call().out
    assert "verify" in call("ledger").out
    assert [call().code, call("ledger").code] == [0, 0]


def test_messages_have_flags_and_no_python(call: Any, raw: Path, register: tuple[str, ...]) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    python = ("=True", "columns={", "dt.", "Int(", "'budget':", "epsilon=", "create=")
    for done, words in (
        (call(*register, "--strict"), ("as --strict asks", "without --strict")),
        (call(*register[: register.index("--column")]), ("--column age=int:0:105",)),
        (call(*(w.replace("0:105", "0:105 default 200") for w in register)), ("column 'age'", "int:0:105")),
        (call("init", "clinic", "--people", "patients", "--epsilon", "3", "--pure"), ("of epsilon 4 at delta 1e-6,",)),
        (call("budget", "nosuch"), ("dither init", "check the path")),
        (call("query", "clinic", COUNT, "--epsilon", "5"), ("visits",)),
    ):
        assert_refused(done, 4 if "nosuch" in done.err else 2, *words)
        for code in python:
            assert code not in done.err


def test_a_reader_that_goes_away_is_no_error(clinic: Any, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dither.cli.main", "budget", str(tmp_path / "clinic")],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_without_the_characters_gets_question_marks(clinic: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dither.cli.main", "query", str(tmp_path / "clinic"), COUNT, "--epsilon", "1"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?" in done.stdout


def test_json_stays_json_whatever_the_labels_are(call: Any, raw: Path, register: tuple[str, ...]) -> None:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    strange = 'region=category:nörd"\\,<b>'
    assert call(*(strange if word.startswith("region=") else word for word in register)).code == 0
    done = call(
        "query", "clinic", "SELECT region, COUNT(*) AS n FROM visits GROUP BY region", "--epsilon", "1", "--json"
    )
    assert [row["region"] for row in json.loads(done.out)["rows"]] == ['nörd"\\', "<b>", None]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_said_and_not_called_refused(
    clinic: Any, tmp_path: Path, unbuffered: str
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dither.cli.main", "query", str(tmp_path / "clinic"), COUNT, "--epsilon", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"dither: ")
    assert b"Traceback" not in done.stderr
    assert b"ignored" not in done.stderr


def test_with_json_errors_are_json_too(clinic: Any) -> None:
    done = clinic("query", "clinic", COUNT, "--epsilon", "99", "--json")
    assert done.code == 3
    assert json.loads(done.err)["error"] == "BudgetExceeded"


def test_questions_about_a_table_that_is_not_there(clinic: Any) -> None:
    for form in ([], ["--csv"]):
        done = clinic("ledger", "show", "clinic", "--table", "visit", *form)
        assert_refused(done, 2, "there is no table 'visit'; known are: visits. Did you mean visits?")
    assert clinic("ledger", "show", "clinic", "--table", "VISITS").out == "no questions\n"
    assert clinic("query", "clinic", COUNT, "--epsilon", "0.1").code == 0
    assert clinic("drop", "clinic", "visits").code == 0
    assert COUNT in clinic("ledger", "show", "clinic", "--table", "visits").out
    assert clinic("ledger", "show", "clinic", "--table", "visits", "--since", "2100-01-01").out == "no questions\n"


def test_a_server_names_a_missing_folder_before_a_port_in_use(call: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert_refused(call("serve", "nosuch", "--port", port), 4, "nosuch", "`dither init`")
