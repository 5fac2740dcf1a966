"""Private profiles: charged once, kept with their snapshot, shown to everybody, and all that plans are chosen by."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.curator.curator import Curator

ROWS = 400
LIMIT = 64


def skewed(seed: int = 1, owners: int = 300) -> pa.Table:
    drawn = np.random.default_rng(seed)
    rows = np.minimum(np.floor(drawn.lognormal(1, 1, owners)) + 1, ROWS).astype(int)
    patients = np.repeat(np.arange(owners), rows)
    return pa.table(
        {
            "patient": patients,
            "age": drawn.integers(20, 60, len(patients)),
            "paid": drawn.lognormal(2, 1, len(patients)).round(2),
            "region": drawn.choice(["north", "south"], len(patients)),
            "ward": drawn.integers(1, 4, len(patients)),
        }
    ).append_column("seen", pa.array(["2024-01-02"] * len(patients)))


@pytest.fixture
def hospital(make: Callable[..., dt.Curator], declared: dict[str, Any]) -> dt.Curator:
    columns = {name: declared["columns"][name] for name in ("age", "paid", "region", "ward")}
    return make(dt.PureDP(100), skewed(), max_rows_per_owner=LIMIT, columns=columns)


def test_a_profile_costs_its_share_once(hospital: dt.Curator) -> None:
    hospital.profile("visits")
    assert float(hospital.budget("patients").spent.epsilon) == pytest.approx(2, rel=1e-9)
    assert hospital.budget("patients").spent.epsilon <= 2
    spent, entries = hospital.budget("patients").spent, len([*hospital.ledger()])
    again = hospital.profile("visits")
    assert (hospital.profile("visits", share="0.005").to_dict(), hospital.budget("patients").spent) == (
        again.to_dict(),
        spent,
    )
    assert len([*hospital.ledger()]) == entries
    hospital.profile("visits", share="0.03")
    assert float(hospital.budget("patients").spent.epsilon) == pytest.approx(5, rel=1e-9)
    hospital.verify()


@pytest.mark.parametrize("budget", [dt.PureDP(100), dt.ApproxDP(100, "1e-6")])
def test_a_profile_tells_the_truth_within_its_noise(make: Any, declared: dict[str, Any], budget: Any) -> None:
    """Every histogram, of rows beyond the declared maximum too; each number is a few off at this price."""
    columns = {"age": dt.Int(0, 120), "owed": dt.Fixed(-50, 50, decimals=1), "late": dt.Int(0, 9)}
    source = skewed()
    owed = np.random.default_rng(2).integers(-500, 501, source.num_rows)
    owed[source["patient"].to_numpy() == 7] = 400
    source = source.append_column("owed", pa.array(owed / 10))
    source = source.append_column("late", pa.nulls(source.num_rows, pa.int64()))
    clinic = make(budget, source, max_rows_per_owner=8, columns=columns)
    told = clinic.profile("visits", share="0.9", columns=["age", "owed", "late"]).to_dict()
    many = np.bincount(source["patient"].to_numpy())
    assert (many > 8).sum() > 20
    check_bins(told["histograms"]["rows"], many, 1)
    assert (told["rows_per_owner"][-1]["from"], told["rows_per_owner"][-1]["to"]) == (9, None)
    assert set(told["histograms"]) == {
        "rows",
        *("largest age", "gains age", "largest late", "gains late"),
        *("largest owed", "smallest owed", "gains owed", "losses owed"),
    }
    few = many <= 8  # of others, which rows count is drawn by a key
    rows = [np.flatnonzero(source["patient"].to_numpy() == owner) for owner in range(len(many))]
    exact = {
        "largest owed": [max(0, *owed[own], 0) for own in rows],
        "smallest owed": [max(0, *-owed[own], 0) for own in rows],
        "gains owed": [np.maximum(owed[own], 0).sum() for own in rows],
        "losses owed": [np.maximum(-owed[own], 0).sum() for own in rows],
    }
    for name, amounts in exact.items():
        check_bins(told["histograms"][name], np.array(amounts)[few] / 10, 0, slack=int((~few).sum()))
    for name in ("largest late", "gains late"):
        assert abs(told["histograms"][name][0][0]["owners"] - len(many)) <= 20, "without a value: in the first bin"


def check_bins(histograms: list[list[dict[str, Any]]], amounts: Any, first: int, slack: int = 0) -> None:
    for bins in histograms:
        assert bins[0]["from"] == first
        for part, after in zip(bins, [*bins[1:], None], strict=True):
            inside = (amounts >= part["from"]) & (amounts < (np.inf if after is None else after["from"]))
            assert -20 <= part["owners"] - int(inside.sum()) <= 20 + slack


@pytest.mark.parametrize("budget", [dt.PureDP(4), dt.ApproxDP(4, "1e-6"), dt.ApproxDP(4, "1e-6", "basic")])
def test_a_profile_that_does_not_fit_as_a_whole_costs_nothing(make: Any, declared: dict[str, Any], budget: Any) -> None:
    """It is asked in parts: the first would fit."""
    columns = {name: declared["columns"][name] for name in ("age", "paid")}
    clinic = make(budget, skewed(), max_rows_per_owner=LIMIT, columns=columns)
    clinic.profile("visits", share="0.2")
    before, entries = clinic.budget("patients"), len([*clinic.ledger()])
    with pytest.raises(dt.BudgetExceeded, match=r"the price share=0\.85 does not fit.*Nothing was charged"):
        clinic.profile("visits", share="0.85")
    assert (clinic.budget("patients"), len([*clinic.ledger()])) == (before, entries)
    clinic.profile("visits", share="0.2")
    assert clinic.budget("patients") == before, "what was paid for is there"
    clinic.profile("visits", share="0.8")  # all that is left, although each part is rounded up when it is charged
    assert 0 <= clinic.budget("patients").left.adding < Fraction(1, 10**13)


def test_it_is_shown_to_the_analyst_alike(hospital: dt.Curator) -> None:
    alice = hospital.analyst("alice", budget=dt.PureDP(1))
    with pytest.raises(dt.PolicyError, match="no profile"):
        alice.profiled("visits")
    made = hospital.profile("visits", columns=["paid"])
    assert str(alice.profiled("visits")) == str(made)
    assert "how many owners have so much" in made.details()
    assert len(str(made).splitlines()) <= 10 < len(made.details().splitlines())
    assert f"<pre>{made}</pre>" == made._repr_html_()
    assert "age" not in str(made)
    assert [entry.kind for entry in alice.history()] == ["account"]


def test_new_data_have_no_profile_yet(hospital: dt.Curator) -> None:
    hospital.profile("visits", share="0.5")
    chosen = hospital.explain("SELECT COUNT(*) FROM visits", epsilon="0.01").to_dict()["rows_per_owner"]
    hospital.refresh("visits", skewed(2))
    with pytest.raises(dt.PolicyError, match="no profile of its current data"):
        hospital.profiled("visits")
    assert chosen < LIMIT
    assert hospital.explain("SELECT COUNT(*) FROM visits", epsilon="0.01").to_dict()["rows_per_owner"] == LIMIT


@pytest.mark.parametrize("share", ["0", "-1", "1.01", float("nan"), True])
def test_a_share_is_a_part_of_the_budget(hospital: dt.Curator, share: Any) -> None:
    with pytest.raises(dt.ParameterError):
        hospital.profile("visits", share=share)
    assert hospital.budget("patients").spent.epsilon == 0


def test_only_columns_of_numbers_have_histograms(hospital: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="'region' is none of: age, paid, ward"):
        hospital.profile("visits", columns=["region"])
    assert hospital.budget("patients").spent.epsilon == 0


def test_one_row_an_owner_and_rows_that_are_their_own_owners(make: Any, declared: dict[str, Any]) -> None:
    columns = {"age": declared["columns"]["age"]}
    clinic = make(dt.PureDP(100), skewed(), owner=dt.EACH_ROW, max_rows_per_owner=None, columns=columns)
    (part,) = clinic.profile("visits", share="0.5").to_dict()["rows_per_owner"]
    assert (part["from"], part["to"]) == (1, None)
    assert abs(part["owners"] - skewed().num_rows) <= 3
    assert clinic.explain("SELECT COUNT(*) FROM visits", epsilon=1).to_dict()["strategy"] == ""


def test_a_killed_profile_is_taken_up_again_under_the_same_charge(
    hospital: dt.Curator, folder: Path, killed: Callable[[Callable[[], object]], None]
) -> None:
    hospital.close()

    def die() -> None:
        clinic = Curator.open(folder)
        run = clinic._engine.run

        def dying(statement: Any) -> Any:
            if "MAX" in statement.sql:
                os.kill(os.getpid(), signal.SIGKILL)
            return run(statement)

        clinic._engine.run = dying  # type: ignore[method-assign]
        clinic.profile("visits", columns=["age", "paid"])

    killed(die)
    with Curator.open(folder) as clinic:
        before = clinic.budget("patients").spent.epsilon
        assert set(clinic.profiled("visits").known) == {"rows"}  # what is not settled is not used
        clinic.profile("visits", columns=["age", "paid"])
        assert before < clinic.budget("patients").spent.epsilon
        assert float(clinic.budget("patients").spent.epsilon) == pytest.approx(2, rel=1e-9)
        assert {name.split()[-1] for name in clinic.profiled("visits").known} == {"rows", "age", "paid"}


def test_rows_per_owner_can_be_stated(hospital: dt.Curator) -> None:
    text = "SELECT COUNT(*) FROM visits"
    hospital.profile("visits")
    first = hospital.sql(text, epsilon=1)
    stated = hospital.sql(text, epsilon=1, rows_per_owner=3)
    assert stated.charged  # an answer under another limit is no answer to this
    assert not hospital.sql(text, epsilon=1, rows_per_owner=3).charged
    assert "At most 3 rows of each owner are counted." in stated.notes
    assert not hospital.sql(text, epsilon=1).charged
    assert first.notes != stated.notes
    told = hospital.explain(text, epsilon=1, rows_per_owner=3)
    assert told.to_dict()["rows_per_owner"] == 3
    assert "as stated" in str(told)
    for bad in (0, -1, 1.5, True, "many"):
        with pytest.raises(dt.ParameterError):
            hospital.sql(text, epsilon=1, rows_per_owner=bad)  # type: ignore[arg-type]


def test_a_stored_answer_says_how_it_was_made_then(hospital: dt.Curator) -> None:
    text = "SELECT COUNT(*), SUM(paid) FROM visits"
    before = hospital.sql(text, epsilon="0.01")
    hospital.profile("visits", share="0.5")
    assert hospital.sql(text, epsilon="0.01").notes == before.notes
    assert "At most 64 rows" in before.notes[0]
    fresh = hospital.sql(text, epsilon="0.02")
    assert fresh.notes != before.notes


def test_a_killed_question_is_run_as_it_was_planned_before_a_profile(
    hospital: dt.Curator, folder: Path, killed: Callable[[Callable[[], object]], None]
) -> None:
    """The recipe recorded with the charge decides, whatever has been learned since."""
    hospital.close()
    text = "SELECT COUNT(*), SUM(paid) FROM visits"

    def die() -> None:
        clinic = Curator.open(folder)
        clinic._engine.run = lambda statement: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore
        clinic.sql(text, epsilon=1, request="r")

    killed(die)
    with Curator.open(folder) as clinic:
        clinic.profile("visits")
        spent = clinic.budget("patients").spent
        answer = clinic.sql(text, epsilon=1, request="r")
        assert clinic.budget("patients").spent == spent
        assert "At most 64 rows of each owner are counted." in answer.notes
        assert not clinic._ledger.pending()


def test_an_explanation_tells_what_is_left_out_at_most(hospital: dt.Curator) -> None:
    text = "SELECT COUNT(*), AVG(age) FROM visits"
    assert hospital.explain(text, epsilon="0.01").to_dict()["columns"][0]["measures"][0]["left_out"] == [0, 0]
    hospital.profile("visits", share="0.5")
    told = hospital.explain(text, epsilon="0.01")
    _, above = told.to_dict()["columns"][0]["measures"][0]["left_out"]
    rows = np.minimum(np.bincount(skewed()["patient"].to_numpy()), LIMIT)
    lost = float(np.maximum(rows - told.to_dict()["rows_per_owner"], 0).sum())
    assert lost <= above <= lost + 10 * LIMIT
    assert "left out of the number of rows: at most" in str(told)
    assert "too little" in told._repr_html_()
    assert told.to_dict()["strategy"] in str(told)


def test_an_error_can_be_asked_for_in_place_of_a_price(hospital: dt.Curator) -> None:
    count, average = "SELECT region, COUNT(*) FROM visits GROUP BY region", "SELECT AVG(age) FROM visits"
    answer = hospital.sql(count, error=100)
    assert answer.column("count").half_width <= 100
    assert not hospital.sql(count, error=100).charged
    wider = hospital.sql(count, error=100, confidence="0.999")
    assert wider.charged
    assert wider.column("count").half_width <= 100
    with pytest.raises(dt.ParameterError, match="only a profile"):
        hospital.sql(average, error=5)
    hospital.profile("visits", share="0.2")
    told = hospital.explain(average, error=5)
    assert "rows, as the profile says" in str(told)
    spent = hospital.budget("patients").spent.epsilon
    found = hospital.sql(average, error=5)
    assert 0 < hospital.budget("patients").spent.epsilon - spent < 20
    lower, upper = found.interval("avg_age")
    assert float(upper[0] - lower[0]) <= 2 * 5 * 1.5  # the group is about as large as assumed


def test_a_question_reads_of_a_profile_what_it_adds_up(hospital: dt.Curator) -> None:
    hospital.profile("visits", share="0.9", columns=["age", "paid"])
    priced = hospital._walk.price("SELECT SUM(paid) FROM visits WHERE age > 70", epsilon=1)
    assert priced.profile is not None
    assert {name.split()[-1] for name in priced.profile.known} == {"rows", "paid"}


def test_values_are_clamped_to_what_the_profile_says_and_stay_so(make: Callable[..., dt.Curator]) -> None:
    """Repeats, other aliases and other confidences show the same release, computed over the clamped values."""
    drawn = np.random.default_rng(3)
    owners = 4000
    table = pa.table({"patient": np.arange(owners), "fee": drawn.integers(50, 150, owners), "ward": [0, 1] * 2000})
    columns = {"fee": dt.Int(0, 100_000, nullable=False, default=0), "ward": dt.Int(0, 1, nullable=False, default=0)}
    # So large a budget that the profile surely shows where the values lie; with a tenth of it, it does not in 6%.
    hospital = make(dt.PureDP(1000), pa.concat_tables([table, table]), max_rows_per_owner=2, columns=columns)
    text = "SELECT ward, SUM(fee) AS fees, AVG(fee) AS mean FROM visits GROUP BY ward"
    assert hospital._walk.price(text, epsilon=1).strategy.bounds == ()
    hospital.profile("visits", share="0.3", columns=["fee"])
    ((_, least, most),) = hospital._walk.price(text, epsilon=1).strategy.bounds
    assert least == 0
    assert 140 < most < 5000
    told = hospital.explain(text, epsilon=1)
    assert "Values are clamped to tighter bounds" in str(told)
    answer = hospital.sql(text, epsilon=1)
    assert any(f"Values of fee were moved into [{least}, {most}]" in note for note in answer.notes)
    exact = float(np.asarray(table["fee"]).sum())
    for fees, mean in zip(answer["fees"].tolist(), answer["mean"].tolist(), strict=True):
        assert fees == pytest.approx(exact, rel=0.1)
        assert mean == pytest.approx(100, rel=0.1)
    again = hospital.sql(text.replace("fees", "paid"), epsilon=1, confidence="0.5")
    assert not again.charged
    assert (again["paid"].tolist(), again["mean"].tolist()) == (answer["fees"].tolist(), answer["mean"].tolist())


def test_an_error_is_never_answered_by_a_stored_answer_that_errs_by_more(make: Any, declared: dict[str, Any]) -> None:
    """A release at a higher price may err by more: what a profile has told since makes the same error cheaper."""
    text = "SELECT COUNT(*) AS n FROM visits"
    hospital = make(dt.PureDP(100), skewed(), max_rows_per_owner=ROWS, columns={"age": declared["columns"]["age"]})
    dear = hospital.sql(text, epsilon=2)
    hospital.profile("visits", share="0.5")
    wanted = dear.column("n").half_width * 4 / 5
    assert hospital._walk.price(text, error=wanted).price.cost < 2
    found = hospital.sql(text, error=wanted, request="once")
    assert found.charged
    (lower,), (upper,) = found.interval("n")
    assert max(found.value - lower, upper - found.value) <= wanted
    for again in (hospital.sql(text, error=wanted), hospital.sql(text, error=wanted, request="once")):
        assert not again.charged
        assert again["n"].tolist() == found["n"].tolist()
    assert not hospital.sql(text, error=dear.column("n").half_width).charged
    assert hospital.sql(text, epsilon=2)["n"].tolist() == dear["n"].tolist()


@pytest.mark.parametrize("owner", ["m", "M", "n", "q", "bin"])
def test_owners_may_be_called_as_a_profile_calls_its_own(tmp_path: Path, owner: str) -> None:
    rows = pa.table({owner: [1, 1, 2], "age": [30, 31, 40]})
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=dt.PureDP(1000))
        curator.register(
            "visits", rows, people="patients", owner=owner, max_rows_per_owner=4, columns={"age": dt.Int(0, 120)}
        )
        made = curator.profile("visits", share=1).to_dict()
    assert [part["owners"] for part in made["rows_per_owner"]] == [1, 1, 0, 0]
