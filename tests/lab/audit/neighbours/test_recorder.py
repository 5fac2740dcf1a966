"""Whole questions on synthetic neighbours: recorded noise, and a curator's declarations rehearsed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dither as dt
from dither.cli.main import REFUTED, main
from dither.errors import PolicyError
from dither.lab.audit.neighbours.questions import questions
from dither.lab.audit.neighbours.rehearsal import rehearse, table, twins
from dither.lab.audit.neighbours.synthetic_tables import draw
from dither.mechanisms import Laplace, seal
from dither.mechanisms.sealed_values import _unseal
from dither.policy.catalog import ForeignKey, PublicTable, Table

TABLES = [
    Table(
        "items", "patients", "visit", 6, {"visit": dt.Int(0, 99_999), "qty": dt.Int(0, 9)},
        via=ForeignKey("visit", "visits", "visit"),
    ),
    Table(
        "visits",
        "patients",
        "patient",
        3,
        {
            "visit": dt.Int(0, 99_999),
            "age": dt.Int(0, 105),
            "fee": dt.Fixed(0, 100, decimals=2),
            "region": dt.Category(["north", "south"]),
            "day": dt.Date("2024-01-01", "2024-01-20"),
            "at": dt.Timestamp("2024-01-01", "2024-01-20"),
            "member": dt.Bool(),
            "note": dt.Text(),
        },
        key=("visit",),
        owner_type="VARCHAR",
    ),
    PublicTable("regions", {"region": dt.Category(["north", "south"], nullable=False, default="north")}, ("region",)),
]  # fmt: skip
SUM = "SELECT SUM(age) FROM visits"


@pytest.fixture(scope="module")
def sides():
    with twins(TABLES) as both:
        yield both


def test_the_noise_of_a_question_is_recorded(sides):
    found = dt.audit.recorded(*sides, SUM, epsilon="0.5")
    assert found.passed
    (call,) = found.calls
    assert call.within
    assert isinstance(call.mechanism, (Laplace, dt.Gaussian))
    assert call.sensitivity[0] == 3 * 105
    assert call.gap[0] <= 3 * 105
    assert "L1 gap" in str(call)
    # Which three rows of the owner count is drawn; how many is not.
    (counted,) = dt.audit.recorded(*sides, "SELECT COUNT(*) FROM visits", epsilon="0.5").calls
    assert counted.gap[0] == counted.sensitivity[0] == 3


def test_every_question_looks_the_same(sides):
    asked = list(questions(TABLES))
    assert len(asked) > 25
    found = [dt.audit.recorded(*sides, question) for question in asked[::3]]
    assert [recording.leak for recording in found if not recording] == []
    assert sum(recording.status == "answered" for recording in found) > 5


def test_the_time_of_a_question_is_compared_and_a_slow_side_shows(sides):
    import time

    one, other = sides
    slow = replace(one, run=lambda statement: (time.sleep(1), one.run(statement))[1])
    assert dt.audit.question_times(slow, other, SUM, repetitions=3).ratio > 2
    assert "SELECT" in str(dt.audit.question_times(one, other, SUM, repetitions=5))


def test_an_engine_that_counts_too_much_is_caught(sides):
    one, other = sides
    broken = replace(one, run=lambda statement: [seal(_unseal(part) * 10) for part in one.run(statement)])
    found = dt.audit.recorded(broken, other, SUM)
    assert not found
    assert "gap" in found.leak
    assert not found.calls[0].within


def test_an_error_that_depends_on_data_is_caught(sides):
    one, other = sides

    def fails(statement):
        raise ValueError("4217")

    assert "differs" in dt.audit.recorded(replace(one, run=fails), other, SUM).leak


def test_drawn_tables_follow_their_declarations():
    drawn = draw(TABLES, owners=5)
    assert list(drawn) == ["visits", "regions", "items"]
    whole, less = drawn["visits"].without(None), drawn["visits"].without(4217)
    assert 0 < less.num_rows < whole.num_rows
    assert "owner 4217" not in less["patient"].to_pylist()
    kept = set(less["visit"].to_pylist())
    assert set(drawn["items"].without(4217)["visit"].to_pylist()) <= kept
    assert drawn["regions"].without(4217).num_rows == 2


@pytest.mark.parametrize(
    "key",
    [
        dt.Int(0, 40),
        dt.Int(0, 40, nullable=False, default=7),
        dt.Category([f"v{i}" for i in range(30)], nullable=False, default="v3"),
        dt.Text(),
    ],
    ids=repr,
)
def test_drawn_keys_that_say_whose_a_row_is_have_one_owner(key):
    """With few keys to draw from, too: all three tables are registered, and their owners differ."""
    follows = {"visit": key, "item": key, "qty": dt.Int(0, 9)}
    chain = [
        Table("visits", "patients", "patient", 3, {"visit": key, "age": dt.Int(0, 105)}, key=("visit",)),
        Table("items", "patients", "visit", 6, follows, via=ForeignKey("visit", "visits", "visit"), key=("item",)),
        Table("parts", "patients", "item", 6, {"item": key}, via=ForeignKey("item", "items", "item")),
    ]
    with twins(chain) as (one, other):
        assert dt.audit.recorded(one, other, "SELECT COUNT(*) FROM parts").passed
    drawn = draw(chain)["visits"]
    assert len(set(drawn.owners)) > 5


def test_a_folder_is_rehearsed_from_its_declarations_alone(tmp_path, capsys):
    import pyarrow as pa

    folder = tmp_path / "clinic"
    with dt.Curator.open(folder) as curator:
        curator.register(
            "visits", pa.table({"age": [1, 2]}), owner=dt.EACH_ROW, budget=dt.PureDP(1), columns={"age": dt.Int(0, 9)}
        )
    for file in (folder / "snapshots").iterdir():
        file.unlink() if file.is_file() else None
    assert main(["audit", "--neighbours", str(folder), "--question", "SELECT nosuch FROM visits"]) == 0
    shown = capsys.readouterr().out
    assert "look the same on two neighbours" in shown
    assert "refused" in shown
    assert "there is no column 'nosuch'" in shown
    with pytest.raises(PolicyError, match="declares no tables"):
        next(rehearse(tmp_path / "nowhere"))


def test_a_leak_is_shown_and_has_its_exit_code():
    row = {"name": SUM, "status": "answered", "noise": [], "largest_gap": 2.0, "passed": False, "leak": "too far"}
    row["refusal"] = ""
    assert "LEAK: too far" in table([row])
    assert REFUTED == 6
