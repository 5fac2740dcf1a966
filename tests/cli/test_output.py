"""What commands print acts on no terminal, whatever the names and labels in it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.cli import output

ESCAPE = "\x1b[2J"
LABELS = ["=1+1", f"a{ESCAPE}", "\u202egnp", "\x9b2J", "@x", "<b>"]
POLICY = """
[people.patients]
epsilon = 8
delta = "1e-6"

[tables.visits]
source = "visits.parquet"
people = "patients"
owner = "patient_id"
max_rows_per_owner = 4

columns.region = { kind = "category", labels = LABELS }
"""


@pytest.fixture
def clinic(tmp_path: Path, call) -> None:
    owners = list(range(200))
    table = pa.table({"patient_id": owners, "region": [LABELS[owner % len(LABELS)] for owner in owners]})
    pq.write_table(table, tmp_path / "visits.parquet")
    (tmp_path / "policy.toml").write_text(POLICY.replace("LABELS", json.dumps(LABELS)), encoding="utf-8")
    assert call("init", "clinic", "--people", "patients", "--epsilon", "8", "--delta", "1e-6").code == 0
    done = call("register", "clinic", "--policy", "policy.toml")
    assert done.code == 0, done.err


def check_visible(text: str) -> None:
    assert all(line.isprintable() for line in text.split("\n")), "text that acts on a terminal"


QUESTION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_answers(clinic: None, call, form: tuple[str, ...]) -> None:
    done = call("query", "clinic", QUESTION, "--epsilon", "1", *form)
    assert done.code == 0, done.err
    check_visible(done.out)
    if form == ("--json",):
        assert [row["region"] for row in json.loads(done.out)["rows"]][: len(LABELS)] == LABELS
    if form == ("--csv",):
        above = [line for line in done.out.splitlines() if line.startswith("# ")]
        assert "probability 95%" in above[1]
        cells = [row[0] for row in csv.reader(io.StringIO(done.out))][len(above) + 1 :]
        assert cells[0] == "'=1+1"
        assert not any(cell.startswith(("=", "@")) for cell in cells)


def test_raw_csv_is_as_it_is(clinic: None, call) -> None:
    done = call("query", "clinic", QUESTION, "--epsilon", "1", "--csv", "--raw")
    assert [row[0] for row in csv.reader(io.StringIO(done.out))][1 : len(LABELS) + 1] == LABELS
    refused = call("query", "clinic", QUESTION, "--epsilon", "1", "--raw")
    assert refused.code == 2
    assert "--csv" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "clinic", f'SELECT COUNT(*) AS "n{ESCAPE}" FROM visits', "--epsilon", "0.1"),
        ("query", "clinic", f'SELECT "{ESCAPE}" FROM visits', "--epsilon", "0.1"),
        ("query", "clinic", f"SELECT COUNT(*) FROM visits WHERE region = '{ESCAPE}'", "--epsilon", "0.1"),
        ("explain", "clinic", f'SELECT COUNT(*) AS "n{ESCAPE}" FROM visits', "--epsilon", "0.1"),
        ("explain", "clinic", QUESTION, "--epsilon", f"1{ESCAPE}"),
        ("tables", "clinic"),
        ("tables", "clinic", "--json"),
        ("drop", "clinic", f"t{ESCAPE}"),
        ("budget", f"no{ESCAPE}such"),
        ("query", "clinic", QUESTION, "--analyst", f"a{ESCAPE}", "--epsilon", "0.1"),
        ("price", f"3 {ESCAPE} at 0.1"),
        (f"{ESCAPE}",),
        ("query", f"--{ESCAPE}"),
    ],
    ids=lambda arguments: arguments[0][:6].strip("\x1b["),
)
def test_commands_and_complaints(clinic: None, call, arguments: tuple[str, ...]) -> None:
    done = call(*arguments)
    check_visible(done.out)
    check_visible(done.err)


def test_planted_output_as_it_is(clinic: None, call, monkeypatch: pytest.MonkeyPatch) -> None:
    check_visible(call("tables", "clinic").out)
    monkeypatch.setattr(output, "visible_lines", str)
    with pytest.raises(AssertionError, match="acts on a terminal"):
        check_visible(call("tables", "clinic").out)
