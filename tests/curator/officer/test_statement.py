"""The ledger reads like a bank statement: one line a question, and of an analyst the own ones alone."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import pytest

import dither as dt
from dither.curator.officer.statement import Line, statement_csv, statement_text
from dither.curator.service import Service
from dither.ledger import Entry

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
MEAN = "SELECT AVG(age) FROM visits"
NOON = int(datetime(2027, 1, 31, 12, tzinfo=UTC).timestamp())


@pytest.fixture
def asked(make: Any, monkeypatch: pytest.MonkeyPatch) -> dt.Curator:
    """Bob, alice, a failure of alice's, the curator: one question each, on two days."""
    monkeypatch.setattr("time.time", lambda: NOON + 0.5)
    clinic: dt.Curator = make(dt.ApproxDP(4, "1e-6"))
    for name in ("bob", "alice"):
        clinic.analyst(name, budget=dt.ApproxDP(1, "1e-7"))
    clinic.analyst("bob").sql(MEAN, epsilon="0.1")
    clinic.analyst("alice").sql(COUNT, epsilon="0.2", request="r1")
    monkeypatch.setattr("time.time", lambda: NOON + 24 * 3600)
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("dither.curator.run.release", lambda *_: 1 / 0)
        with suppress(dt.QueryFailed):
            clinic.analyst("alice").sql(MEAN, epsilon="0.1")
    clinic.sql(MEAN, rho="0.001")
    return clinic


def test_one_line_for_each_question(asked: dt.Curator) -> None:
    lines = asked.ledger().questions
    assert [(line.analyst, line.state, line.sql) for line in lines] == [
        ("bob", "answered", MEAN),
        ("alice", "answered", COUNT),
        ("alice", "failed", MEAN),
        (None, "answered", MEAN),
    ]
    assert [line.number for line in lines] == [entry.sequence for entry in asked.ledger() if entry.kind == "reserve"]
    assert [line.reserved for line in lines] == ["2027-01-31 12:00"] * 2 + ["2027-02-01 12:00"] * 2
    assert lines[1].shown_price.startswith("epsilon 0.2 (rho 0.0")
    assert (lines[3].shown_price, lines[3].tables, lines[1].request) == ("rho 0.001", ("visits",), "r1")
    settled = {
        entry.body["reservation"]: str(entry.body["sha256"]) for entry in asked.ledger() if entry.kind == "settle"
    }
    assert [line.answer for line in lines] == [settled.get(line.number, "")[:12] or None for line in lines]
    shown = str(asked.ledger()).splitlines()
    assert shown[0].split()[:3] == ["no.", "reserved", "(UTC)"]
    assert len(shown) == 5
    assert shown[2].endswith(COUNT)
    assert "(curator)" in shown[4]
    assert repr(asked.ledger()) == str(asked.ledger())


def check_own_alone(clinic: dt.Curator) -> None:
    """What others asked, and how often, changes nothing that alice sees."""
    lines = clinic.analyst("alice").history().questions
    assert [(line.number, line.sql, line.state) for line in lines] == [(2, COUNT, "answered"), (3, MEAN, "failed")]
    assert {line.analyst for line in lines} == {"alice"}
    assert "bob" not in str(clinic.analyst("alice").history())
    whole = str(clinic.analyst("alice").question(2))
    assert COUNT in whole
    assert "north" in whole
    for number in (1, 4, 5, 6, 7, 8, 100, -1, 0):
        with pytest.raises(dt.PolicyError, match="there is no question"):
            clinic.analyst("alice").question(number)


def test_an_analyst_sees_the_own_alone(asked: dt.Curator) -> None:
    check_own_alone(asked)


def test_planted_everybodys_questions(asked: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the statement forgets who reads it."""
    lines = Service._lines
    monkeypatch.setattr(Service, "_lines", lambda self, _, *after: lines(self, asked._principal, *after))
    with pytest.raises(AssertionError):
        check_own_alone(asked)


def test_a_stranger_reads_nothing(asked: dt.Curator) -> None:
    from dither.curator.principal import Principal
    from dither.errors import Stranger

    for read in (lambda who: asked.service.statement(who), lambda who: asked.service.question(who, 5)):
        with pytest.raises(Stranger):
            read(Principal.analyst("mallory"))
    auditor = asked.service.statement(Principal.auditor())
    assert auditor == asked.ledger().questions


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"since": "2027-02-01"}, [2, 3]),
        ({"until": "2027-01-31"}, [0, 1]),
        ({"since": date(2027, 1, 31), "until": date(2027, 1, 31)}, [0, 1]),
        ({"since": datetime(2027, 1, 31, 12, 1)}, [2, 3]),
        ({"until": "2027-01-31T12:00+01:00"}, []),
        ({"table": "VISITS"}, [0, 1, 2, 3]),
        ({"table": "other"}, []),
    ],
)
def test_days_and_tables(asked: dt.Curator, wanted: dict[str, Any], found: list[int]) -> None:
    lines = asked.ledger().questions
    assert asked.ledger().between(**wanted) == [lines[place] for place in found]


def test_a_day_that_is_none(asked: dt.Curator) -> None:
    with pytest.raises(dt.ParameterError, match="since is a day"):
        asked.ledger().between(since="tomorrow")


def test_lines_without_a_time_are_of_no_day() -> None:
    line = Line(1, None, "p", None, "SELECT 1", {"epsilon": "1"}, {}, "open", None, (), None)
    from dither.curator.officer.statement import Statement

    statement = Statement(list, lambda: [line])
    assert (statement.between(), statement.between(since="1970-01-01")) == ([line], [])
    assert Line.read(line.document()) == line
    assert statement_text([]) == "no questions"


def test_a_spreadsheet_has_exact_prices_and_no_formulas(asked: dt.Curator) -> None:
    hostile = Line(9, NOON, "p", "alice", "=1+1\n", {"epsilon": "1/3"}, {}, "open", None, ("t",), None)
    rows = list(csv.DictReader(io.StringIO(statement_csv([*asked.ledger().questions, hostile]))))
    assert [row["rho"] for row in rows][3] == "1/1000"
    assert (rows[4]["epsilon"], rows[4]["sql"][:2]) == ("1/3", "'=")
    assert "\n" not in statement_text([hostile]).splitlines()[1]


def test_one_question_whole(asked: dt.Curator) -> None:
    line = asked.ledger().questions[1]
    whole = asked.question(line.number)
    answer = asked.analyst("alice").sql(COUNT, epsilon="0.2")
    assert whole.answer is not None
    assert whole.answer.splitlines()[2:5] == str(answer).splitlines()[2:5], "the very numbers that were released"
    assert f"state:    {line.state}" in str(whole)
    assert whole.document()["released"] == whole.answer
    failed = asked.question(asked.ledger().questions[2].number)
    assert (failed.answer, "state:    failed" in str(failed)) == (None, True)


def test_one_question_whole_in_another_dialect_or_with_rows_stated(clinic: dt.Curator) -> None:
    clinic.sql("SELECT `region`, COUNT(*) AS n FROM visits GROUP BY `region`", epsilon="0.1", dialect="mysql")
    clinic.sql(COUNT, epsilon="0.1", rows_per_owner=1)
    for line in clinic.ledger().questions:
        assert "north" in str(clinic.question(line.number).answer)


def test_a_question_whose_table_is_gone_is_shown_as_stored(clinic: dt.Curator) -> None:
    clinic.sql(COUNT, epsilon="0.1")
    (line,) = clinic.ledger().questions
    clinic.drop("visits")
    assert "released, as stored:\n  [" in str(clinic.question(line.number).answer)


def test_profiles_and_questions_over_answers_have_lines(clinic: dt.Curator) -> None:
    clinic.profile("visits")
    over = f"SELECT region, RANK() OVER (ORDER BY n) AS place FROM ({COUNT}) AS counted"
    clinic.sql(over, epsilon="0.1")
    profile, ranked = clinic.ledger().questions
    assert (profile.sql, ranked.sql) == ("profile of visits", over)
    for line in (profile, ranked):
        assert "released, as stored:" in str(clinic.question(line.number).answer)


def test_the_time_of_an_answer_is_nowhere(asked: dt.Curator) -> None:
    """Only the charge has a time: how long a question takes can depend on data."""
    ends: list[Entry] = [entry for entry in asked.ledger() if entry.kind in ("settle", "fail", "incident")]
    assert ends
    assert all("time" not in entry.body for entry in ends)
